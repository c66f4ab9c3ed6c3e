"""How `thaw lift` does on nets that it was not developed on, from sizes that tell and from those that people choose; judged by torch.

    python bench/lifting_trial.py --thaw build/thaw --folder /tmp/trial [--list develop] [--exporters script] [--sets telling] [--drawn 8]

Each net of lifting_small_models.py is exported by TorchScript (`dynamo=False`, opset 17) and by today's default (`dynamo=True`) at
static sizes, once for all sets. Thaw lifts the traces of each set, and what it writes runs at five sizes of mixed remainders that
no trace has. `right`: torch's numbers at each. `guarded`: those, or the guard in the graph. `refused`: no model was written.
`wrong` and `error` (of ONNX Runtime) are Thaw's faults. Needs torch, onnx, onnxscript and onnxruntime. Not a part of CI.
"""
import argparse
import collections
import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parent))
from lifting_judging import EXPORTERS, TOLERANCE, differences, is_near, tensors_of, text_of, verdict_of
from lifting_small_models import DEVELOP, FRESH, HELD_BACK, LATER, SEALED

LISTS = {"develop": DEVELOP, "held_back": HELD_BACK, "sealed": SEALED, "fresh": FRESH, "later": LATER}
TELLING = {"image": [(67, 101), (89, 53), (113, 83)], "sequence": [(19,), (37,), (53,)], "audio": [(1013,), (1499,), (2111,)]}
SETS = {
    "telling": TELLING,
    "two": {kind: sizes[:2] for kind, sizes in TELLING.items()},
    "chosen": {"image": [(112, 112), (128, 128), (160, 160)], "sequence": [(64,), (96,), (128,)], "audio": [(1600,), (2400,), (3200,)]},
    "chosen2": {"image": [(64, 96), (96, 160), (160, 128)], "sequence": [(32,), (64,), (128,)], "audio": [(1024,), (1536,), (2560,)]},
    "chosen3": {"image": [(64, 64), (96, 128), (160, 96)], "sequence": [(16,), (48,), (80,)], "audio": [(800,), (1600,), (2000,)]},
}
DRAWN_FROM = {"image": (40, 150, (1, 2, 4, 8, 16, 32)), "sequence": (14, 90, (1, 2, 4, 8, 16)), "audio": (700, 2600, (1, 2, 16, 64, 100, 160))}
UNSEEN = {"image": [(71, 107), (90, 62), (121, 75), (128, 160), (179, 133)], "sequence": [(29,), (45,), (58,), (160,), (171,)],
          "audio": [(1307,), (1750,), (2001,), (2816,), (3527,)]}


def nets():
    return DEVELOP | HELD_BACK | SEALED | FRESH | LATER


def drawn(kind, number):
    """Three sizes, four or two; every second time multiples of some unit."""
    random = np.random.default_rng([list(DRAWN_FROM).index(kind), number])
    low, high, units = DRAWN_FROM[kind]
    count, unit = (3, 3, 3, 4, 2)[number % 5], int(random.choice(units)) if number % 2 else 1
    while True:
        sizes = [tuple(int(side) // unit * unit for side in random.integers(low + unit, high, len(UNSEEN[kind][0]))) for _ in range(count)]
        if all(len(set(axis)) == count for axis in zip(*sizes, strict=True)) and not set(sizes) & set(UNSEEN[kind]):
            return sizes


def sizes_of(kind, sets):
    return sorted({size for name in sets for size in SETS[name][kind]})


def model_of(net):
    torch.manual_seed(0)
    model = net.make().eval()
    with torch.no_grad():
        for parameter in model.parameters():  # what starts at 0 or 1 would hide what is wrong
            parameter.add_(torch.randn_like(parameter) * 0.05)
    return model


def make(net, exporters, sets, folder):
    """What is missing of torch's numbers and of the traces."""
    model = None
    for size in [*sizes_of(net.kind, sets), *UNSEEN[net.kind]]:
        truth = folder / net.name / f"truth_{text_of(size)}.npz"
        arrays = net.inputs(*size)
        feeds = tuple(torch.from_numpy(array) for array in arrays.values())
        if not truth.exists():
            model = model or model_of(net)
            truth.parent.mkdir(parents=True, exist_ok=True)
            with torch.no_grad():
                outputs = tensors_of(model(*feeds))
            np.savez(truth, *[o.numpy() for o in outputs])
        for exporter in exporters if size not in UNSEEN[net.kind] else []:
            path = folder / net.name / exporter / f"{text_of(size)}.onnx"
            failed = path.with_suffix(".failed")
            if path.exists() or failed.exists():
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            how = dict(dynamo=True, external_data=False, verbose=False) if exporter == "dynamo" else dict(dynamo=False, opset_version=17)
            try:
                model = model or model_of(net)
                torch.onnx.export(model, feeds, str(path), input_names=list(arrays), **how)
            except Exception as error:
                path.unlink(missing_ok=True)
                failed.write_text(str(error))


def judged(path, net, exporter, sizes, folder):
    """A verdict, and what was found at each unseen size."""
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)

    def run(model, size):
        feeds = net.inputs(*size)
        outputs = [o for o in model.run(None, {i.name: feeds[i.name] for i in model.get_inputs()}) if o.dtype.kind == "f"]  # as tensors_of
        return list(differences(outputs, np.load(folder / net.name / f"truth_{text_of(size)}.npz")))

    def session_of(file):
        return onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])

    of_traces = [run(session_of(folder / net.name / exporter / f"{text_of(size)}.onnx"), size) for size in sizes]
    of_traces = [max(each) for each in zip(*of_traces, strict=True)]
    judges = [i for i, worst in enumerate(of_traces) if worst <= TOLERANCE]
    if not judges:
        return "not judged", "the exporter's traces are otherwise than torch at their own sizes"
    seen, verdicts = [], set()
    try:
        session = session_of(path)
    except Exception as error:
        return "error", str(error)[:200]
    for size in UNSEEN[net.kind]:
        try:
            found = run(session, size)
            is_right = all(is_near(found[i], of_traces[i]) for i in judges)
            verdicts.add("right" if is_right else "wrong")
            seen.append(f"{text_of(size)}: {max(found[i] for i in judges):.1e}")
        except Exception as error:
            is_guard = "guard_Reshape" in str(error)
            verdicts.add("guarded" if is_guard else "error")
            seen.append(f"{text_of(size)}: {'guard' if is_guard else str(error)[:160]}")
    return next(v for v in ("wrong", "error", "guarded", "right") if v in verdicts), ", ".join(seen)


