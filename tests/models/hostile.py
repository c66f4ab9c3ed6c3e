"""Files that no reader should trust. Each maker writes one into a folder and returns its path.

REFUSED: files that are not valid models; a reader names what is wrong and stops. REFUSED_WHEN_RUN: the lie is in weights,
which nobody reads to look at shapes; it comes out when the model is to run. damaged(seed): the bytes of a good model cut
short or flipped; what comes out may still be a model, so the reader only must not crash, hang or read outside.
"""
import os
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from . import text_decoder

F, I64 = TensorProto.FLOAT, TensorProto.INT64
REFUSED = {}
REFUSED_WHEN_RUN = {}


def refused(maker):
    REFUSED[maker.__name__] = maker
    return maker


def damaged(seed, base=None):
    """A good model's bytes, damaged: one file in three is cut, the others have flipped bits."""
    rng = np.random.default_rng(seed)
    data = bytearray(base if base is not None else text_decoder.dynamic(layers=1).SerializeToString())
    if seed % 3 == 0:
        return bytes(data[: int(rng.integers(0, len(data)))])
    # Most of a model is weights, which may hold anything: aim at the graph's text.
    reach = len(data) if seed % 3 == 1 else min(len(data), 40000)
    for place in rng.integers(0, reach, int(rng.integers(1, 17))):
        data[place] ^= 1 << int(rng.integers(0, 8))
    return bytes(data)


# ---- wire format by hand, for what protobuf's own classes refuse to hold

def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes([*out, n])


def field(number, payload):
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def _write(folder, name, data):
    path = Path(folder) / f"{name}.onnx"
    path.write_bytes(data)
    return path


def _save(folder, name, nodes, initializers=(), inputs=("x",), outputs=("y",), dims=("n", 4), **model):
    def values(names):
        return [helper.make_tensor_value_info(n, F, dims) for n in names]
    graph = helper.make_graph(nodes, name, values(inputs), values(outputs), list(initializers))
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, **model)
    return _write(folder, name, made.SerializeToString())


def _weight(name="w", shape=(4,)):
    return numpy_helper.from_array(np.ones(shape, np.float32), name)


_ADD = [helper.make_node("Add", ["x", "w"], ["y"], "add")]


def refused_when_run(maker):
    REFUSED_WHEN_RUN[maker.__name__] = maker
    return maker


# ---- not a model

@refused
def empty(folder):
    return _write(folder, "empty", b"")


