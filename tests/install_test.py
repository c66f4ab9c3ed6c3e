"""What `cmake --install` leaves is found by another CMake project with find_package(thaw), and works there."""

import os
import pathlib
import subprocess
import sys

import pytest

CMAKE = pathlib.Path(sys.executable).with_name("cmake")
NINJA = pathlib.Path(sys.executable).with_name("ninja")

PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(thaw 0.1 REQUIRED)
add_executable(consumer main.cc)
target_link_libraries(consumer PRIVATE thaw::thaw)
"""

# Every header that was installed, in one unit: each must find what it includes.
MAIN = """
%s
#include <iostream>

int main() {
  try {
    throw thaw::Error({.what = "too long", .where = "here"});
  } catch (const thaw::Error& error) {
    std::cout << thaw::kVersion << " " << error.what() << "\\n";
  }
}
"""


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    path = tmp_path_factory.mktemp("installed")
    subprocess.run([CMAKE, "--install", os.environ["THAW_BUILD_DIR"], "--prefix", path], check=True, capture_output=True)
    return path


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_another_project_finds_and_uses_the_library(prefix, tmp_path):
    headers = sorted(path.relative_to(prefix / "include") for path in (prefix / "include/thaw").rglob("*.h"))
    assert pathlib.Path("thaw/core/error.h") in headers
    (tmp_path / "CMakeLists.txt").write_text(PROJECT, encoding="utf-8")
    includes = "\n".join(f'#include "{header.as_posix()}"' for header in headers)
    (tmp_path / "main.cc").write_text(MAIN % includes, encoding="utf-8")
    run(CMAKE, "-S", tmp_path, "-B", tmp_path / "build", "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={NINJA}",
        f"-DCMAKE_PREFIX_PATH={prefix}")
    run(CMAKE, "--build", tmp_path / "build")
    version = run(os.environ["THAW_BIN"], "--version").split()[1]
    assert run(tmp_path / "build/consumer") == f"{version} here: too long\n"


def test_the_command_works_where_it_was_installed(prefix):
    assert run(prefix / "bin/thaw", "--version") == run(os.environ["THAW_BIN"], "--version")


def test_nothing_installed_names_the_checkout(prefix):
    source = os.environ["THAW_SOURCE_DIR"]
    for path in [*prefix.rglob("*.cmake"), *(prefix / "include").rglob("*.h")]:
        text = path.read_text(encoding="utf-8")
        assert source not in text and "/.deps/" not in text, path


def test_onnx_runtime_lies_beside_the_library(prefix):
    library = next(prefix.glob("lib*/**/libonnxruntime.so.1"))
    assert library.is_file() and library.stat().st_size > 1_000_000
