"""The peers, each as the process that a user would start: peers.command(name, model, output) gives its command line.

Run as a script, this file is the process for the libraries that have no command of their own:
    python peers.py onnx|osi|ort|f16 MODEL OUTPUT
"""
import importlib.util
import sys

# name -> (what it is, the packages it needs)
PEERS = {
    "onnxruntime symbolic_shape_infer": ("symbolic inference", ("onnxruntime", "onnx", "sympy")),
    "onnx.shape_inference, data_prop": ("inference", ("onnx",)),
    "onnx-shape-inference": ("symbolic inference", ("onnx_shape_inference", "onnx_ir")),
    "onnxsim": ("simplifier", ("onnxsim",)),
    "onnxslim": ("simplifier", ("onnxslim",)),
    "onnxruntime, basic": ("optimizer", ("onnxruntime",)),
    "onnxruntime.transformers optimizer": ("optimizer", ("onnxruntime", "onnx")),
    "onnxruntime float16": ("converter", ("onnxruntime", "onnx")),
}


def missing(name):
    """The packages of a peer that are not installed."""
    return [p for p in PEERS[name][1] if importlib.util.find_spec(p) is None]


def command(name, model, output, external=False):
    """`external`: the weights are too large to be saved inline."""
    python = sys.executable
    beside = ["--save_as_external_data", "--all_tensors_to_one_file", "--external_data_location", "out.data"]
    return {
        "onnxruntime symbolic_shape_infer": [python, "-m", "onnxruntime.tools.symbolic_shape_infer", "--input", model,
                                             "--output", output, "--auto_merge", *(beside if external else [])],
        "onnx.shape_inference, data_prop": [python, __file__, "onnx", model, output],
        "onnx-shape-inference": [python, __file__, "osi", model, output],
        "onnxsim": [python, "-m", "onnxsim", model, output, *(["--save-as-external-data"] if external else [])],
        "onnxslim": [python, "-m", "onnxslim", model, output],
        "onnxruntime, basic": [python, __file__, "ort", model, output],
        "onnxruntime float16": [python, __file__, "f16", model, output],
        "onnxruntime.transformers optimizer": [python, "-m", "onnxruntime.transformers.optimizer", "--input", model,
                                               "--output", output, "--model_type", "bert", "--opt_level", "0"],
    }[name]


def main():
    what, model, output = sys.argv[1:]
    if what == "onnx":
        import onnx
        onnx.shape_inference.infer_shapes_path(model, output, data_prop=True)
    elif what == "osi":
        import onnx_ir
        import onnx_shape_inference
        loaded = onnx_ir.load(model)
        onnx_shape_inference.infer_symbolic_shapes(loaded)
        onnx_ir.save(loaded, output)
    elif what == "ort":
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.optimized_model_filepath = output
        onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    elif what == "f16":
        import onnx
        from onnxruntime.transformers import float16
        converted = float16.convert_float_to_float16(onnx.load(model), keep_io_types=True, disable_shape_infer=True)
        onnx.save(converted, output, save_as_external_data=True, location=output.rsplit("/", 1)[-1] + ".data")
    else:
        sys.exit(f"peers.py: unknown peer '{what}'")


if __name__ == "__main__":
    main()
