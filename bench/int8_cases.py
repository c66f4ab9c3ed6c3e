"""What INT8 is measured on: nets, models in use and towers, each with samples to calibrate on and others that are held out."""
import subprocess

import numpy as np
import onnx

from conftest import SOURCE, need_package
from int8_nets import RNG, block, conv_net, images, random, tokens
from make_checkpoint import audio
from models import phi4_cases, tower_cases

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


def photograph():
    """A printed page, photographed: scikit-image's. [height, width, 3], 0 to 255."""
    import cv2
    return cv2.imread(str(need_package("skimage") / "data" / "page.png")).astype(np.float32)


def part_of_photograph(height, width):
    import cv2
    page, scale = photograph(), RNG.uniform(1.2, 2.2)
    page = cv2.resize(page, None, fx=scale, fy=scale)
    top, left = int(RNG.integers(0, page.shape[0] - height)), int(RNG.integers(0, page.shape[1] - width))
    return page[top : top + height, left : left + width]


def detector(count):
    """Every other one of a photograph."""
    return [{"x": as_input(part_of_photograph(192, 352) if i % 2 else page_of_text(192, 352), 0.5, 0.5)} for i in range(count)]


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


def tower(family, folder, thaw):
    """A tower of few and narrow layers, as `thaw build` writes it, and what it is fed."""
    part = "audio" if family == "qwen3_asr" else "vision"
    subprocess.run([thaw, "build", SOURCE / "tests" / "fixtures" / family / "tower", "-o", folder / family, "--part", part],
                   check=True, capture_output=True)
    whole = folder / f"{family}.onnx"
    onnx.save(onnx.load(folder / family / f"{part}.onnx"), whole)

    def fed(case, seed):
        if family == "phi4_mm":
            return phi4_cases.draw(case, seed)
        return tower_cases.inputs(family, case, seed)

    # onnxruntime's histograms need samples of one size.
    seen, held_out = {"phi4_mm": ([(1, 1, 4, 6)], [[(2, 1, 6, 4)]]), "qwen3_asr": ((437, [437]), [(200, [200]), (300, [297, 61])])}.get(
        family, ([(1, 22, 30)], [[(1, 10, 14)], [(1, 6, 26), (1, 2, 2)]]))
    first = int(RNG.integers(1 << 20))
    return whole, [fed(seen, first + i) for i in range(6)], [fed(case, first + 50 + i) for i, case in enumerate(held_out)]


def speech_features(frames):
    """A spectrogram's like: bands that go along with each other, over time too."""
    mix = RNG.standard_normal((128, 12)) @ np.cumsum(RNG.standard_normal((12, frames)), axis=1)
    mix = mix / np.abs(mix).max() + 0.05 * RNG.standard_normal((128, frames))
    return {"input_features": mix[None].astype(np.float32), "input_features_mask": np.ones((1, frames), np.int64)}


def speech(folder, thaw):
    """Qwen3-ASR-0.6B's encoder, of random weights."""
    audio(folder / "asr")
    subprocess.run([thaw, "build", folder / "asr", "-o", folder / "asr", "--part", "audio"], check=True, capture_output=True)
    return folder / "asr" / "audio.onnx", [speech_features(1000) for _ in range(4)], [speech_features(n) for n in (700, 1500)]


TOWERS = ["qwen2_vl", "qwen2_5_vl", "qwen3_vl", "phi4_mm", "qwen3_asr"]


def cases(folder, thaw, scrfd):
    def written(name, made):
        onnx.save(made, folder / f"{name}.onnx")
        return folder / f"{name}.onnx"

    def package(name, file, to):
        return without_declared_sizes(need_package(name) / file, folder / f"{to}.onnx")

    found = {
        "net": lambda: (written("net", conv_net()), images(*[(1, 32, 32)] * 8), images((1, 40, 40), (3, 32, 24), (1, 65, 31))),
        "block": lambda: (written("block", block()), tokens(*[(1, 16)] * 8), tokens((3, 5), (1, 64))),
        "ocr-det": lambda: (package("rapidocr_onnxruntime", "models/ch_PP-OCRv4_det_infer.onnx", "det"), detector(8), detector(6)),
        "ocr-rec": lambda: (package("rapidocr_onnxruntime", "models/ch_PP-OCRv4_rec_infer.onnx", "rec"), recognizer(16),
                            recognizer(24)),
        "silero": lambda: (package("silero_vad", "data/silero_vad_16k_sequence.onnx", "silero"), voice(16), voice(8)),
    }
    found |= {name: lambda name=name: tower(name, folder, thaw) for name in TOWERS}
    found["asr-0.6b"] = lambda: speech(folder, thaw)
    if scrfd:
        found["scrfd"] = lambda: (without_declared_sizes(scrfd, folder / "scrfd.onnx"),
                                  faces(onnx.load(scrfd).graph.input[0].name, 8), faces(onnx.load(scrfd).graph.input[0].name, 4))
    return found


