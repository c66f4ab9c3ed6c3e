"""What results have beside their fields: text, JSON, pages, tables; and options that only some verbs have."""
import json

import numpy as np
import pytest

import onnx_thaw as thaw
from conftest import frozen, mlp, model, numbers


def trace(height, width):
    return model(f"g (float[1, 3, {height}, {width}] x) => (float[1, {height * width}, 3] y) {{ t = Transpose<perm = [0, 2, 3, 1]>(x) "
                 f"s = Constant<value_ints = [1, {height * width}, 3]>() y = Reshape(t, s) }}")


@pytest.fixture
def traces(save):
    return [save(trace(*size), f"trace_{size[0]}") for size in ((7, 11), (13, 5), (10, 17))]


@pytest.fixture
def samples(tmp_path):
    folder = tmp_path / "samples"
    folder.mkdir()
    for i in range(2):
        np.savez(folder / f"{i}.npz", x=numbers(2, 5, 32))
    return folder


def test_lift_and_split_are_results(save, traces, tmp_path):
    lifted, parts = thaw.lift(traces), thaw.split(save(mlp(layers=4), "m"), at=["r1"])
    for result in (lifted, parts):
        assert result.accepted and result.report.accepted
        assert json.loads(result.to_json()) == json.loads(result.report.to_json())
        assert str(result) == str(result.report) and result.to_text(all=True) and "<iframe" in result._repr_html_()
        assert result.to_html().startswith("<!doctype html>") or "<html" in result.to_html()
    files = lifted.save(tmp_path / "lifted.onnx")
    assert files == [tmp_path / "lifted.onnx"] and thaw.verify(files[0], traces[0]).accepted


def test_a_lift_that_is_not_accepted_is_not_saved(save, tmp_path):
    def table(size, values):
        made = model(f"g (float[1, {size}] x) => (float[1, {size}] y) {{ y = Add(x, t) }}", t=values)
        return save(made, f"t_{size}")
    given = [table(size, np.random.default_rng(size).standard_normal(size)) for size in (5, 7, 11)]
    refused = thaw.lift(given)
    assert not refused.accepted and refused.model is None and refused.report.unexplained
    with pytest.raises(thaw.Refused) as caught:
        refused.save(tmp_path / "no.onnx")
    assert caught.value.result is refused and not (tmp_path / "no.onnx").exists()


def test_diff_has_a_page_whatever_becomes_of_the_models():
    before = thaw.load(mlp())
    after = thaw.optimize(before, level="clean").model
    found = thaw.diff(before, thaw.fix(frozen()).model)
    after.rename_sizes([("batch", "n")])
    del before, after
    assert not found.accepted and "<html" in found.to_html() and "<iframe" in found._repr_html_()
    assert json.loads(found.to_json()) and str(found)


def test_a_plan_prints_as_the_command_prints_it(save, samples, tmp_path, command):
    path, folder = save(mlp(layers=4), "m"), tmp_path / "report"
    measured = thaw.sensitivity(path, folder, data=samples, to=["int4", "int8-blocks"])
    most = int(measured.weight_bytes * 0.25)
    plan = thaw.plan(folder, max_bytes=most, check=False)
    printed = command("plan", folder, "--max-bytes", most, "--no-check", "--dry-run")
    assert json.loads(plan.to_json()) == printed and str(plan) == plan.to_text()
    page = (folder / "report.html").read_text()
    thaw.plan(folder, tmp_path / "plan.json", max_bytes=most, check=False)
    assert (tmp_path / "plan.json").exists() and (folder / "report.html").read_text() != page


def test_shards_are_one_report(save, samples, tmp_path):
    path = save(mlp(layers=4), "m")
    whole = thaw.sensitivity(path, data=samples, to="int4")
    shards = [tmp_path / f"shard{i}" for i in (1, 2, 3)]
    for i, folder in enumerate(shards):
        part = thaw.sensitivity(path, folder, data=samples, to="int4", shard=(i + 1, 3))
        assert 0 < part.measured < whole.measured
    merged = thaw.merge_reports(shards, tmp_path / "merged")
    assert json.loads(merged.to_json()) == json.loads(whole.to_json()) and (tmp_path / "merged" / "report.json").exists()
    for wrong in ((0, 3), (4, 3), (1, 0)):
        with pytest.raises(thaw.InvalidArgument, match="shard"):
            thaw.sensitivity(path, data=samples, shard=wrong)
    with pytest.raises(thaw.InvalidArgument):
        thaw.merge_reports(shards[:2])


