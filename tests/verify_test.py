"""`thaw verify` agrees where the numbers agree, and says where and by how much they do not."""
import re

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from conftest import run
from models import ocr, scrfd, text_decoder, vision_tower

FLOAT, FLOAT16, INT64 = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT64


def linear(weight, dims=("n", 3), out=("n", 5), dtype=FLOAT, name="y"):
    """y = x @ weight"""
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], [name])], "g", [helper.make_tensor_value_info("x", dtype, list(dims))],
        [helper.make_tensor_value_info(name, dtype, list(out))], [numpy_helper.from_array(weight, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture
def weight():
    return np.random.default_rng(5).standard_normal((3, 5), dtype=np.float32)


def test_a_model_agrees_with_itself_at_sizes_of_its_own_choosing(thaw, save):
    path = save(ocr.dynamic())
    report = thaw.json("verify", path, "--against", path, code=0)
    assert report["accepted"] is True and len(report["points"]) == 3
    sizes = [tuple(point["sizes"].values()) for point in report["points"]]
    assert len(set(sizes)) == 3 and all(len(set(point)) == len(point) and min(point) > 1 for point in sizes)
    for point in report["points"]:
        assert point["status"] == "agrees"
        assert all(output["agrees"] and output["max_abs_diff"] == 0 and output["cosine"] == 1 for output in point["outputs"])


def test_figures_are_those_that_numpy_computes(thaw, save, weight, tmp_path):
    other = weight + np.float32(1e-3) * np.random.default_rng(6).standard_normal((3, 5), dtype=np.float32)
    models = save(linear(weight), "a"), save(linear(other), "b")
    x = np.random.default_rng(7).standard_normal((7, 3), dtype=np.float32)
    np.save(tmp_path / "x.npy", x)
    report = thaw.json("verify", models[0], "--against", models[1], "--input", f"x={tmp_path / 'x.npy'}", code=1)
    (point,), a, b = report["points"], *(run(str(m), {"x": x})[0].astype(np.float64) for m in models)
    (output,) = point["outputs"]
    assert point["inputs"] == {"x": "float32[7,3]"} and output["type"] == "float32[7,5]"
    assert output["max_abs_diff"] == pytest.approx(np.abs(a - b).max(), rel=1e-9)
    assert output["max_rel_diff"] == pytest.approx((np.abs(a - b) / np.abs(b)).max(), rel=1e-9)
    assert output["cosine"] == pytest.approx((a * b).sum() / np.linalg.norm(a) / np.linalg.norm(b), rel=1e-12)
    outside = np.abs(a - b) - (1e-4 + 1e-3 * np.abs(b))
    assert output["outside_tolerance"] == (outside > 0).sum()
    assert output["worst_index"] == list(np.unravel_index(outside.argmax(), outside.shape))
    loose = str(np.abs(a - b).max() * 1.01)
    call = ["verify", models[0], "--against", models[1], "--input", f"x={tmp_path / 'x.npy'}"]
    thaw(*call, "--atol", loose, code=0)
    thaw(*call, "--cosine", "0.999", code=0)
    thaw(*call, "--cosine", "0.9999999999", code=1)


def test_a_frozen_model_fails_at_other_sizes_and_the_reason_is_onnxruntimes(thaw, save):
    dynamic, frozen = save(ocr.dynamic(), "dynamic"), save(ocr.static(3, 44), "frozen")
    names = [d.dim_param for d in ocr.dynamic().graph.input[0].type.tensor_type.shape.dim if d.dim_param]
    model = onnx.load(frozen)
    model.graph.input[0].CopyFrom(ocr.dynamic().graph.input[0])
    onnx.save(model, frozen)
    spec = ";".join(f"{names[0]}={b},{names[1]}={w}" for b, w in ((3, 44), (5, 44), (2, 76)))
    report = thaw.json("verify", frozen, "--against", dynamic, "--sizes", spec, code=1)
    status = [point["status"] for point in report["points"]]
    assert status[0] == "agrees" and "agrees" not in status[1:]
    failures = [point for point in report["points"] if point["status"] == "model_fails"]
    assert failures and all("ONNX Runtime" in point["message"] and "Reshape" in point["message"] for point in failures)
    text = thaw("verify", frozen, "--against", dynamic, "--sizes", spec, code=1).stdout
    assert "fails at 2 of 3 sizes" in text and f"{names[0]}=5" in text


def test_another_shape_is_a_difference_not_a_crash(thaw, save, weight):
    a = save(linear(weight), "a")
    b = save(linear(weight[:, :4].copy(), out=("n", 4)), "b")
    report = thaw.json("verify", a, "--against", b, "--sizes", "n=7", code=1)
    (output,) = report["points"][0]["outputs"]
    assert output["message"] == "is float32[7,5], expected float32[7,4]" and output["max_abs_diff"] is None


def test_the_original_that_onnxruntime_cannot_run_is_still_a_reference(thaw, save):
    """SCRFD's lying sizes make its buffers clash; without them it computes what the honest model computes."""
    original = scrfd.declare_batch(scrfd.model(), 1)
    honest = scrfd.without_value_info(original)
    for model in (honest,):
        for axis, name in ((2, "height"), (3, "width")):
            dim = model.graph.input[0].type.tensor_type.shape.dim[axis]
            dim.Clear()
            dim.dim_param = name
        for output in model.graph.output:
            output.type.tensor_type.ClearField("shape")
    report = thaw.json("verify", save(honest, "honest"), "--against", save(original, "original"),
                       "--sizes", "height=32|96,width=48|160|224", code=0)
    assert len(report["points"]) == 6
    assert any("without the sizes that it declares" in note for note in report["notes"])


def test_many_sizes_are_chosen_from_a_range(thaw, save, weight):
    a = save(linear(weight))
    report = thaw.json("verify", a, "--against", a, "--sizes", "n=1..1000", "--points", 5, code=0)
    sizes = [point["sizes"]["n"] for point in report["points"]]
    assert len(set(sizes)) == 5 and all(n > 1 and all(n % k for k in range(2, n)) for n in sizes)


def test_values_and_sizes_that_hang_together(thaw, save):
    """The number of patches follows from the grid, an input's values."""
    model = save(vision_tower.dynamic())
    inputs = {i.name: [d.dim_param or d.dim_value for d in i.type.tensor_type.shape.dim]
              for i in onnx.load(model).graph.input}
    grid = next(name for name in inputs if "grid" in name)
    patches = next(dims[0] for name, dims in inputs.items() if name != grid)
    spec = f"{grid}[0]=1,{grid}[1]=8|12,{grid}[2]=20,{patches}={grid}[0]*{grid}[1]*{grid}[2]"
    report = thaw.json("verify", model, "--against", model, "--sizes", spec, code=0)
    assert [point["sizes"][patches] for point in report["points"]] == [160, 240]


def test_ids_stay_within_the_vocabulary(thaw, save):
    model = save(text_decoder.dynamic())
    report = thaw.json("verify", model, "--against", model, code=0)
    assert len(report["points"]) == 3


def test_names_that_differ_are_mapped(thaw, save, weight):
    a, b = save(linear(weight), "a"), save(linear(weight, name="z"), "b")
    error = thaw("verify", a, "--against", b, code=2).stderr
    assert "--map" in error and "'z'" in error
    thaw("verify", a, "--against", b, "--map", "y=z", code=0)


def test_outputs_the_reference_lacks_are_noted(thaw, save, weight):
    model = linear(weight)
    model.graph.node.append(helper.make_node("Relu", ["y"], ["more"]))
    model.graph.output.append(helper.make_tensor_value_info("more", FLOAT, ["n", 5]))
    a, b = save(model, "a"), save(linear(weight), "b")
    assert any("'more'" in note for note in thaw.json("verify", a, "--against", b, code=0)["notes"])
    thaw("verify", a, "--against", b, "--outputs", "more", code=2)


def test_other_element_types_need_leave(thaw, save, weight):
    a, b = save(linear(weight.astype(np.float16), dtype=FLOAT16), "a"), save(linear(weight), "b")
    error = thaw("verify", a, "--against", b, code=2).stderr
    assert "float16" in error and "--cast" in error
    report = thaw.json("verify", a, "--against", b, "--cast", code=0)
    assert all(0 < point["outputs"][0]["max_abs_diff"] < 1e-2 for point in report["points"])


def test_a_batched_model_against_the_single_one_sample_by_sample(thaw, save, weight):
    batched = save(linear(weight, dims=("batch", 4, 3), out=("batch", 4, 5)), "batched")
    for dims, out in (((1, 4, 3), (1, 4, 5)), ((4, 3), (4, 5))):  # with a batch axis of 1, and without
        single = save(linear(weight, dims=dims, out=out), "single")
        thaw("verify", batched, "--against", single, "--sizes", "batch=5", code=1)
        report = thaw.json("verify", batched, "--against", single, "--per-sample", "--sizes", "batch=3|5", code=0)
        assert [point["outputs"][0]["type"] for point in report["points"]] == ["float32[3,4,5]", "float32[5,4,5]"]


def test_a_model_that_mixes_samples_is_caught(thaw, save, weight):
    """It runs at every batch, and sample i is not the model on sample i."""
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["xw"]), helper.make_node("Transpose", ["xw"], ["t"], perm=[1, 0, 2]),
         helper.make_node("Shape", ["xw"], ["s"]), helper.make_node("Reshape", ["t", "s"], ["y"])],
        "g", [helper.make_tensor_value_info("x", FLOAT, ["batch", 4, 3])],
        [helper.make_tensor_value_info("y", FLOAT, ["batch", 4, 5])], [numpy_helper.from_array(weight, "w")])
    mixed = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    single = save(linear(weight, dims=(1, 4, 3), out=(1, 4, 5)), "single")
    report = thaw.json("verify", save(mixed, "mixed"), "--against", single, "--per-sample", "--sizes", "batch=1|3",
                       code=1)
    assert [point["status"] for point in report["points"]] == ["agrees", "differs"]


