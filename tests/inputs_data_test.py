"""thaw convert --data takes a folder of images or recordings as it takes .npz files made of them by thaw inputs."""
import re
import resource
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from inputs_images_test import FIXTURES
from inputs_model_test import image_model
from pictures import save as save_picture

TOWERS = FIXTURES.parent


def folder_of(path, count, width=120, height=90):
    path.mkdir()
    for i in range(count):
        save_picture(path / f"{i}.{'jpg' if i % 2 else 'png'}", width + 13 * i, height - 7 * i, i)
    (path / "notes.txt").write_text("not a picture\n")
    return path


def weights(path):
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(path).graph.initializer}


@pytest.fixture
def conv(save):
    """Convolves an image of 32 x 32."""
    rng = np.random.default_rng(0)
    weight = numpy_helper.from_array(rng.normal(0, 0.2, (8, 3, 3, 3)).astype(np.float32), "weight")
    nodes = [helper.make_node("Conv", ["image", "weight"], ["c"], name="conv", pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c"], ["y"])]
    graph = helper.make_graph(nodes, "conv", [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, "h", "w"])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [weight])
    return save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10))


def test_images_are_the_samples_that_inputs_makes_of_them(thaw, conv, tmp_path):
    photos = folder_of(tmp_path / "photos", 4)
    samples = tmp_path / "samples"
    samples.mkdir()
    feed = ["--resize", "letterbox:32x32", "--mean", "0.5", "--std", "0.25"]
    for photo in sorted(photos.glob("*.[jp][pn]g")):
        thaw("inputs", photo, "--model", conv, *feed, "-o", samples / f"{photo.stem}.npz", code=0)
    convert = ["convert", conv, "--to", "int8"]
    direct = thaw.json(*convert, "-o", tmp_path / "direct.onnx", "--data", photos, *feed)
    through = thaw.json(*convert, "-o", tmp_path / "through.onnx", "--data", samples)
    a, b = weights(tmp_path / "direct.onnx"), weights(tmp_path / "through.onnx")
    assert a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)
    def figures(report):
        return [(e["output"], e["max_abs_diff"]) for e in report["comparisons"] if re.match(r"\d", e["case"])]
    assert len(figures(direct)) == 4 and figures(direct) == figures(through)
    assert [e["case"] for e in direct["comparisons"]][:4] == ["0.png", "1.jpg", "2.png", "3.jpg"]


def test_sensitivity_and_plans_take_them_too(thaw, conv, tmp_path):
    photos = folder_of(tmp_path / "photos", 4)
    samples = tmp_path / "samples"
    samples.mkdir()
    feed = ["--resize", "letterbox:32x32", "--std", "0.25"]
    for photo in sorted(photos.glob("*.[jp][pn]g")):
        thaw("inputs", photo, "--model", conv, *feed, "-o", samples / f"{photo.stem}.npz", code=0)
    of_images = thaw.json("sensitivity", conv, "--to", "int8", "--data", photos, *feed, "-o", tmp_path / "a")
    of_arrays = thaw.json("sensitivity", conv, "--to", "int8", "--data", samples, "-o", tmp_path / "b")
    assert of_images["units"] == of_arrays["units"] and of_images["run_key"] == of_arrays["run_key"]
    assert of_images["samples"] == ["0.png", "1.jpg", "2.png", "3.jpg"]
    within = ["--max-error", "1", "-o", tmp_path / "plan.json"]
    plan = thaw.json("plan", tmp_path / "a", *within, *feed)
    assert plan["measured"] == thaw.json("plan", tmp_path / "b", *within)["measured"]
    assert plan["measured"] == thaw.json("plan", tmp_path / "a", *within, "--data", photos, *feed)["measured"]
    # How the files were fed stands in the report, and need not be said again; other files may be arrays.
    assert of_images["preprocessing"] == ["--resize=letterbox:32x32", "--std=0.25"] and of_arrays["preprocessing"] == []
    assert "--resize=letterbox:32x32 --std=0.25" in (tmp_path / "a" / "report.html").read_text()
    assert plan["measured"] == thaw.json("plan", tmp_path / "a", *within)["measured"]
    assert plan["measured"] == thaw.json("plan", tmp_path / "a", *within, "--data", samples)["measured"]
    report = tmp_path / "a" / "report.json"
    report.write_text(report.read_text().replace("--std=0.25", "--odd=0.25"))
    assert "how the report's samples were made is not understood" in thaw.error("plan", tmp_path / "a", *within)


