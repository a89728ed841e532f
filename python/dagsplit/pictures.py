"""Pictures."""

from __future__ import annotations

import os
import pathlib

from . import _native
from ._options import Path


class Picture(str):
    """An SVG picture: its text, which a notebook shows as a picture.

    >>> Picture("<svg/>")._repr_svg_()
    '<svg/>'
    """

    __slots__ = ()

    def save(self, path: Path) -> None:
        """Writes it as SVG, PDF or PNG, which the end of the file's name says. The fonts of PDF and PNG are those of
        the system.

        Raises:
            InvalidOption: the name ends otherwise.
            OutputError: the system has no font, or a PNG has more than 100 million pixels.
        """
        pathlib.Path(path).write_bytes(_native.encoded(str(self), os.fspath(path)))

    def _repr_svg_(self) -> str:
        return str(self)
