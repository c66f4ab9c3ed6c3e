"""`thaw fix --reference`: which integers of one trace are sizes, proposed from the export's sizes and kept where the true
model's numbers at other sizes confirm them; what they refute is not written."""

import numpy as np
import onnx
import pytest

from check_rules_test import F, ints, model, node
from conftest import need_shared, session, worst
from models import merge_grid, vision_tower
from models.builder import FLOAT, INT64, Builder
from models.families import BY_NAME

AT = ("--values", "grid_thw=1,22,30")
GRID = ("--add-input", "grid_thw:int64[1,3]")
CASES = [(22, 30), (30, 22), (14, 26)]
MOVING = [*CASES, (6, 10, 3)]  # a case of three frames: without it nothing tells a frame count from a 1
UNSEEN = [(34, 6), (2, 2), (18, 10)]


@pytest.fixture(scope="module")
def truth():
    return session(merge_grid.dynamic())


@pytest.fixture
def refer(tmp_path, truth):
    """Writes a reference of the true model at these sizes; returns its path."""
    def write(sizes, name="refs", drop=(), change=None):
        arrays = {}
        for i, size in enumerate(sizes):
            feed = merge_grid.feeds(*size, seed=i)
            case = {**feed, "features": truth.run(None, feed)[0]}
            arrays.update({f"{key}_{i}": value for key, value in case.items() if key not in drop})
        path = tmp_path / f"{name}.npz"
        np.savez(path, **(change(arrays) if change else arrays))
        return path
    return write


def changed(report):
    """{tensor of the trace as text: what it became} of the integers."""
    return dict(note["message"].split(";")[0].split(" becomes ", 1) for note in report["changed"] if " becomes " in note["message"])


def unseen_difference(path, truth, sizes=UNSEEN):
    fixed = session(path)
    return max(worst(fixed.run(None, f), truth.run(None, f)) for f in (merge_grid.feeds(*size, seed=9) for size in sizes))


@pytest.mark.parametrize("grid", [True, False], ids=["grid_is_an_input", "grid_was_baked_in"])
def test_the_reshape_of_the_field_report(thaw, save, tmp_path, refer, truth, grid):
    path, out = save(merge_grid.static(22, 30, grid=grid)), tmp_path / "fixed.onnx"
    report = thaw.json("fix", path, "-o", out, *AT, "--reference", refer(MOVING), *(() if grid else GRID), code=0)
    became = changed(report)
    assert became["[1, 11, 2, 15, 2, -1]"] == "[grid_thw[0], floor(grid_thw[1]/2), 2, floor(grid_thw[2]/2), 2, -1]"
    assert became["[165]"] == "[floor(num_patches/4)]" and became["[165, 64]"] == "[floor(num_patches/4), 64]"
    assert report["accepted"] and [c["agrees"] for c in report["cases"]] == [True] * 4
    assert unseen_difference(out, truth, [*UNSEEN, (10, 14, 5)]) <= 1e-6


def test_an_input_that_the_reference_holds_is_added(thaw, save, tmp_path, refer, truth):
    out = tmp_path / "fixed.onnx"
    report = thaw.json("fix", save(merge_grid.static(22, 30, grid=False)), "-o", out, *AT, "--reference", refer(MOVING), code=0)
    assert any("gains the input 'grid_thw', int64[1,3]" in note for note in report["notes"])
    assert [i.name for i in session(out).get_inputs()] == ["pixel_values", "grid_thw"]
    assert unseen_difference(out, truth) <= 1e-6


def test_numbers_that_the_file_declares_become_free(thaw, save, tmp_path, refer, truth):
    model = merge_grid.static(22, 30, grid=False)
    for value, size in ((model.graph.input[0], 660), (model.graph.output[0], 165)):
        value.type.tensor_type.shape.dim[0].dim_value = size
    out = tmp_path / "fixed.onnx"
    report = thaw.json("fix", save(model), "-o", out, *AT, "--reference", refer(MOVING), code=0)
    assert [n["values"] for n in report["symbols"] if n["name"] == "pixel_values_dim0"] == [["660", "660", "660", "364", "180"]]
    assert unseen_difference(out, truth) <= 1e-6


def test_an_opset_in_which_no_size_is_computed_is_raised(thaw, save, tmp_path, refer, truth):
    model = merge_grid.static(22, 30)
    model.opset_import[0].version = 11
    constants = {n.output[0]: onnx.numpy_helper.to_array(n.attribute[0].t).tolist() for n in model.graph.node if n.op_type == "Constant"}
    for reshape in (n for n in model.graph.node if n.op_type == "Reshape"):
        del reshape.attribute[:]
    for split in (n for n in model.graph.node if n.op_type == "Split"):
        split.attribute.append(onnx.helper.make_attribute("split", constants[split.input.pop()]))
    out = tmp_path / "fixed.onnx"
    report = thaw.json("fix", save(model), "-o", out, *AT, "--reference", refer(MOVING), code=0)
    assert "the opset is raised from 11 to 13, in which nodes compute sizes" in report["notes"]
    assert unseen_difference(out, truth) <= 1e-6


