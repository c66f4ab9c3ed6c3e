"""thaw inputs makes of images and clips what transformers' processors make of them, and says what it cannot take."""
import io
import json
import re
import struct
import sys
import zlib

import numpy as np
import pytest
from PIL import Image

from conftest import SOURCE

sys.path.append(str(SOURCE / "tests" / "models"))
from pictures import picture, save

FIXTURES = SOURCE / "tests" / "fixtures" / "inputs"
PICTURES = [FIXTURES / "wide.png", FIXTURES / "tall.jpg"]
FRAMES = [FIXTURES / name for name in ("wide.png", "frame3.png", "frame4.png")]
CLIP_MEAN, CLIP_STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)


@pytest.fixture
def make(thaw, tmp_path):
    """make(arguments...) -> the arrays that `thaw inputs` writes."""
    def call(*arguments):
        thaw("inputs", *arguments, "-o", tmp_path / "made.npz", code=0)
        return dict(np.load(tmp_path / "made.npz"))
    return call


@pytest.fixture(scope="module")
def golden():
    return dict(np.load(FIXTURES / "golden.npz"))


def same(a, b):
    return a.shape == b.shape and float(np.abs(a.astype(np.float64) - b.astype(np.float64)).max()) <= 1e-4


@pytest.mark.parametrize("family", ["qwen2_vl", "qwen2_5_vl", "qwen3_vl"])
@pytest.mark.parametrize("resampler", ["pillow", "torch"])
def test_images_are_those_of_both_processors_of_transformers(make, golden, family, resampler):
    made = make(*PICTURES, "--for", FIXTURES / family, "--resampler", resampler)
    assert set(made) == {"pixel_values", "grid_thw"}
    assert made["grid_thw"].tolist() == golden[f"{family}.{resampler}.image_grid_thw"].tolist()
    assert same(made["pixel_values"], golden[f"{family}.{resampler}.pixel_values"])


@pytest.mark.parametrize("family", ["qwen2_vl", "qwen2_5_vl", "qwen3_vl"])
def test_a_clip_is_that_of_the_video_processor(make, golden, family):
    """Three frames are two groups; the last frame is there twice."""
    made = make("--for", FIXTURES / family, "--resampler", "torch", "--frames", *FRAMES)
    assert made["grid_thw"].tolist() == golden[f"{family}.clip.video_grid_thw"].tolist()
    assert same(made["pixel_values"], golden[f"{family}.clip.pixel_values"])


def test_images_and_clips_share_a_call(make):
    family = ["--for", FIXTURES / "qwen2_5_vl"]
    both = make(PICTURES[0], *family, "--frames", *FRAMES, "--frames", *FRAMES[1:])
    alone = [make(PICTURES[0], *family), make(*family, "--frames", *FRAMES), make(*family, "--frames", *FRAMES[1:])]
    assert both["grid_thw"].tolist() == [row for made in alone for row in made["grid_thw"].tolist()]
    assert np.array_equal(both["pixel_values"], np.concatenate([made["pixel_values"] for made in alone]))


def test_crops_are_those_of_phi4s_processor(make, golden):
    made = make(*PICTURES, "--for", FIXTURES / "phi4_multimodal")
    assert made["image_sizes"].tolist() == golden["phi4_multimodal.torch.image_sizes"].tolist()
    assert np.array_equal(made["image_attention_mask"], golden["phi4_multimodal.torch.image_attention_mask"])
    assert made["image_attention_mask"].dtype == bool
    assert same(made["pixel_values"][..., ::7, ::7], golden["phi4_multimodal.torch.pixel_values"])


def patches(image, patch, mean, std, merge=2, depth=2):
    """[rows * columns, 3 * depth * patch * patch] of an image whose sides are whole tokens, written as one would draw it."""
    planes = ((image / 255 - mean) / std).transpose(2, 0, 1)
    rows, columns = planes.shape[1] // patch, planes.shape[2] // patch
    found = []
    for row in range(0, rows, merge):
        for column in range(0, columns, merge):
            for y in range(row, row + merge):
                for x in range(column, column + merge):
                    cell = planes[:, y * patch:(y + 1) * patch, x * patch:(x + 1) * patch]
                    found.append(np.repeat(cell[:, None], depth, 1).ravel())
    return np.array(found)


