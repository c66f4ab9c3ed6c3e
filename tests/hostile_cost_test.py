"""Small files that ask for much: time and memory stay those of a file of that size."""
import resource

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

F, BOOL = TensorProto.FLOAT, TensorProto.BOOL
MEMORY = 1 << 30


def model(nodes, outputs, constants=(), dims=("n", 4)):
    graph = helper.make_graph(
        nodes, "costly", [helper.make_tensor_value_info("x", F, list(dims)), helper.make_tensor_value_info("c", BOOL, [])],
        [helper.make_tensor_value_info(o, F, None) for o in outputs],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in constants])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def sequences_of_sequences():
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    for level in range(60):
        inside = f"s{level - 1}" if level else "x"
        nodes.append(helper.make_node("SequenceConstruct", [inside, inside], [f"s{level}"]))
    return model(nodes, ["y"])


def sequences_of_two_that_are_alike():
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    for level in range(60):
        inside = [f"a{level - 1}", f"b{level - 1}"] if level else ["x", "x"]
        nodes += [helper.make_node("SequenceConstruct", inside, [f"{side}{level}"]) for side in "ab"]
    return model(nodes, ["y"])


def ifs_in_ifs():
    def branch(level):
        if level == 0:
            nodes = [helper.make_node("Relu", ["x"], ["r0"])]
        else:
            inner = branch(level - 1)
            other = helper.make_graph([helper.make_node("Neg", ["x"], [f"e{level}"])], "else", [],
                                      [helper.make_tensor_value_info(f"e{level}", F, None)])
            nodes = [helper.make_node("If", ["t"], [f"r{level}"], then_branch=inner, else_branch=other)]
        return helper.make_graph(nodes, "then", [], [helper.make_tensor_value_info(f"r{level}", F, None)])
    top = branch(24)
    first = [helper.make_node("ReduceMax", ["x"], ["m"], keepdims=0), helper.make_node("Cast", ["m"], ["t"], to=BOOL)]
    return model([*first, *top.node], [top.output[0].name], dims=(1, 4, 4))


CASES = [sequences_of_sequences, sequences_of_two_that_are_alike, ifs_in_ifs]


@pytest.mark.parametrize("maker", CASES, ids=lambda maker: maker.__name__)
@pytest.mark.parametrize("verb", ["inspect", "check", "fix", "batch"])
def test_a_small_file_costs_little(thaw, save, tmp_path, verb, maker):
    def limit():
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    out = ["-o", tmp_path / "out.onnx"] if verb in ("fix", "batch") else []
    unchecked = ["--no-check"] if verb == "batch" else []
    run = thaw(verb, save(maker()), *out, *unchecked, code={0, 1, 2}, timeout=5, preexec_fn=limit)
    assert "memory" not in run.stderr, run.stderr