def test_the_trace_itself_runs_at_the_other_way_round_and_is_wrong(save, truth):
    """What the reference is for: 22 x 30 and 30 x 22 have as many patches, and no shape tells them apart."""
    feed = merge_grid.feeds(30, 22)
    assert worst(session(merge_grid.static(22, 30)).run(None, feed), truth.run(None, feed)) > 0.1


def test_one_case_tells_height_from_width_and_no_more(thaw, save, tmp_path, refer):
    report = thaw.json("fix", save(merge_grid.static(22, 30)), "-o", tmp_path / "fixed.onnx", *AT, "--reference", refer([(30, 22)]), code=0)
    became = changed(report)
    # As many patches as at the export: 165 may be num_patches / 4 or not. It is left, and said so.
    assert became["[1, 11, 2, 15, 2, -1]"] == "[1, floor(grid_thw[1]/2), 2, floor(grid_thw[2]/2), 2, -1]"
    assert "[165]" not in became and "[165, 64]" not in became
    assert [n["code"] for n in report["remaining"] if "no case tells 165 from" in n["message"]] == ["THAW010", "THAW011"]
    assert any("export's own sizes" in note for note in report["notes"])


def test_without_a_case_of_more_frames_a_1_stays(thaw, save, tmp_path, refer, truth):
    out = tmp_path / "fixed.onnx"
    report = thaw.json("fix", save(merge_grid.static(22, 30)), "-o", out, *AT, "--reference", refer(CASES), code=0)
    assert changed(report)["[1, 11, 2, 15, 2, -1]"] == "[1, floor(grid_thw[1]/2), 2, floor(grid_thw[2]/2), 2, -1]"
    assert any("[1, 11, 2, 15, 2, -1]" in n["message"] and "no case tells 1 from grid_thw[0]" in n["message"] for n in report["changed"])
    assert unseen_difference(out, truth) <= 1e-6


@pytest.mark.parametrize("size, sizes, shape", [
    # Both sides are 22: each 11 may be half of either.
    ((22, 22), [(22, 22), (30, 22), (14, 26)], "[1, 11, 2, 11, 2, -1]"),
    # Half of the height is the side of a merge, the number of heads and of frames in a patch.
    ((4, 26), [(30, 22), (14, 26)], "[1, 2, 2, 13, 2, -1]"),
    # Half of the height is the model's width, half of the width a head's.
    ((32, 16), [(22, 14), (6, 26)], "[1, 16, 2, 8, 2, -1]"),
], ids=["square", "as_merge", "as_width"])
def test_coincidences_are_told_apart_by_the_numbers(thaw, save, tmp_path, refer, truth, size, sizes, shape):
    out = tmp_path / "fixed.onnx"
    at = "grid_thw=1,{},{}".format(*size)
    report = thaw.json("fix", save(merge_grid.static(*size)), "-o", out, "--sizes", at, "--reference", refer(sizes), code=0)
    assert changed(report)[shape] == "[1, floor(grid_thw[1]/2), 2, floor(grid_thw[2]/2), 2, -1]"
    assert unseen_difference(out, truth) <= 1e-6


