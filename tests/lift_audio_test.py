"""What static exports of speech models freeze: learned distances between padding, masks of the last block of frames."""
import numpy as np
import pytest

from conftest import session
from lift_left_out_test import lifted
from lift_net import Net

TRACES, UNSEEN = (19, 34, 53), (7, 29, 61, 127)
LEARNED = np.random.default_rng(4).standard_normal((9, 6)).astype(np.float32)


def near_distances(n, window=4):
    """[2 n - 1, d]: learned up to a few positions away, 0 beyond (VITS)."""
    table, middle = np.zeros((2 * n - 1, LEARNED.shape[1]), np.float32), n - 1
    for i in range(2 * n - 1):
        if abs(i - middle) <= window:
            table[i] = LEARNED[i - middle + window]
    return table


def beside(n, table):
    net = Net()
    return net.model([n, table.shape[1]], net.add("Add", net.add("ReduceSum", "x", keepdims=1), net.constant(table)))


def test_learned_rows_between_padding(thaw, save, tmp_path):
    run = lifted(thaw, save, tmp_path, {str(n): beside(n, near_distances(n)) for n in TRACES})
    for n in (1, 2, 3, 5, *UNSEEN):  # of short lists, the middle ones are left
        got = run.run(None, {"x": np.zeros((n, 6), np.float32)})[0]
        assert np.array_equal(got, near_distances(n)), n


def test_rows_without_padding_end_with_the_traces(thaw, save, tmp_path):
    every = np.random.default_rng(5).standard_normal((401, 6)).astype(np.float32)

    def middle(n):
        return every[200 - (n - 1):200 + n]

    run = lifted(thaw, save, tmp_path, {str(n): beside(n, middle(n)) for n in TRACES})
    assert np.array_equal(run.run(None, {"x": np.zeros((29, 6), np.float32)})[0], middle(29))
    with pytest.raises(Exception, match="guard_Reshape"):
        run.run(None, {"x": np.zeros((61, 6), np.float32)})


BLOCK = 20


def outside(there):
    """True beside what is there of a block, [20, 20]."""
    mask = np.ones((BLOCK, BLOCK), bool)
    mask[:there, :there] = False
    return mask


def last_block(n, mask):
    net = Net()
    total = net.add("ReduceSum", "x", keepdims=1)
    return net.model([n, 2], net.add("Where", net.constant(mask), net.constant(np.float32(-1e4)), total))


def test_the_mask_of_a_block_that_is_not_whole(thaw, save, tmp_path):
    """Of whole blocks, all of the last is there."""
    run = lifted(thaw, save, tmp_path, {str(n): last_block(n, outside(n % BLOCK)) for n in (61, 94, 142)})
    for n in (1, 19, 20, 77, 80, 101, 160):
        got = run.run(None, {"x": np.zeros((n, 2), np.float32)})[0]
        assert np.array_equal(got < 0, outside(n % BLOCK or BLOCK)), n


def test_a_mask_that_no_size_tells_is_not_explained(thaw, save, tmp_path):
    paths = [save(last_block(n, outside(there)), f"trace_{n}") for n, there in ((61, 1), (94, 17), (142, 2))]
    run = thaw("lift", *paths, "-o", tmp_path / "out.onnx", code=1)
    assert "no sum, product, mask" in run.stdout and not (tmp_path / "out.onnx").exists()


def chunks(n, before):
    """Added to n rows: what hides all but the chunk of four that each is in, and so many before it."""
    chunk = np.arange(n) // 4
    apart = chunk[:, None] - chunk
    net = Net()
    mask = np.where((apart >= 0) & (apart <= before), 0, -1e4).astype(np.float32)
    return net.model([n, n], net.add("Softmax", net.add("Add", "x", net.constant(mask)), axis=1))


@pytest.mark.parametrize("lengths, before", [((7, 9, 12), 2), ((7, 9, 12), 9), ((7, 18, 27), 2), ((7, 18, 27), 9)])
def test_a_mask_of_chunks_of_which_the_traces_have_a_few(thaw, save, tmp_path, lengths, before):
    """Three chunks that see all before them may see three at most."""
    run, ended = lifted(thaw, save, tmp_path, {str(n): chunks(n, before) for n in lengths}), []
    for n in (*lengths, 5, 11, 14, 21, 33):
        x = np.random.default_rng(n).standard_normal((n, n), dtype=np.float32)
        wanted = session(save(chunks(n, before), "wanted")).run(None, {"x": x})[0]
        try:
            got = run.run(None, {"x": x})[0]
        except Exception as error:
            assert "guard_Reshape" in str(error), n
            ended.append(n)
            continue
        assert np.abs(got - wanted).max() < 1e-6, n
    assert ended == ([14, 21, 33] if max(lengths) == 12 else [])


