"""What Qwen3-ASR's feature extractor makes of small recordings, for tests where transformers is not installed.

    python make_recordings_golden.py OUTDIR

Needs torch, transformers 5.23, soundfile and soxr. Written: a 16 kHz WAV, a FLAC of 44.1 kHz and two channels, and
recordings.npz with <case>.input_features and <case>.attention_mask for each alone and for both.
"""
import sys
from pathlib import Path

import numpy as np
import soundfile
import soxr
from transformers.models.qwen3_asr.feature_extraction_qwen3_asr import Qwen3ASRFeatureExtractor

from pictures import sound

RATE = 16000


def mono(path):
    """As librosa loads it: channels averaged, then resampled to ceil(samples * ratio)."""
    samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
    samples = samples.mean(1, dtype=np.float32)
    if rate == RATE:
        return samples
    length = int(np.ceil(len(samples) * RATE / rate))
    resampled = soxr.resample(samples, rate, RATE, quality="HQ")[:length]
    return np.pad(resampled, (0, length - len(resampled)))


def main(folder):
    soundfile.write(folder / "tone.wav", sound(RATE + 777, RATE, 1), RATE, subtype="PCM_16")
    both = np.stack([sound(19000, 44100, 2), 0.6 * sound(19000, 44100, 3)], 1)
    soundfile.write(folder / "stereo.flac", both, 44100, subtype="PCM_16")
    tone, stereo = mono(folder / "tone.wav"), mono(folder / "stereo.flac")
    golden = {}
    for case, recordings in (("tone", [tone]), ("stereo", [stereo]), ("both", [tone, stereo])):
        made = Qwen3ASRFeatureExtractor()(recordings, sampling_rate=RATE, padding=True, return_attention_mask=True,
                                          return_tensors="np")
        golden |= {f"{case}.{name}": made[name] for name in ("input_features", "attention_mask")}
    np.savez_compressed(folder / "recordings.npz", **golden)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