@refused
def text(folder):
    return _write(folder, "text", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12\n")


@refused
def no_graph(folder):
    return _write(folder, "no_graph", onnx.ModelProto(ir_version=8).SerializeToString())


@refused
def length_past_the_end(folder):
    return _write(folder, "length_past_the_end", b"\x08\x08" + varint(7 << 3 | 2) + varint(2**40) + b"abc")


@refused
def length_that_wraps(folder):
    return _write(folder, "length_that_wraps", b"\x08\x08" + varint(7 << 3 | 2) + varint(2**64 - 1) + b"abc")


@refused
def deep_nesting(folder, depth=5000):
    """An If in an If in an If ... as bytes: message inside message."""
    graph = field(2, b"leaf")
    for _ in range(depth):
        attribute = field(1, b"then_branch") + field(6, graph) + varint(20 << 3) + varint(5)
        graph = field(1, field(1, b"c") + field(4, b"If") + field(5, attribute)) + field(2, b"g")
    return _write(folder, "deep_nesting", b"\x08\x08" + field(7, graph) + field(8, varint(2 << 3) + varint(17)))


# ---- a graph that is none

@refused
def cycle(folder):
    return _save(folder, "cycle", [helper.make_node("Add", ["x", "b"], ["a"], "first"),
                                   helper.make_node("Relu", ["a"], ["b"], "second"),
                                   helper.make_node("Relu", ["b"], ["y"], "third")])


@refused
def own_output_as_input(folder):
    return _save(folder, "own_output_as_input", [helper.make_node("Add", ["x", "y"], ["y"], "loop")])


@refused
def two_makers_of_one_name(folder):
    return _save(folder, "two_makers_of_one_name", [helper.make_node("Relu", ["x"], ["y"], "first"),
                                                    helper.make_node("Neg", ["x"], ["y"], "second")])


@refused
def two_initializers_of_one_name(folder):
    return _save(folder, "two_initializers_of_one_name", _ADD, [_weight(), _weight(shape=(1,))])


@refused
def two_inputs_of_one_name(folder):
    return _save(folder, "two_inputs_of_one_name", _ADD, [_weight()], inputs=("x", "x"))


@refused
def input_that_nobody_makes(folder):
    return _save(folder, "input_that_nobody_makes", [helper.make_node("Add", ["x", "nowhere"], ["y"], "add")])


@refused
def output_that_nobody_makes(folder):
    return _save(folder, "output_that_nobody_makes", [helper.make_node("Relu", ["x"], ["z"], "relu")])


@refused
def function_that_calls_itself(folder):
    body = [helper.make_node("Again", ["a"], ["b"], "inner", domain="own")]
    function = helper.make_function("own", "Again", ["a"], ["b"], body, [helper.make_opsetid("own", 1)])
    x, y = (helper.make_tensor_value_info(name, F, ["n"]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Again", ["x"], ["y"], "outer", domain="own")], "g", [x], [y])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    made = helper.make_model(graph, functions=[function], opset_imports=opsets, ir_version=8)
    return _write(folder, "function_that_calls_itself", made.SerializeToString())


# ---- tensors whose size is a lie

def _tensor(folder, name, dims, data=b"\0" * 16, **fields):
    tensor = TensorProto(name="w", data_type=F, dims=dims, **fields)
    if not fields:
        tensor.raw_data = data
    return _save(folder, name, _ADD, [tensor])


@refused
def dims_that_overflow(folder):
    return _tensor(folder, "dims_that_overflow", [2**62, 4])


@refused
def dims_that_wrap_to_the_right_size(folder):
    return _tensor(folder, "dims_that_wrap_to_the_right_size", [2**33, 2**31, 4, 4])


@refused
def negative_dim(folder):
    return _tensor(folder, "negative_dim", [-4])


@refused
def fewer_bytes_than_dims_say(folder):
    return _tensor(folder, "fewer_bytes_than_dims_say", [1000])


@refused_when_run
def fewer_numbers_than_dims_say(folder):
    return _tensor(folder, "fewer_numbers_than_dims_say", [5], float_data=[1.0, 2.0])


# ---- external data

def _external(folder, name, location, offset=None, length=None, size=64):
    folder = Path(folder)
    (folder / "inside.data").write_bytes(b"\1" * size)
    entries = {"location": location, **({"offset": offset} if offset is not None else {}),
               **({"length": length} if length is not None else {})}
    tensor = TensorProto(name="w", data_type=F, dims=[4], data_location=TensorProto.EXTERNAL)
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=str(value))
    return _save(folder, name, _ADD, [tensor])


def _secret(folder):
    """A file outside the model's folder."""
    outside = Path(folder) / "outside"
    outside.mkdir(exist_ok=True)
    secret = outside / "secret.data"
    secret.write_bytes(b"\2" * 64)
    return secret


def _inner(folder):
    inner = Path(folder) / "model"
    inner.mkdir(exist_ok=True)
    return inner


@refused
def external_above_the_folder(folder):
    _secret(folder)
    return _external(_inner(folder), "external_above_the_folder", "../outside/secret.data")


@refused
def external_above_by_a_detour(folder):
    _secret(folder)
    inner = _inner(folder)
    (inner / "sub").mkdir(exist_ok=True)
    return _external(inner, "external_above_by_a_detour", "sub/../../outside/secret.data")


@refused
def external_absolute(folder):
    return _external(_inner(folder), "external_absolute", str(_secret(folder).resolve()))


@refused
def external_symlink(folder):
    inner, secret = _inner(folder), _secret(folder)
    link = inner / "link.data"
    link.unlink(missing_ok=True)
    link.symlink_to(secret.resolve())
    return _external(inner, "external_symlink", "link.data")


@refused
def external_through_a_linked_folder(folder):
    inner, secret = _inner(folder), _secret(folder)
    link = inner / "linked"
    link.unlink(missing_ok=True)
    link.symlink_to(secret.parent.resolve(), target_is_directory=True)
    return _external(inner, "external_through_a_linked_folder", "linked/secret.data")


@refused
def external_hard_link(folder):
    inner, secret = _inner(folder), _secret(folder)
    link = inner / "hard.data"
    link.unlink(missing_ok=True)
    os.link(secret, link)
    return _external(inner, "external_hard_link", "hard.data")


@refused
def external_pipe(folder):
    inner = _inner(folder)
    pipe = inner / "pipe.data"
    if not pipe.exists():
        os.mkfifo(pipe)
    return _external(inner, "external_pipe", "pipe.data")


@refused
def external_folder(folder):
    inner = _inner(folder)
    (inner / "folder.data").mkdir(exist_ok=True)
    return _external(inner, "external_folder", "folder.data")


@refused_when_run
def external_missing(folder):
    return _external(folder, "external_missing", "nothing.data")


@refused
def external_without_location(folder):
    return _external(folder, "external_without_location", "")


@refused
def external_offset_2_62(folder):
    return _external(folder, "external_offset_2_62", "inside.data", 2**62, 16)


@refused
def external_end_that_wraps(folder):
    return _external(folder, "external_end_that_wraps", "inside.data", 2**64 - 8, 16)


@refused
def external_negative_offset(folder):
    return _external(folder, "external_negative_offset", "inside.data", -16, 16)


@refused
def external_offset_in_words(folder):
    return _external(folder, "external_offset_in_words", "inside.data", "twelve", 16)


@refused
def external_past_the_end(folder):
    return _external(folder, "external_past_the_end", "inside.data", 56, 16)


@refused
def external_shorter_than_dims_say(folder):
    return _external(folder, "external_shorter_than_dims_say", "inside.data", 0, 8)