def trial(thaw, net, exporter, name, folder):
    sizes = SETS[name][net.kind]
    traces = [folder / net.name / exporter / f"{text_of(size)}.onnx" for size in sizes]
    for trace in traces:
        if not trace.exists():
            failed = trace.with_suffix(".failed")
            return dict(verdict="no export", why=failed.read_text().strip()[:160] if failed.exists() else "the exports ended early")
    out = folder / net.name / exporter / f"lifted_{name}.onnx"
    return verdict_of(thaw, traces, out, lambda path: judged(path, net, exporter, sizes, folder))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--thaw", default="build/thaw")
    parser.add_argument("--folder", type=Path, required=True, help="where traces and torch's numbers are kept")
    parser.add_argument("--list", default="develop", choices=LISTS)
    parser.add_argument("--only", nargs="*", help="nets, by name")
    parser.add_argument("--exporters", nargs="*", default=list(EXPORTERS), choices=EXPORTERS)
    parser.add_argument("--sets", nargs="*", default=list(SETS), help=f"of {', '.join(SETS)}")
    parser.add_argument("--drawn", type=int, default=0, metavar="N", help="N sets more, of sizes that are drawn, the same each time")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--make-one", metavar="NAME", help=argparse.SUPPRESS)
    options = parser.parse_args()
    more = {f"drawn{number}": {kind: drawn(kind, number) for kind in DRAWN_FROM} for number in range(options.drawn)}
    SETS.update(more)
    if unknown := set(options.sets) - set(SETS):
        parser.error(f"no such sets: {', '.join(unknown)}")
    sets = list(dict.fromkeys([*options.sets, *more]))
    if options.make_one:
        warnings.filterwarnings("ignore")
        torch.set_num_threads(2)
        make(nets()[options.make_one], options.exporters, sets, options.folder)
        return 0
    results, counts = {}, collections.defaultdict(collections.Counter)
    for name in options.only or LISTS[options.list]:
        net = nets()[name]
        wanted = [options.folder / name / e / f"{text_of(size)}.onnx" for e in options.exporters for size in sizes_of(net.kind, sets)]
        if not all(path.exists() or path.with_suffix(".failed").exists() for path in wanted):
            subprocess.run([sys.executable, __file__, "--folder", str(options.folder), "--make-one", name, "--exporters", *options.exporters, "--drawn",
                            str(options.drawn), "--sets", *options.sets], capture_output=True, timeout=1200, check=False)
        for exporter in options.exporters:
            for chosen in sets:
                result = trial(options.thaw, net, exporter, chosen, options.folder)
                results[f"{name}/{exporter}/{chosen}"] = result
                counts[exporter, chosen][result["verdict"]] += 1
                print(f"{name:20} {exporter:7} {chosen:8} {result['verdict']:9} {result.get('seconds', 0):5.1f} s  {result['why']}", flush=True)
    columns = ["right", "guarded", "refused", "wrong", "error", "no export", "not judged"]
    print("\n" + " " * 17 + "".join(f"{column:>11}" for column in columns))
    for (exporter, chosen), count in counts.items():
        print(f"{exporter:7} {chosen:9}" + "".join(f"{count[column]:11}" for column in columns))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return int(any(result["verdict"] in ("wrong", "error") for result in results.values()))


if __name__ == "__main__":
    sys.exit(main())
