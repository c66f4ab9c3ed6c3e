"""thaw sensitivity and thaw plan: figures are those of N converted models that run whole; what was measured is kept, joined, planned."""
import csv
import json

import numpy as np
import onnx
import onnx.numpy_helper
import pytest

import sensitivity_nets as nets
from conftest import need_shared


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("sensitivity")


@pytest.fixture(scope="module")
def tower(folder, thaw):
    path = folder / "tower.onnx"
    onnx.save(nets.tower(3), folder / "written.onnx")
    thaw("optimize", folder / "written.onnx", "-o", path, code=0)
    return path


@pytest.fixture(scope="module")
def samples(folder):
    return nets.write_samples(folder / "samples", 4)


def measured(thaw, model, samples, out, *args, code=0):
    return thaw.json("sensitivity", model, "--data", samples, "-o", out, *args, code=code)


def by_name(report, which="one_at_a_time", precision=0):
    """By unit, each sample's mean squared error."""
    return {u["name"]: u["errors"][precision][which]["samples"]["mse"] for u in report["units"]}


def assert_same(got, wanted):
    assert set(got) == set(wanted)
    for name, figures in wanted.items():
        np.testing.assert_allclose(got[name], figures, rtol=1e-6, atol=0, err_msg=name)


@pytest.mark.parametrize("to", ["int4", "int8", "int8-blocks"])
def test_exact_is_the_plain_way(thaw, tower, samples, tmp_path, to):
    report = measured(thaw, tower, samples, tmp_path / "report", "--to", to, "--no-optimize")
    assert report["measured"] == 18 and report["failed"] == 0
    assert_same(by_name(report), nets.plain(thaw, tower, samples, report, tmp_path, to=to))
    assert_same(by_name(report, "leave_one_out"), nets.plain(thaw, tower, samples, report, tmp_path, to=to, out=True))


def test_each_unit_may_cost_what_a_conversion_may(thaw, tower, samples, tmp_path):
    """A model is converted once for each unit: all of them are more work than one verb may do on a file."""
    visits = 100
    while thaw("convert", tower, "-o", tmp_path / "out.onnx", "--to", "int4", "--max-visits", visits).returncode:
        visits *= 2
    report = measured(thaw, tower, samples, tmp_path / "report", "--to", "int4,int8-blocks", "--max-visits", visits)
    assert report["measured"] == 36 and report["failed"] == 0
    # And what cannot be known says why.
    line = thaw.error("sensitivity", tower, "--data", samples, "-o", tmp_path / "other", "--to", "int4", "--max-visits", 10)
    assert "over budget" in line


def test_exact_is_the_plain_way_where_codes_branch(thaw, save, tmp_path):
    """ONNX Runtime makes codes along with what they are codes of, where nothing else reads that: taken apart, it rounds otherwise."""
    model, samples = save(nets.branches()), tmp_path / "samples"
    samples.mkdir()
    rng = np.random.default_rng(3)
    for i in range(40):
        np.savez(samples / f"{i:02}.npz", image=rng.integers(0, 256, (1, 3, *rng.integers(8, 30, 2))).astype(np.uint8))
    report = measured(thaw, model, samples, tmp_path / "report", "--to", "int8", "--no-optimize")
    assert_same(by_name(report), nets.plain(thaw, model, samples, report, tmp_path, to="int8"))
    assert_same(by_name(report, "leave_one_out"), nets.plain(thaw, model, samples, report, tmp_path, to="int8", out=True))


