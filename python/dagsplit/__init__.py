"""Split a deep network's computation graph over devices, with a proof of how good the split is.

>>> import dagsplit
>>> bert = dagsplit.Instance.load("instances/bert12_inference.json")
>>> run = dagsplit.solve(bert, accelerators=4)
>>> run.status, dagsplit.verify(bert, run.split, accelerators=4)
('optimal', [])

Times are in the workload's own unit (milliseconds in all published ones), memory is in bytes. Keywords are the options
of the command `dagsplit`.
"""

from ._native import (
    Error,
    InternalError,
    InvalidInstance,
    InvalidOption,
    InvalidSplit,
    OutputError,
    __version__,
)
from ._options import Devices, Limits, Mapped, Objective, Planned, Reading, Request, Scope, Search, Simulated
from ._frames import Rows
from .comparing import Change, Comparison, CurveKind, Price, Row, Step, Summary, Table, compare
from .conforming import Conformance, Finding, Law, conform
from .costs import CostModel, Costs, KindCost, Piece, Transfer
from .instances import AcceleratorClass, Instance, Node, Platform
from .pictures import Picture
from .pipelines import MappingRun, Plan, Simulation, Topology, generate, map, plan, simulate
from .progress import Progress
from .reproducing import Figure, Reproduction, Study, Verdict, reproduce, studies
from .solving import Method, Partitioner, Run, Status, methods, solve
from .splits import Detail, Device, Framework, Split, SplitLike
from .sweeping import Engine, Promise, sweep
from .tracing import trace
from .verifying import Violation, ViolationKind, verify

__all__ = [
    "AcceleratorClass",
    "Change",
    "Comparison",
    "Conformance",
    "CostModel",
    "Costs",
    "CurveKind",
    "Detail",
    "Device",
    "Devices",
    "Engine",
    "Error",
    "Figure",
    "Finding",
    "Framework",
    "Instance",
    "InternalError",
    "InvalidInstance",
    "InvalidOption",
    "InvalidSplit",
    "KindCost",
    "Law",
    "Limits",
    "Mapped",
    "MappingRun",
    "Method",
    "Node",
    "Objective",
    "OutputError",
    "Partitioner",
    "Picture",
    "Piece",
    "Plan",
    "Planned",
    "Platform",
    "Price",
    "Progress",
    "Promise",
    "Reading",
    "Reproduction",
    "Request",
    "Row",
    "Rows",
    "Run",
    "Scope",
    "Search",
    "Simulated",
    "Simulation",
    "Split",
    "SplitLike",
    "Status",
    "Step",
    "Study",
    "Summary",
    "Table",
    "Topology",
    "Transfer",
    "Verdict",
    "Violation",
    "ViolationKind",
    "__version__",
    "compare",
    "conform",
    "generate",
    "map",
    "methods",
    "plan",
    "reproduce",
    "simulate",
    "solve",
    "studies",
    "sweep",
    "trace",
    "verify",
]
