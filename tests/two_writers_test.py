"""Calls that write to one place at the same time: what is there then is of one of them, and nothing is left of the others."""
import random
import subprocess
import time

import numpy as np
import onnx
import pytest

from fault_injection_test import content, files_in, is_left, outputs, place_of, product  # noqa: F401 (place_of: a fixture)

ROUNDS = 15


@pytest.fixture(scope="module")
def models(place_of):
    folder = place_of("models")
    for seed in (1, 2):
        product(folder / f"m{seed}.onnx", seed)
    return folder


def at_once(thaw, calls, folder):
    started = []
    for call in calls:
        started.append(subprocess.Popen([thaw.path, *call], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env={"THAW_ONNXRUNTIME": "none"}))
        time.sleep(random.random() * 0.004)
    return [(run.communicate(timeout=60)[1], run.returncode) for run in started]


def check(ends):
    """Each wrote its result, or says why not in a sentence of its own."""
    for error, code in ends:
        assert code in (0, 2), error
        if code == 2:
            lines = error.splitlines()
            assert len(lines) == 1 and lines[0].startswith("thaw: ") and "File exists" not in error, error
            assert any(words in error for words in ("somebody else has made a file", "another call has been", "has changed since")), error
    assert any(code == 0 for _, code in ends), ends


def alone(thaw, call, folder):
    (folder / "out").mkdir(parents=True)
    thaw(*call, code=0, cwd=folder, runtime=False)
    return outputs(folder, "out"), len(files_in(folder / "out"))


CALLS = {
    "one model": ["optimize", "m.onnx", "-o", "out/o.onnx", "--external", "single", "--no-check"],
    "copied data": ["batch", "m.onnx", "-o", "out/o.onnx", "--no-check"],
    "parts": ["split", "m.onnx", "--parts", "2", "-o", "out", "--external", "single", "--no-check"],
    "several sizes": ["pin", "m.onnx", "--sizes", "rows=3", "--sizes", "rows=4", "-o", "out/o.onnx", "--external", "single", "--no-check"],
}


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_one_result_is_there_whole(thaw, models, place_of, name, there):
    random.seed(name)
    def call(seed):
        return [str(models / f"m{seed}.onnx") if word == "m.onnx" else word for word in CALLS[name]]
    work = place_of("work")
    one, count = alone(thaw, call(1), work / "one")
    two, _ = alone(thaw, call(2), work / "two")
    assert one != two
    for turn in range(ROUNDS):
        folder = work / str(turn)
        (folder / "out").mkdir(parents=True)
        if there:
            thaw(*call(1), code=0, cwd=folder, runtime=False)
        check(at_once(thaw, [call(1), call(2), call(2)], folder))
        assert outputs(folder, "out") in (one, two)
        files = files_in(folder)
        assert not any(map(is_left, files)) and len(files) == count, sorted(files)


def test_results_of_their_own_in_one_folder(thaw, models, place_of):
    random.seed(0)
    for turn in range(ROUNDS):
        folder = place_of("work")
        (folder / "out").mkdir()
        calls = [["split", str(models / "m1.onnx"), "--parts", "2", "-o", "out", "--external", "single", "--no-check"],
                 *(["optimize", str(models / f"m{seed}.onnx"), "-o", f"out/{seed}.onnx", "--external", "single", "--no-check"] for seed in (1, 2))]
        random.shuffle(calls)
        ends = at_once(thaw, calls, folder)
        assert all(code == 0 for _, code in ends), (turn, ends)
        files = files_in(folder / "out")
        assert {"1.onnx", "2.onnx", "part_1.onnx", "part_2.onnx"} <= files and not any(map(is_left, files)), sorted(files)
        for seed in (1, 2):
            weights = {w.name: onnx.numpy_helper.to_array(w) for w in onnx.load(folder / "out" / f"{seed}.onnx").graph.initializer}
            for wanted in onnx.load(models / f"m{seed}.onnx").graph.initializer:
                assert np.array_equal(weights[wanted.name], onnx.numpy_helper.to_array(wanted))
        for part in (1, 2):
            assert content(folder / "out" / f"part_{part}.onnx")