@pytest.mark.parametrize("case", ["{}", "{}_0 {}_1 {}_12", "night/{} day/{}"])
def test_a_reference_file_holds_inputs_and_outputs_by_name(thaw, save, weight, tmp_path, case):
    model, arrays = save(linear(weight)), {}
    for i, name in enumerate(case.split()):
        x = np.random.default_rng(i).standard_normal((3 + 2 * i, 3), dtype=np.float32)
        arrays[name.format("x")], arrays[name.format("y")] = x, x @ weight
    np.savez(tmp_path / "ref.npz", **arrays)
    report = thaw.json("verify", model, "--against", tmp_path / "ref.npz", code=0)
    assert len(report["points"]) == len(case.split())
    wrong = case.split()[-1].format("y")
    arrays[wrong] = arrays[wrong] + np.float32(0.1)
    np.savez(tmp_path / "ref.npz", **arrays)
    report = thaw.json("verify", model, "--against", tmp_path / "ref.npz", code=1)
    assert [point["status"] for point in report["points"]].count("differs") == 1
    inputs = {k: v for k, v in arrays.items() if "x" in k}
    np.savez(tmp_path / "inputs.npz", **inputs)
    np.savez(tmp_path / "outputs.npz", **{k: v for k, v in arrays.items() if k not in inputs}, unrelated=np.zeros(3))
    assert "no array for the input 'x'" in thaw("verify", model, "--against", tmp_path / "outputs.npz", code=2).stderr
    report = thaw.json("verify", model, "--against", tmp_path / "outputs.npz", "--input", tmp_path / "inputs.npz", code=1)
    assert len(report["points"]) == len(case.split()) and "'unrelated'" in report["notes"][0]


