"""Dims as objects: what they compute is what integers compute, and what is proven holds."""
import itertools
import random

import pytest

import onnx_thaw as thaw
from conftest import mlp

NAMES = ("h", "w", "n")


def drawn(rng, depth):
    """An expression as a Dim, and as a function of the symbols; None where it divides by zero."""
    if depth == 0:
        if rng.random() < 0.4:
            number = rng.randint(-3, 9)
            return thaw.Dim(number), lambda v: number
        name = rng.choice(NAMES)
        return thaw.Dim(name), lambda v: v[name]
    (a, fa), (b, fb) = drawn(rng, depth - 1), drawn(rng, depth - 1)
    kind = rng.choice("+-*/%n")
    if kind == "+":
        return a + b, lambda v: fa(v) + fb(v)
    if kind == "-":
        return a - b, lambda v: fa(v) - fb(v)
    if kind == "*":
        return a * b, lambda v: fa(v) * fb(v)
    if kind == "n":
        return -a, lambda v: -fa(v)
    by = rng.randint(1, 7)
    if kind == "/":
        return a // by, lambda v: fa(v) // by
    return a % by, lambda v: fa(v) % by


def test_expressions_compute_as_integers_do():
    rng = random.Random(3)
    for _ in range(300):
        expression, function = drawn(rng, rng.randint(0, 3))
        for _ in range(5):
            values = {name: rng.randint(0, 40) for name in NAMES}
            assert expression.evaluate(values) == function(values), (expression, values)
        assert thaw.Dim(str(expression)) == expression and set(expression.symbols) <= set(NAMES)
        replaced = expression.subs({"h": thaw.Dim("w") + 1})
        values = {"w": rng.randint(0, 20), "n": rng.randint(0, 20)}
        assert replaced.evaluate(values) == function({"h": values["w"] + 1, **values})


def test_equal_means_equal_at_every_size():
    h, w = thaw.Dim("h"), thaw.Dim("w")
    assert 2 * h + h == 3 * h and (h + w) * (h - w) == h * h - w * w and (2 * h) // 2 == h and hash(h + w) == hash(w + h)
    assert h != w and h + 1 != h and thaw.Dim(4) == 4 and thaw.Dim("3 + 1").value == 4 and h.value is None
    assert 10 - thaw.Dim(3) == 7 and 7 // thaw.Dim(2) == 3 and repr(h // 2) == "Dim('floor(h/2)')"


def holds(statement, values):
    given, _, wanted = statement.rpartition("=>")
    python = lambda text: all(eval(part.replace("floor(", "flr("), {"flr": lambda x: x, **values})
                              for part in text.split(" and "))
    return (given != "" and not python(given)) or python(wanted)


STATEMENTS = ["h % 4 == 0 => h % 2 == 0", "h % 2 == 0 => h % 4 == 0", "h <= 8 => h < 9", "h < 9 => h <= 7", "w <= h and n <= w => n <= h",
              "w <= h => n <= h", "h % 6 == 4 => h % 2 == 0", "h == 2*w => h % 2 == 0", "h == 2*w and w == 3*n => h % 6 == 0", "h == w + 1 => h >= 1", "h == 2*w and h % 3 == 0 => w % 3 == 0", "h*w >= 0", "h*w >= h", "h >= 1 and w >= 1 => h*w >= h",
              "h % 3 == 1 and w % 3 == 2 => (h + w) % 3 == 0", "2*h == w => w >= h", "h > 5 => h >= 6", "h >= 6 => h > 6"]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_what_is_proven_holds_and_what_is_refuted_does_not(statement):
    found = thaw.prove(statement)
    everywhere = all(holds(statement, dict(zip(NAMES, values))) for values in itertools.product(range(13), repeat=3))
    if found.holds:
        assert everywhere
    elif found.verdict.name == "REFUTED":
        values = dict.fromkeys(NAMES, 0) | dict(found.counterexample)
        assert not holds(statement, values)
    else:
        assert found.reason
    # What follows from two facts together may be left open, never answered wrong.
    unknown = {"w <= h and n <= w => n <= h", "h == 2*w and h % 3 == 0 => w % 3 == 0"}
    assert found.verdict.name in ("PROVEN" if everywhere else "REFUTED", "UNKNOWN" if statement in unknown else ""), found


@pytest.mark.parametrize("text", ["h", "h => w", "h == 1 => h == 1 => h == 1", "h ==", "h == (", ""])
def test_what_is_no_statement_is_an_error(text):
    with pytest.raises(thaw.InvalidArgument):
        thaw.prove(text)


def test_what_has_no_value_is_an_error():
    for text in ("h //", "floor(h/0)", "9223372036854775807 * 3", "a b"):
        with pytest.raises(thaw.InvalidArgument):
            thaw.Dim(text)
    assert thaw.Dim("floor(h/w)").evaluate({"h": 3, "w": 0}) is None and thaw.Dim("h").evaluate({}) is None


def test_dims_of_a_model():
    output = thaw.inspect(mlp()).outputs[0]
    assert output.sizes == [thaw.Dim("batch"), thaw.Dim("seq"), 32]
    assert [size.evaluate({"batch": 3, "seq": 5}) for size in output.sizes] == [3, 5, 32]
