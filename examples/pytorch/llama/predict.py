"""What dagsplit says of Llama on H100s: memory of the stages of pipelines, and the roofline's times of operators.

    python examples/pytorch/llama/predict.py FOLDER      # needs dagsplit
    python examples/pytorch/llama/measure.py FOLDER      # needs PyTorch and a GPU
    python examples/pytorch/llama/report.py FOLDER

The first step writes `predicted.json`, all that the second one reads; that writes `measured.json`, and the third one
prints the tables of docs/measured.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

HARDWARE = ["--accelerator", "h100", "--precision", "fp16"]


@dataclass(frozen=True)
class Pipeline:
    """A language model of so many layers, in sequences of so many tokens, over so many devices under 1F1B.

    Layers keep their activations, recompute them, or `chosen` is for each what fits in `memory`.
    """

    model: str
    layers: int
    sequence: int
    devices: int
    activations: str
    memory: str = "80GiB"


PIPELINES = [
    Pipeline("llama3-8b", 16, 4096, 8, "kept"),
    Pipeline("llama3-8b", 16, 4096, 8, "recomputed"),
    Pipeline("llama3-8b", 16, 4096, 8, "chosen", "20GiB"),
    Pipeline("llama3-8b", 16, 8192, 8, "recomputed"),
    Pipeline("llama2-7b", 12, 2048, 4, "kept"),
    Pipeline("llama3.2-1b", 16, 4096, 4, "kept"),
]
# Models and tokens of the operators; the first ones are shown operator by operator.
OPERATORS = [
    ("llama3-8b", 4096),
    ("llama3-8b", 2048),
    ("llama3-8b", 8192),
    ("llama2-7b", 4096),
    ("llama3-70b", 4096),
]
SMALL = [Pipeline("llama3.2-1b", 2, 64, 2, kind) for kind in ("kept", "recomputed")], [("llama3.2-1b", 64)]
# The names of generate's options of nodes.
KEEPS, RECOMPUTES = "vanilla", "recompute"


def main() -> None:
    """Asks dagsplit for all of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--dagsplit", default="dagsplit", help="the program")
    parser.add_argument("--small", action="store_true", help="sizes for a trial without a GPU")
    options = parser.parse_args()
    pipelines, operators = SMALL if options.small else (PIPELINES, OPERATORS)
    predicted = {
        "pipelines": [stages(options.dagsplit, pipeline) for pipeline in pipelines],
        "operators": [times(options.dagsplit, model, sequence) for model, sequence in operators],
    }
    options.folder.mkdir(parents=True, exist_ok=True)
    (options.folder / "predicted.json").write_text(json.dumps(predicted, indent=1))


def stages(dagsplit: str, pipeline: Pipeline) -> dict:
    """The stages of the best split: layers, what is recomputed, microbatches in flight, bytes and milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.json"
        sizes = ["--layers", pipeline.layers, "--sequence", pipeline.sequence, "--accelerators", pipeline.devices]
        generate(dagsplit, pipeline.model, file, *sizes, "--granularity", "layer", "--tensor-degrees", 1, "--cpus", 0)
        instance = json.loads(file.read_text())
        narrow(instance["parallelism"], pipeline.activations)
        file.write_text(json.dumps(instance))
        question = ["--microbatches", 2 * pipeline.devices, "--data-degrees", 1, "--memory", pipeline.memory]
        training = ["--schedule", "1f1b", "--optimizer", "adam", "--precision", "bf16"]
        answer = json.loads(run(dagsplit, "solve", file, *question, *training, "--json"))
    names = {node["id"]: node["name"] for node in instance["nodes"]}
    time = {(option["node"], option["name"]): option["time"] for option in instance["parallelism"]["options"]}

    def stage(device: dict) -> dict:
        chosen = list(zip(device["nodes"], device["options"], strict=True))
        return {
            "layers": [{"name": names[node], "recomputed": option == RECOMPUTES} for node, option in chosen],
            "time": sum(time[choice] for choice in chosen),
            **{key: device[key] for key in ("in_flight", "memory", "memory_parts")},
        }

    return {**asdict(pipeline), "stages": [stage(device) for device in answer["devices"]]}


def narrow(parallelism: dict, activations: str) -> None:
    """Leaves each layer its one option, unless that is to be chosen; the embedding is never recomputed."""
    if activations == "chosen":
        return
    recomputed = {option["node"] for option in parallelism["options"] if option["name"] == RECOMPUTES}
    wanted = {node: RECOMPUTES for node in recomputed} if activations == "recomputed" else {}
    options = parallelism["options"]
    parallelism["options"] = [option for option in options if option["name"] == wanted.get(option["node"], KEEPS)]


def times(dagsplit: str, model: str, sequence: int) -> dict:
    """Milliseconds of each operator of a layer, of embedding, head and loss, forward and backward."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.json"
        sizes = ["--layers", 1, "--sequence", sequence]
        generate(dagsplit, model, file, *sizes, "--granularity", "operator", "--training")
        nodes = json.loads(file.read_text())["nodes"]
    of = {node["name"]: node["accelerator_times"][0] for node in nodes}
    forward = {name: time for name, time in of.items() if not name.endswith("/gradient")}
    passes = {name: [time, of.get(f"{name}/gradient", 0.0)] for name, time in forward.items()}
    return {"model": model, "sequence": sequence, "operators": passes}


def generate(dagsplit: str, model: str, file: Path, *options: object) -> None:
    """Writes the workload."""
    run(dagsplit, "generate", "llm", "--model", model, *options, *HARDWARE, "--output", file)


def run(*command: object) -> str:
    """The command's output."""
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
