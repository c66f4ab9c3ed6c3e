"""Shares of outputs that are proven equal after each verb, over a folder of models:

    python bench/proving.py --thaw build/thaw --models FOLDER
    python bench/proving.py --thaw build/thaw --models FOLDER --name lifted.onnx    # of what bench/lifting.py lifted there

A model is any file of that name below the folder. A verb's result is compared with the model
that it was made of by `thaw verify --prove`. What a verb refuses is counted apart.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

VERBS = {"optimize --level clean": ["optimize", "--level", "clean"], "optimize --target ort": ["optimize", "--target", "ort"]}
SECONDS = 120  # of a call: beyond it counts as refused


def call(command):
    try:
        return subprocess.run([str(part) for part in command], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return None


def verdicts(thaw, verb, model, folder):
    """Verdicts by output; None where the verb refuses the model, or the two cannot be run."""
    result = pathlib.Path(folder, "result.onnx")
    result.unlink(missing_ok=True)
    if not (made := call([thaw, verb[0], model, "-o", result, "--no-check", *verb[1:]])) or made.returncode or not result.exists():
        return None
    compared = call([thaw, "verify", result, "--against", model, "--prove", "--points", 1, "--format", "json"])
    if not compared or compared.returncode not in (0, 1):
        return None
    return json.loads(compared.stdout).get("outputs")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--thaw", default="build/thaw")
    parser.add_argument("--models", required=True, type=pathlib.Path)
    parser.add_argument("--name", default="*.onnx", help="what files of models are called")
    parser.add_argument("--open", action="store_true", help="print each output that is open, and where")
    options = parser.parse_args()
    models = sorted(options.models.rglob(options.name))
    print("| | models | refused | outputs | proven | differ |\n|---|---|---|---|---|---|")
    for name, verb in VERBS.items():
        outputs, refused = [], 0
        with tempfile.TemporaryDirectory() as folder:
            for model in models:
                found = verdicts(options.thaw, verb, model, folder)
                refused += found is None
                for one in found or []:
                    outputs.append(one["verdict"])
                    if options.open and one["verdict"] != "proven":
                        print(f"{model.relative_to(options.models)}: {one['name']}: {one.get('place', '')}")
        proven = outputs.count("proven")
        share = f"{proven} ({100 * proven / len(outputs):.0f} %)" if outputs else "0"
        print(f"| `{name}` | {len(models)} | {refused} | {len(outputs)} | {share} | {outputs.count('differs')} |", flush=True)


if __name__ == "__main__":
    main()
