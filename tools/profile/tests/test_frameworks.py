"""Exports, read by the frameworks' own code: each must build exactly the layers of the split's stages.

A test is skipped where its framework is not installed; docs/your-model.md names the versions that were tried.
"""

import ast
import importlib
import importlib.util
import json
import os
import re
import shlex
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

from conftest import Layer, Transformer
from dagsplit_profile import Granularity, group, instance, roofline, trace
from dagsplit_profile.gloo import free_port, join
from dagsplit_profile.hardware import ACCELERATORS
from dagsplit_profile.instance import Devices

WORKLOAD = "traced/bert_large_layers_training.json"
LAYERS = 24


def needs(module):
    """The module of a framework; skips the test where it cannot be imported, and says why."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        pytest.skip(f"{module} cannot be imported: {error}")


def function_of(package, file, name):
    """A function from the code of a package that cannot be imported without accelerators."""
    found = importlib.util.find_spec(package)
    if found is None:
        pytest.skip(f"{package} is not installed")
    code = ast.parse((Path(found.origin).parent / file).read_text())
    function = next(node for node in code.body if isinstance(node, ast.FunctionDef) and node.name == name)
    names = {"os": os, "Tuple": tuple}
    exec(compile(ast.Module([function], []), file, "exec"), names)
    return names[name]


@pytest.fixture
def bert(dagsplit, repository):
    """Exports the optimal split of a real model; and the layers of each stage, read off the stages' nodes."""
    dagsplit("solve", str(repository / "instances" / WORKLOAD), "--output", "split.json")

    def export(target):
        return dagsplit("export", str(repository / "instances" / WORKLOAD), "split.json", "--to", target)

    names = [" ".join(stage["nodes"]) for stage in json.loads(export("pytorch-pipelining"))["stages"]]
    layers = [sorted({int(layer) for layer in re.findall(r"encoder\.layer\.(\d+)", stage)}) for stage in names]
    assert [layer for stage in layers for layer in stage] == list(range(LAYERS)) and len(
        {len(stage) for stage in layers}
    ) > 1
    return export, layers


def test_megatron_reads_the_layout(bert):
    place = "megatron.core.transformer.pipeline_parallel_layer_layout"
    parse = needs(place).PipelineParallelLayerLayout
    export, layers = bert
    arguments = shlex.split(export("megatron"))
    options = dict(zip(arguments[::2], arguments[1::2], strict=True))
    stages = int(options["--pipeline-model-parallel-size"])
    layout = parse.from_str(options["--pipeline-model-parallel-layout"], stages)
    layout.validate_layer_layout(LAYERS, None)
    assert layout.virtual_pipeline_model_parallel_size == 1
    assert [layout.get_layer_id_list(pp_rank=rank) for rank in range(stages)] == layers


