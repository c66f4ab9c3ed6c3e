"""Outputs proven equal by `thaw verify --prove` and by onnxsim's `certify`, of the same pairs of models, and how long each takes.

    python bench/certifying.py --thaw build/thaw --models FOLDER --peer PYTHON [--name lifted.onnx] [--every 2]

PYTHON has onnxsim 0.8 and z3-solver. A pair is a model and what `thaw optimize --level clean` makes of it: `symbolic`, the model as it is, and `static`,
the model pinned at the sizes of one run (`thaw pin`). A call may take 120 s. The times are of the same pairs, of whole processes without reading Python's packages:
the peer's own, and all of `thaw verify`. Not a part of `make bench`.
"""
import argparse
import collections
import json
import pathlib
import subprocess
import tempfile
import time

from proving import SECONDS, Verbs, call

PEER = """
import json, sys, time
import onnx
from onnxsim.certify import certify
for line in sys.stdin:
    a, b = json.loads(line)
    start = time.perf_counter()
    report = certify(onnx.load(a), onnx.load(b), total_timeout_ms=120_000)
    print(json.dumps([time.perf_counter() - start, report.outputs]), flush=True)
"""


class Peer:
    """onnxsim in a process of its own, that is started again where it fails or takes too long."""

    def __init__(self, python):
        self.python = python

    def certify(self, model, result):
        pair = json.dumps([str(model), str(result)]) + "\n"
        start = time.perf_counter()
        try:
            done = subprocess.run([self.python, "-c", PEER], input=pair, capture_output=True, text=True, timeout=SECONDS + 60, check=False)
        except subprocess.TimeoutExpired:
            return time.perf_counter() - start, None
        return json.loads(done.stdout) if done.returncode == 0 and done.stdout else (time.perf_counter() - start, None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--thaw", default="build/thaw")
    parser.add_argument("--models", type=pathlib.Path, required=True)
    parser.add_argument("--name", default="*.onnx")
    parser.add_argument("--peer", required=True, help="a Python that has onnxsim")
    parser.add_argument("--every", type=int, default=1, help="only every so many of the models")
    options = parser.parse_args()
    outputs, proven, seconds = collections.Counter(), collections.Counter(), collections.Counter()
    peer = Peer(options.peer)
    with tempfile.TemporaryDirectory() as folder:
        verbs, pinned, result = Verbs(options.thaw, folder), pathlib.Path(folder) / "pinned.onnx", pathlib.Path(folder) / "result.onnx"
        for model in sorted(options.models.rglob(options.name))[::options.every]:
            pinned.unlink(missing_ok=True)
            sizes = ",".join(f"{k}={v}" for k, v in verbs.sizes(model).items())
            call([options.thaw, "pin", model, "-o", pinned, "--sizes", sizes, "--no-check"])
            for kind, origin in (("symbolic", model), ("static", pinned)):
                if not origin.exists() or not verbs.optimized(origin, result, "--level", "clean"):
                    continue
                start = time.perf_counter()
                own = verbs.compared(result, origin)
                own_seconds = time.perf_counter() - start
                peer_seconds, verdicts = peer.certify(origin, result)
                if own is None:
                    continue
                outputs[kind] += len(own)
                proven[kind, "thaw"] += sum(o["verdict"] == "proven" for o in own)
                proven[kind, "onnxsim"] += sum(v.startswith("proved") for v in (verdicts or {}).values())
                seconds[kind, "thaw"] += own_seconds
                seconds[kind, "onnxsim"] += peer_seconds
                print(f"{model.parent.name:28} {kind:8} thaw {proven[kind, 'thaw']}, onnxsim {proven[kind, 'onnxsim']} of {outputs[kind]}; {own_seconds:.1f} s and {peer_seconds:.1f} s",
                      flush=True)
    for kind, count in outputs.items():
        print(f"{kind}: {count} outputs; proven by thaw {proven[kind, 'thaw']}, by onnxsim {proven[kind, 'onnxsim']}; "
              f"onnxsim takes {seconds[kind, 'onnxsim'] / seconds[kind, 'thaw']:.1f} times as long")


if __name__ == "__main__":
    main()
