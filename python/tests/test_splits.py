"""Splits: made, read, written, checked, shown."""

import json
from pathlib import Path

import pytest

from conftest import PROJECT
from dagsplit import (
    Device,
    Instance,
    InvalidInstance,
    InvalidOption,
    InvalidSplit,
    Node,
    Platform,
    Split,
    ViolationKind,
    solve,
    verify,
)


@pytest.fixture
def split(chain: Instance) -> Split:
    split = solve(chain).split
    assert split is not None
    return split


def test_a_split_survives_its_file(split: Split, tmp_path: Path) -> None:
    split.save(tmp_path / "split.json")
    again = Split.load(tmp_path / "split.json", split.instance)
    assert again == split and again.objective == 7.0
    assert [device.nodes for device in again.devices] == [device.nodes for device in split.devices]
    assert Split.from_json(split.to_json(), split.instance) == split
    with pytest.raises(InvalidInstance, match=r"README\.md"):
        Split.load(PROJECT / "README.md", split.instance)
    with pytest.raises(OSError, match=r"missing\.json"):
        Split.load("missing.json", split.instance)


def test_lists_are_devices_in_the_order_of_the_platform(chain: Instance) -> None:
    mixed = chain.with_devices(accelerators=1, cpus=1)
    split = Split.of(mixed, [[0, 1], [2], [3]])
    assert [(device.kind, device.nodes) for device in split.devices] == [
        ("accelerator", (0, 1)),
        ("cpu", (2,)),
        ("cpu", (3,)),
    ]
    assert Split.of(chain, split) is split
    assert split.stage_of == {0: 0, 1: 0, 2: 1, 3: 2}


def test_backward_nodes_that_no_list_holds_are_with_their_colour_class() -> None:
    nodes = [Node(0, (1.0,), color_class=7), Node(1, (1.0,), color_class=7, backward=True)]
    instance = Instance(nodes, [(0, 1)], Platform.uniform(1))
    assert Split.of(instance, [[0]]).stage_of == {0: 0, 1: 0}


def test_a_graph_knows_its_stages(split: Split) -> None:
    graph = split.to_networkx()
    assert [graph.nodes[node]["stage"] for node in range(4)] == [0, 0, 1, 1]
    assert graph.nodes[0]["device"] == "accelerator" and graph.nodes[0]["load"] == 7.0


def test_pictures(split: Split) -> None:
    assert split.draw().startswith("<svg") and split._repr_svg_() == split.draw()
    assert split.draw("stages") != split.draw("nodes")
    assert split.instance._repr_svg_().startswith("<svg")
    with pytest.raises(InvalidSplit, match="node 3 is on no device"):
        Split.of(split.instance, [[0, 1], [2]]).draw()


def test_settings_of_frameworks() -> None:
    nodes = [Node(id, (1.0,), transfer_time=0.1, name=f"model.layers.{id}/mlp") for id in range(4)]
    llama = Instance(nodes, [(0, 1), (1, 2), (2, 3)], Platform.uniform(2))
    split = solve(llama).split
    assert split is not None
    assert "pipeline-model-parallel-layout" in split.export("megatron")
    assert "VLLM_PP_LAYER_PARTITION" in split.export("vllm", layers="model.layers")
    assert json.loads(split.export("accelerate"))["model.layers.0"] == 0
    with pytest.raises(InvalidOption, match="this target cannot run the split"):
        split.export("vllm", layers="other")
    with pytest.raises(InvalidSplit):
        split.export("megatron", accelerators=1)


def test_nodes_are_kept_together() -> None:
    nodes = [Node(id, (1.0,), name=f"layers.{id}/mlp") for id in range(4)]
    named = Instance(nodes, [(0, 1), (1, 2), (2, 3)], Platform.uniform(2))
    split = solve(named, together=[["layers.0", "layers.1"], ["*.2/*", "layers.3"]]).split
    assert split is not None and [device.nodes for device in split.devices] == [(0, 1), (2, 3)]
    assert [violation.kind for violation in verify(named, split, together=["layers.0", "layers.3"])] == ["parted"]


VIOLATIONS: list[tuple[ViolationKind, list[Device]]] = [
    ("missing-node", [Device("accelerator", (0, 1, 2))]),
    ("unknown-node", [Device("accelerator", (0, 1, 2, 3, 9))]),
    ("unknown-node", [Device("accelerator", (0, 1, 2, 3, -1))]),
    ("unknown-node", [Device("accelerator", (0, 1, 2, 3, 2**70))]),
    ("duplicated-node", [Device("accelerator", (0, 1)), Device("accelerator", (1, 2, 3))]),
    ("unknown-class", [Device("accelerator", (0, 1, 2, 3), class_=4)]),
    ("too-many-devices", [Device("accelerator", (id,)) for id in range(4)]),
    ("unsupported-node", [Device("accelerator", (0, 1, 2)), Device("cpu", (3,))]),
    ("too-many-replicas", [Device("accelerator", (0, 1, 2, 3), replicas=2)]),
    ("no-replica", [Device("accelerator", (0, 1, 2, 3), replicas=0)]),
    ("cyclic", [Device("accelerator", (0, 2)), Device("accelerator", (1, 3))]),
]


@pytest.mark.parametrize(("kind", "devices"), VIOLATIONS)
def test_what_is_wrong_with_a_split_is_typed_and_never_raised(
    chain: Instance, kind: ViolationKind, devices: list[Device]
) -> None:
    violations = verify(chain, Split(chain, devices))
    assert kind in [violation.kind for violation in violations]
    assert all(violation.message == str(violation) for violation in violations)


def test_a_violation_says_where_and_how_much(chain: Instance) -> None:
    heavy = Instance([Node(0, (1.0,), memory=10)], [], Platform.uniform(1, memory=5))
    [violation] = verify(heavy, [[0]])
    assert (violation.kind, violation.device, violation.details["used"], violation.details["limit"]) == (
        "memory-exceeded",
        0,
        10.0,
        5.0,
    )
    [violation] = verify(chain, [[0, 1], [2]])
    assert violation.node == 3
    [violation] = verify(chain, [[0, 2], [1, 3]], scope="convex")[:1]
    assert (violation.kind, violation.details["path"]) == ("not-convex", [0, 1, 2])


def test_a_claim_is_held_against_the_split(chain: Instance, split: Split) -> None:
    [violation] = verify(chain, Split(chain, split.devices, objective=1.0))
    assert (violation.kind, violation.details) == ("wrong-objective", {"claimed": 1.0, "recomputed": 7.0})


def test_what_is_no_split_is_a_type_error(chain: Instance) -> None:
    for wrong in (7, ["ab"], [[0.5]]):
        with pytest.raises(TypeError):
            verify(chain, wrong)  # type: ignore[arg-type]


def test_what_makes_no_sense_to_ask_is_no_violation(chain: Instance, split: Split) -> None:
    with pytest.raises(InvalidOption, match="server"):
        verify(chain, split, server_size=3, between_factor=2.0)
