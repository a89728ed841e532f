"""Round trips: traced, profiled, solved, exported and run, a model gives what it gave before."""

from functools import partial

import pytest
import torch

from conftest import MODELS, make
from dagsplit_profile import Granularity, group, instance, measure, trace
from dagsplit_profile.instance import Devices
from dagsplit_profile.pipeline import run_pipeline
from dagsplit_profile.stages import pipeline_stage, read_stages, split_points
from dagsplit_profile.timing import Timer

BATCH, MICROBATCHES = 2, 3


def exported(name, folder, dagsplit, accelerators, granularity):
    """The stages that dagsplit finds on a profile of the model; so fast a link that splitting pays."""
    model, x = make(name, BATCH)
    traced = trace(model, (x,))
    groups = group(traced, granularity)
    costs = measure.measure(traced, groups, Timer(torch.device("cpu"), 1, 3), training=False)
    made = instance.build(traced, groups, costs, Devices("CPU", accelerators, None, 0, 1e13), 4, "copy")
    instance.write(made, {"name": name}, folder / "workload.json")
    dagsplit("solve", "workload.json", "--output", "split.json")
    dagsplit("export", "workload.json", "split.json", "--to", "pytorch-pipelining", "--output", "stages.json")
    return read_stages(folder / "stages.json")


def stage(name, granularity, nodes, rank):
    """The stage of a process; called in it."""
    model, x = make(name, BATCH)
    traced = trace(model, (x,))
    return pipeline_stage(traced, group(traced, granularity), nodes, rank)


@pytest.mark.parametrize("name, accelerators", [("mlp", 3), ("branching", 2), ("transformer", 2)])
def test_a_round_trip_gives_the_models_outputs(name, accelerators, dagsplit, tmp_path):
    granularity = Granularity()
    file = exported(name, tmp_path, dagsplit, accelerators, granularity)
    assert len(file.nodes) == accelerators
    batches = [MODELS[name][1](BATCH) for _ in range(MICROBATCHES)]
    make_stage = partial(stage, name, granularity, file.nodes)
    result = run_pipeline(make_stage, accelerators, [(batch,) for batch in batches], steps=1)
    model = make(name, BATCH)[0]
    with torch.no_grad():
        wanted = torch.cat([model(batch) for batch in batches])
    torch.testing.assert_close(result.outputs[0], wanted)
    assert result.milliseconds > 0 and max(file.loads) == pytest.approx(file.objective)


@pytest.mark.parametrize(
    "name, granularity", [("mlp", Granularity(depth=1)), ("transformer", Granularity(atomic=["Layer"]))]
)
def test_split_points_cut_the_model_where_the_stages_begin(name, granularity, dagsplit, tmp_path):
    from torch.distributed.pipelining import pipeline

    file = exported(name, tmp_path, dagsplit, 2, granularity)
    model, x = make(name, BATCH)
    pipe = pipeline(model, (x,), split_spec=split_points(file))
    assert pipe.num_stages == 2
    torch.testing.assert_close(pipe(x)[0] if isinstance(pipe(x), tuple) else pipe(x), model(x))
    # The split's last stage holds what the pipeline's last stage holds.
    parameters = {name for name, _ in pipe.get_stage_module(1).named_parameters()}
    begins = next(iter(file.split_spec))
    assert any(parameter.startswith(begins) for parameter in parameters)


def test_layers_are_exported_for_other_frameworks(dagsplit, tmp_path):
    exported("transformer", tmp_path, dagsplit, 2, Granularity(atomic=["Layer"]))
    files = ["workload.json", "split.json"]
    counts = dagsplit("export", *files, "--to", "vllm").strip().split("=")[1].split(",")
    assert sum(map(int, counts)) == 4
    assert '"layers.3"' in dagsplit("export", *files, "--to", "torchtitan")
