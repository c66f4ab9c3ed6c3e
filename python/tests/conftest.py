"""What the tests of the package share. They run in an environment that has the wheel, and beside it the packages of the project's tests."""
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper

import onnx_thaw

RNG = np.random.default_rng(11)
SOURCE = Path(__file__).resolve().parents[2]


def model(text, **weights):
    """A model in ONNX's text form, with weights by name."""
    made = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 18]>\n{text}')
    made.graph.initializer.extend(numpy_helper.from_array(np.asarray(w, np.float32), name) for name, w in weights.items())
    return made


def numbers(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def mlp(width=32, layers=2):
    """x [batch, seq, width] through products and Relus."""
    steps, last, weights = [], "x", {}
    for i in range(layers):
        weights[f"w{i}"] = numbers(width, width) / np.sqrt(width)
        steps.append(f"a{i} = MatMul({last}, w{i}) r{i} = Relu(a{i})")
        last = f"r{i}"
    return model(f"g (float[batch, seq, {width}] x) => (float[batch, seq, {width}] y) {{ {' '.join(steps)} y = Add({last}, x) }}",
                 **weights)


def frozen():
    """A Reshape whose sizes are those of one image."""
    made = model("""g (float[1, 3, h, w] x) => (float[1, n, 3] y) {
      t = Transpose<perm = [0, 2, 3, 1]>(x) s = Constant<value_ints = [1, 96, 3]>() y = Reshape(t, s) }""")
    del made.graph.output[0].type.tensor_type.shape.dim[:]
    for value in (1, 96, 3):
        made.graph.output[0].type.tensor_type.shape.dim.add().dim_value = value
    made.graph.input[0].type.tensor_type.shape.dim[2].dim_value = 8
    made.graph.input[0].type.tensor_type.shape.dim[3].dim_value = 12
    return made


@pytest.fixture(autouse=True)
def _nothing_is_written_where_it_was_not_asked_for(tmp_path_factory, monkeypatch):
    here = tmp_path_factory.mktemp("here")
    monkeypatch.chdir(here)
    yield
    assert os.listdir(here) == []


@pytest.fixture
def save(tmp_path):
    def write(made, name):
        path = tmp_path / f"{name}.onnx"
        onnx.save(made, path)
        return path
    return write


@pytest.fixture
def command():
    """Runs the command of the wheel; returns what it prints with --format json, without what differs by where it is called."""
    program = Path(sys.executable).with_name("thaw")

    def call(*args):
        done = subprocess.run([program, *map(str, args), "--format", "json"], capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode in (0, 1), done.stderr
        return json.loads(done.stdout)
    return call


def python(code, *args, timeout=120, **env):
    """Runs code in another interpreter of the environment."""
    return subprocess.run([sys.executable, "-c", code, *map(str, args)], capture_output=True, text=True, timeout=timeout, check=False,
                          env={**os.environ, **env})


assert "site-packages" in onnx_thaw.__file__, "the tests are of the wheel, not of the checkout"
