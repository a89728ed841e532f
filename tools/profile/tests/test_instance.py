"""Instances say of a model what its tensors say."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from conftest import make
from dagsplit_profile import Granularity, group, instance, measure, roofline, trace
from dagsplit_profile.cli import main
from dagsplit_profile.hardware import ACCELERATORS
from dagsplit_profile.instance import Devices
from dagsplit_profile.timing import Timer

DEVICES = Devices("V100", 4, None, 0, 1e9)


def built(name, training=False, tied="copy", how="roofline", **granularity):
    model, x = make(name)
    traced = trace(model.train(training), (x,))
    groups = group(traced, Granularity(**granularity))
    if how == "roofline":
        costs = roofline.model(traced, groups, ACCELERATORS["v100"], False, training)
    else:
        costs = measure.measure(traced, groups, Timer(torch.device("cpu"), 0, 3), training)
    return instance.build(traced, groups, costs, DEVICES, 6, tied), model


def by_name(made):
    return {node["name"]: node for node in made["nodes"]}


@pytest.mark.parametrize("how", ["roofline", "measured"])
@pytest.mark.parametrize("name", ["mlp", "branching", "transformer"])
def test_parameters_and_outputs_are_the_models(name, how):
    made, model = built(name, how=how)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    # The transformer's embedding is tied, and both readers hold a copy.
    copies = 50 * 32 if name == "transformer" else 0
    assert sum(node.get("parameter_bytes", 0) for node in made["nodes"]) == 4 * (parameters + copies)
    last = made["nodes"][-1]
    assert last["output_bytes"] == 4 * model(make(name)[1]).numel()
    assert last["transfer_time"] == pytest.approx(1e3 * last["output_bytes"] / 1e9, rel=1e-5)
    assert all(source < target for source, target in made["edges"])


def test_views_take_no_time_and_no_memory():
    nodes = by_name(built("transformer")[0])
    views = [node for name, node in nodes.items() if "transpose" in name or "unflatten" in name]
    assert len(views) == 4 * (3 + 3 + 1)
    assert all(node["accelerator_times"] == [0.0] and node["memory"] == 0 for node in views)
    assert all(node["output_bytes"] == 4 * 2 * 10 * 32 for node in views)


def test_pieces_of_a_tuple_share_its_device():
    nodes = by_name(built("transformer")[0])
    chunk = nodes["layers.0/chunk"]
    pieces = [node for name, node in nodes.items() if name.startswith("layers.0/getitem")]
    assert len(pieces) == 3
    assert {node["color_class"] for node in pieces} == {chunk["color_class"]} == {chunk["id"]}
    assert all(node["output_bytes"] == 4 * 2 * 10 * 32 for node in pieces)


def test_tied_parameters_share_a_device_when_asked():
    made, model = built("transformer", tied="colocate")
    nodes = by_name(made)
    embedding, head = nodes["embedding/embedding"], nodes["head/linear_16"]
    assert embedding["color_class"] == head["color_class"]
    assert "parameter_bytes" not in head and embedding["parameter_bytes"] == 4 * 50 * 32
    total = sum(node.get("parameter_bytes", 0) for node in made["nodes"])
    assert total == 4 * sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize("how", ["roofline", "measured"])
def test_the_backward_pass_mirrors_the_forward_pass(how):
    made, _ = built("branching", training=True, how=how)
    forward = {node["id"]: node for node in made["nodes"] if not node.get("backward")}
    backward = {node["id"]: node for node in made["nodes"] if node.get("backward")}
    # All but the input have a gradient.
    assert len(backward) == len(forward) - 1
    twin = {source: target for source, target in made["edges"] if source in forward and target in backward}
    for source, target in made["edges"]:
        if source in twin and target in forward:
            assert (twin[target], twin[source]) in made["edges"]
    for node, gradient in twin.items():
        assert forward[node]["color_class"] == backward[gradient]["color_class"]
        inputs = [source for source, target in made["edges"] if target == node and source in twin]
        assert backward[gradient]["output_bytes"] == sum(forward[source]["output_bytes"] for source in inputs)
        assert backward[gradient]["memory"] == forward[node].get("parameter_bytes", 0)


def test_training_holds_what_the_backward_pass_needs():
    inference, training = (by_name(built("transformer", t, how="measured", atomic=["Layer"])[0]) for t in (False, True))
    # Every layer keeps at least its two normalized inputs, queries, keys, values, and both sides of the GELU.
    kept = training["layers.0"]["memory"] - inference["layers.0"]["memory"]
    assert kept >= 4 * (2 * 10 * 32) * (2 + 3 + 8)


def test_statistics_of_training_are_no_nodes():
    names = by_name(built("branching", training=True)[0])
    assert not [name for name in names if name.startswith("left.1/add")]


def test_a_modules_costs_are_those_of_its_operators():
    fine, _ = built("transformer")
    coarse, _ = built("transformer", atomic=["Layer"])
    assert len(coarse["nodes"]) == 7
    time = lambda made: sum(node["accelerator_times"][0] for node in made["nodes"])
    assert time(coarse) == pytest.approx(time(fine), rel=1e-5)
    parameters = lambda made: sum(node.get("parameter_bytes", 0) for node in made["nodes"])
    assert parameters(coarse) == parameters(fine)


def test_measured_nodes_have_a_spread_and_the_file_tells_where_it_comes_from(tmp_path):
    out = tmp_path / "mlp.json"
    arguments = ["mlp", "--layers", "2", "--device", "cpu", "--bandwidth", "1GB", "--repeats", "3", "--cpu-times"]
    assert main([*arguments, "--quiet", "--output", str(out)]) == 0
    file = json.loads(out.read_text())
    metadata = file["metadata"]
    assert metadata["provenance"] == "profiled" and metadata["device"].startswith("CPU")
    assert metadata["settings"]["repeats"] == 3 and metadata["settings"]["dtype"] == "float32"
    assert f"torch {torch.__version__.split('+')[0]}" in metadata["software"]
    assert metadata["source"] == f"dagsplit-profile {' '.join(arguments)}"
    linear = next(node for node in file["nodes"] if node["name"] == "0.0/linear")
    assert linear["accelerator_times"][0] > 0 and linear["cpu_time"] == linear["accelerator_times"][0]
    assert linear["time_spread"] >= 0


def test_a_file_of_ones_own_finds_the_modules_beside_it(tmp_path):
    (tmp_path / "parts_of_it.py").write_text("from torch import nn\n\nmake_layer = lambda: nn.Linear(3, 3)\n")
    model = "import torch\nfrom parts_of_it import make_layer\n\n\ndef make(batch):\n"
    (tmp_path / "own.py").write_text(model + "    return make_layer(), torch.ones(batch, 3)\n")
    out = tmp_path / "own.json"
    assert main([f"{tmp_path / 'own.py'}:make", "--roofline", "v100", "--batch", "5", "--output", str(out)]) == 0
    assert [node["output_bytes"] for node in json.loads(out.read_text())["nodes"]] == [60, 60]


def test_mistakes_are_told(capsys):
    assert main(["no-such-model"]) == 1
    assert "give one of mlp, resnet50" in capsys.readouterr().err
    assert main(["nowhere:make"]) == 1
    assert "cannot be loaded" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["mlp", "--batch", "0"])


def test_the_roofline_agrees_with_that_of_dagsplit_generate(repository, tmp_path):
    """The same network, built and costed by two programs that share no code, to the digits that are written."""
    pytest.importorskip("torchvision")
    reference = json.loads((repository / "instances" / "resnet50_inference.json").read_text())["nodes"]
    out = tmp_path / "resnet50.json"
    assert (
        main(["resnet50", "--roofline", "v100", "--batch", "32", "--cpu-times", "--quiet", "--output", str(out)]) == 0
    )
    nodes = json.loads(out.read_text())["nodes"]
    assert len(nodes) == len(reference)
    for key in ("cpu_time", "transfer_time", "parameter_bytes"):
        total = sum(node.get(key, 0) for node in nodes)
        assert total == pytest.approx(sum(node.get(key, 0) for node in reference), rel=1e-4), key
    time = lambda nodes: sum(node["accelerator_times"][0] for node in nodes)
    assert time(nodes) == pytest.approx(time(reference), rel=1e-4)


@pytest.mark.parametrize("training", [False, True])
def test_modelled_and_measured_instances_have_the_same_nodes(training, tmp_path):
    pytest.importorskip("transformers")
    described = []
    for how in (["--roofline", "v100"], ["--device", "cpu", "--bandwidth", "1GB", "--warmup", "0", "--repeats", "1"]):
        out = tmp_path / "segformer.json"
        model = f"{Path(__file__).with_name('families.py')}:segformer"
        assert main([model, *how, *["--training"] * training, "--quiet", "--output", str(out)]) == 0
        file = json.loads(out.read_text())
        sizes = ("name", "output_bytes", "parameter_bytes", "color_class", "backward")
        described.append(([[node.get(key) for key in sizes] for node in file["nodes"]], file["edges"]))
    assert described[0] == described[1]


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", ["mlp", "branching", "transformer"])
def test_dagsplit_reads_and_solves_every_instance(name, training, dagsplit, tmp_path):
    made, _ = built(name, training)
    profile_metadata = {"name": name, "provenance": "modelled", "settings": {"batch": 2, "pass": "any"}}
    instance.write(made, profile_metadata, tmp_path / "workload.json")
    solved = json.loads(dagsplit("solve", "workload.json", "--json"))
    assert solved["status"] == "optimal"


def test_onnx_import_agrees_with_the_tracer(dagsplit, tmp_path):
    """Two ways from one model to a workload: matrix products and weights must weigh the same."""
    pytest.importorskip("onnxscript")
    model, x = make("transformer", batch=4)
    torch.onnx.export(model, (x,), tmp_path / "model.onnx", dynamo=True, verbose=False)
    dagsplit("convert", "model.onnx", "--to", "native", "--output", "model.json")
    imported = json.loads((tmp_path / "model.json").read_text())["nodes"]
    traced, _ = built("transformer")
    weights = lambda nodes: sum(node.get("parameter_bytes", 0) for node in nodes)
    assert weights(imported) == pytest.approx(weights(traced["nodes"]), rel=0.01)


def test_the_package_runs_as_a_program():
    command = [sys.executable, "-m", "dagsplit_profile", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "--roofline" in done.stdout