@pytest.mark.parametrize("options", [[], ["--only-in"]])
def test_all_together_are_the_model_that_convert_writes(thaw, tmp_path, options):
    """Cut into sections, a product of 8 bits may be computed by another kernel."""
    checkpoint = need_shared("fixtures", "qwen2_5_vl", "ckpt")
    thaw("build", checkpoint, "-o", tmp_path, "--part", "text", code=0)
    thaw("optimize", tmp_path / "text.onnx", "-o", tmp_path / "model.onnx", code=0)
    samples = tmp_path / "samples"
    samples.mkdir()
    rng = np.random.default_rng(2)
    for n in (3, 5, 7, 11):
        np.savez(samples / f"{n:02}.npz", input_ids=rng.integers(0, 200, (1, 3 * n)), attention_mask=np.ones((1, 3 * n), np.int64))
    report = measured(thaw, tmp_path / "model.onnx", samples, tmp_path / "report", "--to", "int8", "--no-optimize", *options)
    thaw("convert", tmp_path / "model.onnx", "-o", tmp_path / "all.onnx", "--to", "int8", "--no-check", "--no-optimize", "--data", samples, code=0)
    wanted, got = (nets.outputs(tmp_path / name, samples, report["outputs"]) for name in ("model.onnx", "all.onnx"))
    figures = [nets.mse(w, g) for w, g in zip(wanted, got, strict=True)]
    np.testing.assert_allclose(report["uniform"][0]["error"]["samples"]["mse"], figures, rtol=1e-6)


def test_figures_are_what_they_are_called(thaw, tower, samples, tmp_path):
    report = measured(thaw, tower, samples, tmp_path / "report", "--to", "int4", "--no-optimize", "--metric", "sqnr")
    thaw("convert", tower, "-o", tmp_path / "all.onnx", "--to", "int4", "--method", "search", "--no-check", "--no-optimize", "--data", samples, code=0)
    wanted, got = (nets.outputs(path, samples, ["y"]) for path in (tower, tmp_path / "all.onnx"))
    for (x,), (y,), figures in zip(wanted, got, zip(*(report["uniform"][0]["error"]["samples"][k] for k in ("mse", "cosine", "kl", "nsr")), strict=True), strict=True):
        x, y = x.astype(np.float64), y.astype(np.float64)
        p, q = (np.exp(z - z.max(-1, keepdims=True)) for z in (x, y))
        p, q = p / p.sum(-1, keepdims=True), q / q.sum(-1, keepdims=True)
        expected = [np.mean((x - y) ** 2), 1 - (x * y).sum() / np.sqrt((x**2).sum() * (y**2).sum()),
                    (p * np.log(p / q)).sum(-1).mean(), ((x - y) ** 2).sum() / (x**2).sum()]
        np.testing.assert_allclose(figures, expected, rtol=1e-5)
    errors = report["units"][0]["errors"][0]["one_at_a_time"]
    assert errors["ci95_low"] <= errors["mean"] <= errors["ci95_high"] and errors["mean"] == errors["sqnr_db"] > 20


def test_what_is_grouped_goes_together(thaw, tower, samples, tmp_path):
    names = {}
    for group in ("node", "attention", "layer"):
        report = measured(thaw, tower, samples, tmp_path / group, "--to", "int4", "--group", group, "--only-in")
        names[group] = {u["name"]: u["nodes"] for u in report["units"]}
    assert len(names["node"]) == 18 and len(names["attention"]) == 12 and len(names["layer"]) == 3
    assert len(names["attention"]["blocks.0.attn.q_proj/MatMul"]) == 3
    assert all(len(nodes) == 6 for nodes in names["layer"].values())


def test_a_node_that_cannot_be_measured_has_failed(thaw, samples, tmp_path):
    model = nets.tower(1)
    weight = next(i for i in model.graph.initializer if i.name == "blocks.0.mlp.up_proj.weight")
    values = onnx.numpy_helper.to_array(weight).copy()
    values[3, 5] = np.nan
    weight.CopyFrom(onnx.numpy_helper.from_array(values, weight.name))
    path = tmp_path / "nan.onnx"
    onnx.save(model, path)
    error = thaw.error("sensitivity", path, "--data", samples, "-o", tmp_path / "report", "--to", "int4")
    assert "NaN" in error
    clean = tmp_path / "clean.onnx"
    model = nets.tower(1)
    narrow = np.ones((64, 8), np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(narrow.astype(np.float64), "wide"))
    onnx.save(model, clean)
    report = measured(thaw, clean, samples, tmp_path / "report", "--to", "int4", "--block", 256)
    for unit in report["units"]:
        (error,) = unit["errors"]
        assert error["status"] in ("measured", "failed") and ("message" in error) == (error["status"] == "failed")
        assert error["status"] == "failed" or error["one_at_a_time"]["mean"] > 0


