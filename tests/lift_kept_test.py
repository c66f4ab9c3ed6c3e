"""thaw lift: tables of learned numbers, which are kept or resized, and rows around others."""
import numpy as np
import pytest
from onnx import TensorProto, helper

from conftest import session
from lift_left_out_test import lifted
from lift_net import Net
from lift_tables import (  # noqa: F401 (lift: a fixture)
    FREQUENCIES,
    LEARNED,
    MIXED,
    PRIMES,
    check_loose,
    check_primes,
    fails_beyond,
    lift,
    loose,
    raster,
)


def test_the_first_rows_of_a_larger_table(lift):
    printed = fails_beyond(lift, lambda h, w, t: dict(first=LEARNED[:h * w][None]), PRIMES, [(31, 17), (2, 2), (19, 29)], [(19, 31)])
    assert "known below 551" in printed


def test_the_last_and_the_middle_rows_of_a_larger_table(lift):
    printed = fails_beyond(lift, lambda h, w, t: dict(last=LEARNED[1000 - h:1000]), PRIMES, [(13, 3), (28, 2), (1, 5)], [(30, 3), (31, 2)])
    assert "the last entries of a kept table, known up to 29" in printed
    def middle(h, w, t):
        return dict(middle=LEARNED[500 - h // 2:500 - h // 2 + h])
    assert "the middle entries" in fails_beyond(lift, middle, PRIMES, [(13, 3), (27, 2)], [(31, 3)])


def test_cells_of_a_larger_grid(lift):
    grid = LEARNED[:3600].reshape(60, 60, 5)
    printed = fails_beyond(lift, lambda h, w, t: dict(cells=grid[:h, :w].reshape(-1, 5)), [(11, 23), (29, 31), (17, 19)],
                           [(23, 11), (2, 2), (29, 30)], [(5, 32), (30, 5), (1, 33)])
    assert "known up to 29 x 31" in printed


def test_learned_rows_of_a_grid(lift):
    def make(h, w, t):
        return dict(rows=np.repeat(LEARNED[:h], w, 0), columns=np.tile(LEARNED[100:100 + w], (h, 1)))
    fails_beyond(lift, make, PRIMES, [(28, 30), (2, 2), (29, 1)], [(30, 5), (5, 32)])


@pytest.mark.parametrize("width", [3, 32])
def test_two_learned_rows_are_no_line(lift, width):
    """Nor a sine, a step, or combinations of lines: any two rows are."""
    rows, columns = (np.random.default_rng(8).integers(-230, 230, (2, 40, width)) / 256).astype(np.float32)  # sums are exact
    def make(h, w, t):
        return dict(rows=rows[:h], cells=rows[:h, None] + columns[:w])
    fails_beyond(lift, make, [(2, 1), (1, 1), (1, 2)], [(2, 2)], [(3, 1), (1, 3), (5, 4)])


def test_padding(lift):
    def make(h, w, t):
        pad = np.full((h, 5), .5, np.float32)
        return dict(after=np.concatenate([LEARNED[:7], pad]), before=np.concatenate([pad, LEARNED[:7]]),
                    valid=np.arange(h * w) < w, held=np.minimum(np.arange(64), h), fixed=np.arange(50) < h,
                    corner=(np.arange(40)[:, None] < h) & (np.arange(48) < w),
                    weights=((np.arange(40)[:, None] < h) & (np.arange(48) < w)).astype(np.float32)[None])
    check_primes(lift, make, sizes=MIXED, unseen=[(31, 17), (2, 2), (37, 5), (13, 43)])


def test_buffers_without_entries_and_what_is_empty_in_one_trace(lift):
    check_primes(lift, lambda h, w, t: dict(none=np.zeros((h, 0, 3), np.float32), nothing=np.zeros((2, w, 0), bool)))
    out, printed = lift({(h, w): loose(h, w, 1, dict(some=np.arange(h - 11)[:, None] * LEARNED[7])) for h, w in PRIMES}, code=1)
    assert "empty in some of the traces" in printed


@pytest.mark.parametrize("entry", [np.nan, np.inf])
def test_entries_that_are_no_numbers(lift, entry):
    table = LEARNED.copy()
    table[:, 2] = entry
    out, printed = lift({(h, w): loose(h, w, 1, dict(table=table[h:h + h * w])) for h, w in PRIMES}, code=1)
    assert "table" in printed and not out.exists()
    out, printed = lift({(h, w): loose(h, w, 1, dict(nan=np.full(h, np.nan, np.float32))) for h, w in PRIMES}, code=1)
    assert "no numbers" in printed


def test_buckets_that_seem_to_end_with_a_trace(lift):
    """Distances up to 16, then buckets that grow: the one trace that reaches the first of them shows two distances of it."""
    def make(h, w, t):
        apart = np.maximum(np.arange(h * w)[:, None] - np.arange(h * w), 0)
        log = 16 + (np.log(np.maximum(apart, 1) / 16) / np.log(8) * 16).astype(np.int64)
        return dict(bucket=np.where(apart < 16, apart, np.minimum(log, 31)))
    fails_beyond(lift, make, [(1, 7), (2, 6), (2, 9)], [(1, 5), (2, 7), (1, 17)], [(5, 5), (3, 11)])


def test_integers_that_are_too_large(lift):
    out, printed = lift({(h, w): loose(h, w, 1, dict(big=2**60 + np.arange(h * w) ** 3 % 7)) for h, w in PRIMES}, code=1)
    assert "above 2^53" in printed


def test_a_grid_behind_a_class_token(lift):
    def make(h, w, t):
        rows, columns = raster(h, w)
        angles = np.concatenate([rows[:, None] * FREQUENCIES, columns[:, None] * FREQUENCIES], 1)
        return dict(cos=np.concatenate([np.ones((1, 12)), np.cos(angles)]).astype(np.float32)[None],
                    index=np.concatenate([[-1, -2, -3, -4, -5], rows * w + columns]), positions=np.stack([np.append(0, rows + 1), np.append(0, columns + 1)]))
    check_primes(lift, make, sizes=MIXED, tolerance=2e-5)


def resized(table, h, w, mode, coordinates):
    """A grid of learned rows [side, side, d], resized by ONNX Runtime."""
    attributes = dict(mode=mode, coordinate_transformation_mode=coordinates)
    nodes = [helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], **attributes)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None] * 4),
                                           helper.make_tensor_value_info("sizes", TensorProto.INT64, [4])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * 4)])
    run = session(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8))
    side = table.transpose(2, 0, 1)[None]
    return run.run(None, dict(x=side, sizes=np.array([1, table.shape[2], h, w])))[0][0].transpose(1, 2, 0)


