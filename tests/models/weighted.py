"""A small model with weights in other files, for tests of how files are written."""
import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from check_rules_test import F, ints, model, node

WIDTH = 24


def made(seed, batched=False):
    """x through two weights; `batched`: with a split into heads whose sizes are frozen, else for one sample."""
    rng = np.random.default_rng(seed)
    weights = [numpy_helper.from_array(rng.standard_normal(dims, dtype=np.float32), name)
               for name, dims in (("w", (12, WIDTH)), ("v", (WIDTH, 12)))]
    nodes = [node("MatMul", ["x", "w"], "p"), node("MatMul", ["p", "v"], "q")]
    if not batched:
        return model([*nodes, node("Relu", ["q"], "y")], [("x", F, [1, 12])], [("y", F, [1, 12])], weights)
    nodes += [node("Reshape", ["q", "split"], "r"), node("Transpose", ["r"], "t", perm=[0, 2, 1, 3]), node("Softmax", ["t"], "m", axis=2),
              node("Transpose", ["m"], "b", perm=[0, 2, 1, 3]), node("Reshape", ["b", "merge"], "y")]
    return model(nodes, [("x", F, ["batch", "seq", 12])], [("y", F, None)], [*weights, ints("split", [2, 11, 3, 4]), ints("merge", [2, 11, 12])])


def written(made, path, locations, entries=()):
    """Writes it with its weights at `locations`, the last weight first where they share one; `entries`: more for each tensor."""
    path.parent.mkdir(parents=True, exist_ok=True)
    ends = {}
    for tensor, location in reversed(list(zip(made.graph.initializer, locations, strict=False))):
        file = path.parent / location
        file.parent.mkdir(parents=True, exist_ok=True)
        offset = ends.get(location, 0)
        with open(file, "r+b" if offset else "wb") as out:
            out.seek(offset)
            out.write(tensor.raw_data)
        ends[location] = offset + len(tensor.raw_data)
        for key, value in (("location", location), ("offset", str(offset)), ("length", str(len(tensor.raw_data))), *entries):
            tensor.external_data.add(key=key, value=value)
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
    path.write_bytes(made.SerializeToString())
    return path


def locations_of(path):
    return {entry.value for tensor in onnx.load(path, load_external_data=False).graph.initializer
            for entry in tensor.external_data if entry.key == "location"}
