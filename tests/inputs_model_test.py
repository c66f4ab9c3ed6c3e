"""thaw inputs makes images for any model whose input is one: its layout, type and sizes are read off the model."""
import math

import numpy as np
import pytest
from onnx import TensorProto, helper
from PIL import Image

from inputs_images_test import FIXTURES, PICTURES, make, same  # noqa: F401  (a fixture)
from pictures import picture
from pictures import save as save_picture

WIDE = PICTURES[0]  # 61 x 47


def image_model(*inputs):
    """inputs: name, type, dims."""
    infos = [helper.make_tensor_value_info(name, kind, dims) for name, kind, dims in inputs]
    nodes = [helper.make_node("Identity", [name], [f"{name}_out"]) for name, _, _ in inputs]
    outputs = [helper.make_tensor_value_info(f"{name}_out", kind, None) for name, kind, _ in inputs]
    graph = helper.make_graph(nodes, "images", infos, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


@pytest.fixture
def free(save):
    return save(image_model(("image", TensorProto.FLOAT, ["n", 3, "height", "width"])), "free")


def resized(width, height, resample=Image.Resampling.BILINEAR, path=WIDE):
    return np.asarray(Image.open(path).convert("RGB").resize((width, height), resample)).astype(np.float64)


def nchw(image):
    return image.transpose(2, 0, 1)[None]


def test_without_a_word_an_image_is_scaled_to_one(make, free):
    made = make(WIDE, "--model", free)
    assert list(made) == ["image"] and made["image"].dtype == np.float32
    assert same(made["image"], nchw(picture(61, 47, 1) / 255))


def test_mean_deviation_scale_and_order_of_channels(make, free):
    mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    made = make(WIDE, "--model", free, "--resize", "32x24", "--mean", "0.485,0.456,0.406", "--std", "0.229,0.224,0.225")
    assert same(made["image"], nchw((resized(32, 24) / 255 - mean) / std))
    made = make(WIDE, "--model", free, "--scale", 1, "--mean", 127.5, "--std", 128, "--channels", "bgr")
    assert same(made["image"], nchw((picture(61, 47, 1)[..., ::-1] - 127.5) / 128))
    made = make(WIDE, "--model", free, "--scale", "1/128", "--filter", "bicubic", "--resize", "30")
    assert same(made["image"], nchw(resized(30, 30, Image.Resampling.BICUBIC) / 128))


def test_a_model_of_one_size_needs_no_word(make, save):
    path = save(image_model(("image", TensorProto.FLOAT, [1, 3, 20, 36])))
    assert same(make(WIDE, "--model", path)["image"], nchw(resized(36, 20) / 255))


def test_a_detectors_letterbox(make, free):
    """As detectors of the YOLO family want it: in the middle, gray around; as SCRFD does: at the upper left, black."""
    inside = resized(64, 49)
    box = np.full((64, 64, 3), 114.0)
    box[7:56] = inside
    assert same(make(WIDE, "--model", free, "--resize", "letterbox:64x64")["image"], nchw(box / 255))
    box = np.zeros((64, 64, 3))
    box[:49] = inside
    made = make(WIDE, "--model", free, "--resize", "letterbox:64", "--place", "corner", "--border", 0, "--scale", 1)
    assert same(made["image"], nchw(box))


def test_a_line_of_text(make, save, tmp_path):
    """Lines of one height; the narrower is padded at the right with zeros, after normalization."""
    path = save(image_model(("x", TensorProto.FLOAT, ["n", 3, 48, "width"])))
    line = save_picture(tmp_path / "line.png", 333, 40, 9)
    made = make(line, WIDE, "--model", path, "--resize", "height:48", "--mean", 0.5, "--std", 0.5)["x"]
    width, narrow = math.ceil(48 * 333 / 40), math.ceil(48 * 61 / 47)
    assert made.shape == (2, 3, 48, width)
    assert same(made[:1], nchw(resized(width, 48, path=line) / 127.5 - 1))
    assert same(made[1:, ..., :narrow], nchw(resized(narrow, 48) / 127.5 - 1))
    assert not made[1, ..., narrow:].any()


def test_images_resized_as_opencv_does(make, free, tmp_path):
    """tests/models/make_opencv_golden.py wrote what cv2.resize gives."""
    golden = dict(np.load(FIXTURES / "opencv.npz"))
    even = save_picture(tmp_path / "even.png", 64, 48, 3)
    for case, wanted in golden.items():
        name, size = case.split("_")
        made = make(WIDE if name == "wide" else even, "--model", free, "--resize", size, "--resampler", "opencv", "--scale", 1)["image"]
        assert np.array_equal(made, nchw(wanted)), case
    made = make(WIDE, "--model", free, "--resize", "letterbox:40x40", "--resampler", "opencv", "--scale", 1)["image"]
    assert np.array_equal(made[:, :, 4:35], nchw(golden["wide_40x31"])) and (made[:, :, :4] == 114).all()


def test_integers_past_the_ends_of_their_type_are_told(thaw, save, tmp_path):
    def made(kind, *options):
        path = save(image_model(("image", kind, ["n", 3, "height", "width"])), "integers")
        told = thaw.json("inputs", WIDE, "--model", path, *options, "-o", tmp_path / "out.npz")
        return np.load(tmp_path / "out.npz")["image"], told["warnings"]
    image = nchw(picture(61, 47, 1).astype(int))
    array, (warning,) = made(TensorProto.INT8)
    assert np.array_equal(array, image.clip(-128, 127))
    lost = int((image > 127).sum())
    assert f"{lost} of {image.size} elements of 'image' ({100 * lost / image.size:.3g} %) are past the ends of int8" in warning
    array, warnings = made(TensorProto.INT8, "--mean", 128)
    assert np.array_equal(array, image - 128) and warnings == []
    array, (warning,) = made(TensorProto.UINT8, "--mean", "0.5", "--std", "0.2")
    assert f"{int((((image - 0.5) / 0.2) >= 256).sum() + ((image - 0.5) / 0.2 <= -1).sum())} of" in warning
    assert made(TensorProto.UINT8)[1] == [] and made(TensorProto.INT32)[1] == []
    path = save(image_model(("image", TensorProto.INT8, ["n", 3, "height", "width"])), "integers")
    assert "warning: " in thaw("inputs", WIDE, "--model", path, "-o", tmp_path / "out.npz", code=0).stdout


def test_layouts_and_types_are_the_models(make, save):
    path = save(image_model(("image", TensorProto.UINT8, ["n", "height", "width", 3])))
    made = make(WIDE, "--model", path)["image"]
    assert made.dtype == np.uint8 and np.array_equal(made, picture(61, 47, 1)[None])
    path = save(image_model(("image", TensorProto.FLOAT16, [3, "height", "width"])))
    made = make(WIDE, "--model", path, "--image-input", "image")["image"]
    assert made.dtype == np.float16 and np.abs(made - nchw(picture(61, 47, 1) / 255)[0]).max() < 1e-3
    path = save(image_model(("image", TensorProto.FLOAT, ["n", 1, "height", "width"])))
    gray = np.asarray(Image.open(WIDE).convert("L"))
    assert same(make(WIDE, "--model", path)["image"], gray[None, None] / 255)
    path = save(image_model(("image", TensorProto.FLOAT, ["n", "a", "b", "c"])))
    made = make(WIDE, "--model", path, "--image-input", "image", "--layout", "nhwc")["image"]
    assert same(made, picture(61, 47, 1)[None] / 255)


def test_several_images_are_a_batch_of_one_size(thaw, make, free, tmp_path):
    pair = make(*PICTURES, "--model", free, "--resize", "40x30")["image"]
    assert pair.shape == (2, 3, 30, 40)
    assert same(pair[:1], make(PICTURES[0], "--model", free, "--resize", "40x30")["image"])
    error = thaw.error("inputs", *PICTURES, "--model", free, "-o", tmp_path / "out.npz")
    assert "do not make one batch" in error and "--resize" in error


def test_what_does_not_fit_is_told(thaw, save, free, tmp_path):
    def error(*arguments):
        return thaw.error("inputs", WIDE, *arguments, "-o", tmp_path / "out.npz")
    fixed = save(image_model(("image", TensorProto.FLOAT, [1, 3, 20, 36])), "fixed")
    assert "20 only" in error("--model", fixed, "--resize", "36x24")
    assert "2 images are given" in error(PICTURES[1], "--model", fixed)
    two = save(image_model(("a", TensorProto.FLOAT, [1, 3, 8, 8]), ("b", TensorProto.FLOAT, [1, 3, 8, 8])), "two")
    assert "name one with --image-input" in error("--model", two)
    assert "no input 'c'" in error("--model", two, "--image-input", "c")
    ids = save(image_model(("ids", TensorProto.INT64, ["n", "seq"])), "ids")
    assert "no input has four axes" in error("--model", ids)
    assert "three or four axes" in error("--model", ids, "--image-input", "ids")
    assert "2 numbers" in error("--model", free, "--mean", "1,2")
    assert "above 0" in error("--model", free, "--std", "0")
    for option in ("--mean", "--std"):
        for number, scale in ((127.5, []), (2, []), (300, ["--scale", 1]), (1.1, ["--scale", 1 / 255])):
            assert f"{option}: {number:g} is beyond the pixels" in error("--model", free, option, number, *scale), (option, number)
    assert "letterbox" in error("--model", free, "--resize", "box:3")
    assert "--for" in error("--model", free, "--image-size", 28)
    last = save(image_model(("image", TensorProto.FLOAT, ["n", "height", "width", 3])), "last")
    assert "axis 3 of input 'image' is its 3 channels; expected --layout nhwc" in error("--model", last, "--layout", "nchw")
    assert "axis 1 of input 'image' is its 3 channels; expected --layout nchw" in error("--model", free, "--layout", "nhwc")
    line = save(image_model(("image", TensorProto.FLOAT, ["n", 3, 48, "width"])), "line")
    assert "--resize height:48" in error("--model", line)
    for size in ("100000x100000", "letterbox:100000"):
        bomb = error("--model", free, "--resize", size)
        assert "wide.png, --resize: an image of 100000 x 100000 pixels; expected 178956970 pixels at most" in bomb
    # What nothing would read.
    for option in (["--border", 0], ["--place", "corner"]):
        assert "letterbox" in error("--model", free, "--resize", "32", *option)
    gray = save(image_model(("image", TensorProto.FLOAT, ["n", 1, "height", "width"])), "gray")
    assert "gray" in error("--model", gray, "--channels", "bgr")
    assert "INTER_LINEAR" in error("--model", free, "--resampler", "opencv", "--filter", "bicubic")
    assert "--fps" in error("--model", free, "--fps", 3)


def test_the_array_runs_in_the_model(thaw, make, free, tmp_path):
    make(WIDE, "--model", free, "--resize", "letterbox:32x32")
    ran = thaw.json("run", free, "--input", tmp_path / "made.npz")
    assert ran["outputs"][0]["dims"] == [1, 3, 32, 32]
