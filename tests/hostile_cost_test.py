"""Small files that ask for much: time and memory stay those of a file of that size."""
import pytest

from conftest import limits
from costly_models import MADE, constant, functions, loops, model, node
from costly_random import random_model

LIMIT = limits(memory=1 << 29, seconds=5)


def a_size(made):
    """A size of the model as --sizes names it."""
    for given in made.graph.input:
        for dim in given.type.tensor_type.shape.dim:
            if dim.dim_param.isalnum() and len(dim.dim_param) < 50:
                return dim.dim_param
    return f"{made.graph.input[0].name}_dim0"


def calls(path, made, out):
    result = ["-o", out / "out.onnx", "--no-check"]
    page = ["--report", out / "page.html"]
    yield "inspect", path
    yield "inspect", path, "--format", "json", "--tensors"
    yield "check", path, "--format", "sarif"
    yield "check", path, "--sizes", f"{a_size(made)}=1..64", "--format", "json"
    yield "inspect", path, "--cost"
    yield "fix", path, *result
    yield "optimize", path, *result
    yield "optimize", path, *result, "--target", "ort", "--opset", "23"
    yield "convert", path, *result, "--to", "f16"
    yield "convert", path, *result, "--to", "int4", "--form", "qdq", "--no-optimize"
    yield "convert", path, *result, "--to", "int8", "--dynamic", "--no-optimize"
    yield "pin", path, *result, "--sizes", f"{a_size(made)}=3"
    yield "split", path
    yield "split", path, "--parts", "2", "-o", out / "parts", "--no-check"
    yield "batch", path, *result, *page
    yield "lift", path, path, *result, *page
    yield "diff", path, path


def costs_little(thaw, path, made, out):
    for call in calls(path, made, out):
        run = thaw(*call, timeout=120, preexec_fn=LIMIT)
        said = f"{' '.join(map(str, call))}: exit {run.returncode}\n{run.stderr[:2000]}"
        assert run.returncode in (0, 1, 2), said
        assert "memory;" not in run.stderr and "internal" not in run.stderr, said
        assert len(run.stdout) < 100 << 20, said


@pytest.mark.parametrize("maker", MADE, ids=lambda maker: maker.__name__)
def test_a_small_file_costs_little(thaw, save, tmp_path, maker):
    made = maker()
    costs_little(thaw, save(made), made, tmp_path)


def test_what_is_unknown_for_the_budget_alone_says_so(thaw, save, tmp_path):
    path = save(functions(48, 2))
    run = thaw("inspect", path, code=0)
    assert "unknown: over budget" in run.stdout and "--max-visits" in run.stdout
    assert thaw.json("inspect", path)["out_of_budget"] is True
    assert [f["code"] for f in thaw.findings(path)] == ["THAW050"]
    for verb, *more in (("batch",), ("fix",), ("lift", path), ("convert", "--to", "int4")):
        line = thaw.error(verb, path, *more, "-o", tmp_path / "out.onnx", "--no-check")
        assert "over budget" in line and "give --max-" in line, line
        assert not (tmp_path / "out.onnx").exists()
    error = thaw.json("batch", path, "-o", tmp_path / "out.onnx", "--no-check", code=2)["error"]
    assert error["code"] == "out_of_budget"


def test_the_budget_can_be_raised_and_lowered(thaw, save):
    path = save(functions(16, 2))  # 2^16 calls
    assert thaw.json("inspect", path)["out_of_budget"] is False
    assert thaw.json("inspect", path, "--max-visits", 1000)["out_of_budget"] is True
    large = save(functions(22, 2), "large")
    assert thaw.json("inspect", large)["out_of_budget"] is True
    assert thaw.json("inspect", large, "--max-visits", 100_000_000)["out_of_budget"] is False


def test_one_budget_serves_all_that_a_verb_does(thaw, save):
    # Inference alone fits; what check does besides it does not fit too.
    path = save(loops("SequenceMap", 4))
    visits = 1
    while thaw.json("inspect", path, "--max-visits", visits)["out_of_budget"]:
        visits *= 2
    assert any(f["code"] == "THAW050" for f in thaw.json("check", path, "--max-visits", visits)["findings"])


def test_a_rank_above_sixty_four_is_unknown(thaw, save):
    nodes = [node("Unsqueeze", ["x" if i == 0 else f"y{i - 1}", "axis"], [f"y{i}"]) for i in range(70)]
    seen = {v["name"]: v["dims"] for v in thaw.json(
        "inspect", save(model(nodes, ["y69"], constants=[constant("axis", [0])])))["tensors"]}
    assert len(seen["y61"]) == 64 and seen["y62"] is None and seen["y69"] is None



@pytest.mark.parametrize("seed", [38, 64, 90, 108, 141])
def test_arithmetic_on_sizes_at_random_costs_little(thaw, save, tmp_path, seed):
    made = random_model(seed)
    costs_little(thaw, save(made), made, tmp_path)
