"""Runs the command as users do: a process, its exit code, what it prints."""

import json
import os
import subprocess

BIN = os.environ["THAW_BIN"]


def thaw(*arguments, code=0, **options):
    """Runs `thaw ARGUMENTS...` and returns the finished process; its exit code must be `code`."""
    run = subprocess.run([BIN, *map(str, arguments)], capture_output=True, text=True, timeout=120, **options)
    assert run.returncode == code, f"exit {run.returncode}, not {code}\n{run.stdout}\n{run.stderr}"
    return run


def thaw_json(*arguments, code=0, **options):
    """The same with --format json, as what it printed."""
    return json.loads(thaw(*arguments, "--format", "json", code=code, **options).stdout)


def error_of(*arguments, **options):
    """The one line that a wrong call or input gives on stderr, with exit code 2."""
    run = thaw(*arguments, code=2, **options)
    lines = run.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("thaw: "), run.stderr
    return lines[0]
