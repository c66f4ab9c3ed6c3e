"""One grammar for sizes: every option that takes some knows symbols, axes of inputs and elements of integer inputs."""

import os

import onnx
import pytest
from onnx import helper

from inspect_json_test import FLOAT, INT64, model


@pytest.fixture
def image_model(save):
    """Named and unnamed axes, one that is a number, and an integer input whose elements shape the result."""
    m = model([helper.make_node("Relu", ["input.1"], ["r"]),
               helper.make_node("Concat", ["grid_thw", "minus"], ["shape"], axis=0),
               helper.make_node("Reshape", ["patches", "shape"], ["rows"])],
              [("input.1", FLOAT, ["n", 3, None, "wide"]), ("patches", FLOAT, ["p", 2]), ("grid_thw", INT64, [2])],
              [("r", FLOAT, ["n", 3, "floor(2*wide/2)", "wide"]), ("rows", FLOAT, None)],
              [helper.make_tensor("minus", INT64, [1], [-1])])
    return save(m)


@pytest.mark.parametrize("sizes", ["n=2,input.1_dim2=5,wide=7,p=6", "input.1[0]=2,input.1[2]=5,input.1[3]=7,patches[0]=6",
                                   "input.1_dim0=2,input.1[2]=5,wide=7,patches_dim0=6,input.1[1]=3"])
def test_every_option_takes_every_spelling(thaw, image_model, tmp_path, sizes):
    dims = [2, 3, 5, 7]
    grid = "grid_thw[0]=3,grid_thw[1]=2"
    assert thaw.json("inspect", image_model, "--sizes", sizes)["inputs"][0]["dims"] == dims
    drawn = thaw.json("run", image_model, "--sizes", f"{sizes},{grid}", code=0)
    assert drawn["outputs"][0]["dims"] == dims and drawn["outputs"][1]["dims"] == [3, 2, 2]
    for option in (["--sizes", sizes], ["--sizes", sizes]):
        seen = thaw.json("verify", image_model, "--against", image_model, *option, "--values", grid, code=0)
        assert ["input.1", "float32[2,3,5,7]"] in [[i["name"], i["type"]] if "type" in i else i
                                                  for i in seen["points"][0]["inputs"]] or str(dims)[1:-1].replace(
            " ", "") in str(seen["points"][0]["inputs"])
    proof = thaw.json("check", image_model, "--sizes", f"{sizes},{grid}")
    assert proof["proof"]["refuted"] == 0
    pinned = tmp_path / "pinned.onnx"
    thaw("pin", image_model, "--sizes", f"{sizes},{grid}", "-o", pinned, code=0)
    inputs = onnx.load(pinned).graph.input
    assert [d.dim_value for d in inputs[0].type.tensor_type.shape.dim] == dims
    assert [i.name for i in inputs] == ["input.1", "patches"]
    thaw("split", image_model, "--sizes", sizes, code=0)


def test_values_may_be_given_one_by_one(thaw, image_model):
    sizes = ["--sizes", "n=1,input.1[2]=2,wide=2,p=6"]
    for values in (["--values", "grid_thw=3,2"], ["--values", "grid_thw[0]=3;grid_thw[1]=2"],
                   ["--values", "grid_thw[0]=3,grid_thw[1]=2"], ["--values", "grid_thw[0]=3", "--values", "grid_thw[1]=2"]):
        assert thaw.json("run", image_model, *sizes, *values, code=0)["outputs"][1]["dims"] == [3, 2, 2]
    assert "given whole" in thaw.error("run", image_model, *sizes, "--values", "grid_thw=3,2;grid_thw[0]=3")
    assert "element 0 is not given" in thaw.error("pin", image_model, "--values", "grid_thw[1]=2", "-o", "never.onnx")


@pytest.mark.parametrize("command", [["inspect", "--sizes"], ["run", "--sizes"], ["verify", "--sizes"],
                                     ["verify", "--sizes"], ["check", "--sizes"], ["split", "--sizes"],
                                     ["pin", "-o", "never.onnx", "--sizes"], ["batch", "-o", "never.onnx", "--sizes"]])
def test_an_unknown_size_is_an_error_with_the_nearest(thaw, image_model, command):
    verb, *options = command
    against = ["--against", image_model] if verb == "verify" else []
    message = thaw.error(verb, image_model, *against, *options, "widw=7")
    assert "there is no size 'widw' (did you mean 'wide'?)" in message


def test_an_unknown_input_is_an_error_with_the_nearest(thaw, image_model):
    assert "did you mean 'grid_thw'" in thaw.error("run", image_model, "--random", "--values", "grid_twh=1,2")


def test_a_number_is_not_another_number(thaw, image_model):
    message = thaw.error("run", image_model, "--random", "--sizes", "input.1[1]=4")
    assert "'input.1[1]' is 3 in the model, not 4" in message


@pytest.mark.parametrize("text, says", [("64-1024", "64..1024"), ("64-1024:32", "64..1024"), ("64…1024", "64..1024"),
                                        ("64:1024", "64..1024")])
def test_a_range_in_another_spelling_says_the_right_one(thaw, image_model, text, says):
    for command in (["check", image_model, "--sizes"], ["verify", image_model, "--against", image_model, "--sizes"]):
        assert says in thaw.error(*command, f"wide={text}")
    assert "n-1" not in thaw("check", image_model, "--sizes", "wide=8..16,n=wide-1", code={0, 1}).stderr


@pytest.mark.parametrize("option", ["--atol=-1", "--rtol=-0.5", "--cosine=7", "--atol=nan"])
def test_a_tolerance_that_is_none_is_refused(thaw, image_model, option):
    assert option.split("=")[0] in thaw.error("verify", image_model, "--against", image_model, option)


