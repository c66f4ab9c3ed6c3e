"""How long it takes to measure every node: thaw sensitivity, exact and fast, beside a converted model for each node that runs whole."""
import resource
import time

import numpy as np
import onnx

import sensitivity_nets as nets
from figures import table

PLAIN = "a model for each node"
BARS = {"exact": 5, "fast": 30}


def processor_seconds():
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def timed(work):
    """Seconds by the clock and of the processors, and what the work gave."""
    clock, busy = time.perf_counter(), processor_seconds()
    given = work()
    return np.array([time.perf_counter() - clock, processor_seconds() - busy]), given


def samples_of_tokens(folder, count, lengths, width):
    rng = np.random.default_rng(1)
    folder.mkdir()
    for i, tokens in enumerate(np.linspace(*lengths, count).astype(int)):
        np.savez(folder / f"{i:03}.npz", x=rng.standard_normal((1, tokens, width)).astype(np.float32))
    return folder


def plain_seconds(thaw, model, samples, report, folder, to, every):
    """Of every so many-th node, scaled to all of them; the float model's run is counted once."""
    once, _ = timed(lambda: nets.plain(thaw, model, samples, dict(report, units=[]), folder, to=to))
    some = report["units"][::every]
    taken, figures = timed(lambda: nets.plain(thaw, model, samples, dict(report, units=some), folder, to=to))
    found = {u["name"]: u["errors"][0]["one_at_a_time"] for u in some}
    for name, errors in figures.items():  # the very same figures, or the times say nothing
        if found[name] is not None:
            np.testing.assert_allclose(found[name]["samples"]["mse"], errors, rtol=1e-5, err_msg=name)
    return once + (taken - once) * len(report["units"]) / len(some)


def speed(thaw, options, folder):
    """Prints a table; gives the figures, and the bars that were missed."""
    written, model = folder / "written.onnx", folder / "tower.onnx"
    onnx.save(nets.tower(options.depth, options.width, heads=8), written)
    thaw("optimize", written, "-o", model, "--no-check", code=0, timeout=600)
    samples = samples_of_tokens(folder / "samples", options.samples, options.tokens, options.width)
    best, count = {}, 0
    for _ in range(options.rounds):  # the ways take turns, so that other work on the machine meets them all
        for to in options.to.split(","):
            for mode in ("fast", "exact"):
                taken, report = timed(lambda: thaw.json(
                    "sensitivity", model, "--data", samples, "-o", folder / "report", "--to", to, "--mode", mode, "--only-in",
                    "--no-optimize", code=0, timeout=3600))
                best.setdefault((to, mode), []).append(taken)
                print(f"{to}, {mode}: {taken[0]:.1f} s, {taken[1]:.1f} s of processors", flush=True)
            taken = plain_seconds(thaw, model, samples, report, folder, to, options.every)
            best.setdefault((to, PLAIN), []).append(taken)
            print(f"{to}, {PLAIN}: {taken[0]:.1f} s, {taken[1]:.1f} s of processors", flush=True)
            count = len(report["units"])
    best = {key: min(rounds, key=lambda r: r[0]) for key, rounds in best.items()}
    rows, missed = [], []
    for (to, way), taken in best.items():
        times = best[to, PLAIN] / taken
        rows.append([to, way, *(f"{s:.1f}" for s in taken), *("" if way == PLAIN else f"{t:.1f}" for t in times)])
        if way in BARS and times[0] < BARS[way]:
            missed.append(f"{to}, {way}: {times[0]:.1f} times faster than {PLAIN}, not {BARS[way]}")
    print(f"\n{options.depth} blocks of width {options.width}, {count} nodes, {options.samples} samples of {options.tokens[0]} to "
          f"{options.tokens[1]} tokens; the better of {options.rounds}; {PLAIN}: of every {options.every}th node, scaled to all")
    table(["", "", "seconds", "of processors", "times faster", "in processors' time"], rows)
    return {f"{to}, {way}": list(taken) for (to, way), taken in best.items()}, missed
