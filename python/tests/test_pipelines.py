"""Interconnects, mappings, plans, simulations."""

import pickle
from pathlib import Path

import pytest

from conftest import PROJECT, data_of
from dagsplit import Instance, InvalidInstance, InvalidOption, Split, Topology, generate, map, plan, simulate, solve

TOPOLOGIES = PROJECT / "instances" / "topologies"


@pytest.fixture
def split(chain: Instance) -> Split:
    split = solve(chain).split
    assert split is not None
    return split


def test_topologies(tmp_path: Path) -> None:
    topology = Topology.load(TOPOLOGIES / "hierarchical-4x4.json")
    assert len(topology.devices) == 16
    topology.save(tmp_path / "topology.json")
    assert Topology.load(tmp_path / "topology.json").devices == topology.devices
    assert len(Topology.generate("torus", shape="4x4").devices) == 16
    with pytest.raises(InvalidInstance, match=r"README\.md"):
        Topology.load(PROJECT / "README.md")
    with pytest.raises(InvalidOption, match="leave link out"):
        Topology.load(tmp_path / "topology.json", link={"NV": "20GB"})


def test_a_mapping_is_verified_and_drawn(split: Split) -> None:
    mapped = map(split, Topology.load(TOPOLOGIES / "hierarchical-4x4.json"), replicas=4)
    assert mapped.status == "optimal" and mapped.gap == 0.0 and len(mapped.copies) == 8
    assert (
        mapped.record["schema"] == "dagsplit-map/1" and mapped.json is not None and "dagsplit-mapping/1" in mapped.json
    )
    assert mapped._repr_svg_().startswith("<svg")
    with pytest.raises(InvalidOption, match="replicas 9"):
        map(split, Topology.load(TOPOLOGIES / "hierarchical-4x4.json"), replicas=9)


def test_a_plan_has_the_split_of_its_best_candidate() -> None:
    workload = generate("transformer", layers=2, training=True)
    planned = plan(workload, Topology.generate("hierarchical", nodes=2, node_size=2), batch=16, mapping_time=2.0)
    assert planned.best is not None and planned.split is not None
    assert planned.objective is not None and planned.lower_bound is not None
    assert planned.objective == planned.best["time"]
    assert planned.lower_bound <= planned.objective and planned.status in {"optimal", "feasible"}
    assert planned.best["stages"] == len(planned.split.devices)
    assert {each["status"] for each in planned.candidates} <= {
        "best", "planned", "too-large", "infeasible", "failed", "beaten", "skipped"
    }
    assert data_of(planned.html())["record"] == planned.record
    with pytest.raises(InvalidOption, match="pickled"):
        pickle.loads(pickle.dumps(planned)).html()


def test_a_simulation_takes_what_the_split_says(split: Split) -> None:
    simulated = simulate(split, schedule="inference", microbatches=8)
    assert simulated.steady_time == split.objective == 7.0
    assert simulated.makespan == 7.0 * 9 and simulated.record["microbatches"] == 8
    assert simulated._repr_svg_().startswith("<svg")
    with pytest.raises(InvalidOption, match="possible values"):
        simulate(split, schedule="chaos")  # type: ignore[arg-type]
