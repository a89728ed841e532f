"""Prints as tables what `predict.py` and `measure.py` wrote.

python examples/pytorch/llama/report.py FOLDER
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

GB = 1e9
LASTING = ("weights", "gradients", "optimizer")
# Measured operators whose prediction has another name.
SAME = {"swiglu, fused": "swiglu", "attend, cuDNN": "attend"}


def main() -> None:
    """Reads both files and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--all", action="store_true", help="all stages, and operators of all models")
    options = parser.parse_args()
    predicted, measured = (json.loads((options.folder / f"{of}.json").read_text()) for of in ("predicted", "measured"))
    print(f"{measured['device']}, {measured['software']}, {measured['date']}\n")
    memory(predicted["pipelines"], measured["pipelines"], everything=options.all)
    times(predicted["operators"], measured["operators"], everything=options.all)


def memory(predicted: list[dict], measured: list[dict], *, everything: bool) -> None:
    """Each stage's bytes: what lasts, what microbatches in flight keep, what passes take on top, and the peak.

    Fused is with SwiGLU that keeps its inputs alone. Unless `everything` is asked for, of stages in the middle there is
    one.
    """
    both, three = ["measured"], ["measured", "fused"]
    table("model", "stage", "in flight", "lasts", *both, "kept", *three, "on top", *both, "peak", *three)
    for pipeline in predicted:
        runs = [run for fused in (False, True) if (run := found(pipeline, measured, fused=fused))]
        label = f"{pipeline['model']}, {pipeline['sequence']} tokens, {pipeline['activations']}"
        for place, stage in enumerate(pipeline["stages"]):
            if not everything and 1 < place < len(pipeline["stages"]) - 1:
                continue
            ours = parts(stage["memory_parts"], "activations", "working", stage["memory"])
            theirs = [passes_of(run["stages"][place]) for run in runs]
            columns = [[own, *(other[part] for other in theirs)] for part, own in enumerate(ours)]
            shown = [*columns[0][:2], *columns[1], *columns[2][:2], *columns[3]]
            row(label, f"{place + 1}: {holds(stage)}", stage["in_flight"], *(f"{value / GB:.2f}" for value in shown))
            label = ""
    print()


def found(pipeline: dict, measured: list[dict], *, fused: bool) -> dict | None:
    """What was measured of a pipeline."""
    asked = {key: value for key, value in pipeline.items() if key != "stages"} | {"fused": fused}
    return next((run for run in measured if asked.items() <= run.items()), None)


def parts(of: dict, kept: str, working: str, peak: float) -> list[float]:
    """What lasts, is kept, is on top, and all of it."""
    return [sum(of[part] for part in LASTING), of[kept], of[working], peak]


def passes_of(stage: dict) -> list[float]:
    """The same as measured, where what is on top is the rest."""
    lasting = sum(stage[part] for part in LASTING)
    return parts({**stage, "top": stage["peak"] - lasting - stage["in_flight"]}, "in_flight", "top", stage["peak"])


def holds(stage: dict) -> str:
    """The layers of a stage in words, those that are recomputed with a star."""
    names = [layer["name"].split(".")[-1] + ("*" if layer["recomputed"] else "") for layer in stage["layers"]]
    return " ".join({"embed_tokens": "embedding", "lm_head": "head", "lm_head*": "head*"}.get(n, n) for n in names)


def times(predicted: list[dict], measured: list[dict], *, everything: bool) -> None:
    """Milliseconds of each operator and of whole layers, and how many times the prediction they take.

    Unless `everything` is asked for, models after the first one have their layers alone.
    """
    table("model", "operator", "forward", "measured", "ratio", "backward", "measured", "ratio")
    for asked in predicted:
        label = f"{asked['model']}, {asked['sequence']} tokens"
        for run in measured:
            if (run["model"], run["sequence"]) != (asked["model"], asked["sequence"]):
                continue
            for name, passes in run["operators"].items():
                if not (everything or asked is predicted[0] or name.startswith("layer")):
                    continue
                cells = []
                for ours, theirs in zip(prediction(asked["operators"], name), passes, strict=True):
                    cells += [f"{ours:.3f}", f"{theirs:.3f}", f"{theirs / ours:.2f}"]
                row(label, name, *cells)
                label = ""


def prediction(operators: dict, name: str) -> list[float]:
    """Milliseconds of both passes of an operator, or of a layer."""
    layer = {of.split("/", 1)[1]: passes for of, passes in operators.items() if ".layers." in of}
    if name.startswith("layer"):
        forward, backward = (sum(passes[i] for passes in layer.values()) for i in range(2))
        return [forward, backward + (forward if "recomputed" in name else 0.0)]
    last = SAME.get(name, name)
    return next(passes for of, passes in operators.items() if of.split("/")[-1] == last)


def table(*names: str) -> None:
    """The head of a table."""
    row(*names)
    row(*(["---"] * 2 + ["---:"] * (len(names) - 2)))


def row(*cells: object) -> None:
    """One line of a table."""
    print("| " + " | ".join(str(cell) for cell in cells) + " |")


if __name__ == "__main__":
    main()
