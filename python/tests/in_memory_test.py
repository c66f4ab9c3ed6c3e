"""Models in memory run and are compared without a file; weights in memory are not copied."""
import gc
import os
import tempfile
import weakref
from pathlib import Path

import numpy as np
import onnx
import pytest

import onnx_thaw as thaw
from conftest import mlp, model, numbers


def disk_writes():
    """Bytes that this process wrote to files on disk; the shared memory of the worker is none."""
    with open("/proc/self/io") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("write_bytes"))


@pytest.fixture
def ir():
    return pytest.importorskip("onnx_ir")


def of_ir(ir, weight):
    """x [n, k] @ weight, of an onnx_ir.Model whose weight is an array in memory."""
    k = weight.shape[0]
    x = ir.Value(name="x", type=ir.TensorType(ir.DataType.FLOAT), shape=ir.Shape(["n", k]))
    w = ir.Value(name="w", const_value=ir.Tensor(weight, name="w"), type=ir.TensorType(ir.DataType.FLOAT), shape=ir.Shape([k, k]))
    node = ir.Node("", "MatMul", [x, w], num_outputs=1)
    node.outputs[0].name, node.outputs[0].type, node.outputs[0].shape = "y", ir.TensorType(ir.DataType.FLOAT), ir.Shape(["n", k])
    return ir.Model(ir.Graph([x], node.outputs, nodes=[node], initializers=[w], opset_imports={"": 18}), ir_version=9)


def test_nothing_is_written_to_run_and_compare():
    given = thaw.load(mlp(width=512, layers=4))  # 4 MiB of weights
    x = {"x": numbers(2, 3, 512)}
    thaw.Session(given)
    before = disk_writes()
    outputs = thaw.run(given, x).outputs
    report = thaw.verify(given, given, sizes="batch=1|2,seq=3")
    assert disk_writes() - before < 1 << 20
    assert report.accepted and len(report.points) == 2 and outputs["y"].shape == (2, 3, 512)


def test_one_side_in_memory_and_one_in_a_file(save):
    proto = mlp()
    path, given = save(proto, "m"), thaw.load(proto)
    for left, right in ((path, given), (given, path), (given, proto)):
        report = thaw.verify(left, right)
        assert report.accepted and len(report.points) == 3
    other = thaw.load(mlp())
    wrong = thaw.verify(other, path)
    assert not wrong.accepted and wrong.reference == str(path) and wrong.model_path == "the model in memory"
    assert thaw.verify(thaw.load(path), path).model_path == str(path)


def test_outputs_are_proven_equal():
    twice = model("g (float[n] x) => (float[n] y) { y = Add(x, x) }")
    by_two = model("g (float[n] x) => (float[n] y) { two = Constant <value = float {2}> () y = Mul(x, two) }")
    report = thaw.verify(twice, by_two, prove=True)
    assert report.accepted and [(one.name, one.verdict.name, one.place) for one in report.proof.outputs] == [("y", "PROVEN", "")]
    assert report.proof.all_proven and not thaw.verify(twice, by_two).proof.outputs
    (other,) = thaw.verify(twice, model("g (float[n] x) => (float[n] y) { y = Mul(x, x) }"), prove=True).proof.outputs
    assert other.verdict.name == "DIFFERS" and "Mul" in other.place
    with pytest.raises(thaw.InvalidArgument, match="--prove"):
        thaw.verify(twice, by_two, prove=True, per_sample=True)


def test_a_proof_is_written_and_checked(tmp_path):
    twice = model("g (float[n] x) => (float[n] y) { y = Add(x, x) }")
    by_two = model("g (float[n] x) => (float[n] y) { two = Constant <value = float {2}> () y = Mul(x, two) }")
    written = thaw.verify(twice, by_two, prove=True, sizes="n=1..8", evidence=tmp_path / "proof.json")
    assert written.proof.evidence.steps_by_laws == 1 and written.proof.sizes == ["n=1..8"]
    report = thaw.verify(twice, by_two, replay=tmp_path / "proof.json")
    assert report.accepted and not report.points and report.proof.all_proven and report.proof.evidence.steps == written.proof.evidence.steps
    with pytest.raises(thaw.InvalidFile, match="another reference"):
        thaw.verify(twice, twice, replay=tmp_path / "proof.json")


def test_references_in_memory_are_what_they_are_in_files(save):
    single = model("g (float[4] x) => (float[4] y) { y = Softmax(x) }")
    batched = thaw.batch(single).model
    assert thaw.verify(batched, single, sizes="batch=3", per_sample=True).accepted
    renamed = model("g (float[n] a) => (float[n] b) { b = Exp(a) }")
    assert thaw.verify(model("g (float[n] x) => (float[n] y) { y = Exp(x) }"), renamed, map={"x": "a", "y": "b"}).accepted
    noise = model("g (float[n] x) => (float[n] y) { r = RandomNormalLike(x) y = Add(x, r) }")
    assert thaw.verify(noise, noise).accepted
    stored = {"x": numbers(2, 5, 32)}
    net = mlp()
    file = save(net, "m").with_suffix(".npz")
    np.savez(file, **stored, y=thaw.run(net, stored).outputs["y"])
    assert thaw.verify(net, file).accepted


