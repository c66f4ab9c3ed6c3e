"""thaw split: the parts, one after the other, are the model; sizes are true in each, weights stand where they are used."""
import json

import numpy as np
import onnx
import onnx.parser
import pytest

from conftest import SOURCE, run, session

# An encoder and a decoder that meets it, with a shape that is read from the image behind the cut, a skip and an output before it.
MODEL = """<ir_version: 9, opset_import: ["" : 17]>
whole (float[batch,4,height,width] image, int64[batch,length] ids) => (float[batch,length,8] out, float[batch,8] pooled) {
  zero = Constant<value_int=0>() three = Constant<value_int=3>() first = Constant<value_ints=[0]>() last = Constant<value_ints=[-1]>()
  e = Conv<strides=[2,2]>(image, kernel)
  f = Relu(e)
  shape = Shape(e) b = Gather(shape, zero) bs = Unsqueeze(b, first)
  rest = Constant<value_ints=[8,-1]>() target = Concat<axis=0>(bs, rest)
  rows = Reshape(f, target)
  hidden = Transpose<perm=[0,2,1]>(rows)
  pooled = ReduceMean<axes=[1],keepdims=0>(hidden)
  taken = Gather(table, ids)
  scores_t = Transpose<perm=[0,2,1]>(hidden)
  scores = MatMul(taken, scores_t)
  weights = Softmax(scores)
  mixed = MatMul(weights, hidden)
  wide = MatMul(mixed, table2)
  image_shape = Shape(image) w = Gather(image_shape, three) wf = Cast<to=1>(w)
  out = Div(wide, wf)
}"""
SIZES = ((1, 6, 10, 3), (2, 14, 8, 5), (3, 22, 26, 7))  # batch, height, width, length


def initializer(name, *shape):
    rng = np.random.default_rng(len(name))
    return onnx.numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name)


@pytest.fixture
def model(save):
    made = onnx.parser.parse_model(MODEL)
    made.graph.initializer.extend([initializer("kernel", 8, 4, 1, 1), initializer("table", 50, 8), initializer("table2", 8, 8)])
    return save(made)


def feeds(batch, height, width, length):
    rng = np.random.default_rng(height)
    return {"image": rng.standard_normal((batch, 4, height, width)).astype(np.float32),
            "ids": rng.integers(0, 50, (batch, length))}


def chain(folder, fed):
    """What comes out of the parts, one after the other."""
    known = dict(fed)
    for path in sorted(folder.glob("part_*.onnx")):
        part = session(path)
        names = [i.name for i in part.get_inputs()]
        known.update(zip([o.name for o in part.get_outputs()], part.run(None, {n: known[n] for n in names}), strict=True))
    return known


def ports(path):
    graph = onnx.load(path).graph
    shape = lambda v: [d.dim_value or d.dim_param for d in v.type.tensor_type.shape.dim]
    return {v.name: shape(v) for v in graph.input}, {v.name: shape(v) for v in graph.output}


def assert_chain_is_whole(folder, model):
    for sizes in SIZES:
        fed = feeds(*sizes)
        known = chain(folder, fed)
        for output, wanted in zip(session(model).get_outputs(), run(model, fed), strict=True):
            np.testing.assert_allclose(known[output.name], wanted, rtol=1e-5, atol=1e-6)


def test_a_frontend_and_a_backend(thaw, model, tmp_path):
    folder = tmp_path / "parts"
    report = thaw.json("split", model, "--at", "hidden", "-o", folder, code=0)
    inputs, outputs = ports(folder / "part_1.onnx")
    assert set(inputs) == {"image"} and set(outputs) == {"hidden", *report["crossing_tensors"]}
    assert inputs["image"] == ["batch", 4, "height", "width"]
    inputs2, outputs2 = ports(folder / "part_2.onnx")
    # The width of the image is a size that the backend's inputs do not tell.
    assert set(inputs2) - {"hidden", "ids"} == set(report["crossing_tensors"]) and len(report["crossing_tensors"]) == 1
    assert inputs2["hidden"][0] == "batch" == inputs2["ids"][0] and inputs2["hidden"][2] == 8
    assert set(outputs2) == {"out", "pooled"} and outputs2["out"] == ["batch", "length", 8]
    weights = [{i.name for i in onnx.load(folder / f"part_{k}.onnx").graph.initializer if len(i.dims) > 1} for k in (1, 2)]
    assert weights == [{"kernel"}, {"table", "table2"}]
    assert len(report["checks"]) == 3 and all(c["agrees"] for c in report["checks"])
    assert_chain_is_whole(folder, model)


