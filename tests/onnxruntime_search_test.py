"""How ONNX Runtime is found: named as a file, a folder or a wheel's folder; beside the package onnx_thaw; by a Python's word; set by a program.

A wheel's folder layout is made of the runtime at hand.
"""
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import onnx
import onnx.parser
import pytest

from conftest import BUILD, SOURCE, Thaw

VERSION = "1.31.1"
WHEEL_NAME = f"libonnxruntime.so.{VERSION}"
CACHE = dict(re.findall(r"^ONNXRUNTIME(_GENAI)?_LIBRARY:\w+=(/.+)$", (BUILD / "CMakeCache.txt").read_text(), re.M))
LIBRARY, GENAI = Path(CACHE[""]).resolve(), CACHE.get("_GENAI")
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")

# Says that it is a version, and has no API.
FAKE = """
static const void *get_api(unsigned version) { return 0; }
static const char *get_version(void) { return VERSION; }
struct Base { const void *(*get_api)(unsigned); const char *(*get_version)(void); };
const struct Base *OrtGetApiBase(void) { static const struct Base base = {get_api, get_version}; return &base; }
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.onnx"
    text = '<ir_version: 8, opset_import: ["" : 18]> g (float[n, 3] x) => (float[n, 3] y) { y = Relu(x) }'
    onnx.save(onnx.parser.parse_model(text), path)
    return path


def put(source, target):
    """A hard link, or a copy where there cannot be one."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
    return target


def program(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy2(Path(source).resolve(), target))


def fake_library(path, version):
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", path, f'-DVERSION="{version}"'], input=FAKE, text=True, check=True)
    return path


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def clean(**more):
    names = ("THAW_ONNXRUNTIME", "THAW_ONNXRUNTIME_GENAI", "THAW_WORKER", "PYTHONPATH", "LD_LIBRARY_PATH")
    return {key: value for key, value in os.environ.items() if key not in names} | more


class Env:
    """A Python environment with the package onnx_thaw in it. Its `bin` has no Python."""

    def __init__(self, folder, thaw):
        self.folder, self.site = folder, folder / "lib" / "python3.11" / "site-packages"
        self.thaw = Thaw(program(thaw.path, self.site / "onnx_thaw" / "bin" / "thaw"))

    def add_runtime(self, site=None):
        package = (site or self.site) / "onnxruntime"
        put(LIBRARY, package / "capi" / WHEEL_NAME)
        (package / "__init__.py").write_text(f"open({str(self.folder / 'imported')!r}, 'w')")

    def add_python(self, name="python3"):
        """A Python that notes what it is started with; what it knows is in PYTHONPATH."""
        log = self.folder / "asked"
        script(self.folder / "bin" / name, f'echo "$0 stdin=$(readlink /proc/$$/fd/0)" >> "{log}"\nexec "{sys.executable}" -S "$@"')
        return log

    def runs(self, model, **variables):
        return self.thaw("run", model, "--sizes", "n=2", code=0, env=clean(**variables))

    def error(self, model, *options, **variables):
        return self.thaw.error("run", model, "--sizes", "n=2", *options, env=clean(**variables))


@pytest.fixture
def env(thaw, tmp_path):
    return Env(tmp_path / "env", thaw)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return put(LIBRARY, tmp_path_factory.mktemp("wheel") / "onnxruntime" / "capi" / WHEEL_NAME).parent.parent


def test_a_file_or_a_folder_is_named(env, model, wheel, tmp_path):
    links = tmp_path / "links"
    links.mkdir()
    (links / "libonnxruntime.so").symlink_to(wheel / "capi" / WHEEL_NAME)
    for named in (wheel, wheel / "capi", wheel / "capi" / WHEEL_NAME, links, links / "libonnxruntime.so", os.path.relpath(wheel)):
        env.runs(model, THAW_ONNXRUNTIME=str(named))


