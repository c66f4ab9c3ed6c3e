"""Shares of outputs that are proven equal after each verb, over a folder of models:

    python bench/proving.py --thaw build/thaw --models FOLDER
    python bench/proving.py --thaw build/thaw --models FOLDER --name lifted.onnx    # of what bench/lifting.py lifted there

A model is any file of that name below the folder. What `optimize` and `fix` write is compared with the model that it was made of by `thaw verify --prove`;
`pin` and `split` say themselves what they proved. `pin` takes the sizes of the first run. What a verb refuses is counted apart, and so are models
whose frozen sizes `fix` mends beside renaming others.

Sites of fusions are applied alone, too (`--sites`): to the result of `--level clean`, one site of each pass and model, drawn by a fixed seed. The others
are kept from being fused, as what their last nodes read is made an output. Where that keeps none, all sites of the pass are applied at once, and count as one
trial. It counts as proven where every output is.
"""
import argparse
import collections
import json
import pathlib
import random
import subprocess
import tempfile

import onnx

SECONDS = 120  # of a call: beyond it counts as refused
FUSIONS = ("activations", "norms", "rotary", "attention", "skips", "convolutions", "conv-activations", "products")
FROZEN = {"THAW010", "THAW013", "THAW016"}  # sizes that are numbers in a model
ATTENTION = {"Attention", "MultiHeadAttention", "GroupQueryAttention"}