def test_every_option_of_int8_and_blocks_changes_what_it_says(save, samples, command):
    path = save(mlp(layers=2), "m")
    plain = {"int8": thaw.convert(path, to="int8", data=samples), "int4": thaw.convert(path, to="int4")}
    for to, option, value in [
            ("int8", "per_tensor", True), ("int8", "symmetric_activations", True), ("int8", "signed_activations", True),
            ("int8", "asymmetric_weights", True), ("int8", "unsigned_weights", True), ("int8", "reduced_range", True),
            ("int8", "smooth", 0.5), ("int8", "range", "percentile --percentile 60"), ("int4", "real_zeros", True), ("int4", "accuracy_level", 4),
            ("int4", "form", "qdq"), ("int4", "symmetric", True), ("int4", "block", 16), ("int4", "method", "hqq")]:
        given = {"data": samples} if to == "int8" else {}
        if option == "range":
            given["percentile"] = 60
        ours = thaw.convert(path, to=to, **given, **{option: value.partition(" ")[0] if isinstance(value, str) else value})
        assert ours.accepted and ours.model.serialize() != plain[to].model.serialize(), option
        words = [f"--{option.replace('_', '-')}", *([] if value is True else str(value).split())]
        printed = command("convert", path, "--to", to, *(["--data", samples] if given else []), *words, "--dry-run")
        assert printed["comparisons"] == json.loads(ours.to_json())["comparisons"], option


def test_defaults_of_blocks_are_the_commands(save, samples):
    path = save(mlp(layers=2), "m")
    methods = {(to, bool(data)): thaw.convert(path, to=to, **data).method.name
               for to in ("int4", "int8-blocks") for data in ({}, {"data": samples})}
    assert methods == {("int4", False): "SEARCH", ("int4", True): "GPTQ", ("int8-blocks", False): "SEARCH", ("int8-blocks", True): "SEARCH"}
    assert thaw.convert(path, to="int4", data=samples, method="rtn").method.name == "RTN"
    operators = [dict(thaw.inspect(thaw.convert(path, to="int4", target=target).model).found.operators)
                 for target in (None, "ort", "portable")]
    assert ["MatMulNBits" in " ".join(each) for each in operators] == [True, True, False]


def test_pin_each(save, tmp_path):
    path = save(mlp(), "m")
    made = thaw.pin_each(path, tmp_path / "pinned.onnx", sizes=[{"batch": 1, "seq": 4}, {"batch": 2, "seq": 4}])
    assert made.accepted and len(made.reports) == 2 and json.loads(made.to_json()) and str(made)
    assert [thaw.inspect(file).outputs[0].dims for file in made.files if file.suffix == ".onnx"] == [["1", "4", "32"], ["2", "4", "32"]]
    assert len(thaw.pin_each(path, sizes="batch=1|2|3,seq=4", check=False).reports) == 3
    with pytest.raises(thaw.InvalidArgument, match="more than one value"):
        thaw.pin(path, sizes="batch=1|2")


def test_sizes_of_verify_are_the_commands(save, command):
    path = save(mlp(), "m")
    for sizes in ("batch=2", "batch=1|3,seq=4", "batch=2,seq=5"):
        ours = thaw.verify(path, path, sizes=sizes)
        printed = command("verify", path, "--against", path, "--sizes", sizes)
        assert [dict(point.sizes) for point in ours.points] == [point["sizes"] for point in printed["points"]]


def test_what_is_drawn_lies_within_its_range(save, tmp_path):
    path = save(model("g (float[n] x, int64[n] i) => (float[n] y, int64[n] j) { y = Identity(x) j = Identity(i) }"), "m")
    made = thaw.run(path, path=tmp_path / "out.npz", sizes="n=1000", value_range={"x": (2, 3), "i": (5, 6)})
    assert made.outputs["y"].min() >= 2 and made.outputs["y"].max() <= 3 and set(made.outputs["j"].tolist()) == {5, 6}
    written = np.load(tmp_path / "out.npz")
    np.testing.assert_array_equal(written["y"], made.outputs["y"])
    assert thaw.verify(path, path, sizes="n=9", value_range={"i": (5, 6)}, threads=1, optimization="none").accepted


