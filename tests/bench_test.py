"""The benchmark scripts run, on tiny sizes and without peers, and write the figures that they promise."""
import json
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