def test_sizes_that_the_inputs_tell_are_computed_anew(thaw, save, tmp_path):
    text = """<ir_version: 9, opset_import: ["" : 17]> g (float[n,m,4] x) => (float[n,k] y) {
      a = Relu(x) s = Shape(x) zero = Constant<value_int=0>() i = Constant<value_ints=[0]>() b = Gather(s, zero) c = Unsqueeze(b, i)
      r = Constant<value_ints=[-1]>() t = Concat<axis=0>(c, r) e = Exp(a) y = Reshape(e, t) }"""
    model = save(onnx.parser.parse_model(text))
    folder = tmp_path / "parts"
    report = thaw.json("split", model, "--at", "a", "-o", folder, code=0)
    assert report["crossing_tensors"] == []
    assert ports(folder / "part_2.onnx")[0] == {"a": ["n", "m", 4]}
    for n, m in ((2, 3), (5, 7)):
        x = np.random.default_rng(n).standard_normal((n, m, 4)).astype(np.float32)
        np.testing.assert_array_equal(chain(folder, {"x": x})["y"], run(model, {"x": x})[0])


def test_three_parts_and_a_weight_that_two_of_them_use(thaw, save, tmp_path):
    nodes = [onnx.helper.make_node("MatMul", ["x", "tied"], ["a"]), onnx.helper.make_node("MatMul", ["a", "own"], ["b"]),
             onnx.helper.make_node("Relu", ["b"], ["c"]), onnx.helper.make_node("MatMul", ["c", "tied"], ["y"])]
    graph = onnx.helper.make_graph(nodes, "g", [onnx.helper.make_tensor_value_info("x", 1, ["n", 64])],
                                   [onnx.helper.make_tensor_value_info("y", 1, ["n", 64])],
                                   [initializer("tied", 64, 64), initializer("own", 64, 64)])
    model = save(onnx.helper.make_model(graph, ir_version=9, opset_imports=[onnx.helper.make_opsetid("", 17)]))
    folder = tmp_path / "parts"
    thaw("split", model, "--at", "b", "--at", "a", "-o", folder, code=0)  # in any order
    assert sorted(p.name for p in folder.iterdir()) == ["part_1.onnx", "part_2.onnx", "part_3.onnx", "shared.data"]
    assert (folder / "shared.data").stat().st_size == 64 * 64 * 4
    sizes = [(folder / f"part_{k}.onnx").stat().st_size for k in (1, 2, 3)]
    assert sizes[0] < 2000 and sizes[1] > 64 * 64 * 4 and sizes[2] < 2000
    x = np.random.default_rng(0).standard_normal((5, 64)).astype(np.float32)
    np.testing.assert_array_equal(chain(folder, {"x": x})["y"], run(model, {"x": x})[0])
    # Fewer parts would leave the last of these behind them, to be taken for one of theirs.
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert "part_3.onnx: it is there already" in thaw.error("split", model, "--at", "a", "-o", folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    (folder / "part_3.onnx").unlink()
    thaw("split", model, "--at", "a", "-o", folder, code=0)


def layers(count, save):
    nodes, weights, at = [], [], "x"
    for i in range(count):
        nodes += [onnx.helper.make_node("MatMul", [at, f"w{i}"], [f"m{i}"]), onnx.helper.make_node("Relu", [f"m{i}"], [f"r{i}"]),
                  onnx.helper.make_node("Concat", [f"m{i}", f"r{i}"], [f"c{i}"], axis=1),
                  onnx.helper.make_node("MatMul", [f"c{i}", f"v{i}"], [f"d{i}"]), onnx.helper.make_node("Add", [f"d{i}", at], [f"s{i}"])]
        weights += [initializer(f"w{i}", 16, 32), initializer(f"v{i}", 64, 16)]
        at = f"s{i}"
    graph = onnx.helper.make_graph(nodes, "g", [onnx.helper.make_tensor_value_info("x", 1, ["n", 16])],
                                   [onnx.helper.make_tensor_value_info(at, 1, ["n", 16])], weights)
    return save(onnx.helper.make_model(graph, ir_version=9, opset_imports=[onnx.helper.make_opsetid("", 17)]))


def test_parts_are_balanced_and_cut_where_little_passes(thaw, save, tmp_path):
    model = layers(9, save)
    folder = tmp_path / "parts"
    report = thaw.json("split", model, "--parts", "3", "-o", folder, code=0)
    assert [part["outputs"] for part in report["parts"]] == [["s2"], ["s5"], ["s8"]]
    assert len({part["weight_bytes"] for part in report["parts"]}) == 1
    x = np.random.default_rng(0).standard_normal((7, 16)).astype(np.float32)
    np.testing.assert_array_equal(chain(folder, {"x": x})["s8"], run(model, {"x": x})[0])
    report = thaw.json("split", model, "--parts", "2", "--balance", "flops", "-o", tmp_path / "two", code=0)
    assert report["parts"][0]["outputs"] in (["s3"], ["s4"])


@pytest.mark.parametrize("family", ["qwen2", "qwen3_vl", "phi4_mm"])
def test_a_built_decoder_in_three(thaw, tmp_path, family):
    """With caches, masks and positions: what each part needs of them it takes itself."""
    thaw("build", SOURCE / "tests" / "fixtures" / family / "decoder", "-o", tmp_path / "onnx", "--part", "text", "--kv-cache", code=0)
    (path,) = (tmp_path / "onnx").glob("text*.onnx")
    folder = tmp_path / "parts"
    report = thaw.json("split", path, "--parts", "3", "-o", folder, code=0)
    assert len(report["parts"]) == 3 and len(report["checks"]) == 3 and all(c["agrees"] for c in report["checks"])
    whole = {i.name for i in onnx.load(path).graph.initializer}
    parts = [{i.name for i in onnx.load(folder / f"part_{k}.onnx", load_external_data=False).graph.initializer} for k in (1, 2, 3)]
    large = {i.name for i in onnx.load(path).graph.initializer if len(i.dims) == 2 and np.prod(i.dims) > 256}
    assert large <= set().union(*parts) and whole
    assert sum(name in part for name in large for part in parts) <= len(large) + 1  # a tied embedding stands in two


def test_without_a_cut_it_lists_narrow_places(thaw, save):
    model = layers(6, save)
    points = json.loads(thaw("split", model, "--format", "json", code=0).stdout)["cut_points"]
    assert all(point["tensors"] in ([f"s{i}"] for i in range(6)) and point["bytes"] == "64*n" for point in points)
    assert [round(point["weight_share_before"] * 6) for point in points] == [1, 2, 3, 4, 5]
    text = thaw("split", model, code=0).stdout
    assert "cut points with little data across" in text and "64*n" in text and "s2" in text


def test_what_cannot_be_cut_is_refused(thaw, model, tmp_path):
    folder = tmp_path / "parts"
    assert "'hiden' is no tensor" in thaw.error("split", model, "--at", "hiden", "-o", folder)
    assert "'image' is an input" in thaw.error("split", model, "--at", "image", "-o", folder)
    assert "'kernel' is a constant" in thaw.error("split", model, "--at", "kernel", "-o", folder)
    assert "nothing is left after it" in thaw.error("split", model, "--at", "out,pooled", "-o", folder)
    assert "--at excludes --parts" in thaw.error("split", model, "--at", "hidden", "--parts", "2", "-o", folder)
    assert not folder.exists()


@pytest.mark.parametrize("cuts", [["a", "a"], ["a,b", "b"], ["a", "b", "a"]])
def test_a_tensor_that_is_named_twice_is_said(thaw, save, tmp_path, cuts):
    model = onnx.parser.parse_model("""<ir_version: 9, opset_import: ["" : 17]> g (float[n,4] x) => (float[n,4] y) {
      a = Relu(x) b = Neg(a) c = Exp(b) y = Add(c, b) }""")
    at = [word for cut in cuts for word in ("--at", cut)]
    said = thaw.error("split", save(model), "-o", tmp_path / "parts", *at)
    assert "is named in two cuts" in said and "nothing is left after it" not in said



def test_a_size_whose_name_is_no_name_passes_as_a_tensor(thaw, save, tmp_path):
    text = """<ir_version: 9, opset_import: ["" : 17]> g (float[n,m,4] x) => (float[k,l] y) {
      a = Relu(x) s = Shape<start=0,end=1>(x) two = Constant<value_ints=[2]>() t = Mul(s, two) r = Constant<value_ints=[-1]>()
      u = Concat<axis=0>(t, r) e = Exp(a) y = Reshape(e, u) }"""
    model = onnx.parser.parse_model(text)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "n/2 of\xc3\xa4"
    path, folder = save(model), tmp_path / "parts"
    thaw("split", path, "--at", "a", "-o", folder, code=0)
    for n, m in ((2, 3), (5, 7)):
        x = np.random.default_rng(n).standard_normal((n, m, 4)).astype(np.float32)
        np.testing.assert_array_equal(chain(folder, {"x": x})["y"], run(path, {"x": x})[0])


def test_a_graph_inside_a_node_reads_across_the_cut(thaw, save, tmp_path):
    text = """<ir_version: 9, opset_import: ["" : 17]> g (float[n,m] x, bool go) => (float[n,m] y) {
      a = Relu(x) b = Exp(a)
      y = If(go) <then_branch = t () => (float[n,m] u) { u = Add(a, b) }, else_branch = f () => (float[n,m] v) { v = Neg(b) }> }"""
    model = save(onnx.parser.parse_model(text))
    folder = tmp_path / "parts"
    report = thaw.json("split", model, "--at", "b", "-o", folder, code=0)
    assert report["crossing_tensors"] == ["a"]
    for go in (True, False):
        x = np.random.default_rng(3).standard_normal((3, 5)).astype(np.float32)
        fed = {"x": x, "go": np.array(go)}
        np.testing.assert_array_equal(chain(folder, fed)["y"], run(model, fed)[0])


def test_weights_that_an_old_file_lists_as_inputs(thaw, save, tmp_path):
    """IR version 3 wants each of them there; the parts have a newer one, and theirs among the constants."""
    made = onnx.parser.parse_model("""<ir_version: 3, opset_import: ["" : 9]>
      whole (float[batch,8] x, float[2] u, float[8,8] w, int64[2] target) => (float[batch,8] out) {
        bias = Constant<value=float[8]{1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0}>() taken = ReduceSum<keepdims=1>(u) a = MatMul(x, w) b = Reshape(a, target)
        c = Mul(b, taken) d = MatMul(c, w) e = Add(d, bias) out = Mul(e, taken) }""")
    made.graph.initializer.extend([initializer("u", 2), initializer("w", 8, 8),
                                   onnx.numpy_helper.from_array(np.array([-1, 8]), "target")])
    path, folder = save(made), tmp_path / "parts"
    thaw("split", path, "--at", "c", "-o", folder, code=0)
    fed = {"x": np.random.default_rng(0).standard_normal((5, 8)).astype(np.float32)}
    np.testing.assert_allclose(chain(folder, fed)["out"], run(path, fed)[0], rtol=1e-5, atol=1e-6)


def test_outputs_declare_what_they_did(thaw, save, tmp_path):
    made = onnx.parser.parse_model("""<ir_version: 9, opset_import: ["" : 17]>
      whole (float[n,8] x, float[m,8] past) => (float[total,8] y, float[n,8] z) { a = Exp(x) y = Concat<axis=0>(past, a) z = Neg(a) }""")
    folder = tmp_path / "parts"
    thaw("split", save(made), "--at", "a", "-o", folder, code=0)
    assert ports(folder / "part_2.onnx")[1] == {"y": ["total", 8], "z": ["n", 8]}


def test_what_has_no_place_for_a_cut_says_so(thaw, save, tmp_path):
    made = onnx.parser.parse_model('<ir_version: 9, opset_import: ["" : 17]> whole (float[n,8] x) => (float[n,8] y) { y = Exp(x) }')
    message = thaw.error("split", save(made), "--parts", 2, "-o", tmp_path / "parts")
    assert "no cut point was found" in message and "leave the model whole" in message
    assert "fewer than 2 cut points were found" in thaw.error("split", save(made), "--parts", 3, "-o", tmp_path / "parts")


@pytest.mark.parametrize("seed", range(12))
def test_nodes_that_lead_to_no_output_are_in_no_part(thaw, save, tmp_path, seed):
    """Chains that nothing reads, larger than what is read, anywhere: each part computes something and loads."""
    rng = np.random.default_rng(seed)
    nodes, weights, names, last = [], [], ["x"], "x"
    for i in range(14):
        dead = rng.random() < 0.6
        source = names[rng.integers(len(names))] if dead else last
        kind = ("Relu", "MatMul", "Sigmoid")[rng.integers(3)]
        if kind == "MatMul":
            weights.append(onnx.numpy_helper.from_array(rng.standard_normal((5, 5), dtype=np.float32), f"w{i}"))
        nodes.append(onnx.helper.make_node(kind, [source, f"w{i}"][:1 + (kind == "MatMul")], [f"t{i}"], name=f"n{i}"))
        names.append(f"t{i}")
        last = last if dead else f"t{i}"
    nodes += [onnx.helper.make_node("Tanh", [last], ["u"]), onnx.helper.make_node("Exp", ["u"], ["v"]), onnx.helper.make_node("Abs", ["v"], ["y"])]
    graph = onnx.helper.make_graph(nodes, "g", [onnx.helper.make_tensor_value_info("x", 1, ["n", 5])],
                                   [onnx.helper.make_tensor_value_info("y", 1, ["n", 5])], weights)
    whole = save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), "whole")
    thaw("split", whole, "--parts", "3", "-o", tmp_path / "parts", code=0)
    x = value = rng.standard_normal((3, 5), dtype=np.float32)
    for part in sorted((tmp_path / "parts").glob("part_*.onnx")):
        held = session(part)
        value = held.run(None, {held.get_inputs()[0].name: value})[0]
    assert np.allclose(value, session(whole).run(None, {"x": x})[0], rtol=1e-5)
    unread = {f"t{i}" for i in range(14)} - {name for node in nodes for name in node.input}
    for name in sorted(unread)[:2]:
        assert "leads to no output" in thaw.error("split", whole, "--at", name, "-o", tmp_path / "at")


