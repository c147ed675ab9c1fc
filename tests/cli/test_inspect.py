"""inspect, ops and providers."""

import json

import onnx
from onnx import TensorProto, helper


def test_inspect(cli, onnx_model):
    shown = cli("inspect", onnx_model)
    assert shown.code == 0
    for text in (
        "opset      ai.onnx 17 (IR version 8)",
        "input      x:float32[batch,3]",
        "output     y:float32[batch,3]",
        "weights    1 tensors, 3 elements",
        "nodes      2 in domains ai.onnx",
        "       1  Relu",
    ):
        assert text in shown.out


def test_inspect_json_counts_inner_graphs(cli, tmp_path):
    branch = [
        helper.make_graph([helper.make_node(op, ["x"], [op])], op, [], [helper.make_tensor_value_info(op, 1, [2])])
        for op in ("Relu", "Neg")
    ]
    graph = helper.make_graph(
        [helper.make_node("If", ["c"], ["y"], then_branch=branch[0], else_branch=branch[1])],
        "g",
        [helper.make_tensor_value_info("c", TensorProto.BOOL, []), helper.make_tensor_value_info("x", 1, [2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), tmp_path / "if.onnx")
    facts = json.loads(cli("inspect", "if.onnx", "--json").out)
    assert facts["operators"] == {"If": 1, "Neg": 1, "Relu": 1}
    assert facts["nodes"] == 3
    assert facts["opsets"] == {"ai.onnx": 21}
    assert facts["bytes"] == (tmp_path / "if.onnx").stat().st_size


def test_inspect_refuses_other_files(cli, tmp_path):
    (tmp_path / "m.cbm").write_bytes(b"CBM1" + bytes(40))
    shown = cli("inspect", "m.cbm")
    assert (shown.code, shown.error) == (
        2,
        "m.cbm is a CatBoost model (.cbm), not an ONNX model; anyonnx convert makes one of it",
    )


def test_ops(cli):
    shown = cli("ops", "--dialect", "aten")
    assert shown.code == 0
    wrong = cli("ops", "--dialect", "atn")
    assert wrong.code == 2
    assert "there is no dialect 'atn'; one of" in wrong.error
    assert cli("ops", "--count").code == 0


def test_ops_shows_plugins(cli, tmp_path):
    (tmp_path / "shouting_plugin.py").write_text(
        "import anyonnx\n@anyonnx.symbolic('plugin_dialect', 'whisper', since=13)\ndef whisper(g, x):\n    return x\n"
    )
    shown = cli("ops", "--dialect", "plugin_dialect", "--plugin", "shouting_plugin")
    assert "plugin_dialect::whisper" in shown.out
    assert "shouting_plugin.whisper  (opset 13..)" in shown.out
    assert cli("ops", "--plugin", "no_such_plugin").error == "there is no plugin module no_such_plugin"


def test_providers(cli):
    shown = cli("providers")
    assert shown.code == 0
    assert "onnxruntime-cpu      available" in shown.out
