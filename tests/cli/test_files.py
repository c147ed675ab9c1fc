"""Sniffing: real files of each kind where the package is here, bytes of the format's own header elsewhere."""

import gzip
import io
import json
import pickle
import tarfile
import zipfile
from typing import ClassVar

import numpy as np
import pytest

from anyonnx.converters.files import FRAMEWORKS, identify, pickle_imports, sniff
from anyonnx.symbolic.errors import InputSpecError

MARKER = "ran.txt"


class Bomb:
    """Leaves a mark if it is ever unpickled."""

    def __reduce__(self):
        return (open, (MARKER, "w"))


def zip_of(path, *names):
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, b"{}")
    return path


@pytest.fixture(scope="module")
def zoo(tmp_path_factory):
    """One real file of each kind that PyTorch and scikit-learn write."""
    import joblib
    import skops.io
    import torch
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    folder = tmp_path_factory.mktemp("zoo")
    net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU()).eval()
    torch.export.save(torch.export.export(net, (torch.zeros(1, 3),)), folder / "pt2.pt2")
    torch.jit.script(net).save(folder / "torchscript.pt")
    torch.save(net.state_dict(), folder / "checkpoint.pt")
    torch.save(net, folder / "module.pt")
    torch.save(net, folder / "legacy.pt", _use_new_zipfile_serialization=False)
    labels = np.array(["no", "yes"], dtype=object)[[0, 1, 0, 1]]
    pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(np.eye(4), labels)
    skops.io.dump(pipeline, folder / "skops.skops")
    joblib.dump(pipeline, folder / "joblib.joblib")
    for kind in ("zlib", "gzip", "bz2", "lzma", "xz"):
        joblib.dump(pipeline, folder / f"joblib-{kind}.joblib", compress=(kind, 3))
    for protocol in range(2, 6):
        (folder / f"pickle-{protocol}.pkl").write_bytes(pickle.dumps(pipeline, protocol))
    return folder


TORCH = [("pt2.pt2", "pt2"), ("torchscript.pt", "torchscript"), ("checkpoint.pt", "checkpoint")]
TORCH += [("module.pt", "checkpoint"), ("legacy.pt", "legacy")]
SKLEARN = [("skops.skops", "skops"), ("joblib.joblib", "joblib")]
SKLEARN += [(f"joblib-{kind}.joblib", "joblib") for kind in ("zlib", "gzip", "bz2", "lzma", "xz")]
SKLEARN += [(f"pickle-{protocol}.pkl", "pickle") for protocol in range(2, 6)]


@pytest.mark.parametrize(("name", "kind"), TORCH + SKLEARN)
def test_real_files(zoo, name, kind):
    found = sniff(zoo / name)
    assert (found.framework, found.format) == ("torch" if (name, kind) in TORCH else "sklearn", kind)


def test_tar_archives_are_named(tmp_path):
    with tarfile.open(tmp_path / "old.pth.tar", "w") as archive:
        archive.add(__file__, "storages")
    with pytest.raises(InputSpecError, match="is a tar archive: unpack it first"):
        sniff(tmp_path / "old.pth.tar")


def test_the_name_of_the_file_says_nothing(zoo, tmp_path):
    (tmp_path / "model.onnx").write_bytes((zoo / "pt2.pt2").read_bytes())
    assert sniff(tmp_path / "model.onnx").format == "pt2"


@pytest.mark.parametrize("name", [name for name, kind in SKLEARN if kind != "skops"])
def test_pickle_imports_of_sklearn(zoo, name):
    names = pickle_imports(zoo / name)
    expected = {"sklearn.pipeline.Pipeline", "sklearn.linear_model._logistic.LogisticRegression", "numpy.dtype"}
    assert expected <= set(names)
    assert len(names) == len(set(names))
    assert all("." in found and " " not in found for found in names)


def test_pickle_imports_are_all_that_unpickling_imports(zoo):
    """The walk finds the same names as a real unpickler asks for."""

    class Listing(pickle.Unpickler):
        asked: ClassVar[list[str]] = []

        def find_class(self, module, name):
            self.asked.append(f"{module}.{name}")
            return super().find_class(module, name)

    for protocol in range(2, 6):
        path = zoo / f"pickle-{protocol}.pkl"
        Listing.asked = []
        Listing(io.BytesIO(path.read_bytes())).load()
        assert pickle_imports(path) == list(dict.fromkeys(Listing.asked))


