"""The command line starts fast and says what it can do."""

import subprocess
import sys

import pytest

COMMANDS = ("convert", "check", "compare", "inspect", "ops", "providers", "opset")
START = """
import sys
from anyonnx.cli.app import main
try:
    main({args})
except SystemExit as ended:
    assert not ended.code, ended.code
heavy = [m for m in ("numpy", "onnx", "onnx_ir", "torch", "sklearn", "onnxruntime") if m in sys.modules]
assert not heavy, heavy
"""


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["convert", "--help"], ["opset", "--help"]])
def test_help_imports_nothing_heavy(args):
    subprocess.run([sys.executable, "-c", START.format(args=args)], check=True, stdout=subprocess.DEVNULL)


def test_import_is_lazy():
    code = "import sys, anyonnx; dir(anyonnx); assert 'numpy' not in sys.modules and 'onnx' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_python_m_anyonnx():
    done = subprocess.run([sys.executable, "-m", "anyonnx", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("anyonnx 0.")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_documents_itself_and_the_exit_codes(cli, command):
    shown = cli(command, "--help")
    assert shown.code == 0
    text = " ".join(shown.out.split())
    assert "Exit codes: 0 ok, 1 internal error, 2 usage or input, 3 unsupported operator" in text
    assert "--debug" in text


def test_no_arguments_is_help(cli):
    assert cli().code == 0
    assert cli().out == cli("--help").out


def test_convert_is_anyonnx_convert(cli):
    assert cli("--help", command="convert").out.split("\n", 1)[1] == cli("convert", "--help").out.split("\n", 1)[1]


def test_public_names():
    import anyonnx
    from anyonnx.symbolic.errors import UnsupportedOps
    from anyonnx.symbolic.spec import TensorSpec

    assert anyonnx.TensorSpec is TensorSpec
    assert anyonnx.UnsupportedOps is UnsupportedOps
    assert set(anyonnx.__all__) <= set(dir(anyonnx))
    with pytest.raises(AttributeError, match="no attribute 'to_onx'"):
        _ = anyonnx.to_onx


def test_symbolic_is_a_package_and_a_decorator():
    import anyonnx
    from anyonnx.symbolic.registry import registry

    assert anyonnx.symbolic.AUTHORING_OPSET

    @anyonnx.symbolic("test_dialect", "shout")
    def shout(g, x):
        """test::shout(Tensor x) -> Tensor"""
        return x

    assert registry.lookup("test_dialect", "shout", 21).function is shout
