"""What the benchmarks of lifting share: a run of `thaw lift`, and how far numbers may be from torch's."""
import json
import re
import subprocess
import time

import numpy as np

EXPORTERS = ("script", "dynamo")
TOLERANCE = 1e-3   # of the largest element: beyond it a trace is no longer torch's
ROUNDING = 2e-5    # what is lifted may differ by this, or by a few times as much as its traces do: a wrong place at the edge is little more
TIMES_THE_TRACES = 5


def text_of(size):
    return "x".join(map(str, size))


def tensors_of(output):
    """The floats that a torch model returns, in their order."""
    import torch
    if isinstance(output, torch.Tensor):
        return [output] if output.is_floating_point() else []
    values = output.values() if hasattr(output, "values") else output if isinstance(output, (tuple, list)) else []
    return [t for value in values for t in tensors_of(value)]


def differences(outputs, truth):
    """Of each output, relative to its largest element."""
    for got, key in zip(outputs, truth.files, strict=True):
        wanted = truth[key]
        yield (np.inf if got.shape != wanted.shape
               else float(np.abs(got.astype(np.float64) - wanted).max(initial=0)) / max(1e-6, float(np.abs(wanted).max(initial=0))))


def reason_of(report, stderr):
    """The first thing that is not explained, in a line."""
    notes = report.get("unexplained", []) if report else []
    if notes:
        return f"{notes[0]['message']} (at {notes[0]['where']}; {len(notes)} in all; {' | '.join(notes[0].get('values', [])[:3])})"
    return re.sub(r"\s+", " ", stderr).strip()[:300]


def is_near(found, in_traces):
    """Whether an output is as near to torch's as the traces' are, or but for rounding."""
    return found <= max(ROUNDING, TIMES_THE_TRACES * in_traces)


def verdict_of(thaw, traces, out, judged):
    """Lifts the traces; judged: says 'right', 'guarded' or 'wrong' of what is written, and what was seen."""
    seconds, report, reason = lifted_by(thaw, traces, out)
    if reason is not None:
        return dict(verdict="refused", why=reason, seconds=seconds)
    verdict, seen = judged(out)
    valid = [f"{n['where']}: {n['message']}" for n in report.get("valid_sizes", [])]
    return dict(verdict=verdict, why=seen + (f"; {valid[0]}" if verdict != "right" and valid else ""), seconds=seconds)


def lifted_by(thaw, traces, out):
    """Seconds, the report and, where no model was written, why."""
    out.unlink(missing_ok=True)
    start = time.perf_counter()
    try:
        run = subprocess.run([thaw, "lift", *map(str, traces), "-o", str(out), "--format", "json"], capture_output=True, text=True, timeout=300, check=False)
    except subprocess.TimeoutExpired:
        return 300, None, "more than 300 s"
    report = json.loads(run.stdout) if run.stdout.startswith("{") else None
    return time.perf_counter() - start, report, None if run.returncode == 0 and out.exists() else reason_of(report, run.stderr)
