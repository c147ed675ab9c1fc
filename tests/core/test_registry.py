"""One registry: duplicates are told, users can override, all that is missing is reported at once."""

import pytest

from anyonnx.symbolic.errors import AnyonnxError, UnsupportedOps
from anyonnx.symbolic.registry import Registry, Symbolic, registry


def row(name, function, since=0, until=999):
    return Symbolic("demo", name, function, since, until, False)


def first(g, x): ...


def second(g, x): ...


def test_duplicates_name_the_holder():
    own = Registry()
    own.add(row("relu", first))
    with pytest.raises(AnyonnxError, match=r"demo::relu is registered twice: .*first holds it, .*second asks"):
        own.add(row("relu", second))
    own.add(row("relu", second), override=True)
    assert own.lookup("demo", "relu", 21).function is second


def test_opset_ranges_choose():
    own = Registry()
    own.add(row("relu", first, until=12))
    own.add(row("relu", second, since=13))
    assert own.lookup("demo", "relu", 12).function is first
    assert own.lookup("demo", "relu", 13).function is second
    with pytest.raises(AnyonnxError, match="twice"):
        own.add(row("relu", first, since=12, until=14))


def test_all_missing_ops_at_once():
    own = Registry()
    own.add(row("relu", first))
    uses = [("relu", "a"), ("fancy", "net.a (m.py:1)"), ("odd", ""), ("fancy", "net.b (m.py:2)")]
    with pytest.raises(UnsupportedOps) as caught:
        own.require("demo", uses, 21)
    text = str(caught.value)
    assert "2 unsupported operator(s), 3 use(s)" in text and "demo::fancy x2 at net.a (m.py:1); net.b (m.py:2)" in text
    assert '@anyonnx.symbolic("demo", "fancy")' in text and caught.value.exit_code == 3


@pytest.mark.parametrize("dialect", ["onnx", "onnx_import", "aten", "estimators"])
def test_every_row_has_a_docstring(dialect):
    rows = registry.rows(dialect)
    assert rows
    bare = [r.place for r in rows if not (r.function.__doc__ or "").strip()]
    assert not bare