def test_pickle_imports_of_torch(zoo):
    assert "torch.nn.modules.container.Sequential" in pickle_imports(zoo / "module.pt")
    assert "torch.nn.modules.container.Sequential" in pickle_imports(zoo / "legacy.pt")
    assert pickle_imports(zoo / "checkpoint.pt") == [
        "collections.OrderedDict",
        "torch._utils._rebuild_tensor_v2",
        "torch.FloatStorage",
    ]
    assert "torch._utils._rebuild_tensor_v2" in pickle_imports(zoo / "pt2.pt2")
    assert pickle_imports(zoo / "skops.skops") == []


@pytest.mark.parametrize("protocol", range(2, 6))
@pytest.mark.parametrize("wrap", ["plain", "gzip", "joblib"])
def test_nothing_is_executed(tmp_path, monkeypatch, protocol, wrap):
    import joblib

    monkeypatch.chdir(tmp_path)
    path = tmp_path / "bomb.pkl"
    values = [np.arange(5.0), np.array([Bomb()], dtype=object), Bomb()]
    if wrap == "joblib":
        joblib.dump(values, path, protocol=protocol)
    else:
        data = pickle.dumps(values, protocol)
        path.write_bytes(gzip.compress(data) if wrap == "gzip" else data)
    assert "io.open" in pickle_imports(path) or "_io.open" in pickle_imports(path)
    sniff(path)
    assert not (tmp_path / MARKER).exists()


def test_a_computed_name_is_not_hidden(tmp_path):
    # protocol 4: the module name comes from a call, so no list of names can have it
    path = tmp_path / "odd.pkl"
    path.write_bytes(b"\x80\x04cbuiltins\nstr\n(tR\x8c\x06system\x93.")
    assert pickle_imports(path) == ["builtins.str", "a name that is computed while loading"]


HEADERS = {
    "model.tflite": (b"\x1c\x00\x00\x00TFL3" + bytes(60), "tflite", "tflite"),
    "model.h5": (b"\x89HDF\r\n\x1a\n" + bytes(60), "keras", "h5"),
    "model.cbm": (b"CBM1" + bytes(60), "catboost", "cbm"),
    "model.mlirbc": (b"ML\xefR\x01StableHLO_v1.0.0" + bytes(60), "jax", "stablehlo"),
    "model.mlir": (b"module @jit_f {\n  func.func public @main() { stablehlo.add }\n}\n", "jax", "mlir"),
    "model.ubj": (b"{L" + (7).to_bytes(8, "big") + b"learner{" + bytes(60), "xgboost", "ubj"),
    "xgb.json": (json.dumps({"learner": {}, "version": [2, 1, 0]}).encode(), "xgboost", "json"),
    "lgb.txt": (b"tree\nversion=v4\nnum_class=1\n\nend of trees\n", "lightgbm", "txt"),
    "lgb.json": (json.dumps({"name": "tree", "version": "v4", "tree_info": []}).encode(), "lightgbm", "json"),
    "cat.json": (json.dumps({"features_info": {}, "oblivious_trees": []}).encode(), "catboost", "json"),
    "pir.json": (json.dumps({"base_code": {"magic": "pir", "version": 4}, "program": {}}).encode(), "paddle", "pir"),
    "legacy.pdmodel": (b"\x0a\x04\x08\x00\x10\x00" + b"\x22\x02\x08\x01", "paddle", "pdmodel"),
    "frozen.pb": (b"\x0a\x08\x0a\x01x\x12\x03Foo" + b"\x22\x02\x08\x01", "tensorflow", "graphdef"),
    "m.safetensors": (
        (len(b'{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}')).to_bytes(8, "little")
        + b'{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
        + bytes(4),
        "torch",
        "safetensors",
    ),
}


@pytest.mark.parametrize("name", HEADERS)
def test_other_formats(tmp_path, name):
    data, framework, kind = HEADERS[name]
    (tmp_path / name).write_bytes(data)
    found = sniff(tmp_path / name)
    assert (found.framework, found.format) == (framework, kind)
    assert framework in FRAMEWORKS
    assert pickle_imports(tmp_path / name) == []
    with pytest.raises(InputSpecError, match=rf"framework {framework}, format {kind}\), which is not supported yet"):
        identify(tmp_path / name, available=["onnx"])


