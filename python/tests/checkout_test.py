"""`pip install .` in a checkout says which Debian packages the machine lacks."""
import importlib.metadata
import re
import subprocess
import sys
from importlib.util import find_spec

import pytest

from conftest import SOURCE


@pytest.mark.skipif(not find_spec("pip"), reason="pip is not installed")
def test_pip_says_which_debian_packages_are_missing(tmp_path):
    settings = [f"--config-settings={each}" for each in (f"build-dir={tmp_path / 'build'}", "cmake.define.CMAKE_DISABLE_FIND_PACKAGE_fmt=ON",
                                                         "cmake.define.CMAKE_DISABLE_FIND_PACKAGE_hwy=ON")]
    done = subprocess.run([sys.executable, "-m", "pip", "wheel", SOURCE, "--no-build-isolation", "--no-deps", "--no-index", "-w", tmp_path, *settings],
                          capture_output=True, text=True, timeout=600, check=False)
    said = " ".join((done.stdout + done.stderr).split())
    assert done.returncode != 0 and "apt-get install libfmt-dev libhwy-dev" in said
    assert not list(tmp_path.glob("*.whl"))


def test_calls_of_pip_have_options_of_debian_s_pip():
    """-C is of pip 23.1, and Debian 12 has 23.0.1."""
    paths = [path for path in (SOURCE / "tools").iterdir() if path.is_file()]
    paths += [SOURCE / "README.md", SOURCE / "Makefile", *(SOURCE / "docs").rglob("*.md"), *(SOURCE / ".github").rglob("*.yml")]
    calls = [(path.name, line) for path in paths for line in path.read_text("utf-8").splitlines() if re.search(r"\bpip\b.*\b(wheel|install)\b", line)]
    assert len(calls) > 5 and not [call for call in calls if re.search(r"\s-C", call[1])]


def test_packages_are_those_that_debian_s_python_takes():
    specifiers = pytest.importorskip("packaging.specifiers")
    pinned = {line.split("==")[0].strip().lower().replace("_", "-") for path in (SOURCE / "tools").glob("requirements*.txt")
              for line in path.read_text("utf-8").splitlines() if "==" in line and not line.startswith("#")}
    looked_at, refused = 0, []
    for package in importlib.metadata.distributions():
        wanted = package.metadata["Requires-Python"]
        if (package.name or "").lower().replace("_", "-") in pinned and wanted:
            looked_at += 1
            if not specifiers.SpecifierSet(wanted).contains("3.11.2"):  # of Debian 12
                refused.append(f"{package.name} {package.version}: Python {wanted}")
    assert looked_at > 20 and refused == []
