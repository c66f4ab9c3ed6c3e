"""`sensitivity` of INT4 in the fast mode at real sizes: time, memory of Thaw's process and of ONNX Runtime's, disk.

    python bench/sensitivity_sizes.py [--thaw build/thaw] [--max-memory 8G] [--folder FOLDER] tower text text-3b

Random weights, four samples. tower: 32 blocks of width 1,280 in float32, 64 rows. text, text-3b: bench/make_checkpoint.py's, built to float32
without a cache, 24 to 63 tokens, ranked by `kl`. Memory is what no file backs (RssAnon and RssShmem), the most of each process and of both
at once; disk is what the file system of TMPDIR has less at most, which other programs' files would be in. text-3b leaves 19 GB in FOLDER.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import numpy as np
import onnx

import make_checkpoint
import sensitivity_nets as nets
from figures import table
from measure import machine

TOKENS = (24, 37, 51, 63)


def tower(folder, _):
    model = folder / "tower.onnx"
    if not model.exists():
        onnx.save(nets.tower(32, 1280), model, save_as_external_data=True, location="tower.data")
    rng = np.random.default_rng(0)
    return model, [{"x": rng.standard_normal((1, 64, 1280)).astype(np.float32)} for _ in range(4)], "mse"


def text(folder, thaw, name="text", make=make_checkpoint.text):
    checkpoint, built = folder / f"{name}-checkpoint", folder / name
    if not built.exists():
        make(checkpoint)
        subprocess.run([thaw, "build", checkpoint, "-o", built, "--dtype", "float32"], check=True, stdout=subprocess.DEVNULL)
    rng = np.random.default_rng(0)
    samples = [{"input_ids": rng.integers(0, 150_000, (1, n)), "attention_mask": np.ones((1, n), np.int64)} for n in TOKENS]
    return built / "text.onnx", samples, "kl"


def text_3b(folder, thaw):
    return text(folder, thaw, "text-3b", make_checkpoint.text_3b)


MODELS = {"tower": tower, "text": text, "text-3b": text_3b}


def family(pid):
    """A process and all that it started."""
    pids = [pid]
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            for child in Path(f"/proc/{pid}/task/{task}/children").read_text().split():
                pids += family(int(child))
    except OSError:
        pass
    return pids


def private_bytes(pid):
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(("RssAnon", "RssShmem")))


class Peaks:
    """Samples until it is told to stop."""

    def __init__(self, process, folder):
        self.own = self.others = self.at_once = self.disk = 0
        self._process, self._folder, self._stop = process, folder, threading.Event()
        self._free = self._left()
        self._thread = threading.Thread(target=self._run)

    def _left(self):
        disk = os.statvfs(self._folder)
        return disk.f_bfree * disk.f_frsize

    def _run(self):
        while not self._stop.wait(0.1):
            pids = family(self._process.pid)
            own = private_bytes(pids[0])
            others = sum(private_bytes(pid) for pid in pids[1:])
            self.own, self.others, self.at_once = max(self.own, own), max(self.others, others), max(self.at_once, own + others)
            self.disk = max(self.disk, self._free - self._left())

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()


def measured(thaw, model, samples, metric, options):
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        scratch = Path(scratch)
        (scratch / "data").mkdir()
        (scratch / "tmp").mkdir()
        for i, sample in enumerate(samples):
            np.savez(scratch / "data" / f"{i}.npz", **sample)
        command = [thaw, "sensitivity", model, "--data", scratch / "data", "--to", "int4", "--mode", "fast", "--metric", metric,
                   "--max-memory", options.max_memory, "-o", scratch / "report"]
        before, begun = os.times(), time.perf_counter()
        process = subprocess.Popen([str(word) for word in command], env={**os.environ, "TMPDIR": str(scratch / "tmp")},
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        with Peaks(process, scratch) as peaks:
            _, said = process.communicate()
        seconds, after = time.perf_counter() - begun, os.times()
        if process.returncode:
            sys.exit(f"{model}: {said}")
        report = json.loads((scratch / "report" / "report.json").read_text())
        return [f"{len(report['units'])}", f"{report['measured']}", f"{seconds:.0f}",
                f"{after.children_user + after.children_system - before.children_user - before.children_system:.0f}",
                *(f"{amount / 1e9:.1f}" for amount in (peaks.own, peaks.others, peaks.at_once, peaks.disk))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--thaw", default="build/thaw")
    parser.add_argument("--max-memory", default="8G")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="models stay in it")
    parser.add_argument("models", nargs="+", choices=MODELS)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    print(machine())
    rows = []
    for name in options.models:
        model, samples, metric = MODELS[name](options.folder, options.thaw)
        rows.append([name, *measured(options.thaw, model, samples, metric, options)])
        print(rows[-1], file=sys.stderr)
    table(["model", "nodes", "measured", "seconds", "processor seconds", "Thaw, GB", "ONNX Runtime, GB", "at once, GB", "disk, GB"], rows)


if __name__ == "__main__":
    main()
