"""What the traces' sizes share: a lifted model is right at a size that no trace has, or ends with its guard's error."""
import numpy as np
import onnx
import onnxruntime as ort
import pytest

from conftest import session
from lift_net import Net

rng = np.random.default_rng


def halves(n):
    """The second half before the first, which is the shorter one: n // 2."""
    net = Net()
    parts = [net.add("Slice", "x", net.ints(a), net.ints(b), net.ints(1)) for a, b in ((n // 2, 1 << 40), (0, n // 2))]
    return net.model([1, n, 4], net.add("Concat", *parts, axis=1))


def longer_half(n):
    net = Net()
    return net.model([1, n, 4], net.add("Slice", "x", net.ints(0), net.ints(-(-n // 2)), net.ints(1)))


def stretched(n):
    """F.interpolate(size=3 * n // 2)."""
    net = Net()
    sizes = net.add("Concat", net.ints(1, 4), net.ints(3 * n // 2), axis=0)
    x = net.add("Transpose", "x", perm=[0, 2, 1])
    return net.model([1, n, 4], net.add("Resize", x, "", "", sizes, mode="nearest"))


def chunks(n, size=8):
    """Padded to whole chunks where there is need, as a Python `if` does; the mean of each chunk."""
    net, x, count = Net(), "x", -(-n // size)
    if n % size:
        x = net.add("Pad", x, net.ints(0, 0, 0, 0, count * size - n, 0))
    x = net.add("Reshape", x, net.ints(1, count, size, 4))
    return net.model([1, n, 4], net.add("ReduceMean", x, net.ints(2), keepdims=0))


def strided(length):
    """Convolutions that round up, and a Reshape of what they leave: told by the graph alone."""
    net, n = Net(), length
    x = net.add("Transpose", "x", perm=[0, 2, 1])
    for i in range(2):
        x = net.add("Conv", x, net.constant(rng(i).standard_normal((4, 4, 3), dtype=np.float32)), strides=[2], pads=[1, 1])
        n = -(-n // 2)
    return net.model([1, length, 4], net.add("Reshape", x, net.ints(1, 2, 2, n)))


def texts(n):
    """Every size is n itself."""
    net = Net()
    x = net.add("Reshape", "x", net.ints(1, n, 2, 2))
    return net.model([1, n, 4], net.add("MatMul", net.add("Reshape", x, net.ints(1, 4, n)), "x"))


def windows(h, w, side=4):
    """Windows of 4 x 4 that a side must be a multiple of."""
    net, down, across = Net(), h // side, w // side
    x = net.add("Reshape", "x", net.ints(1, 2, down, side, across, side))
    x = net.add("Reshape", net.add("Transpose", x, perm=[0, 2, 4, 1, 3, 5]), net.ints(down * across, 2, side, side))
    return net.model([1, 2, h, w], net.add("ReduceMax", x, net.ints(2, 3), keepdims=0))


def padded_windows(h, w, side=4):
    """The same, padded where there is need."""
    net, x, down, across = Net(), "x", -(-h // side), -(-w // side)
    if h % side or w % side:
        x = net.add("Pad", x, net.ints(0, 0, 0, 0, 0, 0, down * side - h, across * side - w))
    x = net.add("Reshape", x, net.ints(1, 2, down, side, across, side))
    x = net.add("Reshape", net.add("Transpose", x, perm=[0, 2, 4, 1, 3, 5]), net.ints(down * across, 2, side, side))
    return net.model([1, 2, h, w], net.add("ReduceMax", x, net.ints(2, 3), keepdims=0))


def patches(h, w, side=16):
    """A convolution of 16 x 16, its positions in rows, and the row of each added."""
    net, down, across = Net(), h // side, w // side
    x = net.add("Conv", "x", net.constant(rng(0).standard_normal((4, 2, side, side), dtype=np.float32)), strides=[side, side])
    x = net.add("Transpose", net.add("Reshape", x, net.ints(1, 4, down * across)), perm=[0, 2, 1])
    rows = np.repeat(np.arange(down, dtype=np.float32), across)[:, None]
    return net.model([1, 2, h, w], net.add("Add", x, net.constant(rows)))


def filled_patches(h, w, side=8, unit=8):
    """Patches of side x side, of an image that is filled up to multiples of the unit only where there is a remainder."""
    net, x = Net(), "x"
    if h % unit or w % unit:
        x = net.add("Pad", x, net.ints(0, 0, 0, 0, 0, 0, -h % unit, -w % unit))
    x = net.add("Conv", x, net.constant(rng(0).standard_normal((4, 2, side, side), dtype=np.float32)), strides=[side, side])
    return net.model([1, 2, h, w], x)


def filled_without_a_node(h, w):
    """The same, filled up to more than the patches need, by an exporter that leaves out what does nothing."""
    model = filled_patches(h, w, 4, 16)
    model.producer_name = "another"
    return model


def counted_otherwise(h, w):
    """A level that is halved twice and doubled, and numbers of its width, of which nothing says how the half is rounded."""
    net, x, sides = Net(), "x", [2 * -(-n // 4) for n in (h, w)]
    for i in range(2):
        x = net.add("Conv", x, net.constant(rng(i).standard_normal((2, 2, 3, 3), dtype=np.float32)), strides=[2, 2], pads=[1, 1, 1, 1])
    x = net.add("ConvTranspose", x, net.constant(rng(2).standard_normal((2, 2, 2, 2), dtype=np.float32)), strides=[2, 2])
    return net.model([1, 2, h, w], net.add("Mul", x, net.constant(np.float32((sides[0] * sides[1]) ** .5))))


def joined_levels(h, w):
    """A level at half the size, resized back to h x w and added."""
    net = Net()
    x = net.add("MaxPool", "x", kernel_shape=[2, 2], strides=[2, 2])
    x = net.add("Resize", x, "", "", net.ints(1, 2, h, w), mode="nearest")
    return net.model([1, 2, h, w], net.add("Add", x, "x"))


def flattened(h, w):
    net = Net()
    x = net.add("Transpose", net.add("Reshape", "x", net.ints(1, 2, h * w)), perm=[0, 2, 1])
    x = net.add("Add", x, net.constant(np.repeat(np.arange(h, dtype=np.float32), w)[:, None]))
    return net.model([1, 2, h, w], x)


def column_of_each(h, w):
    net = Net()
    return net.model([1, 2, h, w], net.add("Add", "x", net.constant(np.broadcast_to(np.arange(w, dtype=np.float32), (h, w)))))


def bins(h, w):
    """Means of three bins a side behind a stride of 4, each from floor to ceil of its share, as pyramid pooling cuts them."""
    net, sides = Net(), (-(-h // 4), -(-w // 4))
    x = net.add("Conv", "x", net.constant(rng(0).standard_normal((2, 2, 3, 3), dtype=np.float32)), strides=[4, 4], pads=[1, 1, 1, 1])
    for axis, side in zip((2, 3), sides, strict=True):
        cut = [net.add("Slice", x, net.ints(i * side // 3), net.ints(-(-(i + 1) * side // 3)), net.ints(axis)) for i in range(3)]
        x = net.add("Concat", *[net.add("ReduceMean", each, net.ints(axis)) for each in cut], axis=axis)
    return net.model([1, 2, h, w], x)


def positions(n, rows=45):
    """Learned positions that are read by their indices: as many in every trace, and past the last an error of ONNX Runtime."""
    net = Net()
    table = net.constant(rng(0).standard_normal((rows, 4), dtype=np.float32))
    return net.model([1, n, 4], net.add("Add", "x", net.add("Gather", net.add("Neg", table), net.constant(np.arange(n)))))


def by_longer_side(h, w):
    """Over the longer side, as boxes are normalised for images that are letterboxed."""
    net = Net()
    return net.model([1, 2, h, w], net.add("Div", "x", net.constant(np.float32(max(h, w)))))


def by_root_of_shorter_side(h, w):
    net = Net()
    return net.model([1, 2, h, w], net.add("Mul", "x", net.constant(np.sqrt(np.float32(min(h, w))) / np.float32(8))))


def by_each_side(h, w):
    net, x = Net(), "x"
    for side in (h, w):
        x = net.add("Mul", x, net.constant(np.float32(1) / np.float32(side)))
    return net.model([1, 2, h, w], x)


LISTS = [[(16,), (32,), (64,)], [(64,), (128,), (96,)], [(8,), (24,), (40,)], [(13,), (22,), (35,)]]
GRIDS = [[(224, 224), (256, 256), (320, 320)], [(64, 96), (128, 64), (96, 160)], [(64, 64), (128, 128), (96, 96)],
         [(224, 256), (256, 320), (320, 224)]]
REMAINDERS = [[(67, 101), (89, 53), (113, 83)]]  # rows all leave 2 of three bins behind the stride, columns do not
TALL = [[(67, 53), (101, 89), (113, 83)], [(53, 67), (101, 113), (83, 89)], [(67, 53), (89, 101), (113, 83)]]
UNSEEN = {1: [(29,), (37,), (48,), (50,), (67,), (72,)], 2: [(66, 66), (97, 131), (100, 64), (128, 192), (130, 98), (256, 160)]}
MODULES = {halves: LISTS, longer_half: LISTS, stretched: LISTS, chunks: LISTS, strided: LISTS, texts: LISTS, windows: GRIDS,
           padded_windows: GRIDS, patches: GRIDS, filled_patches: GRIDS, filled_without_a_node: GRIDS, counted_otherwise: GRIDS, joined_levels: GRIDS, flattened: GRIDS, column_of_each: GRIDS,
           bins: GRIDS + REMAINDERS, positions: [[(13,), (22,), (35,)], [(8,), (24,), (40,)]],
           by_longer_side: TALL, by_root_of_shorter_side: TALL, by_each_side: TALL}


# What the graph tells at every size: no trace's sizes leave anything open, but that they are square.
EXACT = {strided, texts, flattened, column_of_each, by_each_side}


def wanted(build, size, x):
    """What the module gives; None where it takes no such size."""
    try:
        return ort.InferenceSession(build(*size).SerializeToString()).run(None, {"x": x})[0]
    except Exception:
        return None


def outcome(model, build, size):
    x = rng(sum(size)).standard_normal((1, size[0], 4) if len(size) == 1 else (1, 2, *size), dtype=np.float32)
    expected = wanted(build, size, x)
    try:
        got = model.run(None, {"x": x})[0]
    except Exception as error:
        return "guard" if "guard_Reshape" in str(error) else "error"
    if expected is None:
        return "wrong"
    return "right" if got.shape == expected.shape and np.abs(got - expected).max() <= 1e-4 * max(1, np.abs(expected).max()) else "wrong"


def resized_back(h, w):
    net, sizes = Net(), np.array([1, 2, h, w])
    y = net.add("MaxPool", "x", kernel_shape=[8, 8], strides=[8, 8])
    return net.model([1, 2, h, w], net.add("Resize", y, "", "", net.ints(*sizes), mode="linear"))


@pytest.mark.parametrize("build", [resized_back, patches, flattened], ids=lambda b: b.__name__)
def test_larger_multiples_of_what_the_traces_share_are_right(thaw, save, tmp_path, build):
    """8 * floor(n / 30) is n / 4 at 224, 256 and 320, and not at 640."""
    paths = [save(build(h, w), f"trace_{h}x{w}") for h, w in [(224, 224), (256, 320), (320, 288)]]
    thaw("lift", *paths, "-o", tmp_path / "lifted.onnx")
    model = session(tmp_path / "lifted.onnx")
    seen = {size: outcome(model, build, size) for size in [(640, 640), (448, 320), (96, 1024)]}
    assert set(seen.values()) == {"right"}, seen


@pytest.mark.parametrize("build", MODULES, ids=lambda b: b.__name__)
def test_a_size_that_no_trace_has_is_right_or_the_guards_error(thaw, save, tmp_path, build):
    for place, sizes in enumerate(MODULES[build]):
        out = tmp_path / f"lifted_{place}.onnx"
        paths = [save(build(*size), f"trace_{place}_{'x'.join(map(str, size))}") for size in sizes]
        thaw("lift", *paths, "-o", out, code={0, 1})
        if not out.exists():
            continue
        model = session(out)
        low, high = np.min(sizes, axis=0), np.max(sizes, axis=0)
        between = [tuple(map(int, rng(n).integers(low, high + 1))) for n in range(4)]
        seen = {size: outcome(model, build, size) for size in UNSEEN[len(sizes[0])] + between}
        assert set(seen.values()) <= {"right", "guard"}, (sizes, seen)
        are_square = all(len(set(size)) < len(size) for size in sizes)
        if build in EXACT and not are_square:
            assert set(seen.values()) == {"right"}, (sizes, seen)


def notes(report):
    return [f"{note['where']}: {note['message']}" for note in report["valid_sizes"]]


def lifted(thaw, save, tmp_path, build, sizes, *options):
    out = tmp_path / "lifted.onnx"
    paths = [save(build(*size), f"trace_{'x'.join(map(str, size))}") for size in sizes]
    return out, thaw.json("lift", *paths, "-o", out, *options, code=0)


def domain(path):
    return {pair.key: pair.value for pair in onnx.load(path).metadata_props}.get("thaw.valid_sizes")


def ends(path, x, **options):
    """With the guard's error, at ONNX Runtime's defaults."""
    with pytest.raises(Exception, match="Reshape"):
        session(path).run(None, {"x": x})


def test_the_report_the_metadata_and_the_proof_say_the_domain(thaw, save, tmp_path):
    out, report = lifted(thaw, save, tmp_path, halves, [(18,), (30,), (44,)], "--rename", "x_dim1=n")
    assert notes(report) == ["x_dim1: valid for multiples of 2; a trace at another size extends this"]
    assert domain(out) == "n=2..:2"
    printed = thaw("check", out, "--sizes", "n=1..99", code=0).stdout
    assert "every size condition follows from the ranges, as the model states: n=2..:2" in printed
    assert "'n=2..:2', which the model states of its inputs" in thaw("check", out, "--sizes", "n=17", code=2).stderr


def uneven_pools(n):
    """Cannot be computed where n is one more than a multiple of 64: one more is taken there on the one side."""
    net = Net()
    x = net.add("Transpose", net.add("Reshape", "x", net.ints(1, n, 4)), perm=[0, 2, 1])
    pooled = [net.add("MaxPool", x, kernel_shape=[2], strides=[64], pads=[0, more]) for more in (0, 1)]
    return net.model([1, n, 4], net.add("Add", *pooled))


def test_what_breaks_at_few_sizes_between_the_traces_is_guarded(thaw, save, tmp_path):
    """At 129, which no draw hits."""
    out = tmp_path / "lifted.onnx"

    def lift(*lengths):
        return thaw.json("lift", *[save(uneven_pools(n), f"trace_{n}") for n in lengths], "-o", out, code=0)

    assert notes(lift(64, 101, 190)) == ["floor((x_dim1 + 62)/64) - ceil(x_dim1/64): valid where it is 0, as elsewhere Add 'n4' does not run"]
    ends(out, np.zeros((1, 129, 4), np.float32))
    assert session(out).run(None, {"x": np.zeros((1, 128, 4), np.float32)})[0].shape == (1, 4, 2)
    assert notes(lift(64, 100, 190)) == ["x_dim1: valid for multiples of 2; a trace at another size extends this"]
    # All between these run, and 65 and 129 do not.
    assert notes(lift(66, 101, 127)) == ["floor((x_dim1 + 62)/64) - ceil(x_dim1/64): valid where it is 0, as elsewhere Add 'n4' does not run"]
    ends(out, np.zeros((1, 129, 4), np.float32))


def test_square_traces_say_so(thaw, save, tmp_path):
    out, report = lifted(thaw, save, tmp_path, flattened, [(64, 64), (128, 128), (96, 96)])
    assert any("valid where axes 2 and 3 of 'x' are equal, as in every trace" in note for note in notes(report))
    ends(out, np.zeros((1, 2, 5, 7), np.float32))
    assert session(out).run(None, {"x": np.zeros((1, 2, 7, 7), np.float32)})[0].shape == (1, 49, 2)


def test_an_odd_size_among_the_traces_needs_no_guard(thaw, save, tmp_path):
    out, report = lifted(thaw, save, tmp_path, halves, [(13,), (22,), (35,)])
    assert report["valid_sizes"] == [] and domain(out) is None
    assert not [node for node in onnx.load(out).graph.node if "guard" in node.name]


@pytest.mark.parametrize("options", [["--level", "clean"], ["--level", "fuse"], ["--target", "ort"], ["--target", "directml"]],
                         ids=" ".join)
def test_the_guard_survives_optimization(thaw, save, tmp_path, options):
    out, _ = lifted(thaw, save, tmp_path, halves, [(18,), (30,), (44,)])
    again = tmp_path / "again.onnx"
    thaw("optimize", out, "-o", again, *options, code=0)
    for path in (out, again):
        ends(path, np.zeros((1, 29, 4), np.float32))
        assert session(path).run(None, {"x": np.zeros((1, 30, 4), np.float32)})[0].shape == (1, 30, 4)
