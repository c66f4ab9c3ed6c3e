"""Qwen3-ASR-0.6B's audio encoder, of random weights, in fewer bits: bytes, what the features lose, and how long 30 s of audio take.

    python bench/audio.py --thaw build/thaw

The features are compared on noise that calibration has not seen, by cosine and signal to noise, with those of float32 in ONNX
Runtime on the CPU. Real-time factor: seconds of computing for a second of audio.
"""
import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnxruntime

sys.path.insert(0, str(Path(__file__).resolve().parent))
from figures import table
from make_checkpoint import audio

SECONDS, FRAMES = 30, 3000  # a frame every 10 ms
WAYS = {
    "f32": None,
    "f16": ["--to", "f16"],
    "bf16": ["--to", "bf16"],
    "int8, measured (--data)": ["--to", "int8", "--data", "samples"],
    "int8, dynamic": ["--to", "int8", "--dynamic"],
    "int4, rtn": ["--to", "int4", "--method", "rtn"],
    "int4, search": ["--to", "int4"],
}


def features(frames, seed):
    """A spectrogram's like: bands that go along with each other, over time too."""
    rng = np.random.default_rng(seed)
    mix = rng.standard_normal((128, 12)) @ np.cumsum(rng.standard_normal((12, frames)), axis=1)
    mix = mix / np.abs(mix).max() + 0.05 * rng.standard_normal((128, frames))
    return {"input_features": mix[None].astype(np.float32), "input_features_mask": np.ones((1, frames), np.int64)}


def run(path, feeds, repeats):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        (result,) = session.run(None, feeds)
        best = min(best, time.perf_counter() - start)
    return result.astype(np.float64).ravel(), best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--thaw", default="build/thaw")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    thaw = str(Path(options.thaw).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        audio(folder / "checkpoint")
        call = dict(cwd=folder, check=True, capture_output=True)
        subprocess.run([thaw, "build", "checkpoint", "-o", "onnx", "--part", "audio", "--target", "ort"], **call)
        (folder / "samples").mkdir()
        for i, frames in enumerate((700, 1100, 1300, 1900)):
            np.savez(folder / "samples" / f"{i}.npz", **features(frames, i))
        held_out, wanted, rows = features(FRAMES, 100), None, []
        for way, words in WAYS.items():
            out = folder / "onnx" / "audio.onnx"
            if words:
                out = folder / "out" / "audio.onnx"
                out.parent.mkdir(exist_ok=True)
                for old in out.parent.iterdir():
                    old.unlink()
                # bfloat16 has few kernels on a CPU: thaw's own check runs it by rounding, and nothing else does.
                subprocess.run([thaw, "convert", "onnx/audio.onnx", "-o", str(out), "--target", "ort", "--no-check", *words], **call)
            size = sum(p.stat().st_size for p in out.parent.iterdir() if p.name.startswith("audio")) / 1e6
            try:
                got, seconds = run(out, held_out, options.repeats)
            except Exception:
                rows.append([way, f"{size:.0f}", "-", "-", "no kernels"])
                continue
            wanted = got if wanted is None else wanted
            noise = np.square(wanted - got).sum()
            cosine = wanted @ got / np.sqrt((wanted @ wanted) * (got @ got))
            rows.append([way, f"{size:.0f}", f"{cosine:.6f}",
                         f"{10 * np.log10((wanted @ wanted) / noise):.1f}" if noise else "-", f"{seconds / SECONDS:.4f}"])
        table(["", "MB", "cosine", "dB", "real-time factor"], rows)


if __name__ == "__main__":
    main()
