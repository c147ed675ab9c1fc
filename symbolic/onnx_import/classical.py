"""Operators of ai.onnx.ml as they were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..builder import GraphBuilder, Wanted
from ..registry import symbolic
from ..schemas import ML_DOMAIN
from ..value import Value


@symbolic("onnx_import", f"{ML_DOMAIN}.LabelEncoder", until=1)
def label_encoder(
    g: GraphBuilder,
    X: Value,
    classes_strings: Sequence[str] = (),
    default_int64: int = -1,
    default_string: str = "_Unused",
) -> Value:
    """LabelEncoder-1(X) {classes_strings, default_int64, default_string}: a class's place in the list, or back."""
    places = list(range(len(classes_strings)))
    if X.element.name == "STRING":
        table: dict[str, Any] = {"keys_strings": list(classes_strings), "values_int64s": places}
        return g.call("LabelEncoder", X, domain=ML_DOMAIN, default_int64=default_int64, **table)  # type: ignore[no-any-return]
    table = {"keys_int64s": places, "values_strings": list(classes_strings)}
    return g.call("LabelEncoder", X, domain=ML_DOMAIN, default_string=default_string, **table)  # type: ignore[no-any-return]


def _tree_ensemble(op: str, ranks: tuple[int, ...]) -> None:
    @symbolic("onnx_import", f"{ML_DOMAIN}.{op}")
    def trees(g: GraphBuilder, X: Value, outputs: Wanted = 1, **attributes: Any) -> Any:
        """TreeEnsembleClassifier, TreeEnsembleRegressor-1, 3(X) {...}: kept as it is."""
        found = g.raw(op, X, domain=ML_DOMAIN, outputs=outputs, **attributes)
        for result, rank in zip(found if isinstance(found, tuple) else (found,), ranks, strict=False):
            if result is not None and result.sizes is None:  # the first version infers nothing
                result.sizes = (X.dim(0), *(None,) * (rank - 1))
        return found


_tree_ensemble("TreeEnsembleClassifier", (1, 2))
_tree_ensemble("TreeEnsembleRegressor", (2,))
