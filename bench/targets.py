"""Which target runs which of the tests' models: the matrix of docs/targets.md.

    THAW_BIN=build/thaw python bench/targets.py [--all]

The models are those that the tests take from packages, write themselves, build from their checkpoints and convert. A cell says whether
the target runs all of a model (yes), some of it under conditions (part) or not (no), then into how many islands the model falls where
it is more than one. Targets by tests and by format are left out without --all.
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SOURCE / "tests"))

import onnx  # noqa: E402

from conftest import need_package  # noqa: E402
from models import families, quantized, scrfd, swin  # noqa: E402

THAW = os.environ.get("THAW_BIN", str(SOURCE / "build" / "thaw"))
FIXTURES = SOURCE / "tests" / "fixtures"
SUPPORT = {"supported": "yes", "partial": "part", "unknown": "?", "unsupported": "no"}


def of_packages():
    for path in sorted((need_package("rapidocr_onnxruntime") / "models").glob("*.onnx")):
        yield path.stem, path
    voice = need_package("silero_vad") / "data"
    for name in ("silero_vad", "silero_vad_op18_ifless", "silero_vad_half"):
        yield name, voice / f"{name}.onnx"


def written(folder):
    models = {"scrfd": scrfd.without_value_info(scrfd.model()), "swin 56x88": swin.static(2, 56, 88), "quantized": quantized.model()}
    models |= {family.name: family.dynamic() for family in families.FAMILIES}
    models["vision_tower 14x10"] = families.BY_NAME["vision_tower_angles"].static(14, 10)
    for name, model in models.items():
        path = folder / f"{name.replace(' ', '_')}.onnx"
        onnx.save(model, path)
        yield name, path


def built(folder):
    """Each family's tower and decoder, and one decoder in each form that `convert` writes."""
    for family in sorted({path.parent.parent for path in FIXTURES.glob("*/decoder/config.json")}):
        out = folder / family.name
        # Phi-4's tower is a checkpoint of all its parts.
        subprocess.run([THAW, "build", family / ("tower" if family.name == "phi4_mm" else "decoder"), "-o", out], check=True,
                       capture_output=True)
        for path in sorted(out.glob("*.onnx")):
            yield f"{family.name} {path.stem}", path
    text = folder / "qwen3" / "text.onnx"
    for to in ("f16", "bf16", "int8-blocks", "int4"):
        path = folder / f"qwen3_{to}.onnx"
        subprocess.run([THAW, "convert", text, "--to", to, "--no-check", "-o", path], check=True, capture_output=True)
        yield f"qwen3 text, {to}", path


def targets_of(path):
    done = subprocess.run([THAW, "check", path, "--target", "all", "--select", "THAW03", "--format", "json"], capture_output=True, text=True)
    return {each["target"]: each for each in json.loads(done.stdout)["targets"]}


def cell(target):
    word = SUPPORT[target["support"]]
    return word if target["islands"] <= 1 else f"{word}, {target['islands']}"


def main():
    with tempfile.TemporaryDirectory() as made:
        folder, models_of = Path(made), {}
        for models in (of_packages(), written(folder), built(folder)):
            for name, path in models:
                row = {target: cell(each) for target, each in targets_of(path).items() if "-" not in target or "--all" in sys.argv}
                models_of.setdefault(tuple(row.items()), []).append(name)
        names = [name for name, _ in next(iter(models_of))]
        print("| models | " + " | ".join(f"`{name}`" for name in names) + " |")
        print("|---" * (len(names) + 1) + "|")
        for row, models in models_of.items():
            print(f"| {', '.join(models)} | " + " | ".join(word for _, word in row) + " |")


if __name__ == "__main__":
    main()
