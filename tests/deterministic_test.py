"""The same call writes the same bytes: wherever the allocator puts what is allocated, however many threads compute, whatever the
clock and the language of the system.

Each call runs under an allocator whose addresses come in another random order each time (preloaded/scattered.cc), in the
process that runs models too.
"""
import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import onnx
import pytest

import int8_nets
import lift_recurrence_test
import sensitivity_nets
from batch_control_test import halved
from check_rules_test import CASES
from conftest import BUILD, SOURCE, session
from lift_loops_test import SIZES, WIDTH, each, trace
from models import exported, freeze, merge_grid, quantized, scrfd, swin, tangled, vit

FIXTURES = SOURCE / "tests" / "fixtures"
LIBRARY = BUILD / "tests" / "scattered.so"
# Seed of the allocator, processors (0: all that there are) and environment of each run.
RUNS = ((1, 0, {}), (2, 1, {"TZ": "Pacific/Auckland"}), (3, 0, {"LC_ALL": "C.UTF-8"}))
# What may differ: how long models ran.
SECONDS = [(re.compile(rb'("(?:\w*seconds\w*|real_time_factor|tokens_per_second)": ?)[-+.e\d]+'), rb"\1_"),
           (re.compile(rb"\bran in [-+.e\d]+ s"), b"ran")]
TIMED = ("run", "verify")
PAGE = "out/report.html"

