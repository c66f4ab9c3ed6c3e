"""Every command of docs/feeding.md runs, in the page's order."""
import json
import os
import shutil
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from conftest import SOURCE
from inputs_images_test import FIXTURES
from pictures import save as save_picture

COMMANDS = [line.strip() for line in (SOURCE / "docs" / "feeding.md").read_text().splitlines() if line.startswith("    thaw ")]


def convolution(path, height):
    """A model of one convolution over images."""
    weight = numpy_helper.from_array(np.random.default_rng(0).normal(0, 0.2, (4, 3, 3, 3)).astype(np.float32), "weight")
    graph = helper.make_graph([helper.make_node("Conv", ["image", "weight"], ["y"], strides=[4, 4])], "net",
                              [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, height, "width"])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)


@pytest.fixture
def folder(thaw, tmp_path):
    checkpoint = tmp_path / "Qwen2.5-VL-3B-Instruct"
    shutil.copytree(FIXTURES.parent / "qwen2_5_vl" / "tower", checkpoint)
    thaw("build", checkpoint, "-o", tmp_path / "onnx", "--part", "vision", code=0)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(FIXTURES / "tokenizer" / name, checkpoint)
    ids = json.loads((FIXTURES / "tokenizer" / "config.json").read_text())
    config = json.loads((checkpoint / "config.json").read_text())
    (checkpoint / "config.json").write_text(json.dumps(config | ids))
    (tmp_path / "prompt.txt").write_text("<|im_start|>user\n<|vision_start|><|image_pad|><|vision_end|>What is it?<|im_end|>\n")
    (tmp_path / "photos").mkdir()
    save_picture(tmp_path / "photo.jpg", 200, 150, 1, quality=85)
    save_picture(tmp_path / "page.png", 90, 130, 2)
    save_picture(tmp_path / "line.png", 300, 40, 3)
    for i in range(4):
        save_picture(tmp_path / f"{i}.png", 80, 60, i)
        save_picture(tmp_path / "photos" / f"{i}.jpg", 100 + i, 80 - i, i)
    shutil.copy(FIXTURES / "tone.wav", tmp_path / "talk.wav")
    shutil.copy(FIXTURES / "stereo.flac", tmp_path / "question.flac")
    shutil.copytree(tmp_path / "photos", tmp_path / "held_out")
    convolution(tmp_path / "detector.onnx", "height")
    convolution(tmp_path / "rec.onnx", 48)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "thaw").symlink_to(thaw.path)
    return tmp_path


def test_every_command_of_the_page_runs(folder):
    assert len(COMMANDS) >= 9
    environment = os.environ | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    for command in COMMANDS:
        done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    assert np.load(folder / "features.npz")["vision_features"].ndim == 2