@pytest.mark.parametrize(("width", "height"), [(333, 217), (97, 1003), (1003, 97), (41, 29), (640, 480)])
def test_any_size_is_resized_as_pillow_does(make, tmp_path, width, height):
    """97 x 1003 loses more rows than columns, which Pillow 13 takes in the other order."""
    path = save(tmp_path / "odd.png", width, height, width)
    for family, patch, mean, std in (("qwen2_5_vl", 14, CLIP_MEAN, CLIP_STD), ("qwen3_vl", 16, [0.5] * 3, [0.5] * 3)):
        made = make(path, "--for", family)
        _, rows, columns = made["grid_thw"][0]
        resized = Image.open(path).resize((columns * patch, rows * patch), Image.Resampling.BICUBIC)
        assert same(made["pixel_values"], patches(np.asarray(resized), patch, mean, std))


def test_transformers_agrees_where_it_is_installed(make, tmp_path):
    pytest.importorskip("torchvision", reason="torchvision is not installed; golden.npz stands for it")
    pytest.importorskip("transformers", reason="transformers is not installed; golden.npz stands for it")
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
    from transformers.models.qwen2_vl.image_processing_qwen2_vl import Qwen2VLImageProcessor
    paths = [save(tmp_path / f"{seed}.jpg", 100 + 83 * seed, 300 - 37 * seed, seed) for seed in range(5)]
    for resampler, processor in (("pillow", Qwen2VLImageProcessorPil), ("torch", Qwen2VLImageProcessor)):
        wanted = processor()(images=[Image.open(path) for path in paths], return_tensors="np")
        made = make(*paths, "--for", "qwen2_5_vl", "--resampler", resampler)
        assert made["grid_thw"].tolist() == wanted["image_grid_thw"].tolist()
        assert same(made["pixel_values"], wanted["pixel_values"])


def test_a_chosen_size_is_a_whole_number_of_tokens(thaw, make):
    """The sizes of field report 001."""
    assert make(PICTURES[0], "--for", "qwen2_5_vl", "--image-size", 672)["grid_thw"].tolist() == [[1, 48, 48]]
    assert make(PICTURES[0], "--for", "qwen2_5_vl", "--image-size", "476x280")["grid_thw"].tolist() == [[1, 20, 34]]
    assert make(PICTURES[0], "--for", "qwen3_vl", "--image-size", 640)["grid_thw"].tolist() == [[1, 40, 40]]
    error = thaw.error("inputs", PICTURES[0], "--for", "qwen2_5_vl", "--image-size", 640, "-o", "x.npz")
    assert "640 pixels are not a whole number of tokens" in error and "a multiple of 28" in error and "616 and 644" in error


def test_bounds_on_pixels_may_be_given(make):
    grid = make(PICTURES[0], "--for", "qwen2_5_vl", "--min-pixels", 100000, "--max-pixels", 120000)["grid_thw"][0]
    assert 100000 <= grid[1] * grid[2] * 14 * 14 <= 120000


def test_bounds_are_those_of_what_is_given(thaw, make, tmp_path):
    """Clips have bounds of their own, which say nothing of an image. Those of a checkpoint may cross: the most is looked at first."""
    def grid(path, *options):
        _, rows, columns = make(path, *options)["grid_thw"][0]
        return int(columns) * 14, int(rows) * 14
    photo = save(tmp_path / "photo.png", 301, 199)
    small = save(tmp_path / "small.png", 200, 100)
    large = save(tmp_path / "large.png", 1300, 900)
    assert grid(photo, "--for", "qwen2_5_vl", "--max-pixels", 50000) == (252, 168)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "qwen2_5_vl"}))
    # As transformers' smart_resize has it.
    for bounds, sizes in (({"max_pixels": 50000}, [(252, 168), (196, 112), (252, 168)]),
                          ({"min_pixels": 2_000_000}, [(1764, 1176), (2016, 1008), (1176, 812)])):
        (tmp_path / "preprocessor_config.json").write_text(json.dumps(bounds))
        assert [grid(path, "--for", tmp_path) for path in (photo, small, large)] == sizes
    def error(*arguments):
        return thaw.error("inputs", *arguments, "-o", tmp_path / "out.npz")
    of_clip = error("--for", "qwen2_5_vl", "--max-pixels", 50000, "--frames", *FRAMES[1:])
    assert "a clip has 100352 pixels at least" in of_clip and "--min-pixels too" in of_clip
    assert "an image has 1003520 pixels at most" in error(photo, "--for", "qwen2_5_vl", "--min-pixels", 2_000_000)
    assert "1 or more" in error(photo, "--for", "qwen2_5_vl", "--min-pixels", 0)


