"""thaw build --vision-input image writes towers that make their patches and grid themselves: the same features, to the bit."""
import numpy as np
import onnx
import pytest

from build_towers_test import VISION, checkpoint, session
from conftest import SOURCE
from models.checkpoints import with_patches
from models.pictures import save as save_picture

PATCH, MERGE, FRAMES = 4, 2, 2
SIZES = [(1, 8, 8), (1, 88, 120), (3, 40, 24), (2, 136, 8), (5, 56, 56)]


def built(thaw, family, folder, form, *args, source=None):
    thaw("build", source or checkpoint(family), "-o", folder / form, "--part", "vision", "--vision-input", form, *args, code=0)
    return folder / form / "vision.onnx"


def draw(images, height, width):
    return np.random.default_rng(images * height + width).standard_normal((images, 3, height, width), dtype=np.float32)


def as_patches(image):
    """The order of Qwen's image processors: tokens row by row, in each its patches, in each [channel, frame, row, column]."""
    images, channels, height, width = image.shape
    token = PATCH * MERGE
    blocks = image.reshape(images, channels, height // token, MERGE, PATCH, width // token, MERGE, PATCH)
    still = blocks.transpose(0, 2, 5, 3, 6, 1, 4, 7).reshape(-1, channels, 1, PATCH * PATCH)
    return dict(pixel_values=np.repeat(still, FRAMES, 2).reshape(-1, channels * FRAMES * PATCH * PATCH),
                grid_thw=np.array([[1, height // PATCH, width // PATCH]] * images))


@pytest.mark.parametrize("options", [["--target", "portable"], ["--target", "directml"], ["--target", "ort"], ["--opset", "18"],
                                     ["--dtype", "f16"]], ids=" ".join)
@pytest.mark.parametrize("family", VISION)
def test_features_are_those_of_the_tower_that_takes_patches(thaw, tmp_path, family, options):
    whole = session(built(thaw, family, tmp_path, "image", *options))
    patches = session(built(thaw, family, tmp_path, "patches", *options))
    assert [i.name for i in whole.get_inputs()] == ["image"]
    for size in SIZES:
        image = draw(*size)
        for got, wanted in zip(whole.run(None, {"image": image}), patches.run(None, as_patches(image)), strict=True):
            if "ort" in options or "f16" in options:  # kernels without a mask sum in another order
                assert got.shape == wanted.shape and np.abs(got - wanted).max() <= (1e-5 if "ort" in options else 2e-2)
            else:
                assert np.array_equal(got, wanted), (family, size)
    assert all(features.shape[0] == 0 for features in whole.run(None, {"image": draw(0, 16, 16)}))


@pytest.mark.parametrize("family", VISION)
def test_photographs_of_any_size_go_either_way(thaw, tmp_path, family):
    """Through thaw inputs and thaw run, as a user would."""
    preset = tmp_path / "checkpoint"
    preset.mkdir()
    (preset / "config.json").write_text((checkpoint(family) / "config.json").read_text())
    (preset / "preprocessor_config.json").write_text('{"min_pixels": 500, "max_pixels": 20000}')
    for size in ((97, 61), (33, 140), (301, 200)):
        photo = save_picture(tmp_path / "photo.png", *size, seed=size[0])
        features = []
        for form in ("patches", "image"):
            built(thaw, family, tmp_path, form)
            thaw("inputs", photo, "--for", preset, "--as", form, "-o", tmp_path / "in.npz", code=0)
            thaw("run", tmp_path / form / "vision.onnx", "--input", tmp_path / "in.npz", "-o", tmp_path / f"{form}.npz", code=0)
            features.append(np.load(tmp_path / f"{form}.npz"))
        assert features[0].files == features[1].files
        assert all(np.array_equal(features[0][name], features[1][name]) for name in features[0].files)


@pytest.mark.parametrize("target", ["portable", "directml", "ort"])
@pytest.mark.parametrize("family", VISION)
def test_every_size_of_whole_tokens_is_proven(thaw, tmp_path, family, target):
    model = built(thaw, family, tmp_path, "image", "--target", target)
    report = thaw.json("check", model, "--sizes", "num_images=1..16,height=8..1024:8,width=8..1024:8",
                       *(["--target", "directml"] if target == "directml" else []))
    # Every size is; of the indices that are made of remainders by sizes, no bound is known.
    assert report["proof"]["refuted"] == 0
    assert all(f["code"] == "THAW041" and "(Gather)" in f["message"] for f in report["findings"])
    assert family != "qwen2_vl" or report["findings"] == []
    broken = thaw.json("check", model, "--sizes", "num_images=1,height=8..64,width=8", code=1)
    assert broken["proof"]["refuted"] > 0


@pytest.mark.parametrize(("family", "patch", "side"), [("qwen2_vl", 14, 476), ("qwen2_5_vl", 14, 672), ("qwen3_vl", 16, 672)])
def test_pinned_it_is_a_tower_of_one_size(thaw, tmp_path, family, patch, side):
    source = with_patches(checkpoint(family), tmp_path / "checkpoint", patch)
    model, pinned = built(thaw, family, tmp_path, "image", source=source), tmp_path / "pinned.onnx"
    def pin(*sides):
        return ["pin", model, "--sizes", "num_images=1,height={},width={}".format(*sides), "--max-growth", "16mb", "-o", pinned]
    assert "every size is static" in thaw(*pin(side, side), code=0).stdout
    left = {node.op_type for node in onnx.load(pinned).graph.node}
    assert not left & {"Shape", "Range", "CumSum", "Where", "Less", "Expand", "Cos", "Cast"}
    save_picture(tmp_path / "photo.jpg", 300, 200, 7)
    thaw("inputs", tmp_path / "photo.jpg", "--for", source, "--as", "image", "--image-size", side, "-o", tmp_path / "in.npz", code=0)
    thaw("run", pinned, "--input", tmp_path / "in.npz", "-o", tmp_path / "out.npz", code=0)
    wanted = session(model).run(None, dict(np.load(tmp_path / "in.npz")))[0]
    assert np.array_equal(np.load(tmp_path / "out.npz")[session(model).get_outputs()[0].name], wanted)
    assert wanted.shape == (side * side // (2 * patch) ** 2, 24)
    assert "cannot run at these sizes" in thaw.error(*pin(640, 644))
    assert f"a multiple of {2 * patch}" in thaw.error("inputs", tmp_path / "photo.jpg", "--for", source, "--image-size", 634, "-o", tmp_path / "no.npz")


def test_the_samples_of_such_a_tower_are_whole_images(thaw, tmp_path):
    model = built(thaw, "qwen2_5_vl", tmp_path, "image")
    (tmp_path / "photos").mkdir()
    for i in range(2):
        save_picture(tmp_path / "photos" / f"{i}.jpg", 90 + 40 * i, 70, i)
    report = thaw.json("convert", model, "-o", tmp_path / "out.onnx", "--to", "f16", "--data", tmp_path / "photos",
                       "--for", checkpoint("qwen2_5_vl"), "--image-size", "56x40")
    assert {e["case"] for e in report["comparisons"]} >= {"0.jpg", "1.jpg"}


def test_what_does_not_go_together_is_told(thaw, tmp_path):
    def error(family, *args, fixture="tower"):
        return thaw.error("build", SOURCE / "tests" / "fixtures" / family / fixture, "-o", tmp_path / "out", "--vision-input", "image", *args)
    assert "no tower that takes patches" in error("qwen3_asr")
    assert "takes no image" in error("qwen2_vl", "--part", "text", fixture="decoder")
    assert "onnxruntime-genai passes patches" in error("qwen2_vl", "--genai", fixture="decoder")
    small, large = (save_picture(tmp_path / f"{side}.png", side, side) for side in (60, 90))

    def refused(*args):
        return thaw.error("inputs", *args, "--as", "image", "-o", tmp_path / "in.npz")
    assert "images of one size" in refused(small, large, "--for", "qwen2_5_vl")
    assert "Qwen's towers only" in refused(small, "--for", "phi4_mm")
    assert "clips" in refused("--for", "qwen2_5_vl", "--frames", small, small)
    assert "--for" in refused(small, "--model", built(thaw, "qwen2_vl", tmp_path, "image"))
