"""Workloads of live PyTorch models, and what is said where there is no PyTorch."""

import sys
from typing import Any

import pytest

import dagsplit
from conftest import has_torch
from dagsplit import tracing

needs_torch = pytest.mark.skipif(not has_torch(), reason="there is no PyTorch: `dagsplit.trace` is not tried")


@pytest.fixture
def hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """No PyTorch, wherever this runs."""
    for module in [each for each in sys.modules if each.split(".")[0] == "dagsplit_profile"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "torch", None)


@pytest.mark.usefixtures("hidden")
def test_without_pytorch_it_says_what_to_install() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"dagsplit.trace: it needs PyTorch: pip install '.\[torch\]'"):
        dagsplit.trace(None, None)
    with pytest.raises(SystemExit, match=r"error: it needs PyTorch: pip install '.\[torch\]'"):
        tracing.main()


def model() -> Any:
    from torch import nn

    return nn.Sequential(*(nn.Sequential(nn.Linear(16, 16), nn.Dropout(), nn.ReLU()) for _ in range(4)))


def inputs() -> Any:
    import torch

    return torch.zeros(3, 16)


@needs_torch
def test_a_live_model_is_split_and_left_as_it_is() -> None:
    module = model().eval()
    workload = dagsplit.trace(module, inputs(), roofline="a100", training=True, accelerators=2, name="mlp")
    assert (workload.name, workload.metadata["provenance"]) == ("mlp", "modelled")
    assert workload.metadata["settings"]["batch"] == 3
    assert workload.platform.accelerators[0].count == 2 and any(node.backward for node in workload.nodes)
    assert not any(each.training for each in module.modules())
    assert dagsplit.solve(workload).status == "optimal"


@needs_torch
def test_times_are_measured_where_the_model_is() -> None:
    workload = dagsplit.trace(model(), inputs(), warmup=0, repeats=1, bandwidth=1e9, cpu_times=True)
    assert workload.metadata["provenance"] == "profiled"
    linear = next(node for node in workload.nodes if node.name == "0.0/linear")
    assert linear.accelerator_times[0] and linear.cpu_time
    assert linear.transfer_time == pytest.approx(1e3 * 3 * 16 * 4 / 1e9)


@needs_torch
def test_modules_are_nodes_where_that_is_asked_for() -> None:
    coarse = dagsplit.trace(model(), (inputs(),), roofline="v100", depth=1)
    assert [node.name for node in coarse.nodes] == ["/input", "0", "1", "2", "3"]
    assert dagsplit.trace(model(), {"input": inputs()}, roofline="v100", atomic="Sequential").nodes == coarse.nodes


@needs_torch
def test_everything_that_is_wrong_is_listed() -> None:
    from dagsplit_profile import ProfileError

    with pytest.raises(ProfileError) as raised:
        dagsplit.trace(model(), inputs(), roofline="b100", repeats=0, accelerators=0)  # type: ignore[arg-type]
    assert all(part in str(raised.value) for part in ("roofline is 'b100'", "repeats is 0", "accelerators is 0"))
    with pytest.raises(ProfileError, match=r"is no torch\.nn\.Module"):
        dagsplit.trace(7, inputs())
