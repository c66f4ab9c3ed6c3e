"""The test models themselves: a trace equals the dynamic network at its size, and no other size goes through unseen."""
import onnx
import pytest

from conftest import run, worst
from models import truth
from models.families import FAMILIES
from models.sound import SOUND

ids = [f.name for f in FAMILIES]


@pytest.mark.parametrize("family", FAMILIES, ids=ids)
def test_a_trace_agrees_with_the_dynamic_model_at_its_own_size(family):
    dynamic = family.dynamic()
    onnx.checker.check_model(dynamic, full_check=True)
    for size in family.sizes:
        static = family.static(*size)
        onnx.checker.check_model(static, full_check=True)
        expected = run(dynamic, family.feeds(*size))
        assert worst(run(static, family.feeds(*size, for_static=True)), expected) < 1e-5
        assert min(float(y.std()) for y in expected) > 1e-3, "outputs that hardly vary would hide a wrong position"


@pytest.mark.parametrize("family", FAMILIES, ids=ids)
def test_a_trace_is_wrong_or_fails_at_every_other_size(family):
    static, dynamic = family.static(*family.sizes[0]), family.dynamic()
    for size in (*family.sizes[1:], *family.unseen):
        try:
            outputs = run(static, family.feeds(*size, for_static=True))
        except Exception:
            continue
        assert worst(outputs, run(dynamic, family.feeds(*size))) > 1e-3


@pytest.mark.parametrize("family", FAMILIES, ids=ids)
def test_traces_differ_in_constants_and_share_their_weights(family):
    first = family.static(*family.sizes[0])
    for size in family.sizes[1:]:
        other = family.static(*size)
        names = truth.frozen(first, other)
        here, there = truth.constants(first), truth.constants(other)
        assert set(names) == {n for n in here.keys() & there.keys() if not truth.same(here[n], there[n])} != set()
        assert not {i.name for i in first.graph.initializer} & set(names)


@pytest.mark.parametrize("name", SOUND)
def test_sound_models_run_at_every_size(name):
    model, feeds, sizes = SOUND[name]()
    onnx.checker.check_model(model, full_check=True)
    for size in sizes:
        assert run(model, feeds(*size))
