"""Verbs as passes of onnx_ir: composed by its PassManager, with external data left where it is."""
import inspect
import os
import pickle
import resource

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import onnx_thaw as thaw
from conftest import frozen, mlp, model, numbers

onnx_ir = pytest.importorskip("onnx_ir")
common = pytest.importorskip("onnx_ir.passes.common")
passes = onnx_ir.passes

PASSES = {
    "Annotate": lambda: thaw.ir.Annotate(), "Batch": lambda: thaw.ir.Batch(name="samples", new_axis=True), "Fix": lambda: thaw.ir.Fix(),
    "Convert": lambda: thaw.ir.Convert(to="int4", block=16), "Optimize": lambda: thaw.ir.Optimize(target="ort"),
    "Pin": lambda: thaw.ir.Pin(sizes={"batch": 2, "seq": 5})}


def outside(tmp_path, width=64):
    """A model with its weights in a file beside it."""
    folder = tmp_path / "given"
    folder.mkdir(exist_ok=True)
    onnx.save(mlp(width=width), folder / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    return folder / "m.onnx"


def external(made):
    return [value.const_value for value in made.graph.initializers.values() if isinstance(value.const_value, onnx_ir.ExternalTensor)]


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_is_the_function_of_its_name(tmp_path, name):
    path = outside(tmp_path)
    given = onnx_ir.load(path)
    before = onnx_ir.to_proto(given).SerializeToString()
    one = PASSES[name]()
    assert isinstance(one, passes.FunctionalPass) and repr(one).startswith(f"{name}(")
    result = one(given)
    assert isinstance(result, passes.PassResult) and result.model is not given
    assert onnx_ir.to_proto(given).SerializeToString() == before
    assert all(tensor.raw is None for tensor in external(given))
    # What onnx_ir holds of the file: the hash of a proof's origin is of that.
    expected = getattr(thaw, name.lower())(thaw.load(given), **one._options).model
    assert thaw.load(result.model).serialize() == thaw.load(expected.to_ir()).serialize()
    assert result.modified == (expected.serialize() != thaw.load(given).serialize())
    if name not in ("Batch", "Pin"):  # what was done is not done again
        assert not one(result.model).modified


@pytest.mark.parametrize("name", PASSES)
def test_options_are_those_of_the_function(name):
    kind, function = getattr(thaw.ir, name), getattr(thaw, name.lower())
    ours = dict(inspect.signature(kind).parameters)
    theirs = dict(inspect.signature(function).parameters)
    assert ours == {option: theirs[option] for option in theirs if option not in ("model", "path")}
    with pytest.raises(TypeError, match="nix"):
        kind(nix=1)
    with pytest.raises(TypeError, match="path"):
        kind(path="out.onnx")


def test_a_manager_composes_them():
    manager = passes.PassManager([thaw.ir.Fix(), common.RemoveUnusedNodesPass(), thaw.ir.Optimize(), thaw.ir.Annotate()], steps=3)
    result = manager(onnx_ir.from_proto(frozen()))
    assert result.modified
    x = numbers(1, 3, 7, 5)
    np.testing.assert_array_equal(thaw.run(result.model, {"x": x}).outputs["y"], x.transpose(0, 2, 3, 1).reshape(1, -1, 3))


def test_what_is_not_accepted_is_refused():
    broken = model("g (float[n] x) => (float[n] y) { e = Exp(x) y = Mul(e, big) }", big=np.float32(1e30))
    one = thaw.ir.Convert(to="f16", keep="*")
    with pytest.raises(thaw.Refused) as caught:
        one(onnx_ir.from_proto(broken))
    assert not caught.value.result.accepted
    with pytest.raises(passes.PassError) as failed:
        passes.PassManager([one])(onnx_ir.from_proto(broken))
    causes, error = [], failed.value
    while error is not None:
        causes.append(type(error))
        error = error.__cause__
    assert thaw.Refused in causes


def test_external_data_is_passed_on_unread(tmp_path):
    size = 3 << 30  # more than a protobuf message can hold
    w = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[size // 4096, 1024], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", "w.data"), ("offset", "0"), ("length", str(size))):
        w.external_data.add(key=key, value=value)
    made = model("g (float[n] x, int64[k] i) => (float[k, 1024] y) { y = Gather(w, i) }")
    made.graph.initializer.append(w)
    folder = tmp_path / "given"
    folder.mkdir()
    (folder / "m.onnx").write_bytes(made.SerializeToString())
    with open(folder / "w.data", "wb") as file:
        file.truncate(size)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = passes.PassManager([thaw.ir.Annotate(), thaw.ir.Fix(check=False)])(onnx_ir.load(folder / "m.onnx"))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # KiB
    (tensor,) = external(result.model)
    assert tensor.raw is None and tensor.path == str(folder / "w.data") and tensor.length == size


@pytest.mark.parametrize("how", ["relative", "absolute", "another folder"])
def test_external_data_is_found_from_anywhere(tmp_path, monkeypatch, how):
    path = outside(tmp_path)
    x = {"x": numbers(2, 3, 64)}
    wanted = thaw.run(path, x).outputs["y"]
    if how == "relative":
        monkeypatch.chdir(path.parent)
        given = onnx_ir.load("m.onnx")
    else:
        given = onnx_ir.load(path)
    result = thaw.ir.Annotate()(given)
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other" if how == "another folder" else tmp_path)
    assert {tensor.path for tensor in external(result.model)} == {str(path.parent / "m.data")}
    onnx_ir.save(result.model, tmp_path / "saved.onnx", external_data="saved.data")
    np.testing.assert_array_equal(thaw.run(tmp_path / "saved.onnx", x).outputs["y"], wanted)
    np.testing.assert_array_equal(thaw.run(result.model, x).outputs["y"], wanted)


def test_external_data_of_several_folders(tmp_path):
    path = outside(tmp_path)
    x = {"x": numbers(2, 3, 64)}
    wanted = thaw.run(path, x).outputs["y"]
    given = onnx_ir.load(path)
    (tmp_path / "more" / "sub").mkdir(parents=True)
    (tmp_path / "more" / "sub" / "n.data").write_bytes((path.parent / "m.data").read_bytes())
    value = next(iter(given.graph.initializers.values()))
    old = value.const_value
    value.const_value = onnx_ir.ExternalTensor("sub/n.data", old.offset, old.length, old.dtype, shape=old.shape, name=old.name,
                                               base_dir=tmp_path / "more")
    result = thaw.ir.Annotate()(given)
    assert value.const_value.location == "sub/n.data"
    assert sorted(tensor.path for tensor in external(result.model)) == [str(path.parent / "m.data"), str(tmp_path / "more/sub/n.data")]
    np.testing.assert_array_equal(thaw.run(result.model, x).outputs["y"], wanted)


def test_files_of_one_name_in_a_folder_and_below_it(tmp_path):
    """Both end as the location of one tensor does."""
    (tmp_path / "b" / "b").mkdir(parents=True)
    weights, values = ["w.data", "b/w.data", "b/b/w.data"], {}
    for i, location in enumerate(weights):
        path = tmp_path / location
        np.full(2, i + 1, np.float32).tofile(path)
        tensor = onnx_ir.ExternalTensor(location, 0, 8, onnx_ir.DataType.FLOAT, shape=onnx_ir.Shape([2]), name=f"w{i}", base_dir=tmp_path)
        values[f"w{i}"] = onnx_ir.Value(name=f"w{i}", shape=onnx_ir.Shape([2]), type=onnx_ir.TensorType(onnx_ir.DataType.FLOAT), const_value=tensor)
    made = onnx_ir.from_proto(model("g (float[2] x) => (float[2] y) { y = Sum(x, w0, w1, w2) }"))
    for name, value in values.items():
        made.graph.register_initializer(value)
        node, = made.graph
        node.replace_input_with([each.name for each in node.inputs].index(name), value)
    result = thaw.load(made).to_ir()
    assert sorted(os.path.relpath(tensor.path, tmp_path) for tensor in external(result)) == sorted(weights)
    assert thaw.run(result, {"x": np.zeros(2, np.float32)}).outputs["y"].tolist() == [6, 6]


def test_external_data_of_attributes_and_subgraphs(tmp_path):
    """A constant of a branch and of a node lie in a file too."""
    inner = model("b () => (float[2] z) { z = Constant<value = float[2] {1, 2}>() }").graph
    made = model("g (bool c) => (float[2] y) { a = Constant<value = float[2] {3, 4}>() }")
    branch = helper.make_node("If", ["c"], ["y"], then_branch=inner, else_branch=helper.make_graph(
        [helper.make_node("Identity", ["a"], ["z2"])], "e", [], [helper.make_tensor_value_info("z2", TensorProto.FLOAT, [2])]))
    made.graph.node.append(branch)
    (tmp_path / "given").mkdir()
    onnx.save(made, tmp_path / "given" / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0, convert_attribute=True)
    result = thaw.ir.Annotate()(onnx_ir.load(tmp_path / "given" / "m.onnx"))
    for given in (onnx_ir.load(tmp_path / "given" / "m.onnx"), result.model):
        for chosen, numbers_ in ((True, [1, 2]), (False, [3, 4])):
            assert thaw.run(given, {"c": np.array(chosen)}).outputs["y"].tolist() == numbers_


def test_the_module_needs_nothing_before_it_is_asked_for():
    assert thaw.ir.Optimize is thaw.ir.Optimize and os.path.basename(thaw.ir.__file__) == "ir.py"
    with pytest.raises(AttributeError, match="nix"):
        thaw.nix  # noqa: B018
    with pytest.raises(AttributeError):
        thaw._nix  # noqa: B018
    assert pickle.loads(pickle.dumps(thaw.ir.Optimize)) is thaw.ir.Optimize
