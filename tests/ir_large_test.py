"""Models much larger than memory should be: opening, walking and saving costs the graph, not the weights."""
import os
import random

import onnx
import pytest
from onnx import TensorProto, helper

from ir_tool import peak_kib, roundtrip

LIMIT_KIB = 100 * 1024
COUNT = 64
SIZE = 1 << 26  # 64 tensors of 64 MiB: 4 GiB
PIECE = 70001   # bytes of each tensor that are not zero


def external_model(folder, location="w.data", stride=SIZE):
    """4 GiB of external data in a file that is mostly holes; the data of each tensor starts with bytes of its own."""
    folder.mkdir(exist_ok=True)
    weights = []
    with open(folder / location, "wb") as file:
        for i in range(COUNT):
            file.seek(i * stride)
            file.write(random.Random(i).randbytes(PIECE))
        file.truncate(COUNT * stride)
    for i in range(COUNT):
        tensor = TensorProto(name=f"w{i}", data_type=TensorProto.FLOAT, dims=[4096, 4096], data_location=TensorProto.EXTERNAL)
        for key, value in (("location", location), ("offset", str(i * stride)), ("length", str(SIZE))):
            tensor.external_data.add(key=key, value=value)
        weights.append(tensor)
    return model_of(weights)


def model_of(weights):
    nodes, last = [], "x"
    for i in range(COUNT):
        nodes.append(helper.make_node("MatMul", [last, f"w{i}"], [f"h{i}"]))
        last = f"h{i}"
    info = helper.make_tensor_value_info
    return helper.make_model(helper.make_graph(nodes, "large", [info("x", TensorProto.FLOAT, ["n", 4096])],
                                               [info(last, TensorProto.FLOAT, ["n", 4096])], weights))


def where(tensor):
    entries = {entry.key: entry.value for entry in tensor.external_data}
    return entries["location"], int(entries["offset"]), int(entries["length"])


def assert_data(model_path):
    model = onnx.load(model_path, load_external_data=False)
    assert len(model.graph.initializer) == COUNT
    for i, tensor in enumerate(model.graph.initializer):
        location, offset, length = where(tensor)
        assert length == SIZE
        with open(model_path.parent / location, "rb") as file:
            file.seek(offset)
            assert file.read(PIECE) == random.Random(i).randbytes(PIECE)
            assert file.read(1000) == bytes(1000)
            file.seek(offset + SIZE - 1000)
            assert file.read(1000) == bytes(1000)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "a" / "m.onnx"
    model = external_model(tmp_path / "a")
    path.write_bytes(model.SerializeToString())
    return path


def blocks(path):
    return os.stat(path).st_blocks * 512


def test_opening_and_walking(source):
    out, _ = roundtrip([(source, "-")], "load")
    assert peak_kib(out) < LIMIT_KIB


def test_saving_beside_the_data_leaves_it_alone(source):
    before = os.stat(source.parent / "w.data")
    out, _ = roundtrip([(source, source.parent / "other.onnx"), (source, source)])
    assert peak_kib(out) < LIMIT_KIB
    after = os.stat(source.parent / "w.data")
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert_data(source.parent / "other.onnx")
    assert_data(source)
    assert sorted(os.listdir(source.parent)) == ["m.onnx", "other.onnx", "w.data"]


def test_saving_elsewhere_copies_the_data(source, tmp_path):
    target = tmp_path / "b" / "m.onnx"
    target.parent.mkdir()
    out, _ = roundtrip([(source, target)])
    assert peak_kib(out) < LIMIT_KIB
    assert_data(target)
    assert blocks(target.parent / "m.onnx.data") < 2 * blocks(source.parent / "w.data") + (1 << 20)  # holes stay holes