@pytest.mark.parametrize("chunks", [1, 2])
def test_megatron_reads_a_whole_plan(dagsplit, tmp_path, monkeypatch, chunks):
    config = needs("megatron.core.transformer.transformer_config").TransformerConfig
    model = ["--model", "llama3-8b", "--tensor-degrees", "1,2", "--accelerator", "a100", "--precision", "fp16"]
    dagsplit("generate", "llm", *model, "--cpus", "0", "--output", "llama.json")
    dagsplit("generate", "topology", "nvswitch", "--nodes", "2", "--output", "servers.json")
    training = ["--batch", "32", "--optimizer", "adam", "--precision", "bf16", "--zero", "1"]
    written = ["--to", "megatron", "--output-settings", "settings.txt", "--output-ranks", "ranks.txt", "--quiet"]
    shape = ["--stages", "4", "--chunks", str(chunks), "--output", "split.json"]
    plan = json.loads(dagsplit("plan", "llama.json", "servers.json", *training, *written, *shape, "--json"))
    arguments = shlex.split((tmp_path / "settings.txt").read_text())
    for flag in ["--bf16", "--use-distributed-optimizer"]:
        arguments.remove(flag)
    options = dict(zip(arguments[::2], arguments[1::2], strict=True))
    number = {name: int(value) for name, value in options.items() if value.isdigit()}
    tensor, stages = number["--tensor-model-parallel-size"], number["--pipeline-model-parallel-size"]
    built = config(
        num_layers=32,
        hidden_size=4096,
        num_attention_heads=32,
        tensor_model_parallel_size=tensor,
        pipeline_model_parallel_size=stages,
        pipeline_model_parallel_layout=options["--pipeline-model-parallel-layout"],
        pipeline_dtype=torch.bfloat16,
        recompute_granularity=options.get("--recompute-granularity"),
        recompute_method=options.get("--recompute-method"),
        recompute_num_layers=number.get("--recompute-num-layers"),
    )
    best = plan["candidates"][0]
    assert (stages, tensor, chunks) == (best["stages"], best["tensor_degree"], best["chunks"])
    layout, virtual = built.pipeline_model_parallel_layout, chunks if chunks > 1 else None
    state = needs("megatron.core.parallel_state")
    monkeypatch.setattr(state, "get_virtual_pipeline_model_parallel_world_size", lambda: virtual)
    assert layout.virtual_pipeline_model_parallel_size == chunks
    for rank, device in enumerate(json.loads((tmp_path / "split.json").read_text())["fpgas"]):
        for chunk, nodes in enumerate(device.get("chunks", [device["nodes"]])):
            # The first node is the embedding, and the last one the head.
            layers = [node - 1 for node in nodes if 1 <= node <= 32]
            assert layout.get_layer_id_list(vp_stage=chunk, pp_rank=rank) == layers
    ranks = (tmp_path / "ranks.txt").read_text().splitlines()
    assert len(set(ranks)) == len(ranks) == stages * tensor * best["replicas"]


def test_vllm_reads_the_partition(bert, monkeypatch):
    indices = needs("vllm.distributed.utils").get_pp_indices
    export, layers = bert
    monkeypatch.setenv(*export("vllm").strip().split("="))
    stages = len(layers)
    assert [list(range(*indices(LAYERS, rank, stages))) for rank in range(stages)] == layers


def test_sglang_reads_the_partition(bert, monkeypatch):
    indices = function_of("sglang", "srt/distributed/utils.py", "get_pp_indices")
    export, layers = bert
    variable, counts = export("sglang").strip().split("=")
    monkeypatch.setenv(variable, counts)
    stages = len(layers)
    assert [list(range(*indices(LAYERS, rank, stages))) for rank in range(stages)] == layers
    monkeypatch.setenv(variable, counts + ",1")
    with pytest.raises(ValueError, match="does not match"):
        indices(LAYERS, 0, stages)


class Decoder(nn.Module):
    """A language model as torchtitan wants it: every module may be missing."""

    def __init__(self, layers=4, width=32):
        super().__init__()
        self.tok_embeddings = nn.Embedding(50, width)
        self.layers = nn.ModuleList(Layer(width) for _ in range(layers))
        self.norm = nn.RMSNorm(width)
        self.output = nn.Linear(width, 50, bias=False)

    def forward(self, x):
        x = x if self.tok_embeddings is None else self.tok_embeddings(x)
        for layer in self.layers:
            x = layer(x)
        x = x if self.norm is None else self.norm(x)
        return x if self.output is None else self.output(x)


def modelled(model, folder):
    """Writes a workload of `model` with a node for each layer, on two devices; the modelled link is next to free."""
    traced = trace(model, (torch.zeros(2, 10, dtype=torch.long),))
    groups = group(traced, Granularity(atomic=["Layer"]))
    costs = roofline.model(traced, groups, ACCELERATORS["v100"], False, False)
    made = instance.build(traced, groups, costs, Devices("V100", 2, None, 0, 1e15), 6, "copy")
    instance.write(made, {"name": "model"}, folder / "model.json")