def test_a_tower_is_measured_on_photographs(thaw, tmp_path):
    """Of a family: each photograph has a grid of its own."""
    fixture = TOWERS / "qwen2_5_vl" / "tower"
    thaw("build", fixture, "-o", tmp_path / "onnx", "--part", "vision", code=0)
    photos = folder_of(tmp_path / "photos", 3)
    report = thaw.json("convert", tmp_path / "onnx" / "vision.onnx", "-o", tmp_path / "vision_int8.onnx", "--to", "int8",
                       "--data", photos, "--for", fixture)
    assert {e["case"] for e in report["comparisons"]} >= {"0.png", "1.jpg", "2.png"}
    assert onnx.load(tmp_path / "vision_int8.onnx").graph.node


def test_an_encoder_is_measured_on_recordings(thaw, tmp_path):
    fixture = TOWERS / "qwen3_asr" / "tower"
    thaw("build", fixture, "-o", tmp_path / "onnx", "--part", "audio", code=0)
    report = thaw.json("convert", tmp_path / "onnx" / "audio.onnx", "-o", tmp_path / "audio_f16.onnx", "--to", "f16",
                       "--data", FIXTURES, "--for", fixture)
    assert {e["case"] for e in report["comparisons"]} >= {"tone.wav", "stereo.flac"}


def test_one_image_is_in_memory_at_a_time(thaw, save, tmp_path):
    """Sixteen images of 5 million pixels: all of them as floats would be a gigabyte."""
    model = save(image_model(("image", TensorProto.FLOAT, ["n", 3, "h", "w"])))
    photos = tmp_path / "photos"
    photos.mkdir()
    save_picture(photos / "0.jpg", 2560, 2000, quality=80)
    for i in range(1, 16):
        (photos / f"{i:02}.jpg").hardlink_to(photos / "0.jpg")
    def peak(folder):
        command = [thaw.path, "convert", model, "-o", tmp_path / "out.onnx", "--to", "f16", "--data", folder, "--resize", "keep",
                   "--io", "convert", "--no-check"]
        child = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL)
        _, status, usage = __import__("os").wait4(child.pid, 0)
        assert status == 0
        return usage.ru_maxrss
    one = tmp_path / "one"
    one.mkdir()
    (one / "0.jpg").hardlink_to(photos / "0.jpg")
    assert resource.RLIMIT_AS is not None and peak(photos) < 1.3 * peak(one)


def test_what_is_missing_is_told(thaw, conv, tmp_path):
    def error(*arguments):
        return thaw.error("convert", conv, "-o", tmp_path / "out.onnx", "--to", "int8", *arguments)
    photos = folder_of(tmp_path / "photos", 2)
    (tmp_path / "empty").mkdir()
    assert "--for or --resize says how" in error("--data", photos)
    assert "images (.jpg, .png)" in error("--data", tmp_path / "empty", "--resize", "32")
    assert "--data with their folder" in error("--resize", "32")
    assert "--image-size: these go with --for" in error("--data", photos, "--resize", "32", "--image-size", "28")
    assert "--resize: for images of any model" in error("--data", photos, "--for", "qwen2_5_vl", "--resize", "32")
    assert "the model takes 'image'" in error("--data", photos, "--for", "phi4_mm")
    (photos / "2.png").write_bytes(b"no picture")
    assert "2.png" in error("--data", photos, "--resize", "32")
    assert not (tmp_path / "out.onnx").exists()
