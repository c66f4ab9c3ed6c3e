"""Writes the seeds of the fuzz targets to fuzz/seeds/TARGET. Needs the onnx package; run it when the readers learn more.

    python fuzz/make_seeds.py
"""
import json
import pathlib
import shutil
import struct
import sys
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

# One node model for each of these: control flow, sequences, optionals, strings, small types, many attributes.
CASES = """test_if test_if_opt test_loop11 test_loop13_seq test_scan9_sum test_sequence_map_identity_1_sequence
test_optional_get_element_optional_sequence test_string_concat test_cast_FLOAT_to_INT4 test_constant test_lstm_defaults
test_conv_with_strides_padding test_ai_onnx_ml_tree_ensemble_single_tree test_gelu_default_1_expanded
test_resize_downsample_scales_cubic_align_corners""".split()


def onnx_seeds():
    import onnx
    from onnx.backend.test.loader import load_model_tests

    from ir_roundtrip_test import rich_model
    yield "rich", rich_model().SerializeToString()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = {case.name: case for case in load_model_tests(kind="node")}
    for name in CASES:
        case = cases[name]
        model = case.model or onnx.load(f"{case.model_dir}/model.onnx")
        yield name.removeprefix("test_"), model.SerializeToString()


def safetensors_seeds():
    def file(header, size):
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        return struct.pack("<Q", len(text)) + text + bytes(range(size))

    def tensor(dtype, shape, begin, end):
        return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}

    yield "empty", file({}, 0)
    yield "one", file({"w": tensor("F32", [2, 1], 0, 8)}, 8)
    yield "several", file({"__metadata__": {"format": "pt"}, "b": tensor("BF16", [3], 5, 11), "a": tensor("I8", [5], 0, 5),
                           "e": tensor("F64", [0, 7], 5, 5), "s": tensor("F8_E4M3", [], 11, 12)}, 12)
    yield "hole", file({"w": tensor("U8", [3], 2, 5)}, 5)


def media_seeds():
    """What the tests feed, small; and a picture of each kind."""
    import io

    from PIL import Image
    fixtures = HERE.parent / "tests" / "fixtures" / "inputs"
    photo = Image.open(fixtures / "wide.png").resize((24, 16))
    kinds = {"rgb.png": (photo, {}), "gray.png": (photo.convert("L"), {}), "palette.png": (photo.quantize(7), {"transparency": 2}),
             "alpha.png": (photo.convert("LA"), {}), "bits.png": (photo.convert("1"), {}), "rgb.jpg": (photo, {"quality": 60}),
             "progressive.jpg": (photo, {"progressive": True}), "cmyk.jpg": (photo.convert("CMYK"), {})}
    for name, (image, options) in kinds.items():
        file = io.BytesIO()
        image.save(file, "jpeg" if name.endswith("jpg") else "png", **options)
        yield name, file.getvalue()
    yield "tone.wav", (fixtures / "tone.wav").read_bytes()[:1200]
    yield "stereo.flac", (fixtures / "stereo.flac").read_bytes()[:9000]


def verb_seeds():
    """Models that the verbs have something to do with: frozen sizes, windows of shapes, graphs in graphs, functions."""
    from costly_models import constant, functions, loops, model, node, of_sizes, value
    frozen = [node("Relu", ["x"], ["r"]), node("Reshape", ["r", "flat"], ["f"]), node("MatMul", ["f", "w"], ["m"]),
              node("Reshape", ["m", "back"], ["b"]), node("Transpose", ["b"], ["y"], perm=[0, 2, 1])]
    weights = [constant("flat", [12, 4]), constant("back", [1, 12, 3]), constant("w", [[1, 2, 3]] * 4, "float32")]
    yield "frozen", model(frozen, ["y"], [value("x", [1, 12, 4])], weights).SerializeToString()
    names, nodes, inputs = of_sizes(3)
    nodes += [node("Concat", [names[0], "minus"], ["to"], axis=0), node("Reshape", ["x", "to"], ["y"])]
    yield "chain", model(nodes, ["y"], inputs, [constant("minus", [-1])]).SerializeToString()
    for kind in ("Loop", "Scan", "SequenceMap"):
        yield kind.lower(), loops(kind, 1).SerializeToString()
    yield "functions", functions(3, 2).SerializeToString()


