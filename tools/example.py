#!/usr/bin/env python3
"""Writes the models and files that README.md and docs/guide/ are about.

    tools/example.py [FOLDER]

Each is small and has the faults of a real one: detector.onnx (a face detector whose sizes all bear one name), trace_*.onnx (three
static exports of a text decoder), vision_*.onnx (traces of a vision encoder at three grids, with grids.json and refs.npz),
tower.onnx (a transformer, with samples/ and held_out/), checkpoint/ (of the Qwen2.5-VL family), photos/, photo.jpg, talk.wav.
"""

import json
import shutil
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SOURCE / "tests"))

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402

import sensitivity_nets  # noqa: E402
from models import merge_grid, pictures, scrfd, text_decoder  # noqa: E402
from models.checkpoints import CHAT, with_patches, with_tokenizer  # noqa: E402

FIXTURES = SOURCE / "tests" / "fixtures"
GRIDS = [(16, 24), (22, 30), (28, 20)]


def write_references(path: Path) -> None:
    """What the true encoder gives at other grids than those of its traces."""
    truth = onnxruntime.InferenceSession(merge_grid.dynamic().SerializeToString(), providers=["CPUExecutionProvider"])
    arrays = {}
    for i, size in enumerate([(22, 30), (30, 22), (14, 26), (6, 10, 3)]):
        feed = merge_grid.feeds(*size, seed=i)
        arrays |= {f"{name}_{i}": value for name, value in {**feed, "features": truth.run(None, feed)[0]}.items()}
    np.savez(path, **arrays)


def write(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(scrfd.model(), folder / "detector.onnx")
    for size in ((1, 7), (2, 11), (3, 13)):
        onnx.save(text_decoder.static(*size), folder / "trace_{}x{}.onnx".format(*size))
    for h, w in GRIDS:
        trace = merge_grid.static(h, w, grid=False)
        trace.graph.input[0].type.tensor_type.shape.dim[0].dim_value = h * w
        onnx.save(trace, folder / f"vision_{h}x{w}.onnx")
    onnx.save(merge_grid.static(22, 30), folder / "vision.onnx")
    grids = {f"vision_{h}x{w}.onnx": {"grid_thw": [[1, h, w]]} for h, w in GRIDS}
    (folder / "grids.json").write_text(json.dumps(grids, indent=1) + "\n")
    write_references(folder / "refs.npz")
    onnx.save(sensitivity_nets.tower(3), folder / "tower.onnx")
    for seed, name in enumerate(("samples", "held_out")):
        sensitivity_nets.write_samples(folder / name, 4, seed=seed)
    shutil.rmtree(folder / "checkpoint", ignore_errors=True)
    shutil.rmtree(folder / "small", ignore_errors=True)
    small = with_tokenizer(FIXTURES / "qwen2_5_vl" / "decoder", FIXTURES / "inputs" / "tokenizer", folder / "small", CHAT)
    with_patches(small, folder / "checkpoint", 14)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(small / name, folder / "checkpoint" / name)
    shutil.rmtree(small)
    (folder / "photos").mkdir(exist_ok=True)
    for i in range(4):
        pictures.save(folder / "photos" / f"{i}.jpg", 300 + 20 * i, 200 + 30 * i, seed=i)
    pictures.save(folder / "photo.jpg", 320, 240, seed=7)
    pictures.save(folder / "page.png", 200, 280, seed=8)
    shutil.copy(FIXTURES / "inputs" / "tone.wav", folder / "talk.wav")


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "example"))
