"""The methods of `thaw convert --to int4` that need samples beside those that do not, and beside the peers': what models lose on
samples that none of them saw.

    THAW_BIN=build/thaw python bench/blocks_samples.py [--only block,ocr-rec,...] [--draws 3] [--seed 7] [--to int4] [--block 32] [--redraw] [--check]

Signal to noise in dB, the mean over draws of samples and, of the block, weights; blocks with zero points. Convolutions stay in float32
for all. A peer that cannot do a model has a dash. --redraw draws all matrices anew each time: what one set of weights gains is partly
luck. Then how much more than search each keeps, with the standard error of that. With --check the exit code is 1 where one that has
samples loses more than search, by more than twice that.
"""
import argparse
import contextlib
import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from figures import table  # noqa: E402
from int8_cases import TOWERS, cases  # noqa: E402
from int8_nets import RNG, samples, signal_to_noise  # noqa: E402

CASES = ["block", "ocr-rec", *TOWERS, "asr-0.6b"]
OURS = {"rtn": False, "search": False, "search, samples": True, "awq": True, "gptq": True}


class Reader:
    """onnxruntime's reader of samples."""

    def __init__(self, seen):
        self.left = iter(seen)

    def get_next(self):
        return next(self.left, None)


def redraw(path):
    """Matrices of the same size and spread, in the same file."""
    model = onnx.load(path)
    read = {node.input[1] for node in model.graph.node if node.op_type in ("MatMul", "Gemm", "Conv")}
    for weight in model.graph.initializer:
        if weight.name in read and weight.data_type == onnx.TensorProto.FLOAT and len(weight.dims) >= 2:
            spread = onnx.numpy_helper.to_array(weight).std()
            weight.CopyFrom(onnx.numpy_helper.from_array((RNG.standard_normal(tuple(weight.dims)) * spread).astype(np.float32), weight.name))
    onnx.save(model, path)


def ours(thaw, path, folder, method, block, to):
    out = path.with_name(f"{path.stem}_{method.split(',')[0]}.onnx")
    data = ["--data", folder] if OURS[method] else []
    subprocess.run([thaw, "convert", path, "-o", out, "--to", to, "--method", method.split(",")[0], "--block", str(block), "--no-check",
                    "--external", "inline", *data], check=True, capture_output=True)
    return out


def onnxruntimes(path, seen, block):
    from onnxruntime.quantization.calibrate import CalibrationDataReader
    from onnxruntime.quantization.matmul_nbits_quantizer import GPTQWeightOnlyQuantConfig, MatMulNBitsQuantizer

    class Samples(Reader, CalibrationDataReader):
        pass

    out = path.with_name(f"{path.stem}_ort_gptq.onnx")
    config = GPTQWeightOnlyQuantConfig(calibration_data_reader=Samples(seen), block_size=block, actorder=False)
    quantizer = MatMulNBitsQuantizer(onnx.load(path), block_size=block, is_symmetric=False, algo_config=config)
    quantizer.process()
    quantizer.model.save_model_to_file(str(out), False)
    return out


def onnxsims(path, seen, which):
    import onnxsim
    made = onnxsim.quantize_weight_only_int4(onnx.load(path))
    if which == "gptq":
        from onnxsim.gptq import apply_gptq
        made = apply_gptq(str(path), made, calibration_data=seen)
    else:
        from onnxsim.awq import apply_awq
        made = apply_awq(str(path), made, calibration_data=seen)
    out = path.with_name(f"{path.stem}_sim_{which}.onnx")
    onnx.save(made, out)
    return out


def ways(thaw, path, folder, seen, options):
    block = options.block
    for method in OURS:
        yield method, lambda method=method: ours(thaw, path, folder, method, block, options.to)
    if options.to != "int4":
        return
    yield "onnxruntime gptq", lambda: onnxruntimes(path, seen, block)
    for which in ("awq", "gptq"):
        yield f"onnxsim {which}", lambda which=which: onnxsims(path, seen, which)


def compare(name, make, options, thaw):
    """By way: the signal to noise of each draw; why there is none is printed."""
    found, why = {}, {}
    for draw in range(options.draws):
        RNG.bit_generator.state = np.random.default_rng(options.seed + draw).bit_generator.state
        path, seen, held_out = make()
        if options.redraw:
            redraw(path)
        folder = samples(path.parent / f"{path.stem}_{draw}", seen)
        for way, convert in ways(thaw, path, folder, seen, options):
            if way in why:
                continue
            try:
                with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                    decibels = signal_to_noise(path, convert(), held_out)
                if not np.isfinite(decibels):
                    raise RuntimeError("it leaves the model as it is")
                found.setdefault(way, []).append(decibels)
            except Exception as error:
                if way in OURS:
                    raise
                why[way] = str(error).strip().splitlines()[-1][:120] if str(error).strip() else type(error).__name__
                found.pop(way, None)
    for way, reason in why.items():
        print(f"  {name}, {way}: {reason}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(CASES))
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--to", default="int4")
    parser.add_argument("--block", type=int, default=32)
    parser.add_argument("--redraw", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    thaw = str(Path(os.environ.get("THAW_BIN", HERE.parent / "build" / "thaw")).resolve())
    onnxruntime.set_default_logger_severity(4)
    rows, gains, missed = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        makers = cases(Path(folder), thaw, None)
        for name in options.only.split(","):
            found = compare(name, makers[name], options, thaw)
            columns = [*OURS, "onnxruntime gptq", "onnxsim awq", "onnxsim gptq"]
            rows.append([name, *(f"{np.mean(found[way]):.1f}" if way in found else "-" for way in columns)])
            more = {way: np.subtract(found[way], found["search"]) for way, needs_samples in OURS.items() if needs_samples}
            error = {way: np.std(gain, ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else 0 for way, gain in more.items()}
            gains.append([name, *(f"{np.mean(gain):+.2f} ± {error[way]:.2f}" for way, gain in more.items())])
            missed += [f"{name}, {way}" for way, gain in more.items() if np.mean(gain) < -2 * error[way]]
    table(["model", *columns], rows)
    table(["more than search", *(way for way in OURS if OURS[way])], gains)
    for line in missed:
        print("more noise than search:", line)
    return 1 if missed and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
