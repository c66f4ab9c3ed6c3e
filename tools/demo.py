"""What Thaw is for, on real input: `make demo`, or python tools/demo.py --thaw build/thaw.

1. A real text detector (PP-OCRv4) on a photograph of a printed page, at five sizes: what `check` says of a good model.
2. The same detector frozen by an export at one size: how it fails, what `check` says, `fix`, and the page read again.
3. A face detector that calls every size `?`: ONNX Runtime's error before, six sizes that agree after.

Prints what it measured; the exit code is 0 only if everything held.
"""
import argparse
import importlib.util
import json
import logging
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SOURCE / "tests"))

import numpy as np  # noqa: E402
import onnx  # noqa: E402

from models import freeze, scrfd  # noqa: E402

FROZEN_AT = (192, 384)
PAGE_SIZES = (FROZEN_AT, (160, 352), (224, 416), (352, 736), (416, 608))  # multiples of 32, by distinct primes but one
FACE_SIZES = ((320, 256), (96, 160), (224, 352), (160, 416), (352, 96), (416, 224))
FACE_BATCH = 32


class Missing(Exception):
    """Something that the demo needs is not installed."""


class Story:
    """Prints as it goes and keeps count of what did not hold."""

    def __init__(self, thaw):
        self.thaw, self.failed = str(Path(thaw).resolve()), 0

    def title(self, text):
        print(f"\n{text}\n{'-' * len(text)}")

    def say(self, text):
        print(f"  {text}")

    def expect(self, held, text):
        self.failed += not held
        print(f"  {'ok  ' if held else 'FAIL'} {text}")
        return held

    def run(self, *args, code):
        """Runs thaw, shows the command, expects the exit code; returns what it printed as JSON."""
        shown = " ".join(Path(a).name if str(a).startswith("/") else str(a) for a in args)
        start = time.perf_counter()
        command = [self.thaw, *map(str, args), "--format", "json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.say(f"$ thaw {shown}   ({(time.perf_counter() - start) * 1e3:.0f} ms, exit {done.returncode})")
        if done.returncode != code:
            self.expect(False, f"exit {code} expected: {(done.stderr or done.stdout).strip()[-400:]}")
        try:
            return json.loads(done.stdout)
        except json.JSONDecodeError:
            return {}


def package_file(package, *parts):
    spec = importlib.util.find_spec(package)
    path = Path(spec.origin).parent.joinpath(*parts) if spec and spec.origin else None
    if path is None or not path.exists():
        raise Missing(f"{package} with {'/'.join(parts)} is not installed; tools/setup demo installs it")
    return path


def session(model):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    source = str(model) if isinstance(model, Path) else model.SerializeToString()
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def attempt(model_session, feeds):
    """(outputs, None), or (None, what ONNX Runtime said)."""
    try:
        return model_session.run(None, feeds), None
    except Exception as error:  # onnxruntime raises classes of its own, without a common base
        return None, short(str(error))


def short(message):
    """The part of ONNX Runtime's message that says what happened."""
    node = message.partition("Name:'")[2].partition("'")[0]
    for start in ("Shape mismatch", "Attempting to broadcast", "Non concat axis", "axis == 1"):
        at = message.find(start)
        if at >= 0:
            return f"{node}: {message[at:].splitlines()[0][:150]}"
    return message.splitlines()[0][:170]


def worst(a, b):
    return max(float(np.abs(x - y).max()) if x.shape == y.shape else np.inf for x, y in zip(a, b, strict=True))


def page(photo, height, width):
    """The photograph as the detector takes it: [1, 3, height, width]."""
    import cv2
    image = cv2.resize(photo, (width, height)).astype(np.float32) / 255
    image = (image - np.array([0.485, 0.456, 0.406], np.float32)) / np.array([0.229, 0.224, 0.225], np.float32)
    return {"x": np.ascontiguousarray(image.transpose(2, 0, 1)[None])}


def lines_of_text(probability):
    """How many connected regions the detector marks as text."""
    import cv2
    count, _, stats, _ = cv2.connectedComponentsWithStats((probability[0, 0] > 0.3).astype(np.uint8))
    return sum(1 for i in range(1, count) if stats[i][4] > 30)


def read(photo, detector=None):
    """The words on the page, by RapidOCR with that detector; None where the detector fails."""
    from rapidocr_onnxruntime import RapidOCR
    logging.disable(logging.CRITICAL)
    try:
        result, _ = RapidOCR(**({"det_model_path": str(detector)} if detector else {}))(photo)
        return [text for _, text, _ in result or []]
    except Exception:  # RapidOCR wraps onnxruntime's error
        return None
    finally:
        logging.disable(logging.NOTSET)


def about_sizes(report):
    return [f for f in report.get("findings", []) if f.get("source")]


def show_findings(story, findings, limit=4):
    for finding in findings[:limit]:
        source = f" (from {finding['source']})" if finding.get("source") else ""
        story.say(f"       {finding['code']} {finding['message']}{source}")
    if len(findings) > limit:
        story.say(f"       ... and {len(findings) - limit} more")


def sweep(model, sizes):
    """A --sizes that gives each of `sizes` to height and width of the first input."""
    value = onnx.load(model, load_external_data=False).graph.input[0]
    names = []
    for axis, dim in enumerate(value.type.tensor_type.shape.dim):
        named = dim.dim_param and dim.dim_param[0].isalpha()
        names.append(dim.dim_param if named else f"{value.name}_dim{axis}" if not dim.dim_value else None)
    first = [f"{names[0]}=1"] if names[0] else []
    return "; ".join(",".join([*first, f"{names[2]}={h}", f"{names[3]}={w}"]) for h, w in sizes)


def show_verify(story, report, points):
    outputs = [o for p in report.get("points", []) for o in p.get("outputs", [])]
    worst_abs = max((o["max_abs_diff"] for o in outputs), default=float("nan"))
    story.expect(len(report.get("points", [])) == points and report.get("accepted") is True,
                 f"verify agrees at {len(report.get('points', []))} sizes, worst difference {worst_abs:.2g}")


def good_model(story, detector, photo):
    story.title("1. A real detector at five sizes: PP-OCRv4 on a photograph of a printed page")
    found, expected = session(detector), {}
    for h, w in PAGE_SIZES:
        feeds = page(photo, h, w)
        start = time.perf_counter()
        expected[h, w] = found.run(None, feeds)
        story.say(f"{h:4d} x {w:<4d} {lines_of_text(expected[h, w][0])} regions of text, "
                  f"{(time.perf_counter() - start) * 1e3:.0f} ms")
    words = read(photo)
    story.say(f"read: {' / '.join(words)}")
    report = story.run("inspect", detector, code=0)
    for output in report.get("outputs", []):
        story.say(f"     {output['name']}: [{', '.join(str(d) for d in output['dims'])}]")
    sizes = about_sizes(story.run("check", detector, code=0))
    story.expect(not sizes, f"check finds no frozen size in it ({len(sizes)} findings about sizes)")
    return expected, words


def frozen_model(story, detector, photo, expected, words, folder):
    h, w = FROZEN_AT
    story.title(f"2. The same detector, frozen by an export at {h} x {w}")
    frozen, mended = folder / "frozen_detector.onnx", folder / "mended_detector.onnx"
    onnx.save(freeze.resizes_at(onnx.load(detector), page(photo, h, w)), frozen)
    broken = session(frozen)
    for size in PAGE_SIZES:
        outputs, error = attempt(broken, page(photo, *size))
        story.say(f"{size[0]:4d} x {size[1]:<4d} {error or 'runs'}")
        story.expect((error is None) == (size == FROZEN_AT), "works at the size it was exported at" if error is None
                     else "fails at this size")
    story.expect(read(photo, frozen) is None, "the page can't be read with it")
    findings = story.run("check", frozen, code=1).get("findings", [])
    sizes = [f for f in findings if f.get("source")]
    show_findings(story, sizes)
    story.expect(len(sizes) >= 6, f"check names the frozen sizes of all 6 Resize nodes ({len(sizes)} findings)")
    story.run("fix", frozen, "-o", mended, code=0)
    if not story.expect(mended.exists(), "fix wrote a model"):
        return
    works = session(mended)
    for size in PAGE_SIZES:
        outputs, error = attempt(works, page(photo, *size))
        difference = worst(outputs, expected[size]) if error is None else np.inf
        result = error or f"{lines_of_text(outputs[0])} regions of text"
        story.expect(difference < 1e-5, f"{size[0]:4d} x {size[1]:<4d} {result}, difference to the original {difference:.2g}")
    story.expect(read(photo, mended) == words, f"read with the mended detector: {' / '.join(words)}")
    story.expect(not about_sizes(story.run("check", mended, code=0)), "check finds no frozen size any more")
    report = story.run("verify", mended, "--against", detector, "--sizes", sweep(mended, PAGE_SIZES), code=0)
    show_verify(story, report, len(PAGE_SIZES))


def one_name_for_all(story, folder):
    story.title(f"3. A face detector that calls every size '?', with batch {FACE_BATCH} declared")
    broken, mended = folder / "faces.onnx", folder / "mended_faces.onnx"
    onnx.save(scrfd.declare_batch(scrfd.model(), FACE_BATCH), broken)
    feeds = scrfd.feeds(FACE_BATCH, *FACE_SIZES[0])
    _, error = attempt(session(broken), feeds)
    story.say(f"ONNX Runtime: {error}")
    story.expect("re-use buffer" in (error or ""), "fails as the field reports it")
    findings = story.run("check", broken, code=1).get("findings", [])
    clash = [f for f in findings if "?" in f["message"] and f.get("related")]
    show_findings(story, clash, limit=3)
    story.expect(bool(clash), "check names the clash before anything runs")
    story.run("fix", broken, "-o", mended, code=0)
    if not story.expect(mended.exists(), "fix wrote a model"):
        return
    outputs, error = attempt(session(mended), feeds)
    story.expect(error is None, f"ONNX Runtime: {error or [list(y.shape) for y in outputs[:3]]}")
    report = story.run("verify", mended, "--against", broken, "--sizes", sweep(mended, FACE_SIZES), code=0)
    show_verify(story, report, len(FACE_SIZES))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--thaw", default=str(SOURCE / "build" / "thaw"))
    parser.add_argument("--keep", type=Path, help="a folder that keeps the models the demo makes")
    options = parser.parse_args()
    story = Story(options.thaw)
    try:
        from PIL import Image
        detector = package_file("rapidocr_onnxruntime", "models", "ch_PP-OCRv4_det_infer.onnx")
        rgb = np.array(Image.open(package_file("skimage", "data", "page.png")).convert("RGB"))
        photo = np.ascontiguousarray(rgb[:, :, ::-1])  # OpenCV's order, which the detector was trained on
    except (Missing, ImportError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="thaw-demo-") as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        expected, words = good_model(story, detector, photo)
        frozen_model(story, detector, photo, expected, words, folder)
        one_name_for_all(story, folder)
    print(f"\n{'Everything held.' if not story.failed else f'{story.failed} things did not hold.'}")
    return 1 if story.failed else 0


if __name__ == "__main__":
    sys.exit(main())
