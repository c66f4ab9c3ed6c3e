"""What is drawn for an integer input is what the operators that read it can take: `thaw run --random` and `thaw verify` run."""
import pytest
from onnx import TensorProto

from batch_control_test import INT64, constant, info, model_of, node

INT32 = TensorProto.INT32


def reads(op, operands, *integers, shape=(3, 2, 5), constants=(), **attributes):
    """A model of one node, which reads x and these integers."""
    read = node(op, operands, "y", **attributes)
    read.input[:] = ["" if name == "-" else name for name in read.input]
    return model_of([read], [info("x", dims=list(shape)), *integers], [info("y")], constants, opset=18)


MODELS = {
    "axes that are summed over": reads("ReduceSum", "x axes", info("axes", INT64, [2])),
    "all axes": reads("ReduceMax", "x axes", info("axes", INT64, [3]), keepdims=0),
    "an axis to go along": reads("CumSum", "x axis", info("axis", INT32, []), shape=[7]),
    "axes that are put in": reads("Unsqueeze", "x axes", info("axes", INT64, [2])),
    "axes that are cut": reads("Slice", "x zero two axes", info("axes", INT64, [1]), constants=[constant("zero", [0]), constant("two", [1])]),
    "sizes to resize to": reads("Resize", "x - - sizes", info("sizes", INT64, [3])),
    "lengths of sequences": reads("ReverseSequence", "x lengths", info("lengths", INT64, [2]), batch_axis=1, time_axis=0),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_model_runs_on_what_is_drawn(thaw, save, name, seed):
    path = save(MODELS[name])
    thaw("run", path, "--random", "--seed", seed, code=0)
    assert thaw.json("verify", path, "--against", path, "--seed", seed, code=0)["accepted"]
