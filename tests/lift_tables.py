"""Traces of little more than a table, lifted and run at sizes that none of them has: what the tests of the generators share."""
import json

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from conftest import session

GRIDS = [(16, 24), (22, 30), (28, 20)]
WINDOW_GRIDS = [(18, 26), (22, 30), (24, 32)]
WINDOW_UNSEEN = [(30, 22), (2, 2), (8, 8), (46, 10), (6, 74)]
PRIMES = [(11, 23), (17, 31), (29, 19)]
MIXED = [(11, 23), (16, 31), (29, 20)]  # odd and even sides: what is rounded to even ones is told from what is not
PRIMES_UNSEEN = [(31, 17), (2, 2), (37, 5), (13, 43), (1, 7)]
FREQUENCIES = (10000.0 ** (-np.arange(6) / 6)).astype(np.float32)
LEARNED = np.random.default_rng(3).standard_normal((4000, 5)).astype(np.float32)


def blocks(h, w, m=2):
    """Row and column of each patch, in blocks of m x m."""
    rows, columns = np.meshgrid(np.arange(h), np.arange(w), indexing="ij")
    def turn(x):
        return x.reshape(h // m, m, w // m, m).transpose(0, 2, 1, 3).reshape(-1)
    return turn(rows), turn(columns)


def raster(h, w):
    return np.repeat(np.arange(h), w), np.tile(np.arange(w), h)


def windows(h, w, s, t=1):
    """The cells of t frames of h x w in the order of windows of s x s, and the cells that each window holds."""
    cells = np.arange(h * w).reshape(h, w)
    each = [cells[i:i + s, j:j + s].reshape(-1) for i in range(0, h, s) for j in range(0, w, s)]
    return (np.concatenate([np.concatenate(each) + frame * h * w for frame in range(t)]),
            np.array([len(window) for window in each] * t))


def patches_of(units, m=2):
    """Each unit as its m * m patches, which stand together."""
    return (units[:, None] * m * m + np.arange(m * m)).reshape(-1)


def far(n, m):
    """How far row i is after column j."""
    return np.arange(n)[:, None] - np.arange(m)


def loose(h, w, t, tables):
    """A model of t frames whose outputs are the tables as they are, beside x."""
    constants = [numpy_helper.from_array(np.ascontiguousarray(table), name) for name, table in tables.items()]
    nodes = [helper.make_node("Identity", [c.name], [f"{c.name}_out"]) for c in constants]
    nodes.append(helper.make_node("Neg", ["x"], ["x_out"]))
    outputs = [helper.make_tensor_value_info(f"{c.name}_out", c.data_type, [None] * len(c.dims)) for c in constants]
    outputs.append(helper.make_tensor_value_info("x_out", TensorProto.FLOAT, None))
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["num_patches", 3])],
                              outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.fixture
def lift(thaw, save, tmp_path):
    """lift(models by (h, w) or (h, w, t)) -> (path, what the command printed)"""
    def run(models, *args, code=0):
        paths, values = [], {}
        for (h, w, *frames), model in models.items():
            t = frames[0] if frames else 1
            paths.append(save(model, f"trace_{t}x{h}x{w}"))
            values[paths[-1].name] = dict(grid_thw=[[t, h, w]], x=dict(shape=[t * h * w, 3]))
        (tmp_path / "values.json").write_text(json.dumps(values))
        out = tmp_path / "lifted.onnx"
        result = thaw("lift", *paths, "-o", out, "--trace-values", tmp_path / "values.json", "--add-input", "grid_thw:int64[1,3]",
                      *args, code=code)
        return out, result.stdout + result.stderr
    return run


def check_loose(lift, make, sizes=None, unseen=None, tolerance=2e-6):
    """make(h, w, t) -> tables by name: lifted from some sizes, they are right at others, type and shape and all."""
    sizes, unseen = sizes or WINDOW_GRIDS, unseen or WINDOW_UNSEEN
    sizes, unseen = ([(*size, 1)[:3] for size in each] for each in (sizes, unseen))
    out, printed = lift({size: loose(*size, make(*size)) for size in sizes})
    run = session(out)
    for h, w, t in [*sizes, *unseen]:
        feed = dict(x=np.ones((t * h * w, 3), np.float32), grid_thw=np.array([[t, h, w]]))
        names = [o.name for o in run.get_outputs()]
        got = dict(zip(names, run.run(None, {i.name: feed[i.name] for i in run.get_inputs()})))
        for name, wanted in make(h, w, t).items():
            one = got[f"{name}_out"]
            assert one.shape == wanted.shape and one.dtype == wanted.dtype, (name, h, w, one.shape)
            if wanted.dtype.kind == "f":
                assert np.all((one == wanted) | (np.abs(one - wanted) <= tolerance * np.maximum(1, np.abs(wanted)))), (name, h, w)
            else:
                assert np.array_equal(one, wanted), (name, h, w)
    return printed


def check_primes(lift, make, **options):
    return check_loose(lift, make, **dict(dict(sizes=PRIMES, unseen=PRIMES_UNSEEN), **options))


def fails_beyond(lift, make, sizes, fits, beyond):
    """Right at the sizes that fit into what the traces hold; an error of ONNX Runtime at others."""
    out, printed = lift({size: loose(*size, 1, make(*size, 1)) for size in sizes})
    run = session(out)
    for h, w in [*sizes, *fits]:
        feed = dict(x=np.ones((h * w, 3), np.float32), grid_thw=np.array([[1, h, w]]))
        got = dict(zip([o.name for o in run.get_outputs()], run.run(None, {i.name: feed[i.name] for i in run.get_inputs()})))
        for name, wanted in make(h, w, 1).items():
            assert np.array_equal(got[f"{name}_out"], wanted), (name, h, w)
    for h, w in beyond:
        feed = dict(x=np.ones((h * w, 3), np.float32), grid_thw=np.array([[1, h, w]]))
        with pytest.raises(Exception, match="guard_Reshape"):
            run.run(None, {i.name: feed[i.name] for i in run.get_inputs()})
    return printed
