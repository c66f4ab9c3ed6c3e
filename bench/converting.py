"""`thaw convert` on large external weights, beside the peers and beside copying what is written. A part of run.py, for its
--only converting. How far weights in blocks are off, blocks.py measures.
"""
import os

import numpy as np

import measure
import peers
from figures import cells, record, table

PEER = "onnxruntime float16"
NEEDS_GB = 5  # of memory, for each gigabyte of weights


def fill(path, block=1 << 20):
    """Normal numbers, as weights are, in the place of holes."""
    size, rng = path.stat().st_size, np.random.default_rng(0)
    with open(path, "wb") as file:
        for at in range(0, size, block):
            numbers = (rng.standard_normal(block // 4, dtype=np.float32) * 0.02).tobytes()
            file.write(numbers[:min(block, size - at)])


def run(bench):
    folder, written = bench.folder / "converted", bench.folder / "narrow"
    folder.mkdir()
    written.mkdir()
    bench.make("external", bench.options.gigabytes, folder)
    model = folder / "model.onnx"
    for path in folder.iterdir():
        if path.suffix != ".onnx":
            fill(path)
    begin = 'cd "$1" && rm -f ./* && shift && exec "$@"'
    os.sync()
    rows = []
    for words in (["--to", "f16"], ["--to", "int4", "--method", "rtn"], ["--to", "int4"]):
        command = ["sh", "-c", begin, "convert", str(written), bench.thaw, "convert", str(model), "-o", "out.onnx", "--no-check", *words]
        rows.append(("thaw convert " + " ".join(words), measure.best_of(bench.options.repeats, command)))
    lacking = peers.missing(PEER)
    wanted = NEEDS_GB * bench.options.gigabytes
    if lacking:
        print(f"  {PEER}: left out, not installed: {', '.join(lacking)}")
    elif measure.available_gb() < wanted:
        print(f"  {PEER}: left out, it wants up to {wanted:.0f} GB of memory")
    else:
        command = ["sh", "-c", begin, "peer", str(written), *peers.command(PEER, str(model), str(written / "out.onnx"))]
        rows.append((PEER, measure.run_once(command)))
    print(f"\nConverting {bench.options.gigabytes:g} GB of external weights")
    ours = rows[0][1]
    table(["", "seconds", "peak MB", "times f16"], [[name, *cells(r), f"{r.seconds / ours.seconds:.1f}"] for name, r in rows])
    bench.need(rows[:3])
    bench.bar("convert to f16, seconds", rows[0][1].seconds)
    bench.bar("convert to f16, MB", rows[0][1].peak_mb)
    bench.bar("convert to int4 by rtn, seconds", rows[1][1].seconds)
    bench.bar("convert to int4 by search over rtn", rows[2][1].seconds / rows[1][1].seconds)
    bench.results["converting"] = {"gigabytes": bench.options.gigabytes, "runs": {name: record(r) for name, r in rows}}
