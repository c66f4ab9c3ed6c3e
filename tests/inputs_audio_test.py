"""thaw inputs makes of recordings what Qwen3-ASR's feature extractor makes of them."""
import re
import struct
import wave

import numpy as np
import pytest

from inputs_images_test import FIXTURES, PICTURES, make, same  # noqa: F401  (a fixture)
from pictures import sound

RECORDINGS = {"tone": ["tone.wav"], "stereo": ["stereo.flac"], "both": ["tone.wav", "stereo.flac"]}


def write_wav(path, samples, rate=16000, channels=1):
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((np.asarray(samples) * 32767).astype("<i2").tobytes())
    return path


def float_wav(path, samples, rate=16000):
    data = np.asarray(samples, "<f4").tobytes()
    head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + len(data), b"WAVE", b"fmt ", 16, 3, 1, rate, rate * 4, 4, 32,
                       b"data", len(data))
    path.write_bytes(head + data)
    return path


@pytest.mark.parametrize("case", RECORDINGS)
def test_features_are_those_of_the_feature_extractor(make, case):
    golden = dict(np.load(FIXTURES / "recordings.npz"))
    made = make(*[FIXTURES / name for name in RECORDINGS[case]], "--for", "qwen3_asr")
    assert set(made) == {"input_features", "input_features_mask"}
    assert np.array_equal(made["input_features_mask"], golden[f"{case}.attention_mask"])
    assert same(made["input_features"], golden[f"{case}.input_features"])


def test_short_recordings_are_padded_to_half_a_second(make, tmp_path):
    made = make(write_wav(tmp_path / "short.wav", sound(300, 16000)), "--for", "qwen3_asr")
    assert made["input_features"].shape == (1, 128, 100)
    assert made["input_features_mask"].sum() == 50


def test_the_tokens_are_those_that_the_encoder_gives(thaw, tmp_path):
    for frames, tokens in ((100, 13), (250, 33), (301, 40), (50, 7)):
        path = write_wav(tmp_path / f"{frames}.wav", sound(160 * frames, 16000))
        told = thaw.json("inputs", path, "--for", "qwen3_asr", "-o", tmp_path / "in.npz")["sources"][0]
        assert (told["frames"], told["tokens"], told["seconds"]) == (frames, tokens, frames / 100)


@pytest.mark.parametrize("rate", [8000, 11025, 22050, 48000, 96000])
def test_any_rate_is_resampled(make, tmp_path, rate):
    """A tone of 440 Hz stands in the same bin at every rate."""
    tone = np.sin(2 * np.pi * 440 * np.arange(2 * rate) / rate) * 0.5
    made = make(write_wav(tmp_path / "tone.wav", tone, rate), "--for", "qwen3_asr")
    wanted = make(write_wav(tmp_path / "wanted.wav", np.sin(2 * np.pi * 440 * np.arange(32000) / 16000) * 0.5), "--for", "qwen3_asr")
    assert made["input_features"].shape == wanted["input_features"].shape
    middle = np.s_[0, :, 20:180]
    assert made["input_features"][middle].argmax(0).tolist() == wanted["input_features"][middle].argmax(0).tolist()
    assert np.abs(made["input_features"][middle].max(0) - wanted["input_features"][middle].max(0)).max() < 1e-3


def test_channels_are_averaged(make, tmp_path):
    left, right = sound(16000, 16000, 1), sound(16000, 16000, 2)
    stereo = write_wav(tmp_path / "stereo.wav", np.stack([left, right], 1), channels=2)
    quantized = [(channel * 32767).astype("<i2") / 32768 for channel in (left, right)]
    mono = float_wav(tmp_path / "mono.wav", np.mean(quantized, 0))
    assert same(make(stereo, "--for", "qwen3_asr")["input_features"], make(mono, "--for", "qwen3_asr")["input_features"])


def test_long_recordings_go(make, tmp_path):
    """Seven minutes."""
    made = make(write_wav(tmp_path / "long.wav", sound(16000 * 420, 16000)), "--for", "qwen3_asr")
    assert made["input_features"].shape == (1, 128, 42000)
    assert np.isfinite(made["input_features"]).all()


