"""`thaw` says which version it is."""

import os
import re
import subprocess


def test_version_is_that_of_the_project():
    source = os.environ["THAW_SOURCE_DIR"]
    with open(os.path.join(source, "CMakeLists.txt"), encoding="utf-8") as file:
        version = re.search(r"project\(thaw VERSION ([0-9.]+)", file.read()).group(1)
    run = subprocess.run([os.environ["THAW_BIN"], "--version"], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["thaw", version]
