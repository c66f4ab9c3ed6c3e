"""What `cmake --install` leaves is found by another CMake project with find_package(thaw), and works there."""

import os
import pathlib
import re
import subprocess
import sys

import onnx
import pytest

CMAKE = pathlib.Path(sys.executable).with_name("cmake")
NINJA = pathlib.Path(sys.executable).with_name("ninja")

PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(thaw 0.2 REQUIRED)
add_executable(consumer main.cc)
target_link_libraries(consumer PRIVATE thaw::thaw)
"""

# Prints the dims of a model's first output, so that it needs the reader, the engine, the rules and what they link.
MAIN = """
#include <thaw/thaw.h>

#include <iostream>

int main(int argc, char** argv) {
  try {
    if (argc != 2) {
      throw thaw::Error(thaw::ErrorCode::kInvalidArgument, {.what = "no model", .next = "give one"});
    }
    const thaw::Inspection seen = thaw::inspect(thaw::Model::load(argv[1]));
    for (const std::string& dim : seen.outputs.front().dims.value()) std::cout << dim << "\\n";
  } catch (const thaw::Error& error) {
    std::cout << thaw::kVersion << " " << error.what() << "\\n";
    return 2;
  }
}
"""


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    path = tmp_path_factory.mktemp("installed")
    subprocess.run([CMAKE, "--install", os.environ["THAW_BUILD_DIR"], "--prefix", path], check=True, capture_output=True)
    return path


def save_model(path):
    """Stacks the input upon itself, then three of it side by side."""
    tall = onnx.helper.make_node("Concat", ["x", "x"], ["tall"], axis=0)
    wide = onnx.helper.make_node("Concat", ["tall"] * 3, ["y"], axis=1)
    info = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph([tall, wide], "stack", [info("x", onnx.TensorProto.FLOAT, ["rows", 7])],
                                   [info("y", onnx.TensorProto.FLOAT, None)])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=10), path)
    return path


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def headers(prefix):
    return sorted(path.relative_to(prefix / "include") for path in (prefix / "include").rglob("*") if path.is_file())


def test_what_is_installed_is_the_api_and_no_more(prefix):
    names = [header.as_posix() for header in headers(prefix)]
    source = pathlib.Path(os.environ["THAW_SOURCE_DIR"]) / "include"
    assert names == sorted([*(p.relative_to(source).as_posix() for p in source.rglob("*.h")), "thaw/version.h"])
    assert len(names) <= 32
    for header in headers(prefix):
        included = re.findall(r'#include [<"]([^>"]+)', (prefix / "include" / header).read_text(encoding="utf-8"))
        assert all(name.startswith("thaw/") or re.fullmatch("[a-z_]+", name) for name in included), (header, included)


def test_every_header_stands_alone(prefix, tmp_path):
    for header in headers(prefix):
        unit = tmp_path / "unit.cc"
        unit.write_text(f'#include "{header.as_posix()}"\n#include "{header.as_posix()}"\n', encoding="utf-8")
        run("g++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I", prefix / "include", unit)


def test_the_library_shows_its_own_names_only(prefix):
    library = next(prefix.glob("lib*/**/libthaw.so"))
    symbols = [line.split(maxsplit=2)[1:] for line in run("nm", "-DC", "--defined-only", library).splitlines()]
    own = [name for _, name in symbols]
    assert any(name.startswith("thaw::inspect(") for name in own)
    foreign = [name for name in own if not re.match(r"(typeinfo (name )?for |vtable for )?thaw::", name)]
    assert foreign == []
    rooms = [name for name in own if re.match(r"(typeinfo (name )?for |vtable for )?thaw::[a-z_]+::", name)]
    assert rooms == []
    assert not [name for kind, name in symbols if kind == "u"]  # the loader would share them with other libraries


def test_another_project_finds_and_uses_the_library(prefix, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(PROJECT, encoding="utf-8")
    (tmp_path / "main.cc").write_text(MAIN, encoding="utf-8")
    run(CMAKE, "-S", tmp_path, "-B", tmp_path / "build", "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={NINJA}",
        f"-DCMAKE_PREFIX_PATH={prefix}")
    run(CMAKE, "--build", tmp_path / "build")
    assert run(tmp_path / "build/consumer", save_model(tmp_path / "model.onnx")).split() == ["2*rows", "21"]
    without_model = subprocess.run([tmp_path / "build/consumer"], capture_output=True, text=True, check=False)
    version = run(os.environ["THAW_BIN"], "--version").split()[1]
    assert (without_model.returncode, without_model.stdout) == (2, f"{version} no model; give one\n")


def test_the_command_works_where_it_was_installed(prefix):
    assert run(prefix / "bin/thaw", "--version") == run(os.environ["THAW_BIN"], "--version")
    for kind, place in (("man", "man/man1/thaw.1"), ("bash", "bash-completion/completions/thaw"), ("zsh", "zsh/site-functions/_thaw"),
                        ("fish", "fish/vendor_completions.d/thaw.fish")):
        assert (prefix / "share" / place).read_text(encoding="utf-8") == run(prefix / "bin/thaw", "completion", kind)


def test_nothing_installed_names_the_checkout(prefix):
    source = os.environ["THAW_SOURCE_DIR"]
    for path in [*prefix.rglob("*.cmake"), *(prefix / "include").rglob("*.h")]:
        text = path.read_text(encoding="utf-8")
        assert source not in text and "/.deps/" not in text, path


def test_onnx_runtime_lies_beside_the_library(prefix):
    library = next(prefix.glob("lib*/**/libonnxruntime.so.1"))
    assert library.is_file() and library.stat().st_size > 1_000_000
