"""Runs a vision tower on 72 x 96 patches and prints the seconds of the second run.

    python bench/run_tower.py onnx MODEL | torch CHECKPOINT
"""
import sys
import time

import numpy as np

GRID = np.array([[1, 72, 96]])


def patches():
    return np.random.default_rng(0).standard_normal((int(GRID.prod()), 1176), dtype=np.float32)


def onnx(path):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feed = {}
    for port in session.get_inputs():
        feed[port.name] = GRID if "grid" in port.name else patches()
    return lambda: session.run(None, feed)


def torch_tower(path):
    import torch
    from transformers import Qwen2_5_VLForConditionalGeneration
    model = Qwen2_5_VLForConditionalGeneration.from_pretrained(path, dtype=torch.float32, attn_implementation="sdpa")
    tower = model.model.visual.eval()
    x, grid = torch.from_numpy(patches()), torch.from_numpy(GRID)

    def run():
        with torch.no_grad():
            return tower(x, grid)
    return run


if __name__ == "__main__":
    once = {"onnx": onnx, "torch": torch_tower}[sys.argv[1]](sys.argv[2])
    once()
    start = time.perf_counter()
    once()
    print(f"seconds {time.perf_counter() - start:.3f}")
