"""The roundtrip tool: loads models and saves them, many in one process."""
import re
import subprocess

from conftest import BUILD

TOOL = BUILD / "tests" / "roundtrip"


def roundtrip(pairs, policy="keep", code=0):
    """Loads and saves each (source, target); returns (stdout, stderr)."""
    command = [str(TOOL), policy, *(str(path) for pair in pairs for path in pair)]
    run = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=600)
    assert run.returncode == code, run.stderr
    return run.stdout, run.stderr


def peak_kib(output):
    return int(re.search(r"peak (\d+) KiB", output).group(1))
