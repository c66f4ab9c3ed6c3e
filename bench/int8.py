"""`thaw convert --to int8` beside onnxruntime.quantization: what each loses on the same samples, by the same method.

    THAW_BIN=build/thaw python bench/int8.py [--only net,block,...] [--methods minmax,...] [--draws 3] [--scrfd scrfd_2.5g.onnx]

Signal to noise in dB over samples that neither saw, bytes of the file, seconds; for a reader of text, how many characters of what it
reads are others than in float32. What one draw of weights and samples gives is mostly chance, some dB: the mean of several counts.
ocr-page: detector and reader together, in RapidOCR, on pages and a photograph.
"""
import argparse
import contextlib
import io
import logging
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnxruntime

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from conftest import session  # noqa: E402
from figures import table  # noqa: E402
from int8_cases import cases, page_of_text, photograph  # noqa: E402
from int8_nets import RNG, peer, samples, signal_to_noise  # noqa: E402

METHODS = {"minmax": "MinMax", "percentile": "Percentile", "entropy": "Entropy", "mse": None}
QUARK = HERE / "quark_peer.py"
PAGES = "ocr-page"


def edits(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


def letters_wrong(before, after, feeds):
    """How many characters a reader reads otherwise, of how many: greedy CTC, edit distance."""
    def read(model, fed):
        best = model.run(None, fed)[0][0].argmax(-1)
        return [c for i, c in enumerate(best) if c and (i == 0 or c != best[i - 1])]

    before, after = session(before), session(after)
    pairs = [(read(before, f), read(after, f)) for f in feeds]
    return np.array([sum(edits(a, b) for a, b in pairs), sum(len(a) for a, _ in pairs)])


def text_on(pages, det, rec):
    from rapidocr_onnxruntime import RapidOCR
    logging.disable(logging.CRITICAL)
    reader = RapidOCR(det_model_path=str(det), rec_model_path=str(rec), use_cls=False)
    return [" ".join(text for _, text, _ in reader(page)[0] or []) for page in pages]


class Converters:
    """Who converts a model by a method: a path to the result, and the seconds that it took. Fails as its tool does."""

    def __init__(self, thaw, words, quark=None):
        self.thaw, self.words, self.quark = thaw, words, quark

    def thaws(self, path, folder, seen, method):
        out, start = path.with_name(f"{path.stem}_{method}.onnx"), time.time()
        subprocess.run([self.thaw, "convert", path, "-o", out, "--to", "int8", "--data", folder, "--range", method, "--no-check",
                        "--external", "inline", *self.words], check=True, capture_output=True)
        return out, time.time() - start

    @staticmethod
    def onnxruntimes(path, folder, seen, method):
        start = time.time()
        with contextlib.redirect_stdout(io.StringIO()):
            return peer(path, seen, METHODS[method]), time.time() - start

    def quarks(self, path, folder, seen, method):
        out, start = path.with_name(f"{path.stem}_quark.onnx"), time.time()
        made = subprocess.run([self.quark, QUARK, "int8", path.with_name(path.stem + "_ready.onnx"), out, folder, METHODS[method]],
                              capture_output=True, text=True)
        if made.returncode:
            raise RuntimeError(made.stderr.strip().splitlines()[-1])
        return out, time.time() - start

    def ways(self, methods):
        for method in methods:
            yield "thaw", method, self.thaws
            if METHODS[method]:
                yield "onnxruntime", method, self.onnxruntimes
            if METHODS[method] and self.quark:
                yield "quark", method, self.quarks  # of what onnxruntime's made ready


def compare(name, make, draws, methods, converters, rows):
    found = {}
    for draw in range(draws):
        RNG.bit_generator.state = np.random.default_rng(7 + draw).bit_generator.state
        path, seen, held_out = make()
        folder = samples(path.parent / f"{name}_samples", seen)
        for who, method, convert in converters.ways(methods):
            try:
                out, seconds = convert(path, folder, seen, method)
            except Exception as error:  # what it does not manage is a figure too
                if who == "thaw":
                    raise
                found.setdefault((method, who), []).append(str(error).splitlines()[0][:60])
                continue
            wrong = letters_wrong(path, out, held_out) if name == "ocr-rec" else 0
            found.setdefault((method, who), []).append((signal_to_noise(path, out, held_out), out.stat().st_size / 1e6, seconds, wrong))
    for (method, who), figures in found.items():
        if failed := [f for f in figures if isinstance(f, str)]:
            rows.append([name, method, who, "failed", "", "", failed[0]])
            continue
        decibels, size, seconds, wrong = (sum(f[i] for f in figures) for i in range(4))
        rows.append([name, method, who, f"{decibels / draws:.2f}", f"{size / draws:.2f}", f"{seconds / draws:.1f}",
                     "{} of {}".format(*wrong) if name == "ocr-rec" else ""])


def read_pages(makers, draws, methods, converters, rows):
    """Detector and reader by one method, in RapidOCR, against both in float32."""
    wrong = {}
    for draw in range(draws):
        RNG.bit_generator.state = np.random.default_rng(7 + draw).bit_generator.state
        made = [make() for make in makers]
        folders = [samples(path.parent / f"{path.stem}_pages", seen) for path, seen, _ in made]
        pages = [photograph().astype(np.uint8), *(page_of_text(288, 512).astype(np.uint8) for _ in range(4))]
        wanted = text_on(pages, *(path for path, _, _ in made))
        for who, method, convert in converters.ways(methods):
            outs = [convert(path, folder, seen, method)[0] for (path, seen, _), folder in zip(made, folders)]
            got = text_on(pages, *outs)
            here = np.array([sum(map(edits, wanted, got)), sum(map(len, wanted))])
            wrong[method, who] = wrong.get((method, who), 0) + here
    rows += [[PAGES, method, who, "", "", "", "{} of {}".format(*count)] for (method, who), count in wrong.items()]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", default="")
    options.add_argument("--methods", default=",".join(METHODS))
    options.add_argument("--draws", type=int, default=3)
    options.add_argument("--scrfd", type=Path)
    options.add_argument("--quark", help="an interpreter with amd-quark")
    options.add_argument("--words", default="", help="further options of thaw convert")
    options = options.parse_args()
    thaw = str(Path(os.environ.get("THAW_BIN", HERE.parent / "build" / "thaw")).resolve())
    onnxruntime.set_default_logger_severity(4)
    rows, methods, converters = [], options.methods.split(","), Converters(thaw, options.words.split(), options.quark)
    only = options.only.split(",") if options.only else None
    with tempfile.TemporaryDirectory() as folder:
        found = cases(Path(folder), thaw, options.scrfd)
        for name, make in found.items():
            if not only or name in only:
                compare(name, make, options.draws, methods, converters, rows)
        if not only or PAGES in only:
            read_pages([found["ocr-det"], found["ocr-rec"]], options.draws, methods, converters, rows)
    table(["model", "ranges", "by", "dB", "MB", "seconds", "letters wrong"], rows)


if __name__ == "__main__":
    main()