def test_reports_for_ci(save):
    report = thaw.check(save(frozen(), "m"))
    assert json.loads(report.to_sarif())["version"] == "2.1.0" and report.to_github().startswith("::error ")
    assert json.loads(report.to_gitlab())[0]["check_name"] == report.findings[0].code


def test_an_optimization_is_explained(save):
    report = thaw.optimize(save(mlp(), "m"), explain=True)
    assert report.moved_before is not None and thaw.optimize(mlp()).moved_before is None
    assert len(report.to_text(explain=True)) >= len(report.to_text())


def test_added_inputs_are_read_as_the_command_reads_them(traces):
    with pytest.raises(thaw.InvalidArgument, match="grid"):
        thaw.lift(traces, add_input="grid:float99[1]")
    assert thaw.lift(traces, add_input=()).accepted


def test_words_of_inputs(tmp_path):
    image = pytest.importorskip("PIL.Image")
    image.fromarray(np.arange(48 * 3, dtype=np.uint8).reshape(6, 8, 3)).save(tmp_path / "p.png")
    net = tmp_path / "m.onnx"
    net.write_bytes(model("g (float[n, 3, h, w] x) => (float[n, 3, h, w] y) { y = Identity(x) }").SerializeToString())
    plain = thaw.inputs(tmp_path / "p.png", model=net).arrays["x"]
    assert plain.shape == (1, 3, 6, 8)
    np.testing.assert_array_equal(thaw.inputs(tmp_path / "p.png", model=net, channels="bgr").arrays["x"], plain[:, ::-1])
    assert thaw.inputs(tmp_path / "p.png", model=net, size=(4, 3)).arrays["x"].shape == (1, 3, 3, 4)
    fixed = tmp_path / "fixed.onnx"
    fixed.write_bytes(model("g (float[1, 3, 5, 7] x) => (float[1, 3, 5, 7] y) { y = Identity(x) }").SerializeToString())
    assert thaw.inputs(tmp_path / "p.png", model=fixed).arrays["x"].shape == (1, 3, 5, 7)
    with pytest.raises(thaw.InvalidArgument, match="wide"):
        thaw.inputs(tmp_path / "p.png", model=fixed, size=(4, 5))
    boxed = thaw.inputs(tmp_path / "p.png", model=net, fit="letterbox", size=(8, 8), border=255, place="corner").arrays["x"]
    np.testing.assert_array_equal(boxed[:, :, :6], plain)
    assert (boxed[:, :, 6:] == 1).all()
    for wrong in ({"channels": "gbr"}, {"place": "left"}, {"filter": "box"}, {"layout": "hwc"}):
        with pytest.raises(thaw.InvalidArgument, match="expected one of"):
            thaw.inputs(tmp_path / "p.png", model=net, **wrong)


def test_arrays_are_compared_as_outputs_are():
    a = numbers(3, 4)
    near, far = a + 1e-5, a.copy()
    far[1, 2] += 1
    compare, tolerance = thaw._thaw.compare, thaw._thaw.Tolerance()
    assert compare(near, a, tolerance).agrees and not compare(far, a, tolerance).agrees
    assert compare(far, a, tolerance).worst_index == [1, 2]
    assert not compare(a.astype(np.float64), a, tolerance).agrees and compare(a.astype(np.float64), a, tolerance, cast=True).agrees
    tolerance.absolute = -1.0
    with pytest.raises(thaw.InvalidArgument):
        compare(a, a, tolerance)


def test_targets_and_profiles(save):
    path = save(model("g (float[n, 4] x) => (float[n, 4] y) { y = Mish(x) }"), "m")
    report = thaw.check(path, target="all")
    assert [each.target for each in report.targets] == thaw.targets()
    by_name = {each.target: each for each in report.targets}
    assert by_name["directml"].support.name == "UNSUPPORTED" and by_name["tensorrt"].unsupported == 0
    report = thaw.check(path, target="tensorrt", sizes="n=1..8", opt="n=4")
    (profile,) = report.profiles
    assert (profile.input, profile.least, profile.opt, profile.largest) == ("x", [1, 4], [4, 4], [8, 4])
    assert json.loads(thaw.profiles_json(report.profiles))["provider_options"]["trt_profile_opt_shapes"] == "x:4x4"
    with pytest.raises(thaw.InvalidArgument):
        thaw.optimize(path, target="cude")
