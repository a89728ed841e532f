"""The command `dagsplit`, which comes with the package."""

import os
import signal
import sys

from . import _native


def main() -> int:
    """Run the program with the words of the command line; return its exit code."""
    # The program has a handler of its own while it searches; what ends it at other times is the system's.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.run_program(os.path.abspath(sys.argv[0]), sys.argv[1:])
