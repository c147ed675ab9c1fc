"""Time to build a graph with types, sizes and locations, against bare onnx_ir node creation in the same run.

python benchmarks/build_speed.py [--nodes 2000 20000] [--repeat 5]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import onnx_ir as ir

from anyonnx.symbolic import GraphBuilder, gc_paused


def with_builder(count: int, opset: int = 21) -> int:
    """A chain of linear, residual and activation nodes on an open batch."""
    g = GraphBuilder(opset)
    x = g.input("x", "float32", ["batch", 64])
    weight = g.initializer("w", np.zeros((64, 64), np.float32))
    made = 0
    while made < count:
        with g.at(f"layers.{made // 5}.linear (model.py:{made})"):
            y = g.MatMul(x, weight)
            y = g.Add(y, 1.0)
            y = g.Relu(y)
            y = g.Transpose(y, perm=[0, 1])
            x = g.Add(x, y)
        made += 5
    g.output(x, "y")
    return len(g.nodes)


def bare(count: int) -> int:
    """The same nodes made with onnx_ir alone: typed, shaped, located."""
    nodes: list[ir.Node] = []
    x = ir.Value(name="x")
    weight, one = ir.Value(name="w"), ir.Value(name="one")

    def node(op: str, inputs: list[ir.Value], location: str, attributes: tuple[ir.Attr, ...] = ()) -> ir.Value:
        value = ir.Value(type=ir.TensorType(ir.DataType.FLOAT), shape=ir.Shape(["batch", 64]))
        nodes.append(ir.Node("", op, inputs, attributes, outputs=[value], metadata_props={"source": location}))
        return value

    for made in range(0, count, 5):
        location = f"layers.{made // 5}.linear (model.py:{made})"
        y = node("MatMul", [x, weight], location)
        y = node("Add", [y, one], location)
        y = node("Relu", [y], location)
        y = node("Transpose", [y], location, (ir.AttrInt64s("perm", [0, 1]),))
        x = node("Add", [x, y], location)
    return len(nodes)


def best(function, count: int, repeat: int) -> float:
    times = []
    for _ in range(repeat):
        with gc_paused():
            start = time.process_time()
            function(count)
            times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[2000, 20000])
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    print(f"{'nodes':>8} {'bare us/node':>14} {'anyonnx us/node':>16} {'ratio':>7}")
    for count in options.nodes:
        theirs, ours = best(bare, count, options.repeat), best(with_builder, count, options.repeat)
        print(f"{count:8d} {theirs / count * 1e6:14.1f} {ours / count * 1e6:16.1f} {ours / theirs:7.2f}")


if __name__ == "__main__":
    main()