def test_a_bad_recording_is_one_error(thaw, tmp_path):
    flac = (FIXTURES / "stereo.flac").read_bytes()
    (tmp_path / "cut.flac").write_bytes(flac[:len(flac) // 2])
    (tmp_path / "header.wav").write_bytes((FIXTURES / "tone.wav").read_bytes()[:30])
    (tmp_path / "text.wav").write_bytes(b"no sound at all, but some words")
    (tmp_path / "empty.wav").write_bytes(b"")
    samples = sound(16000, 16000)
    samples[1234] = np.nan
    float_wav(tmp_path / "nan.wav", samples)
    samples[1234] = np.inf
    float_wav(tmp_path / "infinite.wav", samples)
    write_wav(tmp_path / "silent.wav", [])
    float_wav(tmp_path / "slow.wav", samples, 7)
    wanted = {"cut.flac": "ends after", "header.wav": "decoded", "text.wav": "no WAV and no FLAC", "empty.wav": "no WAV",
              "nan.wav": "sample 1234", "infinite.wav": "sample 1234", "silent.wav": "no samples", "slow.wav": "7 samples a second"}
    for name, words in wanted.items():
        error = thaw.error("inputs", tmp_path / name, "--for", "qwen3_asr", "-o", tmp_path / "out.npz")
        assert words in error and name in error, error
        assert not (tmp_path / "out.npz").exists()


def wav_of(size, data, mark=b"RIFF", before=b""):
    """A WAV of 16 bits whose header says so many bytes of samples."""
    head = struct.pack("<4sIHHIIHH4sI", b"fmt ", 16, 1, 1, 16000, 32000, 2, 16, b"data", size)
    return mark + struct.pack("<I", min(size + 36, 2**32 - 1)) + b"WAVE" + before + head + data


def test_a_recording_that_ends_early_is_an_error(thaw, make, tmp_path):
    data = (sound(16000, 16000) * 32767).astype("<i2").tobytes()
    path = tmp_path / "made.wav"
    def sizes(present):
        """The header of RF64: the file's size, that of the samples, and how many."""
        return b"ds64" + struct.pack("<IQQQI", 28, present + 72, present, present // 2, 0)
    for content in (wav_of(len(data), data[:20001]), wav_of(len(data) + 2, data), wav_of(2**32 - 1, data, b"RF64", sizes(len(data) + 2)),
                    wav_of(len(data), data[:-1], before=b"LIST" + struct.pack("<I", 3) + b"abc\0")):
        path.write_bytes(content)
        error = thaw.error("inputs", path, "--for", "qwen3_asr", "-o", tmp_path / "out.npz")
        assert re.search(r"made.wav: the recording ends after \d+ of \d+ bytes of samples", error), error
    # What follows the samples may be anything, and what writes to a pipe knows no length.
    wanted = make(write_wav(tmp_path / "whole.wav", sound(16000, 16000)), "--for", "qwen3_asr")["input_features"]
    for content in (wav_of(len(data), data + b"LIST\xff\xff\0\0"), wav_of(2**32 - 1, data), wav_of(0x7FFFF000, data),
                    wav_of(2**32 - 1, data, b"RF64", sizes(len(data)))):
        path.write_bytes(content)
        assert same(make(path, "--for", "qwen3_asr")["input_features"], wanted)


def test_options_of_images_are_not_for_recordings(thaw, tmp_path):
    for option in (["--no-upright"], ["--resampler", "torch"]):
        assert f"{option[0]}: the family takes recordings" in thaw.error("inputs", FIXTURES / "tone.wav", "--for", "qwen3_asr", *option,
                                                                         "-o", tmp_path / "out.npz")


def test_pictures_are_no_recordings(thaw, tmp_path):
    assert "no WAV" in thaw.error("inputs", PICTURES[0], "--for", "qwen3_asr", "-o", tmp_path / "out.npz")
    assert "takes recordings" in thaw.error("inputs", "--for", "qwen3_asr", "--frames", PICTURES[0], "-o", tmp_path / "out.npz")


def test_the_features_run_in_the_encoder(thaw, tmp_path):
    """What build writes takes what inputs makes."""
    fixture = FIXTURES.parent / "qwen3_asr" / "tower"
    thaw("build", fixture, "-o", tmp_path, "--part", "audio", code=0)
    paths = [FIXTURES / name for name in RECORDINGS["both"]]
    told = thaw.json("inputs", *paths, "--for", fixture, "-o", tmp_path / "in.npz")
    ran = thaw.json("run", tmp_path / "audio.onnx", "--input", tmp_path / "in.npz")
    assert ran["outputs"][0]["dims"][0] == sum(file["tokens"] for file in told["sources"])