def test_a_sample_with_nothing_in_it_is_refused(thaw, tower, samples, tmp_path):
    """It would count as no error at all."""
    folder = nets.write_samples(tmp_path / "samples", 2)
    np.savez(folder / "zero.npz", x=np.zeros((0, 5, 64), np.float32))
    error = thaw.error("sensitivity", tower, "--data", folder, "-o", tmp_path / "report", "--to", "int4")
    assert "zero.npz" in error and "nothing to compare" in error


def test_a_size_that_another_part_asks_for(thaw, save, tmp_path):
    """A pyramid: what is small is resized to the size of what stands far before it, of which a part knows nothing but the rank."""
    rng = np.random.default_rng(3)
    weights = {f"w{i}": rng.standard_normal((4, 4, 3, 3)).astype(np.float32) / 6 for i in range(24)} | {"none": np.zeros(0, np.float32)}
    weights["four"] = np.array([1, 4, -1, 5])
    nodes, value = [], "x"
    for i in range(24):
        nodes.append(onnx.helper.make_node("Conv", [value, f"w{i}"], [f"c{i}"], name=f"conv{i}", pads=[1] * 4, strides=[2, 2] if i in (8, 14) else [1, 1]))
        value = f"c{i}"
    nodes += [onnx.helper.make_node("Shape", ["c1"], ["size"]), onnx.helper.make_node("Reshape", [value, "four"], ["ranked"]),
              onnx.helper.make_node("Resize", ["ranked", "none", "none", "size"], ["y"], mode="nearest")]
    info = lambda name, dims: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, dims)
    graph = onnx.helper.make_graph(nodes, "pyramid", [info("x", ["n", 4, "h", "w"])], [info("y", ["n", 4, "h", "w"])],
                                   [onnx.numpy_helper.from_array(a, n) for n, a in weights.items()])
    path = save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8))
    folder = tmp_path / "seen"
    folder.mkdir()
    for i, side in enumerate((16, 24)):
        np.savez(folder / f"{i}.npz", x=rng.standard_normal((1, 4, side, 20)).astype(np.float32))
    report = measured(thaw, path, folder, tmp_path / "report", "--to", "int8", "--no-optimize")
    assert report["measured"] == 24 and report["failed"] == 0


def test_a_second_run_gives_the_same(thaw, tower, samples, tmp_path):
    runs = [measured(thaw, tower, samples, tmp_path / str(i), "--to", "int8", "--seed", 3) for i in range(2)]
    assert runs[0] == runs[1]


def test_it_goes_on_where_it_was_stopped(thaw, tower, samples, tmp_path):
    whole = measured(thaw, tower, samples, tmp_path / "report", "--to", "int4")
    journal = tmp_path / "report" / "measured.jsonl"
    lines = journal.read_text().splitlines()
    assert len(lines) == 36
    # Killed in the middle of a line; what is there is taken as it stands.
    cut = json.loads(lines[0])
    cut["in"] = [[1.0, 2.0, 3.0, 4.0]] * 4
    journal.write_text("\n".join([json.dumps(cut), *lines[1:7], lines[7][:40]]))
    resumed = measured(thaw, tower, samples, tmp_path / "report", "--to", "int4", "--resume")
    assert resumed["units"][cut["unit"]]["errors"][0]["one_at_a_time"]["samples"]["cosine"] == [2.0] * 4
    rest = [u for u in whole["units"] if u["name"] != whole["units"][cut["unit"]]["name"]]
    assert [u for u in resumed["units"] if u in rest] == rest
    size = journal.stat().st_size
    measured(thaw, tower, samples, tmp_path / "report", "--to", "int4", "--resume")
    assert journal.stat().st_size == size
    # Another sample: nothing of it is taken.
    other = nets.write_samples(tmp_path / "other", 3, seed=9)
    again = measured(thaw, tower, other, tmp_path / "report", "--to", "int4", "--resume")
    assert again["units"][cut["unit"]]["errors"][0]["one_at_a_time"]["samples"]["cosine"] != [2.0] * 4


