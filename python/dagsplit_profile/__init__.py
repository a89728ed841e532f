"""Traces and profiles PyTorch models for dagsplit, and runs the splits that it finds."""

from .errors import ProfileError
from .grouping import Granularity, group
from .trace import Trace, trace

__all__ = ["Granularity", "ProfileError", "Trace", "group", "trace"]
