"""`thaw run` feeds a model from .npy and .npz files and writes what comes out."""
import io
import os
import subprocess
import zipfile

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def identity(dtypes, ir_version=10, opset=21):
    """y_<i> = x_<i>, of any shape"""
    graph = helper.make_graph(
        [helper.make_node("Identity", [f"x{i}"], [f"y{i}"]) for i in range(len(dtypes))], "g",
        [helper.make_tensor_value_info(f"x{i}", dtype, None) for i, dtype in enumerate(dtypes)],
        [helper.make_tensor_value_info(f"y{i}", dtype, None) for i, dtype in enumerate(dtypes)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version)


def arrays_of_every_type():
    rng = np.random.default_rng(3)
    base = rng.integers(0, 100, (3, 5))
    types = [np.float16, np.float32, np.float64, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32,
             np.uint64, np.bool_]
    arrays = [base.astype(t) for t in types]
    arrays += [np.asfortranarray(rng.standard_normal((2, 3, 5), dtype=np.float32)), np.array(7, np.int64),
               np.zeros((3, 0, 2), np.float32), np.array([["a", "größe"], ["", "😀"]]),
               rng.standard_normal(1, np.float32)]
    return arrays


def element_type(array):
    return TensorProto.STRING if array.dtype.kind == "U" else helper.np_dtype_to_tensor_dtype(array.dtype)


@pytest.mark.parametrize("write", [np.savez, np.savez_compressed])
def test_what_numpy_writes_comes_back_as_it_was(thaw, save, tmp_path, write):
    arrays = arrays_of_every_type()
    model = save(identity([element_type(a) for a in arrays]))
    write(tmp_path / "in.npz", **{f"x{i}": a for i, a in enumerate(arrays)})
    thaw("run", model, "--input", tmp_path / "in.npz", "-o", tmp_path / "out.npz", code=0)
    with np.load(tmp_path / "out.npz") as out:
        assert sorted(out.files) == sorted(f"y{i}" for i in range(len(arrays)))
        for i, array in enumerate(arrays):
            assert out[f"y{i}"].dtype == array.dtype and out[f"y{i}"].shape == array.shape
            assert (out[f"y{i}"] == array).all()
    assert zipfile.ZipFile(tmp_path / "out.npz").testzip() is None


def test_single_files_big_endian_and_old_versions(thaw, save, tmp_path):
    model = save(identity([FLOAT, INT64]))
    x, ids = np.arange(6, dtype=">f4").reshape(2, 3), np.arange(5)
    np.save(tmp_path / "x.npy", x)
    with open(tmp_path / "ids.npy", "wb") as file:
        np.lib.format.write_array(file, ids, version=(2, 0))
    report = thaw.json("run", model, "--input", f"x0={tmp_path / 'x.npy'}", "--input", f"x1={tmp_path / 'ids.npy'}",
                       "--outputs", "y0", "-o", tmp_path / "y.npy", code=0)
    assert (np.load(tmp_path / "y.npy") == x).all() and np.load(tmp_path / "y.npy").dtype == np.dtype("<f4")
    (output,) = report["outputs"]
    assert (output["name"], output["dtype"], output["dims"]) == ("y0", "float32", [2, 3])
    assert (output["min"], output["max"], output["mean"]) == (0, 5, 2.5)


def test_sixteen_bit_brain_floats_are_those_of_ml_dtypes(thaw, save, tmp_path):
    x = np.array([1, -2.5, 3e38], ml_dtypes.bfloat16)
    np.save(tmp_path / "x.npy", x)
    model = save(identity([TensorProto.BFLOAT16]))
    thaw("run", model, "--input", f"x0={tmp_path / 'x.npy'}", "-o", tmp_path / "y.npy", code=0)
    assert (np.load(tmp_path / "y.npy").view(ml_dtypes.bfloat16) == x).all()


def test_four_bits_come_out_as_bytes(thaw, save, tmp_path):
    graph = helper.make_graph([helper.make_node("Cast", ["x"], ["y"], to=TensorProto.INT4)], "g",
                              [helper.make_tensor_value_info("x", FLOAT, ["n"])],
                              [helper.make_tensor_value_info("y", TensorProto.INT4, ["n"])])
    model = save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10))
    np.save(tmp_path / "x.npy", np.array([-8, 7, 3], np.float32))
    thaw("run", model, "--input", f"x={tmp_path / 'x.npy'}", "-o", tmp_path / "y.npy", code=0)
    assert np.load(tmp_path / "y.npy").tolist() == [-8, 7, 3]


