"""thaw pin: sizes become numbers, what follows from them is computed once, and the rest is said to be open and why."""
import numpy as np
import onnx
import onnx.parser
import pytest

from conftest import need_shared, run, session

# Patches of an image, a grid that says how they lie, and a branch on the number of them.
TOWER = """<ir_version: 9, opset_import: ["" : 17]>
tower (float[batch,3,height,width] image, int64[1,3] grid) => (float[batch,tokens,8] tokens, float[p,q] table) {
  w = Constant<value_floats=[0.5,-0.25,0.125]>()
  wide = Constant<value_ints=[8,3,1,1]>()
  third = Constant<value_ints=[1,3,1,1]>()
  weight_of_one = Reshape(w, third)
  weight = Expand(weight_of_one, wide)
  patches = Conv<strides=[4,4]>(image, weight)
  shape = Shape(patches)
  zero = Constant<value_int=0>()
  batch = Gather(shape, zero)
  first = Constant<value_ints=[0]>()
  b = Unsqueeze(batch, first)
  rest = Constant<value_ints=[8,-1]>()
  target = Concat<axis=0>(b, rest)
  rows = Reshape(patches, target)
  tokens = Transpose<perm=[0,2,1]>(rows)
  one = Constant<value_ints=[1]>()
  two = Constant<value_ints=[2]>()
  end = Constant<value_ints=[3]>()
  pair = Slice(grid, one, end, one)
  flat = Constant<value_ints=[-1]>()
  sizes = Reshape(pair, flat)
  table_of = ConstantOfShape(sizes)
  table = Exp(table_of)
}"""


@pytest.fixture
def tower(save):
    return save(onnx.parser.parse_model(TOWER), "tower")


def dims(value):
    return [d.dim_value or d.dim_param or None for d in value.type.tensor_type.shape.dim]


def operators(path):
    return [node.op_type for node in onnx.load(path).graph.node]


def feeds(height, width, batch=1, grid=(1, 6, 4)):
    image = np.random.default_rng(5).standard_normal((batch, 3, height, width)).astype(np.float32)
    return {"image": image, "grid": np.array([grid], np.int64)}


def test_every_size_becomes_a_number(thaw, tower, tmp_path):
    out = tmp_path / "pinned.onnx"
    report = thaw.json("pin", tower, "--sizes", "batch=1,height=44,width=28", "--values", "grid=1,11,7", "-o", out, code=0)
    made = onnx.load(out)
    assert [dims(v) for v in made.graph.input] == [[1, 3, 44, 28]]
    assert [dims(v) for v in made.graph.output] == [[1, 77, 8], [11, 7]]
    assert all(isinstance(d, int) for v in made.graph.value_info for d in dims(v))
    assert not {"Shape", "Gather", "Concat", "Slice", "Unsqueeze"} & set(operators(out))
    (pinned,) = report["models"]
    assert pinned["dynamic_axes"] == [] and pinned["nodes_after"] < pinned["nodes_before"]
    assert [c["agrees"] for c in pinned["checks"]] == [True]
    given = feeds(44, 28, grid=(1, 11, 7))
    for wanted, got in zip(run(tower, given), run(out, {"image": given["image"]}), strict=True):
        np.testing.assert_array_equal(wanted, got)


def test_what_stays_open_is_named_with_its_reason(thaw, tower, tmp_path):
    out = tmp_path / "pinned.onnx"
    report = thaw.json("pin", tower, "--sizes", "height=44,width=28", "-o", out, code=0)
    why = {entry["tensor"]: entry["message"] for entry in report["models"][0]["dynamic_axes"]}
    assert "'batch' is dynamic: give it in --sizes" in why["image"]
    assert any("give that input in --values" in text for text in why.values())
    text = thaw("pin", tower, "--sizes", "height=44,width=28", "-o", out, code=0).stdout
    assert "still dynamic" in text and "'batch' is dynamic" in text and "every size is static" not in text
    for batch in (2, 5):  # what is open still runs at any size
        given = feeds(44, 28, batch, (1, 3, 5))
        for wanted, got in zip(run(tower, given), run(out, given), strict=True):
            np.testing.assert_array_equal(wanted, got)


def test_a_size_that_the_data_makes_stays_open(thaw, save, tmp_path):
    text = '<ir_version: 9, opset_import: ["" : 17]> g (float[n] x) => (int64[r,k] y) { y = NonZero(x) }'
    model = save(onnx.parser.parse_model(text))
    report = thaw.json("pin", model, "--sizes", "n=7", "-o", tmp_path / "out.onnx", code=0)
    (entry,) = report["models"][0]["dynamic_axes"]
    assert entry["axis"] == 1 and "known only at run time" in entry["message"] and "NonZero" in entry["message"]


