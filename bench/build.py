"""thaw build against the peers, in one run: a 0.5 B text checkpoint to float32 and INT4, and a vision tower's time and memory.

    python bench/build.py --thaw build/thaw --python PYTHON [--only text|int4|tower] [--json FILE]

PYTHON is an interpreter with the peers: torch 2.13, transformers 5.23, onnxruntime, onnxruntime-genai 0.18, mobius-onnx 0.1. They
are large, so `make bench` does not fetch them. A peer that is not there, or fails, is left out by name.
"""
import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import measure  # noqa: E402


def row(name, run, seconds=None):
    if not run.ok:
        last = run.output.strip().splitlines()[-1:] or [""]
        print(f"  {name:34} failed: {last[0][:100]}")
        return {"name": name, "failed": last[0]}
    print(f"  {name:34} {seconds if seconds is not None else run.seconds:7.2f} s {run.peak_mb:8.0f} MB")
    return {"name": name, "seconds": seconds if seconds is not None else run.seconds, "peak_mb": run.peak_mb}


def make(python, kind, folder):
    subprocess.run([python, str(HERE / "make_checkpoint.py"), kind, str(folder)], check=True)


def text(options, folder):
    print("a 0.5 B text checkpoint (bfloat16) to float32 ONNX, whole processes")
    checkpoint = folder / "text"
    make(options.python, "text", checkpoint)
    rows = []
    for name, command in [
        ("thaw build", [options.thaw, "build", checkpoint, "-o", folder / "thaw", "--part", "text", "--kv-cache"]),
        ("mobius-onnx build", [options.python, "-m", "mobius", "build", "--dtype", "f32", "--config", checkpoint, folder / "mobius"]),
        ("onnxruntime-genai builder", [options.python, "-m", "onnxruntime_genai.models.builder", "-i", checkpoint, "-o",
                                       folder / "genai", "-p", "fp32", "-e", "cpu", "-c", folder / "cache"]),
    ]:
        rows.append(row(name, measure.run_once(list(map(str, command)), env={"HF_HUB_OFFLINE": "1"})))
    written = folder / "thaw" / "text.onnx.data"
    rows.append(row("cp of the bytes written", measure.run_once(["cp", str(written), str(folder / "copy")])))
    return rows


def int4(options, folder):
    print("a 0.5 B text checkpoint (bfloat16) to INT4 in blocks of 32, whole processes")
    checkpoint = folder / "checkpoint"
    make(options.python, "text", checkpoint)
    thaw = [options.thaw, "build", checkpoint, "--part", "text", "--kv-cache", "--target", "ort", "--dtype", "int4"]
    rows = []
    for name, command in [
        ("thaw build, rtn", [*thaw, "-o", folder / "rtn", "--method", "rtn"]),
        ("thaw build, search", [*thaw, "-o", folder / "search"]),
        ("onnxruntime-genai builder, rtn", [options.python, "-m", "onnxruntime_genai.models.builder", "-i", checkpoint, "-o",
                                            folder / "genai4", "-p", "int4", "-e", "cpu", "-c", folder / "cache"]),
    ]:
        rows.append(row(name, measure.run_once(list(map(str, command)), env={"HF_HUB_OFFLINE": "1"})))
    return rows


def tower(options, folder):
    print("Qwen2.5-VL-3B's tower cut to 4 blocks, 72 x 96 patches: second run, peak of the process")
    checkpoint = folder / "tower"
    make(options.python, "tower", checkpoint)
    models = {}
    for target in ("ort", "portable"):
        out = folder / target
        subprocess.run([options.thaw, "build", str(checkpoint), "-o", str(out), "--part", "vision", "--target", target], check=True,
                       stdout=subprocess.DEVNULL)
        models[f"thaw --target {target}"] = ["onnx", out / "vision.onnx"]
    built = measure.run_once([options.python, "-m", "mobius", "build", "--dtype", "f32", "--config", str(checkpoint),
                              str(folder / "mobius_vl")],
                             env={"HF_HUB_OFFLINE": "1"})
    found = [p for p in (folder / "mobius_vl").rglob("*.onnx") if "vision" in str(p)] if built.ok else []
    if found:
        models["mobius-onnx"] = ["onnx", found[0]]
    else:
        print(f"  mobius-onnx: left out: {(built.output.strip().splitlines() or ['nothing was written'])[-1][:100]}")
    models["torch, sdpa"] = ["torch", checkpoint]
    rows = []
    for name, words in models.items():
        run = measure.run_once([options.python, str(HERE / "run_tower.py"), *map(str, words)], env={"HF_HUB_OFFLINE": "1"})
        times = [line.split()[1] for line in run.output.splitlines() if line.startswith("seconds ")]
        rows.append(row(name, run, float(times[0]) if times else None))
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--thaw", default="build/thaw")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--only", choices=["text", "int4", "tower"])
    parser.add_argument("--json")
    options = parser.parse_args()
    options.thaw = str(Path(options.thaw).resolve())
    folder = Path(tempfile.mkdtemp(prefix="thaw-bench-"))
    results = {"machine": measure.machine()}
    try:
        for name, part in (("text", text), ("int4", int4), ("tower", tower)):
            if options.only in (None, name):
                results[name] = part(options, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
