#!/usr/bin/env python3
"""Export of small, randomly initialised models at every size, by four exporters, as a table.

    bench/torch_export.py [--only NAME …] [--exporters NAME …] [--json FILE] [--optimum PYTHON] [--seconds N] [--table]

The columns: onnx_thaw.torch.export; torch.onnx.export with dynamic_shapes; TorchScript with dynamic_axes; optimum. "right" agrees with the module at
every size that it is judged at, "wrong" gives other numbers or shapes at one, "stops" an error at one, "none" is no model.

Each cell of the table is a process of its own: one that crashes or takes too long costs that cell. What stands in the JSON file is not run again.
The environment needs onnx_thaw, torch, onnx, onnxscript, onnxruntime, transformers, timm and torchvision. optimum has one of its own, with onnx_thaw
and onnxscript, whose interpreter is given: it takes older versions. Not a part of CI.
"""
import argparse
import contextlib
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

COLUMNS = {"thaw": "thaw.torch.export", "dynamo": "torch.onnx.export(dynamic_shapes=…)", "torchscript": "TorchScript, dynamic_axes", "optimum": "optimum"}
VERDICTS = ("right", "refused", "wrong", "stops", "none", "unknown")
MOST_SHOWN = 90  # letters of a reason


def _in_child(name, exporter, sender):
    """Sends what one exporter makes of an architecture; what it prints is lost."""
    import torch_export_cells
    os.setsid()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    try:
        found = torch_export_cells.cell(name, exporter)
    except Exception as error:
        found = {"verdict": "none", "why": f"{type(error).__name__}: {error}"}
    sender.send(found)


def run(name, exporter, seconds):
    """One cell. The process is forked off one that has loaded everything and computed nothing."""
    forking = multiprocessing.get_context("fork")
    receiver, sender = forking.Pipe(duplex=False)
    process = forking.Process(target=_in_child, args=(name, exporter, sender))
    process.start()
    sender.close()
    try:
        found = receiver.recv() if receiver.poll(seconds) else {"verdict": "none", "why": f"it takes more than {seconds} s"}
    except EOFError:
        process.join()
        found = {"verdict": "none", "why": f"the process ends with {process.exitcode}"}
    process.kill()
    process.join()
    return found


def cell_text(exporter, found):
    """The cells of a row of the table."""
    why = " ".join(found["why"].replace("|", "\\|").split())
    why = why[:MOST_SHOWN] + "…" if len(why) > MOST_SHOWN else why
    verdict = why if found["verdict"] == "unknown" else found["verdict"] + (f": {why}" if why else "")
    more = [found.get("exporter", ""), str(found.get("exports", ""))] if exporter == "thaw" else []
    return [verdict, *more, str(found.get("seconds", ""))]


def table(rows, exporters):
    """The table in Markdown, and the counts."""
    heads = ["model"]
    for exporter in exporters:
        heads += [COLUMNS[exporter], *(["exporter", "exports"] if exporter == "thaw" else []), "s"]
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    for name, row in rows.items():
        texts = [text for exporter in exporters for text in (cell_text(exporter, row[exporter]) if exporter in row else [""] * (4 if exporter == "thaw" else 2))]
        yield f"| {name} | {' | '.join(texts)} |"
    yield ""
    for exporter in exporters:
        counts = Counter(row[exporter]["verdict"] for row in rows.values() if exporter in row)
        yield f"{COLUMNS[exporter]}: " + ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])


def read(path):
    """What the file has, by architecture and exporter."""
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="architectures of torch_export_models.py; all by default")
    parser.add_argument("--exporters", nargs="+", choices=COLUMNS, default=list(COLUMNS), help="columns; all by default")
    parser.add_argument("--json", type=Path, help="a file for all that was found; what it has is not run again")
    parser.add_argument("--optimum", metavar="PYTHON", help="of an environment with optimum-onnx; without it that column is left out")
    parser.add_argument("--seconds", type=int, default=300, help="for one cell (300)")
    parser.add_argument("--table", action="store_true", help="runs nothing: prints what the file has")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = options.json or Path(folder, "cells.json")
        if not options.table:
            from torch_export_cells import versions
            from torch_export_models import MODELS
            unknown = sorted(set(options.only or ()) - MODELS.keys())
            if unknown:
                parser.error(f"{', '.join(unknown)} is none of {', '.join(MODELS)}")
            here = [each for each in options.exporters if each != "optimum" or "optimum-onnx" in versions()]
            for name in options.only or MODELS:
                for exporter in here:
                    if exporter in read(path).get(name, {}):
                        continue
                    found = {**run(name, exporter, options.seconds), "versions": versions()}
                    rows = read(path)
                    rows.setdefault(name, {})[exporter] = found
                    path.write_text(json.dumps(rows, indent=1), encoding="utf-8")
                    print(f"{name}, {exporter}: {' '.join(cell_text(exporter, found))}", file=sys.stderr, flush=True)
            if options.optimum and "optimum" in options.exporters:
                subprocess.run([options.optimum, __file__, "--json", path, "--exporters", "optimum", "--seconds", str(options.seconds),
                                *(["--only", *options.only] if options.only else [])], check=True, stdout=subprocess.DEVNULL)
        rows = {name: row for name, row in read(path).items() if not options.only or name in options.only}
        print("\n".join(table(rows, [each for each in options.exporters if any(each in row for row in rows.values())])))


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
