"""The wheel has every module and nothing else, and works where there is no checkout."""

import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ["anyonnx", "cli", "converters", "optimization", "symbolic", "validation"]
FILES = ["pyproject.toml", "README.md", "LICENSE"]


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel built from a copy of the tree, so that nothing is left in the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, folder / name)
    # stands for a checkout's own folders, which must not get into site-packages
    (folder / "tests").mkdir()
    (folder / "tests" / "test_x.py").write_text("")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder / "dist", folder)
    (built,) = (folder / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A fresh environment with the wheel; other packages come from this one, without its editable install."""
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    (site / "outer.pth").write_text("\n".join({sysconfig.get_path(p) for p in ("purelib", "platlib")}))
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--force-reinstall", "--quiet", wheel)
    return folder, site


def modules():
    """Every module of the tree as the path it has in the wheel."""
    found = set()
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".pyi", ".typed") and "__pycache__" not in path.parts:
                inside = path.relative_to(ROOT)
                found.add(str(inside if folder == "anyonnx" else Path("anyonnx") / inside))
    return found


def test_wheel_has_every_module_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == modules()


def test_nothing_generic_lands_in_site_packages(installed):
    _, site = installed
    tops = {path.name for path in site.iterdir()} - {"outer.pth", "__pycache__"}
    assert {name for name in tops if not name.startswith("anyonnx")} == set()
    scripts = {path.name for path in (site.parents[2] / "bin").iterdir()}
    assert {"anyonnx", "convert"} <= scripts


def test_help_outside_the_checkout(installed, tmp_path):
    folder, _ = installed
    assert "Usage: anyonnx" in run(folder / "bin" / "anyonnx", "--help", cwd=tmp_path)
    where = run(folder / "bin" / "python", "-c", "import anyonnx.symbolic as s; print(s.__file__)", cwd=tmp_path)
    assert where.startswith(str(folder))


@pytest.mark.parametrize(("framework", "fixture"), [("torch", "digits_cnn.pt2"), ("sklearn", "digits_pipeline.skops")])
def test_conversion_outside_the_checkout(installed, tmp_path, framework, fixture):
    folder, _ = installed
    model = shutil.copy(ROOT / "fixtures" / fixture, tmp_path)
    shown = run(folder / "bin" / "convert", "--from", framework, model, "--opset", "17", cwd=tmp_path)
    result = Path(fixture).with_suffix(".onnx")
    assert f"wrote {result}: opset 17" in shown
    assert "parity: passed" in shown
    assert "opset      ai.onnx 17" in run(folder / "bin" / "anyonnx", "inspect", result, cwd=tmp_path)
