"""Whole processes: wall time and peak memory of a command, and what machine it ran on.

The kernel counts the parent's memory at fork into a child's peak, so whoever imports this should stay small: no numpy,
no onnx. PARENT_MB says what that floor is.
"""
import os
import platform
import resource
import subprocess
import tempfile
import time
from dataclasses import dataclass

PARENT_MB = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@dataclass
class Run:
    seconds: float
    peak_mb: float
    code: int
    output: str   # the last lines of what it printed, for messages

    @property
    def ok(self):
        return self.code == 0


def run_once(command, timeout=900, env=None):
    with tempfile.TemporaryFile() as log:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env={**os.environ, **(env or {})})
        deadline, status, usage = start + timeout, None, None
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.perf_counter() > deadline:
                process.kill()
                _, status, usage = os.wait4(process.pid, 0)
                break
            time.sleep(0.0005)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        log.seek(0, os.SEEK_END)
        log.seek(max(0, log.tell() - 2000))
        return Run(seconds, usage.ru_maxrss / 1024, process.returncode, log.read().decode(errors="replace"))


def best_of(repeats, command, **kw):
    """The fastest of `repeats` runs, with the largest peak; the first that fails ends it."""
    runs = []
    for _ in range(repeats):
        runs.append(run_once(command, **kw))
        if not runs[-1].ok:
            return runs[-1]
    best = min(runs, key=lambda r: r.seconds)
    return Run(best.seconds, max(r.peak_mb for r in runs), 0, best.output)


def available_gb():
    with open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) / 2**20
    return 0.0


def machine():
    model = "unknown processor"
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    with open("/proc/meminfo", encoding="ascii") as file:
        total = int(file.readline().split()[1]) / 2**20
    return {"processor": model, "cores": len(os.sched_getaffinity(0)), "memory_gb": round(total, 1),
            "system": f"{platform.system()} {platform.release()}", "python": platform.python_version()}
