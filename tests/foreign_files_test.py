"""Files that are no ONNX models are known by their first bytes: one sentence says what they are and what to do."""

import gzip
import json
import zipfile

import numpy as np
import pytest


def zipped(path, *names):
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, b"x" * 40)


def safetensors(path):
    header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))


FILES = {
    "pytorch": (lambda p: zipped(p, "archive/data.pkl", "archive/data/0"), ["PyTorch checkpoint", "torch.onnx.export"]),
    "torchscript": (lambda p: zipped(p, "m/data.pkl", "m/code/m.py", "m/constants.pkl"), ["TorchScript"]),
    "old_pytorch": (lambda p: p.write_bytes(b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."), ["PyTorch checkpoint"]),
    "safetensors": (safetensors, ["safetensors", "thaw build"]),
    "npy": (lambda p: np.save(p.open("wb"), np.zeros(3)), ["NumPy", "--input"]),
    "npz": (lambda p: np.savez(p.open("wb"), a=np.zeros(3)), ["NumPy", "--against"]),
    "gguf": (lambda p: p.write_bytes(b"GGUF\3\0\0\0" + bytes(40)), ["GGUF", "safetensors"]),
    "tflite": (lambda p: p.write_bytes(b"\x1c\0\0\0TFL3" + bytes(40)), ["TensorFlow Lite", "tf2onnx"]),
    "ort": (lambda p: p.write_bytes(b"\x20\0\0\0ORTM" + bytes(40)), ["ONNX Runtime's own format"]),
    "zip": (lambda p: zipped(p, "model.onnx"), ["zip archive", "unpack"]),
    "gzip": (lambda p: p.write_bytes(gzip.compress(b"x" * 99)), ["gzip"]),
    "lfs": (lambda p: p.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:12\nsize 9\n"), ["git lfs pull"]),
    "html": (lambda p: p.write_text("\n<!DOCTYPE html><html>not found</html>"), ["HTML", "download"]),
    "json": (lambda p: p.write_text('{"model_type": "bert"}'), ["JSON"]),
    "text": (lambda p: p.write_text("Entry not found"), ["is text"]),
}


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("verb", ["inspect", "check", "run"])
def test_a_file_of_another_kind_is_named(thaw, tmp_path, kind, verb):
    path = tmp_path / "model.onnx"
    make, words = FILES[kind]
    make(path)
    message = thaw.error(verb, path)
    assert all(word in message for word in [*words, str(path)]), message


def test_a_folder_says_what_to_do_with_it(thaw, tmp_path):
    assert "is a folder" in thaw.error("inspect", tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"")
    assert "model.onnx" in thaw.error("inspect", tmp_path)
    (tmp_path / "config.json").write_text("{}")
    assert f"`thaw build {tmp_path} -o onnx`" in thaw.error("inspect", tmp_path)


def test_a_damaged_model_is_still_one(thaw, save):
    from inspect_json_test import conv_net
    path = save(conv_net())
    path.write_bytes(path.read_bytes()[:-20])
    assert "an ONNX model (protobuf)" in thaw.error("inspect", path)
