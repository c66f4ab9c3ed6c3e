"""amd-quark's quantizer for ONNX as a process: it wants packages of other versions than the other peers do.

    QUARK_PYTHON quark_peer.py int8 MODEL OUTPUT SAMPLES MinMax|Percentile|Entropy
    QUARK_PYTHON quark_peer.py int4 MODEL OUTPUT SAMPLES BLOCK DEFAULT|HQQ [symmetric]

QUARK_PYTHON: an interpreter with amd-quark, torch and onnxruntime.
"""
import sys
from pathlib import Path

import numpy as np


class Feeds:
    """Its reader of samples, over a folder of .npz files."""

    def __init__(self, folder):
        self.left = iter(sorted(Path(folder).glob("*.npz")))

    def get_next(self):
        path = next(self.left, None)
        return dict(np.load(path)) if path else None


def main():
    from onnxruntime.quantization.calibrate import CalibrationDataReader, CalibrationMethod
    from quark.onnx import ModelQuantizer, QuantFormat, QuantType
    from quark.onnx.quantization.config import Config, QuantizationConfig

    class Reader(Feeds, CalibrationDataReader):
        pass

    what, model, output, *rest = sys.argv[1:]
    if what == "int8":
        folder, method = rest
        config = QuantizationConfig(calibrate_method=getattr(CalibrationMethod, method), quant_format=QuantFormat.QDQ,
                                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8, per_channel=True)
        ModelQuantizer(Config(global_quant_config=config)).quantize_model(model, output, Reader(folder))
    else:
        folder, block, algorithm, *symmetric = rest
        config = QuantizationConfig(extra_options={
            "UseMatMulNBits": True,
            "MatMulNBitsParams": {"GroupSize": int(block), "Symmetric": bool(symmetric), "Bits": 4, "AccuracyLevel": 1,
                                  "Algorithm": algorithm}})
        ModelQuantizer(Config(global_quant_config=config)).quantize_model(model, output, Reader(folder))


if __name__ == "__main__":
    main()
