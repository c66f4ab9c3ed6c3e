"""`run` and `verify` take images and recordings as `thaw inputs` does: what they are fed is what it writes."""
import re

import numpy as np
import pytest
from onnx import TensorProto

from inputs_audio_test import write_wav
from inputs_images_test import FIXTURES, PICTURES
from inputs_model_test import image_model
from pictures import sound

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


@pytest.mark.parametrize("fixed, word", [((3, "height", 17), "17xHEIGHT"), ((3, 17, "width"), "WIDTHx17")])
def test_one_side_that_is_fixed_does_not_say_how_images_fit(thaw, save, fixed, word):
    path = save(image_model(("image", TensorProto.FLOAT, [1, *fixed])))
    assert re.search(f"takes 17 only; use --resize (height:17 or )?{word}", thaw.error("run", path, PICTURES[0]))
    thaw("run", path, PICTURES[0], "--resize", word.replace("HEIGHT", "11").replace("WIDTH", "11"), code=0)


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


TOWER = FIXTURES.parent / "qwen3_asr" / "tower"
RECORDINGS = [FIXTURES / "tone.wav", FIXTURES / "stereo.flac"]
FEATURES = ("input_features", TensorProto.FLOAT, ["batch", 128, "frames"])
MASK = ("input_features_mask", TensorProto.INT64, ["batch", "frames"])


@pytest.mark.parametrize("rate, channels, frames", [(16000, 1, 100), (8000, 1, 250), (44100, 2, 301), (48000, 1, 7)])
def test_a_recording(both, save, tmp_path, rate, channels, frames):
    samples = np.stack([sound(rate * frames // 100, rate, seed) for seed in range(channels)], 1)
    made = both(save(image_model(FEATURES, MASK)), [write_wav(tmp_path / "talk.wav", samples, rate, channels)], "--for", "qwen3_asr")
    assert made["input_features_out"].shape[:2] == (1, 128)
    assert made["input_features_mask_out"].sum() == max(frames, 50)


@pytest.mark.parametrize("inputs", [(FEATURES,), (MASK,), (MASK, FEATURES)], ids=lambda inputs: "+".join(name for name, _, _ in inputs))
def test_several_recordings_are_one_batch(thaw, both, save, tmp_path, inputs):
    """Of what the family makes the model takes what it has inputs for."""
    path = save(image_model(*inputs))
    made = both(path, RECORDINGS, "--for", "qwen3_asr")
    assert made.keys() == {f"{name}_out" for name, _, _ in inputs} and all(array.shape[0] == 2 for array in made.values())
    thaw("run", path, "--audio", ",".join(map(str, RECORDINGS)), "--for", "qwen3_asr", "-o", tmp_path / "audio.npz", code=0)
    for name, array in np.load(tmp_path / "audio.npz").items():
        np.testing.assert_array_equal(array, made[name])


def test_a_mask_of_another_type_is_cast(thaw, both, save):
    path = save(image_model(FEATURES, (MASK[0], TensorProto.BOOL, MASK[2])))
    assert "--cast" in thaw.error("run", path, RECORDINGS[0], "--for", "qwen3_asr")
    assert both(path, RECORDINGS, "--for", "qwen3_asr", more=("--cast",))["input_features_mask_out"].dtype == np.bool_


def test_an_encoder_of_recordings(thaw, both, tmp_path):
    """What build writes of a checkpoint runs on recordings, and verify compares what convert makes of it on them."""
    thaw("build", TOWER, "-o", tmp_path, "--part", "audio", code=0)
    model, half = tmp_path / "audio.onnx", tmp_path / "half.onnx"
    both(model, RECORDINGS, "--for", TOWER)
    thaw("convert", model, "--to", "f16", "-o", half, "--no-check", code=0)
    thaw("inputs", *RECORDINGS, "--for", TOWER, "-o", tmp_path / "in.npz", code=0)
    files = thaw.json("verify", half, *RECORDINGS, "--for", TOWER, "--against", model, "--cosine", "0.999", code=0)
    arrays = thaw.json("verify", half, "--input", tmp_path / "in.npz", "--against", model, "--cosine", "0.999", code=0)
    (mine,), (theirs,) = files["points"], arrays["points"]
    assert mine["inputs"] == theirs["inputs"] and mine["outputs"] == theirs["outputs"]
    assert mine["inputs"]["input_features"].startswith("float32[2,24,") and 0 < mine["outputs"][0]["max_abs_diff"] < 0.1
    thaw("verify", half, *RECORDINGS, "--for", TOWER, "--against", model, "--atol", "0", "--rtol", "0", code=1)


@pytest.mark.parametrize("verb", ["run", "verify"])
def test_what_the_model_cannot_take_is_refused_before_it_runs(thaw, save, tmp_path, verb):
    """Recordings and images alike, and arrays: what they are made into is held against the inputs."""
    def error(inputs, *files_and_words):
        path = save(image_model(*inputs))
        return thaw.error(verb, path, *files_and_words, *(["--against", path] if verb == "verify" else []))

    few = ("input_features", TensorProto.FLOAT, ["batch", 80, "frames"])
    assert "is given float32[1,128,200]; expected an array of the shape [batch,80,frames]" in error([few], RECORDINGS[0], "--for", "qwen3_asr")
    flat = ("input_features", TensorProto.FLOAT, ["frames", 128])
    assert "expected an array of the shape [frames,128]" in error([flat], RECORDINGS[0], "--for", "qwen3_asr")
    narrow = ("pixel_values", TensorProto.FLOAT, ["patches", 588])
    assert "expected an array of the shape [patches,588]" in error([narrow], PICTURES[0], "--for", "qwen2_5_vl")
    assert "with --for" in error([FEATURES], RECORDINGS[0])
    assert "no WAV" in error([FEATURES], PICTURES[0], "--for", "qwen3_asr")
    assert "no JPEG" in error([FREE], RECORDINGS[0])
    assert "has no input called input_features or input_features_mask" in error([FREE], RECORDINGS[0], "--for", "qwen3_asr")
    assert "--no-upright" in error([FEATURES], RECORDINGS[0], "--for", "qwen3_asr", "--no-upright")
    cut = tmp_path / "cut.flac"
    cut.write_bytes(RECORDINGS[1].read_bytes()[:1000])
    assert "cut.flac" in error([FEATURES], cut, "--for", "qwen3_asr")


def test_an_input_has_one_array(thaw, save, tmp_path):
    """A photograph or a recording, and an archive with an array of the same input: neither wins in silence."""
    for inputs, files, words in (((FREE,), PICTURES[:1], ()), ((FEATURES,), RECORDINGS[:1], ("--for", "qwen3_asr"))):
        path = save(image_model(*inputs))
        thaw("inputs", *files, *(words or ("--model", path)), "-o", tmp_path / "in.npz", code=0)
        (name, _, _), = inputs
        array = np.load(tmp_path / "in.npz")[name]
        np.save(tmp_path / "one.npy", array)
        np.savez(tmp_path / "cases.npz", **{f"{name}_0": array, f"day/{name}": array})
        for given in ([*files, *words], ["--input", f"{name}={tmp_path / 'one.npy'}"]):
            for call, archive in ((["run", path], "in"), (["verify", path, "--against", path], "in"), (["verify", path, "--against", path], "cases")):
                error = thaw.error(*call, *given, "--input", tmp_path / f"{archive}.npz")
                assert f"input '{name}' has an array already" in error and f"{archive}.npz" in error