# Of an image of h x w: what a Reshape makes of it.
OF_IMAGE = {
    "rows": lambda h, w: [1, 3, h, -1],
    "halves": lambda h, w: [1, 3, h // 2, 2, w // 2, 2],
    "cells": lambda h, w: [1, 3, h * w],
    "cells of columns": lambda h, w: [3 * w, -1],
    "columns and cells": lambda h, w: [w // 2, 3 * h * 2],
}


def compare_with_guards(thaw, save, tmp_path, made, sizes, unseen):
    """What a model that is fixed by references at these sizes comes to at others: the numbers of a true one, or an error of the guard. None
    where nothing is written."""
    def feeds(h, w):
        return {"x": np.random.default_rng(h).standard_normal((1, 3, h, w), dtype=np.float32)}
    arrays = {f"case {h}x{w}/{key}": value for h, w in sizes
              for key, value in (feeds(h, w) | {"y": session(made(h, w)).run(None, feeds(h, w))[0]}).items()}
    np.savez(tmp_path / "refs.npz", **arrays)
    out = tmp_path / "fixed.onnx"
    thaw("fix", save(made(*sizes[0])), "-o", out, "--reference", tmp_path / "refs.npz", code={0, 1})
    if not out.exists():
        return None
    seen = {}
    for size in unseen:
        wanted = session(made(*size)).run(None, feeds(*size))[0]
        try:
            got = session(out).run(None, feeds(*size))[0]
            seen[size] = "right" if got.shape == wanted.shape and (got == wanted).all() else "wrong"
        except Exception as error:
            refusals = "guard_Reshape", "Got invalid dimensions for input: x"  # the latter of a side that no case varies, which stays a number
            seen[size] = "guard" if any(refusal in str(error) for refusal in refusals) else "error"
    assert set(seen.values()) <= {"right", "guard"}, seen
    return seen


@pytest.mark.parametrize("rounded", [lambda n: n // 2, lambda n: -(-n // 2), lambda n: n // 4, lambda n: -(-n // 8), lambda n: n // 7],
                         ids=["n/2 down", "n/2 up", "n/4 down", "n/8 up", "n/7 down"])
@pytest.mark.parametrize("sizes", [[(16, 12), (8, 20), (24, 32)], [(16, 8), (9, 12), (29, 33)], [(16, 16), (8, 8)], [(14, 21), (28, 7), (21, 28)]], ids=str)
def test_how_a_part_is_rounded_is_guarded_where_no_case_tells(thaw, save, tmp_path, rounded, sizes):
    def made(h, w):
        ends = ints("end", [rounded(h)])
        return model([node("Slice", ["x", "zero", "end", "axis"], "y")], [("x", F, [1, 3, h, w])], [("y", F, [1, 3, None, w])],
                     [ints("zero", [0]), ends, ints("axis", [2])])
    compare_with_guards(thaw, save, tmp_path, made, sizes, [(17, 9), (30, 8), (15, 15), (21, 14), (32, 16), (11, 13), (28, 28)])


@pytest.mark.parametrize("what", OF_IMAGE)
@pytest.mark.parametrize("sizes", [[(8, 8), (12, 12), (22, 22)], [(22, 22), (6, 6)], [(6, 12), (22, 44)], [(22, 8), (6, 8)], [(6, 10), (22, 14)]], ids=str)
def test_what_no_case_tells_apart_is_guarded(thaw, save, tmp_path, what, sizes):
    """Of squares alone nothing tells a height from a width: elsewhere the model ends with the guard's error, and not with other numbers."""
    def made(h, w):
        to = OF_IMAGE[what](h, w)
        return model([node("Reshape", ["x", "to"], "y")], [("x", F, [1, 3, h, w])], [("y", F, [None] * len(to))], [ints("to", to)])

    seen = compare_with_guards(thaw, save, tmp_path, made, sizes, [(4, 4), (10, 10), (4, 8), (14, 28), (10, 8), (4, 6), (22, 10), (6, 14)])
    assert seen is None or "right" in seen.values(), seen


@pytest.mark.parametrize("true", [lambda h: h, lambda h: 20], ids=["the height", "the number"])
@pytest.mark.parametrize("cases", [[(8, 12), (14, 10)], [(20, 9)], [(20, 30), (3, 3)]], ids=str)
def test_the_end_of_a_slice_that_lies_past_every_case(thaw, save, tmp_path, true, cases):
    """Up to 20 the height and 20 cut alike; beyond it nothing tells which it is."""
    def made(h, w):
        cut = node("Slice", ["x", "start", "end", "axis"], "y")
        return model([cut], [("x", F, [1, 3, h, w])], [("y", F, [None] * 4)], [ints("start", [0]), ints("end", [true(h)]), ints("axis", [2])])

    seen = compare_with_guards(thaw, save, tmp_path, made, [(20, 12), *cases], [(25, 12), (20, 30), (11, 9), (40, 40), (1, 7)])
    assert seen[25, 12] == seen[40, 40] == "guard" and "right" in seen.values(), seen


@pytest.mark.parametrize("to", [lambda h, w: h, lambda h, w: 20, lambda h, w: 2 * h, lambda h, w: h - 20], ids=["h", "20", "2 h", "h - 20"])
@pytest.mark.parametrize("cases", [[(25, 10), (15, 9)], [(25, 10), (24, 25)], [(30, 8)], [(36, 33), (15, 20)]], ids=str)
def test_the_end_of_a_slice_of_another_axis(thaw, save, tmp_path, to, cases):
    """Where no case has so many columns, an end at the rows cuts as much as one at their number does, whichever is more."""
    def made(h, w):
        first = node("Slice", ["x", "zero", "half", "rows"], "half_of_it")
        cut = node("Slice", ["half_of_it", "zero", "end", "columns"], "y")
        return model([first, cut], [("x", F, [1, 3, h, w])], [("y", F, [None] * 4)],
                     [ints("zero", [0]), ints("half", [h // 2]), ints("end", [to(h, w)]), ints("rows", [2]), ints("columns", [3])])

    compare_with_guards(thaw, save, tmp_path, made, [(20, 12), *cases], [(40, 40), (5, 7), (25, 60), (60, 25), (13, 41), (19, 20), (26, 5)])


def test_what_was_refuted_is_said(thaw, save, tmp_path, refer):
    report = thaw.json("fix", save(merge_grid.static(22, 22)), "--dry-run", "--sizes", "grid_thw=1,22,22",
                       "--reference", refer([(22, 22), (30, 22), (14, 26)]), code=0)
    note = next(n for n in report["changed"] if n["message"].startswith("[1, 11, 2, 11, 2, -1]"))
    assert "[1, floor(grid_thw[2]/2), 2, floor(grid_thw[1]/2), 2, -1] is refuted by case" in note["message"]
    assert note["values"] == ["[1, 11, 2, 11, 2, -1]", "[1, 11, 2, 11, 2, -1]", "[1, 15, 2, 11, 2, -1]", "[1, 7, 2, 13, 2, -1]"]


def network_reference(path, full, feeds):
    arrays = {}
    for i, feed in enumerate(feeds):
        arrays.update({f"case {i}/{key}": value for key, value in feed.items()})
        arrays.update({f"case {i}/{o.name}": value for o, value in zip(full.get_outputs(), full.run(None, feed))})
    np.savez(path, **arrays)


@pytest.mark.parametrize("name, sizes, at", [
    ("text_decoder", None, None), ("ocr", None, "batch=3,width=44"), ("ocr", None, "x[0]=3,x_dim3=44"), ("vit_resize", None, "height=40,width=72"),
    ("vit_corners", [(88, 136), (40, 72), (104, 56)], "height=88,width=136")])
def test_one_trace_of_a_network_equals_it_at_a_size_that_nothing_showed(thaw, save, tmp_path, name, sizes, at):
    """Tables too: positions, angles, corners and weights of interpolation, and a first state of zeros are made by generators."""
    family = BY_NAME[name]
    full, sizes = session(family.dynamic()), sizes or family.sizes
    network_reference(tmp_path / "refs.npz", full, [family.feeds(*size) for size in sizes])
    out = tmp_path / "fixed.onnx"
    thaw("fix", save(family.static(*sizes[0])), "-o", out, "--reference", tmp_path / "refs.npz", *(["--sizes", at] if at else []), code=0)
    for size in family.unseen:
        feed = family.feeds(*size)
        assert worst(session(out).run(None, feed), full.run(None, feed)) <= 1e-6


def test_a_batch_of_one_grows(thaw, save, tmp_path):
    """The list of its samples is [[0]]: nothing in its shape says that it is one."""
    family = BY_NAME["text_decoder"]
    full = session(family.dynamic())
    network_reference(tmp_path / "refs.npz", full, [family.feeds(*size) for size in [(1, 7), (3, 11), (2, 5)]])
    out = tmp_path / "fixed.onnx"
    thaw("fix", save(family.static(1, 7)), "-o", out, "--reference", tmp_path / "refs.npz", code=0)
    feed = family.feeds(5, 13)
    assert worst(session(out).run(None, feed), full.run(None, feed)) <= 1e-6


@pytest.mark.parametrize("rotary", ["angles", "folded", "gathered"])
def test_one_trace_of_a_tower_whose_patches_lie_by_windows(thaw, save, tmp_path, rotary):
    """The order of the windows, its inverse and the angles are tables; attention sees the whole frame."""
    options = dict(full=(0, 1, 2, 3))
    full = session(vision_tower.dynamic(**options))
    network_reference(tmp_path / "refs.npz", full, [vision_tower.feeds(*size) for size in CASES])
    out = tmp_path / "fixed.onnx"
    thaw("fix", save(vision_tower.static(22, 30, rotary=rotary, **options)), "-o", out, *AT, *GRID, "--reference", tmp_path / "refs.npz", code=0)
    for size in [(2, 2), (6, 34), (34, 46)]:
        feed = vision_tower.feeds(*size)
        assert worst(session(out).run(None, feed), full.run(None, feed)) <= 1e-5


def test_the_end_of_a_slice_is_what_it_is_elsewhere(thaw, save, tmp_path):
    """Exported at the longest of all: a Slice to 17 cuts nothing in any case, and is too short at 23."""
    family = BY_NAME["text_decoder"]
    full = session(family.dynamic())
    network_reference(tmp_path / "refs.npz", full, [family.feeds(*size) for size in [(5, 17), (2, 11), (3, 7)]])
    out = tmp_path / "fixed.onnx"
    report = thaw.json("fix", save(family.static(5, 17)), "-o", out, "--reference", tmp_path / "refs.npz", code=0)
    assert any("here 17 does as well in every case, but it is input_ids_dim1 elsewhere" in n["message"] for n in report["changed"])
    feed = family.feeds(7, 23)
    assert worst(session(out).run(None, feed), full.run(None, feed)) <= 1e-6


def test_one_case_by_plain_names(thaw, save, tmp_path, truth):
    feed = merge_grid.feeds(14, 26)
    np.savez(tmp_path / "refs.npz", **feed, features=truth.run(None, feed)[0])
    out = tmp_path / "fixed.onnx"
    report = thaw.json("fix", save(merge_grid.static(22, 30)), "-o", out, *AT, "--reference", tmp_path / "refs.npz", code=0)
    assert [c["case"] for c in report["cases"]] == [""]
    assert unseen_difference(out, truth) <= 1e-6


def turned(frozen):
    """Rows of a grid turned and turned back, each by the grid's sides: at a square grid both Reshapes hold [6, 6, 4]."""
    b = Builder("turned")
    x, grid = b.input("x", FLOAT, ["n", 4]), b.input("grid", INT64, [2])
    h, w = (6, 6) if frozen else (b.op("Gather", grid, i, axis=0) for i in range(2))
    up = b.op("CumSum", b.reshape(x, [h, w, 4]), 0)
    x = b.op("Transpose", up, perm=[1, 0, 2])
    x = b.op("Mul", b.reshape(b.op("CumSum", b.reshape(x, [-1, 4]), 0), [w, h, 4]), 0.5)
    b.output(b.reshape(b.op("CumSum", x, 0), [-1, 4]), "y", FLOAT, ["n", 4])
    return b.model()


def test_equal_constants_that_are_not_one(thaw, save, tmp_path):
    full = session(turned(False))
    def feed(h, w):
        return {"x": np.random.default_rng(h).standard_normal((h * w, 4), dtype=np.float32), "grid": np.array([h, w])}
    network_reference(tmp_path / "refs.npz", full, [feed(*size) for size in [(6, 6), (3, 7), (10, 4)]])
    out = tmp_path / "fixed.onnx"
    report = thaw.json("fix", save(turned(True)), "-o", out, "--sizes", "grid=6,6", "--reference", tmp_path / "refs.npz", code=0)
    assert sorted(n["message"].split(";")[0] for n in report["changed"] if n["code"] == "THAW010") == [
        "[6, 6, 4] becomes [grid[0], grid[1], 4]", "[6, 6, 4] becomes [grid[1], grid[0], 4]"]
    assert worst(session(out).run(None, feed(5, 11)), full.run(None, feed(5, 11))) <= 1e-5


# ---- what is not confirmed

def refused(thaw, tmp_path, *args):
    """Runs fix onto a file that is there already, which must stay as it is; what it printed."""
    out = tmp_path / "out.onnx"
    out.write_bytes(b"as it was")
    run = thaw("fix", *args, "-o", out, code=1)
    assert out.read_bytes() == b"as it was"
    assert "nothing was written" in run.stdout
    return run.stdout


def test_another_models_numbers_confirm_nothing(thaw, save, tmp_path, refer):
    def other(arrays):
        return {key: value + np.float32(0.5) if key.startswith("features") else value for key, value in arrays.items()}
    path = save(merge_grid.static(22, 30))
    printed = refused(thaw, tmp_path, path, *AT, "--reference", refer(CASES, change=other))
    assert "does not match the reference at the sizes of --sizes and --values" in printed
    printed = refused(thaw, tmp_path, path, *AT, "--reference", refer(CASES[1:], change=other))
    assert "none of" in printed and "DIFFERS from case '0'" in printed and "proposed, not confirmed" in printed


def test_one_wrong_case_refutes_all(thaw, save, tmp_path, refer):
    def wrong(arrays):
        return {**arrays, "features_2": arrays["features_2"][::-1]}
    printed = refused(thaw, tmp_path, save(merge_grid.static(22, 30)), *AT, "--reference", refer(CASES, change=wrong))
    assert "agrees with case '1'" in printed and "DIFFERS from case '2'" in printed


def test_tries_are_bounded(thaw, save, tmp_path, refer):
    def wrong(arrays):
        return {key: -value if key.startswith("features") else value for key, value in arrays.items()}
    path = save(merge_grid.static(22, 22))
    report = thaw.json("fix", path, "--dry-run", "--sizes", "grid_thw=1,22,22", "--tries", "3",
                       "--reference", refer([(30, 22), (14, 26)], change=wrong), code=1)
    assert report["tries"] == 3 and any("--tries" in note for note in report["notes"]), report


@pytest.mark.parametrize("grid", ["grid_thw=1,20,30", "grid_thw=1,30,22"])
def test_a_wrong_size_at_the_export_confirms_nothing(thaw, save, tmp_path, refer, grid):
    refused(thaw, tmp_path, save(merge_grid.static(22, 30)), "--sizes", grid, "--reference", refer(CASES))


def test_a_frozen_list_of_windows_is_named(thaw, save, tmp_path):
    """A branch for each window: no expression of one trace helps, and the place is said."""
    family = BY_NAME["vision_tower_folded"]
    network_reference(tmp_path / "refs.npz", session(family.dynamic()), [family.feeds(*size) for size in family.sizes])
    h, w = family.sizes[0]
    printed = refused(thaw, tmp_path, save(family.static(h, w)), "--sizes", f"grid_thw=1,{h},{w}", *GRID,
                      "--reference", tmp_path / "refs.npz", "--all")
    assert "Split '/visual/blocks.0/attn/Split_1'" in printed and "no simple expressions fit" in printed


def test_cases_that_the_model_cannot_be_fed_are_left_out(thaw, save, tmp_path, refer):
    def two_images(arrays):
        feed = {"pixel_values_3": arrays["pixel_values_0"], "grid_thw_3": np.array([[1, 22, 15], [1, 22, 15]]), "features_3": arrays["features_0"]}
        return {**arrays, **feed}
    report = thaw.json("fix", save(merge_grid.static(22, 30)), "-o", tmp_path / "fixed.onnx", *AT,
                       "--reference", refer(CASES, change=two_images), code=0)
    assert [c["case"] for c in report["cases"]] == ["0", "1", "2"]
    assert any("case '3' is left out: 'grid_thw' is int64[2,3] there" in note for note in report["notes"])


def test_cases_can_be_chosen(thaw, save, tmp_path, refer):
    report = thaw.json("fix", save(merge_grid.static(22, 30)), "--dry-run", *AT, "--reference", refer(MOVING), "--cases", "1,2", code=0)
    assert [c["case"] for c in report["cases"]] == ["1", "2"] and report["output"] is None


# ---- wrong calls

@pytest.mark.parametrize("at, words", [
    ("grid_thw=1,22", ["'grid_thw' is given 2 values", "3, for its shape [1, 3]"]),
    ("grid_thw=1,22,x", ["'x'", "no integer"]),
    ("grid=1,22,30", ["'grid'", "neither an input", "--add-input"]),
    ("pixel_values=1", ["'pixel_values' does not hold integers"]),
    ("grid_thw[-1]=3", ["'grid_thw[-1]' is no size"]),
    ("grid_thw[1]=22;grid_thw[1]=22", ["given twice"]),
    ("", ["--sizes"]),
])
def test_sizes_at_the_export_that_make_no_sense(thaw, save, refer, at, words):
    message = thaw.error("fix", save(merge_grid.static(22, 30)), "--dry-run", "--sizes", at, "--reference", refer(CASES))
    assert all(word in message for word in words), message


def test_a_declared_size_is_not_contradicted(thaw, save, tmp_path):
    family, arrays = BY_NAME["text_decoder"], {}
    for i, size in enumerate(family.sizes):
        feed = family.feeds(*size)
        arrays.update({f"{key}_{i}": value for key, value in {**feed, "logits": np.zeros((1, 1, 1), np.float32)}.items()})
    np.savez(tmp_path / "refs.npz", **arrays)
    message = thaw.error("fix", save(family.static(3, 7)), "--dry-run", "--sizes", "input_ids_dim0=5", "--reference", tmp_path / "refs.npz")
    assert "'input_ids_dim0' is 5, but the model declares 3" in message


@pytest.mark.parametrize("drop, change, words", [
    (("pixel_values",), None, ["no array for the input 'pixel_values' in case '0'"]),
    (("grid_thw",), None, ["no array for the input 'grid_thw' in case '0'"]),
    (("features",), None, ["none of the model's outputs", "'features'"]),
    ((), lambda a: {**a, "grid_thw_1": a["grid_thw_1"].astype(np.int32)}, ["'grid_thw' in case '1' is int32[1,3]", "int64"]),
    ((), lambda a: {**a, "pixel_values_1": a["pixel_values_1"].reshape(-1)}, ["'pixel_values' in case '1'", "rank 2"]),
    ((), lambda a: {k: v for k, v in a.items() if k.endswith("_0")}, ["every case is at the sizes of the export"]),
])
def test_references_that_lack_something(thaw, save, refer, drop, change, words):
    message = thaw.error("fix", save(merge_grid.static(22, 30)), "--dry-run", *AT, "--reference", refer(CASES, drop=drop, change=change))
    assert all(word in message for word in words), message


@pytest.mark.parametrize("damage", [lambda b: b"", lambda b: b"no archive at all", lambda b: b[: len(b) // 2], lambda b: b[:200] + b[260:]])
def test_a_damaged_reference_is_refused(thaw, save, refer, damage):
    path = refer(CASES)
    path.write_bytes(damage(path.read_bytes()))
    assert "refs.npz" in thaw.error("fix", save(merge_grid.static(22, 30)), "--dry-run", *AT, "--reference", path)


def test_options_that_need_each_other(thaw, save, refer):
    path = save(merge_grid.static(22, 30))
    assert "--reference" in thaw.error("fix", path, "--dry-run", "--sizes", "num_patches=660")
    assert "--reference" in thaw.error("fix", path, "--dry-run", *GRID)
    assert "'7'" in thaw.error("fix", path, "--dry-run", *AT, "--reference", refer(CASES), "--cases", "7")
    assert "nothing.npz" in thaw.error("fix", path, "--dry-run", *AT, "--reference", "nothing.npz")
    thaw("fix", path, *AT, "--reference", refer(CASES), code=0)
    assert path.with_name("model.fixed.onnx").exists()
    assert "'grid_thw'" in thaw.error("fix", path, "--dry-run", *AT, *GRID, "--reference", refer(CASES))


# ---- exports of transformers

def features(h, w, width, seed):
    return dict(pixel_values=np.random.default_rng(seed).standard_normal((h * w, width), dtype=np.float32), grid_thw=np.array([[1, h, w]]))


def test_qwen3_vl_from_one_trace(thaw, tmp_path):
    folder, grids = need_shared("fixtures", "qwen3_vl"), [(22, 30), (16, 16), (8, 12)]
    stored, arrays = np.load(folder / "ref.npz"), {}
    names = ["vision_features", *(f"deepstack_features_{k}" for k in range(3))]
    for i, (h, w) in enumerate(grids):  # drawn as make_fixtures.py says
        arrays.update({f"{key}_{i}": value for key, value in features(h, w, 1536, 1000 + i).items()})
        arrays.update({f"{name}_{i}": stored[f"{name}_{i}"] for name in names})
    np.savez(tmp_path / "refs.npz", **arrays)
    out = tmp_path / "fixed.onnx"
    thaw("fix", folder / "trace_22x30.onnx", "-o", out, *AT, "--reference", tmp_path / "refs.npz", code=0)
    thaw("build", folder / "ckpt", "-o", tmp_path / "built", "--part", "vision", code=0)
    one, other = session(out), session(tmp_path / "built" / "vision.onnx")
    for h, w in [(30, 22), (14, 26), (2, 2), (64, 48)]:
        feed = features(h, w, 1536, h)
        assert worst(one.run(names, feed), other.run(names, feed)) <= 2e-5, (h, w)


@pytest.mark.parametrize("trace", ["qwen3_vl_22x30", "qwen3_vl_gridconst_22x30"])
def test_an_older_export_equals_the_trace_that_was_held_back(thaw, tmp_path, trace):
    """Position embeddings that were interpolated, angles and indices are tables; the other traces are the reference."""
    folder, arrays = need_shared("fixtures", "traces_more"), {}
    for h, w in [(22, 30), (16, 24), (28, 20)]:
        feed, model = features(h, w, 1536, h), session(folder / f"qwen3_vl_{h}x{w}.onnx")
        outputs = dict(zip([o.name for o in model.get_outputs()], model.run(None, feed)))
        arrays.update({f"{h}x{w}/{key}": value for key, value in {**feed, **outputs}.items()})
    np.savez(tmp_path / "refs.npz", **arrays)
    out = tmp_path / "fixed.onnx"
    thaw("fix", folder / f"{trace}.onnx", "-o", out, *AT, *(GRID if "gridconst" in trace else ()), "--reference", tmp_path / "refs.npz", code=0)
    feed = features(8, 12, 1536, 5)
    assert worst(session(out).run(None, feed), session(folder / "qwen3_vl_8x12.onnx").run(None, feed)) <= 2e-5


def test_a_text_model_from_any_one_of_its_traces(thaw, tmp_path):
    """Batches of 1, 2 (as many as key heads) and 3 (as many as the planes of its positions): all become one model."""
    folder, arrays, fixed = need_shared("fixtures", "traces_more"), {}, []
    def feed(b, s):
        mask = np.ones((b, s), np.int64)
        mask[0, :2] = 0
        return dict(input_ids=np.random.default_rng(s).integers(3, 480, (b, s)), attention_mask=mask)
    for b, s in [(1, 7), (2, 11), (3, 20)]:
        model = session(folder / f"text_{b}x{s}.onnx")
        arrays.update({f"{b}x{s}/{key}": value for key, value in {**feed(b, s), "logits": model.run(None, feed(b, s))[0]}.items()})
    np.savez(tmp_path / "refs.npz", **arrays)
    for size in ("1x7", "2x11", "3x20"):
        out = tmp_path / f"{size}.onnx"
        thaw("fix", folder / f"text_{size}.onnx", "-o", out, "--reference", tmp_path / "refs.npz", code=0)
        fixed.append(session(out).run(None, feed(5, 31)))
    assert fixed[0][0].shape == (5, 31, 512)
    assert max(worst(fixed[0], other) for other in fixed[1:]) <= 2e-5


def test_windows_of_an_export_are_refused_by_place(thaw, tmp_path):
    folder, arrays = need_shared("fixtures", "traces_more"), {}
    for h, w in [(22, 30), (18, 26)]:
        feed, model = features(h, w, 1176, h), session(folder / f"qwen2_5_vl_{h}x{w}.onnx")
        arrays.update({f"{h}x{w}/{key}": value for key, value in {**feed, "features": model.run(None, feed)[0]}.items()})
    np.savez(tmp_path / "refs.npz", **arrays)
    printed = refused(thaw, tmp_path, folder / "qwen2_5_vl_22x30.onnx", *AT, "--reference", tmp_path / "refs.npz")
    assert "Split '/v/blocks.0/attn/Split_1'" in printed


@pytest.mark.parametrize("grid", [True, False], ids=["grid_is_an_input", "grid_was_baked_in"])
def test_what_no_case_varies_is_guarded(thaw, save, tmp_path, refer, truth, grid):
    """References of one frame: at three the model ends with an error, and not with wrong numbers; and that is said."""
    out = tmp_path / "fixed.onnx"
    path = save(merge_grid.static(22, 30, grid=grid))
    report = thaw.json("fix", path, "-o", out, *AT, "--reference", refer(CASES), *(() if grid else GRID), code=0)
    assert any("known at grid_thw[0]=1 alone" in note for note in report["notes"])
    assert unseen_difference(out, truth) <= 1e-6
    with pytest.raises(Exception, match=r"[Rr]eshape"):
        session(out).run(None, merge_grid.feeds(10, 14, 5))
    optimized = tmp_path / "optimized.onnx"
    thaw("optimize", out, "-o", optimized, code={0, 1})
    if optimized.exists():
        with pytest.raises(Exception, match=r"[Rr]eshape"):
            session(optimized).run(None, merge_grid.feeds(10, 14, 5))


@pytest.mark.parametrize("opset", [13, 17, 20])
@pytest.mark.parametrize("axes", [("n", "h", "w"), (1, 14, 18)], ids=["free", "numbers"])
def test_sizes_of_a_resize_put_together_of_a_shape_and_constants(thaw, save, tmp_path, opset, axes):
    """What F.interpolate(size=) leaves: the positions at which the shape is cut are no sizes."""
    def halved_and_back(frozen, axes):
        nodes = [node("AveragePool", ["x"], "p", kernel_shape=[2, 2], strides=[2, 2]), node("Shape", ["p"], "s"),
                 node("Slice", ["s", "zero", "two", "zero"], "nc"), node("Shape", ["x"], "sx"), node("Slice", ["sx", "two", "four", "zero"], "own"),
                 node("Concat", ["nc", "hw" if frozen else "own"], "sizes", axis=0), node("Resize", ["p", "", "", "sizes"], "y", mode="linear")]
        inits = [ints("zero", [0]), ints("two", [2]), ints("four", [4]), ints("hw", [14, 18])]
        return model(nodes, [("x", F, [axes[0], 3, *axes[1:]])], [("y", F, ["n", 3, None, None])], inits, opset=opset)

    true, arrays = session(halved_and_back(False, ("n", "h", "w"))), {}
    for i, dims in enumerate([(1, 3, 14, 18), (1, 3, 20, 10), (2, 3, 12, 22)]):
        x = np.random.default_rng(i).standard_normal(dims).astype(np.float32)
        arrays |= {f"x_{i}": x, f"y_{i}": true.run(None, {"x": x})[0]}
    refs, out = tmp_path / "refs.npz", tmp_path / "fixed.onnx"
    np.savez(refs, **arrays)
    at = ("--sizes", "n=1,h=14,w=18") if axes[0] == "n" else ()
    thaw("fix", save(halved_and_back(True, axes)), "-o", out, "--reference", refs, *at, code=0)
    x = {"x": np.random.default_rng(9).standard_normal((3, 3, 30, 26)).astype(np.float32)}
    assert worst(session(out).run(None, x), true.run(None, x)) < 1e-5
