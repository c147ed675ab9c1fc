"""Real pretrained ONNX files inside PyPI packages: every target is equal to the original, or refused by name."""

from __future__ import annotations

import pytest
from real_onnx import FILES, TARGETS, RealFile, locate


@pytest.mark.slow
@pytest.mark.parametrize(("package", "file", "make"), FILES, ids=[f"{p}/{f}" for p, f, _ in FILES])
def test_every_target(package: str, file: str, make: object) -> None:
    if locate(package, file) is None:
        pytest.skip(f"the package {package} is not installed, or has no {file}")
    real = RealFile(package, file, make)  # type: ignore[arg-type]
    outcomes = [real.outcome(target) for target in TARGETS]
    assert [o for o in outcomes if o.kind not in ("equal", "refused")] == []
    refused = {o.detail for o in outcomes if o.kind == "refused"}
    assert all("::" in d or "needs opset" in d for d in refused)
    if file != "common_old.onnx":  # it has a fused operator of onnxruntime's own
        assert len([o for o in outcomes if o.kind == "equal"]) == len(TARGETS)
