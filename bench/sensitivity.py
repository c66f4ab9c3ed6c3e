"""`thaw sensitivity` and `thaw plan` measured: how long they take, how well rankings agree with what is true, what plans are worth.

    THAW_BIN=build/thaw python bench/sensitivity.py [--only speed ranking plans] [--models own qwen2_vl …]
                                                    [--onnxsim PYTHON] [--quark PYTHON] [--inc PYTHON]

The towers and text decoders are those of the tests' checkpoints, random weights of narrow layers; the reader of text is PP-OCRv4's.
Peers are left out where no interpreter is named that has them.
"""
import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

import onnxruntime  # noqa: E402

from conftest import Thaw  # noqa: E402
from sensitivity_plans import plans  # noqa: E402
from sensitivity_ranking import ranking  # noqa: E402
from sensitivity_speed import speed  # noqa: E402

PARTS = {"speed": speed, "ranking": ranking, "plans": plans}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    options.add_argument("--json", type=Path, help="where to write all figures")
    options.add_argument("--check", action="store_true", help="exit 1 where a bar is missed")
    options.add_argument("--models", nargs="*", help="of rankings and plans: own, qwen2_vl, qwen2_vl-text, …, ocr-rec")
    of_ranking = options.add_argument_group("ranking")
    of_ranking.add_argument("--onnxsim", help="an interpreter with onnxsim and torch")
    of_ranking.add_argument("--quark", help="an interpreter with amd-quark")
    of_ranking.add_argument("--inc", help="an interpreter with neural-compressor 2")
    of_ranking.add_argument("--rank", nargs="+", choices=["int4", "int8"], default=["int4", "int8"],
                            help="the precisions to rank by; scrfd has convolutions alone, and so int8")
    of_ranking.add_argument("--limit", type=int, default=300, help="seconds that a peer may take for a model")
    of_speed = options.add_argument_group("speed")
    of_speed.add_argument("--to", default="int8-blocks,int4,int8")
    of_speed.add_argument("--depth", type=int, default=24)
    of_speed.add_argument("--width", type=int, default=512)
    of_speed.add_argument("--samples", type=int, default=16)
    of_speed.add_argument("--tokens", type=int, nargs=2, default=(60, 200))
    of_speed.add_argument("--every", type=int, default=12, help="of which the way of a model for each node is measured")
    of_speed.add_argument("--rounds", type=int, default=2)
    options = options.parse_args()
    thaw = Thaw(Path(os.environ.get("THAW_BIN", HERE.parent / "build" / "thaw")).resolve())
    onnxruntime.set_default_logger_severity(4)
    figures, missed = {}, []
    for part in options.only:
        with tempfile.TemporaryDirectory() as folder:
            figures[part], wrong = PARTS[part](thaw, options, Path(folder))
        missed += wrong
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    for line in missed:
        print("missed:", line)
    return 1 if missed and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