@pytest.mark.parametrize("lengths", [(51, 74, 110), (51, 76, 110)])
def test_a_pad_that_gives_back_the_last_position(thaw, save, tmp_path, lengths):
    """Positions are taken two by two and put together again (SEW's upsampling): where all traces have an odd number of them, the Pad is the same."""
    kernel = np.random.default_rng(0).standard_normal((4, 1, 2), dtype=np.float32)

    def trace(n):
        net, m = Net(), n // 2
        x = net.add("Transpose", net.add("Conv", "x", net.constant(kernel), strides=[2]), perm=[0, 2, 1])
        x = net.add("Transpose", net.add("AveragePool", net.add("Transpose", x, perm=[0, 2, 1]), kernel_shape=[2], strides=[2]), perm=[0, 2, 1])
        x = net.add("Reshape", net.add("Concat", x, x, axis=2), net.ints(1, m // 2 * 2, 4))
        if m % 2:
            x = net.add("Pad", x, net.ints(0, 0, 0, 0, 1, 0))
        return net.model([1, 1, n], net.add("Neg", x))

    run = lifted(thaw, save, tmp_path, {str(n): trace(n) for n in lengths})
    ended = 0
    for n in (*lengths, 52, 63, 96, 121):
        x = np.random.default_rng(n).standard_normal((1, 1, n), dtype=np.float32)
        rows = np.einsum("oik,nk->no", kernel, x[0, 0, :n // 2 * 2].reshape(-1, 2))
        pairs = np.repeat(rows[:n // 4 * 2].reshape(-1, 2, 4).mean(1), 2, 0)
        wanted = -np.concatenate([pairs, np.zeros((n // 2 - len(pairs), 4))])[None]
        try:
            got = run.run(None, {"x": x})[0]
        except Exception as error:
            assert "guard_Reshape" in str(error), n
            ended += 1
            continue
        assert got.shape == wanted.shape and np.abs(got - wanted).max() < 1e-5, n
    assert ended == (3 if lengths == (51, 74, 110) else 0)  # of an even number of positions


def test_sizes_that_are_whole_in_every_trace_are_rounded_as_a_tensor_is(thaw, save, tmp_path):
    """Frames subsampled by 4 by convolutions, which round up, beside positions and shapes of n / 4: no trace has a part left over."""
    kernel = np.random.default_rng(0).standard_normal((4, 4, 3), dtype=np.float32) * .3

    def positions(m):
        return np.stack([np.cos(np.arange(m) * .1 ** i) for i in range(4)], 1).astype(np.float32)

    def trace(n):
        net, x = Net(), "x"
        for _ in range(2):
            x = net.add("Conv", x, net.constant(kernel), strides=[2], pads=[1, 1])
        x = net.add("Add", net.add("Transpose", x, perm=[0, 2, 1]), net.constant(positions(n // 4)))
        return net.model([1, 4, n], net.add("Softmax", net.add("Reshape", x, net.ints(1, n // 4, 2, -1)), axis=1))

    run = lifted(thaw, save, tmp_path, {str(n): trace(n) for n in (64, 96, 144)})
    for n in (64, 96, 144, 80, 61, 99, 163, 250):
        x = y = np.random.default_rng(n).standard_normal((1, 4, n), dtype=np.float32)
        for _ in range(2):
            padded = np.pad(y[0].astype(np.float64), [(0, 0), (1, 1)])
            y = np.stack([np.einsum("oik,ik->o", kernel, padded[:, i:i + 3]) for i in range(0, padded.shape[1] - 2, 2)], 1)[None]
        z = y[0].T + positions(y.shape[2])
        wanted = np.exp(z) / np.exp(z).sum(0)
        got = run.run(None, {"x": x})[0]
        assert got.shape == (1, len(wanted), 2, 2) and np.abs(got[0].reshape(-1, 4) - wanted).max() < 1e-5, n


def waves(rows):
    """Sines of how far each row is from the one in the middle, as relative positions of Transformer-XL are."""
    far = (rows - 1) / 2 - np.arange(rows)
    return np.stack([np.sin(far * .3 ** i) for i in range(8)], 1).astype(np.float32)


HALVES = (64, 94, 142)  # whose quarters are even, so that the quarter less 1 is as many as twice the eighth less 1
ODD = (59, 92, 138)  # whose quarters are as many


@pytest.mark.parametrize("sizes", [HALVES, ODD])
@pytest.mark.parametrize("learned", [False, True])
def test_distances_of_frames_behind_strides(thaw, save, tmp_path, learned, sizes):
    """2 * n - 1 rows of n frames, moved into place as attention does, which fits as well with one row less."""
    kernel = np.random.default_rng(0).standard_normal((4, 4, 3), dtype=np.float32) * .3
    every = np.random.default_rng(1).standard_normal((4, 199), dtype=np.float32)

    def rows(n):
        return every[:, 100 - n:99 + n] if learned else np.ascontiguousarray((waves(2 * n - 1)[:, :4]).T)

    def trace(length):
        net, x = Net(), "x"
        for _ in range(3):
            x = net.add("Conv", x, net.constant(kernel), strides=[2], pads=[1, 1])
        n = -(-length // 8)
        count = 2 * n - 1
        x = net.add("MatMul", net.add("Transpose", x, perm=[0, 2, 1]), net.constant(rows(n)))
        x = net.add("Pad", net.add("Reshape", x, net.ints(1, n, count)), net.ints(0, 0, 1, 0, 0, 0))
        x = net.add("Slice", net.add("Reshape", x, net.ints(1, -1, n)), net.ints(1), net.ints(2 ** 31), net.ints(1))
        x = net.add("Slice", net.add("Reshape", x, net.ints(1, n, count)), net.ints(0), net.ints(n), net.ints(2))
        return net.model([1, 4, length], net.add("Softmax", x))

    run = lifted(thaw, save, tmp_path, {str(n): trace(n) for n in sizes})
    for n in (*sizes, 34, 60, 67, 101, 123, *(() if learned else (163, 300))):
        x = np.random.default_rng(n).standard_normal((1, 4, n), dtype=np.float32)
        wanted = session(save(trace(n), "wanted")).run(None, {"x": x})[0]
        got = run.run(None, {"x": x})[0]
        assert got.shape == wanted.shape and np.abs(got - wanted).max() < 1e-5, n


def test_places_of_a_stride_before_the_last(thaw, save, tmp_path):
    """Counted from the first, as many as there are less 1 are that at any size."""
    kernel = np.random.default_rng(0).standard_normal((4, 4, 3), dtype=np.float32) * .3

    def places(m):
        return np.cos(np.arange(m, dtype=np.float32) * np.float32(.2))[:, None]

    def trace(length):
        net, x = Net(), "x"
        for _ in range(2):
            x = net.add("Conv", x, net.constant(kernel), strides=[2], pads=[1, 1])
        early = net.add("Transpose", net.add("Slice", x, net.ints(0), net.ints(-1), net.ints(2)), perm=[0, 2, 1])
        late = net.add("ReduceSum", net.add("Conv", x, net.constant(kernel), strides=[2], pads=[1, 1]), net.ints(2), keepdims=1)
        x = net.add("Add", net.add("Add", early, net.constant(places(-(-length // 4) - 1))), net.add("Transpose", late, perm=[0, 2, 1]))
        return net.model([1, 4, length], x)

    run = lifted(thaw, save, tmp_path, {str(n): trace(n) for n in HALVES})
    for n in (*HALVES, 34, 67, 163):
        x = np.random.default_rng(n).standard_normal((1, 4, n), dtype=np.float32)
        wanted = session(save(trace(n), "wanted")).run(None, {"x": x})[0]
        got = run.run(None, {"x": x})[0]
        assert got.shape == wanted.shape and np.abs(got - wanted).max() < 1e-5, n


def weights_of_frames(frames, step, size, cut):
    """What squared Hann windows weigh where they overlap, less what is cut off at both ends."""
    window = (np.sin(np.pi * np.arange(size) / size) ** 4).astype(np.float32)
    total = np.zeros((frames - 1) * step + size, np.float32)
    for frame in range(frames):
        total[frame * step:frame * step + size] += window
    return total[cut:len(total) - cut].clip(1e-11)


@pytest.mark.parametrize("step, size, cut", [(8, 32, 12), (160, 640, 240), (10, 34, 12)])
def test_windows_that_overlap(thaw, save, tmp_path, step, size, cut):
    """What a signal is divided by that was put together of frames, as vocoders do (Vocos); an error where a place lacks windows at both ends."""
    def trace(frames):
        net = Net()
        weights = weights_of_frames(frames, step, size, cut)
        return net.model([frames, step], net.add("Mul", net.add("Reshape", "x", net.ints(len(weights))), net.constant(weights)))

    run = lifted(thaw, save, tmp_path, {str(n): trace(n) for n in TRACES})
    for n in (*TRACES, 4, 5, 8, 61, 127):
        wanted = weights_of_frames(n, step, size, cut)
        got = run.run(None, {"x": np.ones((n, step), np.float32)})[0]
        assert got.shape == wanted.shape and np.abs(got - wanted).max() < 1e-5, n
    with pytest.raises(Exception, match="guard_Reshape"):
        run.run(None, {"x": np.ones((1, step), np.float32)})


def test_short_traces_tell_what_both_ends_lack(thaw, save, tmp_path):
    def trace(frames):
        net = Net()
        return net.model([frames, 8], net.add("Mul", net.add("Reshape", "x", net.ints(8 * frames)), net.constant(weights_of_frames(frames, 8, 32, 12))))

    run = lifted(thaw, save, tmp_path, {str(n): trace(n) for n in (2, 34, 53)})
    for n in (1, 2, 3, 4, 61):
        assert np.abs(run.run(None, {"x": np.ones((n, 8), np.float32)})[0] - weights_of_frames(n, 8, 32, 12)).max() < 1e-5, n


def test_a_list_with_one_entry_of_its_own_is_not_explained(thaw, save, tmp_path):
    def trace(frames):
        net, weights = Net(), weights_of_frames(frames, 8, 32, 12)
        weights[frames * 4] += .25
        return net.model([frames, 8], net.add("Mul", net.add("Reshape", "x", net.ints(8 * frames)), net.constant(weights)))

    paths = [save(trace(n), f"trace_{n}") for n in TRACES]
    thaw("lift", *paths, "-o", tmp_path / "out.onnx", code=1)
    assert not (tmp_path / "out.onnx").exists()
