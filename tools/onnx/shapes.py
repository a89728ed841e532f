"""Holds the shapes that `dagsplit convert` infers against those of the test cases of the onnx package.

    pip install onnx
    python tools/onnx/shapes.py --dagsplit target/release/dagsplit

Each test case is a small graph, mostly of one operator, whose results have known shapes. The last node must give as many
bytes as the results take: real numbers four bytes each (fp32), others as many as their type. Cases whose only operator
has a constant as its result, and those that dagsplit refuses, are counted by the reason.
"""

import argparse
import collections
import json
import math
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import onnx
from onnx import TensorProto
from onnx.backend.test.case.node import collect_testcases

BYTES = {
    TensorProto.UINT8: 1, TensorProto.INT8: 1, TensorProto.BOOL: 1, TensorProto.UINT16: 2, TensorProto.INT16: 2,
    TensorProto.INT32: 4, TensorProto.UINT32: 4, TensorProto.INT64: 8, TensorProto.UINT64: 8, TensorProto.UINT4: 0.5,
    TensorProto.INT4: 0.5,
}


def expected_bytes(graph):
    """The bytes of all results that the last operator gives; None where a shape is not stated."""
    given = set(graph.node[-1].output)
    total = 0.0
    for value in graph.output:
        if value.name not in given:
            return None
        tensor = value.type.tensor_type
        if not value.type.HasField("tensor_type") or not tensor.HasField("shape"):
            return None
        sizes = [dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim]
        if None in sizes:
            return None
        total += math.prod(sizes) * BYTES.get(tensor.elem_type, 4)
    return total


def reason(message):
    """What a refusal says, without names and numbers."""
    line = message.strip().splitlines()[1] if "\n" in message.strip() else message.strip()
    words = [word for word in line.split() if not any(letter.isdigit() for letter in word)]
    return " ".join(words[2:14])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dagsplit", default="dagsplit", help="the program")
    parser.add_argument("--verbose", action="store_true", help="name each case that is refused")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    counts, refused, wrong = collections.Counter(), collections.Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "case.onnx"
        for case in collect_testcases(None):
            graph = case.model.graph
            onnx.save(case.model, path)
            run = subprocess.run([args.dagsplit, "convert", path, "--to", "native"], capture_output=True, text=True)
            if run.returncode != 0:
                counts["refused"] += 1
                refused[(graph.node[-1].op_type, reason(run.stderr))] += 1
                if args.verbose:
                    print(case.name, run.stderr)
                continue
            wanted = expected_bytes(graph)
            given = json.loads(run.stdout)["nodes"][-1].get("output_bytes")
            if wanted is None:
                counts["converted, no shape to compare"] += 1
            elif wanted == given:
                counts["equal"] += 1
            else:
                wrong.append(f"{case.name}: {given} bytes instead of {wanted}")
    for (operator, why), count in sorted(refused.items()):
        print(f"refused {count:4} {operator:28} {why}")
    print("\n".join(wrong))
    print(f"{sum(counts.values()) + len(wrong)} cases: {dict(counts)}, {len(wrong)} different")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
