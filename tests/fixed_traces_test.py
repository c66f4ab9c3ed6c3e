"""`fix` on a trace: what it frees is freed for good, and at sizes that it never saw the result is right or still fails, never
wrong without a word."""
import onnx
import pytest

from conftest import session, worst
from models import exported
from models.families import BY_NAME, FAMILIES

SITES = {"THAW010", "THAW011", "THAW012", "THAW016"}  # what a frozen constant that became an expression answers
# Traces of which whole axes are freed: the maker, the size of the trace, its frozen constants that are freed, other sizes.
WHOLE = {
    "scaled_attention": (exported.scaled_attention, (1, 4, 8), 2, ((2, 7, 8), (3, 5, 8), (1, 13, 8))),
    "scaled_attention_of_two": (exported.scaled_attention, (2, 3, 8), 2, ((5, 7, 8), (1, 11, 8))),
    "projected_attention": (exported.projected_attention, (1, 5, 8), 4, ((2, 5, 8), (7, 5, 8))),
    "norm_by_hand": (exported.norm_by_hand, (1, 7, 8), 2, ((1, 11, 8), (1, 5, 8))),
    "detector": (lambda dims: exported.detector_with_anchors(dims[2], anchors=False), (1, 3, 160, 160), 3,
                 ((1, 3, 224, 224), (1, 3, 96, 96))),
}


def freed_sites(report, graph):
    inputs = {v.name for v in graph.input}
    return [c for c in report["changed"] if c["code"] in SITES and c["where"] not in inputs]


@pytest.mark.parametrize("name", WHOLE)
def test_a_trace_is_freed_and_right_at_other_sizes(thaw, save, tmp_path, name):
    """The truth is the same network exported at the other size: its weights do not depend on it."""
    make, dims, sites, others = WHOLE[name]
    path, fixed = save(make(dims).model, "trace"), tmp_path / "fixed.onnx"
    report = thaw.json("fix", path, "-o", fixed)
    assert len(freed_sites(report, onnx.load(path).graph)) == sites, report
    mended = session(fixed)
    for size in (dims, *others):
        feeds = exported.images(*size)
        assert worst(mended.run(None, feeds), session(make(size).model).run(None, feeds)) < 1e-5, size


@pytest.mark.parametrize("name", [f.name for f in FAMILIES])
def test_a_fixed_trace_is_right_or_fails(thaw, save, tmp_path, name):
    family = BY_NAME[name]
    size = family.sizes[0]
    path, fixed = save(family.static(*size), "trace"), tmp_path / "fixed.onnx"
    report = thaw.json("fix", path, "-o", fixed)
    # Tables hold every axis of most of these: all that is frozen is left, and said. Or all is freed.
    freed = freed_sites(report, onnx.load(path).graph)
    assert bool(freed) != bool(report["remaining"])
    if not fixed.exists():
        return
    trace, mended, dynamic = session(path), session(fixed), session(family.dynamic())
    expected = dynamic.run(None, family.feeds(*size))
    own = mended.run(None, family.feeds(*size, for_static=True))
    assert worst(own, expected) < 1e-5, "broken at the trace's own size"
    for other in (*family.sizes[1:], *family.unseen):
        feeds = family.feeds(*other, for_static=True)
        if attempt(trace, feeds) is None:  # a size at which the trace itself fails
            outputs = attempt(mended, feeds)
            expected = dynamic.run(None, family.feeds(*other))
            assert freed or outputs is None or worst(outputs, expected) < 1e-5, f"wrong at {other}"
            assert not freed or worst(outputs, expected) < 1e-5, f"not right at {other}"


def attempt(model, feeds):
    try:
        return model.run(None, feeds)
    except Exception:
        return None