CALLS = {
    "inspect": "inspect in/vit.onnx --tensors --weights --cost",
    "inspect as JSON": "inspect in/swin_2.onnx --tensors --weights --cost --format json",
    "inspect, functions and loops": "inspect in/halved.onnx --tensors --cost --format json",
    "inspect, page": f"inspect in/vit.onnx --report {PAGE}",
    "inspect, annotated": "inspect in/swin_2.onnx --annotate -o out/o.onnx --external single",
    "check": "check in --all --exit-zero",
    "check as JSON": "check in --format json",
    "check as SARIF": "check in --format sarif",
    "check for GitLab": "check in --format gitlab",
    "check for a target": f"check in/vit.onnx in/block.onnx in/tower.onnx --target directml --all --report {PAGE}",
    "check at sizes": "check in/branches.onnx --sizes n=1..4,h=1..64,w=1..64 --format json",
    "diff": f"diff in/swin_2.onnx in/swin_3.onnx --all --report {PAGE}",
    "diff as JSON": "diff in/detector.onnx in/fixed.onnx --format json",
    "fix": f"fix in/detector.onnx -o out/o.onnx --all --report {PAGE}",
    "fix, a tangle": "fix in/tangled_1.onnx -o out/o.onnx --format json",
    "fix as JSON": "fix in/resizes.onnx -o out/o.onnx --format json",
    "fix by a reference": "fix in/merge_grid.onnx --reference in/refs.npz --values grid_thw=1,22,30 -o out/o.onnx --format json",
    "batch": f"batch in/vit_static.onnx -o out/o.onnx --report {PAGE}",
    "batch a loop": "batch in/halved.onnx --inputs x -o out/o.onnx --format json --no-check",
    "batch, a tangle": "batch in/tangled_1.onnx --new-axis -o out/o.onnx --format json",
    "lift": f"lift in/swin_2.onnx in/swin_3.onnx in/swin_5.onnx -o out/o.onnx --all --report {PAGE}",
    "lift loops": "lift in/loops_7.onnx in/loops_13.onnx in/loops_18.onnx -o out/o.onnx --trace-values in/loops.json --format json",
    "lift a recurrence": "lift in/gru_5.onnx in/gru_8.onnx in/gru_11.onnx -o out/o.onnx --format json",
    "optimize": f"optimize in/tower.onnx -o out/o.onnx --all --explain --report {PAGE}",
    "optimize, a tangle": "optimize in/tangled.onnx -o out/o.onnx --all",
    "optimize, clean": "optimize in/swin_2.onnx -o out/o.onnx --level clean --format json",
    "optimize for ONNX Runtime": "optimize in/swin_2.onnx -o out/o.onnx --target ort --format json",
    "optimize for DirectML": "optimize in/vit.onnx -o out/o.onnx --target directml --opset 20 --format json",
    "convert to float16": f"convert in/tower.onnx --to f16 -o out/o.onnx --all --report {PAGE}",
    "convert to float16, a tangle": "convert in/tangled.onnx --to f16 -o out/o.onnx --format json",
    "convert to INT4, a tangle": "convert in/tangled.onnx --to int4 --block 16 -o out/o.onnx --format json",
    "convert to INT8, a tangle": "convert in/tangled.onnx --to int8 --data in/samples --activation-products -o out/o.onnx --format json",
    "convert to bfloat16": "convert in/swin_2.onnx --to bf16 -o out/o.onnx --format json --no-check",
    "convert to INT8, dynamic": "convert in/block.onnx --to int8 --dynamic -o out/o.onnx --format json",
    "convert to INT8, static": "convert in/conv.onnx --to int8 --data in/images --equalize --correct-bias -o out/o.onnx --format json",
    "convert to INT8, smooth": "convert in/block.onnx --to int8 --data in/tokens --smooth 0.5 --range mse --activation-products -o out/o.onnx"
                               " --format json",
    "convert to INT8 blocks": "convert in/tower.onnx --to int8-blocks -o out/o.onnx --external single",
    "convert to INT4": "convert in/tower.onnx --to int4 -o out/o.onnx --all",
    "convert to INT4, GPTQ": "convert in/tower.onnx --to int4 --data in/rows --method gptq -o out/o.onnx --format json",
    "convert to INT4, AWQ": "convert in/tower.onnx --to int4 --data in/rows --method awq --form qdq -o out/o.onnx --format json",
    "convert to INT2, HQQ": "convert in/tower.onnx --to int2 --method hqq -o out/o.onnx --format json",
    "convert by a plan": "convert in/tower.onnx --plan in/plan.json -o out/o.onnx --format json",
    "sensitivity": "sensitivity in/tower.onnx --data in/rows --to int8-blocks,int4 -o out/s",
    "sensitivity, a tangle": "sensitivity in/tangled.onnx --data in/samples --to int8 --mode fast --exact-below 1 -o out/s --format json",
    "sensitivity, fast": "sensitivity in/tower.onnx --data in/rows --to int4 --mode fast --exact-below 1 --group layer -o out/s --format json",
    "plan": "plan in/report --max-error 1e-3 --model in/tower.onnx --data in/rows -o out/plan.json --format json",
    "pin": f"pin in/vit.onnx --sizes batch=2,height=24,width=40 -o out/o.onnx --report {PAGE}",
    "pin, a tangle": "pin in/tangled.onnx --sizes n=3 -o out/o.onnx --format json",
    "pin several": "pin in/branches.onnx --sizes n=1,h=32,w=32|48 -o out/o.onnx --format json",
    "split": f"split in/tower.onnx --parts 3 -o out/parts --report {PAGE}",
    "split, many inputs": "split in/tangled.onnx --parts 3 -o out/parts --format json",
    "split at tensors": "split in/branches.onnx --at ar -o out/parts --format json",
    "split, cut points": "split in/swin_2.onnx --format json",
    "build a tower": "build in/qwen2_5_vl -o out/built --part vision --no-check",
    "build a decoder": "build in/qwen2 -o out/built --part text --kv-cache --dtype int4 --format json",
    "inputs of images": "inputs in/wide.png in/tall.jpg --for qwen2_5_vl -o out/o.npz --format json",
    "inputs of a recording": "inputs in/stereo.flac --for qwen3_asr -o out/o.npz",
    "run": "run in/branches.onnx --sizes n=2,h=32,w=48 -o out/o.npz --format json",
    "run a decoder": "run in/decoder --tokens 1,2,3,4,5 --max-new-tokens 4 --format json",
    "verify": f"verify in/same.onnx --against in/branches.onnx --points 2 --report {PAGE}",
    "verify as JSON": "verify in/same.onnx --against in/branches.onnx --points 3 --format json",
    "rule": "rule --format json",
    "the table of options": "completion table",
}


def tables(b, x, length):
    """As many tables of the window's own size as make several objects of each kind."""
    for k in range(24):
        x = b.op("Add", b.op("Tanh", x), b.constant((np.arange(length) * (k + 1) / 8).astype(np.float32)[:, None]))
    return x


def save_samples(folder, samples):
    folder.mkdir()
    for i, arrays in enumerate(samples):
        np.savez(folder / f"{i}.npz", **arrays)


