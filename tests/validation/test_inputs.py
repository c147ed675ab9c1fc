from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from anyonnx.symbolic.errors import InputSpecError
from anyonnx.symbolic.spec import DTYPES, TensorSpec, parse_spec
from anyonnx.validation.inputs import choose_sizes, digest, make_inputs


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_of_a_spec_can_be_made(dtype):
    array = make_inputs([TensorSpec("x", dtype, ("batch", 300))], seed=3, sizes={"batch": 4})["x"]
    assert array.shape == (4, 300)
    if dtype == "string":
        assert array.dtype == object
        assert all(isinstance(item, str) for item in array.flat)
    elif dtype == "bfloat16":
        assert array.dtype == ml_dtypes.bfloat16
    else:
        assert array.dtype == np.dtype(dtype)
    if array.dtype.kind in "iu":
        assert array.min() == 0
        assert array.max() == (255 if dtype == "uint8" else 7)
    if array.dtype.kind in "fc":
        assert 0.9 < np.std(array.astype(np.complex128).real) < 1.1


def test_scalars():
    made = make_inputs([TensorSpec("x", "float32", ()), TensorSpec("n", "int64", ())])
    assert made["x"].shape == made["n"].shape == ()


def test_masks_are_binary_and_never_empty():
    mask = make_inputs([parse_spec("attention_mask:int64[50,6]"), parse_spec("token_type_ids:int64[50,6]")])
    assert set(np.unique(mask["attention_mask"])) == {0, 1}
    assert (mask["attention_mask"][:, 0] == 1).all()
    assert set(np.unique(mask["token_type_ids"])) == {0, 1}


def test_same_seed_same_values_and_hash():
    specs = [parse_spec("x:float32[batch,4]"), parse_spec("s:string[batch]")]
    first, second, third = (make_inputs(specs, seed=seed) for seed in (1, 1, 2))
    assert first.digest() == second.digest() != third.digest()
    assert first.seed == 1
    assert first.sizes == {"batch": 2}


def test_hash_sees_names_dtypes_shapes_and_strings():
    zero = np.zeros((2, 3), np.float32)
    hashes = {
        digest(inputs)
        for inputs in (
            {"x": zero},
            {"y": zero},
            {"x": zero.view(np.int32)},
            {"x": zero.reshape(3, 2)},
            {"x": np.array(["ab", "c"])},
            {"x": np.array(["a", "bc"])},
            {"x": np.zeros((0, 3), np.float32)},
        )
    }
    assert len(hashes) == 7


def test_missing_size():
    with pytest.raises(InputSpecError, match="open dim"):
        make_inputs([parse_spec("x:float32[batch,seq]")], sizes={"batch": 1})


def test_two_sizes_for_every_symbol():
    specs = [parse_spec("x:float32[batch,seq,3]"), parse_spec("m:int64[batch,seq]"), parse_spec("z:int64[other]")]
    first, second = choose_sizes(specs, 0), choose_sizes(specs, 1)
    assert list(first) == list(second) == ["batch", "seq", "other"]
    assert len({*first.values(), *second.values()}) == 6
    with pytest.raises(InputSpecError):
        choose_sizes(specs, 2)


def test_base_sizes_are_used_first_and_changed_second():
    specs = [parse_spec("x:float32[batch,3,h,w]")]
    base = {"batch": 1, "h": 224, "w": 224}
    assert choose_sizes(specs, 0, base) == base
    second = choose_sizes(specs, 1, base)
    assert all(second[s] != base[s] for s in base)
    assert second["h"] != second["w"]
    assert second["h"] % 32 == second["w"] % 32 == 0


def test_many_symbols():
    specs = [TensorSpec("x", "float32", tuple(f"s{i}" for i in range(40)))]
    first, second = choose_sizes(specs, 0), choose_sizes(specs, 1)
    assert len(set(first.values())) == len(set(second.values())) == 40
    assert all(first[s] != second[s] for s in first)
