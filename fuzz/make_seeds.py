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


def main():
    for target, seeds in (("onnx_fuzz", onnx_seeds()), ("safetensors_fuzz", safetensors_seeds())):
        folder = HERE / "seeds" / target
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name, data in seeds:
            (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
