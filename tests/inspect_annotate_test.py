"""thaw inspect --annotate: a copy of the model that declares every tensor's sizes, equal names only for equal sizes."""
import hashlib

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper, numpy_helper

from conftest import run, worst
from inspect_json_test import FLOAT, INT64, model
from models import torch_like

TOKENS = {"input_ids": np.array([[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]]), "attention_mask": np.ones((2, 5), np.int64)}


def declared(m):
    """What the main graph's value_info says: names, numbers and None."""
    return {v.name: [d.dim_param or (d.dim_value if d.HasField("dim_value") else None) for d in v.type.tensor_type.shape.dim]
            for v in m.graph.value_info}


@pytest.fixture
def annotate(thaw, save, tmp_path):
    def annotated(m, *args):
        out = tmp_path / "annotated.onnx"
        thaw("inspect", save(m), "--annotate", "-o", out, *args, code=0)
        made = onnx.load(out)
        onnx.checker.check_model(made)
        return made
    return annotated


def test_every_tensor_is_declared_and_nothing_else_changes(annotate, thaw, save):
    before = torch_like.decoder(2)
    after = annotate(before)
    told = {v["name"]: v["dims"] for v in thaw.json("inspect", save(before), code=0)["tensors"]}
    outputs = {o.name for o in before.graph.output}
    assert declared(after) == {name: dims for name, dims in told.items() if name not in outputs}
    assert "/model/layers.1/mlp/gate_proj/MatMul_output_0" in declared(after)
    assert all(v.type.tensor_type.elem_type for v in after.graph.value_info)
    del after.graph.value_info[:]
    assert after.SerializeToString(deterministic=True) == before.SerializeToString(deterministic=True)


def test_onnx_runtime_gives_the_same_numbers(annotate):
    before = torch_like.decoder(2)
    after = annotate(before)
    for tokens in (1, 5):
        feeds = {name: value[:, :tokens] for name, value in TOKENS.items()}
        assert worst(run(before, feeds), run(after, feeds)) == 0


def test_a_second_run_changes_nothing(thaw, save, tmp_path):
    first, second = tmp_path / "first.onnx", tmp_path / "second.onnx"
    text = thaw("inspect", save(torch_like.decoder(1)), "--annotate", "-o", first, code=0).stdout
    assert "annotated 73 tensors" in text and f"wrote {first}" in text
    seen = thaw.json("inspect", first, "--annotate", "-o", second, code=0)
    assert seen["annotated_tensors"] == 0 and seen["output"] == str(second) and seen["files"] == [str(second)]
    assert first.read_bytes() == second.read_bytes()