@pytest.mark.parametrize(("options", "named"), [
    (["--mean", "0.5", "--resize", "3x3"], "--resize, --mean"),
    (["--filter", "bicubic"], "--filter"),
    (["--model", "photo.onnx"], "--model"),
    (["--fps", "3"], "--fps"),
    (["--resampler", "opencv"], "--resampler opencv"),
    (["--image-size", "672", "--max-pixels", "90000"], "--image-size, --min-pixels, --max-pixels"),
])
def test_an_option_that_would_be_left_unread_is_refused(thaw, tmp_path, options, named):
    error = thaw.error("inputs", PICTURES[0], "--for", "qwen2_5_vl", *options, "-o", tmp_path / "out.npz")
    assert f"{named}: " in error and not (tmp_path / "out.npz").exists()


def pixels(make, path, *options):
    """An image of 64 x 64 as the tower sees it, in levels."""
    made = make(path, "--for", "qwen3_vl", "--image-size", 64, *options)["pixel_values"]
    cells = made.reshape(2, 2, 2, 2, 3, 2, 16, 16)[..., 0, :, :].transpose(4, 0, 2, 5, 1, 3, 6).reshape(3, 64, 64)
    return np.rint(cells * 127.5 + 127.5).astype(int).transpose(1, 2, 0)


def kinds():
    """Images of each kind, and what transformers sees of them: transparency over white."""
    rgb = Image.fromarray(picture(64, 64, 5))
    alpha = Image.fromarray(picture(64, 64, 6)[..., 0])
    clear = rgb.copy()
    clear.putalpha(alpha)
    palette = rgb.quantize(31)
    see_through = palette.copy()
    see_through.info["transparency"] = 3
    yield "gray.png", rgb.convert("L"), {}
    yield "gray.jpg", rgb.convert("L"), {"quality": 95}
    yield "bits.png", rgb.convert("1"), {}
    yield "palette.png", palette, {}
    yield "clear.png", clear, {}
    yield "clear_gray.png", clear.convert("LA"), {}
    yield "clear_color.png", see_through, {"transparency": 3}
    yield "cmyk.jpg", rgb.convert("CMYK"), {"quality": 95}
    yield "progressive.jpg", rgb, {"quality": 80, "progressive": True}
    yield "full_color.jpg", rgb, {"quality": 80, "subsampling": 0}


def over_white(image):
    if "A" not in image.getbands() and image.info.get("transparency") is None:
        return np.asarray(image.convert("RGB")).astype(int)
    white = Image.new("RGBA", image.size, (255, 255, 255, 255))
    return np.asarray(Image.alpha_composite(white, image.convert("RGBA")).convert("RGB")).astype(int)


def test_every_kind_of_image_is_what_pillow_reads(make, tmp_path):
    for name, image, options in kinds():
        image.save(tmp_path / name, **options)
        wanted = over_white(Image.open(tmp_path / name))
        assert np.array_equal(pixels(make, tmp_path / name), wanted), name


def test_sixteen_bits_are_cut_to_eight(make, tmp_path):
    deep = (picture(64, 64, 7)[..., 0].astype(np.uint16) << 8) + 77
    Image.fromarray(deep).save(tmp_path / "deep.png")
    assert np.array_equal(pixels(make, tmp_path / "deep.png")[..., 1], deep >> 8)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_photograph_is_turned_as_its_camera_says(make, tmp_path, orientation):
    from PIL import ImageOps
    exif = Image.Exif()
    exif[0x0112] = orientation
    for name in ("photo.jpg", "photo.png"):
        Image.fromarray(picture(64, 64, 8)).save(tmp_path / name, exif=exif)
        image = Image.open(tmp_path / name)
        assert np.array_equal(pixels(make, tmp_path / name), np.asarray(ImageOps.exif_transpose(image))), name
        assert np.array_equal(pixels(make, tmp_path / name, "--no-upright"), np.asarray(image)), name


