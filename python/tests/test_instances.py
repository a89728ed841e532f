"""Workloads: made, read, written, refused."""

import pickle
from pathlib import Path

import networkx as nx
import pytest
import rustworkx as rx

from conftest import PROJECT
from dagsplit import Error, Instance, InvalidInstance, InvalidOption, Node, Platform, generate, solve

WORKLOADS = sorted(path for path in (PROJECT / "instances").glob("*.json") if path.name != "ledger.json")


@pytest.mark.parametrize("path", WORKLOADS, ids=lambda path: path.stem)
def test_a_workload_survives_every_way_out_and_in(path: Path) -> None:
    instance = Instance.load(path)
    again = [
        Instance.from_json(instance.to_json()),
        Instance.from_dict(instance.to_dict()),
        pickle.loads(pickle.dumps(instance)),
    ]
    if "parallelism" not in instance.to_dict():  # Nodes and edges do not hold options.
        again.append(Instance(instance.nodes, instance.edges, instance.platform, metadata=instance.metadata))
    assert all(each == instance and each.hash == instance.hash for each in again)
    other = Instance.from_networkx(instance.to_networkx())
    assert (other.nodes, other.platform, other.metadata) == (instance.nodes, instance.platform, instance.metadata)
    assert sorted(other.edges) == sorted(set(instance.edges))


def test_a_saved_workload_is_read_by_its_name(chain: Instance, tmp_path: Path) -> None:
    chain.save(tmp_path / "file.json")
    assert Instance.load(tmp_path / "file.json") == chain
    unnamed = Instance(chain.nodes, chain.edges, chain.platform)
    unnamed.save(tmp_path / "file.json")
    assert Instance.load(tmp_path / "file.json").name == "file"
    assert unnamed.name == "unnamed"


def test_devices_take_the_place_of_those_of_the_workload(chain: Instance) -> None:
    other = chain.with_devices(accelerators=4, memory="16GiB", cpus=2)
    assert other.platform == Platform.uniform(4, 16 * 2**30, 2)
    assert other.with_devices(memory="unlimited").platform.accelerators[0].memory is None
    assert solve(other).objective == solve(chain, accelerators=4, memory=16 * 2**30, cpus=2).objective


def test_nodes_of_networkx_are_numbered_and_named_where_they_are_no_ids() -> None:
    graph: nx.DiGraph[str] = nx.DiGraph([("a", "b")], name="pair")
    nx.set_node_attributes(graph, {"a": 1.0, "b": 2.0}, "accelerator_time")
    nx.set_node_attributes(graph, {"a": "oval", "b": "box"}, "shape")
    instance = Instance.from_networkx(graph, Platform.uniform(1))
    assert [(node.id, node.name, node.accelerator_times) for node in instance.nodes] == [
        (0, "a", (1.0,)),
        (1, "b", (2.0,)),
    ]
    assert (instance.name, instance.edges) == ("pair", ((0, 1),))


def test_graphs_of_rustworkx_hold_dictionaries_or_nodes(chain: Instance) -> None:
    graph: rx.PyDiGraph[object, None] = rx.PyDiGraph()
    graph.add_nodes_from(
        [
            node if node.id % 2 else {"accelerator_time": 3.0, "transfer_time": 1.0, "output_bytes": 1e6}
            for node in chain.nodes
        ]
    )
    graph.add_edges_from_no_data([(source, target) for source, target in chain.edges])
    assert Instance.from_rustworkx(graph, chain.platform, name="chain") == chain


def test_everything_that_is_wrong_is_listed() -> None:
    nodes = [Node(0, (1.0,), name="embed"), Node(0, (-1.0,))]
    with pytest.raises(InvalidInstance) as raised:
        Instance(nodes, [(0, 7)], Platform.uniform(2))
    message = str(raised.value)
    assert all(part in message for part in ("node 0", "-1", "edge 0 → 7", "this id"))


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (lambda: Instance.load("missing.json"), "missing.json"),
        (lambda: Instance.load(PROJECT / "README.md"), "README.md"),
        (lambda: Instance.from_json("{"), "line 1"),
        (lambda: Instance.from_dict({"nodes": [], "edges": []}), "platform"),
        (lambda: Instance.from_networkx(nx.DiGraph([(0, 1)])), "platform"),
        (lambda: Instance.from_networkx(nx.DiGraph([(0, 1)]), Platform.uniform(1)), "no device can run it"),
        (lambda: Instance([Node(0, (float("nan"),))], [], Platform.uniform(1)), "finite"),
        (lambda: Platform.from_dict({"cpus": 1}), "accelerators"),
        (lambda: Instance.from_onnx("model.json"), "*.onnx"),
        (lambda: Instance.from_onnx("model.onnx"), "model.onnx"),
    ],
)
def test_bad_input_is_one_error_that_says_where(make: object, part: str) -> None:
    assert callable(make)
    with pytest.raises(InvalidInstance) as raised:
        make()
    assert part in str(raised.value)
    assert isinstance(raised.value, Error)


def test_options_are_refused_by_their_names(chain: Instance) -> None:
    with pytest.raises(InvalidOption, match="accelerators has 2 values"):
        chain.with_devices(accelerators=[1, 2])
    with pytest.raises(InvalidOption, match="between_factor"):
        solve(chain, server_size=1)
    with pytest.raises(InvalidOption, match="a similar argument exists: 'scope'"):
        solve(chain, scop="convex")  # type: ignore[call-arg]
    with pytest.raises(InvalidOption, match="acyclic"):
        solve(chain, scope="any")  # type: ignore[arg-type]


def test_what_info_tells(chain: Instance) -> None:
    assert chain.info()["schema"] == "dagsplit-info/1"
    assert chain.info(accelerators=1)["instance"]["nodes"] == 4


def test_a_generated_workload_is_the_same_again() -> None:
    assert generate("dnn", nodes=30, seed=3) == generate("dnn", nodes=30, seed=3)
    assert generate("resnet", depth=50, training=True).nodes[-1].backward
    with pytest.raises(InvalidOption, match="unrecognized subcommand"):
        generate("hypercube")


def test_other_formats_are_written(chain: Instance) -> None:
    assert chain.to_text("dot").startswith("digraph")
    with pytest.raises(InvalidOption, match="possible values"):
        chain.to_text("pdf")