def exported(model, folder, dagsplit, target):
    """The export of a split of `model` between its layers over two devices."""
    modelled(model, folder)
    dagsplit("solve", "model.json", "--output", "split.json")
    return dagsplit("export", "model.json", "split.json", "--to", target)


def in_two_processes(work, *arguments):
    """Runs `work(rank, *arguments)` in two processes of one gloo group; what it returns on the last one."""
    context = mp.get_context("spawn")
    result = context.SimpleQueue()
    mp.spawn(_process, args=(free_port(), result, work, arguments), nprocs=2)
    return result.get()


def _process(rank, port, result, work, arguments):
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2"}
    torch.set_num_threads(1)
    join(rank, 2, port)
    with torch.no_grad():
        returned = work(rank, *arguments)
    if rank == 1:
        result.put(returned)
    dist.barrier()
    dist.destroy_process_group()


def example(make):
    """A model with the same weights in every process, and its input."""
    torch.manual_seed(0)
    return make().eval(), torch.randint(50, (4, 10))


def titan_stages(rank, parts):
    """torchtitan splits the model; PyTorch runs it."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.pipelining import ScheduleGPipe

    pipelines = importlib.import_module("torchtitan.distributed.pipeline_parallel")
    # It is private from 0.3 on.
    split = getattr(pipelines, "pipeline_module_split", None) or pipelines._pipeline_module_split
    model, x = example(Decoder)
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("pp",))
    stages, modules = split(model, mesh, "GPipe", torch.device("cpu"), parts)
    schedule = ScheduleGPipe(stages[0], 2)
    output = schedule.step(x) if rank == 0 else schedule.step()
    parameters = [None, None]
    dist.all_gather_object(parameters, sum(p.numel() for p in modules[0].parameters()))
    return parameters, None if output is None else output.numpy()


def test_torchtitan_splits_the_model(dagsplit, tmp_path):
    tomllib = needs("tomllib")
    needs("torchtitan.distributed.pipeline_parallel")
    text = exported(Decoder().eval(), tmp_path, dagsplit, "torchtitan")
    settings = tomllib.loads(text)
    in_python = {}
    exec(text, in_python)
    parts = in_python["module_fqns_per_model_part"]
    assert parts == settings["module_fqns_per_model_part"] and len(parts) == settings["pipeline_parallel_degree"] == 2
    parameters, output = in_two_processes(titan_stages, parts)
    model, x = example(Decoder)
    named = [sum(p.numel() for name in part for p in model.get_submodule(name).parameters()) for part in parts]
    assert parameters == named and sum(named) == sum(p.numel() for p in model.parameters())
    torch.testing.assert_close(torch.from_numpy(output), model(x))


def titan_chunks(rank, parts, schedule):
    """The stages that torchtitan builds on each rank, with the parameters of each."""
    from torch.distributed.device_mesh import init_device_mesh

    pipelines = importlib.import_module("torchtitan.distributed.pipeline_parallel")
    split = getattr(pipelines, "pipeline_module_split", None) or pipelines._pipeline_module_split
    model, _ = example(Decoder)
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("pp",))
    stages, modules = split(model, mesh, schedule, torch.device("cpu"), parts)
    built = [None, None]
    held = [
        (stage.stage_index, sum(p.numel() for p in module.parameters()))
        for stage, module in zip(stages, modules, strict=True)
    ]
    dist.all_gather_object(built, held)
    return built


@pytest.mark.parametrize(("placement", "homes"), [("interleaved", [0, 1, 0, 1]), ("v-shape", [0, 1, 1, 0])])
def test_torchtitan_builds_the_chunks_of_each_rank(dagsplit, tmp_path, placement, homes):
    tomllib = needs("tomllib")
    needs("torchtitan.distributed.pipeline_parallel")
    modelled(Decoder().eval(), tmp_path)
    ids = {node["name"].split("/")[0]: node["id"] for node in json.loads((tmp_path / "model.json").read_text())["nodes"]}
    ends = [["", "tok_embeddings", "layers.0"], ["layers.1"], ["layers.2"], ["layers.3", "norm", "output"]]
    stages = [[ids[name] for name in names] for names in ends]
    held = [[stages[stage] for stage in range(4) if homes[stage] == rank] for rank in range(2)]
    split = {"fpgas": [{"nodes": sum(chunks, []), "chunks": chunks} for chunks in held]}
    (tmp_path / "split.json").write_text(json.dumps(split))
    asked = ["--objective", "step", "--microbatches", "4", "--chunks", "2", "--placement", placement]
    settings = tomllib.loads(dagsplit("export", "model.json", "split.json", *asked, "--to", "torchtitan"))
    parts, schedule = settings["module_fqns_per_model_part"], settings["pipeline_parallel_schedule"]
    built = in_two_processes(titan_chunks, parts, schedule)
    model, _ = example(Decoder)
    named = [sum(p.numel() for name in part for p in model.get_submodule(name).parameters()) for part in parts]
    held = [[(stage, named[stage]) for stage in range(4) if homes[stage] == rank] for rank in range(2)]
    assert [sorted(stages) for stages in built] == held
    assert sum(named) == sum(p.numel() for p in model.parameters())


def deepspeed_stages(rank, file):
    """DeepSpeed builds its part of the list of layers; the first process sends what it makes of the input."""
    import deepspeed
    from deepspeed.pipe import PipelineModule

    class SplitPipeline(PipelineModule):
        def _partition_layers(self, method="uniform"):
            self.parts = file["parts"]
            self._set_bounds(start=self.parts[self.stage_id], stop=self.parts[self.stage_id + 1])

    deepspeed.init_distributed(dist_backend="gloo")
    model, x = example(Transformer)
    layers = [model.embedding, *model.layers, model.head]
    stage = SplitPipeline(layers=layers, num_stages=file["num_stages"])
    built = [None, None]
    dist.all_gather_object(built, [layers.index(layer) for layer in stage.forward_funcs])
    if rank == 0:
        dist.send(stage(x), 1)
        return None
    received = torch.empty(4, 10, 32)
    dist.recv(received, 0)
    return built, stage(received).numpy()


def test_deepspeed_builds_the_parts(dagsplit, tmp_path):
    needs("deepspeed.pipe")
    file = json.loads(exported(Transformer().eval(), tmp_path, dagsplit, "deepspeed"))
    assert file["layers"] == ["before the layers", *(f"layers.{layer}" for layer in range(4)), "after the layers"]
    built, output = in_two_processes(deepspeed_stages, file)
    parts = file["parts"]
    assert built == [list(range(parts[stage], parts[stage + 1])) for stage in range(2)]
    model, x = example(Transformer)
    torch.testing.assert_close(torch.from_numpy(output), model(x))


def test_accelerate_places_the_modules(dagsplit, tmp_path):
    modeling = needs("accelerate.utils.modeling")
    device_map = json.loads(exported(Decoder().eval(), tmp_path, dagsplit, "accelerate"))
    stages = json.loads(dagsplit("export", "model.json", "split.json", "--to", "pytorch-pipelining"))["stages"]
    held = {node.split("/")[0]: device for device, stage in enumerate(stages) for node in stage["nodes"]}
    model, x = example(Decoder)
    modeling.check_device_map(model, device_map)
    for name, _ in model.named_parameters():
        device = modeling._get_param_device(name, device_map)
        assert device == next(device for module, device in held.items() if module and name.startswith(f"{module}."))
    assert set(device_map.values()) == {0, 1}
    expected = model(x)
    dispatch = importlib.import_module("accelerate").dispatch_model
    placed = dispatch(model, dict.fromkeys(device_map, "cpu"), force_hooks=True)
    torch.testing.assert_close(placed(x), expected)
    device_map.popitem()
    with pytest.raises(ValueError, match="does not give any device"):
        modeling.check_device_map(model, device_map)