def png_of(width, height):
    """A PNG that says it is of that size, with hardly any data."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")


def test_a_bad_file_is_one_error(thaw, tmp_path):
    whole = {suffix: io.BytesIO() for suffix in ("jpg", "png")}
    for suffix, file in whole.items():
        Image.fromarray(picture(200, 150)).save(file, "jpeg" if suffix == "jpg" else suffix)
    files = {
        "cut.jpg": (whole["jpg"].getvalue()[:-3000], "ends before its picture"),
        "cut.png": (whole["png"].getvalue()[:-3000], "ends early"),
        "broken.png": (whole["png"].getvalue()[:900] + b"x" * 99 + whole["png"].getvalue()[999:], "cannot be decoded"),
        "header.jpg": (whole["jpg"].getvalue()[:40], "cannot be decoded"),
        "bomb.png": (png_of(60000, 60000), "60000 x 60000 pixels"),
        "huge.png": (png_of(2**31 - 1, 2**31 - 1), "pixels"),
        "none.png": (png_of(0, 7), "cannot be decoded"),
        "text.png": (b"no picture at all", "no JPEG and no PNG"),
        "empty.jpg": (b"", "empty"),
    }
    for name, (content, wanted) in files.items():
        (tmp_path / name).write_bytes(content)
        error = thaw.error("inputs", tmp_path / name, "--for", "qwen2_5_vl", "-o", tmp_path / "out.npz")
        assert wanted in error and name in error, error
        assert not (tmp_path / "out.npz").exists()
    assert "gone.png" in thaw.error("inputs", tmp_path / "gone.png", "--for", "qwen2_vl", "-o", tmp_path / "out.npz")


def test_an_image_beyond_the_memory_that_is_allowed_is_refused(thaw, tmp_path):
    path = save(tmp_path / "large.png", 900, 700)
    error = thaw.error("inputs", path, "--for", "qwen2_5_vl", "--max-memory", "1M", "-o", tmp_path / "out.npz")
    assert "900 x 700" in error and "--max-memory" in error


def test_wrong_calls_are_told(thaw, tmp_path):
    def error(*arguments):
        return thaw.error("inputs", *arguments, "-o", tmp_path / "out.npz")
    assert "did you mean 'qwen3_vl'" in error(PICTURES[0], "--for", "qwen3vl")
    assert "no files" in error("--for", "qwen2_5_vl")
    assert "what the files are for" in error(PICTURES[0])
    assert "no clips" in error("--for", "phi4_mm", "--frames", *FRAMES)
    assert "one size" in error("--for", "qwen2_vl", "--frames", *PICTURES)
    assert "Qwen" in error(PICTURES[0], "--for", "phi4_mm", "--image-size", 448)
    assert "1 frame" in error("--for", "qwen3_vl", "--frames", FRAMES[0])
    assert "above the most" in error(PICTURES[0], "--for", "qwen2_vl", "--min-pixels", 9000, "--max-pixels", 8000)
    thin = save(tmp_path / "thin.png", 2010, 10)
    assert "200 times" in error(thin, "--for", "qwen2_5_vl")
    assert "several arrays" in thaw.error("inputs", PICTURES[0], "--for", "qwen2_vl", "-o", tmp_path / "out.npy")


def test_settings_that_are_wrong_name_their_key(thaw, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "qwen2_5_vl"}))
    for settings, key in (({"image_std": [0, 1, 1]}, "image_std"), ({"patch_size": 0}, "patch_size"), ({"resample": 9}, "resample"),
                          ({"image_mean": [1]}, "image_mean"), ({"size": 7}, "size"), ({"patch_size": 10**9}, "patch_size")):
        (tmp_path / "preprocessor_config.json").write_text(json.dumps(settings))
        assert key in thaw.error("inputs", PICTURES[0], "--for", tmp_path, "-o", tmp_path / "out.npz")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "resnet"}))
    assert "'resnet'" in thaw.error("inputs", PICTURES[0], "--for", tmp_path, "-o", tmp_path / "out.npz")


def test_settings_in_processor_config_count_first(make, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "qwen2_5_vl"}))
    (tmp_path / "preprocessor_config.json").write_text(json.dumps({"patch_size": 16}))
    nested = {"image_processor": {"patch_size": 12}, "video_processor": {"patch_size": 12, "min_pixels": 576}}
    (tmp_path / "processor_config.json").write_text(json.dumps(nested))
    assert make(PICTURES[0], "--for", tmp_path)["pixel_values"].shape[1] == 3 * 2 * 12 * 12


def test_what_is_made_is_told(thaw, tmp_path):
    text = thaw("inputs", *PICTURES, "--for", "qwen2_5_vl", "-o", tmp_path / "in.npz", code=0).stdout
    assert re.search(r"wide\.png  61 x 47 -> 56 x 56, 4 tokens\n", text)
    assert "grid_thw  int64[2,3]  min 1  max 10\n" in text and f"wrote {tmp_path / 'in.npz'}\n" in text
    told = thaw.json("inputs", PICTURES[0], "--for", "phi4_mm", "-o", tmp_path / "in.npz")
    assert told["sources"][0]["size_before"] == {"width": 61, "height": 47} and told["sources"][0]["size_after"] == {"width": 448, "height": 448}
    assert {array["name"]: array["dims"] for array in told["arrays"]}["pixel_values"] == [1, 2, 3, 448, 448]
