"""A model of operators that ONNX Runtime lacks is refused in a sentence that says where it runs."""
import pytest
from onnx import TensorProto, helper

from batch_control_test import info, model_of, node


def of_a_library():
    model = model_of([node("Tokenize", "x", "y")], [info("x", dims=[2])], [info("y")])
    model.graph.node[0].domain = "some.library"
    model.opset_import.append(helper.make_opsetid("some.library", 1))
    return model


def without_a_kernel():
    """A type that the standard has and ONNX Runtime's operator has not."""
    return model_of([node("Add", "x x", "y")], [info("x", TensorProto.BFLOAT16, [2])], [info("y", TensorProto.BFLOAT16)])


@pytest.mark.parametrize("model, expected", [(of_a_library(), "operators that ONNX Runtime knows"), (without_a_kernel(), "has kernels for")])
@pytest.mark.parametrize("verb", ["run", "verify"])
def test_a_refusal_says_what_was_expected_and_what_to_do(thaw, save, verb, model, expected):
    path = save(model)
    error = thaw.json(verb, path, *(["--random"] if verb == "run" else ["--against", path]), code=2)["error"]
    assert expected in error["expected"] and error["next"] and "\n" not in error["what"]