def test_a_branch_on_a_size_is_taken(thaw, save, tmp_path):
    text = """<ir_version: 9, opset_import: ["" : 17]> g (float[n,m] x) => (float[n,m] y) {
      s = Shape<start=0,end=1>(x) limit = Constant<value_ints=[10]>() long = Less(limit, s) only = Squeeze(long)
      y = If(only) <then_branch = a () => (float[n,m] t) { t = Exp(x) }, else_branch = b () => (float[n,m] e) { e = Neg(x) }>
    }"""
    model = save(onnx.parser.parse_model(text))
    for n, left in ((3, ["Neg"]), (11, ["Exp"])):
        out = tmp_path / f"{n}.onnx"
        thaw("pin", model, "--sizes", f"n={n},m=2", "-o", out, code=0)
        assert operators(out) == left


def test_a_part_of_the_sizes_leaves_the_others(thaw, tower, tmp_path):
    out = tmp_path / "one.onnx"
    thaw("pin", tower, "--sizes", "batch=3", "-o", out, code=0)
    assert dims(onnx.load(out).graph.input[0]) == [3, 3, "height", "width"]
    given = feeds(20, 36, 3)
    for wanted, got in zip(run(tower, given), run(out, given), strict=True):
        np.testing.assert_array_equal(wanted, got)


def test_several_models_share_one_weight_file(thaw, save, tmp_path):
    rng = np.random.default_rng(1)
    weight = onnx.numpy_helper.from_array(rng.standard_normal((64, 64)).astype(np.float32), "w")
    small = onnx.numpy_helper.from_array(np.arange(3, dtype=np.float32), "small")
    nodes = [onnx.helper.make_node("MatMul", ["x", "w"], ["y"]), onnx.helper.make_node("Identity", ["small"], ["z"])]
    graph = onnx.helper.make_graph(nodes, "g", [onnx.helper.make_tensor_value_info("x", 1, ["n", 64])],
                                   [onnx.helper.make_tensor_value_info("y", 1, None), onnx.helper.make_tensor_value_info("z", 1, None)],
                                   [weight, small])
    model = save(onnx.helper.make_model(graph, ir_version=9, opset_imports=[onnx.helper.make_opsetid("", 17)]))
    folder = tmp_path / "pinned"
    folder.mkdir()
    thaw("pin", model, "--sizes", "n=5", "--sizes", "n=11", "-o", folder / "m.onnx", code=0)
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["m.onnx.data", "m_n-11.onnx", "m_n-5.onnx"]
    assert (folder / "m.onnx.data").stat().st_size == 64 * 64 * 4
    for n in (5, 11):
        path = folder / f"m_n-{n}.onnx"
        assert path.stat().st_size < 2000
        x = rng.standard_normal((n, 64)).astype(np.float32)
        np.testing.assert_array_equal(run(path, {"x": x})[0], run(model, {"x": x})[0])
        assert session(path).get_inputs()[0].shape == [n, 64]
    # Written anew, the data file is replaced with the models.
    thaw("pin", model, "--sizes", "n=5", "--sizes", "n=11", "-o", folder / "m.onnx", code=0)
    assert len(list(folder.iterdir())) == 3


def test_what_cannot_be_pinned_is_refused(thaw, tower, tmp_path):
    out = tmp_path / "out.onnx"
    message = thaw.error("pin", tower, "--sizes", "hight=3", "-o", out)
    assert "there is no size 'hight'" in message and "height" in message
    assert "nothing to pin is given" in thaw.error("pin", tower, "-o", out)
    assert "at least 1" in thaw.error("pin", tower, "--sizes", "batch=0", "-o", out)
    assert "give the whole input with --values" in thaw.error("pin", tower, "--sizes", "grid[1]=4", "-o", out)
    assert "there is no input 'gird'" in thaw.error("pin", tower, "--values", "gird=1,2,3", "-o", out)
    assert "is given 4 values" in thaw.error("pin", tower, "--values", "grid=1,2,3,4", "-o", out)
    assert "two --sizes ask for the same sizes" in thaw.error("pin", tower, "--sizes", "batch=2", "--sizes", "batch=2", "-o", out)
    assert not out.exists()


def test_sizes_that_the_model_cannot_run_at_are_refused(thaw, save, tmp_path):
    text = """<ir_version: 9, opset_import: ["" : 17]> g (float[n,m] x) => (float[a,b] y) {
      t = Constant<value_ints=[-1,6]>() y = Reshape(x, t) }"""
    model = save(onnx.parser.parse_model(text))
    message = thaw.error("pin", model, "--sizes", "n=5,m=7", "-o", tmp_path / "out.onnx")
    assert "cannot run at these sizes" in message
    assert not (tmp_path / "out.onnx").exists()


