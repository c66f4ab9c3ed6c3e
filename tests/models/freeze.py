"""Freezes a model that resizes its feature maps, the way an export at one image size does: every Resize gets the sizes
that it had in that run as a constant. The declared dims stay dynamic, so nothing tells before it runs."""
import numpy as np
import onnx
from onnx import helper, numpy_helper


def resizes_at(source, feeds):
    """A copy of `source` whose Resize nodes have the sizes of a run on `feeds` (sizes, not scales)."""
    import onnxruntime

    probe = onnx.ModelProto()
    probe.CopyFrom(source)
    names = [n.output[0] for n in source.graph.node if n.op_type == "Resize"]
    probe.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names)
    session = onnxruntime.InferenceSession(probe.SerializeToString(), providers=["CPUExecutionProvider"])
    shapes = {name: y.shape for name, y in zip(names, session.run(names, feeds))}

    frozen = onnx.ModelProto()
    frozen.CopyFrom(source)
    empty = "resize_nothing"  # in opset 11 and 12 roi and scales may be empty, but not left out
    frozen.graph.initializer.append(numpy_helper.from_array(np.zeros(0, np.float32), empty))
    for i, node in enumerate(n for n in frozen.graph.node if n.op_type == "Resize"):
        sizes = f"resize_sizes_{i}"
        frozen.graph.initializer.append(numpy_helper.from_array(np.array(shapes[node.output[0]], np.int64), sizes))
        del node.input[1:]
        node.input.extend([empty, empty, sizes])
    used = {name for n in frozen.graph.node for name in n.input}
    kept = [n for n in frozen.graph.node if n.op_type != "Constant" or n.output[0] in used]
    del frozen.graph.node[:]
    frozen.graph.node.extend(kept)
    return frozen
