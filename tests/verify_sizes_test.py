"""`thaw verify` finds sizes that a model runs at: every model here agrees with itself without being told any."""
import numpy as np
import pytest
from onnx import TensorProto, helper

from batch_check_test import two_rates
from batch_control_test import constant, info, model_of, node
from models import exported, scrfd, text_decoder, vision_tower

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
RNG = np.random.default_rng(11)


def weights(name, *dims):
    return constant(name, RNG.standard_normal(dims) / 8, np.float32)


def one_sample_only():
    return model_of([node("Reshape", "x to", "r"), node("MatMul", "r w", "y")], [info("x", dims=["batch", 4, 6])], [info("y")],
                    [constant("to", [1, 24]), weights("w", 24, 3)])


def one_sample_of_any_length():
    """A state of one sample, and a length that is free."""
    return model_of([node("Concat", "state x", "s", axis=1), node("ReduceMean", "s", "y", axes=[1], keepdims=0)],
                    [info("x", dims=["batch", "time", 6])], [info("y")], [constant("state", np.ones((1, 2, 6)), np.float32)])


def frozen_axes():
    """Declared free, and of 22 by 30 patches."""
    return model_of([node("Reshape", "x to", "r"), node("Add", "r table", "y")], [info("x", dims=["n", 3, "h", "w"])], [info("y")],
                    [constant("to", [0, 3, 22 * 30]), constant("table", np.ones((1, 1, 660)), np.float32)])


def frozen_side():
    return model_of([node("Reshape", "x to", "r"), node("Relu", "r", "y")], [info("x", dims=["n", "t", 8])], [info("y")],
                    [constant("to", [-1, 37 * 8])])


def recording(window=4096, stride=1024):
    """Nothing comes out before there are thousands of samples."""
    return model_of([node("Unsqueeze", "x one", "u"), node("Conv", "u w", "c", strides=[stride]), node("Relu", "c", "y")],
                    [info("x", dims=["batch", "samples"])], [info("y")], [constant("one", [1]), weights("w", 2, 1, window)])


def recording_of_one_axis():
    """The same without a batch, by slices, which run empty."""
    return model_of([node("Slice", "x from to", "s"), node("Relu", "s", "y")], [info("x", dims=["samples"])], [info("y")],
                    [constant("from", [9000]), constant("to", [2 ** 40])])


def decoder_with_past():
    """A mask of past and new tokens."""
    return model_of([node("Concat", "past new", "all", axis=1), node("ReduceSum", "all one", "sums", keepdims=0),
                     node("Unsqueeze", "mask two", "m"), node("Mul", "all m", "masked"), node("Relu", "masked", "y"), node("Neg", "sums", "z")],
                    [info("past", dims=["b", "past_length", 4]), info("new", dims=["b", "new_length", 4]), info("mask", dims=["b", "total"])],
                    [info("y"), info("z")], [constant("one", [1]), constant("two", [2])])


def positions_in_a_table():
    return model_of([node("Gather", "table positions", "p"), node("Add", "x p", "y")], [info("x", dims=["b", "t", 4]), info("positions", INT64, ["b", "t"])],
                    [info("y")], [constant("table", RNG.standard_normal((7, 4)), np.float32)])


def length_within_a_table():
    """A table of 11 positions is cut to the length."""
    return model_of([node("Shape", "x", "s"), node("Slice", "s one two", "t"), node("Slice", "table zero t", "p"), node("Add", "x p", "y")],
                    [info("x", dims=["b", "t_", 4])], [info("y")],
                    [constant("table", RNG.standard_normal((11, 4)), np.float32), constant("zero", [0]), constant("one", [1]), constant("two", [2])])


def patches_of_a_grid():
    """As many patches as a grid has places, which is fed."""
    return model_of([node("Gather", "grid zero", "h"), node("Gather", "grid one", "w"), node("Mul", "h w", "n"), node("Concat", "n five", "to", axis=0),
                     node("ConstantOfShape", "to", "c"), node("MatMul", "c z", "p"), node("Concat", "x p", "y", axis=1)],
                    [info("x", dims=["patches", 5]), info("grid", INT64, [2]), info("z", dims=[5, 5])], [info("y")],
                    [constant("zero", [0]), constant("one", [1]), constant("five", [5])])


def windows_of_four():
    return model_of([node("Reshape", "x to", "r"), node("Relu", "r", "y")], [info("x", dims=["b", "t", 6])], [info("y")],
                    [constant("to", [0, -1, 4 * 6])])


def two_names_of_one_size():
    return model_of([node("MatMul", "a b", "y")], [info("a", dims=["rows", "inner"]), info("b", dims=["depth", "columns"])], [info("y")])


def voice_detector():
    """Samples in a chunk whose length the sample rate decides, and what a recurrence carries: [layers, voices, hidden], with a name of its own."""
    def branch(name, window):
        nodes = [node("Conv", f"u {name}_w", f"{name}_c", strides=[window]), node("Squeeze", f"{name}_c two", name if name == "fast" else "flat")]
        if name == "slow":
            nodes.append(node("Unsqueeze", "flat one", name))
        return helper.make_graph(nodes, name, [], [info(name)], [weights(f"{name}_w", 6, 1, window)])

    nodes = [node("Unsqueeze", "x one", "u"), node("Equal", "sr rate", "is_fast"),
             node("If", "is_fast", "i", then_branch=branch("fast", 512), else_branch=branch("slow", 256)), node("Reshape", "i rows", "r"),
             node("Gather", "state zero", "s"), node("Concat", "r s", "y", axis=1)]
    return model_of(nodes, [info("x", dims=["chunks", "samples"]), info("sr", INT64, []), info("state", dims=[2, "voices", 6])], [info("y")],
                    [constant("one", [1]), constant("two", [2]), constant("zero", 0), constant("rate", 16000), constant("rows", [-1, 6])])