def inputs(folder):
    sizes = {f"swin_{size[0]}": swin.static(*size) for size in ((2, 40, 56), (3, 88, 24), (5, 72, 104))}
    frozen = scrfd.without_value_info(scrfd.declare_batch(scrfd.model(), 1))
    models = {
        **sizes, "vit": vit.dynamic(), "vit_static": vit.static(40, 56), "detector": exported.detector_with_anchors(160).model,
        "resizes": freeze.resizes_at(frozen, scrfd.feeds(1, 320, 256)), "merge_grid": merge_grid.static(22, 30), "quantized": quantized.model(),
        "halved": halved(), "tower": sensitivity_nets.tower(3), "branches": sensitivity_nets.branches(),
        "tangled": tangled.model(), "tangled_1": tangled.model(batch=1), "same": sensitivity_nets.branches(), "conv": int8_nets.conv_net(),
        "block": int8_nets.block(), **{f"loops_{n}": trace(n, each(tables)) for n in SIZES},
        **{f"gru_{n}": lift_recurrence_test.gru(n) for n in lift_recurrence_test.TRACES},
        **{f"{code}_case": cases[0] for code, cases in CASES.items()},
    }
    for name, model in models.items():
        onnx.save(model, folder / f"{name}.onnx")
    (folder / "loops.json").write_text(json.dumps({f"loops_{n}.onnx": {"x": {"shape": [n, WIDTH]}} for n in SIZES}))
    rng = np.random.default_rng(0)
    save_samples(folder / "images", int8_nets.images(*int8_nets.SEEN))
    save_samples(folder / "tokens", int8_nets.tokens((1, 7), (2, 5)))
    save_samples(folder / "samples", [{f"x{i}": rng.standard_normal((n, tangled.WIDTH)).astype(np.float32) for i in range(16)} for n in (3, 4)])
    save_samples(folder / "rows", [{"x": rng.standard_normal((2, n, 64)).astype(np.float32)} for n in (5, 9)])
    (folder / "plan.json").write_text('{"default": "int4", "nodes": [{"name": "blocks.1.mlp.up_proj/MatMul", "to": "keep"}]}')
    truth, cases = session(merge_grid.dynamic()), {}
    for i, size in enumerate(((22, 30), (30, 22), (14, 26))):
        feed = merge_grid.feeds(*size, seed=i)
        cases |= {f"{name}_{i}": array for name, array in {**feed, "features": truth.run(None, feed)[0]}.items()}
    np.savez(folder / "refs.npz", **cases)
    for part, kind in (("qwen2_5_vl", "tower"), ("qwen2", "decoder")):
        shutil.copytree(FIXTURES / part / kind, folder / part)
    for name in ("wide.png", "tall.jpg", "stereo.flac"):
        shutil.copy(FIXTURES / "inputs" / name, folder)


@pytest.fixture(scope="module")
def place(thaw, tmp_path_factory):
    """A folder to call in, with models in `in`, and the allocator under a name for each seed."""
    if not LIBRARY.exists():
        pytest.skip(f"{LIBRARY.name} is not built: a sanitizer has an allocator of its own")
    folder = tmp_path_factory.mktemp("place")
    (folder / "in").mkdir()
    inputs(folder / "in")
    thaw("fix", "in/detector.onnx", "-o", "in/fixed.onnx", "--no-check", cwd=folder, code=1)
    thaw("sensitivity", "in/tower.onnx", "--data", "in/rows", "--to", "int4", "-o", "in/report", cwd=folder, code=0)
    thaw("build", "in/qwen2", "-o", "in/decoder", "--kv-cache", "--no-check", cwd=folder, code=0)
    for seed, _, _ in RUNS:
        (folder / f"scattered.{seed}.so").symlink_to(LIBRARY)
    return folder


def written(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def untimed(text):
    for pattern, instead in SECONDS:
        text = pattern.sub(instead, text)
    return text


def result(thaw, place, call, seed, processors, environment):
    """What a call prints and writes, by name."""
    shutil.rmtree(place / "out", ignore_errors=True)
    (place / "out").mkdir()

    def choose():
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:processors])
    run = subprocess.run([thaw.path, *call.split()], cwd=place, capture_output=True, timeout=120, preexec_fn=choose if processors else None,
                         env={**os.environ, **environment, "LD_PRELOAD": str(place / f"scattered.{seed}.so")})
    assert run.returncode in (0, 1), run.stderr.decode()
    made = {"stdout": run.stdout, "stderr": run.stderr, **written(place / "out")}
    return {name: untimed(content) for name, content in made.items()} if call.split()[0] in TIMED else made


def test_addresses_are_scattered(place):
    """Else the calls below would compare nothing."""
    def order(seed):
        code = "print(*map(id, [object() for _ in range(64)]))"
        environment = {**os.environ, "PYTHONMALLOC": "malloc", "LD_PRELOAD": str(place / f"scattered.{seed}.so")}
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
        return tuple(np.argsort([int(address) for address in run.stdout.split()]))
    orders = {order(seed) for seed, _, _ in RUNS}
    assert len(orders) == len(RUNS) and tuple(range(64)) not in orders


@pytest.mark.parametrize("name", CALLS)
def test_the_same_bytes_every_time(thaw, place, name):
    first, *others = (result(thaw, place, CALLS[name], *run) for run in RUNS)
    for other in others:
        assert other.keys() == first.keys()
        assert [file for file, content in first.items() if other[file] != content] == []