def lift_seeds():
    """Pairs of traces: the length of the first, both one after the other."""
    from costly_models import constant, model, node, value

    def pair(name, trace, sizes):
        first, second = (trace(*size).SerializeToString() for size in sizes)
        return name, struct.pack("<I", len(first)) + first + second

    def reshaped(h, w):
        nodes = [node("Reshape", ["x", "to"], ["r"]), node("Softmax", ["r"], ["s"]), node("Reshape", ["s", "back"], ["y"])]
        return model(nodes, ["y"], [value("x", [1, 2, h, w])], [constant("to", [2, h * w]), constant("back", [1, 2, h, w])])

    def tables(n):
        nodes = [node("Add", ["x", "k"], ["a"]), node("Slice", ["a", "from", "to"], ["y"])]
        return model(nodes, ["y"], [value("x", [n, 3])], [constant("k", [[i, 2 * i, 1] for i in range(n)], "float32"),
                                                          constant("from", [1]), constant("to", [n])])

    def windows(n):
        nodes = [node("Split", ["x", "lengths"], [f"s{i}" for i in range(n // 2)], axis=0)]
        nodes += [node("Softmax", [f"s{i}"], [f"t{i}"], axis=0) for i in range(n // 2)]
        nodes.append(node("Concat", [f"t{i}" for i in range(n // 2)], ["y"], axis=0))
        return model(nodes, ["y"], [value("x", [n, 3])], [constant("lengths", [2] * (n // 2))])
    yield pair("reshaped", reshaped, [(3, 5), (4, 7)])
    yield pair("tables", tables, [(4,), (6,)])
    yield pair("windows", windows, [(4,), (8,)])


def checkpoint_seeds():
    """Configs of each family; the target adds the weights that they ask for."""
    for config in sorted((HERE.parent / "tests" / "fixtures").glob("*/*/config.json")):
        text = json.dumps(json.loads(config.read_text()), separators=(",", ":")).encode()
        yield f"{config.parent.parent.name}_{config.parent.name}", struct.pack("<H", len(text)) + text + struct.pack("<H", 0)


def npz_seeds():
    import io

    import numpy as np
    arrays = {"x": np.arange(12, dtype=np.float32).reshape(3, 4), "ids": np.array([[1, 22, 30]]), "text": np.array(["a", "bé"]),
              "columns": np.asfortranarray(np.arange(6, dtype=">i2").reshape(2, 3)), "flags": np.zeros(90, bool)}
    for name, save in (("stored", np.savez), ("deflated", np.savez_compressed)):
        file = io.BytesIO()
        save(file, **arrays)
        yield name, file.getvalue()
    for name, array in arrays.items():
        file = io.BytesIO()
        np.save(file, array)
        yield f"{name}.npy", file.getvalue()


def json_seeds():
    """One of each file, behind the kind that the target reads it as."""
    figures = {"samples": {"mse": [0.5], "cosine": [0.25], "kl": [0], "nsr": [1]}}
    unit = {"name": "n", "layer": "l", "kind": "weights", "op": "MatMul", "nodes": ["n"], "weight_bytes": 12,
            "errors": [{"precision": 0, "status": "measured", "bytes_saved": 9, "one_at_a_time": figures}]}
    objects = [{"a": [1, 2.5, None, {"b": []}]},
               {"schema": 1, "model": "m.onnx", "data": "d", "run_key": "k", "metric": "sqnr", "mode": "exact", "group": "node",
                "target": "ort", "optimize": True, "seed": 0, "weight_bytes": 12, "samples": ["s"], "outputs": ["y"],
                "precisions": [{"to": "int8"}], "uniform": [{"bytes_saved": 9, "error": figures}], "units": [unit]},
               {"default": {"to": "int8"}, "nodes": {"a": {"to": "int4", "block": 32}}},
               {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Prepend", "prepend": " "}]}},
               {"hidden_size": 64, "vision_config": {"depth": 2}}]
    for kind, value in enumerate(objects):
        yield f"kind_{kind}", bytes([kind]) + json.dumps(value, separators=(",", ":")).encode()


def text_seeds():
    texts = {"sizes": ["h=64..1024:32,w=320|640", "n=1..", "patches=t*h*w,t=1..4;n=2", "grid[:,1]=2..128:2"],
             "values": ["x=1,22,30;y=-1.5", "ids=1,2"], "ranges": ["ids=0..511,x=-1..1"], "names": ["a=b"],
             "configs": ['{"a": [1, 2.5, null], "hidden_size": 64, "depth": {"a": "text"}}']}
    for kind, (name, lines) in enumerate(texts.items()):
        for i, line in enumerate(lines):
            yield f"{name}_{i}", bytes([kind]) + line.encode()


def main():
    for target, seeds in (("onnx_fuzz", onnx_seeds()), ("safetensors_fuzz", safetensors_seeds()),
                          ("batch_fuzz", verb_seeds()), ("lift_fuzz", lift_seeds()),
                          ("checkpoint_fuzz", checkpoint_seeds()), ("texts_fuzz", text_seeds()),
                          ("media_fuzz", media_seeds()), ("npz_fuzz", npz_seeds()), ("json_fuzz", json_seeds())):
        folder = HERE / "seeds" / target
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name, data in seeds:
            (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