def test_declared_names_stay_and_are_used(annotate):
    m = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]> g (float[n, c, h, w] x) => (float[n, c, low, w2] z) {
        a = MaxPool<kernel_shape=[2,2], strides=[2,2]>(x)
        b = Relu(a)
        z = Sigmoid(b) }""")
    m.graph.value_info.add().CopyFrom(helper.make_tensor_value_info("b", FLOAT, ["n", None, "low", None]))
    seen = declared(annotate(m))
    # "low" is what the file calls floor(h/2), "w2" what it calls floor(w/2); only what "b" leaves open is filled in.
    assert seen == {"a": ["n", "c", "low", "w2"], "b": ["n", "c", "low", "w2"]}


def test_a_name_that_the_file_gives_two_sizes_is_not_given_again(annotate):
    m = model([helper.make_node("Concat", ["x", "x"], ["twice"], axis=0), helper.make_node("Relu", ["x"], ["r"]),
               helper.make_node("Sigmoid", ["twice"], ["s"]), helper.make_node("Exp", ["s"], ["y"])],
              [("x", FLOAT, ["n", 3])], [("y", FLOAT, ["m", 3]), ("r", FLOAT, ["n", 3])])
    m.graph.value_info.add().CopyFrom(helper.make_tensor_value_info("twice", FLOAT, ["n", 3]))
    seen = declared(annotate(m))
    assert seen["twice"] == ["n", 3]  # the file's own, as it was
    assert seen["s"] == ["m", 3]


def test_an_unknown_size_has_no_name(annotate):
    m = model([helper.make_node("Made", ["x"], ["a"], domain="somebody"), helper.make_node("Relu", ["a"], ["b"]),
               helper.make_node("NonZero", ["x"], ["z"]), helper.make_node("Cast", ["z"], ["f"], to=FLOAT),
               helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Add", ["b", "x"], ["y"])],
              [("x", FLOAT, ["n", "k"])], [("y", FLOAT, ["a", "b"]), ("s", INT64, [2]), ("f", FLOAT, [2, "c"])])
    m.opset_import.append(helper.make_opsetid("somebody", 1))
    m.ir_version = 8
    seen = declared(annotate(m))
    assert "a" not in seen and "b" not in seen
    assert seen["z"][0] == 2 and seen["z"][1] not in ("n", "k", None)


def branches(inner="inner"):
    then = helper.make_graph([helper.make_node("Relu", ["x"], [inner]), helper.make_node("Exp", [inner], ["t"])], "then", [],
                             [helper.make_tensor_value_info("t", FLOAT, None)])
    other = helper.make_graph([helper.make_node("Sigmoid", ["x"], ["inner"]), helper.make_node("Neg", ["inner"], ["e"])], "else", [],
                              [helper.make_tensor_value_info("e", FLOAT, None)])
    return model([helper.make_node("If", ["c"], ["i"], then_branch=then, else_branch=other, name="choose"), helper.make_node("Abs", ["i"], ["y"])],
                 [("c", TensorProto.BOOL, []), ("x", FLOAT, ["n", 4])], [("y", FLOAT, ["n", 4])])


def test_values_inside_subgraphs_are_declared_where_their_names_are_theirs(annotate):
    for inner, told in (("inner_then", {"then": ["inner_then"], "else": ["inner"]}), ("inner", {"then": [], "else": []})):
        before = branches(inner)
        after = annotate(before)
        graphs = {a.g.name: a.g for n in after.graph.node for a in n.attribute if a.type == onnx.AttributeProto.GRAPH}
        assert {name: [v.name for v in g.value_info] for name, g in graphs.items()} == told
        assert declared(after)["i"] == ["n", 4]
        feeds = {"c": np.array(True), "x": np.arange(8, dtype=np.float32).reshape(2, 4)}
        assert worst(run(before, feeds), run(after, feeds)) == 0


def test_weights_are_not_read(thaw, tmp_path):
    """External data stay where they are; a file of them that is not even there is no hindrance."""
    m = model([helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Relu", ["a"], ["y"])],
              [("x", FLOAT, ["n", 64])], [("y", FLOAT, ["n", 32])], [numpy_helper.from_array(np.ones((64, 32), np.float32), "w")])
    onnx.save(m, tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=16)
    before = hashlib.sha256((tmp_path / "m.data").read_bytes()).hexdigest()
    thaw("inspect", tmp_path / "m.onnx", "--annotate", "-o", tmp_path / "out.onnx", code=0)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.data", "m.onnx", "out.onnx"]
    assert hashlib.sha256((tmp_path / "m.data").read_bytes()).hexdigest() == before
    assert declared(onnx.load(tmp_path / "out.onnx", load_external_data=False)) == {"a": ["n", 32]}
    x = {"x": np.ones((2, 64), np.float32)}
    assert worst(run(tmp_path / "m.onnx", x), run(tmp_path / "out.onnx", x)) == 0
    (tmp_path / "m.data").rename(tmp_path / "elsewhere")
    thaw("inspect", tmp_path / "m.onnx", "--annotate", "-o", tmp_path / "again.onnx", code=0)
    assert (tmp_path / "again.onnx").read_bytes() == (tmp_path / "out.onnx").read_bytes()


def test_what_readers_of_onnx_see(annotate):
    """shape_inference of the ONNX library agrees with all that it knows itself."""
    before = torch_like.decoder(1)
    after = declared(annotate(before))
    theirs = declared(onnx.shape_inference.infer_shapes(before, data_prop=True))
    assert len(theirs) > 60
    for name, dims in theirs.items():
        for ours, other in zip(after.get(name, dims), dims, strict=True):
            assert ours == other or not isinstance(other, int)


def test_options_that_go_together(thaw, save, tmp_path):
    path, out = save(branches()), tmp_path / "out.onnx"
    thaw("inspect", path, "--annotate", code=0)
    assert "is there already" in thaw.error("inspect", path, "--annotate")
    assert "--annotate" in thaw.error("inspect", path, "-o", out)
    assert "--in-place" in thaw.error("inspect", path, "--annotate", "-o", path)
    assert thaw("inspect", path, "--annotate", "--sizes", "n=3", "-o", out).returncode == 2 and not out.exists()
    thaw("inspect", path, "--annotate", "-o", out, "--rename", "n=rows", code=0)
    assert declared(onnx.load(out))["i"] == ["rows", 4]
    thaw("inspect", path, "--annotate", "-o", path, "--in-place", code=0)
    assert declared(onnx.load(path))["i"] == ["n", 4]
