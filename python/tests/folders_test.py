"""Sensitivity, plans and conversion of a folder of models that `build` wrote."""
import json

import pytest

import onnx_thaw as thaw
from conftest import SOURCE

FIXTURES = SOURCE / "tests" / "fixtures"
INPUTS = FIXTURES / "inputs"
IMAGE = 90
PROMPTS = [[5, 17, IMAGE, 93, 31], [5, IMAGE, 17, 40]]
FILES = [INPUTS / "wide.png", INPUTS / "tall.jpg"]
CLIP = [INPUTS / "frame3.png", INPUTS / "frame4.png"]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("built")
    assert thaw.build(FIXTURES / "qwen2_5_vl" / "decoder", folder, kv_cache=True).accepted
    return folder


def asked(**others):
    return {"tokens": PROMPTS, "files": FILES, "max_new_tokens": 3, **others}


def test_one_plan_for_all_models_and_each_converted_by_it(built, tmp_path):
    report = thaw.sensitivity(built, tmp_path / "report", **asked(), to=["int4", "int8-blocks"], only_in=True, mode="fast")
    assert report.accepted and report.parts == ["vision", "embedding", "text"] and len(report.samples) == 2
    assert report.metric == thaw._thaw.ErrorMetric.KL
    again = thaw._thaw.read_report(tmp_path / "report")
    assert again.prompts.files == FILES and again.prompts.files_per_prompt == 1 and again.to_json() == report.to_json()
    best = thaw.plan(tmp_path / "report", tmp_path / "plan.json", max_bytes=report.weight_bytes // 4)
    assert best.accepted and best.measured.bytes <= report.weight_bytes // 4
    for part in report.parts:
        made = thaw.convert(built / f"{part}.onnx", tmp_path / f"{part}.onnx", plan=tmp_path / "plan.json", check=False, **asked())
        assert made.accepted and made.changed
    thaw.plan(tmp_path / "report", tmp_path / "plans", max_bytes=report.weight_bytes // 4, check=False, file_format="ort")
    assert {path.stem for path in (tmp_path / "plans").iterdir()} <= set(report.parts)
    steps = json.loads((tmp_path / "plans" / "text.json").read_text())["steps"]
    assert steps and "text/" not in json.dumps(steps)


def test_clips_and_several_images(built):
    two = thaw.sensitivity(built, tokens=[[5, IMAGE, 17, IMAGE, 93]], files=FILES, files_per_prompt=2, to="int4", only_in=True, max_new_tokens=2, keep="vision/*")
    assert two.samples == ["prompt 1, wide.png, tall.jpg"]
    clip_token = json.loads((FIXTURES / "qwen2_5_vl" / "decoder" / "config.json").read_text())["video_token_id"]
    figures = {}
    for fps in (1.0, 8.0):  # which Qwen2.5-VL's positions know
        one = thaw.sensitivity(built, tokens=[[5, clip_token, 17]], clips=[CLIP * 3], fps=fps, to="int4", only_in=True, max_new_tokens=2, keep="vision/*")
        figures[fps] = [each["errors"][0]["one_at_a_time"]["kl"] for each in json.loads(one.to_json())["units"]]
    assert figures[1.0] != figures[8.0]
    with pytest.raises(thaw.InvalidArgument, match="no groups of 2"):
        thaw.sensitivity(built, tokens=PROMPTS, files=FILES[:1], files_per_prompt=2)
    with pytest.raises(thaw.InvalidArgument, match="2 prompts, 0 files and 3 clips"):
        thaw.sensitivity(built, tokens=PROMPTS, clips=[CLIP] * 3, fps=1.0)


def test_workers_of_dask(built, tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    options = asked(to="int4", only_in=True, keep="vision/*")
    alone = thaw.sensitivity(built, tmp_path / "alone", **options)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", local_directory=str(tmp_path / "dask")) as local, \
            distributed.Client(local) as client:
        shared = thaw.sensitivity(built, tmp_path / "shared", **options, client=client)
        assert shared.to_json() == alone.to_json()
        assert (tmp_path / "shared" / "report.html").read_bytes() == (tmp_path / "alone" / "report.html").read_bytes()
        with pytest.raises(thaw.InvalidArgument, match="samples for the workers"):
            thaw.sensitivity(built / "text.onnx", client=client)
        # A worker that has another file by that name is as one on a machine without it: nothing is measured.
        from onnx_thaw import _dask
        states = _dask._Files.states
        for name in ("text.onnx", FILES[1].name):
            monkeypatch.setattr(_dask._Files, "states", lambda self, name=name: {
                path: (size + (path.name == name), time) for path, (size, time) in states(self).items()})
            with pytest.raises(thaw.InvalidArgument, match=f"^the worker tcp://\\S+ does not have '/.*{name}' as it is here; put the folder of models"):
                thaw.sensitivity(built, tmp_path / "unseen", **options, client=client)
            assert not (tmp_path / "unseen").exists() and not (tmp_path / "unseen.shards").exists()
