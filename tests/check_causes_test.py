"""Findings of one cause are one: what a static export froze, and a placeholder that stands for several sizes."""
import math

import pytest
from onnx import TensorProto, helper

from models import scrfd, text_decoder

FROZEN = [f"THAW01{digit}" for digit in (0, 1, 2, 3, 4, 6, 7)]


def places(finding):
    return 1 + len(finding.get("related", []))


@pytest.mark.parametrize("sizes", [(2, 11), (3, 7)])
def test_a_static_export_is_frozen_once_and_each_rule_finds_its_own(thaw, save, sizes):
    path = save(text_decoder.static(*sizes))
    whole, = thaw.findings(path, "--select", "THAW01")
    apart = {}
    for code in FROZEN:
        found = thaw.findings(path, "--select", code)
        assert len(found) <= 1 and all(finding["code"] == code for finding in found)
        if found:
            apart[code] = found[0]
    assert len(apart) > 3 and whole["code"] == min(apart) and places(whole) == sum(map(places, apart.values())) > 20
    assert set(apart) - {whole["code"]} == {name for name in whole["details"] if name.startswith("THAW")}
    assert all(finding["consequence"] in whole["consequence"] for finding in apart.values())
    assert {command for finding in apart.values() for command in finding["commands"]} == set(whole["commands"])
    # What is left out leaves the rest, under the code of the worst of it.
    rest, = thaw.findings(path, "--select", "THAW01", "--ignore", whole["code"])
    assert rest["code"] == min(set(apart) - {whole["code"]}) and places(rest) == places(whole) - places(apart[whole["code"]])
    text = thaw("check", path, code=1).stdout
    assert "1 error\n" in text and all(code in text for code in apart)


def test_a_placeholder_is_one_finding_under_either_code(thaw, save):
    path = save(scrfd.model())
    both = [finding for finding in thaw.findings(path) if finding["code"] in ("THAW003", "THAW004")]
    assert [finding["code"] for finding in both] == ["THAW003"] and "placeholder" in both[0]["details"]["THAW004"]
    for code in ("THAW003", "THAW004"):
        assert [finding["code"] for finding in thaw.findings(path, "--select", code)] == [code]
    assert "THAW004" in {finding["code"] for finding in thaw.findings(path, "--ignore", "THAW003")}


def net(dims, before=()):
    """A convolution over RGB, after what a network does to its pixels; a pool, and features into a Gemm."""
    make, tensor = helper.make_node, lambda name, *shape: helper.make_tensor(name, TensorProto.FLOAT, shape, [0.5] * math.prod(shape))
    nodes = [*before, make("Conv", [before[-1].output[0] if before else "x", "w"], ["c"]), make("GlobalAveragePool", ["c"], ["p"]),
             make("Flatten", ["p"], ["f"]), make("Gemm", ["f", "g", "b"], ["y"])]
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [tensor("w", 8, 3, 3, 3), tensor("g", 8, 10), tensor("b", 10), tensor("mean", 1, 3, 1, 1)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


PIXELS = {"as they are": (), "less a mean": (helper.make_node("Sub", ["x", "mean"], ["d"]),)}


@pytest.mark.parametrize("dims", [[1, 3, 32, 48], ["n", 3, "height", "width"], ["n", "channels", "height", "width"]], ids=str)
@pytest.mark.parametrize("before", PIXELS)
def test_channels_and_features_are_no_warning(thaw, save, dims, before):
    assert {finding["severity"] for finding in thaw.findings(save(net(dims, PIXELS[before])))} <= {"note"}


@pytest.mark.parametrize("dims", [["n", 3, "height", "width"], [1, 3, 64, "width"]], ids=str)
def test_a_weight_that_fixes_the_sides_of_an_image_is_a_warning(thaw, save, dims):
    made = net(dims)
    made.graph.node.remove(made.graph.node[1])
    made.graph.node[1].input[0] = "c"
    found, = [finding for finding in thaw.findings(save(made)) if finding["code"] == "THAW015"]
    assert found["severity"] == "warning" and "fixes a size at 8" in found["message"]
