"""A Reshape's target put together of computed sizes and constants, one of them a frozen size: the count of elements leaves one size in
its place, which `check` names and `thaw fix` writes."""
import itertools

import numpy as np
import pytest

from check_rules_test import F, ints, model, node
from conftest import session, worst

WIDTH, LENGTH = 12, 7
RNG = np.random.default_rng(2)


def attention_like(order, heads, is_flat, frozen, joined):
    """[t, b, 12], or with t and b turned, cut into heads and put back; `frozen`: which of the two targets have 7 for t."""
    nodes, inits, parts = [node("Shape", ["x"], "s")], [ints("zero", [0]), ints("one", [1]), ints("heads", [heads]), ints("width", [WIDTH]),
                                                        ints("each", [WIDTH // heads]), ints("both", [heads, WIDTH // heads]), ints("seven", [LENGTH])], {}
    for name, at in (("t", "zero"), ("b", "one")):
        nodes.append(node("Gather", ["s", at], name, axis=0))
    nodes.append(node("Mul", ["b", "heads"], "bh"))
    now = "x"
    if order == "bt":
        nodes.append(node("Transpose", ["x"], "turned", perm=[1, 0, 2]))
        now = "turned"
    for k, (target, pieces) in enumerate((("to", ["bh", "each"] if is_flat else ["b", *(["both"] if joined else ["heads", "each"])]), ("back", ["b", "width"]))):
        length = "seven" if frozen[k] else "t"
        whole = [length, *pieces] if order == "tb" else [pieces[0], length, *pieces[1:]]
        if order == "bt" and k == 0 and is_flat:
            whole = ["b", length, "heads", "each"]
        parts[target] = whole
        nodes.append(node("Concat", whole, target, axis=0))
    nodes += [node("Reshape", [now, "to"], "cut"), node("Softmax", ["cut"], "soft", axis=-1), node("Reshape", ["soft", "back"], "y")]
    return model(nodes, [("x", F, ["t", "b", WIDTH])], [("y", F, None)], inits)


CASES = list(itertools.product(["tb", "bt"], [2, 3, 4], [True, False], [(True, False), (True, True), (False, True)], [True, False]))


@pytest.mark.parametrize("part", range(3))
def test_a_frozen_part_of_a_computed_target(thaw, save, tmp_path, part):
    for case in CASES[part::9]:
        order, heads, is_flat, frozen, joined = case
        path, fixed = save(attention_like(order, heads, is_flat, frozen, joined)), tmp_path / "fixed.onnx"
        assert [f for f in thaw.findings(path) if f["code"] == "THAW010" and f["location"].get("tensor") == "seven"], case
        thaw("fix", path, "-o", fixed, code=0)
        true = session(attention_like(order, heads, is_flat, (False, False), joined))
        for t, b in [(LENGTH, 2), (9, 3), (2, 5), (1, 1)]:
            x = {"x": RNG.standard_normal((t, b, WIDTH)).astype(np.float32)}
            assert worst(session(fixed).run(None, x), true.run(None, x)) < 1e-6, (case, t, b)