def test_sequences_come_out_element_by_element(thaw, save, tmp_path):
    graph = helper.make_graph(
        [helper.make_node("SplitToSequence", ["x"], ["parts"], axis=0, keepdims=1)], "g",
        [helper.make_tensor_value_info("x", FLOAT, ["n", 2])],
        [helper.make_tensor_sequence_value_info("parts", FLOAT, None)])
    model = save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.save(tmp_path / "x.npy", x)
    report = thaw.json("run", model, "--input", f"x={tmp_path / 'x.npy'}", "-o", tmp_path / "y.npz", code=0)
    assert [output["name"] for output in report["outputs"]] == ["parts[0]", "parts[1]", "parts[2]"]
    with np.load(tmp_path / "y.npz") as out:
        assert (out["parts[2]"] == x[2:]).all()


def test_what_is_not_given_is_drawn_only_when_asked(thaw, save, tmp_path):
    graph = helper.make_graph([helper.make_node("Mul", ["x", "y"], ["z"])], "g",
                              [helper.make_tensor_value_info(n, FLOAT, ["n", 3]) for n in "xy"],
                              [helper.make_tensor_value_info("z", FLOAT, ["n", 3])])
    model = save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    assert "no array is given for input 'x'" in thaw("run", model, code=2).stderr
    chosen = thaw.json("run", model, "--random", code=0)
    assert chosen["outputs"][0]["dims"] == [chosen["sizes"]["n"], 3]
    report = thaw.json("run", model, "--sizes", "n=7", code=0)
    assert report["outputs"][0]["dims"] == [7, 3]
    np.save(tmp_path / "x.npy", np.full((5, 3), 2, np.float32))
    given = ["--input", f"x={tmp_path / 'x.npy'}", "--values", "y=0.5"]
    report = thaw.json("run", model, *given, code=0)
    assert report["outputs"][0]["dims"] == [5, 3] and report["outputs"][0]["min"] == report["outputs"][0]["max"] == 1
    draws = [thaw.json("run", model, "--sizes", "n=7", "--seed", seed)["outputs"][0]["mean"] for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]


def test_a_wrong_element_type_is_said_and_cast_on_request(thaw, save, tmp_path):
    model = save(identity([FLOAT]))
    np.save(tmp_path / "x.npy", np.arange(3.0))
    error = thaw("run", model, "--input", f"x0={tmp_path / 'x.npy'}", code=2).stderr
    assert "is fed float64[3]" in error and "float32" in error and "--cast" in error
    thaw("run", model, "--input", f"x0={tmp_path / 'x.npy'}", "--cast", code=0)


def test_what_onnxruntime_refuses_is_one_line_and_exit_code_2(thaw, save, tmp_path):
    graph = helper.make_graph([helper.make_node("Reshape", ["x", "s"], ["y"], name="frozen")], "g",
                              [helper.make_tensor_value_info("x", FLOAT, ["n"])],
                              [helper.make_tensor_value_info("y", FLOAT, None)], [numpy_helper.from_array(np.array([2, 3]), "s")])
    model = save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    thaw("run", model, "--sizes", "n=6", code=0)
    done = thaw("run", model, "--sizes", "n=7", code=2)
    assert len(done.stderr.splitlines()) == 1 and "'frozen'" in done.stderr and done.stdout == ""
    assert "`thaw rule THAW010`" in done.stderr  # what ONNX Runtime's words mean
    chosen = thaw.json("run", model, "--random", code=0)  # 2 x 3 elements: the sizes are such that it runs
    assert chosen["sizes"] == {"n": 6}


def test_sizes_that_are_missing_may_be_chosen(thaw, save):
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", FLOAT, ["n", "m"])],
                              [helper.make_tensor_value_info("y", FLOAT, None)])
    model = save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    assert "--random" in thaw.error("run", model, "--sizes", "n=6")
    report = thaw.json("run", model, "--sizes", "n=6", "--random", code=0)
    assert report["sizes"]["n"] == 6 and report["outputs"][0]["dims"] == [6, report["sizes"]["m"]]


