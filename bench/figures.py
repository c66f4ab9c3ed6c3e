"""Figures in tables, and how they grow."""
import math


def slope(points):
    """The exponent of the power law through the points, by least squares over the logarithms."""
    logs = [(math.log(x), math.log(y)) for x, y in points]
    if len(logs) < 2:
        return math.nan
    mx, my = (sum(v) / len(logs) for v in zip(*logs))
    return sum((x - mx) * (y - my) for x, y in logs) / sum((x - mx) ** 2 for x, _ in logs)


def record(run):
    return {"seconds": run.seconds, "peak_mb": run.peak_mb, "exit": run.code}


def cells(run):
    failed = "" if run.ok else f" (exit {run.code})"
    return [f"{run.seconds:.3f}{failed}", f"{run.peak_mb:.0f}"]


def table(header, rows):
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    for row in [header, *rows]:
        print("  " + "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:]))]).rstrip())
