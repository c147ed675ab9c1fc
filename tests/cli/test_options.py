"""Options of single frontends, and trees in single precision, from the command line."""

from pathlib import Path

MODEL = Path(__file__).parents[2] / "fixtures" / "cancer_lightgbm.txt"


def test_options_reach_the_frontend(cli):
    done = cli("convert", MODEL, "-o", "m.onnx", "--float32", "--option", "rounds=[1,3]")
    assert done.code == 0, done.err
    assert "note: float32 trees" in done.out
    assert "rounds" in cli("convert", MODEL, "--option", "rounds").error
    assert "unknown option depth" in cli("convert", MODEL, "--option", "depth=3").error
