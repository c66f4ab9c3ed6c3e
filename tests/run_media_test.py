"""`run` and `verify` take images and recordings as `thaw inputs` does: what they are fed is what it writes."""

import numpy as np
import pytest
from onnx import TensorProto

from inputs_images_test import PICTURES
from inputs_model_test import image_model

FREE = ("image", TensorProto.FLOAT, ["n", 3, "height", "width"])
OTHER = ("other", TensorProto.FLOAT, ["k", 3, "rows", "columns"])


@pytest.fixture
def both(thaw, tmp_path):
    """both(model, files, words): what comes out, fed with files and with what `thaw inputs` makes of them."""
    def call(model, files, *words, more=()):
        which = () if "--for" in words else ("--model", model)
        thaw("inputs", *files, *which, *words, "-o", tmp_path / "in.npz", code=0)
        thaw("run", model, "--input", tmp_path / "in.npz", *more, "-o", tmp_path / "by_arrays.npz", code=0)
        thaw("run", model, *files, *words, *more, "-o", tmp_path / "by_files.npz", code=0)
        arrays, made = (dict(np.load(tmp_path / f"{name}.npz")) for name in ("by_arrays", "by_files"))
        assert arrays.keys() == made.keys() and arrays
        for name, array in arrays.items():
            np.testing.assert_array_equal(made[name], array)
        return made
    return call


@pytest.mark.parametrize("words", [
    [], ["--resize", "32x24"], ["--resize", "letterbox:64x64", "--border", "0", "--place", "corner"],
    ["--mean", "0.485,0.456,0.406", "--std", "0.229,0.224,0.225", "--channels", "bgr"],
    ["--scale", "1/128", "--filter", "bicubic", "--resize", "height:40"], ["--resize", "30", "--resampler", "opencv"]],
    ids=" ".join)
def test_a_photograph(both, save, words):
    made = both(save(image_model(FREE)), PICTURES[:1], *words)
    assert made["image_out"].ndim == 4


def test_several_of_one_size_and_an_option_for_them(thaw, both, save, tmp_path):
    path = save(image_model(FREE))
    assert both(path, PICTURES, "--resize", "20x10")["image_out"].shape == (2, 3, 10, 20)
    thaw("run", path, "--image", f"{PICTURES[0]},{PICTURES[1]}", "--resize", "20x10", "-o", tmp_path / "images.npz", code=0)
    np.testing.assert_array_equal(np.load(tmp_path / "images.npz")["image_out"], np.load(tmp_path / "by_files.npz")["image_out"])


def test_which_input_the_image_is_of(thaw, both, save):
    path = save(image_model(FREE, OTHER))
    assert "--image-input" in thaw.error("run", path, PICTURES[0], "--random")
    both(path, PICTURES[:1], "--image-input", "other", more=("--random",))


def test_what_a_family_makes(both, save):
    """Patches and their grid, of which the model takes one."""
    path = save(image_model(("pixel_values", TensorProto.FLOAT, ["patches", 1176])))
    assert both(path, PICTURES, "--for", "qwen2_5_vl")["pixel_values_out"].shape[0] > 0


def test_verify_feeds_both_models(thaw, save, tmp_path):
    model, other = save(image_model(FREE)), save(image_model(FREE), "other")
    thaw("inputs", *PICTURES, "--model", model, "--resize", "20x10", "-o", tmp_path / "in.npz", code=0)
    files = thaw.json("verify", model, *PICTURES, "--resize", "20x10", "--against", other, code=0)
    arrays = thaw.json("verify", model, "--input", tmp_path / "in.npz", "--against", other, code=0)
    (mine,), (theirs,) = files["points"], arrays["points"]
    assert mine["inputs"] == theirs["inputs"] and mine["outputs"] == theirs["outputs"]


def test_words_without_a_file_and_files_without_an_input(thaw, save):
    path = save(image_model(FREE))
    assert "--resize: " in thaw.error("run", path, "--random", "--resize", "32")
    assert "--as image: " in thaw.error("run", path, "--random", "--as", "image")
    assert "has no input called grid_thw or pixel_values" in thaw.error("run", path, PICTURES[0], "--for", "qwen2_5_vl")
    assert "--input in.npz" in thaw.error("run", path, "in.npz")
    assert "nothing.png" in thaw.error("run", path, "nothing.png")
    assert "nothing.onnx" in thaw.error("run", "nothing.onnx", PICTURES[0])


def test_a_folder_says_itself_how_its_images_are_made(thaw, tmp_path):
    error = thaw.error("run", tmp_path, "--image", PICTURES[0], "--prompt", "?", "--resize", "32")
    assert "--resize" in error and "folder" in error