def test_inputs_of_several_cases_are_the_sizes(thaw, save, weight, tmp_path):
    a = save(linear(weight))
    np.savez(tmp_path / "x.npz", x_0=np.ones((3, 3), np.float32), x_1=np.ones((5, 3), np.float32))
    report = thaw.json("verify", a, "--against", a, "--input", tmp_path / "x.npz", code=0)
    assert [point["inputs"]["x"] for point in report["points"]] == ["float32[3,3]", "float32[5,3]"]
    thaw("verify", a, "--against", a, "--input", tmp_path / "x.npz", "--sizes", "n=3", code=2)


def test_nan_in_both_agrees_and_in_one_does_not(thaw, save, weight, tmp_path):
    a, b = save(linear(weight), "a"), save(linear(np.where(weight == weight[1, 2], np.nan, weight)), "b")
    np.save(tmp_path / "x.npy", np.array([[1, 2, np.nan]], np.float32))
    thaw("verify", a, "--against", a, "--input", f"x={tmp_path / 'x.npy'}", code=0)
    report = thaw.json("verify", a, "--against", b, "--sizes", "n=7", code=1)
    assert report["points"][0]["outputs"][0]["not_finite"] == 7


@pytest.mark.parametrize("dtype, right, wrong, word", [
    (FLOAT, 1, np.nan, "not finite"), (FLOAT, np.nan, 1, "not finite"), (FLOAT, 1, np.inf, "not finite"), (FLOAT, -np.inf, np.inf, "not finite"),
    (TensorProto.STRING, "a", "b", "not equal")])