def good_npz(**arrays):
    data = io.BytesIO()
    np.savez(data, **(arrays or {"x0": np.arange(6, dtype=np.float32)}))
    return data.getvalue()


HOSTILE = {
    "empty": lambda: b"",
    "text": lambda: b"hello" * 100,
    "cut": lambda: good_npz()[:-40],
    "flipped": lambda: good_npz().replace(b"\x00\x00\x80\x3f", b"\x00\x00\x80\x3e"),
    "pickle": lambda: good_npz(x0=np.array([{"a": 1}], dtype=object)),
    "record": lambda: good_npz(x0=np.zeros(3, dtype=[("a", "f4"), ("b", "i8")])),
    "date": lambda: good_npz(x0=np.zeros(3, dtype="M8[s]")),
    "huge shape": lambda: good_npz().replace(b"(6,), }" + b" " * 20, b"(4611686018427387904, 4), }"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_in_one_line(thaw, save, tmp_path, name):
    (tmp_path / "in.npz").write_bytes(HOSTILE[name]())
    done = thaw("run", save(identity([FLOAT])), "--input", tmp_path / "in.npz", code=2)
    assert len(done.stderr.splitlines()) == 1 and "in.npz" in done.stderr


def test_a_bomb_is_refused_before_memory_is_taken(thaw, save, tmp_path):
    """A gibibyte of zeros deflates to a mebibyte; the header of the array says that it holds six numbers."""
    header = good_npz()[good_npz().index(b"\x93NUMPY"):][:128]
    with zipfile.ZipFile(tmp_path / "in.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x0.npy", header + bytes(1 << 28))
    command = f"ulimit -v 8000000; '{thaw.path}' run '{save(identity([FLOAT]))}' --input '{tmp_path / 'in.npz'}'"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "bytes of data for the shape" in done.stderr


def test_nothing_is_left_where_writing_fails(thaw, save, tmp_path):
    model = save(identity([FLOAT, FLOAT]))
    feeds = ["--values", "x0=1;x1=2", "--input", tmp_path / "in.npz"]
    np.savez(tmp_path / "in.npz", x0=np.zeros(2, np.float32), x1=np.zeros(2, np.float32))
    before = sorted(os.listdir(tmp_path))
    for output in ("y.npy", "y.txt", "no/y.npz"):
        thaw("run", model, "--input", tmp_path / "in.npz", "-o", tmp_path / output, code=2)
    assert sorted(os.listdir(tmp_path)) == before
    assert "an array and values" in thaw("run", model, *feeds, code=2).stderr


def test_onnxruntime_reports_to_nobody(thaw, save, tmp_path):
    """Its official builds leave an identifier in the folder for temporary files, and one in the user's home."""
    np.save(tmp_path / "x.npy", np.zeros(3, np.float32))
    (tmp_path / "home").mkdir()
    environment = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    environment |= {"TMPDIR": str(tmp_path / "home"), "HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": str(tmp_path / "home")}
    thaw("run", save(identity([FLOAT])), "--input", f"x0={tmp_path / 'x.npy'}", env=environment, code=0)
    assert os.listdir(tmp_path / "home") == []


def test_onnxruntime_is_only_opened_to_run_a_model(thaw, save, tmp_path):
    environment = os.environ | {"THAW_ONNXRUNTIME": str(tmp_path / "nothing.so")}
    assert thaw("run", "--help", env=environment, code=0).stdout.count("Example") == 1
    assert thaw("verify", "--help", env=environment, code=0).stdout.count("Example") == 1
    np.save(tmp_path / "x.npy", np.zeros(3, np.float32))
    call = ["run", save(identity([FLOAT])), "--input", f"x0={tmp_path / 'x.npy'}"]
    done = thaw(*call, env=environment, code=2)
    assert all(word in done.stderr for word in ("ONNX Runtime cannot be loaded", "nothing.so", "THAW_ONNXRUNTIME"))
    (tmp_path / "nothing.so").write_text("not a library")
    done = thaw(*call, env=environment, code=2)
    assert "cannot be loaded" in done.stderr
