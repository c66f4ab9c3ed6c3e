"""A Reshape that puts a 1 beside a size: an axis put in, windows of which the export had one, or chunks that were one long. The
target is the same in all; `thaw fix` moves the size only where something else tells which."""
import itertools

import numpy as np
import pytest
from onnx import numpy_helper

from check_rules_test import F, ints, model, node
from conftest import session, worst

C, LENGTH, UNSEEN = 6, 4, (12, 8)
# Of an axis cut in two: the target of the true model, and what it is at the export's length.
KINDS = {"put in": ([1, 1, -1, C], [1, 1, LENGTH, C]), "windows": ([1, -1, LENGTH, C], [1, 1, LENGTH, C]),
         "chunks": ([1, LENGTH, -1, C], [1, LENGTH, 1, C]), "put behind": ([1, -1, 1, C], [1, LENGTH, 1, C])}
RNG = np.random.default_rng(11)
WEIGHT, ROWS = RNG.standard_normal((C, C)).astype(np.float32), RNG.standard_normal((1, 3, 1, C)).astype(np.float32)
KERNEL = RNG.standard_normal((2, 1, 1, 3)).astype(np.float32)


def array(name, values):
    return numpy_helper.from_array(np.asarray(values), name)


# What is done with the four axes, and whether it goes only where the first of the two is 1 at every size.
STEPS = {"dense": ([("MatMul", ["{}", "w"], {})], False), "softmax": ([("Softmax", ["{}"], {"axis": 2})], False),
         "norm": ([("ReduceMean", ["{}"], {"axes": [2], "keepdims": 1}), ("Sub", ["{before}", "{}"], {})], False),
         "heads": ([("Add", ["{}", "rows"], {}), ("ReduceMax", ["{}"], {"axes": [1], "keepdims": 1})], True),
         "conv": ([("Conv", ["{}", "kernel"], {"pads": [0, 1, 0, 1]}), ("ReduceMax", ["{}"], {"axes": [1], "keepdims": 1})], True),
         "squeeze": ([("Squeeze", ["{}", "one"], {}), ("Unsqueeze", ["{}", "one"], {})], True)}
CHAINS = [c for n in (1, 2) for c in itertools.permutations(STEPS, n)]


def build(kind, chain, target, is_frozen, is_static):
    nodes, now = [node("Reshape", ["x", "cut"], "cut_x")], "cut_x"
    for place, step in enumerate(chain):
        before = now
        for at, (op, inputs, attributes) in enumerate(STEPS[step][0]):
            out = f"{step}{place}_{at}"
            nodes.append(node(op, [i.format(now, before=before) for i in inputs], out, **attributes))
            now = out
    nodes.append(node("Reshape", [now, "back"], "y"))
    inits = [ints("cut", target), ints("back", [1, LENGTH, C] if is_frozen else [1, -1, C]), array("w", WEIGHT), array("rows", ROWS),
             array("kernel", KERNEL), ints("one", [1])]
    dims = [1, LENGTH, C] if is_static else [1, "length", C]
    return model(nodes, [("x", F, dims)], [("y", F, None)], inits)


def is_told(chain):
    return any(STEPS[step][1] for step in chain)


@pytest.mark.parametrize("is_static", [True, False])
def test_what_is_freed_is_right_whichever_it_was(thaw, save, tmp_path, is_static):
    freed = 0
    for number, (kind, chain) in enumerate(itertools.product(KINDS, CHAINS)):
        if number % 3 or (is_told(chain) and kind != "put in"):
            continue
        true, frozen = KINDS[kind]
        fixed = tmp_path / f"fixed{number}.onnx"
        thaw("fix", save(build(kind, chain, frozen, True, is_static), f"m{number}"), "-o", fixed, "--no-check", code={0, 1})
        if not fixed.exists():
            continue
        for length in UNSEEN:
            x = {"x": RNG.standard_normal((1, length, C)).astype(np.float32)}
            try:
                got = session(fixed).run(None, x)
            except Exception:
                continue  # the length stayed
            wanted = session(build(kind, chain, true, False, False)).run(None, x)
            assert worst(got, wanted) < 1e-4, (kind, chain, length)
            freed += 1
    assert freed >= 8, "what something else tells is freed"


def test_it_says_what_it_leaves_and_what_would_tell(thaw, save):
    report = thaw.json("fix", save(build("windows", ("softmax",), [1, 1, LENGTH, C], True, True)), "--dry-run", code=1)
    why = " ".join(left["message"] for left in report["remaining"])
    assert "it is next to a 1" in why and "thaw lift" in why and "--reference" in why