def scattered():
    return model_of([node("ScatterElements", "data places new", "s", axis=1), node("ScatterND", "s corners more", "y")],
                    [info("data", dims=[3, 5]), info("places", INT64, [3, 2]), info("new", dims=[3, 2]), info("corners", INT64, [4, 2]), info("more", dims=[4])],
                    [info("y")])


def an_output_twice():
    return model_of([node("Relu", "x", "y")], [info("x", dims=[2, 3])], [info("y"), info("y")])


def nothing_to_sum():
    """An axis that is declared 0, which is what ONNX Runtime takes."""
    return model_of([node("ReduceSum", "x one", "y", keepdims=0)], [info("x", dims=[2, 0, 4])], [info("y")], [constant("one", [1])])


def fixed():
    return model_of([node("Relu", "x", "y")], [info("x", dims=[2, 3])], [info("y")])


# The model, and how many sizes there are to find.
MODELS = {
    "one sample only": (one_sample_only(), 1), "one sample of any length": (one_sample_of_any_length(), 2), "frozen axes": (frozen_axes(), 1),
    "a frozen side": (frozen_side(), 2), "a long recording": (recording(), 2), "a very long one": (recording(20000, 320), 2),
    "a recording of one axis": (recording_of_one_axis(), 2), "past and new tokens": (decoder_with_past(), 2),
    "positions in a table": (positions_in_a_table(), 2), "a length within a table": (length_within_a_table(), 2),
    "patches of a grid": (patches_of_a_grid(), 2), "windows of four": (windows_of_four(), 2), "two names of one size": (two_names_of_one_size(), 2),
    "two rates": (two_rates(), 1), "a voice detector": (voice_detector(), 1), "scattered": (scattered(), 1),
    "an output twice": (an_output_twice(), 1), "nothing to sum": (nothing_to_sum(), 1), "fixed": (fixed(), 1), "a detector": (scrfd.without_value_info(scrfd.model()), 2),
    "anchors": (exported.detector_with_anchors(160).model, 1), "an old file": (exported.old_file().model, 2),
    "a decoder": (text_decoder.dynamic(), 2), "a tower": (vision_tower.dynamic(), 2),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_agrees_with_itself(thaw, save, name):
    model, count = MODELS[name]
    path = save(model)
    report = thaw.json("verify", path, "--against", path, code=0)
    assert report["accepted"] and len(report["points"]) >= count
    assert len({str(point["inputs"]) for point in report["points"]}) == len(report["points"])
    assert all(any(output["elements"] > 0 for output in point["outputs"]) for point in report["points"])


@pytest.mark.parametrize("given", [{"past_length": 5}, {"total": 12, "b": 2}, {"new_length": 1, "b": 3}])
def test_sizes_that_are_given_hold_at_every_point(thaw, save, given):
    path = save(decoder_with_past())
    text = ",".join(f"{n}={v}" for n, v in given.items())
    report = thaw.json("verify", path, "--against", path, "--sizes", text, code=0)
    assert len(report["points"]) >= 2
    for point in report["points"]:
        assert all(point["sizes"][n] == v for n, v in given.items())
        assert point["sizes"]["past_length"] + point["sizes"]["new_length"] == point["sizes"]["total"]


def test_sizes_that_are_given_hold_in_a_sweep(thaw, save):
    path = save(decoder_with_past())
    report = thaw.json("verify", path, "--against", path, "--sizes", "b=2", "--sizes", "past_length=0|3|9", code=0)
    assert [(p["sizes"]["past_length"], p["sizes"]["b"]) for p in report["points"]] == [(0, 2), (3, 2), (9, 2)]
    assert all(p["status"] == "agrees" for p in report["points"])
    message = thaw.error("verify", path, "--against", path, "--sizes", "b=2", "--sizes", "b=2|3")
    assert "'b=2|3'" in message and "twice" in message
    assert "'nothing'" in thaw.error("verify", path, "--against", path, "--sizes", "nothing=2")


def test_nothing_that_was_compared_is_no_agreement(thaw, save):
    """An output without elements at every size that there is."""
    path = save(model_of([node("Slice", "x from to", "y")], [info("x", dims=["n"])], [info("y")],
                         [constant("from", [2 ** 30]), constant("to", [2 ** 40])]))
    report = thaw.json("verify", path, "--against", path, code=1)
    assert not report["accepted"] and "nothing was compared" in report["points"][0]["message"]


def test_what_never_runs_is_said_with_a_next_step(thaw, save):
    """Two conditions that no size meets: 5 rows and 7."""
    path = save(model_of([node("Reshape", "x five", "a"), node("Reshape", "x seven", "b")], [info("x", dims=["n"])], [info("a"), info("b")],
                         [constant("five", [5]), constant("seven", [7])]))
    message = thaw.error("verify", path, "--against", path)
    assert "no size was found" in message and "--sizes" in message


@pytest.mark.parametrize("name", [n for n in MODELS if n != "two rates"])
def test_a_model_runs_at_sizes_that_are_found(thaw, save, name):
    thaw("run", save(MODELS[name][0]), "--random", code=0)