def test_shards_make_the_whole(thaw, tower, samples, tmp_path):
    whole = measured(thaw, tower, samples, tmp_path / "whole", "--to", "int4,int8-blocks")
    for i in (1, 2, 3):
        part = measured(thaw, tower, samples, tmp_path / f"shard{i}", "--to", "int4,int8-blocks", "--shard", f"{i}/3")
        assert part["measured"] == 12
    shards = [tmp_path / f"shard{i}" for i in (1, 2, 3)]
    merged = thaw.json("sensitivity", "merge", *shards, "-o", tmp_path / "merged", code=0)
    assert merged == whole
    forgotten = thaw.error("sensitivity", "merge", *shards[:2], "-o", tmp_path / "no")
    assert "6 of 18 nodes are in none of the reports" in forgotten and "shard" in forgotten
    assert "folders" in thaw.error("sensitivity", "merge", "-o", tmp_path / "no")
    measured(thaw, tower, samples, tmp_path / "else", "--to", "int4")
    assert str(tmp_path / "else") in thaw.error("sensitivity", "merge", shards[0], tmp_path / "else", "-o", tmp_path / "no")
    assert "another run" in thaw.error("sensitivity", "merge", shards[0], tmp_path / "else", "-o", tmp_path / "no")


def test_activations_may_lie_on_the_disk(thaw, tower, samples, tmp_path):
    in_memory = measured(thaw, tower, samples, tmp_path / "a", "--to", "int4")
    on_disk = measured(thaw, tower, samples, tmp_path / "b", "--to", "int4", "--max-memory", "600M")
    assert in_memory == on_disk


