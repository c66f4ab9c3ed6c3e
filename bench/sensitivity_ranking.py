"""How well those who rank nodes agree with what was measured exactly, each on the same models and samples."""
import json
import os
import subprocess
import time
from pathlib import Path

import numpy as np

from figures import table
from sensitivity_cases import sensitivity_cases

PEER = Path(__file__).resolve().parent / "ranking_peers.py"
WORST = 10  # of which one is to be found
SPEARMAN = 0.95


def agreement(truth, scores):
    """Spearman's coefficient over the nodes that have a score, and how many of the truly worst tenth of all are in the scores'."""
    both = [name for name in truth if name in scores and np.isfinite(scores[name])]
    worst = max(1, round(len(truth) / WORST))

    def ranks(figures):
        return np.argsort(np.argsort([figures[name] for name in both]))

    def top(figures):
        return set(sorted(both if figures is scores else truth, key=figures.get)[-worst:])
    spearman = np.corrcoef(ranks(truth), ranks(scores))[0, 1] if len(both) > 2 else np.nan
    return {"spearman": float(spearman), "found": len(top(truth) & top(scores)), "worst": worst, "of": len(both)}


def measured(thaw, case, out, to, mode, way="one_at_a_time"):
    """The report, what is in it by unit, more for the worse, and the seconds that it took."""
    start = time.perf_counter()
    only = ["--only-in"] if way == "one_at_a_time" else []
    report = thaw.json("sensitivity", case.model, "--data", case.seen, "-o", out, "--to", to, "--mode", mode, *only, "--no-optimize", "--exact-below", 0,
                       code=0, timeout=3600)
    seconds = time.perf_counter() - start
    sign = 1 if way == "one_at_a_time" else -1
    return report, {u["name"]: sign * u["errors"][0][way]["mean"] for u in report["units"] if u["errors"][0].get(way)}, seconds


def of_peer(python, who, case, units, folder, limit):
    """By method, scores of units and seconds, or why there are none. Nodes that share a weight, which are one unit, sum up."""
    figures = folder / "figures.json"
    figures.unlink(missing_ok=True)
    nodes = [node for unit in units.values() for node in unit]
    stopped = None
    try:
        ran = subprocess.run([os.path.abspath(python), PEER, who, case.model, case.seen, figures, *nodes], capture_output=True, text=True,
                             timeout=limit, cwd=folder)  # quark writes a table into the folder that it runs in
        if ran.returncode:
            stopped = (ran.stderr.strip().splitlines() or [f"exit {ran.returncode}"])[-1]
    except subprocess.TimeoutExpired:
        stopped = f"not done in {limit} s"
    found = json.loads(figures.read_text(encoding="utf-8")) if figures.exists() else {}
    for given in found.values():
        if scores := given.get("scores"):
            given["scores"] = {name: sum(scores[node] for node in unit) for name, unit in units.items()
                               if all(node in scores for node in unit)}
    return found, stopped


# By precision: the columns, and which process gives them.
PEERS = {"int4": {"onnxsim": ["weight_err", "weight_err_rel", "fisher", "taylor", "hessian_trace"]},
         "int8": {"onnxsim-activations": ["only"], "quark": ["l2"], "inc": ["mse_v2"]}}
# What is measured with all other nodes converted, and not alone.
OF_ALL_BUT_ONE = {"inc"}


def cell(given):
    if "spearman" not in given:
        return "-"
    return f"{given['spearman']:.2f}, {given['found']}/{given['worst']}, {given['seconds']:.1f} s"


def ranking(thaw, options, folder):
    """Prints a table a precision; gives the figures, and the bars that were missed."""
    pythons = {"onnxsim": options.onnxsim, "onnxsim-activations": options.onnxsim, "quark": options.quark, "inc": options.inc}
    cases = sensitivity_cases(folder, thaw.path)
    figures, missed = {}, []
    for to in options.rank:
        peers = PEERS[to]
        columns = ["thaw fast", *(f"{who} {method}" for who, methods in peers.items() if pythons[who] for method in methods)]
        rows, reasons = [], {}
        for name in options.models or cases:
            case = cases[name]()
            report, truth, exact_seconds = measured(thaw, case, folder / "exact", to, "exact")
            units = {u["name"]: u["nodes"] for u in report["units"] if u["name"] in truth}
            _, scores, seconds = measured(thaw, case, folder / "fast", to, "fast")
            found = {"thaw fast": agreement(truth, scores) | {"seconds": seconds}}
            if found["thaw fast"]["spearman"] < SPEARMAN or found["thaw fast"]["found"] < found["thaw fast"]["worst"]:
                missed.append(f"{name}, {to}, fast: {cell(found['thaw fast'])}")
            for who, methods in peers.items():
                if not pythons[who]:
                    continue
                against = truth
                if who in OF_ALL_BUT_ONE:
                    _, against, _ = measured(thaw, case, folder / "out", to, "exact", "leave_one_out")
                given, stopped = of_peer(pythons[who], who, case, units, folder, options.limit)
                for method in methods:
                    here = given.get(method, {"why": stopped})
                    column = f"{who} {method}"
                    found[column] = here if "why" in here else agreement(against, here["scores"]) | {"seconds": here["seconds"]}
                    if "why" in here:
                        reasons.setdefault(f"{column}, no figures: {here['why']}", []).append(name)
                    elif found[column]["of"] < len(truth):
                        reasons.setdefault(f"{column}, not all nodes", []).append(f"{name} {found[column]['of']} of {len(truth)}")
            figures[f"{name}, {to}"] = found | {"nodes": len(truth), "exact": exact_seconds}
            rows.append([name, str(len(truth)), f"{exact_seconds:.1f} s", *(cell(found[c]) for c in columns)])
            print(*rows[-1], sep="  ", flush=True)
        print(f"\n{to}: Spearman's coefficient with what is measured exactly, how many of the worst tenth are found, seconds")
        table(["", "nodes", "exact", *columns], rows)
        for reason, models in reasons.items():
            print(f"  {reason} ({', '.join(models)})")
    return figures, missed