def test_none_is_an_error_that_says_what_to_do(env, model):
    line = env.error(model)
    for words in (str(env.site / "onnxruntime"), "ONNX Runtime cannot be loaded: not there", "expected ONNX Runtime 1.21 or later",
                  "pip install onnxruntime", "THAW_ONNXRUNTIME"):
        assert words in line, line
    assert "python" not in line.replace(str(env.folder), "").replace("python3.11", ""), line


def test_what_runs_nothing_needs_none(env, model, tmp_path):
    log = env.add_python()
    for call in (["inspect", model], ["check", model], ["fix", model, "-o", tmp_path / "out.onnx", "--no-check"], ["diff", model, model]):
        done = env.thaw(*call, env=clean())
        assert "ONNX Runtime cannot be" not in done.stdout + done.stderr
    assert not log.exists()


@needs_compiler
def test_one_that_is_too_old_is_named_with_its_version(env, model, tmp_path):
    for version in ("1.20.1", "1.9.0", "0.5.0"):
        path = fake_library(tmp_path / version / f"libonnxruntime.so.{version}", version)
        line = env.error(model, THAW_ONNXRUNTIME=str(path.parent))
        for words in (f"{path}: ", f"version {version} is too old", "1.21 or later", "pip install onnxruntime --upgrade"):
            assert words in line, line


@needs_compiler
def test_of_several_the_newest_comes_first(env, model, tmp_path):
    """By number and not by letter, whatever order the folder has; one that does not load is no reason to stop."""
    for version in ("1.9.0", "1.20.1", "1.10.2", "1.20.0"):
        fake_library(tmp_path / "many" / f"libonnxruntime.so.{version}", version)
    (tmp_path / "many" / "libonnxruntime.so.1").symlink_to("libonnxruntime.so.1.9.0")
    for other in ("libonnxruntime_providers_shared.so", "libonnxruntime.so.1.99.0.txt", "libonnxruntime.sox"):
        (tmp_path / "many" / other).write_text("no library")
    line = env.error(model, THAW_ONNXRUNTIME=str(tmp_path / "many"))
    assert re.findall(r"version ([\d.]+) (?:is|has)", line) == ["1.20.1", "1.20.0", "1.10.2", "1.9.0"], line
    put(LIBRARY, tmp_path / "many" / WHEEL_NAME)
    env.runs(model, THAW_ONNXRUNTIME=str(tmp_path / "many"))
    fake_library(tmp_path / "many" / "libonnxruntime.so.1.40.0", "1.40.0")
    env.runs(model, THAW_ONNXRUNTIME=str(tmp_path / "many"))


@needs_compiler
def test_what_is_no_runtime_is_an_error(env, model, tmp_path):
    (tmp_path / "text.so").write_text("no library")
    (tmp_path / "empty.so").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", tmp_path / "other.so"], input="int f(void) { return 1; }", text=True, check=True)
    for name, reason in (("text.so", "no library, or cut off"), ("empty.so", "no library, or cut off"), ("other.so", "not ONNX Runtime's library"),
                         ("folder", "not there"), ("nothing", "not there")):
        line = env.error(model, THAW_ONNXRUNTIME=str(tmp_path / name))
        assert reason in line and str(tmp_path / name) in line and "pip install onnxruntime" in line, line


def test_one_that_is_cut_off_is_an_error_wherever(env, model, tmp_path):
    """The system's loader maps what is not there, and the process ends."""
    path = tmp_path / WHEEL_NAME
    shutil.copy(LIBRARY, path)
    size = path.stat().st_size
    for share in (0.9, 0.6, 0.3, 0.01, 0.0001):
        os.truncate(path, int(size * share))
        line = env.error(model, THAW_ONNXRUNTIME=str(path))
        assert "cut off" in line, (share, line)
    os.truncate(path, 40)
    assert "cut off" in env.error(model, THAW_ONNXRUNTIME=str(path))


