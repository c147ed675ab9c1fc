"""Converts Paddle cases and compares them, in a process that imports only paddle: one JSON line for each case."""

import json
import sys
import time
import traceback

import numpy as np


def inputs_of(specs, samples):
    """What to_onnx gets: specs, or arrays with the open dims named where random numbers don't do."""
    if samples is None:
        return list(specs), None
    from anyonnx.symbolic.spec import parse_spec

    generator = np.random.default_rng(3)
    arrays, dynamic = [], {}
    for i, (text, sample) in enumerate(zip(specs, samples, strict=True)):
        spec = parse_spec(text)
        numbers = {s: 2 + k for k, s in enumerate(spec.symbols)}
        shape = spec.sized(numbers)
        dynamic[i] = {a: s for a, s in enumerate(spec.shape) if isinstance(s, str)}
        if isinstance(sample, tuple) and sample[0] == "int":
            arrays.append(generator.integers(0, sample[1], shape).astype(spec.dtype))
        elif isinstance(sample, tuple) and sample[0] == "perm":
            arrays.append(generator.permutation(sample[1])[: shape[0]].astype(spec.dtype))
        else:
            arrays.append(generator.normal(size=sample or shape).astype(spec.dtype))
    return arrays, dynamic


def run(name, build, specs, samples, opsets):
    """Converts one case at every opset; '' where all agree with Paddle."""
    import anyonnx

    inputs, dynamic = inputs_of(specs, samples)
    for opset in opsets:
        try:
            anyonnx.to_onnx(build(), inputs, framework="paddle", opset=opset, dynamic=dynamic)
        except Exception as error:  # noqa: BLE001 - every failure is reported with its case, then the next one runs
            where = traceback.extract_tb(error.__traceback__)[-1]
            return f"opset {opset}: {type(error).__name__}: {str(error)[:900]} [{where.filename}:{where.lineno}]"
    return ""


def main(arguments):
    import warnings

    warnings.filterwarnings("ignore")
    from paddle_cases import CASES

    opsets = None
    if arguments and arguments[0].startswith("--opsets="):
        opsets = [int(o) for o in arguments.pop(0).split("=")[1].split(",")]
    if arguments and arguments[0] == "--list":
        print(json.dumps(list(CASES)))
        return
    for name in arguments or list(CASES):
        build, specs, samples, own = CASES[name]
        wanted = own if opsets is None else [o for o in opsets if own[0] <= o <= own[1]]
        start = time.perf_counter()
        failure = run(name, build, specs, samples, wanted)
        print(json.dumps({"case": name, "failure": failure, "s": round(time.perf_counter() - start, 2)}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
