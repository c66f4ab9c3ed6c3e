"""Each verb that runs models, on the CPU and on another execution provider of one ONNX Runtime: seconds, their ratio, and how far numbers are apart.

    python bench/providers.py --onnxruntime .deps/providers/openvino/onnxruntime --provider openvino
    python bench/providers.py --provider cuda:device_id=0

A tower of random weights. The CPU and the provider take turns, and the fastest of each counts. Seconds are of the whole command, and so
have what a provider compiles; of "one run" they are those of the run alone.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import sensitivity_nets as nets
from figures import table
from measure import machine, run_once

SIZES = "batch=2,seq=197"


def calls(folder):
    """By name: words of the command, and how its JSON tells seconds; None: the command's own."""
    tower, data, out = folder / "tower.onnx", folder / "data", folder / "out"
    return {
        "one run": (["run", tower, "--sizes", SIZES], lambda report: report["seconds"]),
        "run": (["run", tower, "--sizes", SIZES], None),
        "verify": (["verify", tower, "--against", tower, "--sizes", SIZES], None),
        "optimize": (["optimize", tower, "-o", f"{out}.onnx"], None),
        "convert --to f16": (["convert", tower, "-o", f"{out}.onnx", "--to", "f16"], None),
        "convert --to int8": (["convert", tower, "-o", f"{out}.onnx", "--to", "int8", "--data", data], None),
        "sensitivity --to int4": (["sensitivity", tower, "-o", out, "--to", "int4", "--data", data, "--only-in"], None),
    }


def seconds_of(command, told):
    if told is None:
        run = run_once(command)
        return run.seconds if run.ok else sys.exit(f"{' '.join(command)}: {run.output}")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return told(json.loads(done.stdout)) if done.returncode == 0 else sys.exit(f"{' '.join(command)}: {done.stdout}{done.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--thaw", default="build/thaw")
    parser.add_argument("--onnxruntime", help="the library, or a folder that holds it")
    parser.add_argument("--provider", required=True, help="as `thaw --provider` takes it")
    parser.add_argument("--depth", type=int, default=8)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", help="some of the rows of its table, by name, with commas between")
    parser.add_argument("--json", help="file for all figures")
    options = parser.parse_args()
    thaw = str(Path(options.thaw).resolve())
    common = ["--onnxruntime", options.onnxruntime] if options.onnxruntime else []
    sides = {"cpu": [*common, "--provider", "cpu"], options.provider: [*common, "--provider", options.provider]}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        onnx.save(nets.tower(options.depth, options.width), folder / "tower.onnx")
        (folder / "data").mkdir()
        rng = np.random.default_rng(0)
        for i in range(2):
            np.savez(folder / "data" / f"{i}.npz", x=rng.standard_normal((1, 64, options.width)).astype(np.float32))
        verified = subprocess.run([thaw, "verify", folder / "tower.onnx", *sides[options.provider], "--against-provider", "cpu", "--sizes", SIZES,
                                   "--format", "json", "--atol", "1", "--rtol", "1"], capture_output=True, text=True, check=False)
        if verified.returncode:
            sys.exit(verified.stdout + verified.stderr)
        report = json.loads(verified.stdout)
        (output,) = report["points"][0]["outputs"]
        figures = {"machine": machine(), "runtime": report["runtime"], "max_abs_diff": output["max_abs_diff"], "cosine": output["cosine"], "seconds": {}}
        rows = []
        for verb, (words, told) in calls(folder).items():
            if options.only and verb not in options.only.split(","):
                continue
            best = dict.fromkeys(sides, float("inf"))
            for _ in range(options.repeats):
                for side, given in sides.items():
                    best[side] = min(best[side], seconds_of([thaw, *map(str, words), *given, "--format", "json"], told))
            figures["seconds"][verb] = best
            rows.append([verb, *(f"{seconds:.3f}" for seconds in best.values()), f"{best[options.provider] / best['cpu']:.2f}"])
    used = ", ".join(one["name"] + (f" on {one['device']}" if "device" in one else "") for one in report["runtime"]["providers"])
    print(f"ONNX Runtime {report['runtime']['onnxruntime']}, {used}; {figures['machine']['processor']}, {figures['machine']['cores']} cores")
    print(f"max abs diff {output['max_abs_diff']:.3g}, cosine {output['cosine']:.8f}")
    table(["", *(f"{side}, s" for side in sides), "ratio"], rows)
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
