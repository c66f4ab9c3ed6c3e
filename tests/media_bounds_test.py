"""Images and recordings that ask for much: a sentence before much memory is taken, and the same numbers where they do not."""
import ctypes
import resource
import struct
import zlib

import numpy as np
import pytest

from conftest import SOURCE, limits

FIXTURES = SOURCE / "tests" / "fixtures" / "inputs"
LIMIT = limits(memory=300 << 20, seconds=10)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, data=b"", kind=2, interlaced=0):
    header = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, interlaced)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


@pytest.mark.parametrize(("width", "height"), [(2**31 - 1, 1), (1, 2**31 - 1), (1, 178_956_970), (60_000_000, 1), (1 << 16, 1 << 12)])
@pytest.mark.parametrize("kind", [0, 2, 6])
def test_a_png_of_a_large_size_takes_no_memory_by_it(thaw, tmp_path, width, height, kind):
    (tmp_path / "x.png").write_bytes(png(width, height, kind=kind))
    line = thaw.error("inputs", tmp_path / "x.png", "--for", "qwen2_5_vl", "--max-memory", "100M", "-o", tmp_path / "o.npz",
                      preexec_fn=LIMIT)
    assert "pixels" in line, line


def adam7(pixels):
    """The rows of the seven passes of an interlaced PNG, each with its filter byte."""
    rows = b""
    for y0, x0, dy, dx in ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)):
        part = pixels[y0::dy, x0::dx]
        if part.size:
            rows += b"".join(b"\0" + row.tobytes() for row in part)
    return rows


def test_an_interlaced_png_is_the_same_picture(thaw, tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (61, 59, 3), np.uint8)
    plain = b"".join(b"\0" + row.tobytes() for row in pixels)
    arrays = []
    for name, rows, interlaced in (("plain", plain, 0), ("adam7", adam7(pixels), 1)):
        path, out = tmp_path / f"{name}.png", tmp_path / f"{name}.npz"
        path.write_bytes(png(59, 61, zlib.compress(rows), interlaced=interlaced))
        thaw("inputs", path, "--for", "qwen2_5_vl", "-o", out, code=0)
        arrays.append(np.load(out)["pixel_values"])
    assert np.array_equal(*arrays)


def with_scans(jpeg, count):
    """Its last scan, again and again."""
    at = jpeg.rindex(b"\xff\xda")
    return jpeg[:at] + jpeg[at:-2] * count + b"\xff\xd9"


def test_a_jpeg_of_too_many_scans_is_refused(thaw, tmp_path):
    image = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(0).integers(0, 256, (64, 96, 3), np.uint8)
    image.fromarray(pixels).save(tmp_path / "x.jpg", progressive=True, quality=80)
    whole = (tmp_path / "x.jpg").read_bytes()
    for count, code in ((1, 0), (20, 0), (120, 2), (498, 2)):
        (tmp_path / "y.jpg").write_bytes(with_scans(whole, count))
        run = thaw("inputs", tmp_path / "y.jpg", "--for", "qwen2_5_vl", "-o", tmp_path / "o.npz", code=code)
        assert code == 0 or "more scans than" in run.stderr


def write_flac(path, samples, rate):
    sndfile = ctypes.CDLL("libsndfile.so.1")

    class Info(ctypes.Structure):
        _fields_ = [("frames", ctypes.c_int64), *((name, ctypes.c_int) for name in ("rate", "channels", "format", "n", "s"))]

    info = Info(0, rate, 1, 0x170000 | 0x0002, 0, 0)
    sndfile.sf_open.restype = ctypes.c_void_p
    file = ctypes.c_void_p(sndfile.sf_open(str(path).encode(), 0x20, ctypes.byref(info)))
    block = np.zeros(1 << 20, np.float32)
    for _ in range(samples >> 20):
        sndfile.sf_write_float(file, block.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(len(block)))
    sndfile.sf_close(file)


def test_a_small_recording_of_much_silence_takes_what_it_may(thaw, tmp_path):
    write_flac(tmp_path / "x.flac", 40 << 20, 192000)
    assert (tmp_path / "x.flac").stat().st_size < 1 << 20
    line = thaw.error("inputs", tmp_path / "x.flac", "--for", "qwen3_asr", "--max-memory", "100M", "-o", tmp_path / "o.npz",
                      preexec_fn=LIMIT)
    assert "--max-memory" in line


def test_a_flac_that_does_not_say_how_long_it_is_is_read_to_its_end(thaw, tmp_path):
    flac = bytearray((FIXTURES / "stereo.flac").read_bytes())
    thaw("inputs", FIXTURES / "stereo.flac", "--for", "qwen3_asr", "-o", tmp_path / "a.npz", code=0)
    flac[21] &= 0xF0  # STREAMINFO's last 36 bits before the sum: how many samples; 0 where that is not known
    flac[22:26] = bytes(4)
    (tmp_path / "x.flac").write_bytes(flac)
    thaw("inputs", tmp_path / "x.flac", "--for", "qwen3_asr", "-o", tmp_path / "b.npz", code=0)
    one, other = np.load(tmp_path / "a.npz"), np.load(tmp_path / "b.npz")
    assert one.files == other.files and all(np.array_equal(one[name], other[name]) for name in one.files)


def test_a_file_larger_than_the_shell_allows_is_an_error(thaw, tmp_path):
    """ulimit -f: SIGXFSZ would end the command without a word."""
    def small():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    import onnx
    from onnx import TensorProto, helper, numpy_helper
    weight = numpy_helper.from_array(np.random.default_rng(0).standard_normal((1024, 1024)).astype(np.float32), "w")
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 1024])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 1024])], [weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    for call in (["optimize", tmp_path / "m.onnx", "--no-check"], ["convert", tmp_path / "m.onnx", "--to", "f16", "--no-check"],
                 ["pin", tmp_path / "m.onnx", "--sizes", "rows=3", "--no-check"]):
        line = thaw.error(*call, "-o", tmp_path / "o.onnx", preexec_fn=small)
        assert "too large" in line, line
        assert not (tmp_path / "o.onnx").exists()