def call(command):
    """The report; None where the command fails."""
    try:
        done = subprocess.run([*map(str, command), "--format", "json"], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return None
    return json.loads(done.stdout) if done.returncode in (0, 1) and done.stdout else None


class Verbs:
    """Each gives the outputs with their verdicts, None where it refuses the model."""

    def __init__(self, thaw, folder):
        self.thaw, self.folder = thaw, pathlib.Path(folder)

    def optimized(self, model, result, *options):
        result.unlink(missing_ok=True)
        report = call([self.thaw, "optimize", model, "-o", result, "--no-check", *options])
        return report if report and result.exists() else None

    def compared(self, result, model):
        return (call([self.thaw, "verify", result, "--against", model, "--prove", "--points", 1]) or {}).get("outputs")

    def optimize(self, *options):
        result = self.folder / "result.onnx"
        return lambda model: self.compared(result, model) if self.optimized(model, result, *options) else None

    def own(self, *command):
        report = call([self.thaw, *command]) or {}
        return (report.get("models", [report])[0].get("proof") or {}).get("outputs")

    def sizes(self, model):
        points = (call([self.thaw, "verify", model, "--against", model, "--points", 1]) or {}).get("points")
        return points[0]["sizes"] if points else {}

    def pin(self, model):
        sizes = ",".join(f"{name}={size}" for name, size in self.sizes(model).items())
        return self.own("pin", model, "-o", self.folder / "pinned.onnx", "--sizes", sizes) if sizes else None

    def rename(self, model):
        fixed = self.folder / "fixed.onnx"
        fixed.unlink(missing_ok=True)
        names = ",".join(f"{name}=other_{k}" for k, name in enumerate(self.sizes(model)))
        done = names and call([self.thaw, "fix", model, "-o", fixed, "--no-check", "--rename", names])
        if not done or not fixed.exists() or any(one["code"] in FROZEN for one in done["changed"]):  # what is mended is another model at other sizes
            return None
        return self.compared(fixed, model)

    def split(self, model):
        with tempfile.TemporaryDirectory(dir=self.folder) as parts:
            return self.own("split", model, "-o", pathlib.Path(parts, "parts"), "--parts", 2)


def behind_attention(model):
    """Outputs that an attention operator comes before."""
    graph = onnx.load(model, load_external_data=False).graph
    reached = set()
    for node in graph.node:
        if node.op_type in ATTENTION or reached & set(node.input):
            reached.update(node.output)
    return {output.name for output in graph.output if output.name in reached}


def share(proven, count):
    return f"{proven} ({100 * proven / count:.0f} %)" if count else "0"


def row(name, models, refused, outputs):
    verdicts = [one["verdict"] for one in outputs]
    print(f"| {name} | {models} | {refused} | {len(verdicts)} | {share(verdicts.count('proven'), len(verdicts))} | {verdicts.count('differs')} |", flush=True)


def shielded(model, sites, path):
    """The model with what the last nodes of these sites read as outputs, which no fusion takes away."""
    made = onnx.load(model)
    produced = {name for node in made.graph.node if node.op_type != "Constant" for name in node.output}
    shown = {output.name for output in made.graph.output}
    for node in made.graph.node:
        if f"{node.op_type} '{node.name}'" not in sites:
            continue
        for name in node.input:
            if name in produced and name not in shown:
                made.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
                shown.add(name)
    onnx.save(made, path)
    return path


def alone(verbs, clean, fused, fusion, rng):
    """The outputs where one site of a pass is applied and no other, or all where it is not kept from others; how many sites there are, and whether one was alone."""
    report = verbs.optimized(clean, fused, "--target", "ort", "--only", fusion)
    sites = [one["where"] for one in report["changed"]] if report else []
    if not sites:
        return None, 0, False
    if len(sites) > 1:
        origin = shielded(clean, set(sites) - {rng.choice(sites)}, verbs.folder / "shielded.onnx")
        report = verbs.optimized(origin, verbs.folder / "alone.onnx", "--target", "ort", "--only", fusion)
        if report and len(report["changed"]) == 1:
            return verbs.compared(verbs.folder / "alone.onnx", origin), len(sites), True
    return verbs.compared(fused, clean), len(sites), len(sites) == 1


def sites_alone(verbs, models, is_told):
    trials, proven, there, single = (collections.Counter() for _ in range(4))
    clean, fused = verbs.folder / "clean.onnx", verbs.folder / "fused.onnx"
    rng = random.Random(1)
    for model in models:
        if not verbs.optimized(model, clean, "--level", "clean"):
            continue
        for fusion in FUSIONS:
            outputs, count, is_alone = alone(verbs, clean, fused, fusion, rng)
            there[fusion] += count
            if not outputs:
                continue
            left = [one for one in outputs if one["verdict"] != "proven"]
            trials[fusion] += 1
            single[fusion] += is_alone
            proven[fusion] += not left
            if left and is_told:
                print(f"{model}: {fusion}: {left[0]['name']}: {left[0].get('place', '')}", flush=True)
    print("\n| pass | sites | trials | of one site | proven |\n|---|---|---|---|---|")
    for fusion in FUSIONS:
        print(f"| `{fusion}` | {there[fusion]} | {trials[fusion]} | {single[fusion]} | {share(proven[fusion], trials[fusion])} |")
    print(f"| all | {there.total()} | {trials.total()} | {single.total()} | {share(proven.total(), trials.total())} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--thaw", default="build/thaw")
    parser.add_argument("--models", required=True, type=pathlib.Path)
    parser.add_argument("--name", default="*.onnx", help="what files of models are called")
    parser.add_argument("--open", action="store_true", help="print each output that is open, and where")
    parser.add_argument("--sites", action="store_true", help="fusion sites alone, and nothing else")
    options = parser.parse_args()
    models = sorted(options.models.rglob(options.name))
    with tempfile.TemporaryDirectory() as folder:
        verbs = Verbs(options.thaw, folder)
        if options.sites:
            sites_alone(verbs, models, options.open)
            return
        table = {"`optimize --level clean`": verbs.optimize("--level", "clean"), "`optimize --target ort`": verbs.optimize("--target", "ort"),
                 "`fix --rename`": verbs.rename, "`pin`": verbs.pin, "`split --parts 2`": verbs.split}
        print("| | models | refused | outputs | proven | differ |\n|---|---|---|---|---|---|")
        for name, verb in table.items():
            all_outputs, with_attention, refused = [], [], 0
            for model in models:
                outputs = verb(model)
                refused += outputs is None
                behind = behind_attention(verbs.folder / "result.onnx") if outputs and "ort" in name else ()
                for one in outputs or []:
                    all_outputs.append(one)
                    with_attention.append(one["name"] in behind)
                    if options.open and one["verdict"] != "proven":
                        print(f"{model.relative_to(options.models)}: {one['name']}: {one.get('place', '')}")
            row(name, len(models), refused, all_outputs)
            if "ort" in name:
                for label, wanted in (("… behind attention", True), ("… others", False)):
                    row(label, "", "", [one for one, is_behind in zip(all_outputs, with_attention, strict=True) if is_behind == wanted])


if __name__ == "__main__":
    main()
