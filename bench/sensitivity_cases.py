"""Models whose nodes are ranked and planned: the families' towers, encoders and decoders, a tower of the tests, a reader of text."""
import logging
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnx.version_converter

import sensitivity_nets as nets
from conftest import SOURCE
from int8_cases import TOWERS, as_input, cases, photograph
from int8_nets import RNG, random, samples
from models import scrfd

READER = "ocr-rec"
VOCABULARY = 97  # of the tests' decoders


@dataclass
class Case:
    name: str
    model: Path       # optimized, so that the nodes of all reports and peers are the same
    seen: Path        # folder of samples that it is measured on, all of one size
    held_out: Path
    feeds: list       # those that are held out


def own(folder):
    """A tower whose weights differ in scale from block to block."""
    path = folder / "own.onnx"
    onnx.save(nets.tower(8, seed=4), path)
    return path, [{"x": random(1, 16, 64, scale=1)} for _ in range(6)], [{"x": random(1, n, 64, scale=1)} for n in (7, 13, 29, 40)]


def detector(folder):
    """A face detector of SCRFD's shape. Each size has a name of its own: one for all of them makes ONNX Runtime 1.20 fail in a peer."""
    path = folder / "scrfd.onnx"
    model = scrfd.without_value_info(scrfd.model(width=16, neck=16, head=24, stages=(2, 2, 2, 2)))
    for value in [*model.graph.input, *model.graph.output]:
        for i, dim in enumerate(value.type.tensor_type.shape.dim):
            if dim.dim_param:
                dim.dim_param = f"{value.name}_{i}"
    onnx.save(model, path)
    return path, [scrfd.feeds(1, 160, 128, seed) for seed in range(6)], [scrfd.feeds(1, 96, 160, 10 + seed) for seed in range(4)]


def decoder(family, folder, thaw):
    out = folder / f"{family}-text"
    subprocess.run([thaw, "build", SOURCE / "tests" / "fixtures" / family / "decoder", "-o", out, "--part", "text"], check=True,
                   capture_output=True)
    whole = folder / f"{family}-text.onnx"
    onnx.save(onnx.load(out / "text.onnx"), whole)

    def prompt(tokens):
        return {"input_ids": RNG.integers(0, VOCABULARY, (1, tokens)), "attention_mask": np.ones((1, tokens), np.int64)}
    return whole, [prompt(12) for _ in range(8)], [prompt(n) for n in (5, 9, 17, 26, 31, 40)]


def photographed_lines():
    """The lines of scikit-image's printed page, where RapidOCR's detector sees them."""
    import cv2
    from rapidocr_onnxruntime import RapidOCR
    logging.disable(logging.CRITICAL)
    page = photograph()
    lines = []
    for box, *_ in RapidOCR(use_cls=False)(page.astype(np.uint8))[0]:
        left, top = np.clip(np.min(box, axis=0).astype(int), 0, None)
        right, bottom = np.max(box, axis=0).astype(int)
        line = page[top : bottom + 1, left : right + 1]
        lines.append({"x": as_input(cv2.resize(line, (max(48, round(line.shape[1] * 48 / line.shape[0])), 48)), 0.5, 0.5)})
    return lines


def with_opset_13(path):
    """Scales by channel, which the peers write whatever a model's opset is, are of opset 13."""
    made = onnx.load(path)
    if made.opset_import[0].version < 13:
        onnx.save(onnx.version_converter.convert_version(made, 13), path)
    return path


def sensitivity_cases(folder, thaw):
    """By name, what makes a case of a model."""
    towers = cases(folder, thaw, None)
    found = {"own": lambda: own(folder)}
    found |= {name: towers[name] for name in TOWERS}
    found |= {f"{name}-text": lambda name=name: decoder(name, folder, thaw) for name in TOWERS}
    found[READER] = towers[READER]
    found["scrfd"] = lambda: detector(folder)

    def made(name):
        RNG.bit_generator.state = np.random.default_rng(7).bit_generator.state
        path, seen, held_out = found[name]()
        model = folder / f"{name}_optimized.onnx"
        subprocess.run([thaw, "optimize", with_opset_13(path), "-o", model, "--external", "inline"], check=True, capture_output=True)
        return Case(name, model, samples(folder / f"{name}_seen", seen), samples(folder / f"{name}_held_out", held_out), held_out)
    return {name: lambda name=name: made(name) for name in found}