def test_it_lies_in_the_package_beside(env, model, tmp_path):
    log = env.add_python()
    env.add_runtime()
    env.runs(model)
    assert not log.exists()
    # What is named is all that counts.
    assert "not there" in env.error(model, THAW_ONNXRUNTIME=str(tmp_path / "nothing"))


@needs_compiler
def test_what_lies_beside_the_program_comes_before(env, model):
    env.add_runtime()
    env.runs(model)
    (env.site / "onnx_thaw" / "lib").mkdir()
    fake_library(env.site / "onnx_thaw" / "lib" / "libonnxruntime.so.1", "1.50.0")
    shutil.rmtree(env.site / "onnxruntime")
    line = env.error(model)
    assert "onnx_thaw/lib/libonnxruntime.so.1: ONNX Runtime cannot be loaded: version 1.50.0 has no API" in line, line
    fake_library(env.site / "onnxruntime" / "capi" / "libonnxruntime.so.1.60.0", "1.60.0")
    assert re.findall(r"version ([\d.]+) (?:is|has)", env.error(model)) == ["1.50.0", "1.60.0"]


@pytest.mark.parametrize("name", ["python3", "python3.11"])
def test_a_python_of_the_environment_is_asked_once(env, model, tmp_path, name):
    """It has the package elsewhere, and does not import it."""
    other = tmp_path / "other"
    env.add_runtime(other)
    log = env.add_python(name)
    env.runs(model, PYTHONPATH=str(other))
    env.thaw("verify", model, "--against", model, code=0, env=clean(PYTHONPATH=str(other)), input="not for Python")
    lines = log.read_text().splitlines()
    assert len(lines) == 2 and all("stdin=/dev/null" in line for line in lines), lines
    assert not (env.folder / "imported").exists()


def test_it_is_found_through_a_launcher(env, model, tmp_path):
    """A script or a link in the environment's bin, from any folder."""
    env.add_runtime()
    launchers = [script(env.folder / "bin" / "thaw", f'exec "{env.thaw.path}" "$@"'), tmp_path / "link"]
    launchers[1].symlink_to(env.thaw.path)
    for launcher in launchers:
        Thaw(launcher)("run", model, "--sizes", "n=2", code=0, env=clean(), cwd=tmp_path)


def test_a_python_without_the_package_is_named(env, model):
    log = env.add_python()
    line = env.error(model)
    assert f"{env.folder / 'bin' / 'python3'} has no package onnxruntime" in line and "pip install onnxruntime" in line, line
    assert len(log.read_text().splitlines()) == 1
    done = env.thaw("optimize", model, "-o", env.folder / "out.onnx", "--no-check", code=0, env=clean())
    assert "has no package onnxruntime" in done.stdout + done.stderr
    assert len(log.read_text().splitlines()) == 2


def test_the_folder_at_work_is_no_package(env, model, tmp_path):
    env.add_python()
    env.add_runtime(tmp_path / "here")
    line = env.thaw.error("run", model, "--sizes", "n=2", cwd=tmp_path / "here", env=clean())
    assert "has no package onnxruntime" in line, line


@pytest.mark.parametrize(("text", "words"), [
    ("exit 3", "gives no answer"), ("echo onnxruntime; echo x >&3", "gives no answer"), ("kill -SEGV $$", "gives no answer"),
    ("head -c 300000 /dev/zero | tr '\\0' x >&3", "gives no answer"),
], ids=["fails", "says something else", "crashes", "says too much"])
def test_a_python_that_does_not_answer_is_an_error(env, model, text, words):
    script(env.folder / "bin" / "python3", text)
    assert words in env.error(model)


def test_a_python_that_hangs_is_ended(env, model):
    script(env.folder / "bin" / "python3", 'exec sleep 300')
    started = time.monotonic()
    line = env.error(model, "--timeout", "2")
    assert time.monotonic() - started < 9 and "gives no answer in time" in line, line


