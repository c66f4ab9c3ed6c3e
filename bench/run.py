"""Figures against the peers, in one run: whole processes, growth, the engine alone, a model with large weights.

    python bench/run.py --thaw build/thaw --programs build-bench/bench [--json FILE] [--only PART ...] [--check]

Prints a table per part and writes everything as JSON. With --check the exit code is 1 where a bar is missed; a part
that could not run at all always makes it 1.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import converting  # noqa: E402
import measure  # noqa: E402
import optimizing  # noqa: E402
import peers  # noqa: E402
from figures import cells, record, slope, table  # noqa: E402

SSI = "onnxruntime symbolic_shape_infer"
BARS = {"times faster than symbolic_shape_infer": (">=", 50), "engine, us per node": ("<=", 20),
        "growth exponent": ("<=", 1.15), "proof, growth exponent": ("<=", 1.25),
        "proof of the cleaned decoder over inspect": ("<=", 20), "inspect of large weights, MB": ("<=", 100),
        "lifting over reading the traces in Python": ("<=", 1),
        "clean, nodes of the decoder": ("<=", 2629), "clean, times faster than the fastest simplifier": (">=", 50),
        "fuse on a tower, seconds": ("<=", 0.5), "optimize, growth exponent": ("<=", 1.15),
        "optimize of large weights over copying them": ("<=", 2), "optimize of large weights, MB": ("<=", 300),
        "convert to f16, seconds": ("<=", 4), "convert to f16, MB": ("<=", 300),
        "convert to int4 by rtn, seconds": ("<=", 3), "convert to int4 by search over rtn": ("<=", 4)}


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, Path(folder)
        self.thaw = str(Path(options.thaw).resolve())
        self.results = {"machine": measure.machine(), "parent_mb": round(measure.PARENT_MB, 1)}
        self.bars, self.broken = [], []

    def make(self, *words):
        made = subprocess.run([sys.executable, str(HERE / "make_models.py"), *map(str, words)], capture_output=True,
                              text=True, check=False)
        if made.returncode:
            raise RuntimeError(made.stderr.strip().splitlines()[-1])
        return made.stdout.strip()

    def inspect(self, model):
        return [self.thaw, "inspect", str(model), "--format", "json"]

    def bar(self, name, value):
        sign, limit = BARS[name]
        met = value >= limit if sign == ">=" else value <= limit
        self.bars.append({"name": name, "value": round(value, 3), "bar": f"{sign} {limit}", "met": met})

    # ---- parts

    def processes(self):
        """`inspect` with full inference against the peers, on a decoder."""
        model = self.folder / "decoder.onnx"
        nodes = int(self.make("decoder", self.options.layers, model))
        rows = [("thaw inspect --format json", measure.best_of(self.options.repeats, self.inspect(model)))]
        for name in self.options.peers:
            lacking = peers.missing(name)
            if lacking:
                print(f"  {name}: left out, not installed: {', '.join(lacking)}")
                continue
            repeats = 1 if peers.PEERS[name][0] == "simplifier" else self.options.repeats
            command = peers.command(name, str(model), str(self.folder / "out.onnx"))
            rows.append((name, measure.best_of(repeats, command)))
        ours = rows[0][1]
        print(f"\nWhole processes, text decoder of {self.options.layers} layers, {nodes} nodes")
        table(["", "seconds", "peak MB", "times ours"],
              [[name, *cells(run), f"{run.seconds / ours.seconds:.0f}" if run.ok else "-"] for name, run in rows])
        self.results["processes"] = {"nodes": nodes, "runs": {name: record(run) for name, run in rows}}
        self.need(rows)
        times = dict(rows)
        if SSI in times and times[SSI].ok and ours.ok:
            self.bar("times faster than symbolic_shape_infer", times[SSI].seconds / ours.seconds)

    def growth(self):
        """`inspect` on chains; the exponent of time over nodes, what an empty run costs taken off."""
        empty = measure.best_of(5, [self.thaw, "--version"])
        rows = []
        for nodes in self.options.chain:
            model = self.folder / f"chain{nodes}.onnx"
            self.make("chain", nodes, model)
            rows.append((nodes, measure.best_of(self.options.repeats, self.inspect(model))))
        print(f"\nGrowth, chains of nodes (an empty run: {empty.seconds * 1e3:.1f} ms, taken off for us per node)")
        table(["nodes", "seconds", "peak MB", "us per node"],
              [[str(n), *cells(run), f"{1e6 * (run.seconds - empty.seconds) / n:.1f}"] for n, run in rows])
        ran = [(n, run.seconds - empty.seconds) for n, run in rows if run.ok and run.seconds > empty.seconds]
        exponent = slope(ran)
        print(f"  time grows as nodes^{exponent:.2f}")
        self.results["growth"] = {"empty_seconds": empty.seconds, "exponent": exponent,
                                  "runs": {str(n): record(run) for n, run in rows}}
        self.need(rows)
        self.bar("growth exponent", exponent)

    def engine(self):
        """Loading and inference alone, by the Google Benchmark program."""
        program = Path(self.options.programs) / "infer_bench"
        model = self.folder / "engine.onnx"
        nodes = int(self.make("decoder", self.options.layers, model))
        command = [str(program), "--benchmark_format=json", f"--benchmark_min_time={self.options.min_time}"]
        env = {"THAW_BENCH_MODEL": str(model)}
        made = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
        if made.returncode:
            raise RuntimeError(f"{program} failed: {made.stderr.strip()[-300:]}")
        runs = {r["name"]: r for r in json.loads(made.stdout)["benchmarks"]}
        broken = [r["error_message"] for r in runs.values() if r.get("error_occurred")]
        if broken:
            raise RuntimeError(f"{program}: {broken[0]}")
        print(f"\nThe library alone, the same decoder, {nodes} nodes")
        figures = {name: {"ms": r["real_time"], "us_per_node": 1e3 * r["real_time"] / nodes} for name, r in runs.items()}
        table(["", "ms", "us per node"],
              [[name, f"{f['ms']:.2f}", f"{f['us_per_node']:.2f}"] for name, f in figures.items()])
        self.results["engine"] = {"nodes": nodes, "runs": figures}
        self.bar("engine, us per node", figures["infer"]["us_per_node"])

    def proving(self):
        """What `verify --prove` adds to the runs: chains against themselves, a decoder against what `optimize` makes of it."""
        program = str(Path(self.options.programs) / "prove_bench")

        def prove(model, reference):
            env = {**os.environ, "THAW_BENCH_MODEL": str(model), "THAW_BENCH_REFERENCE": str(reference)}
            made = subprocess.run([program, "--benchmark_format=json", f"--benchmark_min_time={self.options.min_time}"],
                                  capture_output=True, text=True, check=False, env=env)
            if made.returncode:
                raise RuntimeError(f"{program} failed: {made.stderr.strip()[-300:]}")
            return json.loads(made.stdout)["benchmarks"][0]

        rows, figures = [], {}
        for nodes in self.options.chain:
            model = self.folder / f"proven{nodes}.onnx"
            self.make("chain", nodes, model)
            rows.append((nodes, prove(model, model)))
        exponent = slope([(nodes, run["cpu_time"]) for nodes, run in rows])
        decoder = self.folder / "decoder_to_prove.onnx"
        nodes = int(self.make("decoder", self.options.layers, decoder))
        inspect = measure.best_of(self.options.repeats, self.inspect(decoder))
        for name, words in {"clean": ["--level", "clean"], "fuse for ONNX Runtime": ["--target", "ort"]}.items():
            made = self.folder / "optimized.onnx"
            subprocess.run([self.thaw, "optimize", str(decoder), "-o", str(made), "--no-check", *words], capture_output=True, check=True)
            figures[name] = prove(made, decoder)
        print("\nProofs: processor time, and for `inspect` what a user waits for")
        table(["", "ms", "us per node", "times `inspect`", "outputs proven"],
              [[f"chain of {n:,} nodes, with itself", f"{run['cpu_time']:.1f}", f"{run['us_per_node']:.1f}", "-", f"{run['proven']:.0f}"]
               for n, run in rows] +
              [[f"decoder of {nodes:,} nodes, {name}", f"{run['cpu_time']:.1f}", f"{run['us_per_node']:.1f}",
                f"{run['real_time'] / inspect.seconds / 1e3:.1f}", f"{run['proven']:.0f}"] for name, run in figures.items()])
        print(f"  it grows as nodes^{exponent:.2f}")
        self.results["proving"] = {"exponent": exponent, "inspect_seconds": inspect.seconds,
                                   "runs": {str(n): run["cpu_time"] for n, run in rows} |
                                           {name: run["cpu_time"] for name, run in figures.items()}}
        self.bar("proof, growth exponent", exponent)
        self.bar("proof of the cleaned decoder over inspect", figures["clean"]["real_time"] / inspect.seconds / 1e3)

    def weights(self):
        """`inspect` of a model whose external weights are large."""
        folder = self.folder / "external"
        folder.mkdir()
        self.make("external", self.options.gigabytes, folder)
        model = folder / "model.onnx"
        rows = [("thaw inspect --format json", measure.best_of(self.options.repeats, self.inspect(model)))]
        wanted = 5 * self.options.gigabytes
        for name in [p for p in self.options.peers if p in (SSI, "onnxsim")]:
            if measure.available_gb() < wanted:
                print(f"  {name}: left out, it wants up to {wanted:.0f} GB of memory")
            elif not peers.missing(name):
                command = peers.command(name, str(model), str(folder / "out.onnx"), external=True)
                rows.append((name, measure.run_once(command)))
        print(f"\n{self.options.gigabytes:g} GB of external weights")
        table(["", "seconds", "peak MB"], [[name, *cells(run)] for name, run in rows])
        self.results["weights"] = {"gigabytes": self.options.gigabytes, "runs": {n: record(r) for n, r in rows}}
        self.need(rows[:1])
        self.bar("inspect of large weights, MB", rows[0][1].peak_mb)

    def lifting(self):
        """`lift` of three traces of a vision tower with windows, beside reading the three with the onnx package. No peer
        lifts: the yardstick is what any Python tool would spend before it begins."""
        folder = self.folder / "traces"
        folder.mkdir()
        nodes = int(self.make("traces", self.options.blocks, folder))
        traces = sorted(map(str, folder.glob("*.onnx")))
        lift = [self.thaw, "lift", *traces, "-o", str(folder / "lifted.out"), "--trace-values", str(folder / "values.json"),
                "--add-input", "grid_thw:int64[1,3]", "--no-check"]
        read = [sys.executable, "-c", "import onnx, sys; [onnx.load(p) for p in sys.argv[1:]]", *traces]
        rows = [("thaw lift --no-check", measure.best_of(self.options.repeats, lift)),
                ("onnx.load of the same", measure.best_of(self.options.repeats, read))]
        print(f"\nLifting, three traces of a vision tower of {self.options.blocks} blocks, {nodes} nodes each")
        table(["", "seconds", "peak MB"], [[name, *cells(run)] for name, run in rows])
        self.results["lifting"] = {"nodes": nodes, "runs": {name: record(run) for name, run in rows}}
        self.need(rows)
        self.bar("lifting over reading the traces in Python", rows[0][1].seconds / rows[1][1].seconds)

    def optimizing(self):
        """`optimize` against the simplifiers and ONNX Runtime's optimizer."""
        optimizing.run(self)

    def converting(self):
        """`convert` of a model whose external weights are large."""
        converting.run(self)

    def need(self, rows):
        self.broken += [f"{name}: exit {run.code}: {run.output.strip()[-300:]}" for name, run in rows if not run.ok]


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--thaw", default="build/thaw")
    parser.add_argument("--programs", default="build-bench/bench", help="where the Google Benchmark programs are")
    parser.add_argument("--json", help="where the figures go (default: bench.json beside the programs)")
    parser.add_argument("--only", nargs="+", default=["processes", "growth", "engine", "proving", "weights", "lifting", "optimizing", "converting"])
    parser.add_argument("--check", action="store_true", help="exit 1 where a bar is missed")
    parser.add_argument("--layers", type=int, default=36)
    parser.add_argument("--blocks", type=int, default=32)
    parser.add_argument("--tower-blocks", type=int, default=64, help="of the tower that is optimized: some 13,000 nodes")
    parser.add_argument("--chain", type=int, nargs="+", default=[3000, 10000, 30000, 100000])
    parser.add_argument("--gigabytes", type=float, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--min-time", default="1", help="seconds of each Google Benchmark")
    parser.add_argument("--peers", nargs="*", default=list(peers.PEERS), choices=list(peers.PEERS))
    return parser.parse_args()


def main():
    options = parse()
    with tempfile.TemporaryDirectory(prefix="thaw-bench-") as folder:
        bench = Bench(options, folder)
        print("{processor}, {cores} cores, {memory_gb} GB, {system}, Python {python}".format(**bench.results["machine"]))
        for part in options.only:
            try:
                getattr(bench, part)()
            except RuntimeError as error:
                bench.broken.append(f"{part}: {error}")
    bench.results["bars"] = bench.bars
    print("\nBars")
    table(["", "measured", "bar", ""],
          [[b["name"], f"{b['value']:g}", b["bar"], "met" if b["met"] else "MISSED"] for b in bench.bars])
    path = Path(options.json or Path(options.programs).parent / "bench.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(bench.results, indent=2) + "\n", encoding="utf-8")
    print(f"\nThe figures are in {path}")
    for line in bench.broken:
        print(f"broken: {line}", file=sys.stderr)
    return 1 if bench.broken or (options.check and not all(b["met"] for b in bench.bars)) else 0


if __name__ == "__main__":
    sys.exit(main())