def dims_of(path):
    graph = onnx.load(path).graph
    return {v.name: [d.dim_param or d.dim_value or None for d in v.type.tensor_type.shape.dim]
            for v in [*graph.input, *graph.output] if v.type.tensor_type.HasField("shape")}


def test_sizes_are_renamed_wherever_they_stand(thaw, image_model, tmp_path):
    out = tmp_path / "out.onnx"
    names = "input.1_dim2=height,input.1[3]=width"
    thaw("optimize", image_model, "-o", out, "--rename", names, "--no-check", code=0)
    dims = dims_of(out)
    assert dims["input.1"] == ["n", 3, "height", "width"]
    assert all("wide" not in str(dim) for of in dims.values() for dim in of) and dims["r"][3] == "width"


@pytest.mark.parametrize("verb, options", [("convert", ["--to", "f16", "--io", "convert", "--no-check"]), ("pin", ["--sizes", "n=2"]),
                                           ("batch", ["--new-axis", "--no-check"]), ("fix", ["--no-check"])])
def test_every_verb_that_writes_renames(thaw, save, tmp_path, verb, options):
    m = model([helper.make_node("Relu", ["x"], ["y"])], [("x", FLOAT, ["n", 3, None, "wide"])],
              [("y", FLOAT, ["?", 3, "?", "wide"])])
    out = tmp_path / "out.onnx"
    thaw(verb, save(m), "-o", out, "--rename", "wide=height", *options, code=0)
    assert "height" in dims_of(out)["x"]


@pytest.mark.parametrize("verb, options", [("optimize", []), ("convert", ["--to", "f16", "--io", "convert"]), ("pin", ["--sizes", "n=2"]),
                                           ("pin", ["--sizes", "n=2", "--sizes", "n=5"]), ("batch", ["--new-axis"]), ("fix", []), ("split", ["--at", "half"])])
def test_a_name_that_there_is_not_is_refused_before_anything_runs(thaw, save, tmp_path, verb, options):
    m = model([helper.make_node("Relu", ["x"], ["half"]), helper.make_node("Identity", ["half"], ["same"]),
               helper.make_node("Neg", ["same"], ["y"])],
              [("x", FLOAT, ["n", 3, None, "wide"])], [("y", FLOAT, ["?", 3, "?", "wide"])])
    out = tmp_path / "out"
    nowhere = {**os.environ, "THAW_ONNXRUNTIME": str(tmp_path / "none.so")}
    run = thaw(verb, save(m), "-o", tmp_path / "ran", *options, env=nowhere)
    assert "none.so" in run.stdout + run.stderr
    error = thaw.error(verb, save(m), "-o", out, "--rename", "wdie=width", *options, env=nowhere)
    assert "did you mean 'wide'" in error
    assert not out.exists()


@pytest.mark.parametrize("rename, says", [
    ("wide=n", "is another size already"), ("wdie=width", "did you mean 'wide'"), ("wide=2x", "cannot be the name"),
    ("input.1[1]=channels", "is 3, a number"), ("grid_thw[0]=t", "is an element"), ("wide=a,wide=b", "renamed twice"),
    ("wide=a,n=a", "would both be 'a'"), ("wide", "--rename")])
def test_a_name_that_cannot_be_given_is_refused_and_nothing_is_written(thaw, image_model, tmp_path, rename, says):
    out = tmp_path / "out.onnx"
    assert says in thaw.error("optimize", image_model, "-o", out, "--rename", rename, "--no-check")
    assert not out.exists()


def test_fix_names_sizes_where_there_is_nothing_else_to_do(thaw, save, tmp_path):
    m = model([helper.make_node("Relu", ["x"], ["y"])], [("x", FLOAT, ["n", "wide"])], [("y", FLOAT, ["n", "wide"])])
    path, out = save(m), tmp_path / "out.onnx"
    run = thaw("fix", path, "-o", out, "--rename", "wide=height", code=0)
    assert "rename a size" in run.stdout and dims_of(out) == {"x": ["n", "height"], "y": ["n", "height"]}
    dry = thaw.json("fix", path, "--dry-run", "--rename", "wide=height", code=0)
    assert dry["changed"][-1]["where"] == "size 'wide'" and "height" in dry["changed"][-1]["message"] and not dry["output"]
    assert "did you mean 'wide'" in thaw.error("fix", path, "--dry-run", "--rename", "wdie=height")


def test_names_may_change_places(thaw, save, tmp_path):
    m = model([helper.make_node("Relu", ["x"], ["y"])], [("x", FLOAT, ["a", "b"])], [("y", FLOAT, ["a", "b"])])
    out = tmp_path / "out.onnx"
    thaw("optimize", save(m), "-o", out, "--rename", "a=b,b=a", code=0)
    assert dims_of(out) == {"x": ["b", "a"], "y": ["b", "a"]}


def test_the_file_that_is_read_is_replaced_only_on_request(thaw, save):
    path = save(model([helper.make_node("Relu", ["x"], ["y"])], [("x", FLOAT, ["a", "b"])], [("y", FLOAT, ["a", "b"])]))
    before = path.read_bytes()
    for verb, options in [("optimize", []), ("convert", ["--to", "f16"]), ("pin", ["--sizes", "a=2"]),
                          ("batch", ["--new-axis"]), ("fix", []), ("lift", [])]:
        assert "--in-place" in thaw.error(verb, path, "-o", path, *options), verb
        assert path.read_bytes() == before
    other = path.parent / "." / path.name
    assert "--in-place" in thaw.error("optimize", path, "-o", other)
    thaw("optimize", path, "-o", path, "--in-place", "--rename", "a=batch", code=0)
    assert dims_of(path)["x"] == ["batch", "b"]