@needs_compiler
def test_an_old_package_of_the_environment_is_named(env, model):
    fake_library(env.site / "onnxruntime" / "capi" / "libonnxruntime.so.1.19.2", "1.19.2")
    (env.site / "onnxruntime" / "__init__.py").touch()
    env.add_python()
    line = env.error(model, PYTHONPATH=str(env.site))
    assert "1.19.2 is too old" in line and "onnxruntime --upgrade" in line, line


def test_the_tokenizer_lies_beside_too(env, tmp_path):
    """In the package onnxruntime_genai. The error names ONNX Runtime where that is what is missing."""
    if not GENAI:
        pytest.skip("there is no onnxruntime-genai")
    call = ["inputs", "--for", SOURCE / "tests" / "fixtures" / "inputs" / "tokenizer", "--text", "words", "-o", tmp_path / "out.npz"]
    line = env.thaw.error(*call, env=clean())
    assert str(env.site / "onnxruntime") in line and "pip install onnxruntime," in line, line
    env.add_runtime(tmp_path / "other")
    log = env.add_python()
    line = env.thaw.error(*call, env=clean(PYTHONPATH=str(tmp_path / "other")))
    assert str(env.site / "onnxruntime_genai") in line and "pip install onnxruntime-genai" in line, line
    put(GENAI, env.site / "onnxruntime_genai" / "libonnxruntime-genai.so")
    env.thaw(*call, code=0, env=clean(PYTHONPATH=str(tmp_path / "other")))
    assert len(log.read_text().splitlines()) == 2
    env.add_runtime()
    env.thaw(*call, code=0, env=clean())


# What a module of Python does: it is linked with libthaw.so.
MODULE = r"""
#include <string>
#include <thaw/error.h>
#include <thaw/limits.h>
#include <thaw/run.h>

namespace {
template <typename Work>
const char* told(const Work& work) {
  static std::string text;
  try {
    work();
    text = "done";
  } catch (const thaw::Error& error) {
    text = std::string(thaw::name_of(error.code())) + ": " + error.what();
  }
  return text.c_str();
}
}  // namespace

extern "C" const char* run(const char* model, int in_process, int sandbox) {
  return told([&] {
    thaw::set_limits({.sandbox = sandbox != 0});
    thaw::Session session(model, {.in_process = in_process != 0});
    session.run({{"x", thaw::Array::zeros(thaw::DataType::kFloat, {2, 3})}});
  });
}
extern "C" const char* set(const char* path) { return told([&] { thaw::set_onnxruntime(path); }); }
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    """The module's file, below a site-packages that has nothing else. Each test has a Python of its own that loads it."""
    if shutil.which("g++") is None:
        pytest.skip("no C++ compiler")
    package = tmp_path_factory.mktemp("module") / "lib" / "python3.11" / "site-packages" / "onnx_thaw"
    library = program(BUILD / "libthaw.so", package / "lib" / "libthaw.so.0.2")
    program(BUILD / "thaw-worker", package / "lib" / "thaw" / "thaw-worker")
    (package / "module.cc").write_text(MODULE)
    subprocess.run(["g++", "-std=c++20", "-shared", "-fPIC", "-o", package / "module.so", package / "module.cc", f"-I{SOURCE / 'include'}",
                    library, "-Wl,-rpath,$ORIGIN/lib"], check=True)
    return package / "module.so"


def in_python(module, model, body, **variables):
    """What `body` appends to `said`, in another Python, which has no package onnxruntime itself."""
    head = f"""
import ctypes, os, shutil
module = ctypes.CDLL({str(module)!r})
module.run.restype = module.set.restype = ctypes.c_char_p
run = lambda here=0, sandbox=1: said.append(module.run({str(model)!r}.encode(), here, sandbox).decode())
set = lambda path: said.append(module.set(str(path).encode()).decode())
said = []
"""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", head + body + "\nprint('\\0'.join(said))"], capture_output=True, text=True,
                          env=clean(**variables), timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.rstrip("\n").split("\0")