def test_what_comes_before_given_outputs(thaw, model, tmp_path):
    """The numbers are those of the whole at these tensors; what they do not need is gone, inputs too."""
    for names, inputs in ((["hidden"], {"image"}), (["taken", "f"], {"image", "ids"}), (["pooled"], {"image"}), (["scores", "out"], {"image", "ids"})):
        out = tmp_path / f"{'_'.join(names)}.onnx"
        report = thaw.json("split", model, "--outputs", ",".join(names), "-o", out, code=0)
        assert report["parts"][0]["outputs"] == names and report["files"] == [str(out)]
        assert set(ports(out)[0]) == inputs and list(ports(out)[1]) == names
        whole = onnx.load(model)
        have = {o.name for o in whole.graph.output}
        whole.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in names if name not in have)
        for sizes in SIZES:
            fed = feeds(*sizes)
            made = session(out)
            theirs = dict(zip([o.name for o in whole.graph.output], run(whole, fed), strict=True))
            for name, array in zip(names, made.run(None, {i: fed[i] for i in inputs}), strict=True):
                np.testing.assert_allclose(array, theirs[name], rtol=1e-6, atol=1e-7)


def named(save):
    made = onnx.parser.parse_model("""<ir_version: 9, opset_import: ["" : 17]>
    net (float[n,8] x) => (float[n,4] y) {
      a = Relu(x)
      b, c = Split<axis=1>(a)
      d = Add(b, c)
      y = Relu(d)
    }""")
    for node, name in zip(made.graph.node, ("act", "halves", "a", "last"), strict=True):
        node.name = name
    return save(made)


