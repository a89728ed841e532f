"""A model from PyTorch to a running pipeline: traced, profiled on the CPU, split by dagsplit, run by PyTorch.

    pip install '.[models]'
    OMP_NUM_THREADS=1 python examples/pytorch/pipeline.py --stages 2

Every stage is a process of one thread; they talk over gloo. The outputs must equal the whole model's, and the time
for each batch is shown beside the one that dagsplit predicts.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from functools import partial
from pathlib import Path

import torch
from dagsplit_profile import instance, profile
from dagsplit_profile.grouping import group
from dagsplit_profile.models import Settings, build
from dagsplit_profile.pipeline import run_pipeline
from dagsplit_profile.stages import pipeline_stage, read_stages
from torch.distributed.pipelining import PipelineStage


def main() -> None:
    """Profiles, splits, runs, compares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "model", nargs="?", default="bert-base", help="built in, or your own function of the batch size"
    )
    parser.add_argument("--stages", type=int, default=2, help="processes, 2 to 4")
    parser.add_argument("--microbatches", type=int, default=8)
    parser.add_argument("--layers", type=int, help="depth of a transformer")
    parser.add_argument("--sequence", type=int, default=128, help="tokens of a language model")
    parser.add_argument("--dagsplit", default="dagsplit", help="the program")
    options = parser.parse_args()

    torch.set_num_threads(1)
    settings = Settings(batch=1, layers=options.layers, sequence=options.sequence)
    job = profile.Job(options.model, settings, accelerators=options.stages)
    with tempfile.TemporaryDirectory() as folder:
        stages = split(job, Path(folder), options.dagsplit)
        run(job, stages, options.microbatches)


def split(job: profile.Job, folder: Path, dagsplit: str) -> Path:
    """Profiles the model and lets dagsplit split it; gives the file that tells the stages."""
    workload, solution, stages = (folder / name for name in ("workload.json", "split.json", "stages.json"))
    profiled = profile.run(job)
    print(profiled.summary())
    instance.write(profiled.instance, profiled.metadata, workload)
    subprocess.run([dagsplit, "solve", workload, "--output", solution], check=True)
    export = [dagsplit, "export", workload, solution, "--to", "pytorch-pipelining", "--output", stages]
    subprocess.run(export, check=True)
    return stages


def stage(job: profile.Job, stages: Path, rank: int) -> PipelineStage:
    """The stage of a process; the job's seed makes the weights the same in each."""
    traced = profile.traced_model(job)
    return pipeline_stage(traced, group(traced, job.granularity), read_stages(stages).nodes, rank)


def run(job: profile.Job, stages: Path, microbatches: int) -> None:
    """Runs the pipeline and the whole model on the same batches."""
    file = read_stages(stages)
    torch.manual_seed(job.seed)
    model = build(job.model, job.settings)[0].eval()
    batches = [build(job.model, job.settings)[1] for _ in range(microbatches)]
    with torch.no_grad():
        whole = torch.cat([first(model(*batch)) for batch in batches])
    result = run_pipeline(partial(stage, job, stages), len(file.nodes), batches)
    torch.testing.assert_close(result.outputs[0], whole, rtol=1e-4, atol=1e-5)
    print(f"outputs equal on {microbatches} batches, largest difference {(result.outputs[0] - whole).abs().max():.1e}")
    print(f"predicted {file.objective:.2f} ms for each batch, measured {result.milliseconds:.2f} ms")


def first(output: object) -> torch.Tensor:
    """The first tensor that a model returns."""
    return torch.utils._pytree.tree_leaves(output)[0]


if __name__ == "__main__":
    main()
