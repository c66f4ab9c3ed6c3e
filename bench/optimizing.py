"""`thaw optimize` against the simplifiers and ONNX Runtime's Python optimizer: nodes, seconds, memory, and how fast the
result runs. A part of run.py, for its --only optimizing.
"""
import json
import os
import subprocess
import sys
from pathlib import Path

import measure
import peers
from figures import cells, slope, table

HERE = Path(__file__).resolve().parent


def count_nodes(path):
    made = subprocess.run([sys.executable, "-c", "import onnx, sys; m = onnx.load(sys.argv[1], load_external_data=False);"
                           "print(len(m.graph.node), sum('Attention' in n.op_type for n in m.graph.node))", str(path)],
                          capture_output=True, text=True, check=False)
    return tuple(map(int, made.stdout.split())) if made.returncode == 0 else (None, None)


def seconds_to_run(path, feeds, repeats=200):
    """The fastest of some runs in ONNX Runtime, at sizes that a program of its own draws the inputs for."""
    made = subprocess.run([sys.executable, str(HERE / "run_model.py"), str(path), json.dumps(feeds), str(repeats)],
                          capture_output=True, text=True, check=False)
    return float(made.stdout) if made.returncode == 0 else None


def row(name, run, path, feeds):
    nodes, attention = count_nodes(path) if run.ok and Path(path).exists() else (None, None)
    return {"name": name, "run": run, "nodes": nodes, "attention": attention,
            "runs_in": seconds_to_run(path, feeds) if nodes else None}


def compare(bench, title, model, ours, theirs, feeds):
    """Rows of one model: `ours` are levels and targets of thaw optimize, `theirs` names of peers."""
    before = count_nodes(model)[0]
    rows = []
    for words in ours:
        out = bench.folder / "ours.onnx"
        command = [bench.thaw, "optimize", str(model), "-o", str(out), "--no-check", *words]
        rows.append(row("thaw optimize " + " ".join(words), measure.best_of(bench.options.repeats, command), out, feeds))
    for name in theirs:
        lacking = peers.missing(name)
        if lacking:
            print(f"  {name}: left out, not installed: {', '.join(lacking)}")
            continue
        out = bench.folder / "theirs.onnx"
        out.unlink(missing_ok=True)
        rows.append(row(name, measure.run_once(peers.command(name, str(model), str(out))), out, feeds))
    # ONNX Runtime rewrites for itself: it is a row, and no simplifier.
    fastest = min((r["run"].seconds for r in rows[len(ours):] if r["run"].ok and peers.PEERS[r["name"]][0] == "simplifier"), default=None)
    print(f"\n{title}, {before} nodes" + (f"; runs in {seconds_to_run(model, feeds) or float('nan'):.4f} s as it is" if feeds else ""))
    table(["", "nodes", "attention", "seconds", "peak MB", "runs in"],
                [[r["name"], str(r["nodes"] or "-"), str(r["attention"] if r["nodes"] else "-"), *cells(r["run"]),
                  f"{r['runs_in']:.4f}" if r["runs_in"] else "-"] for r in rows])
    bench.need([(r["name"], r["run"]) for r in rows[:len(ours)]])
    return before, rows, fastest


def run(bench):
    simplifiers = [n for n in bench.options.peers if peers.PEERS[n][0] in ("simplifier", "optimizer")]
    decoder, tower = bench.folder / "decoder.onnx", bench.folder / "tower"
    bench.make("decoder", bench.options.layers, decoder)
    feeds = {"sizes": {"batch": 1, "seq": 7}}
    before, rows, fastest = compare(bench, f"Optimizing a text decoder of {bench.options.layers} layers", decoder,
                                    [["--level", "clean"], ["--level", "fuse"], ["--level", "fuse", "--target", "ort"]],
                                    simplifiers, feeds)
    result = {"decoder": summary(before, rows)}
    bench.bar("clean, nodes of the decoder", rows[0]["nodes"])
    if fastest:
        bench.bar("clean, times faster than the fastest simplifier", fastest / rows[0]["run"].seconds)
    tower.mkdir()
    bench.make("traces", bench.options.tower_blocks, tower)
    trace = sorted(tower.glob("*.onnx"))[0]
    before, rows, _ = compare(bench, f"Optimizing a trace of a vision tower of {bench.options.tower_blocks} blocks", trace,
                              [["--level", "fuse", "--target", "ort"]], [n for n in simplifiers if "transformers" in n], {})
    result["tower"] = summary(before, rows)
    bench.bar("fuse on a tower, seconds", rows[0]["run"].seconds)
    times = []
    for nodes in bench.options.chain:
        model = bench.folder / f"chain{nodes}.onnx"
        bench.make("chain", nodes, model)
        command = [bench.thaw, "optimize", str(model), "-o", str(bench.folder / "chain.out.onnx"), "--no-check"]
        times.append((nodes, measure.best_of(bench.options.repeats, command)))
    exponent = slope([(n, r.seconds) for n, r in times if r.ok])
    print("\nGrowth of optimize, chains of nodes")
    table(["nodes", "seconds", "peak MB"], [[str(n), *cells(r)] for n, r in times])
    print(f"  time grows as nodes^{exponent:.2f}")
    bench.bar("optimize, growth exponent", exponent)
    result["growth"] = exponent
    result["external"] = external(bench)
    bench.results["optimizing"] = result


def fill(path, block=1 << 20):
    """Bytes that differ from block to block in the place of holes, which no copy would have to move."""
    size, noise = path.stat().st_size, bytearray(os.urandom(block))
    with open(path, "wb") as file:
        for at in range(0, size, block):
            noise[:8] = at.to_bytes(8, "little")
            file.write(noise[:min(block, size - at)])


def external(bench):
    """Large external weights: beside copying them."""
    folder = bench.folder / "large"
    folder.mkdir()
    bench.make("external", bench.options.gigabytes, folder)
    model = folder / "model.onnx"
    data = [p for p in folder.iterdir() if p.suffix != ".onnx"]
    for path in data:
        fill(path)
    written = bench.folder / "written"
    written.mkdir()
    # What is written is on the disk before it has its name: so is the copy, to be compared. Each begins with an empty folder.
    begin = 'cd "$1" && rm -f ./* && shift && '
    copy = ["sh", "-c", begin + 'cp "$@" . && sync ./*', "copy", str(written), *map(str, data)]
    optimize = ["sh", "-c", begin + 'exec "$@"', "optimize", str(written), bench.thaw, "optimize", str(model), "-o", "out.onnx", "--no-check"]
    os.sync()
    rows = [("cp and sync of the weights", measure.best_of(3, copy)), ("thaw optimize --no-check", measure.best_of(3, optimize))]
    print(f"\nOptimizing with {bench.options.gigabytes:g} GB of external weights, into another folder")
    table(["", "seconds", "peak MB"], [[name, *cells(run)] for name, run in rows])
    bench.need(rows)
    ratio = rows[1][1].seconds / rows[0][1].seconds
    bench.bar("optimize of large weights over copying them", ratio)
    bench.bar("optimize of large weights, MB", rows[1][1].peak_mb)
    return {"over copying": ratio, "peak_mb": rows[1][1].peak_mb}


def summary(before, rows):
    return {"nodes_before": before, "runs": {r["name"]: {"nodes": r["nodes"], "attention": r["attention"],
                                                         "seconds": r["run"].seconds, "peak_mb": r["run"].peak_mb,
                                                         "exit": r["run"].code, "runs_in": r["runs_in"]} for r in rows}}
