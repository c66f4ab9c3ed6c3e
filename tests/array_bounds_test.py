"""Arrays that inflate to much: held against the input that they are for before anything is decompressed, whoever reads them."""
import zipfile

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from conftest import limits

ELEMENTS = 1 << 26
LIMIT = limits(memory=200 << 20, seconds=10)


def bomb(path, dtype, *names):
    """An .npz of a few kilobytes, each array of which is 256 MiB of zeros, or 512."""
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({ELEMENTS},), }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            with archive.open(f"{name}.npy", "w") as member:
                member.write(b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header.encode())
                for _ in range(ELEMENTS * int(dtype[2:]) >> 20):
                    member.write(bytes(1 << 20))
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bombs")
    weight = numpy_helper.from_array(np.random.default_rng(0).standard_normal((32, 5), dtype=np.float32), "w")
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Relu", ["m"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["b", 4, 32])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "m.onnx")
    grid = helper.make_graph([helper.make_node("ReduceSum", ["grid"], ["y"])], "g",
                             [helper.make_tensor_value_info("grid", TensorProto.INT64, [1, 3])],
                             [helper.make_tensor_value_info("y", TensorProto.INT64, None)])
    for size in (3, 5):
        onnx.save(helper.make_model(grid, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / f"t{size}.onnx")
    (folder / "many").mkdir()
    bomb(folder / "many" / "a.npz", "<f4", "x")
    bomb(folder / "bomb.npz", "<f4", "x", "y", "z")
    bomb(folder / "t3.npz", "<i8", "grid")
    bomb(folder / "t5.npz", "<i8", "added")
    return folder


CALLS = {
    "run": ["run", "m.onnx", "--input", "x=bomb.npz"],
    "run_archive": ["run", "m.onnx", "--input", "bomb.npz"],
    "run_of_no_input": ["run", "m.onnx", "--input", "z=bomb.npz"],
    "verify": ["verify", "m.onnx", "--against", "m.onnx", "--input", "x=bomb.npz"],
    "verify_reference": ["verify", "m.onnx", "--against", "bomb.npz"],
    "fix": ["fix", "m.onnx", "-o", "o.onnx", "--input", "x=bomb.npz"],
    "fix_reference": ["fix", "m.onnx", "-o", "o.onnx", "--reference", "bomb.npz"],
    "optimize": ["optimize", "m.onnx", "-o", "o.onnx", "--input", "x=bomb.npz"],
    "split": ["split", "m.onnx", "--parts", "2", "-o", "o", "--input", "x=bomb.npz"],
    "convert": ["convert", "m.onnx", "-o", "o.onnx", "--to", "int8", "--data", "bomb.npz"],
    "convert_folder": ["convert", "m.onnx", "-o", "o.onnx", "--to", "int8", "--data", "many"],
    "convert_int4": ["convert", "m.onnx", "-o", "o.onnx", "--to", "int4", "--method", "gptq", "--data", "bomb.npz"],
    "sensitivity": ["sensitivity", "m.onnx", "-o", "o", "--data", "many"],
    "lift": ["lift", "t3.onnx", "t5.onnx", "-o", "o.onnx", "--trace-values", "t3.npz"],
    "lift_of_no_input": ["lift", "t3.onnx", "t5.onnx", "-o", "o.onnx", "--trace-values", "t5.npz"],
}


@pytest.mark.parametrize("call", CALLS)
def test_an_array_is_held_against_its_input_before_it_is_read(thaw, files, call):
    line = thaw.error(*CALLS[call], cwd=files, preexec_fn=LIMIT)
    told = ("is not an input of the model", "of an input that the model does not have") if "no_input" in call else (f"[{ELEMENTS}]",)
    assert any(text in line for text in told), line
    assert not (files / "o.onnx").exists() and not list(files.glob("o/*"))
