"""Sizes that nobody names: those at which a run would take much memory or time are not drawn."""
import math

import onnx.parser
import pytest

# Attention over the places of an image: the scores of 96 x 160 places are 1.9 GB, those of 160 x 224 many times that.
SPATIAL = """<ir_version: 8, opset_import: ["" : 17]> g (float[b,8,h,w] x) => (float[b,8,m] y) {
  t = Constant<value_ints=[0,8,-1]>() r = Reshape(x, t) k = Transpose<perm=[0,2,1]>(r) i = Identity(k)
  s = MatMul(i, r) p = Softmax<axis=-1>(s) v = MatMul(p, k) y = Transpose<perm=[0,2,1]>(v) }"""


VERBS = {"optimize": ["-o", "OUT"], "verify": ["--against", "MODEL"], "split": ["-o", "PARTS", "--at", "p"]}


def places(shape):
    """Of "float32[2,8,3,5]"."""
    return math.prod(int(size) for size in shape[shape.index("[") + 1:-1].split(",")[2:])


@pytest.mark.parametrize("verb", VERBS)
def test_sizes_are_small_where_a_run_would_take_much(thaw, save, tmp_path, verb):
    path = save(onnx.parser.parse_model(SPATIAL))
    names = {"MODEL": path, "OUT": tmp_path / "out.onnx", "PARTS": tmp_path / "parts"}
    report = thaw.json(verb, path, *(names.get(word, word) for word in VERBS[verb]), code=0)
    points = report["points" if verb == "verify" else "checks"]
    assert len(points) >= 3
    assert max(places(point["inputs"]["x"]) for point in points) <= 8192