def test_a_node_where_a_tensor_is_asked_for(thaw, save, tmp_path):
    model = named(save)
    for words, folder in ((["--at", "act"], "by_node"), (["--at", "a"], "by_tensor")):  # a tensor goes before a node of its name
        thaw("split", model, *words, "-o", tmp_path / folder, code=0)
    for name in ("part_1.onnx", "part_2.onnx"):
        assert (tmp_path / "by_node" / name).read_bytes() == (tmp_path / "by_tensor" / name).read_bytes()
    for option, out in (("--at", "parts"), ("--outputs", "part.onnx")):
        error = thaw.error("split", model, option, "halves", "-o", tmp_path / out)
        assert "'halves' is a node of several outputs" in error and "'b', 'c'" in error
        assert "(did you mean 'halves'?)" in thaw.error("split", model, option, "halvse", "-o", tmp_path / out)
        assert not (tmp_path / out).exists()


@pytest.mark.parametrize("words, message", [
    (["--outputs", "x"], "'x' is an input"), (["--outputs", "nothing_like_it"], "no tensor"),
    (["--outputs", "a", "--at", "a"], "--outputs"), (["--outputs", "a", "--parts", "2"], "--outputs")])
def test_outputs_that_are_none(thaw, save, tmp_path, words, message):
    error = thaw.error("split", named(save), *words, "-o", tmp_path / "part.onnx")
    assert message in error and not (tmp_path / "part.onnx").exists()
