"""`thaw convert --to int8` beside onnxruntime.quantization: what each loses on the same samples, by the same method.

    THAW_BIN=build/thaw python bench/int8.py [--only net,block,...] [--methods minmax,...] [--scrfd scrfd_2.5g.onnx]

Signal to noise in dB over samples that neither saw, bytes of the file, seconds; for a reader of text, how many characters of what it
reads are others than in float32.
"""
import argparse
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from conftest import need_package, run  # noqa: E402
from figures import table  # noqa: E402
from int8_nets import RNG, block, conv_net, images, peer, random, samples, sqnr, tokens  # noqa: E402

METHODS = {"minmax": "MinMax", "percentile": "Percentile", "entropy": "Entropy", "mse": None}
WORDS = "invoice total amount 2024 March street number signature receipt table figure width height quantize 37.5 model".split()


def text_line(height, width, words=3):
    """A line of text as a camera sees it: dark on light, blurred, noisy. [height, width, 3], 0 to 255."""
    import cv2
    page = np.full((height, width, 3), int(RNG.integers(190, 256)), np.uint8)
    line = " ".join(RNG.choice(WORDS, words))
    face, size = int(RNG.choice([0, 2, 3, 4])), height / 48
    (wide, tall), _ = cv2.getTextSize(line, face, size, 2)
    size *= min(1, (width - 8) / wide)
    cv2.putText(page, line, (4, (height + tall) // 2), face, size, tuple(int(c) for c in RNG.integers(0, 90, 3)), 2, cv2.LINE_AA)
    page = cv2.GaussianBlur(page, (3, 3), float(RNG.uniform(0.1, 0.8)))
    return np.clip(page + RNG.normal(0, 4, page.shape), 0, 255).astype(np.float32)


def page_of_text(height, width):
    rows = [text_line(48, width, int(RNG.integers(1, 5))) for _ in range(height // 48)]
    return np.concatenate([*rows, np.full((height - 48 * len(rows), width, 3), 230, np.float32)])


def as_input(image, mean, std):
    return ((image / 255 - mean) / std).transpose(2, 0, 1)[None].astype(np.float32)


def detector(count):
    mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    return [{"x": as_input(page_of_text(320, 480), mean, std)} for _ in range(count)]


def recognizer(count):
    return [{"x": as_input(text_line(48, 320), 0.5, 0.5)} for _ in range(count)]


def voice(count):
    """Tones that swell and fade in noise: 8 windows of 576 samples at 16 kHz, and the state of the start."""
    made = []
    for _ in range(count):
        t, pitch = np.arange(8 * 576) / 16000, RNG.uniform(80, 300)
        wave = sum(np.sin(2 * np.pi * pitch * k * t + k) / k for k in range(1, 6)) * RNG.uniform(0, 0.3) * np.abs(np.sin(9 * t))
        made.append({"input": (wave + RNG.normal(0, 0.01, t.size)).reshape(8, 576).astype(np.float32),
                     "h": random(1, 1, 128), "c": random(1, 1, 128)})
    return made


def faces(name, count):
    """Blots of colour at many sizes."""
    def one():
        image = np.zeros((3, 320, 320), np.float32)
        for step in (8, 32, 96):
            blots = RNG.standard_normal((3, 320 // step + 1, 320 // step + 1)).astype(np.float32)
            image += np.kron(blots, np.ones((1, step, step), np.float32))[:, :320, :320] * 0.4
        return np.clip(image, -1, 1)[None]
    return [{name: one()} for _ in range(count)]


def letters_wrong(before, after, feeds):
    """How many characters a reader reads otherwise, of how many: greedy CTC, edit distance."""
    def read(model, fed):
        best = run(model, fed)[0][0].argmax(-1)
        return [c for i, c in enumerate(best) if c and (i == 0 or c != best[i - 1])]

    def distance(a, b):
        row = list(range(len(b) + 1))
        for i, x in enumerate(a, 1):
            last, row[0] = row[0], i
            for j, y in enumerate(b, 1):
                last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
        return row[-1]

    pairs = [(read(before, f), read(after, f)) for f in feeds]
    return sum(distance(a, b) for a, b in pairs), sum(len(a) for a, _ in pairs)


def without_declared_sizes(path, to):
    """What files declare of their tensors is no part of the comparison: some is wrong, and ONNX Runtime refuses it."""
    made = onnx.load(path)
    del made.graph.value_info[:]
    for output in made.graph.output:
        output.type.tensor_type.ClearField("shape")
    for axis, dim in enumerate(made.graph.input[0].type.tensor_type.shape.dim):
        if dim.dim_param:
            dim.dim_param = f"size_{axis}"
    onnx.save(made, to)
    return to


def cases(folder, scrfd):
    def written(name, made):
        onnx.save(made, folder / f"{name}.onnx")
        return folder / f"{name}.onnx"

    def package(name, file, to):
        return without_declared_sizes(need_package(name) / file, folder / f"{to}.onnx")

    found = {
        "net": lambda: (written("net", conv_net()), images(*[(1, 32, 32)] * 8), images((1, 40, 40), (3, 32, 24), (1, 65, 31))),
        "block": lambda: (written("block", block()), tokens(*[(1, 16)] * 8), tokens((3, 5), (1, 64))),
        "ocr-det": lambda: (package("rapidocr_onnxruntime", "models/ch_PP-OCRv4_det_infer.onnx", "det"), detector(8), detector(4)),
        "ocr-rec": lambda: (package("rapidocr_onnxruntime", "models/ch_PP-OCRv4_rec_infer.onnx", "rec"), recognizer(16),
                            recognizer(24)),
        "silero": lambda: (package("silero_vad", "data/silero_vad_16k_sequence.onnx", "silero"), voice(16), voice(8)),
    }
    if scrfd:
        found["scrfd"] = lambda: (without_declared_sizes(scrfd, folder / "scrfd.onnx"),
                                  faces(onnx.load(scrfd).graph.input[0].name, 8), faces(onnx.load(scrfd).graph.input[0].name, 4))
    return found


def compare(name, path, seen, held_out, thaw, methods, words, rows):
    folder = samples(path.parent / f"{name}_samples", seen)

    def row(who, method, seconds, out):
        wrong = "{} of {}".format(*letters_wrong(path, out, held_out)) if name == "ocr-rec" else ""
        rows.append([name, method, who, f"{sqnr(path, out, held_out):.2f}", f"{out.stat().st_size / 1e6:.2f}", f"{seconds:.1f}", wrong])

    for method, theirs in methods.items():
        out = path.with_name(f"{name}_{method}.onnx")
        start = time.time()
        subprocess.run([thaw, "convert", path, "-o", out, "--to", "int8", "--data", folder, "--range", method, "--no-check", *words],
                       check=True, capture_output=True)
        row("thaw", method, time.time() - start, out)
        if theirs is None:
            continue
        start = time.time()
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                made = peer(path, seen, theirs)
            row("onnxruntime", method, time.time() - start, made)
        except Exception as error:  # what it does not manage is a figure too
            rows.append([name, method, "onnxruntime", "failed", "", "", str(error).splitlines()[0][:60]])


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", default="")
    options.add_argument("--methods", default=",".join(METHODS))
    options.add_argument("--scrfd", type=Path)
    options.add_argument("--words", default="", help="further options of thaw convert")
    options = options.parse_args()
    thaw = os.environ.get("THAW_BIN", str(HERE.parent / "build" / "thaw"))
    onnxruntime.set_default_logger_severity(4)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, make in cases(Path(folder), options.scrfd).items():
            if options.only and name not in options.only.split(","):
                continue
            path, seen, held_out = make()
            compare(name, path, seen, held_out, thaw, {m: METHODS[m] for m in options.methods.split(",")}, options.words.split(), rows)
    table(["model", "ranges", "by", "dB", "MB", "seconds", "letters wrong"], rows)


if __name__ == "__main__":
    main()
