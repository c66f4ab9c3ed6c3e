"""What the end-to-end tests share: the command, models written to files, runs in ONNX Runtime, skips that say why."""
import importlib.util
import json
import os
import resource
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest

SOURCE = Path(os.environ.get("THAW_SOURCE_DIR", Path(__file__).resolve().parent.parent))
BUILD = Path(os.environ.get("THAW_BUILD_DIR", SOURCE / "build"))
SHARED = Path(os.environ.get("THAW_SHARED", SOURCE.parent / "shared"))


class Thaw:
    """The command. `thaw(...)` runs it; `thaw.json(...)` parses what it prints with --format json."""

    def __init__(self, path):
        self.path = Path(path)

    def __call__(self, *args, code=None, timeout=120, runtime=True, **kw):
        """`code`: the exit code that must come back, or a set of them. Without `runtime` no ONNX Runtime is found: for sweeps
        over --no-check that load each result themselves, where the command's own load is most of what they take."""
        command = [str(self.path), *map(str, args)]
        if not runtime:
            kw["env"] = {**os.environ, "THAW_ONNXRUNTIME": "none"}
        run = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=timeout, **kw)
        if code is not None:
            allowed = {code} if isinstance(code, int) else set(code)
            assert run.returncode in allowed, f"{' '.join(command)}: exit {run.returncode}\n{run.stdout}{run.stderr}"
        return run

    def json(self, *args, code=(0, 1), **kw):
        return json.loads(self(*args, "--format", "json", code=code, **kw).stdout)

    def error(self, *args, **kw):
        """The one line on stderr that a wrong call or input gives, with exit code 2."""
        lines = self(*args, code=2, **kw).stderr.splitlines()
        assert len(lines) == 1 and lines[0].startswith("thaw: "), lines
        return lines[0]

    def findings(self, model, *args):
        return self.json("check", model, *args)["findings"]

    def has(self, verb):
        return self(verb, "--help").returncode == 0


def limits(memory, seconds):
    """For `preexec_fn`: bytes of data, and seconds of the processor, as the machine may be busy."""
    def limit():
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return limit


@pytest.fixture(scope="session")
def thaw():
    return Thaw(os.environ.get("THAW_BIN", BUILD / "thaw"))


@pytest.fixture
def save(tmp_path):
    """save(model, name) -> path of the file."""
    def write(model, name="model"):
        path = tmp_path / f"{name}.onnx"
        onnx.save(model, path)
        return path
    return write


def validate(report, name):
    """Holds what a verb printed as JSON against docs/schemas/NAME.json."""
    import jsonschema
    schema = json.loads((SOURCE / "docs" / "schemas" / f"{name}.json").read_text("utf-8"))
    jsonschema.validate(report, schema, cls=jsonschema.Draft202012Validator)


def session(model):
    """An ONNX Runtime session, silent, of a model or a path."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1  # a pool of its own for each small model spends most of its time waiting
    source = str(model) if isinstance(model, (str, Path)) else model.SerializeToString()
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def run(model, feeds, names=None):
    return session(model).run(names, feeds)


def worst(a, b):
    """The largest difference of two lists of outputs; infinite where shapes differ."""
    return max(float(np.abs(x - y).max()) if x.shape == y.shape else np.inf for x, y in zip(a, b, strict=True))


def need_shared(*names):
    """The path ../shared/<names...>; skips, saying what is missing, where it is not there."""
    path = SHARED.joinpath(*names)
    if not path.exists():
        pytest.skip(f"{Path('..', 'shared', *names)} is not there; the test runs on the project's own models only")
    return path


def need_package(name):
    """The folder of an installed package whose files are the test's models."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        pytest.skip(f"the Python package {name} is not installed (tools/setup test installs it)")
    return Path(spec.origin).parent
