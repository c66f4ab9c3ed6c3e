"""Traces that have not the same nodes: what a divisible side leaves out, what was folded at some sizes only."""
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from conftest import session
from lift_net import Net

WINDOW, WIDTH = 4, 3
TRACES, UNSEEN = [(16, 24), (20, 15), (23, 33)], [(22, 18), (8, 9), (26, 29), (12, 40)]


def lifted(thaw, save, tmp_path, traces, **options):
    paths = [save(model, f"trace_{name}") for name, model in traces.items()]
    out = tmp_path / "lifted.onnx"
    thaw("lift", *paths, "-o", out, code=0, **options)
    return session(out)


def image(h, w):
    return np.random.default_rng(h * 100 + w).standard_normal((1, h, w, WIDTH), dtype=np.float32)


def windows(x):
    """Each cell less its window's largest, of windows that are padded with zeros at the lower and right edge."""
    _, h, w, _ = x.shape
    padded = np.pad(x, [(0, 0), (0, -h % WINDOW), (0, -w % WINDOW), (0, 0)])
    _, tall, wide, _ = padded.shape
    cut = padded.reshape(1, tall // WINDOW, WINDOW, wide // WINDOW, WINDOW, WIDTH)
    cut = cut - cut.max((2, 4), keepdims=True)
    return cut.reshape(1, tall, wide, WIDTH)[:, :h, :w].reshape(1, h * w, WIDTH)


def window_trace(h, w):
    """As an exporter writes it: no Pad and no Slice along a side that whole windows cover, and one Reshape for two."""
    net, more = Net(), (-h % WINDOW, -w % WINDOW)
    x, tall, wide = "x", h + more[0], w + more[1]
    if any(more):
        x = net.add("Pad", x, net.ints(0, 0, 0, 0, 0, *more, 0))
    x = net.add("Reshape", x, net.ints(1, tall // WINDOW, WINDOW, wide // WINDOW, WINDOW, WIDTH))
    x = net.add("Sub", x, net.add("ReduceMax", x, net.ints(2, 4), keepdims=1))
    if any(more):
        x = net.add("Reshape", x, net.ints(-1, tall, wide, WIDTH), allowzero=1)
        if more[0]:
            x = net.add("Slice", x, net.ints(0), net.ints(-more[0]), net.ints(1), net.ints(1))
        if more[1]:
            x = net.add("Slice", x, net.ints(0), net.ints(w), net.ints(2), net.ints(1))
    x = net.add("Reshape", x, net.ints(1, h * w, WIDTH))
    return net.model([1, h, w, WIDTH], net.add("Neg", x))


def test_what_a_divisible_side_leaves_out_changes_nothing_there(thaw, save, tmp_path):
    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": window_trace(h, w) for h, w in TRACES})
    for h, w in [*TRACES, *UNSEEN]:
        got = run.run(None, {"x": image(h, w)})[0]
        wanted = -windows(image(h, w))
        assert got.shape == wanted.shape and np.array_equal(got, wanted), (h, w)


@pytest.mark.parametrize("stored", [True, False])
def test_zeros_that_fill_the_last_chunk_are_not_there_where_it_is_whole(thaw, save, tmp_path, stored):
    """Joined by hand, as constants or as what fills a shape (Gemma 3n's audio)."""
    def trace(n):
        net, more = Net(), -n % WINDOW
        x = net.add("Relu", "x")
        if more:
            zeros = net.constant(np.zeros((1, more, WIDTH), np.float32)) if stored else net.add("ConstantOfShape", net.ints(1, more, WIDTH))
            x = net.add("Concat", x, zeros, axis=1)
        x = net.add("Reshape", x, net.ints(1, (n + more) // WINDOW, WINDOW, WIDTH))
        x = net.add("Sub", x, net.add("ReduceMax", x, net.ints(2), keepdims=1))
        x = net.add("Reshape", x, net.ints(1, n + more, WIDTH))
        if more:
            x = net.add("Slice", x, net.ints(0), net.ints(n), net.ints(1), net.ints(1))
        return net.model([1, n, WIDTH], net.add("Neg", x))

    run = lifted(thaw, save, tmp_path, {str(n): trace(n) for n in (16, 26, 39)})
    for n in (16, 26, 39, 5, 12, 53, 70):
        x = np.random.default_rng(n).standard_normal((1, n, WIDTH), dtype=np.float32)
        cut = np.pad(np.maximum(x, 0), [(0, 0), (0, -n % WINDOW), (0, 0)]).reshape(1, -1, WINDOW, WIDTH)
        wanted = (cut.max(2, keepdims=True) - cut).reshape(1, -1, WIDTH)[:, :n]
        assert np.array_equal(run.run(None, {"x": x})[0], wanted), n


def test_every_fourth_place_is_no_list_of_windows(thaw, save, tmp_path):
    """There are as many as rows of what a step of 4 leaves, which rounds otherwise than windows of what the last place happens to be."""
    def trace(n):
        net = Net()
        rows = net.add("Slice", "x", net.ints(0), net.ints(2**60), net.ints(1), net.ints(4))
        return net.model([1, n, WIDTH], net.add("Add", rows, net.add("Gather", "x", net.constant(np.arange(0, n, 4)), axis=1)))

    run = lifted(thaw, save, tmp_path, {str(n): trace(n) for n in (61, 101, 150)})
    for n in (61, 101, 150, 5, 103, 104, 105, 211):
        x = np.random.default_rng(n).standard_normal((1, n, WIDTH), dtype=np.float32)
        assert np.array_equal(run.run(None, {"x": x})[0], 2 * x[:, ::4]), n


def test_a_pad_that_was_joined_with_a_convolution_is_there_again(thaw, save, tmp_path):
    """Patches of 4 x 4, of an image that is padded to whole ones: `pads` of the Conv differ, and are not there at all."""
    kernel = np.random.default_rng(0).standard_normal((5, 3, 4, 4), dtype=np.float32)

    def trace(h, w, fused):
        net, more, x = Net(), (-h % 4, -w % 4), "x"
        attributes = dict(strides=[4, 4])
        if any(more) and fused:
            attributes["pads"] = [0, 0, *more]
        elif any(more) or not fused:
            x = net.add("Pad", x, net.ints(0, 0, 0, 0, 0, 0, *more))
        return net.model([1, 3, h, w], net.add("Conv", x, net.constant(kernel), **attributes))

    sizes = [(64, 96), (77, 59), (90, 131)]
    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": trace(h, w, True) for h, w in sizes})
    for h, w in [*sizes, (88, 70), (101, 115)]:
        x = np.random.default_rng(h).standard_normal((1, 3, h, w), dtype=np.float32)
        wanted = session(save(trace(h, w, False), "wanted")).run(None, {"x": x})[0]
        got = run.run(None, {"x": x})[0]
        assert got.shape == wanted.shape and np.abs(got - wanted).max() < 1e-4, (h, w)


def test_a_mask_that_was_folded_at_small_sizes_only(thaw, save, tmp_path):
    def trace(n):
        net = Net()
        causal = np.tril(np.ones((n, n), bool))
        if n > 30:
            bias = net.add("Where", net.constant(causal), net.constant(np.float32(0)), net.constant(np.float32(-1e4)))
        else:
            bias = net.constant(np.where(causal, np.float32(0), np.float32(-1e4)))
        return net.model([n, n], net.add("Softmax", net.add("Add", "x", bias), axis=-1))

    run = lifted(thaw, save, tmp_path, {str(n): trace(n) for n in (19, 34, 53)})
    for n in (7, 27, 61):
        x = np.random.default_rng(n).standard_normal((n, n), dtype=np.float32)
        weights = np.exp(x - x.max(1, keepdims=True)) * np.tril(np.ones((n, n)))
        assert np.abs(run.run(None, {"x": x})[0] - weights / weights.sum(1, keepdims=True)).max() < 1e-5, n


def test_sizes_that_were_computed_in_some_traces_only(thaw, save, tmp_path):
    """Half of the rows twice: with the row count read off the input, or written down."""
    def trace(n):
        net = Net()
        half = net.ints(n // 2)
        if n % 2:
            rows = net.add("Slice", net.add("Shape", "x"), net.ints(0), net.ints(1))
            half = net.add("Div", rows, net.ints(2))
        top = net.add("Slice", "x", net.ints(0), half, net.ints(0), net.ints(1))
        return net.model([n, 2], net.add("Concat", top, top, axis=0))

    run = lifted(thaw, save, tmp_path, {str(n): trace(n) for n in (20, 33, 54)})
    for n in (7, 28, 61):
        x = np.arange(2 * n, dtype=np.float32).reshape(n, 2)
        assert np.array_equal(run.run(None, {"x": x})[0], np.concatenate([x[:n // 2]] * 2)), n


@pytest.mark.parametrize("as_node", [False, True])
def test_an_output_that_was_folded_grows_with_its_size(thaw, save, tmp_path, as_node):
    """Positions that a model returns as they are made: a constant of the trace, an initializer or a node."""
    def trace(n):
        net, positions = Net(), np.arange(n, dtype=np.float32)[None]
        if as_node:
            net.nodes.append(helper.make_node("Constant", [], ["positions"], value=numpy_helper.from_array(positions)))
        else:
            net.constants.append(numpy_helper.from_array(positions, "positions"))
        model = net.model([1, n], net.add("Neg", "x"))
        model.graph.output.append(helper.make_tensor_value_info("positions", TensorProto.FLOAT, [1, n]))
        return model

    run = lifted(thaw, save, tmp_path, {str(n): trace(n) for n in (19, 34, 53)})
    for n in (7, 27, 61):
        got = run.run(["y", "positions"], {"x": np.ones((1, n), np.float32)})
        assert np.array_equal(got[0], -np.ones((1, n))) and np.array_equal(got[1], np.arange(n)[None]), n


def test_other_nodes_are_not_made_up(thaw, save, tmp_path):
    """A Relu in one trace only is another model."""
    paths = []
    for n in (19, 34, 53):
        net, x = Net(), "x"
        if n == 34:
            x = net.add("Relu", x)
        paths.append(save(net.model([n], net.add("Neg", x)), f"trace_{n}"))
    message = thaw.error("lift", *paths, "-o", tmp_path / "out.onnx")
    assert "trace_34.onnx" in message and "not the same" in message and not (tmp_path / "out.onnx").exists()


REALS = {
    "over": lambda h, w: np.float32(1) / np.float32(h),
    "part": lambda h, w: np.float32(h / 8.0),
    "root": lambda h, w: np.float32(np.sqrt(np.float32(w))),
    "over a root": lambda h, w: np.float32(1 / np.sqrt(np.float64(h * w))),
    "whole": lambda h, w: np.float32(np.ceil(w / 4)),
    "of two": lambda h, w: np.float32(h) / np.float32(w),
    "a little more": lambda h, w: np.float32(h + 1e-6),
    "between": lambda h, w: np.float32(2.0 / (h - 1)),
}


@pytest.mark.parametrize("name", REALS)
def test_a_real_number_is_computed_as_it_was(thaw, save, tmp_path, name):
    def trace(h, w):
        net = Net()
        return net.model([h, w], net.add("Mul", "x", net.constant(REALS[name](h, w))))

    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": trace(h, w) for h, w in [(16, 24), (20, 15), (23, 57)]})
    for h, w in [(18, 22), (41, 9), (64, 127)]:
        got = run.run(None, {"x": np.ones((h, w), np.float32)})[0]
        assert np.abs(got / REALS[name](h, w) - 1).max() <= 2.4e-7, (h, w)


def test_a_number_that_no_size_gives_is_not_guessed(thaw, save, tmp_path):
    paths = []
    for n, value in ((19, 0.371), (34, 0.52), (53, 0.1)):
        net = Net()
        paths.append(save(net.model([n], net.add("Mul", "x", net.constant(np.float32(value)))), f"trace_{n}"))
    run = thaw("lift", *paths, "-o", tmp_path / "out.onnx", code=1)
    assert "its only entry differs" in run.stdout and not (tmp_path / "out.onnx").exists()


def slopes(n):
    return (-0.5 ** np.arange(1, 5)[:, None] * np.arange(n - 1, -1, -1)).astype(np.float32)


def sinusoids(positions, width=16):
    angles = positions[:, None] / 10000 ** (np.arange(width // 2) * 2 / width)
    return np.concatenate([np.sin(angles), np.cos(angles)], -1).astype(np.float32)


def in_turn(positions, width=16):
    table = sinusoids(positions, width)
    return table.reshape(-1, 2, width // 2).transpose(0, 2, 1).reshape(-1, width)


def logarithms(n, farthest=None):
    distances = np.arange(1 - n, n) * (farthest / (n - 1) if farthest else 1)
    return (np.sign(distances) * np.log2(1 + np.abs(distances)) / 3).astype(np.float32)


FROM_THE_END = {
    "slopes": slopes,
    "rows back from n": lambda n: sinusoids(np.arange(n, -n, -1.0)),
    "all distances": lambda n: in_turn(np.arange(n - 1, -n, -1.0)),
    "logarithms of distances": logarithms,
    "logarithms of distances up to 8": lambda n: logarithms(n, 8),
}


@pytest.mark.parametrize("name", FROM_THE_END)
def test_positions_counted_from_the_end_or_the_middle(thaw, save, tmp_path, name):
    table = FROM_THE_END[name]

    def trace(n):
        net = Net()
        total = net.add("ReduceSum", "x", keepdims=0)
        return net.model([n, 2], net.add("Mul", total, net.constant(table(n))))

    run = lifted(thaw, save, tmp_path, {str(n): trace(n) for n in (19, 34, 53)})
    for n in (5, 27, 200):
        x = np.zeros((n, 2), np.float32)
        x[0] = 0.5
        got, wanted = run.run(None, {"x": x})[0], table(n)
        assert got.shape == wanted.shape and np.abs(got - wanted).max() <= 2e-5, n


@pytest.mark.parametrize("clipped", [True, False])
def test_a_learned_bias_by_distance(thaw, save, tmp_path, clipped):
    """The same from some distance on at every size; one that goes on changing ends with the traces, by an error."""
    learned = np.random.default_rng(1).standard_normal((2, 400)).astype(np.float32)

    def table(n):
        far = np.arange(n) - np.arange(n)[:, None]
        if clipped:
            far = np.clip(far, -8, 4)
        return learned[:, far + 200]

    def trace(n):
        net = Net()
        return net.model([2, n, n], net.add("Add", "x", net.constant(table(n))))

    run = lifted(thaw, save, tmp_path, {str(n): trace(n) for n in (19, 34, 53)})
    for n in (5, 27, 53):
        assert np.array_equal(run.run(None, {"x": np.zeros((2, n, n), np.float32)})[0], table(n)), n
    beyond = np.zeros((2, 90, 90), np.float32)
    if clipped:
        assert np.array_equal(run.run(None, {"x": beyond})[0], table(90))
    else:
        with pytest.raises(Exception, match="guard_Reshape"):
            run.run(None, {"x": beyond})


def test_sizes_of_what_is_padded_tell_how_much(thaw, save, tmp_path):
    """Frames that a convolution leaves, padded to whole pairs."""
    kernel = np.random.default_rng(0).standard_normal((2, 1, 10), dtype=np.float32)

    def trace(n):
        net, frames = Net(), (n - 10) // 5 + 1
        x = net.add("Conv", "x", net.constant(kernel), strides=[5])
        if frames % 2:
            x = net.add("Pad", x, net.ints(0, 0, 0, 0, 0, 1))
        x = net.add("Reshape", x, net.ints(1, 2, (frames + 1) // 2, 2))
        return net.model([1, 1, n], net.add("ReduceSum", x, net.ints(3), keepdims=0))

    run = lifted(thaw, save, tmp_path, {str(n): trace(n) for n in (300, 517, 782)})
    for n in (310, 415, 1203):
        x = np.random.default_rng(n).standard_normal((1, 1, n), dtype=np.float32)
        wanted = session(save(trace(n), "wanted")).run(None, {"x": x})[0]
        assert np.abs(run.run(None, {"x": x})[0] - wanted).max() < 1e-5, n


def test_the_way_out_is_said_where_no_input_tells_the_grid(thaw, save, tmp_path):
    table = np.random.default_rng(5).standard_normal((40, 40, 12)).astype(np.float32)
    paths = []
    for h, w in ((16, 24), (22, 30), (28, 20)):
        net = Net()
        paths.append(save(net.model([h * w, 12], net.add("Add", "x", net.constant(table[:h, :w].reshape(-1, 12)))),
                          f"trace_{h}x{w}"))
    run = thaw("lift", *paths, "-o", tmp_path / "out.onnx", code=1)
    assert "--trace-values" in run.stdout and "--add-input 'grid_thw:int64[1,3]'" in run.stdout


def test_values_of_what_is_no_input_are_an_error(thaw, save, tmp_path):
    paths = []
    for n in (19, 34, 53):
        net = Net()
        paths.append(save(net.model([n], net.add("Neg", "x")), f"t{n}"))
    values = tmp_path / "values.json"
    values.write_text('{"t19.onnx": {"grid_thw": [[1, 19, 1]]}, "t34.onnx": {"grid_thw": [[1, 34, 1]]}, "t53.onnx": {"grid_thw": [[1, 53, 1]]}}')
    message = thaw.error("lift", *paths, "-o", tmp_path / "out.onnx", "--trace-values", values)
    assert "grid_thw" in message and "--add-input" in message


def test_a_side_that_is_whole_in_every_trace_is_padded_like_the_other(thaw, save, tmp_path):
    """The convolution strides by 2 along both sides; the height of each trace is even, the width of some is not."""
    kernel = np.random.default_rng(0).standard_normal((2, 3, 2, 2), dtype=np.float32)

    def trace(h, w, whole=False):
        net, x = Net(), "x"
        if h % 2 or w % 2 or whole:
            x = net.add("Pad", x, net.ints(0, 0, 0, 0, 0, 0, h % 2, w % 2))
        return net.model([1, 3, h, w], net.add("Conv", x, net.constant(kernel), strides=[2, 2]))

    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": trace(h, w) for h, w in [(18, 24), (24, 15), (30, 33)]})
    for h, w in [(17, 20), (33, 31), (26, 28)]:
        x = np.random.default_rng(h).standard_normal((1, 3, h, w), dtype=np.float32)
        wanted = session(save(trace(h, w, whole=True), "wanted")).run(None, {"x": x})[0]
        got = run.run(None, {"x": x})[0]
        assert got.shape == wanted.shape and np.abs(got - wanted).max() < 1e-5, (h, w)


def test_one_window_along_a_side_in_every_trace(thaw, save, tmp_path):
    """Windows become rows of a batch and are given back; only what stood before tells which axis the one of the height is."""

    def trace(h, w):
        net, tall, wide = Net(), -(-h // WINDOW), -(-w // WINDOW)
        x = net.add("Pad", "x", net.ints(0, 0, 0, 0, 0, -h % WINDOW, -w % WINDOW, 0))
        x = net.add("Reshape", x, net.ints(1, tall, WINDOW, wide, WINDOW, WIDTH))
        x = net.add("Transpose", x, perm=[0, 1, 3, 2, 4, 5])
        x = net.add("Reshape", x, net.ints(tall * wide, WINDOW * WINDOW, WIDTH))
        x = net.add("Sub", x, net.add("ReduceMax", x, net.ints(1), keepdims=1))
        x = net.add("Reshape", x, net.ints(1, tall, wide, WINDOW, WINDOW, WIDTH))
        x = net.add("Transpose", x, perm=[0, 1, 3, 2, 4, 5])
        x = net.add("Reshape", x, net.ints(-1, tall * WINDOW, wide * WINDOW, WIDTH))
        x = net.add("Slice", x, net.ints(0), net.ints(h), net.ints(1), net.ints(1))
        x = net.add("Slice", x, net.ints(0), net.ints(w), net.ints(2), net.ints(1))
        x = net.add("Reshape", x, net.ints(1, h * w, WIDTH))
        return net.model([1, h, w, WIDTH], net.add("Neg", x))

    sizes = [(WINDOW - 2, WINDOW), (WINDOW - 1, 2), (WINDOW, WINDOW + 2)]
    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": trace(h, w) for h, w in sizes})
    for h, w in [(2 * WINDOW, 3 * WINDOW), (2 * WINDOW - 1, 2), (3, 2 * WINDOW + 1)]:
        got, wanted = run.run(None, {"x": image(h, w)})[0], -windows(image(h, w))
        assert got.shape == wanted.shape and np.array_equal(got, wanted), (h, w)


def test_outputs_may_be_numbered_otherwise(thaw, save, tmp_path):
    def trace(n):
        net = Net()
        model = net.model([n, 2], net.add("Reshape", "x", net.ints(2 * n)))
        model.graph.output[0].name = model.graph.node[-1].output[0] = f"view_{n}"
        return model

    run = lifted(thaw, save, tmp_path, {str(n): trace(n) for n in (19, 34, 53)})
    assert run.run(None, {"x": np.zeros((7, 2), np.float32)})[0].shape == (14,)


def test_padding_up_to_whole_strides_in_the_convolutions(thaw, save, tmp_path):
    """TensorFlow's `SAME`: a Conv pads both ends of an odd side, and the lower one of an even side; two in a row."""
    kernels = [np.random.default_rng(i).standard_normal((3, 3, 3, 3), dtype=np.float32) * 0.2 for i in range(2)]

    def trace(h, w):
        net, x = Net(), "x"
        for kernel in kernels:
            x = net.add("Conv", x, net.constant(kernel), strides=[2, 2], pads=[h % 2, w % 2, 1, 1])
            h, w = (h + 1) // 2, (w + 1) // 2
        return x, net

    def model(h, w):
        x, net = trace(h, w)
        return net.model([1, 3, h, w], x)

    sizes = [(64, 96), (77, 59), (90, 131)]
    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": model(h, w) for h, w in sizes})
    for h, w in [*sizes, (88, 70), (101, 115), (7, 13)]:
        x = np.random.default_rng(h).standard_normal((1, 3, h, w), dtype=np.float32)
        wanted = session(save(model(h, w), "wanted")).run(None, {"x": x})[0]
        got = run.run(None, {"x": x})[0]
        assert got.shape == wanted.shape and np.abs(got - wanted).max() < 1e-4, (h, w)


def test_padding_that_an_exporter_joins_of_parts(thaw, save, tmp_path):
    """The amounts of a Pad stand at a Concat: what they are is told at the Pad alone, once they are a constant."""
    def trace(h, w):
        net = Net()
        amounts = net.add("Concat", net.ints(0, 0), net.ints(h % 2, w % 2), net.ints(0, 0), net.ints(1, 1), axis=0)
        x = net.add("Pad", "x", amounts)
        return net.model([1, 2, h, w], net.add("Slice", x, net.ints(0, 0), net.ints(2**40, 2**40), net.ints(2, 3), net.ints(2, 2)))

    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": trace(h, w) for h, w in [(16, 24), (20, 15), (23, 33)]})
    for h, w in [(16, 24), (23, 33), (22, 18), (9, 29), (12, 40)]:
        x = np.random.default_rng(h).standard_normal((1, 2, h, w), dtype=np.float32)
        wanted = session(save(trace(h, w), "wanted")).run(None, {"x": x})[0]
        assert np.array_equal(run.run(None, {"x": x})[0], wanted), (h, w)


def test_a_size_and_a_number_that_it_happens_to_be(thaw, save, tmp_path):
    """Exporters write equal numbers once: at 19 rows, the first 19 of them and the number of rows are one constant."""
    def trace(n):
        net = Net()
        rows, nineteen = net.ints(n), net.ints(19)
        if n == 19:
            rows = nineteen
        first = net.add("Slice", "x", net.ints(0), nineteen, net.ints(0), net.ints(1))
        ones = net.add("Expand", net.constant(np.ones(1, np.float32)), rows)
        total = net.add("ReduceSum", ones, net.ints(0), keepdims=1)
        return net.model([n, 2], net.add("Mul", first, total))

    run = lifted(thaw, save, tmp_path, {str(n): trace(n) for n in (19, 34, 53)})
    for n in (19, 23, 61):
        x = np.arange(2 * n, dtype=np.float32).reshape(n, 2)
        assert np.array_equal(run.run(None, {"x": x})[0], x[:19] * n), n


def test_what_is_cut_along_another_axis_is_another_cut(thaw, save, tmp_path):
    """A square of the cells of the longer side, cut to the image: along the rows where it is wide, along the columns where it is tall."""
    square = np.random.default_rng(0).standard_normal((WIDTH, 5), dtype=np.float32)

    def trace(h, w):
        net, side = Net(), max(h, w)
        x = net.add("AveragePool", "x", kernel_shape=[2, 2], strides=[2, 2])
        grid = net.add("Expand", net.constant(square[:, :1, None]), net.ints(WIDTH, side, side))
        cells = net.add("Add", grid, net.constant(np.arange(side, dtype=np.float32)))
        if h < side:
            cells = net.add("Slice", cells, net.ints(0), net.ints(h), net.ints(1), net.ints(1))
        if w < side:
            cells = net.add("Slice", cells, net.ints(0), net.ints(w), net.ints(2), net.ints(1))
        return net.model([1, WIDTH, 2 * h, 2 * w], net.add("Add", x, cells))

    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": trace(h, w) for h, w in TRACES})
    for h, w in [*TRACES, *UNSEEN, (19, 19)]:
        x = np.random.default_rng(h * 100 + w).standard_normal((1, WIDTH, 2 * h, 2 * w), dtype=np.float32)
        wanted = x.reshape(1, WIDTH, h, 2, w, 2).mean((3, 5)) + (square[:, :1, None] + np.arange(w, dtype=np.float32))
        assert np.abs(run.run(None, {"x": x})[0] - wanted).max() < 1e-5, (h, w)


def test_an_output_that_is_folded_in_some_traces(thaw, save, tmp_path):
    """Where the exporter computes a larger table from constants, and writes down a smaller one: both are folded, and lifted as what is read."""
    def trace(n):
        net = Net()
        table = np.arange(n, dtype=np.float32) * 3
        folded = net.constant(table) if n < 8 else net.add("Add", net.constant(table - 1), net.constant(np.ones(1, np.float32)))
        return net.model([n, 2], folded)

    run = lifted(thaw, save, tmp_path, {str(n): trace(n) for n in (5, 9, 14)})
    for n in (5, 9, 21):
        assert np.array_equal(run.run(None, {"x": np.zeros((n, 2), np.float32)})[0], np.arange(n) * 3), n


def test_a_number_that_is_one_at_a_size_divides_nothing_there(thaw, save, tmp_path):
    """Places along a side, over its last one: an exporter leaves out what divides by 1."""
    def trace(h, w):
        net, x = Net(), "x"
        for axis, side in enumerate((h, w)):
            if side // 4 - 1 != 1:
                x = net.add("Div", x, net.constant(np.float32(side // 4 - 1)))
            x = net.add("ReduceMax", x, net.ints(axis), keepdims=1)
        return net.model([h, w], net.add("Neg", x))

    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": trace(h, w) for h, w in [(16, 96), (96, 8), (8, 52), (76, 140)]})
    for h, w in [(12, 16), (8, 8), (32, 28)]:
        x = np.random.default_rng(h + w).standard_normal((h, w), dtype=np.float32)
        wanted = -(x / (h // 4 - 1)).max(0, keepdims=True).max(1, keepdims=True) / (w // 4 - 1)
        assert np.abs(run.run(None, {"x": x})[0] - wanted).max() < 1e-6, (h, w)


def test_a_number_that_no_size_gives_is_no_reason_to_divide(thaw, save, tmp_path):
    paths = []
    for n, by in [(19, 1), (34, 3.7), (53, 0.9)]:
        net, x = Net(), "x"
        if by != 1:
            x = net.add("Div", x, net.constant(np.float32(by)))
        paths.append(save(net.model([n], net.add("Neg", x)), f"trace_{n}"))
    thaw("lift", *paths, "-o", tmp_path / "out.onnx", code=1)
    assert not (tmp_path / "out.onnx").exists()


def test_an_output_is_a_constant_and_a_node_is_left_out(thaw, save, tmp_path):
    """Positions that are returned, folded where they are few, beside a side that whole windows cover in some traces."""
    def trace(h, w):
        model, positions, few = window_trace(h, w), np.arange(h * w, dtype=np.float32), h * w < 500
        if not few:
            model.graph.node.append(helper.make_node("Add", ["before", "one"], ["positions"]))
            model.graph.initializer.append(numpy_helper.from_array(np.ones(1, np.float32), "one"))
        model.graph.initializer.append(numpy_helper.from_array(positions - (not few), "positions" if few else "before"))
        model.graph.output.append(helper.make_tensor_value_info("positions", TensorProto.FLOAT, [h * w]))
        return model

    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": trace(h, w) for h, w in TRACES})
    for h, w in UNSEEN:
        got = run.run(["y", "positions"], {"x": image(h, w)})
        assert np.array_equal(got[0], -windows(image(h, w))) and np.array_equal(got[1], np.arange(h * w)), (h, w)


@pytest.mark.parametrize("sizes", [[(63, 96), (77, 59), (91, 130)], [(96, 63), (59, 77), (130, 91)]])
@pytest.mark.parametrize("before", [False, True])
def test_padding_of_an_axis_that_is_odd_in_every_trace(thaw, save, tmp_path, sizes, before):
    """Along it a Conv pads alike in all of them; along the other, which is cut alike, it does not."""
    kernel = np.random.default_rng(5).standard_normal((3, 3, 5, 5), dtype=np.float32) * 0.2

    def model(h, w):
        net, pads = Net(), [1 + h % 2, 1 + w % 2, 2, 2]
        if not before:
            return net.model([1, 3, h, w], net.add("Conv", "x", net.constant(kernel), strides=[2, 2], pads=pads))
        padded = net.add("Pad", "x", net.ints(0, 0, *pads[:2], 0, 0, *pads[2:]))
        return net.model([1, 3, h, w], net.add("Conv", padded, net.constant(kernel), strides=[2, 2]))

    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": model(h, w) for h, w in sizes})
    for h, w in [*sizes, (64, 70), (70, 65), (65, 70), (101, 115), (8, 14)]:
        x = np.random.default_rng(h).standard_normal((1, 3, h, w), dtype=np.float32)
        wanted = session(save(model(h, w), "wanted")).run(None, {"x": x})[0]
        got = run.run(None, {"x": x})[0]
        assert got.shape == wanted.shape and np.abs(got - wanted).max() < 1e-4, (h, w)


def test_padding_of_an_axis_that_is_cut_otherwise_stays(thaw, save, tmp_path):
    """A kernel of 3 x 5 in steps of 1 x 2 pads its first axis alike at any size."""
    kernel = np.random.default_rng(6).standard_normal((3, 3, 3, 5), dtype=np.float32) * 0.2

    def model(h, w):
        net = Net()
        return net.model([1, 3, h, w], net.add("Conv", "x", net.constant(kernel), strides=[1, 2], pads=[1, 1 + w % 2, 1, 2]))

    sizes = [(63, 96), (77, 59), (91, 130)]
    run = lifted(thaw, save, tmp_path, {f"{h}x{w}": model(h, w) for h, w in sizes})
    for h, w in [*sizes, (64, 70), (65, 71)]:
        x = np.random.default_rng(h).standard_normal((1, 3, h, w), dtype=np.float32)
        wanted = session(save(model(h, w), "wanted")).run(None, {"x": x})[0]
        got = run.run(None, {"x": x})[0]
        assert got.shape == wanted.shape and np.abs(got - wanted).max() < 1e-4, (h, w)
