"""What `fix` makes is run beside the model before it is written, and what it could not answer ends it with 1."""
import numpy as np
import onnx
from onnx import numpy_helper

from check_rules_test import F, T, floats, ints, model, node
from conftest import session, worst
from fix_test import attention, resized


def test_a_result_agrees_with_the_model_at_its_own_sizes(thaw, save, tmp_path):
    report = thaw.json("fix", save(resized(True)), "-o", tmp_path / "fixed.onnx", code=0)
    assert report["checks"] and all(run["agrees"] for run in report["checks"])
    assert report["checks"][0]["case"] == "n=2, h=38, w=62"
    text = thaw("fix", save(resized(True)), "-o", tmp_path / "fixed.onnx", code=0).stdout
    assert "agrees with the original at n=2, h=38, w=62" in text
    assert "not compared: it runs at" in text  # where the original is frozen, there is nothing to compare with


def test_a_batch_that_is_freed_is_compared_sample_by_sample(thaw, save, tmp_path):
    path, fixed = save(model([node("Relu", ["x"], "r"), node("Reshape", ["r", "shape"], "y")], [("x", F, [1, 4, 6])],
                             [("y", F, None)], [ints("shape", [1, 24])])), tmp_path / "fixed.onnx"
    report = thaw.json("fix", path, "-o", fixed, code=0)
    batches = [run for run in report["checks"] if "sample by sample" in run["case"]]
    assert [run["inputs"]["x"] for run in batches] == ["float32[2,4,6]", "float32[3,4,6]"]
    assert all(run["agrees"] for run in report["checks"])


def test_the_check_can_be_left_out(thaw, save, tmp_path):
    path, fixed = save(attention(True)), tmp_path / "fixed.onnx"
    report = thaw.json("fix", path, "-o", fixed, "--no-check", code=0)
    assert report["checks"] == [] and report["not_compared"] == [] and fixed.exists()


def test_what_is_left_and_is_an_error_ends_with_one(thaw, save, tmp_path):
    nodes = [node("Add", ["x", "table"], "t"), node("Reshape", ["z", "shape"], "y")]
    path = save(model(nodes, [("x", F, ["n", 4]), ("z", F, ["m", 4])], [("t", F, None), ("y", F, ["?", 2])],
                      [numpy_helper.from_array(np.arange(28, dtype=np.float32).reshape(7, 4), "table"), ints("shape", [-1, 2])]))
    report = thaw.json("fix", path, "-o", tmp_path / "fixed.onnx", code=1)
    assert {n["code"] for n in report["remaining"]} == {"THAW013"}


def test_a_freed_model_is_verified_against_the_one_it_was_made_of(thaw, save, tmp_path):
    """README's next step: the sizes that both run at are those that the original declares."""
    path = save(model([node("Relu", ["x"], "r"), node("Reshape", ["r", "shape"], "y")], [("x", F, [1, 4, 10])],
                      [("y", F, None)], [ints("shape", [1, 40])]))
    fixed = tmp_path / "fixed.onnx"
    thaw("fix", path, "-o", fixed, code=0)
    assert onnx.load(fixed).graph.input[0].type.tensor_type.shape.dim[0].dim_param
    report = thaw.json("verify", fixed, "--against", path, code=0)
    assert report["accepted"] and report["points"][0]["inputs"]["x"] == "float32[1,4,10]"


def test_lengths_of_integers_freeze_nothing(thaw, save, tmp_path):
    """Three exponents beside three integers: no constant has fixed either, and there is nothing to mend."""
    path = save(model([node("Pow", ["x", "y"], "z")], [("x", T.INT64, [3]), ("y", F, [3])], [("z", T.INT64, [3])]))
    report = thaw.json("fix", path, "-o", tmp_path / "fixed.onnx", code=0)
    assert report["remaining"] == [] and report["changed"] == []


def test_a_size_of_a_default_stays_free(thaw, save, tmp_path):
    """An adapter of any rank may be given in place of the default, which has rank 0 and changes nothing."""
    lora = model([node("MatMul", ["x", "w"], "m"), node("MatMul", ["x", "a"], "d"), node("MatMul", ["d", "b"], "e"), node("Add", ["m", "e"], "s"),
                  node("Reshape", ["s", "to"], "y")],
                 [("x", F, [1, 4]), ("a", F, [4, "rank"]), ("b", F, ["rank", 4])], [("y", F, None)],
                 [floats("w", 4, 4), floats("a", 4, 0), floats("b", 0, 4), ints("to", [1, 2, 2])])
    path, fixed = save(lora), tmp_path / "fixed.onnx"
    values = {v["name"]: v["dims"] for v in thaw.json("inspect", path)["tensors"]}
    assert values["d"] == [1, "rank"] and values["e"] == [1, 4]
    thaw("fix", path, "-o", fixed, code=0)
    declared = {v.name: [d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim] for v in onnx.load(fixed).graph.input}
    assert declared["a"] == [4, "rank"] and declared["b"] == ["rank", 4]
    feeds = {"x": np.ones((1, 4), np.float32), "a": np.ones((4, 3), np.float32), "b": np.ones((3, 4), np.float32)}
    assert worst(session(fixed).run(["y"], feeds), session(path).run(["y"], feeds)) == 0
