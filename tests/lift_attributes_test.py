"""Sizes that stand in attributes: exporters fold a Pad into what reads it, and cut or lengthen what they make by an attribute."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto

from conftest import session
from lift_net import Net, seen_of, up

CHANNELS = 2
KERNEL = np.random.default_rng(0).standard_normal((CHANNELS, 1, 3), dtype=np.float32)
UNSEEN = (9, 14, 23, 27, 30, 42, 45, 58, 61, 64, 97)
# Of the last, the second convolution has an odd number of entries in all.
TRIPLES = [(19, 24, 37), (50, 53, 71), (48, 63, 85), (33, 40, 46), (86, 101, 42)]


def same(n, kernel, stride):
    """What TensorFlow's "same" pads."""
    total = max((up(n, stride) - 1) * stride + kernel - n, 0)
    return [total // 2, total - total // 2]


def convolved(net, x, n, stride):
    return net.add("Conv", x, net.constant(KERNEL), strides=[stride], pads=same(n, 3, stride), group=CHANNELS)


def folded_pads(n):
    net = Net()
    x = convolved(net, "x", n, 2)
    return net.model([1, CHANNELS, n], convolved(net, x, up(n, 2), 2))


def folded_pads_of_maxima(n):
    net = Net()
    return net.model([1, CHANNELS, n], net.add("MaxPool", "x", kernel_shape=[3], strides=[2], pads=same(n, 3, 2)))


def folded_pads_of_averages(n):
    net = Net()
    return net.model([1, CHANNELS, n], net.add("AveragePool", "x", kernel_shape=[3], strides=[2], pads=same(n, 3, 2), count_include_pad=1))


def lengthened(n):
    """As torch's `output_size` asks for."""
    net = Net()
    down = net.add("Conv", "x", net.constant(KERNEL), strides=[2], pads=[1, 1], group=CHANNELS)
    back = net.add("ConvTranspose", down, net.constant(KERNEL), strides=[2], pads=[1, 1], output_padding=[(n - 1) % 2], group=CHANNELS)
    return net.model([1, CHANNELS, n], net.add("Add", back, "x"))


def cut_off(n):
    """More than it needs, at both ends."""
    net = Net()
    down = net.add("Conv", "x", net.constant(KERNEL), strides=[3], pads=[2, 2], group=CHANNELS)
    made = ((n + 4 - 3) // 3) * 3 + 3
    back = net.add("ConvTranspose", down, net.constant(KERNEL), strides=[3], pads=[1, made - 1 - n], group=CHANNELS)
    return net.model([1, CHANNELS, n], net.add("Add", back, "x"))


def cells_of(op, rank, sides, cells):
    net, kernel = Net(), [side // count for side, count in zip(sides, cells, strict=True)]
    return net.model([1, CHANNELS, *sides], net.add(op, "x", kernel_shape=kernel, strides=kernel))


def fifths(n):
    """Windows of a fifth of the length, rounded down: of 14 there are 7."""
    return cells_of("MaxPool", 1, [n], [5])


@pytest.mark.parametrize("lengths", TRIPLES, ids=str)
@pytest.mark.parametrize("build", [folded_pads, folded_pads_of_maxima, folded_pads_of_averages, lengthened, cut_off, fifths])
def test_no_length_is_wrong(thaw, save, tmp_path, build, lengths):
    seen = seen_of(thaw, save, tmp_path, build, lengths, UNSEEN)
    assert set(seen.values()) <= {"right", "guard"}, seen


@pytest.mark.parametrize(("build", "lengths"), [(folded_pads, (19, 24, 37, 46)), (folded_pads_of_maxima, (19, 24, 37)), (folded_pads_of_averages, (19, 24, 37)),
                                                (lengthened, (19, 24, 37)), (cut_off, (19, 24, 38))])
def test_what_the_traces_tell_is_right(thaw, save, tmp_path, build, lengths):
    seen = seen_of(thaw, save, tmp_path, build, lengths, UNSEEN)
    assert set(seen.values()) == {"right"}, seen


def two_axes(h, w):
    net = Net()
    kernel = net.constant(np.random.default_rng(1).standard_normal((CHANNELS, 1, 3, 3), dtype=np.float32))
    (top, bottom), (left, right) = same(h, 3, 2), same(w, 3, 2)
    down = net.add("Conv", "x", kernel, strides=[2, 2], pads=[top, left, bottom, right], group=CHANNELS)
    back = net.add("ConvTranspose", down, kernel, strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[(h - 1) % 2, (w - 1) % 2], group=CHANNELS)
    return net.model([1, CHANNELS, h, w], net.add("Add", back, "x"))


def test_both_sides_of_an_image(thaw, save, tmp_path):
    paths = [save(two_axes(h, w), f"trace_{h}x{w}") for h, w in [(19, 44), (24, 31), (38, 29)]]
    report = thaw("lift", *paths, "-o", tmp_path / "out.onnx", code=0).stdout
    assert "proven equal" in report or "agrees" in report
    run = session(tmp_path / "out.onnx")
    for h, w in [(23, 37), (12, 18), (31, 14), (64, 97)]:
        x = np.random.default_rng(h).standard_normal((1, CHANNELS, h, w), dtype=np.float32)
        wanted = session(save(two_axes(h, w), "wanted")).run(None, {"x": x})[0]
        assert np.abs(run.run(None, {"x": x})[0] - wanted).max() < 1e-5, (h, w)


def test_squares_say_nothing_of_the_other_side(thaw, save, tmp_path):
    """Even in all, which the guard has to ask of both sides."""
    paths = [save(two_axes(n, n), f"trace_{n}") for n in (72, 56, 64)]
    report = thaw("lift", *paths, "-o", tmp_path / "out.onnx", code=0).stdout
    assert "valid for multiples of 2" in report
    run = session(tmp_path / "out.onnx")
    for h, w in [(30, 45), (45, 30), (41, 41)]:
        with pytest.raises(Exception, match="guard_Reshape"):
            run.run(None, {"x": np.zeros((1, CHANNELS, h, w), np.float32)})
    x = np.random.default_rng(0).standard_normal((1, CHANNELS, 46, 46), dtype=np.float32)
    assert np.abs(run.run(None, {"x": x})[0] - session(save(two_axes(46, 46), "wanted")).run(None, {"x": x})[0]).max() < 1e-5


def no_counted_pads(n):
    net = Net()
    return net.model([1, CHANNELS, n], net.add("AveragePool", "x", kernel_shape=[3], strides=[2], pads=same(n, 3, 2)))


def counted_maxima(n):
    net = Net()
    top = net.add("MaxPool", "x", kernel_shape=[3], strides=[2], pads=same(n, 3, 2))
    net.nodes[-1].output.append("places")
    return net.model([1, CHANNELS, n], net.add("Add", top, net.add("Cast", "places", to=TensorProto.FLOAT)))


@pytest.mark.parametrize("build", [no_counted_pads, counted_maxima])
def test_what_no_operand_does_is_refused(thaw, save, tmp_path, build):
    paths = [save(build(n), f"trace_{n}") for n in (19, 24, 37)]
    report = thaw("lift", *paths, "-o", tmp_path / "out.onnx", code=1).stdout
    assert "the attribute 'pads' differs" in report and not (tmp_path / "out.onnx").exists()


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("rest", [False, True])
def test_cells_along_any_number_of_axes(thaw, save, tmp_path, op, rank, rest):
    """With a rest, a window is as long as a side over the cells, rounded down, and cells are as many as fit; without, sides that are no
    multiple are refused."""
    cells = (2, 3, 4)[:rank]
    traces = [(16, 24, 12), (22, 9, 20), (10, 33, 8)] if not rest else [(17, 25, 14), (23, 10, 20), (10, 33, 27), (42, 41, 37), (55, 64, 50)]
    unseen = [(14, 15, 28), (26, 69, 16)] + ([(15, 16, 17), (19, 44, 23), (3, 5, 7)] if rest else [])
    paths = [save(cells_of(op, rank, sides[:rank], cells), f"trace_{k}") for k, sides in enumerate(traces)]
    thaw("lift", *paths, "-o", tmp_path / "out.onnx", code=0)
    run, seen = session(tmp_path / "out.onnx"), []
    for sides in unseen:
        x = np.random.default_rng(sum(sides)).standard_normal((1, CHANNELS, *sides[:rank]), dtype=np.float32)
        wanted = session(save(cells_of(op, rank, sides[:rank], cells), "wanted")).run(None, {"x": x})[0]
        try:
            got = run.run(None, {"x": x})[0]
            seen.append("right" if got.shape == wanted.shape and np.abs(got - wanted).max() < 1e-5 else "wrong")
        except Exception as error:
            seen.append("guard" if rest and "guard_Reshape" in str(error) else "error")
    assert set(seen) <= {"right", "guard"} and seen.count("right") >= 2, seen
    for sides in [] if rest else [(15, 15, 28), (17, 68, 13)]:
        with pytest.raises(Exception, match="Reshape"):
            run.run(None, {"x": np.zeros((1, CHANNELS, *sides[:rank]), np.float32)})


# Opsets in which operands of today are attributes.

def older(opset, n):
    """Halves, a Pad to whole pieces of 4, and what is twice as long."""
    net, half = Net(), up(n, 2)
    if opset < 13:
        parts = net.add("Split", "x", axis=1, split=[half, n - half])
    else:
        parts = net.add("Split", "x", net.ints(half, n - half), axis=1)
    net.nodes[-1].output.append("behind")
    sides = [0, 0, 0, -half % 4]
    padded = net.add("Pad", parts, mode="constant", pads=sides) if opset < 11 else net.add("Pad", parts, net.ints(*sides), mode="constant")
    if opset < 10:
        cut = net.add("Slice", padded, starts=[1], ends=[half], axes=[1])
    else:
        cut = net.add("Slice", padded, net.ints(1), net.ints(half), net.ints(1))
    whole = net.add("Concat", cut, "behind", axis=1)
    total = net.add("ReduceSum", whole, axes=[1], keepdims=1) if opset < 13 else net.add("ReduceSum", whole, net.ints(1), keepdims=1)
    return net.model([1, n], net.add("Mul", whole, total), opset)


@pytest.mark.parametrize("opset", [8, 9, 10, 11, 12, 13])
def test_traces_of_any_opset(thaw, save, tmp_path, opset):
    seen = seen_of(thaw, save, tmp_path, lambda n: older(opset, n), (34, 43, 53, 72), UNSEEN)
    assert set(seen.values()) == {"right"}, seen
    assert onnx.load(tmp_path / "lifted.onnx").opset_import[0].version == 13


def test_an_opset_in_which_sizes_are_computed_stays(thaw, save, tmp_path):
    def trace(n):
        net = Net()
        return net.model([1, n], net.add("Pad", "x", net.ints(0, 0, 0, -n % 4), mode="constant"), 12)

    seen = seen_of(thaw, save, tmp_path, trace, (17, 22, 27, 36), UNSEEN)
    assert set(seen.values()) == {"right"}, seen
    assert onnx.load(tmp_path / "lifted.onnx").opset_import[0].version == 12


def test_traces_of_different_opsets(thaw, save, tmp_path):
    """Each as its own exporter wrote it."""
    paths = [save(older(opset, n), f"trace_{n}") for opset, n in ((11, 34), (13, 43), (12, 53), (9, 72))]
    report = thaw("lift", *paths, "-o", tmp_path / "lifted.onnx", code=0).stdout
    assert "opset: raised from 9 to 13" in report, report
    run = session(tmp_path / "lifted.onnx")
    for n in UNSEEN:
        x = np.random.default_rng(n).standard_normal((1, n), dtype=np.float32)
        wanted = session(save(older(13, n), "wanted")).run(None, {"x": x})[0]
        assert np.abs(run.run(None, {"x": x})[0] - wanted).max() < 1e-5, n


def test_a_node_without_an_equal_says_what_to_do(thaw, save, tmp_path):
    """ONNX Runtime takes attributes that came later, and no newer opset before 14 has this one."""
    def trace(n):
        net = Net()
        return net.model([1, n], net.add("Reshape", "x", net.ints(n, 1), allowzero=0), 11)

    error = thaw.error("lift", *[save(trace(n), f"trace_{n}") for n in (19, 24, 37)], "-o", tmp_path / "out.onnx")
    assert "it has no attribute 'allowzero' there" in error and "export the model at opset 13 or later" in error
    assert not (tmp_path / "out.onnx").exists()
