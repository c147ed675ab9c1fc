"""Real ONNX files inside PyPI packages, converted to every target and compared with themselves in onnxruntime.

    python tests/support/real_onnx.py [--targets 11,13] [--only PATTERN] [--show]

Outcomes of a file at a target:

* equal: a valid model of exactly that opset (onnx.checker full check), sc = max|error| / max|reference| at most
  1e-5 for every output and both input sets, with and without our passes, onnxruntime's optimisations off and on
  (on both sides);
* refused: a typed error that names the operator;
* different, failed: the bad kinds.
"""

from __future__ import annotations

import argparse
import collections
import fnmatch
import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort

from anyonnx.converters.api import to_onnx
from anyonnx.converters.base import Options
from anyonnx.converters.from_onnx import OnnxFrontend
from anyonnx.symbolic.errors import AnyonnxError, OpsetError, UnsupportedOps
from anyonnx.validation.models import load_model
from anyonnx.validation.providers.ort import Session

TARGETS = (*range(11, 24), 25)
LIMIT = 1e-5
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Outcome:
    """What became of one file at one target; `sc` is the worst over outputs, input sets and settings."""

    file: str
    target: int
    kind: str
    detail: str = ""
    sc: float = 0.0


# --- inputs that mean something to the models ------------------------------------------------------------------------


def speech(rng: np.random.Generator, rows: int, samples: int) -> np.ndarray:
    """Voiced sound: a gliding fundamental with overtones, in syllables, and some noise."""
    time = np.arange(samples) / 16_000
    rows_of = []
    for _ in range(rows):
        pitch = rng.uniform(90, 220) * (1 + 0.2 * np.sin(2 * np.pi * 2 * time + rng.uniform(0, 6)))
        phase = 2 * np.pi * np.cumsum(pitch) / 16_000
        voice = sum(np.sin(k * phase) / k for k in range(1, 8))
        envelope = 0.2 + np.clip(np.sin(2 * np.pi * 4 * time + rng.uniform(0, 6)), 0, 1)
        rows_of.append(0.15 * voice * envelope + 0.01 * rng.standard_normal(samples))
    return np.asarray(rows_of, np.float32)