@pytest.mark.parametrize("coordinates", ["half_pixel", "align_corners"])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_learned_positions_that_were_interpolated(lift, mode, coordinates):
    learned = LEARNED[:14 * 14].reshape(14, 14, 5)
    def make(h, w, t):
        table = resized(learned, h, w, mode, coordinates)
        flat = table.reshape(-1, 5)
        merged = table.reshape(h // 2, 2, w // 2, 2, 5).transpose(0, 2, 1, 3, 4).reshape(-1, 5)
        return dict(flat=flat[None], token=np.concatenate([LEARNED[500:501], flat])[None], image=table.transpose(2, 0, 1)[None], merged=merged)
    printed = check_loose(lift, make, sizes=[(10, 22), (14, 14), (18, 6)], unseen=[(22, 10), (2, 2), (30, 26)], tolerance=1e-5)
    assert f"{mode} interpolation ({coordinates}) of the 14 x 14 positions" in printed


@pytest.mark.parametrize("coordinates", ["half_pixel", "align_corners"])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_learned_positions_of_a_smaller_grid_than_any_trace_has(lift, mode, coordinates):
    """No trace has them as they were learned: one that is larger along both sides tells them all the same."""
    learned = LEARNED[:9 * 11].reshape(9, 11, 5)
    def make(h, w, t):
        side = np.ascontiguousarray(learned[:, :9])
        return dict(flat=resized(side, h, w, mode, coordinates).reshape(-1, 5)[None])
    is_bounded = (mode, coordinates) == ("linear", "half_pixel")  # anti-aliasing, of which no trace tells, would have another one smaller
    unseen = [(22, 10), (46, 34), (9, 9), *([] if is_bounded else [(2, 2)])]
    printed = check_loose(lift, make, sizes=[(16, 24), (22, 30), (28, 18)], unseen=unseen, tolerance=2e-5)
    assert f"{mode} interpolation ({coordinates}) of the 9 x 9 positions that were learned" in printed


def test_learned_positions_of_a_larger_grid_than_any_trace_has(lift):
    """What is between the entries of every trace is in none of them."""
    learned = LEARNED[:40 * 40].reshape(40, 40, 5)
    _, printed = lift({(h, w): loose(h, w, 1, dict(flat=resized(learned, h, w, "cubic", "half_pixel").reshape(-1, 5)))
                       for h, w in [(16, 24), (22, 30), (28, 18)]}, code=1)
    assert "no generator gives its entries" in printed and "were learned" not in printed


def test_learned_rows_before_and_after_a_grid(lift):
    """A class token, positions of a grid that were interpolated, detection tokens."""
    learned = LEARNED[:14 * 14].reshape(14, 14, 5)
    def make(h, w, t):
        return dict(rows=np.concatenate([LEARNED[500:501], resized(learned, h, w, "cubic", "half_pixel").reshape(-1, 5), LEARNED[600:607]])[None])
    check_loose(lift, make, sizes=[(10, 22), (14, 14), (18, 6)], unseen=[(22, 10), (2, 2), (30, 26)], tolerance=1e-5)


@pytest.mark.parametrize("coordinates", ["half_pixel", "align_corners"])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_learned_positions_that_no_trace_has_whole(lift, mode, coordinates):
    """Each trace is smaller than 14 x 14 along one side or both: what one leaves open, the others tell."""
    learned = LEARNED[:14 * 14].reshape(14, 14, 5)
    def make(h, w, t):
        table = resized(learned, h, w, mode, coordinates)
        flat = table.reshape(-1, 5)
        return dict(flat=flat[None], token=np.concatenate([LEARNED[500:501], flat])[None], image=table.transpose(2, 0, 1)[None])
    printed = check_loose(lift, make, sizes=[(10, 14), (14, 12), (11, 22)], unseen=[(22, 10), (7, 5), (14, 14), (30, 26)], tolerance=3e-5)
    assert f"{mode} interpolation ({coordinates}) of the 14 x 14 positions that were learned, determined by all traces together" in printed


def test_learned_positions_that_all_traces_together_leave_open(lift):
    """Both sides were halved, or nearly: not every learned number has left a trace."""
    learned = LEARNED[:14 * 14].reshape(14, 14, 5)
    sizes = [(5, 9), (8, 6), (7, 7)]
    out, printed = lift({size: loose(*size, 1, dict(table=resized(learned, *size, "cubic", "half_pixel").reshape(-1, 5))) for size in sizes}, code=1)
    assert "nothing was written" in printed and "were learned" not in printed and not out.exists()


def test_a_grid_of_squares(thaw, save, tmp_path):
    """Traces whose height is their width: the grid is one of squares, and the lifted model declares one size for both."""
    def trace(side):
        net, (rows, columns) = Net(), raster(side // 4, side // 4)
        x = net.add("Conv", "x", net.constant(np.ones((2, 1, 4, 4), np.float32)), strides=[4, 4])
        x = net.add("Transpose", net.add("Reshape", x, net.ints(1, 2, -1)), perm=[0, 2, 1])
        return net.model([1, 1, side, side], net.add("Mul", x, net.constant(np.stack([np.cos(rows * .1), np.sin(columns * .01)], 1).astype(np.float32))))
    run = lifted(thaw, save, tmp_path, {str(side): trace(side) for side in (16, 40, 28)})
    assert run.get_inputs()[0].shape[2] == run.get_inputs()[0].shape[3]
    for side in (16, 40, 28, 4, 52):
        x = np.random.default_rng(side).standard_normal((1, 1, side, side), dtype=np.float32)
        rows, columns = raster(side // 4, side // 4)
        sums = x.reshape(side // 4, 4, side // 4, 4).sum((1, 3)).reshape(-1, 1)
        true = sums * np.stack([np.cos(rows * .1), np.sin(columns * .01)], 1)
        assert np.abs(run.run(None, {"x": x})[0][0] - true).max() < 1e-4, side