def test_a_difference_beyond_any_number_is_the_largest(thaw, save, tmp_path, dtype, right, wrong, word):
    """In the line of its size, in the table of outputs, in the summary and on the page: no 0, and no other output's number."""
    names = {"x": dtype, "w": FLOAT}
    graph = helper.make_graph([helper.make_node("Identity", [name], [f"{name}_out"]) for name in names], "g",
                              [helper.make_tensor_value_info(name, type, ["n"]) for name, type in names.items()],
                              [helper.make_tensor_value_info(f"{name}_out", type, ["n"]) for name, type in names.items()])
    model = save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    kind = np.float32 if dtype == FLOAT else np.str_
    cases = {"good": (right, 0), "bad": (wrong, 7)}
    np.savez(tmp_path / "ref.npz", **{f"{case}/{name}": array for case, (x, w) in cases.items() for name, array in {
        "x": np.array([right, right], kind), "x_out": np.array([right, x], kind), "w": np.zeros(2, np.float32), "w_out": np.full(2, w, np.float32)}.items()})
    page = tmp_path / "page.html"
    lines = thaw("verify", model, "--against", tmp_path / "ref.npz", "--report", page, code=1).stdout.splitlines()
    of_size, of_good = ([line for line in lines if line.startswith(f"{status} ") and f"case {case}" in line] for status, case in (("differs", "bad"), ("agrees", "good")))
    of_outputs = [line for line in lines if line.startswith("  differs ")]
    assert len(of_size) == 1 and f" {word} " in of_size[0] and of_size[0].endswith(" x_out"), lines
    assert len(of_good) == 1 and " 0 " in of_good[0], lines
    assert len(of_outputs) == 2 and " x_out " in of_outputs[0] and f" {word} " in of_outputs[0] and " 7 " in of_outputs[1], lines
    assert f"max abs diff {word} ('x_out')" in lines[-1]
    page = page.read_text()
    assert f'<td class="h5">{word}</td>' in page and '<td class="h0">0.0e+00</td>' in page and '<td class="h5">7.0e+00 differs</td>' in page


