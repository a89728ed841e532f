"""Compares the operations and parameters that `dagsplit convert` counts with those that onnx-tool counts.

    pip install onnx onnx-tool
    python tools/onnx/costs.py --dagsplit target/release/dagsplit MODEL.onnx[,DIMENSION=SIZE…] …

Operations are those of products: matrix products, convolutions and recurrent layers; a multiply-add is two. The light
models of the onnx package, which are compared by default, need no options.
"""

import argparse
import contextlib
import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import onnx
import onnx_tool

PRODUCTS = {"Conv", "ConvTranspose", "Gemm", "MatMul", "LSTM", "GRU", "ConvInteger", "QLinearConv", "MatMulInteger", "QLinearMatMul"}


def light_models():
    folder = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    return [str(path) for path in sorted(folder.glob("*.onnx"))]


def of_dagsplit(program, path, sizes):
    words = [word for size in sizes for word in ("--dimension", size)]
    run = subprocess.run([program, "convert", path, *words, "--to", "native"], capture_output=True, text=True)
    if run.returncode != 0:
        raise RuntimeError(run.stderr)
    instance = json.loads(run.stdout)
    settings = instance["metadata"]["settings"]
    return len(instance["nodes"]), settings["product_flops"], settings["parameters"]


def fixed(path, sizes, folder):
    """The model with its open dimensions written down, for onnx-tool."""
    model = onnx.load(path)
    by_name = dict(size.rsplit("=", 1) for size in sizes)
    for value in model.graph.input:
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            size = by_name.get(dim.dim_param) or by_name.get(f"{value.name}.{axis}")
            if size:
                dim.dim_value = int(size)
    fixed_path = str(Path(folder) / "fixed.onnx")
    onnx.save(model, fixed_path)
    return fixed_path


def of_onnx_tool(path):
    with contextlib.redirect_stdout(io.StringIO()):
        model = onnx_tool.Model(path, {"constant_folding": True, "verbose": False})
        model.graph.shape_infer({})
        model.graph.profile()
    nodes = model.graph.nodemap.values()
    return 2 * sum(node.macs[0] for node in nodes if node.op_type in PRODUCTS), sum(node.params for node in nodes)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dagsplit", default="dagsplit", help="the program")
    parser.add_argument("models", nargs="*", help="files, each with sizes of its dimensions behind commas")
    args = parser.parse_args()
    print("| model | nodes | products, GFLOP | onnx-tool | difference | parameters, 10⁶ | onnx-tool |")
    print("|---|---|---|---|---|---|---|")
    far = 0
    for words in args.models or light_models():
        path, *sizes = words.split(",")
        nodes, flops, parameters = of_dagsplit(args.dagsplit, path, sizes)
        with tempfile.TemporaryDirectory() as folder:
            try:
                other_flops, other_parameters = of_onnx_tool(fixed(path, sizes, folder))
            except Exception as error:  # onnx-tool has no rules for some operators
                print(f"| {Path(path).stem} | {nodes} | {flops / 1e9:.4g} | cannot: {error} | | {parameters / 1e6:.4g} | |")
                continue
        difference = flops / other_flops - 1
        far += abs(difference) > 0.01
        print(
            f"| {Path(path).stem} | {nodes} | {flops / 1e9:.4g} | {other_flops / 1e9:.4g} | {100 * difference:.2f} % "
            f"| {parameters / 1e6:.4g} | {other_parameters / 1e6:.4g} |"
        )
    sys.exit(far > 0)


if __name__ == "__main__":
    main()
