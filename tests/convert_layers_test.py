"""thaw convert: the SQNR of each layer, against ONNX Runtime's own runs of both models with the layers' outputs."""
import numpy as np
import onnx
import pytest

from conftest import run
from int8_nets import RNG, block, conv_net, images, model, random, samples, tokens

OUTLIERS = """g (float[b, s, 32] x) => (float[b, s, 64] y) {
  n = LayerNormalization(x, scale, bias) a = MatMul(n, w1) c = MatMul(n, w2) m = Mul(a, c) y = MatMul(m, w3) }"""
CHAIN = """g (float[n, 3, h, w] x) => (float[n, 4, h, w] y) {
  a = Conv<pads = [1, 1, 1, 1]>(x, w1, b1) r = Relu(a) b = Conv(r, w2, b2) s = Relu(b) y = Conv(s, w3, b3) }"""


def outliers():
    scale = np.ones(32, np.float32)
    scale[[3, 17]] = 50
    w1, w2 = random(32, 64), random(32, 64)
    w1[[3, 17]] /= 50
    w2[[3, 17]] /= 50
    return model(OUTLIERS, scale=scale, bias=random(32), w1=w1, w2=w2, w3=random(64, 64))


def chain():
    w1 = random(16, 3, 3, 3) * np.geomspace(0.01, 10, 16).reshape(-1, 1, 1, 1)
    return model(CHAIN, w1=w1, b1=random(16), w2=random(16, 16, 1, 1), b2=random(16), w3=random(4, 16, 1, 1), b3=random(4))


NETS = {"conv_net": (conv_net, images((1, 32, 32), (2, 17, 33))), "block": (block, tokens((2, 16), (1, 23))),
        "outliers": (outliers, tokens((2, 16), (1, 23))), "chain": (chain, images((1, 13, 17), (2, 16, 8)))}
CASES = [(net, how) for net, hows in {
    "conv_net": ["int8 --data", "int8 --data --correct-bias", "int8 --data --equalize", "int8 --dynamic", "f16", "bf16"],
    "block": ["int8 --data --smooth 0.5", "int8 --dynamic", "int4 --data --method awq", "int4 --form qdq", "int3", "f16"],
    "outliers": ["int8 --data --smooth 0.5", "int4 --data --method awq --block 16", "int4 --data --method gptq"],
    "chain": ["int8 --data --equalize", "int8 --data"]}.items() for how in hows]


def with_layers(path, layers):
    """The arrays of tensors inside the model, by name."""
    inside = onnx.load(path)
    names = {o.name for o in inside.graph.output}
    inside.graph.output.extend(onnx.ValueInfoProto(name=name) for name in layers if name not in names)
    return inside


@pytest.mark.parametrize("net,how", CASES)
def test_layers_are_what_both_models_compute(thaw, save, tmp_path, net, how):
    RNG.bit_generator.state = np.random.default_rng(7).bit_generator.state
    make, feeds = NETS[net]
    path, out = save(make(), net), tmp_path / "out.onnx"
    folder = samples(tmp_path / "samples", feeds)
    to, *options = how.split()
    if "--data" in options:
        options[options.index("--data")] = f"--data={folder}"
    report = thaw.json("convert", path, "-o", out, "--to", to, "--held-out", folder, "--no-optimize", *options)
    found = report["layers"]
    assert found["case"] == "000.npz" and found["dataset"] == "held_out" and found["not_measured"] == 0
    names = [layer["output"] for layer in found["layers"]]
    # A layer whose output the conversion rescales is not in the list; all others are, in topological order.
    weights = {i.name for i in onnx.load(path).graph.initializer if sum(d > 1 for d in i.dims) > 1}
    all_layers = [n.output[0] for n in onnx.load(path).graph.node if weights & set(n.input)]
    kept = {o for n in onnx.load(out).graph.node for o in n.output}
    assert names == [name for name in all_layers if name in kept]
    assert len(names) >= len(all_layers) - ("--equalize" in options) * 3
    if to == "bf16":  # the runtime has no kernels
        assert min(layer["sqnr_db"] for layer in found["layers"]) > 30
        return
    wanted = run(with_layers(path, names), feeds[0], names=names)
    got = run(with_layers(out, names), feeds[0], names=names)
    for layer, x, y in zip(found["layers"], wanted, got, strict=True):
        noise = np.square(x.astype(np.float64) - y).sum()
        sqnr = 10 * np.log10(np.square(x.astype(np.float64)).sum() / noise) if noise else None
        assert (layer["sqnr_db"] is None) == (sqnr is None)
        assert sqnr is None or sqnr > 4, layer
        if sqnr and to != "f16":  # the runtime's own kernels round otherwise
            assert abs(layer["sqnr_db"] - sqnr) < 1, layer


def test_what_a_conversion_rescales_has_another_name(thaw, save, tmp_path):
    path, out = save(chain(), "chain"), tmp_path / "out.onnx"
    folder = samples(tmp_path / "samples", NETS["chain"][1])
    report = thaw.json("convert", path, "-o", out, "--to", "int8", "--data", folder, "--equalize", "--no-optimize")
    assert [layer["output"] for layer in report["layers"]["layers"]] == ["y"]
    assert any("_equalized" in o for n in onnx.load(out).graph.node for o in n.output)


def test_the_layers_are_shown(thaw, save, tmp_path):
    path, page = save(block(), "block"), tmp_path / "page.html"
    folder = samples(tmp_path / "samples", NETS["block"][1])
    args = ["convert", path, "--to", "int4", "--data", folder, "--dry-run"]
    text = thaw(*args, "--report", page).stdout
    head = next(line for line in text.splitlines() if line.startswith("SQNR by layer"))
    assert head == "SQNR by layer at 000.npz, the lowest 5 of 6 layers (--all lists them)"
    shown = [float(line.split()[-2]) for line in text.split(head)[1].splitlines()[2:7]]
    assert shown == sorted(shown)
    assert "the lowest" not in thaw(*args, "--all").stdout
    html = page.read_text()
    assert "SQNR by layer, at 000.npz" in html and html.count("<span class=\"h") >= 7


def test_no_check_measures_no_layers(thaw, save, tmp_path):
    report = thaw.json("convert", save(block(), "block"), "-o", tmp_path / "out.onnx", "--to", "f16", "--no-check")
    assert report["layers"] is None