def test_an_output_that_a_case_lacks_is_no_difference(thaw, save, weight, tmp_path):
    """Not compared is no colour of the heat map, least of all the worst."""
    graph = helper.make_graph([helper.make_node("Identity", ["x"], [name]) for name in "yz"], "g", [helper.make_tensor_value_info("x", FLOAT, ["n"])],
                              [helper.make_tensor_value_info(name, FLOAT, ["n"]) for name in "yz"])
    model = save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    x = np.ones(3, np.float32)
    for y, code, cell in ((x, 0, '<td class="h0">0.0e+00</td>'), (x + 1, 1, '<td class="h5">1.0e+00 differs</td>'), (x[:2], 1, '<td class="h5">differs</td>')):
        np.savez(tmp_path / "ref.npz", **{"a/x": x, "a/y": x, "a/z": x, "b/x": x, "b/y": y})
        page = tmp_path / "page.html"
        thaw("verify", model, "--against", tmp_path / "ref.npz", "--report", page, code=code)
        rows = re.findall(r'<tr><th scope="row">(\w)</th>(.*?)</tr>', page.read_text())
        agrees = '<td class="h0">0.0e+00</td>'
        assert dict(rows) == {"y": agrees + cell, "z": agrees + "<td>not compared</td>"}


@pytest.mark.parametrize("arguments, words", [
    (["--sizes", "height=3"], ["there is no size 'height'", "n"]),
    (["--sizes", "n"], ["no '='"]),
    (["--sizes", "n=5..2"], ["backwards"]),
    (["--sizes", "n=m*2"], ["m"]),
    (["--values", "z=1"], ["'z'", "not an input"]),
    (["--input", "x=missing.npy"], ["missing.npy", "cannot be opened"]),
    (["--outputs", "z"], ["no output 'z'", "'y'"]),
    (["--map", "y"], ["no '='"]),
    (["--points", "0"], ["--points"]),
    (["--seed", "many"], ["--seed"]),
])
def test_a_wrong_call_says_what_is_wrong(thaw, save, weight, arguments, words):
    a = save(linear(weight))
    done = thaw("verify", a, "--against", a, *arguments, code=2)
    assert done.stdout == "" and len(done.stderr.splitlines()) == 1
    assert all(word in done.stderr for word in words), done.stderr


def test_files_that_are_not_there_or_not_models(thaw, save, weight, tmp_path):
    a = save(linear(weight))
    (tmp_path / "text.onnx").write_text("not a model")
    (tmp_path / "text.npz").write_text("not an archive")
    text = tmp_path / "text.onnx"
    for model, reference in ((a, "none.onnx"), ("none.onnx", a), (a, text), (text, a), (a, tmp_path / "text.npz"),
                             (a, "none.npz")):
        done = thaw("verify", model, "--against", reference, code=2)
        assert len(done.stderr.splitlines()) == 1 and ("none" in done.stderr or "text" in done.stderr)


def test_a_reference_that_runs_nowhere_is_named(thaw, save, weight):
    """A Reshape to a fixed size in the reference alone: no default size is tried forever."""
    graph = helper.make_graph(
        [helper.make_node("Reshape", ["x", "shape"], ["r"]), helper.make_node("MatMul", ["r", "w"], ["y"])], "g",
        [helper.make_tensor_value_info("x", FLOAT, ["n", 3])], [helper.make_tensor_value_info("y", FLOAT, None)],
        [numpy_helper.from_array(weight, "w"), numpy_helper.from_array(np.array([1009, 3]), "shape")])
    reference = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    call = ["verify", save(linear(weight), "a"), "--against", save(reference, "b")]
    done = thaw(*call, code=2)
    assert "no size was found at which the reference runs" in done.stderr and "--sizes" in done.stderr
    report = thaw.json(*call, "--sizes", "n=7|1009", code=1)
    assert [point["status"] for point in report["points"]] == ["reference_fails", "agrees"]


