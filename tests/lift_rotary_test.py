"""thaw lift: rotary tables whose frequencies were scaled for longer contexts, far behind the positions of the traces."""
import numpy as np
import pytest

from lift_left_out_test import lifted
from lift_net import Net

TRACES, WIDTH, BASE = (19, 34, 53), 64, 500000.0


def plain():
    return BASE ** (-np.arange(WIDTH // 2) * 2 / WIDTH)


def llama3(factor=8.0, low=1.0, high=4.0, before=8192):
    f = plain()
    length = 2 * np.pi / f
    share = np.clip((before / length - low) / (high - low), 0, 1)
    return (1 - share) * f / factor + share * f, 1.0


def yarn(factor=32.0, before=4096):
    def turns(n):
        return WIDTH * np.log(before / (n * 2 * np.pi)) / (2 * np.log(BASE))

    low, high = max(np.floor(turns(32)), 0), min(np.ceil(turns(1)), WIDTH - 1)
    share = 1 - np.clip((np.arange(WIDTH // 2) - low) / (high - low), 0, 1)
    return plain() / factor * (1 - share) + plain() * share, 0.1 * np.log(factor) + 1


def tables(n, kind):
    frequencies, height = kind()
    angles = np.tile((np.arange(n, dtype=np.float32)[:, None] * frequencies.astype(np.float32)).astype(np.float32), 2)
    return [(np.float32(height) * f(angles)).astype(np.float32) for f in (np.cos, np.sin)]


def trace(n, kind, columns=slice(None)):
    net, (cosines, sines) = Net(), tables(n, kind)
    turned = net.add("Mul", "x", net.constant(cosines[:, columns]))
    return net.model([n, cosines[:, columns].shape[1]], net.add("Concat", turned, net.add("Mul", "x", net.constant(sines[:, columns])), axis=1))


@pytest.mark.parametrize("kind", [llama3, yarn])
def test_scaled_frequencies_far_behind_the_traces(thaw, save, tmp_path, kind):
    """Slow cosines hardly move in a trace; fast ones, and the sines beside them, tell what they turn by."""
    run = lifted(thaw, save, tmp_path, {str(n): trace(n, kind) for n in TRACES})
    for n in (7, 61, 499, 8191):
        got, wanted = run.run(None, {"x": np.ones((n, WIDTH), np.float32)})[0], np.concatenate(tables(n, kind), 1)
        assert got.shape == wanted.shape and np.abs(got - wanted).max() <= 2e-6, n


def test_waves_of_one_height_in_a_few_columns(thaw, save, tmp_path):
    few = [0, 1, 2]
    run = lifted(thaw, save, tmp_path, {str(n): trace(n, yarn, few) for n in TRACES})
    for n in (7, 61, 127):
        got, wanted = run.run(None, {"x": np.ones((n, 3), np.float32)})[0], np.concatenate([t[:, few] for t in tables(n, yarn)], 1)
        assert got.shape == wanted.shape and np.abs(got - wanted).max() <= 2e-5, n


def test_waves_of_many_heights_end_with_the_traces(thaw, save, tmp_path):
    heights = np.random.default_rng(3).random(WIDTH).astype(np.float32) + 1

    def uneven(n):
        net = Net()
        return net.model([n, WIDTH], net.add("Mul", "x", net.constant(tables(n, yarn)[0] * heights)))

    run = lifted(thaw, save, tmp_path, {str(n): uneven(n) for n in TRACES})
    assert np.array_equal(run.run(None, {"x": np.ones((31, WIDTH), np.float32)})[0], tables(31, yarn)[0] * heights)
    with pytest.raises(Exception, match="guard_Reshape"):
        run.run(None, {"x": np.ones((59, WIDTH), np.float32)})


LATE = {"1 on": lambda i: i + 1, "2 on": lambda i: i + 2, "behind a context": lambda i: i + 83,
        "pooled": lambda i: np.maximum(2 * i - 1, 0), "pooled twice": lambda i: np.maximum(4 * i - 3, 0)}


@pytest.mark.parametrize("name", LATE)
def test_positions_that_do_not_count_from_0(thaw, save, tmp_path, name):
    """The first token of fairseq's models stands at 2, behind the ids of padding; decoders of time series go on behind a context of a fixed
    length; what Funnel pools keeps the first token apart."""
    def table(n):
        angles = LATE[name](np.arange(n))[:, None] * np.exp(np.arange(8) * -np.log(10000) / 7)
        return np.concatenate([np.sin(angles), np.cos(angles)], 1).astype(np.float32)

    def padded(n):
        net = Net()
        return net.model([n, 16], net.add("Add", "x", net.constant(table(n))))

    run = lifted(thaw, save, tmp_path, {str(n): padded(n) for n in TRACES})
    for n in (1, 29, 61, 499):
        assert np.abs(run.run(None, {"x": np.zeros((n, 16), np.float32)})[0] - table(n)).max() <= 2e-5 * max(1, LATE[name](n) / 500), n
