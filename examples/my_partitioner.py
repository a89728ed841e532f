"""A small partitioner to start from: cuts a topological order into runs of about equal work.

It reads an instance on standard input and writes a split to standard output, as `dagsplit conform --exec` asks. It
takes every instance, but gives up (`"status": "unknown"`) where none of its few ideas gives a valid split.
"""

import json
import sys
from graphlib import TopologicalSorter


def topological_order(instance):
    producers = {node["id"]: [] for node in instance["nodes"]}
    for edge in instance["edges"]:
        producers[edge["target"]].append(edge["source"])
    return list(TopologicalSorter(producers).static_order())


def cut(order, times, parts):
    """At most `parts` runs of `order`, each of about the same time."""
    share = sum(times[v] for v in order) / parts
    runs, run, work = [], [], 0.0
    for v in order:
        if run and work + times[v] / 2 > share and len(runs) < parts - 1:
            runs, run, work = runs + [run], [], 0.0
        run.append(v)
        work += times[v]
    return runs + [run]


def is_valid(runs, nodes, memory):
    """Whether every run fits into the memory, every node can run, and no colour class is cut."""
    place = {v: i for i, run in enumerate(runs) for v in run}
    device_of_class = {}
    for v, node in nodes.items():
        color = node.get("color_class")
        if color is not None and device_of_class.setdefault(color, place[v]) != place[v]:
            return False
    fits = all(memory is None or sum(nodes[v]["memory"] for v in run) <= memory for run in runs)
    return fits and all(node["accelerator_times"][0] is not None for node in nodes.values())


def split(instance):
    nodes = {node["id"]: node for node in instance["nodes"]}
    order = topological_order(instance)
    # Only a forward pass may be cut: the order of a backward pass is another matter.
    is_training = any(node.get("backward") for node in nodes.values())
    accelerators = instance["platform"]["accelerators"][0]
    times = {v: node["accelerator_times"][0] or 0.0 for v, node in nodes.items()}
    for parts in range(1 if is_training else accelerators["count"], 0, -1):
        runs = cut(order, times, parts)
        if len(runs) <= accelerators["count"] and is_valid(runs, nodes, accelerators.get("memory")):
            return {"cpus": [], "fpgas": [{"nodes": run} for run in runs]}
    if instance["platform"]["cpus"] > 0 and all(node.get("cpu_time") is not None for node in nodes.values()):
        return {"cpus": [{"nodes": order}], "fpgas": []}
    return {"status": "unknown"}


if __name__ == "__main__":
    json.dump(split(json.load(sys.stdin)), sys.stdout)
