"""What the build lacks is named, all at once and by Debian's packages; the archive is the one that apt has."""
import os
import re
import subprocess
import sys

import pytest

from conftest import SOURCE

sys.path.insert(0, str(SOURCE / "tools"))
from debian_archive import archives

CMAKE = SOURCE / ".deps" / "venv" / "bin" / "cmake"
NINJA = SOURCE / ".deps" / "venv" / "bin" / "ninja"
PACKAGES = ("ZLIB", "Protobuf", "fmt", "nlohmann_json", "CLI11", "TBB", "hwy", "utf8proc", "JPEG", "PNG")
# Of tools/setup's: compilers and what they call, and what the tests alone are built with.
NOT_OF_THE_LIBRARY = {"g++", "ccache", "mold", "protobuf-compiler", "libgtest-dev", "libgmock-dev", "librapidcheck-dev", "libbenchmark-dev"}


def configure(folder, *defines, **env):
    """What CMake says, where it refuses; as words, since it breaks lines."""
    done = subprocess.run([CMAKE, "-S", SOURCE, "-B", folder, "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={NINJA}", *defines], capture_output=True,
                          text=True, timeout=300, check=False, env={**os.environ, **env})
    assert done.returncode != 0
    return " ".join(done.stderr.split())


def test_all_that_is_missing_is_named_at_once(tmp_path):
    """As tools/setup installs it."""
    headers = "-DCMAKE_IGNORE_PATH=/usr/include;/usr/share/javascript/chart.js;/usr/share/nodejs/chart.js/dist"
    said = configure(tmp_path, headers, *(f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in PACKAGES))
    installed = re.search(r'^readonly APT_BUILD="([^"]*)"', (SOURCE / "tools" / "setup").read_text(), re.M)[1].split()
    assert set(re.search(r"apt-get install ([^)]*)\)", said)[1].split()) == set(installed) - NOT_OF_THE_LIBRARY


def test_one_that_is_missing_is_named_alone(tmp_path):
    said = configure(tmp_path, "-DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON")
    assert "(apt-get install libfmt-dev)" in said


def test_a_compiler_that_is_missing_is_named(tmp_path):
    assert "apt-get install g++" in configure(tmp_path, CXX="/nowhere/c++")


def test_what_debian_has_not_is_fetched_by_the_set_up(tmp_path):
    said = configure(tmp_path, f"-DTHAW_DEPS_DIR={tmp_path / 'none'}", "-DCMAKE_DISABLE_FIND_PACKAGE_ONNX=ON")
    assert "tools/setup build" in said and "ONNX_ROOT" in said


ONE_LINE = "deb [signed-by=/k.gpg] http://one/debian bookworm main\ndeb http://one/security bookworm-security main\n"
STANZAS = "Types: deb\nURIs: http://two/debian\nSuites: bookworm bookworm-updates\n\nTypes: deb\nURIs: http://two/security\nSuites: bookworm-security\n"


@pytest.mark.parametrize("files, found", [
    ({"sources.list": ONE_LINE}, ["http://one/debian"]),
    ({"sources.list.d/debian.sources": STANZAS}, ["http://two/debian"]),
    ({"sources.list": "# deb http://no/debian bookworm main\n", "sources.list.d/a.list": ONE_LINE, "sources.list.d/b.sources": STANZAS},
     ["http://one/debian", "http://two/debian"]),
    ({"sources.list": "deb http://no/debian trixie main\n", "sources.list.d/source.sources": STANZAS.replace("Types: deb", "Types: deb-src")}, []),
])
def test_the_archive_is_that_of_the_release(tmp_path, files, found):
    (tmp_path / "sources.list.d").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert archives("bookworm", tmp_path) == found