def test_directories_and_zips(tmp_path):
    saved = tmp_path / "saved"
    saved.mkdir()
    (saved / "saved_model.pb").write_bytes(b"x")
    assert sniff(saved).format == "savedmodel"
    keras = zip_of(tmp_path / "m.keras", "metadata.json", "config.json", "model.weights.h5")
    assert (sniff(keras).framework, sniff(keras).format) == ("keras", "keras")


def test_onnx(onnx_model):
    assert (sniff(onnx_model).framework, sniff(onnx_model).format) == ("onnx", "onnx")


def test_identify(zoo):
    assert identify(zoo / "pt2.pt2", "torch").format == "pt2"
    assert identify(zoo / "pt2.pt2").framework == "torch"
    with pytest.raises(InputSpecError, match="its framework is torch, not sklearn"):
        identify(zoo / "pt2.pt2", "sklearn")


def test_a_pickle_without_a_framework_needs_the_callers_word(tmp_path):
    path = tmp_path / "m.pkl"
    path.write_bytes(pickle.dumps({"weights": [1, 2]}))
    assert (sniff(path).framework, sniff(path).format) == ("", "pickle")
    assert identify(path, "sklearn").framework == "sklearn"
    with pytest.raises(InputSpecError, match="names no framework"):
        identify(path)


def damaged(zoo, tmp_path):
    """Name -> (bytes, what the error must say)."""
    pt2, plain, packed = ((zoo / n).read_bytes() for n in ("pt2.pt2", "pickle-5.pkl", "joblib-zlib.joblib"))
    npz = io.BytesIO()
    np.savez(npz, x=np.zeros(3))
    return {
        "empty.pt2": (b"", "is empty"),
        "cut.pt2": (pt2[: len(pt2) // 2], "truncated or damaged zip"),
        "cut.pkl": (plain[:20], "truncated or damaged pickle"),
        "cut.joblib": (packed[: len(packed) // 2], "truncated or damaged pickle"),
        "text.gz": (gzip.compress(b"some text"), "compressed file but not a joblib pickle"),
        "cut.json": (b'{"learner": {"a": 1', "truncated JSON"),
        "other.json": (b'{"a": 1}', "first key is 'a'"),
        "pointer.onnx": (b"version https://git-lfs.example/spec/v1\noid 1\n", "Git LFS pointer"),
        "page.onnx": (b"<!DOCTYPE html>\n<html></html>", "an HTML page"),
        "data.npz": (npz.getvalue(), "holds numpy arrays"),
        "notes.txt": (b"hello there", "no model file that anyonnx knows; it starts with 'hello there'"),
        "noise.bin": (bytes(range(200, 256)), "it starts with bytes c8 c9"),
    }


def test_damaged_files(zoo, tmp_path):
    for name, (data, text) in damaged(zoo, tmp_path).items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(InputSpecError) as raised:
            sniff(tmp_path / name)
        assert text in str(raised.value), name
        assert "\n" not in str(raised.value)


def test_damaged_onnx(onnx_model, tmp_path):
    data = onnx_model.read_bytes()
    (tmp_path / "cut.onnx").write_bytes(data[: len(data) // 2])
    with pytest.raises(InputSpecError, match="truncated ONNX file"):
        sniff(tmp_path / "cut.onnx")


def test_every_cut_of_a_file_is_an_error_or_a_kind(zoo, onnx_model, tmp_path):
    """No prefix of a real file makes sniffing or listing fail in any other way."""
    for source in (zoo / "pickle-5.pkl", zoo / "joblib.joblib", zoo / "pt2.pt2", onnx_model):
        data = source.read_bytes()
        for end in range(1, min(len(data), 2000), 13):
            cut = tmp_path / "cut"
            cut.write_bytes(data[:end])
            for read in (sniff, pickle_imports):
                try:
                    read(cut)
                except InputSpecError as error:
                    assert str(cut) in str(error)


def test_missing_and_wrong_directories(tmp_path):
    with pytest.raises(InputSpecError, match="there is no file"):
        sniff(tmp_path / "none.pt2")
    with pytest.raises(InputSpecError, match="is a directory but not a SavedModel; it has: nothing"):
        sniff(tmp_path)
