"""Every verb once, on the guide's models: what a fresh environment is tried with. Needs nothing but the package with runtime and audio.

    python every_verb.py FOLDER     FOLDER: what tools/example.py wrote
"""
import subprocess
import sys
import tempfile
import wave
from pathlib import Path

import numpy as np

import onnx_thaw as thaw


def main():
    models = Path(sys.argv[1]).resolve()
    detector, tower = models / "detector.onnx", models / "tower.onnx"
    traces = sorted(models.glob("trace_*.onnx"))
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        x = {"x": np.zeros((2, 5, 64), np.float32)}
        assert thaw.inspect(tower).outputs[0].sizes[2] == 64
        assert not thaw.check(detector).accepted and thaw.rules()
        fixed = thaw.fix(detector, out / "fixed.onnx")
        assert fixed.accepted and thaw.verify(out / "fixed.onnx", detector, sizes="input.1_dim2=64,input.1_dim3=96").accepted
        assert thaw.diff(tower, tower).equal and not thaw.diff(detector, fixed.model).equal
        assert thaw.batch(fixed.model).accepted
        assert thaw.optimize(tower).accepted and thaw.pin(tower, sizes="batch=1,seq=7").accepted
        assert thaw.convert(tower, to="int4").accepted and thaw.convert(tower, to="int8", dynamic=True).accepted
        assert thaw.split(tower, parts=2).report.accepted and thaw.cut_points(tower)
        assert thaw.lift(traces).report.accepted
        assert thaw.build(models / "checkpoint", out / "built").accepted
        measured = thaw.sensitivity(tower, data=models / "samples", to="int4")
        assert thaw.plan(measured, max_bytes=measured.weight_bytes // 2, model=tower, check=False).plan.bytes > 0
        assert thaw.inputs(models / "photo.jpg", model=detector, fit="letterbox", size=(640, 640)).arrays
        with wave.open(str(out / "talk.wav"), "wb") as talk:  # at a rate that is resampled
            talk.setparams((1, 2, 22050, 0, "NONE", ""))
            talk.writeframes(bytes(2 * 22050))
        assert thaw.inputs(out / "talk.wav", preset="qwen3_asr").arrays["input_features"].shape == (1, 128, 100)
        assert thaw.run(tower, x).outputs["y"].shape == thaw.Session(tower).run(x)["y"].shape == (2, 5, 64)
        assert thaw.annotate(tower).accepted and thaw.prove("n >= 1 => 2*n >= 2").holds
    program = Path(sys.executable).with_name("thaw")
    for call in (["--version"], ["inspect", tower], ["check", tower], ["run", tower, "--random"],
                 ["verify", tower, "--against", tower], ["completion", "bash"]):
        subprocess.run([program, *map(str, call)], check=True, stdout=subprocess.DEVNULL)
    print(f"every verb of onnx_thaw {thaw.__version__} works in Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