def test_a_weight_of_onnx_ir_is_a_view_and_lives_as_long_as_the_model(ir):
    weight = np.full((256, 256), 1, np.float32)
    alive = weakref.ref(weight)
    source = of_ir(ir, weight)
    before = ir.to_proto(source).SerializeToString()
    given = thaw.load(source)
    assert ir.to_proto(source).SerializeToString() == before
    x = {"x": np.ones((1, 256), np.float32)}
    weight[:] = 2  # what is a view sees it, a copy would not
    del weight, source
    gc.collect()
    assert alive() is not None
    assert thaw.run(given, x).outputs["y"][0, 0] == 512
    copy = given.clone()
    del given
    gc.collect()
    assert thaw.run(copy, x).outputs["y"][0, 0] == 512
    parsed = onnx.load_model_from_string(copy.serialize())
    assert len(parsed.graph.initializer[0].raw_data) == 4 << 16
    del copy
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("dtype", ["FLOAT16", "BFLOAT16", "INT4", "DOUBLE"])
def test_weights_of_every_width_arrive(ir, tmp_path, dtype):
    kind = ir.DataType[dtype]
    array = np.arange(1 << 18).reshape(512, 512) % 7 - 3
    source = of_ir(ir, numbers(512, 512))
    weight = source.graph.initializers["w"]
    weight.const_value = ir.Tensor(array.astype(kind.numpy()), dtype=kind, name="w")
    weight.dtype = kind
    cast = ir.Node("", "Cast", [weight], [ir.AttrInt64("to", 1)], num_outputs=1)
    cast.outputs[0].name = "c"
    source.graph.insert_before(source.graph.node(0), cast)
    source.graph.node(1).replace_input_with(1, cast.outputs[0])
    source.graph.opset_imports[""] = 21
    given = thaw.load(source)
    x = {"x": numbers(2, 512)}
    np.testing.assert_allclose(thaw.run(given, x).outputs["y"], x["x"] @ array.astype(np.float32), rtol=1e-3, atol=1e-2)
    files = given.save(tmp_path / "m.onnx")
    assert thaw.verify(files[0], given).accepted


def test_data_in_files_and_in_memory_come_together(ir, tmp_path):
    onnx.save(mlp(width=256), tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    source = ir.load(tmp_path / "m.onnx")
    source.graph.initializers["w1"].const_value = ir.Tensor(np.eye(256, dtype=np.float32), name="w1")
    given = thaw.load(source)
    assert given.data_files == [tmp_path / "m.data"]
    x = {"x": numbers(2, 3, 256)}
    wanted = np.maximum(np.maximum(x["x"] @ source.graph.initializers["w0"].const_value.numpy(), 0), 0) + x["x"]
    np.testing.assert_allclose(thaw.run(given, x).outputs["y"], wanted, rtol=1e-4, atol=1e-4)


def test_weights_that_do_not_fit_are_refused():
    proto = mlp()
    proto.graph.initializer[0].ClearField("raw_data")
    proto.graph.initializer[0].data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", "here"), ("length", str(32 * 32 * 4))):
        proto.graph.initializer[0].external_data.add(key=key, value=value)
    parse = thaw.Model.parse_with_weights
    right = np.ones(32 * 32 * 4, np.uint8)
    for location, raw, said in (("there", right, "no initializer"), ("here", right[1:], "bytes")):
        with pytest.raises(thaw.InvalidArgument, match=said):
            parse(proto.SerializeToString(), "", [(location, raw)])
    assert parse(proto.SerializeToString(), "", [("here", right)]).inputs


def test_a_session_reads_a_file_where_it_is(save):
    path = save(mlp(), "m")
    x = {"x": numbers(2, 3, 32)}
    np.testing.assert_array_equal(thaw.Session(path).run(x)["y"], thaw.Session(os.fspath(path)).run(x)["y"])
    np.testing.assert_array_equal(thaw.Session(path).run(x)["y"], thaw.Session(thaw.load(path)).run(x)["y"])
    with pytest.raises(FileNotFoundError):
        thaw.Session(path.with_name("nix.onnx"))


def test_a_temporary_folder_stays_as_long_as_what_was_made_of_its_model(tmp_path):
    folder = tempfile.TemporaryDirectory(dir=tmp_path)
    onnx.save(mlp(width=64, layers=2), Path(folder.name, "m.onnx"), save_as_external_data=True, location="m.data", size_threshold=0)
    place, given = Path(folder.name), thaw.load(Path(folder.name, "m.onnx"))
    given.keep_alive(folder)
    del folder
    made = thaw.fix(given).model
    x = {"x": numbers(2, 3, 64)}
    wanted = thaw.run(given, x).outputs["y"]
    del given
    gc.collect()
    assert place.exists()
    np.testing.assert_allclose(thaw.run(made, x).outputs["y"], wanted, atol=1e-6)
    del made
    gc.collect()
    assert not place.exists()