@pytest.mark.parametrize("declared", [-1, None])
def test_an_axis_that_any_number_is_declared_for_is_free(thaw, save, tmp_path, declared):
    """Some exporters write -1 where they mean any size."""
    model = onnx.parser.parse_model("""<ir_version: 9, opset_import: ["" : 17]> g (float[n,4] x) => (float[n,4] y) { y = Relu(x) }""")
    for value in (*model.graph.input, *model.graph.output):
        dim = value.type.tensor_type.shape.dim[0]
        dim.Clear()
        if declared is not None:
            dim.dim_value = declared
    path, out = save(model), tmp_path / "out.onnx"
    for name in ("x[0]", "x_dim0"):
        thaw("pin", path, "-o", out, "--sizes", f"{name}=3", code=0)
        assert [d.dim_value for d in onnx.load(out).graph.input[0].type.tensor_type.shape.dim] == [3, 4]


@pytest.mark.parametrize("call", [("pin", "--sizes"), ("check", "--sizes"), ("batch", "--sizes"), ("split", "--sizes"), ("verify", "--sizes"), ("verify", "--sizes"), ("run", "--sizes"), ("inspect", "--sizes")])
@pytest.mark.parametrize("name", ["nothing", "x[7]", "x[1]", "other[0]"])
def test_a_size_that_no_input_has_is_an_error_everywhere(thaw, save, tmp_path, call, name):
    """x[1] is a number already: only that one says the same."""
    model = onnx.parser.parse_model("""<ir_version: 9, opset_import: ["" : 17]> g (float[n,4] x) => (float[n,4] y) { y = Relu(x) }""")
    verb, option = call
    if verb == "check" and name == "x[1]":
        pytest.skip("check looks at it as free then")
    path = save(model)
    if option not in thaw(verb, "--help").stdout:
        pytest.skip(f"{verb} has no {option}")
    more = {"pin": ["-o", tmp_path / "o.onnx"], "batch": ["-o", tmp_path / "o.onnx"], "verify": ["--against", path],
            "split": ["--parts", "2", "-o", tmp_path / "parts"], "run": ["--random"]}.get(verb, [])
    made = thaw(verb, path, *more, option, f"{name}=3", code=2)
    assert name in made.stderr



def test_a_real_detector(thaw, tmp_path):
    model = need_shared("models", "scrfd_2.5g.onnx")
    fixed, out = tmp_path / "fixed.onnx", tmp_path / "pinned.onnx"
    thaw("fix", model, "-o", fixed, code=0)
    names = [d.dim_param for d in onnx.load(fixed, load_external_data=False).graph.input[0].type.tensor_type.shape.dim]
    sizes = ",".join(f"{name}={size}" for name, size in zip(names, (1, 3, 160, 224), strict=True) if name)
    report = thaw.json("pin", fixed, "--sizes", sizes, "-o", out, code=0)
    assert report["models"][0]["dynamic_axes"] == []
    assert "Shape" not in operators(out)


def test_a_model_without_free_sizes_is_pinned_to_its_own(thaw, save, tmp_path):
    """What optimize leaves, since the sizes may have been frozen: they are meant."""
    made = onnx.parser.parse_model("""<ir_version: 9, opset_import: ["" : 17]> g (float[2,4,8] x) => (float[2,32] y) {
      t = Constant<value_ints=[1,8,8]>() a = Reshape(x, t) s = Shape(x) z = Constant<value_int=0>() b = Gather(s, z) i = Constant<value_ints=[0]>()
      c = Unsqueeze(b, i) l = Constant<value_ints=[-1]>() u = Concat<axis=0>(c, l) y = Reshape(a, u) }""")
    path, out = save(made), tmp_path / "out.onnx"
    thaw("pin", path, "-o", out, code=0)
    assert [node.op_type for node in onnx.load(out).graph.node] == ["Reshape"]
    x = np.random.default_rng(0).standard_normal((2, 4, 8)).astype(np.float32)
    np.testing.assert_array_equal(run(path, {"x": x})[0], run(out, {"x": x})[0])


def test_a_folder_is_made_for_what_is_written(thaw, tower, tmp_path):
    for dims in (["batch=1"], ["batch=1", "batch=2"]):
        out = tmp_path / "new" / str(len(dims)) / "pinned.onnx"
        thaw("pin", tower, "-o", out, "--no-check", *(word for one in dims for word in ("--sizes", one)), code=0)
        assert len(list(out.parent.glob("*.onnx"))) == len(dims)