def test_padded_positions_are_left_out(thaw, save, tmp_path):
    """Two models that differ where the mask is 0 alone."""
    def masked(fill):
        nodes = [helper.make_node("Cast", ["attention_mask"], ["keep"], to=TensorProto.BOOL),
                 helper.make_node("Unsqueeze", ["keep", "axis"], ["wide"]),
                 helper.make_node("Where", ["wide", "x", "fill"], ["y"]),
                 helper.make_node("ReduceMax", ["attention_mask"], ["other"], keepdims=0)]
        graph = helper.make_graph(
            nodes, "g", [helper.make_tensor_value_info("x", FLOAT, ["n", "t", 3]),
                         helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["n", "t"])],
            [helper.make_tensor_value_info("y", FLOAT, ["n", "t", 3]),
             helper.make_tensor_value_info("other", TensorProto.INT64, [])],
            [helper.make_tensor("axis", TensorProto.INT64, [1], [2]), helper.make_tensor("fill", FLOAT, [], [fill])])
        return save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), f"fill_{fill}")

    a, b = masked(1.0), masked(7.0)
    values = ["--values", "attention_mask=1,1,0,0,1,1,1,0", "--sizes", "n=2,t=4"]
    thaw("verify", a, "--against", b, *values, code=1)
    report = thaw.json("verify", a, "--against", b, *values, "--mask", "attention_mask", code=0)
    compared = {o["name"]: o for o in report["points"][0]["outputs"]}
    assert compared["y"]["max_abs_diff"] == 0 and compared["other"]["agrees"]
    x = np.zeros((2, 4, 3), np.float32)
    x[1, 2, 1] = 5
    np.savez(tmp_path / "ref.npz", x=x * 0, attention_mask=np.array([[1, 1, 0, 0], [1, 1, 1, 0]]), y=x)
    report = thaw.json("verify", a, "--against", tmp_path / "ref.npz", "--mask", "attention_mask", code=1)
    assert report["points"][0]["outputs"][0]["worst_index"] == [1, 2, 1]
    assert "did you mean 'attention_mask'" in thaw.error("verify", a, "--against", b, "--mask", "attentoin_mask")


def test_a_folder_of_references(thaw, save, tmp_path):
    graph = helper.make_graph([helper.make_node("Exp", ["x"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", FLOAT, ["n"])],
                              [helper.make_tensor_value_info("y", FLOAT, ["n"])])
    path = save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    folder = tmp_path / "refs"
    folder.mkdir()
    assert "holds no .npz file" in thaw.error("verify", path, "--against", folder)
    for i, name in enumerate(("night", "day")):
        x = np.linspace(0, 1, 3 + i, dtype=np.float32)
        np.savez(folder / f"{name}.npz", x_0=x, y_0=np.exp(x), x_1=x * 2, y_1=np.exp(x * 2))
    report = thaw.json("verify", path, "--against", folder, code=0)
    assert [p["case"] for p in report["points"]] == ["day/0", "day/1", "night/0", "night/1"]
    np.savez(folder / "wrong.npz", x=np.zeros(2, np.float32), y=np.zeros(2, np.float32))
    report = thaw.json("verify", path, "--against", folder, code=1)
    assert [p["case"] for p in report["points"] if p["status"] != "agrees"] == ["wrong"]


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_what_is_not_finite_is_said_wherever_figures_are(thaw, save, tmp_path, number):
    def scaled(by):
        graph = helper.make_graph([helper.make_node("Mul", ["x", "k"], ["m"], "mul"), helper.make_node("Neg", ["m"], ["y"], "neg")], "g",
                                  [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4])],
                                  [numpy_helper.from_array(np.array(by, np.float32), "k")])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    good, bad = save(scaled([1, 2, 3, 4]), "good"), save(scaled([1, number, 3, 4]), "bad")
    run = thaw("verify", bad, "--against", good, "--sizes", "n=2", "--where", "--cosine", "0.5")
    assert run.returncode == 1 and "1.000000" not in run.stdout and "inf + 0" not in run.stdout, run.stdout
    assert "2 of 8 elements are NaN or infinite on one side" in run.stdout