def picture(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Pixels in 0..1: dark bars on a bright, uneven ground."""
    ground = 0.7 + 0.1 * rng.standard_normal(shape)
    height, width = shape[-2:]
    for _ in range(12):
        y, x = rng.integers(0, height - 8), rng.integers(0, width - 8)
        ground[..., y : y + rng.integers(4, 8), x : x + rng.integers(4, 24)] *= rng.uniform(0.05, 0.4)
    return np.clip(ground, 0, 1).astype(np.float32)


def _silero(rng: np.random.Generator, which: int) -> Arrays:
    # 8 kHz goes through the other branch of its If
    rows, samples, rate = ((2, 576, 16_000), (3, 288, 8_000))[which]
    state = 0.1 * rng.standard_normal((2, rows, 128))
    return {"input": speech(rng, rows, samples), "state": state.astype(np.float32), "sr": np.array(rate, np.int64)}


def _silero_16k(rng: np.random.Generator, which: int) -> Arrays:
    return _silero(rng, 0) if not which else {
        "input": speech(rng, 4, 576),
        "state": (0.1 * rng.standard_normal((2, 4, 128))).astype(np.float32),
        "sr": np.array(16_000, np.int64),
    }  # fmt: skip


def _silero_one(rng: np.random.Generator, which: int) -> Arrays:
    state = 0.1 * rng.standard_normal((2, 1, 128))
    return {"input": speech(rng, 1, 576), "state": state.astype(np.float32)}


def _silero_sequence(rng: np.random.Generator, which: int) -> Arrays:
    h, c = (0.1 * rng.standard_normal((1, 1, 128)).astype(np.float32) for _ in range(2))
    return {"input": speech(rng, (5, 9)[which], 576), "h": h, "c": c}


def _swift_f0(rng: np.random.Generator, which: int) -> Arrays:
    sound = speech(rng, 1, (8_000, 12_345)[which])
    return {"audio": sound, "fmin": np.array(46.875, np.float32), "fmax": np.array(2093.75, np.float32)}


def _magika(rng: np.random.Generator, which: int) -> Arrays:
    text = np.frombuffer(Path(__file__).read_bytes()[:4096], np.uint8).astype(np.int32)
    rows = [text[:2048], rng.integers(0, 256, 2048), np.full(2048, 256), text[1000:3048], rng.integers(32, 127, 2048)]
    return {"bytes": np.asarray(rows[: (2, 5)[which]], np.int32)}


def _aecmos(hidden: int) -> Callable[[np.random.Generator, int], Arrays]:
    def make(rng: np.random.Generator, which: int) -> Arrays:
        frames = rng.normal(-4, 2, (1, 3, (60, 97)[which], 160))
        state = 0.1 * rng.standard_normal((4, 1, hidden))
        return {"input": frames.astype(np.float32), "h0": state.astype(np.float32)}

    return make


def _plcmos(rng: np.random.Generator, which: int) -> Arrays:
    rows, frames = ((2, 90), (3, 131))[which]
    sound = rng.normal(-4, 2, (rows, 1, frames, 257)).astype(np.float32)
    return {"degraded_audio": sound, "rater_embed": rng.standard_normal((rows, 64)).astype(np.float32)}


def _dnsmos(rng: np.random.Generator, which: int) -> Arrays:
    return {"input_1": speech(rng, (1, 2)[which], 144_160)}


def _spectrum(frames: int, bins: int) -> Callable[[np.random.Generator, int], Arrays]:
    def make(rng: np.random.Generator, which: int) -> Arrays:
        noise = rng.normal(0, 1, ((1, 3)[which], frames, bins))
        return {"input_1": (noise - np.linspace(2, 6, bins)).astype(np.float32)}

    return make


def _images(name: str, *sizes: tuple[int, ...], scale: float = 1.0, shift: float = 0.0) -> Any:
    return lambda rng, which: {name: (picture(rng, *sizes[which]) - np.float32(shift)) * np.float32(scale)}


#: Package, file inside it, inputs of the two sets.
FILES: tuple[tuple[str, str, Callable[[np.random.Generator, int], Arrays]], ...] = (
    ("silero_vad", "data/silero_vad.onnx", _silero),
    ("silero_vad", "data/silero_vad_16k_op15.onnx", _silero_16k),
    ("silero_vad", "data/silero_vad_16k_sequence.onnx", _silero_sequence),
    ("silero_vad", "data/silero_vad_half.onnx", _silero_16k),
    ("silero_vad", "data/silero_vad_op18_ifless.onnx", _silero),
    ("silero_vad", "data/silero_vad_openvino_16k.onnx", _silero_one),
    ("rapidocr", "models/PP-OCRv6_det_small.onnx", _images("x", (1, 3, 96, 160), (2, 3, 128, 192), scale=4, shift=0.5)),
    ("rapidocr", "models/PP-OCRv6_rec_small.onnx", _images("x", (1, 3, 48, 96), (2, 3, 48, 160), scale=2, shift=0.5)),
    (
        "rapidocr",
        "models/ch_ppocr_mobile_v2.0_cls_mobile.onnx",
        _images("x", (1, 3, 48, 192), (3, 3, 48, 192), scale=2, shift=0.5),
    ),
    ("magika", "models/standard_v3_3/model.onnx", _magika),
    ("swift_f0", "model.onnx", _swift_f0),
    ("ddddocr", "common.onnx", _images("input1", (1, 1, 64, 90), (1, 1, 64, 167), scale=2, shift=0.5)),
    ("ddddocr", "common_old.onnx", _images("input1", (1, 1, 64, 90), (1, 1, 64, 167), scale=2, shift=0.5)),
    ("ddddocr", "common_det.onnx", _images("images", (1, 3, 416, 416), (1, 3, 416, 416), scale=255)),
    ("nudenet", "320n.onnx", _images("images", (1, 3, 320, 320), (2, 3, 192, 256))),
    ("speechmos", "dnsmos_models/sig_bak_ovr.onnx", _dnsmos),
    ("speechmos", "dnsmos_models/model_v8.onnx", _spectrum(900, 120)),
    ("speechmos", "dnsmos_models/sig.onnx", _spectrum(901, 161)),
    ("speechmos", "dnsmos_models/bak_ovr.onnx", _spectrum(901, 161)),
    ("speechmos", "pdnsmos_models/sig_bak_ovr.onnx", _dnsmos),
    ("speechmos", "aecmos_models/Run_1663829550_Stage_0.onnx", _aecmos(64)),
    ("speechmos", "aecmos_models/Run_1663915512_Stage_0.onnx", _aecmos(64)),
    ("speechmos", "aecmos_models/Run_1668423760_Stage_0.onnx", _aecmos(96)),
    ("speechmos", "plcmos_models/plcmos_v2.onnx", _plcmos),
)  # fmt: skip


def locate(package: str, file: str) -> Path | None:
    """Path of a file of a package, which is not imported; None if it isn't installed."""
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        return None
    path = Path(found.submodule_search_locations[0]) / file
    return path if path.is_file() else None


# --- converting and comparing ----------------------------------------------------------------------------------------


def worst(got: dict[str, Any], wanted: dict[str, Any]) -> tuple[float, str]:
    """Largest sc over all outputs, and what is wrong where it isn't a number."""
    sc = 0.0
    for name, right in wanted.items():
        if name not in got:
            return np.inf, f"no output {name}"
        a, b = np.asarray(got[name]), np.asarray(right)
        if a.shape != b.shape or a.dtype != b.dtype:
            return np.inf, f"{name} is {a.dtype}{a.shape}, not {b.dtype}{b.shape}"
        if b.dtype.kind != "f":
            if not np.array_equal(a, b):
                return np.inf, f"{name} has other values"
            continue
        if not np.array_equal(np.isfinite(a), np.isfinite(b)):
            return np.inf, f"{name} isn't finite in the same places"
        error = float(np.max(np.abs(a.astype(np.float64) - b), initial=0.0))
        sc = max(sc, error / max(float(np.max(np.abs(b), initial=0.0)), 1e-30))
    return sc, ""


class RealFile:
    """One file, its input sets and what it gives for them."""

    def __init__(self, package: str, file: str, make: Callable[[np.random.Generator, int], Arrays]):
        self.name = f"{package}/{file}"
        path = locate(package, file)
        assert path is not None
        self.path = path
        source = OnnxFrontend().load(path, None, Options(25))
        wanted = [v.name for v in source.inputs]
        made = [make(np.random.default_rng(seed), seed) for seed in (0, 1)]
        self.inputs = [{n: arrays[n] for n in wanted} for arrays in made]
        #: By setting of onnxruntime's optimisations: they alone move some outputs by more than the limit.
        self.expected = {level: self._reference(level) for level in (False, True)}
        for arrays in self.expected[False]:
            for name, array in arrays.items():
                flat = np.asarray(array, np.float64)
                if not np.all(np.isfinite(flat)) or np.max(np.abs(flat)) == 0:
                    raise AssertionError(f"{self.name}: the reference's {name} proves nothing")

    def _reference(self, optimize: bool) -> list[dict[str, Any]]:
        session = Session(load_model(self.path), optimize=optimize)
        return [session.run(arrays) for arrays in self.inputs]

    def outcome(self, target: int) -> Outcome:
        """Converts to one target and compares."""
        sc = 0.0
        for optimize in (False, True):
            try:
                result = to_onnx(self.path, opset=target, optimize=optimize, compare=False)
            except (OpsetError, UnsupportedOps) as error:
                return Outcome(
                    self.name,
                    target,
                    "refused",
                    str(error).splitlines()[0 if isinstance(error, OpsetError) else 1].strip(),
                )
            except AnyonnxError as error:
                return Outcome(self.name, target, "failed", f"{type(error).__name__}: {error}")
            loaded = load_model(result.model)
            for level in (False, True):
                session = Session(loaded, optimize=level)
                for arrays, expected in zip(self.inputs, self.expected[level], strict=True):
                    found, problem = worst(session.run(arrays), expected)
                    if problem or found > LIMIT:
                        how = f"passes {optimize}, runtime optimisations {level}"
                        return Outcome(self.name, target, "different", f"{problem or found} ({how})", found)
                    sc = max(sc, found)
        return Outcome(self.name, target, "equal", "", sc)


def run(targets: Sequence[int], only: str = "*") -> Iterator[Outcome]:
    """Outcomes of all files that are installed, as they come."""
    for package, file, make in FILES:
        if not fnmatch.fnmatch(f"{package}/{file}", only):
            continue
        if locate(package, file) is None:
            print(f"skipped {package}/{file}: the package is not installed", file=sys.stderr)
            continue
        real = RealFile(package, file, make)
        for target in targets:
            yield real.outcome(target)


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--targets", default=",".join(map(str, TARGETS)))
    parser.add_argument("--only", default="*")
    parser.add_argument("--show", action="store_true", help="print every outcome")
    options = parser.parse_args()
    ort.set_default_logger_severity(4)
    table: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    largest: dict[str, float] = collections.defaultdict(float)
    total: collections.Counter[str] = collections.Counter()
    for o in run([int(t) for t in options.targets.split(",")], options.only):
        table[o.file][o.kind] += 1
        total[o.kind] += 1
        largest[o.file] = max(largest[o.file], o.sc)
        if options.show or o.kind not in ("equal", "refused"):
            print(f"{o.file} @ {o.target}: {o.kind} {o.detail} sc {o.sc:.2g}", flush=True)
    for file, counts in table.items():
        print(
            f"{file:55s} " + "  ".join(f"{k} {n}" for k, n in sorted(counts.items())) + f"  sc <= {largest[file]:.1e}"
        )
    print("total: " + ", ".join(f"{n} {k}" for k, n in sorted(total.items())))
    return 1 if set(total) - {"equal", "refused"} else 0


if __name__ == "__main__":
    sys.exit(main())
