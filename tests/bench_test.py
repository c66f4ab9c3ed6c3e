"""The benchmark scripts run, on tiny sizes and without peers, and write the figures that they promise."""
import json
import os
import subprocess
import sys

from conftest import SOURCE


def test_the_benchmarks_run(thaw, tmp_path):
    figures = tmp_path / "bench.json"
    command = [sys.executable, str(SOURCE / "bench" / "run.py"), "--thaw", str(thaw.path), "--only", "processes",
               "growth", "weights", "lifting", "converting", "--layers", "1", "--blocks", "2", "--chain", "100", "300", "--gigabytes", "0.02", "--repeats", "1",
               "--peers", "onnx.shape_inference, data_prop", "--json", str(figures)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    results = json.loads(figures.read_text(encoding="utf-8"))
    assert {"thaw inspect --format json", "onnx.shape_inference, data_prop"} == set(results["processes"]["runs"])
    assert all(r["seconds"] > 0 and r["exit"] == 0 for r in results["processes"]["runs"].values())
    assert set(results["growth"]["runs"]) == {"100", "300"}
    assert results["weights"]["runs"]["thaw inspect --format json"]["peak_mb"] > 0
    assert all(r["exit"] == 0 for r in results["converting"]["runs"].values())
    assert results["lifting"]["nodes"] > 100 and results["lifting"]["runs"]["thaw lift --no-check"]["exit"] == 0


def test_weights_in_blocks_are_no_worse_than_the_peers(thaw):
    command = [sys.executable, str(SOURCE / "bench" / "blocks.py"), "--thaw", str(thaw.path), "--only", "error", "--check"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.count("gauss") == 2 and "one value" in run.stdout


def test_sensitivity_is_measured(thaw, tmp_path):
    figures = tmp_path / "sensitivity.json"
    command = [sys.executable, str(SOURCE / "bench" / "sensitivity.py"), "--models", "own", "qwen2_vl-text", "--to", "int4", "--depth", "1",
               "--width", "64", "--samples", "2", "--tokens", "5", "9", "--every", "3", "--rounds", "1", "--json", str(figures)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env={**os.environ, "THAW_BIN": str(thaw.path)})
    assert run.returncode == 0, run.stdout + run.stderr
    results = json.loads(figures.read_text(encoding="utf-8"))
    assert {"int4, fast", "int4, exact", "int4, a model for each node"} == set(results["speed"])
    assert all(seconds > 0 for taken in results["speed"].values() for seconds in taken)
    fast = results["ranking"]["own, int4"]["thaw fast"]
    assert fast["of"] == 48 and fast["spearman"] >= 0.95 and fast["found"] == fast["worst"] == 5
    turns = results["plans"]["own, int4 and int8-blocks in turns"]
    assert turns["plan"]["bytes"] <= turns["uniform"]["bytes"] and turns["plan"]["mse"] < turns["uniform"]["mse"]
    # All in one precision is the best that its bytes give here: a plan of just those bytes is no worse.
    same = results["plans"]["qwen2_vl-text, int8-blocks"]
    assert same["plan"]["bytes"] <= same["uniform"]["bytes"] and same["plan"]["mse"] <= same["uniform"]["mse"]
