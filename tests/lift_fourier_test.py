"""thaw lift: tables of a discrete Fourier transform as long as a side, which is how models without an FFT in their opset are exported."""
import numpy as np
import pytest

from conftest import session
from lift_net import Net

WIDTH = 6
MIXED, EVENS, TWO = (29, 40, 57), (16, 24, 32), (18, 27)
UNSEEN = (5, 13, 20, 37, 64, 101)


def outer(n, columns):
    return 2 * np.pi * np.outer(np.arange(n), columns) / n


def half(n):
    return np.arange(n // 2 + 1)


# Columns by the function, and over what.
WHOLE = {
    "cos": lambda n: np.cos(outer(n, np.arange(n))),
    "sin": lambda n: np.sin(outer(n, np.arange(n))),
    "minus_sin": lambda n: -np.sin(outer(n, np.arange(n))),
    "cos_over_root": lambda n: np.cos(outer(n, np.arange(n))) / np.sqrt(n),
    "sin_over_root": lambda n: np.sin(outer(n, np.arange(n))) / np.sqrt(n),
    "cos_over_length": lambda n: np.cos(outer(n, np.arange(n))) / n,
    "sin_over_length": lambda n: np.sin(outer(n, np.arange(n))) / n,
    "both": lambda n: np.concatenate([np.cos(outer(n, np.arange(n))), np.sin(outer(n, np.arange(n)))], 1),
}
REAL = {
    "cos": lambda n: np.cos(outer(n, half(n))),
    "sin_over_root": lambda n: np.sin(outer(n, half(n))) / np.sqrt(n),
    "rows_and_columns": lambda n: np.cos(outer(n, half(n))).T,
}
# A few waves, the first of which does not turn.
MODES = {
    "cos": lambda n: np.cos(outer(n, np.arange(4))),
    "sin": lambda n: np.sin(outer(n, np.arange(4))),
    "cos_and_sin": lambda n: np.concatenate([np.cos(outer(n, np.arange(3))), np.sin(outer(n, np.arange(3)))], 1),
}


def trace(n, of):
    """Sums of a signal, or of its first entries, times a table."""
    net, table = Net(), of(n).astype(np.float32)
    x = "x"
    if table.shape[0] < n:
        x = net.add("Slice", "x", net.ints(0), net.ints(table.shape[0]), net.ints(2))
    return net.model([1, WIDTH, n], net.add("MatMul", x, net.constant(np.ascontiguousarray(table))))


def seen_at(thaw, save, tmp_path, sizes, of):
    """Of each unseen size, whether the lifted model is right there, or the guard ends it; None where nothing is written."""
    paths = [save(trace(n, of), f"trace_{n}") for n in sizes]
    out = tmp_path / "lifted.onnx"
    run = thaw("lift", *paths, "-o", out)
    if run.returncode:
        return None
    lifted, seen = session(out), []
    for n in UNSEEN:
        x = np.random.default_rng(n).standard_normal((1, WIDTH, n)).astype(np.float32)
        wanted = session(save(trace(n, of), "unseen")).run(None, {"x": x})[0]
        try:
            given = lifted.run(None, {"x": x})[0]
        except Exception as error:  # noqa: BLE001: whatever the runtime says
            assert "guard" in str(error), error
            seen.append("guard")
            continue
        assert given.shape == wanted.shape and np.abs(given - wanted).max() < 1e-4, (n, np.abs(given - wanted).max())
        seen.append("right")
    return seen


@pytest.mark.parametrize("sizes", [MIXED, EVENS, TWO], ids=["mixed", "evens", "two"])
@pytest.mark.parametrize("name", WHOLE)
def test_every_frequency(thaw, save, tmp_path, name, sizes):
    assert seen_at(thaw, save, tmp_path, sizes, WHOLE[name]) == ["right"] * len(UNSEEN)


@pytest.mark.parametrize("name", REAL)
def test_frequencies_of_real_numbers(thaw, save, tmp_path, name):
    # How many there are is rounded: where all traces are even that is not told.
    assert "right" in seen_at(thaw, save, tmp_path, MIXED, REAL[name])
    assert "guard" in (seen_at(thaw, save, tmp_path, EVENS, REAL[name]) or ["guard"])


@pytest.mark.parametrize("sizes", [MIXED, EVENS], ids=["mixed", "evens"])
@pytest.mark.parametrize("name", MODES)
def test_a_few_modes(thaw, save, tmp_path, name, sizes):
    assert seen_at(thaw, save, tmp_path, sizes, MODES[name]) == ["right"] * len(UNSEEN)


def test_a_column_of_1_beside_waves_that_are_no_harmonics(thaw, save, tmp_path):
    """It may be a wave that turns too slowly for the traces."""
    assert seen_at(thaw, save, tmp_path, MIXED, lambda n: np.cos(outer(n, [0, 2, 5]))) is None
    assert seen_at(thaw, save, tmp_path, MIXED, lambda n: np.cos(np.outer(np.arange(n) / n, [1e-5, 1.0, 0.3]))) is None
