#!/usr/bin/env python3
"""Makes the files of this folder again from the authors' files: the native format, without what is absent anyway.

    instances/profiled/convert.py tarnawski2020 CLONE   # https://github.com/msr-fiddle/dnn-partitioning
    instances/profiled/convert.py pipedream2019 CLONE   # https://github.com/msr-fiddle/pipedream
    instances/profiled/convert.py piper2021 CLONE       # https://github.com/msr-fiddle/piper

`dagsplit` reads them; `DAGSPLIT` names the program where it is not on the path. Node ids, times, bytes, colour classes and
edges are the authors'; nothing is measured or rounded anew.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent

MODELS = {
    "bert24": "BERT-24",
    "bert_l-3": "BERT with 3 layers",
    "bert_l-6": "BERT with 6 layers",
    "bert_l-12": "BERT with 12 layers",
    "resnet50": "ResNet-50",
    "inceptionv3": "InceptionV3",
    "inception_v3": "InceptionV3",
    "gnmt": "GNMT",
    "vgg16": "VGG-16",
    "densenet121": "DenseNet-121",
    "nasnetamobile": "NASNet-A mobile",
    "bert32a100": "BERT with 32 layers",
}

# What stands in a node for a field that is not there.
ABSENT = {"memory": 0, "transfer_time": 0, "parameter_bytes": 0, "backward": False, "cpu_time": None}

TARNAWSKI = {
    "layer": ("V100", "profiled", "layers, profiled on a V100; CPUs are taken to be ten times slower"),
    "operator": (
        "hardware accelerator",
        "modelled",
        "operators, estimated by the authors for a hardware accelerator; CPUs are taken to be 23 times slower",
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paper", choices=["tarnawski2020", "pipedream2019", "piper2021"])
    parser.add_argument("clone", type=pathlib.Path, help="the authors' repository")
    asked = parser.parse_args()
    made = {"tarnawski2020": tarnawski, "pipedream2019": pipedream, "piper2021": piper}[asked.paper](asked.clone)
    if not made:
        sys.exit(f"convert: there is no workload of {asked.paper} in {asked.clone}")
    print(f"{made} files in {HERE / asked.paper}")


def tarnawski(clone: pathlib.Path) -> int:
    made = 0
    for kind in ("throughput", "latency"):
        for folder, (device, provenance, costs) in zip(("LayerGraphs", "OperatorGraphs"), TARNAWSKI.values()):
            for path in sorted((clone / f"{kind}-inputs" / folder).glob("*.json")):
                name = path.stem.lower()
                instance = converted(path, [])
                source = f"https://github.com/msr-fiddle/dnn-partitioning, {path.relative_to(clone)} (MIT): {costs}"
                metadata = {"name": name, "model": model_of(name), "device": device, "source": source}
                metadata |= {"date": "2020", "provenance": provenance}
                granularity = folder.removesuffix("Graphs").lower()
                write(instance, metadata, f"tarnawski2020/{kind}/{granularity}/{name}.json")
                made += 1
    for path in sorted((clone / "human-experts").glob("*.json")):
        split = json.loads(path.read_text())
        devices = {kind: [{"nodes": device["nodes"]} for device in split[kind]] for kind in ("fpgas", "cpus")}
        target = HERE / "tarnawski2020" / "expert" / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(devices, separators=(",", ":")) + "\n")
        made += 1
    return made


def pipedream(clone: pathlib.Path) -> int:
    made = 0
    for name in ("vgg16", "resnet50", "densenet121", "inception_v3", "gnmt", "nasnetamobile"):
        area = "translation" if name == "gnmt" else "image_classification"
        path = clone / "profiler" / area / "profiles" / name / "graph.txt"
        for read in ("inference", "training"):
            options = [f"--{read}", "--bandwidth", "10GB"]
            instance = converted(path, options)
            costs = f"profiled; transfers and CPUs by `dagsplit convert {' '.join(options)} --cpu-factor 10`"
            source = f"https://github.com/msr-fiddle/pipedream, {path.relative_to(clone)} (MIT): {costs}"
            metadata = {"name": f"{name}_{read}", "model": model_of(f"{name}_{read}"), "source": source}
            write(instance, metadata | {"date": "2019", "provenance": "profiled"}, f"pipedream2019/{name}_{read}.json")
            made += 1
    return made


def piper(clone: pathlib.Path) -> int:
    path = clone / "inputs" / "bert32a100.json"
    source = "https://github.com/msr-fiddle/piper, inputs/bert32a100.json (MIT): time and bytes of a sample, by tensor degree"
    metadata = {"name": "bert32a100", "model": model_of("bert32a100"), "device": "A100", "source": source}
    write(converted(path, []), metadata | {"date": "2021", "provenance": "profiled"}, "piper2021/bert32a100.json")
    return 1


def model_of(name: str) -> str:
    base, _, reading = name.rpartition("_") if name.endswith(("_inference", "_training")) else (name, "", "")
    return f"{MODELS[base]}, {reading}" if reading else MODELS[base]


def converted(path: pathlib.Path, options: list[str]) -> dict:
    """The file as `dagsplit convert` writes it."""
    program = os.environ.get("DAGSPLIT", "dagsplit")
    command = [program, "convert", str(path), "--to", "native", *options]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def write(instance: dict, metadata: dict, relative: str) -> None:
    """Writes an instance, a line for each node and edge, whole numbers without their `.0`."""
    settings = instance["metadata"].get("settings")
    head = {**instance, "metadata": {**metadata, **({"settings": settings} if settings else {})}}
    nodes = [{k: v for k, v in node.items() if not (k in ABSENT and v == ABSENT[k])} for node in head.pop("nodes")]
    edges = head.pop("edges")
    lines = [f'  "{key}": {dumps(value)},' for key, value in head.items()]
    lines += ['  "nodes": [', ",\n".join(f"    {dumps(node)}" for node in nodes), "  ],"]
    lines += ['  "edges": [', ",\n".join(f"    {dumps(edge)}" for edge in edges), "  ]"]
    target = HERE / relative
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("{\n" + "\n".join(lines) + "\n}\n")


def dumps(value: object) -> str:
    return json.dumps(whole(value), separators=(",", ":"), ensure_ascii=False)


def whole(value: object) -> object:
    if isinstance(value, dict):
        return {key: whole(part) for key, part in value.items()}
    if isinstance(value, list):
        return [whole(part) for part in value]
    return int(value) if isinstance(value, float) and value.is_integer() and value < 2**53 else value


if __name__ == "__main__":
    main()
