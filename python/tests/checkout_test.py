"""`pip install .` in a checkout says which Debian packages the machine lacks."""
import importlib.metadata
import subprocess
import sys
from importlib.util import find_spec

import pytest

from conftest import SOURCE


@pytest.mark.skipif(not find_spec("pip"), reason="pip is not installed")
def test_pip_says_which_debian_packages_are_missing(tmp_path):
    settings = [f"-Cbuild-dir={tmp_path / 'build'}", *(f"-Ccmake.define.CMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in ("fmt", "hwy"))]
    done = subprocess.run([sys.executable, "-m", "pip", "wheel", SOURCE, "--no-build-isolation", "--no-deps", "--no-index", "-w", tmp_path, *settings],
                          capture_output=True, text=True, timeout=600, check=False)
    said = " ".join((done.stdout + done.stderr).split())
    assert done.returncode != 0 and "apt-get install libfmt-dev libhwy-dev" in said
    assert not list(tmp_path.glob("*.whl"))


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