def test_the_table_has_every_node(thaw, tower, samples, tmp_path):
    report = measured(thaw, tower, samples, tmp_path / "report", "--to", "int4,int8")
    with open(tmp_path / "report" / "errors.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 36 and {row["to"] for row in rows} == {"int4", "int8"}
    for row in rows:
        unit = next(u for u in report["units"] if u["name"] == row["name"])
        error = next(e for e in unit["errors"] if e["to"] == row["to"])
        assert float(row["mse"]) == pytest.approx(error["one_at_a_time"]["mse"]) and int(row["bytes_saved"]) == error["bytes_saved"]
        assert unit["layer"] == row["name"].split("/")[0].rsplit(".", 2)[0]


def ranks(figures):
    return np.argsort(np.argsort(figures))


def assert_ranked_alike(fast, exact):
    names = [u["name"] for u in exact["units"] if u["errors"][0]["status"] == "measured"]
    f, e = ({u["name"]: u["errors"][0]["one_at_a_time"]["mean"] for u in r["units"] if u["name"] in names} for r in (fast, exact))
    f, e = (np.array([r[name] for name in names]) for r in (f, e))
    assert np.corrcoef(ranks(f), ranks(e))[0, 1] >= 0.95
    worst = max(1, round(len(names) / 10))
    assert set(np.argsort(f)[-worst:]) == set(np.argsort(e)[-worst:])


@pytest.mark.parametrize("to", ["int4", "int8"])
def test_fast_ranks_as_exact_does(thaw, samples, tmp_path, to):
    path = tmp_path / "tower.onnx"
    onnx.save(nets.tower(8, seed=4), path)
    reports = [measured(thaw, path, samples, tmp_path / mode, "--to", to, "--mode", mode, "--only-in", "--exact-below", 0)
               for mode in ("fast", "exact")]
    assert reports[0]["predicted"] > 15
    assert_ranked_alike(*reports)


def test_fast_measures_all_of_what_is_small(thaw, samples, tmp_path):
    path = tmp_path / "tower.onnx"
    onnx.save(nets.tower(8, seed=4), path)
    fast, exact = (measured(thaw, path, samples, tmp_path / mode, "--to", "int4", "--mode", mode, "--only-in") for mode in ("fast", "exact"))
    assert fast["measured"] == exact["measured"] == 48 and fast["mode"] == "fast"
    assert fast["units"] == exact["units"] and fast["uniform"] == exact["uniform"]


def test_fast_runs_what_it_cannot_foretell(thaw, tmp_path):
    """Where an output jumps, a few samples have most of the error, and what is lost in one layer tells nothing of it."""
    path, samples = tmp_path / "reader.onnx", tmp_path / "samples"
    onnx.save(nets.reader(4, sharpness=3), path)
    samples.mkdir()
    rng = np.random.default_rng(1)
    for i in range(16):
        np.savez(samples / f"{i:02}.npz", x=rng.standard_normal((1, 3 + i % 4, 64)).astype(np.float32))
    reports = [measured(thaw, path, samples, tmp_path / mode, "--to", "int8-blocks", "--mode", mode, "--only-in", "--exact-below", 0) for mode in ("fast", "exact")]
    assert reports[0]["predicted"] > 15 and len(reports[0]["samples"]) == 16
    assert_ranked_alike(*reports)


@pytest.mark.parametrize("family, part", [("qwen2_5_vl", "vision"), ("qwen3_vl", "vision"), ("qwen3_asr", "audio"), ("phi4_mm", "text")])
def test_fast_ranks_the_families(thaw, tmp_path, family, part):
    checkpoint = need_shared("fixtures", family, "ckpt")
    thaw("build", checkpoint, "-o", tmp_path, "--part", part, code=0)
    rng = np.random.default_rng(2)
    (tmp_path / "samples").mkdir()
    for i, n in enumerate((3, 5, 7, 11)):
        feeds = {"vision": lambda n=n: {"pixel_values": rng.standard_normal((4 * n * 6, 1536 if family == "qwen3_vl" else 1176)),
                                        "grid_thw": np.array([[1, 2 * n, 12]])},
                 "audio": lambda n=n: {"input_features": rng.standard_normal((1, 128, 100 + 31 * n)),
                                       "input_features_mask": np.ones((1, 100 + 31 * n), np.int64)},
                 "text": lambda n=n: {"input_ids": rng.integers(0, 200, (1, 3 * n)), "attention_mask": np.ones((1, 3 * n), np.int64)}}[part]()
        np.savez(tmp_path / "samples" / f"{i}.npz", **{k: v.astype(np.float32) if v.dtype == np.float64 else v for k, v in feeds.items()})
    model = tmp_path / f"{part}.onnx"
    thaw("optimize", model, "-o", tmp_path / "opt.onnx", code=0)
    reports = [measured(thaw, tmp_path / "opt.onnx", tmp_path / "samples", tmp_path / mode, "--to", "int4", "--mode", mode,
                        "--only-in", "--no-optimize", "--exact-below", 0) for mode in ("fast", "exact")]
    assert_ranked_alike(*reports)
    some = dict(reports[1], units=[u for u in reports[1]["units"] if u["errors"][0]["status"] == "measured"][::5])
    figures = {u["name"]: u["errors"][0]["one_at_a_time"]["samples"]["mse"] for u in some["units"]}
    assert_same(figures, nets.plain(thaw, tmp_path / "opt.onnx", tmp_path / "samples", some, tmp_path, to="int4"))


def converted(thaw, model, out, plan, samples, *options):
    return thaw.json("convert", model, "-o", out, "--plan", plan, "--data", samples, "--no-check", *options, code=0)


def test_a_plan_of_the_bytes_beats_a_uniform_mix(thaw, samples, tmp_path):
    path = tmp_path / "tower.onnx"
    onnx.save(nets.tower(6, seed=7), path)
    report = measured(thaw, path, samples, tmp_path / "report", "--to", "int4,int8-blocks", "--only-in")
    held_out = nets.write_samples(tmp_path / "held_out", 4, seed=77)
    wanted = [x for (x,) in nets.outputs(path, held_out, ["y"])]

    def error_of(plan):
        out = tmp_path / "planned.onnx"
        figures = converted(thaw, path, out, plan, samples)
        return figures["weight_bytes_after"], nets.mse(wanted, [y for (y,) in nets.outputs(out, held_out, ["y"])])

    # Every second node, in the model's order: as many of each as half the bytes between the two.
    names = [u["name"] for u in report["units"]]
    uniform = tmp_path / "uniform.json"
    uniform.write_text(json.dumps({"projections": "apart", "nodes": [
        {"name": name, "to": ("int4", "int8-blocks")[i % 2]} for i, name in enumerate(names)]}))
    bytes_of_uniform, error_of_uniform = error_of(uniform)
    plan = tmp_path / "plan.json"
    told = thaw.json("plan", tmp_path / "report", "--max-bytes", bytes_of_uniform, "-o", plan, "--data", held_out, code=0)
    bytes_of_plan, error_of_plan = error_of(plan)
    assert bytes_of_plan <= bytes_of_uniform and error_of_plan < 0.9 * error_of_uniform
    assert told["measured"]["weight_bytes"] == bytes_of_plan
    assert told["measured"]["mse"] == pytest.approx(error_of_plan, rel=1e-4)
    assert told["predicted"]["mse"] == pytest.approx(error_of_plan, rel=0.5)


def test_a_plan_of_an_error_stays_near_it(thaw, tower, samples, tmp_path):
    measured(thaw, tower, samples, tmp_path / "report", "--to", "int4,int8-blocks", "--only-in")
    sizes = []
    for sqnr in (20, 28, 36):
        told = thaw.json("plan", tmp_path / "report", "--target-sqnr", sqnr, "-o", tmp_path / "plan.json", code=0)
        assert told["predicted"]["sqnr_db"] >= sqnr and told["measured"]["sqnr_db"] > sqnr - 2
        sizes.append(told["predicted"]["weight_bytes"])
    assert sizes == sorted(sizes) and sizes[0] < sizes[-1]
    assert "no plan of this report fits" in thaw.error("plan", tmp_path / "report", "--max-bytes", 1000, "-o", tmp_path / "no.json")
    assert "no limit is given" in thaw.error("plan", tmp_path / "report", "-o", tmp_path / "no.json")
    assert "more than one limit" in thaw.error("plan", tmp_path / "report", "--max-bytes", "1M", "--max-error", 1, "-o", tmp_path / "no.json")
    assert "1.5G" in thaw.error("plan", tmp_path / "report", "--max-bytes", "many", "-o", tmp_path / "no.json")
    assert not (tmp_path / "no.json").exists()


def test_a_weight_that_two_nodes_read_is_one(thaw, save, tmp_path):
    """An embedding whose transpose makes the logits: only both together save bytes, and one precision for all is a plan."""
    model, samples, held_out = save(nets.tied()), tmp_path / "samples", tmp_path / "held_out"
    rng = np.random.default_rng(1)
    for folder in (samples, held_out):
        folder.mkdir()
        for i in range(4):
            np.savez(folder / f"{i}.npz", ids=rng.integers(0, 96, (1, 5 + 3 * i)))
    report = measured(thaw, model, samples, tmp_path / "report", "--to", "int8-blocks,int4", "--only-in")
    assert [u["nodes"] for u in report["units"]] == [["embed", "lm_head"], ["layers.0.proj"]]
    for p, to in enumerate(("int8-blocks", "int4")):
        assert all(u["errors"][p]["bytes_saved"] > 0 for u in report["units"])
        written = thaw.json("convert", model, "-o", tmp_path / f"{to}.onnx", "--to", to, "--method", "search", "--data", samples, "--no-check", code=0)
        assert report["weight_bytes"] - report["uniform"][p]["bytes_saved"] == written["weight_bytes_after"]
        told = thaw.json("plan", tmp_path / "report", "--max-bytes", written["weight_bytes_after"], "-o", tmp_path / "plan.json", "--data", held_out, code=0)
        made = converted(thaw, model, tmp_path / "planned.onnx", tmp_path / "plan.json", samples)
        assert made["weight_bytes_after"] == told["measured"]["weight_bytes"] <= written["weight_bytes_after"]
        wanted, uniform, planned = ([y for (y,) in nets.outputs(path, held_out, ["logits"])] for path in (model, tmp_path / f"{to}.onnx", tmp_path / "planned.onnx"))
        assert nets.mse(wanted, planned) <= nets.mse(wanted, uniform) * (1 + 1e-6)
    page = (tmp_path / "report" / "report.html").read_text()
    assert "report.html" and page


def test_a_plan_is_for_the_model_that_was_measured(thaw, samples, tmp_path):
    path = tmp_path / "model.onnx"
    onnx.save(nets.tower(1, seed=1), path)
    measured(thaw, path, samples, tmp_path / "report", "--to", "int4", "--only-in")
    onnx.save(nets.tower(1, seed=2), path)
    error = thaw.error("plan", tmp_path / "report", "--max-bytes", "60K", "-o", tmp_path / "plan.json")
    assert "the model differs from the measured one" in error and not (tmp_path / "plan.json").exists()


def test_a_plan_says_what_does_not_hold(thaw, tower, samples, tmp_path):
    report = measured(thaw, tower, samples, tmp_path / "report", "--to", "int4", "--only-in")
    figures = sorted(u["errors"][0]["one_at_a_time"]["mse"] for u in report["units"])
    told = thaw.json("plan", tmp_path / "report", "--max-error", sum(figures), "-o", tmp_path / "plan.json", code=0)
    assert bool(told["warnings"]) == (told["measured"]["mse"] > sum(figures))
    told = thaw.json("plan", tmp_path / "report", "--target-sqnr", 10, "-o", tmp_path / "plan.json", code=0)
    assert told["measured"]["sqnr_db"] >= 10 and not told["warnings"]
    # What the report says is half of what it is: the plan cannot hold.
    wrong = json.loads((tmp_path / "report" / "report.json").read_text())
    for unit in wrong["units"]:
        figures = unit["errors"][0]["one_at_a_time"]["samples"]
        figures["mse"] = [mse / 4 for mse in figures["mse"]]
    figures = wrong["uniform"][0]["error"]["samples"]
    figures["mse"] = [mse / 4 for mse in figures["mse"]]
    (tmp_path / "report" / "report.json").write_text(json.dumps(wrong))
    limit = sum(mse for u in wrong["units"] for mse in u["errors"][0]["one_at_a_time"]["samples"]["mse"]) / 4
    told = thaw.json("plan", tmp_path / "report", "--max-error", limit, "-o", tmp_path / "plan.json", code=0)
    assert told["measured"]["mse"] > limit and "exceeds" in told["warnings"][0]


def test_a_plan_that_keeps_all_is_one(thaw, tower, samples, tmp_path):
    report = measured(thaw, tower, samples, tmp_path / "report", "--to", "int4", "--only-in", "--no-optimize")
    told = thaw.json("plan", tmp_path / "report", "--max-bytes", "1G", "-o", tmp_path / "plan.json", code=0)
    assert {u["to"] for u in told["units"]} == {"keep"} and told["predicted"]["weight_bytes"] == report["weight_bytes"]
    figures = converted(thaw, tower, tmp_path / "same.onnx", tmp_path / "plan.json", samples, "--no-optimize")
    assert figures["weight_bytes_after"] == figures["weight_bytes_before"]
    for (x,), (y,) in zip(nets.outputs(tower, samples, ["y"]), nets.outputs(tmp_path / "same.onnx", samples, ["y"]), strict=True):
        assert (x == y).all()


def test_calls_that_are_wrong(thaw, tower, samples, tmp_path):
    report = tmp_path / "report"
    assert "--data" in thaw.error("sensitivity", tower, "-o", report)
    assert "did you mean" in thaw.error("sensitivity", tower, "--data", samples, "-o", report, "--to", "int5")
    assert "shard" in thaw.error("sensitivity", tower, "--data", samples, "-o", report, "--shard", "5/4")
    assert "no output 'z'" in thaw.error("sensitivity", tower, "--data", samples, "-o", report / "deep", "--outputs", "z")
    assert not report.exists(), "a folder that is left empty"
    assert "no report" in thaw.error("plan", tmp_path, "--max-bytes", "1M", "-o", tmp_path / "plan.json")
    (tmp_path / "report.json").write_text('{"schema": 1, "model": 3}')
    assert "report.json, model: it is 3, no text" in thaw.error("plan", tmp_path, "--max-bytes", "1M", "-o", tmp_path / "plan.json")
    (tmp_path / "report.json").write_text('{"schema": 0}')
    assert "it is of schema 0, and this version of Thaw reads 1" in thaw.error("plan", tmp_path / "report.json", "--max-bytes", "1M", "-o", tmp_path / "p.json")