def test_gathering_into_one_file(source, tmp_path):
    target = tmp_path / "b" / "m.onnx"
    target.parent.mkdir()
    out, _ = roundtrip([(source, target)], "single")
    assert peak_kib(out) < LIMIT_KIB
    assert_data(target)
    assert sorted(os.listdir(target.parent)) == ["m.onnx", "m.onnx.data"]
    assert all(where(t)[1] % 4096 == 0 for t in onnx.load(target, load_external_data=False).graph.initializer)


def test_gathering_over_the_models_own_files(source):
    (source.parent / "w.data").rename(source.parent / "m.onnx.data")
    model = onnx.load(source, load_external_data=False)
    for tensor in model.graph.initializer:
        tensor.external_data[0].value = "m.onnx.data"
    # In another order than the data lies in, so that each tensor moves.
    tensors = list(model.graph.initializer)
    del model.graph.initializer[:]
    model.graph.initializer.extend(reversed(tensors))
    source.write_bytes(model.SerializeToString())
    out, _ = roundtrip([(source, source)], "single")
    assert peak_kib(out) < LIMIT_KIB
    model = onnx.load(source, load_external_data=False)
    assert sorted(os.listdir(source.parent)) == ["m.onnx", "m.onnx.1.data"]
    for tensor in model.graph.initializer:
        with open(source.parent / where(tensor)[0], "rb") as file:
            file.seek(where(tensor)[1])
            assert file.read(PIECE) == random.Random(int(tensor.name[1:])).randbytes(PIECE)


def test_more_than_two_gibibytes_inline_are_refused(source, tmp_path):
    target = tmp_path / "b.onnx"
    _, err = roundtrip([(source, target)], "inline", code=2)
    assert "2 GiB" in err and "external" in err
    assert not target.exists() and sorted(os.listdir(tmp_path)) == ["a"]


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def test_inline_weights_of_a_mapped_file(tmp_path):
    """320 MB of weights inside the model file, as holes: walked, then moved to a data file, then copied inline."""
    count, size = 5, SIZE
    graph = helper.make_graph([helper.make_node("Identity", [f"w{i}"], [f"y{i}"]) for i in range(count)], "inline", [],
                              [helper.make_tensor_value_info("y0", TensorProto.FLOAT, [4096, 4096])])
    tensors = [TensorProto(name=f"w{i}", data_type=TensorProto.FLOAT, dims=[4096, 4096]).SerializeToString()
               for i in range(count)]
    raw_header = b"\x4a" + varint(size)
    sizes = [len(head) + len(raw_header) + size for head in tensors]
    total = sum(1 + len(varint(n)) + n for n in sizes) + len(graph.SerializeToString())
    rest = onnx.ModelProto(ir_version=10, opset_import=[helper.make_opsetid("", 21)]).SerializeToString()
    source = tmp_path / "m.onnx"
    with open(source, "wb") as file:
        file.write(rest + b"\x3a" + varint(total) + graph.SerializeToString())
        for i, (head, n) in enumerate(zip(tensors, sizes, strict=True)):
            file.write(b"\x2a" + varint(n) + head + raw_header)
            start = file.tell()
            file.write(random.Random(i).randbytes(PIECE))
            file.seek(start + size)
        file.truncate()
    out, _ = roundtrip([(source, tmp_path / "s.onnx")], "single")
    assert peak_kib(out) < LIMIT_KIB
    out, _ = roundtrip([(tmp_path / "s.onnx", tmp_path / "i.onnx")], "inline")
    assert peak_kib(out) < LIMIT_KIB
    out, _ = roundtrip([(source, tmp_path / "k.onnx")])
    assert peak_kib(out) < LIMIT_KIB
    first = onnx.load(tmp_path / "i.onnx")
    for i, tensor in enumerate(first.graph.initializer):
        assert len(tensor.raw_data) == size
        assert tensor.raw_data[:PIECE] == random.Random(i).randbytes(PIECE) and not any(tensor.raw_data[PIECE:PIECE + 999])
    assert os.path.getsize(tmp_path / "k.onnx") == os.path.getsize(tmp_path / "i.onnx")