@pytest.fixture
def beside(module):
    """Makes a package onnxruntime beside the module's, for the time of a test."""
    package = module.parent.parent / "onnxruntime"

    def make():
        put(LIBRARY, package / "capi" / WHEEL_NAME)
    yield make
    shutil.rmtree(package, ignore_errors=True)


def test_a_module_of_python_finds_the_worker_and_the_package_beside(module, model, beside):
    beside()
    assert in_python(module, model, "run(); run(here=1); run(sandbox=0)") == ["done"] * 3


def test_what_is_installed_later_is_found_later(module, model, beside, wheel):
    body = f"run(); run(here=1); shutil.copytree({str(wheel)!r}, {str(module.parent.parent / 'onnxruntime')!r}); run(); run(here=1)"
    said = in_python(module, model, body)
    assert all(line.startswith("runtime_missing: ") and "pip install onnxruntime" in line for line in said[:2]), said
    assert said[2:] == ["done"] * 2


def test_a_process_asks_a_python_once(module, model, tmp_path):
    python = script(module.parents[4] / "bin" / "python3", f'echo asked >> "{tmp_path / "asked"}"')
    said = in_python(module, model, "run(); run(); run(here=1); run(sandbox=0)")
    python.unlink()
    assert len(said) == 4 and all("gives no answer" in line for line in said), said
    assert (tmp_path / "asked").read_text() == "asked\n"


def test_a_program_sets_it(module, model, wheel, tmp_path):
    nothing = tmp_path / "nothing"
    for path in (wheel, wheel / "capi", wheel / "capi" / WHEEL_NAME):
        assert in_python(module, model, f"set({str(path)!r}); run(); run(sandbox=0); run(here=1)") == ["done"] * 4
    said = in_python(module, model, f"set({str(nothing)!r}); run(); set({str(wheel)!r}); run(); set(''); run()")
    assert said[0].startswith("cannot_read: ") and str(nothing) in said[0], said
    assert said[1].startswith("runtime_missing: ") and said[2:4] == ["done"] * 2 and said[4] == "done", said
    assert said[5].startswith("runtime_missing: "), said


@needs_compiler
def test_sessions_that_are_made_later_have_what_was_set_then(module, model, wheel, tmp_path):
    old = fake_library(tmp_path / "libonnxruntime.so.1.20.0", "1.20.0")
    said = in_python(module, model, f"set({str(wheel)!r}); run(); set({str(old)!r}); run(); set({str(wheel)!r}); run()")
    assert said[0:3] == ["done"] * 3 and "1.20.0 is too old" in said[3] and said[4:] == ["done"] * 2, said
    # A process that has loaded one cannot load another.
    said = in_python(module, model, f"set({str(wheel)!r}); run(here=1); set({str(wheel / 'capi')!r}); set({str(old)!r}); run(here=1); run()")
    assert said[:3] == ["done"] * 3 and said[3].startswith("invalid_argument: ") and "loaded already" in said[3], said
    assert said[4:] == ["done"] * 2


@needs_compiler
def test_the_variable_comes_before_what_is_set(module, model, wheel, tmp_path):
    old = fake_library(tmp_path / "libonnxruntime.so.1.20.0", "1.20.0")
    said = in_python(module, model, f"set({str(wheel)!r}); run(); run(here=1)", THAW_ONNXRUNTIME=str(old))
    assert said[0] == "done" and all("1.20.0 is too old" in line for line in said[1:]), said
    said = in_python(module, model, f"set({str(old)!r}); run(); run(here=1)", THAW_ONNXRUNTIME=str(wheel))
    assert said == ["done"] * 3


def test_a_worker_that_lies_elsewhere_gets_what_lies_near_the_library(module, model, beside, tmp_path):
    worker = program(BUILD / "thaw-worker", tmp_path / "far" / "thaw-worker")
    beside()
    assert in_python(module, model, "run()", THAW_WORKER=str(worker)) == ["done"]
