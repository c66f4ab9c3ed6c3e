"""Verbs that make a model of another, or of a checkpoint."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from onnx_thaw import _thaw
from onnx_thaw._calls import verb
from onnx_thaw._models import ModelLike, load
from onnx_thaw._options import (
    Inputs,
    PathLike,
    Sizes,
    Values,
    added,
    choice,
    feeds,
    many,
    named_sizes,
    output,
    paths,
    tolerance,
)


@verb
def annotate(model: ModelLike, path: PathLike | None = None, *, external: str = "keep", rename: Mapping[str, str] | None = None,
             in_place: bool = False) -> _thaw.AnnotateResult:
    """Declares the inferred dims of all tensors, for viewers: expressions become dim_param. Nothing else changes.

    Args:
        model: The model.
        path: Where the result is written; None: nowhere.
        external: Where weights go: "keep", "single" or "inline".
        rename: Other names for sizes: {"image_dim2": "height"}.
        in_place: Allow `path` to be the file that the model was loaded from.

    Returns:
        The number of tensors that were declared, and the model.

    Examples:
        >>> thaw.annotate("tower.onnx").model.outputs[0].dims
        ['batch', 'seq', '64']
    """
    return _thaw.annotate(load(model), output(path, external, rename, in_place))


@verb
def fix(model: ModelLike, path: PathLike | None = None, *, keep_sizes: bool = False, keep_chains: bool = False,
        keep_declarations: bool = False, keep_types: bool = False, check: bool = True, inputs: Inputs | None = None,
        values: Values | None = None, seed: int = 0, external: str = "keep", rename: Mapping[str, str] | None = None,
        in_place: bool = False) -> _thaw.FixResult:
    """Makes a static export dynamic, by rewrites that are safe without a reference.

    Args:
        model: The model.
        path: Where an accepted result that changed something is written; None: nowhere.
        keep_sizes: Leave frozen sizes.
        keep_chains: Leave shape computations.
        keep_declarations: Leave declared names and shapes.
        keep_types: Leave type mismatches.
        check: Compare the result with the original at its own sizes and at others.
        inputs: For the check: arrays by input name; the rest is drawn.
        values: For the check: elements of small inputs.
        seed: Of what is drawn.
        external: Where weights go: "keep", "single" or "inline".
        rename: Other names for sizes: {"image_dim2": "height"}.
        in_place: Allow `path` to be the file that the model was loaded from.

    Returns:
        The report and the model.

    Examples:
        >>> fixed = thaw.fix("detector.onnx", rename={"input.1_dim2": "height", "input.1_dim3": "width"})
        >>> fixed.accepted, fixed.model.inputs[0].dims
        (True, ['1', '3', 'height', 'width'])
        >>> fixed.save("fixed.onnx")
        [PosixPath('fixed.onnx')]
    """
    options = _thaw.FixOptions()
    options.sizes, options.chains = not keep_sizes, not keep_chains
    options.declarations, options.types = not keep_declarations, not keep_types
    options.check, options.feeds = check, feeds(inputs, values, seed)
    return _thaw.fix(load(model), options, output(path, external, rename, in_place))


@verb
def fix_with_reference(model: ModelLike, reference: PathLike, path: PathLike | None = None, *, sizes: Sizes = "",
                       values: Values | None = None, add_input: str | Iterable[str] = (), cases: Iterable[str] = (),
                       tries: int = 200, atol: float | None = None, rtol: float | None = None, keep_sizes: bool = False,
                       keep_chains: bool = False, keep_declarations: bool = False, keep_types: bool = False,
                       external: str = "keep", rename: Mapping[str, str] | None = None,
                       in_place: bool = False) -> _thaw.FixReferenceResult:
    """Finds which integers of one static trace are sizes, and confirms them by what the true model computes at other sizes.

    Args:
        model: The trace.
        reference: An .npz file of inputs and outputs of the true model at other sizes.
        path: Where an accepted result is written; None: nowhere.
        sizes: The sizes of the export: {"height": 640, "width": 480}.
        values: Elements of small inputs that it was exported with: {"grid_thw": [1, 22, 30]}.
        add_input: Inputs that the exporter removed: "grid_thw:int64[1,3]".
        cases: Cases of the reference by name; all by default.
        tries: Candidates that are run at most.
        atol: Absolute tolerance; by default that of the outputs' type.
        rtol: Relative tolerance.
        keep_sizes: Leave frozen sizes.
        keep_chains: Leave shape computations.
        keep_declarations: Leave declared names and shapes.
        keep_types: Leave type mismatches.
        external: Where weights go: "keep", "single" or "inline".
        rename: Other names for sizes.
        in_place: Allow `path` to be the file that the model was loaded from.

    Returns:
        The report and the model.

    Examples:
        >>> freed = thaw.fix_with_reference("vision.onnx", "refs.npz", values={"grid_thw": [1, 22, 30]})
        >>> freed.accepted
        True
    """
    options = _thaw.FixReferenceOptions()
    options.at = {name: [size] for name, size in named_sizes(sizes)} | {name: list(given) for name, given in (values or {}).items()}
    options.added = added(add_input)
    options.fix.sizes, options.fix.chains = not keep_sizes, not keep_chains
    options.fix.declarations, options.fix.types = not keep_declarations, not keep_types
    options.cases, options.most_tries = list(cases), tries
    options.tolerance = tolerance(atol, rtol, None)
    return _thaw.fix_with_reference(load(model), Path(reference), options, output(path, external, rename, in_place))


@verb
def batch(model: ModelLike, path: PathLike | None = None, *, name: str = "batch", only: Iterable[str] = (), sizes: Sizes = "",
          new_axis: bool = False, allow_loop: bool = False, check: bool = True, inputs: Inputs | None = None, values: Values | None = None,
          seed: int = 0, external: str = "keep", rename: Mapping[str, str] | None = None,
          in_place: bool = False) -> _thaw.BatchResult:
    """Adds a batch axis to a model for one sample: element i of its outputs equals the original's output on sample i.

    Args:
        model: A model for one sample.
        path: Where an accepted result is written; None: nowhere.
        name: Of the batch size.
        only: Inputs that differ from sample to sample; all by default.
        sizes: Sizes that are fixed in one sample: {"input_dim0": 1}.
        new_axis: All inputs get a new first axis.
        allow_loop: Operators without a batch rule run sample by sample, in a Scan.
        check: Compare with the original, sample by sample.
        inputs: For the check: arrays of one sample; the rest is drawn.
        values: For the check: elements of small inputs.
        seed: Of what is drawn.
        external: Where weights go: "keep", "single" or "inline".
        rename: Other names for sizes.
        in_place: Allow `path` to be the file that the model was loaded from.

    Returns:
        The report and the model.

    Raises:
        Unsupported: the model cannot be batched; the message names the node and the reason.

    Examples:
        >>> fixed = thaw.fix("detector.onnx", rename={"input.1_dim2": "height", "input.1_dim3": "width"})
        >>> batched = thaw.batch(fixed.model)
        >>> batched.accepted, batched.model.inputs[0].dims
        (True, ['batch', '3', 'height', 'width'])
    """
    options = _thaw.BatchOptions()
    options.name, options.inputs, options.sample = name, list(only), named_sizes(sizes)
    options.new_axis, options.allow_loop, options.check = new_axis, allow_loop, check
    options.feeds = feeds(inputs, values, seed)
    return _thaw.batch(load(model), options, output(path, external, rename, in_place))


@verb
def lift(traces: Sequence[PathLike], path: PathLike | None = None, *, trace_values: PathLike | Iterable[PathLike] = (),
         add_input: str | Iterable[str] = (), keep_static: Iterable[str] = (), check: bool = True, external: str = "keep", rename: Mapping[str, str] | None = None,
         in_place: bool = False) -> _thaw.LiftResult:
    """Makes one dynamic model of several static traces of a model.

    Args:
        traces: Files of traces that differ only where sizes were frozen.
        path: Where an accepted result is written; None: nowhere.
        trace_values: Files with the integer inputs' values: JSON, or an .npz called as its trace.
        add_input: Inputs that the exporter removed: "grid_thw:int64[1,3]".
        keep_static: Constants, by name in the first trace, that stay as they are there.
        check: Compare the result with each trace.
        external: Where weights go: "keep", "single" or "inline".
        rename: Other names for sizes.
        in_place: Allow `path` to be one of the traces.

    Returns:
        The report, and the model where it is accepted.

    Raises:
        Error: the traces cannot be aligned, or one of them does not run.

    Examples:
        >>> traces = ["trace_1x7.onnx", "trace_2x11.onnx", "trace_3x13.onnx"]
        >>> lifted = thaw.lift(traces, rename={"input_ids_dim0": "batch", "input_ids_dim1": "seq"})
        >>> lifted.model.inputs[0].dims
        ['batch', 'seq']
    """
    given = []
    for trace in traces:
        one = _thaw.LiftTrace()
        one.model = Path(trace)
        given.append(one)
    options = _thaw.LiftOptions()
    options.values, options.keep_static, options.check = paths(trace_values), set(keep_static), check
    options.added = added(add_input)
    return _thaw.lift(given, options, output(path, external, rename, in_place))


def build_options(*, part: str = "all", dtype: str = "f32", target: str = "portable", opset: int = 20, kv_cache: bool = False,
                  genai: bool = False, pooling: str | None = None, lora: str = "vision", vision_input: str = "patches",
                  method: str = "search", block: int = 32, symmetric: bool = False, real_zeros: bool = False, accuracy_level: int = 0,
                  rename: Mapping[str, str] | None = None, check: bool = True) -> _thaw.BuildOptions:
    """The options of `build`."""
    options = _thaw.BuildOptions()
    options.part, options.opset, options.kv_cache, options.genai, options.load = part, opset, kv_cache, genai, check
    weights, _, activations = dtype.partition("-") if dtype == "int4-f16" else (dtype, "", "")
    kind = choice(_thaw.NumberFormat, {"f32": "keep", "float32": "keep"}.get(weights, weights))
    if kind in (_thaw.NumberFormat.KEEP, _thaw.NumberFormat.FLOAT16, _thaw.NumberFormat.BFLOAT16):
        options.dtype = {_thaw.NumberFormat.KEEP: _thaw.DataType.FLOAT, _thaw.NumberFormat.FLOAT16: _thaw.DataType.FLOAT16,
                         _thaw.NumberFormat.BFLOAT16: _thaw.DataType.BFLOAT16}[kind]
    else:
        options.weights = kind
        options.dtype = _thaw.DataType.FLOAT16 if activations else _thaw.DataType.FLOAT
    options.blocks.method, options.blocks.block, options.blocks.symmetric = choice(_thaw.BlockMethod, method), block, symmetric
    options.blocks.real_zeros, options.blocks.accuracy_level = real_zeros, accuracy_level
    options.lora = choice(_thaw.Lora, lora)
    _thaw.set_target(target.lower(), options)
    precision = _thaw.PrecisionOptions()
    precision.to, precision.blocks = options.weights, options.blocks
    options.blocks.symmetric = _thaw.default_precision(precision, target.lower()).blocks.symmetric
    options.input = choice(_thaw.VisionInput, vision_input)
    if pooling is not None:
        options.pooling = choice(_thaw.Pooling, pooling)
    options.rename = list((rename or {}).items())
    return options


@verb
def build(checkpoint: PathLike, folder: PathLike, *, part: str = "all", dtype: str = "f32", target: str = "portable", opset: int = 20,
          kv_cache: bool = False, genai: bool = False, pooling: str | None = None, lora: str = "vision",
          vision_input: str = "patches", method: str = "search", block: int = 32, symmetric: bool = False,
          real_zeros: bool = False, accuracy_level: int = 0, rename: Mapping[str, str] | None = None, check: bool = True) -> _thaw.BuildReport:
    """Builds ONNX models from a checkpoint of transformers: vision towers, audio encoders, text decoders, embedding models.

    Args:
        checkpoint: A folder with config.json and *.safetensors.
        folder: Where <part>.onnx and <part>.onnx.data go; made where it is not there.
        part: "vision", "text", "audio", "embedding" or "all".
        dtype: "f32", "f16" or "bf16"; or of matrices alone "int4", "int4-f16" or "int8-blocks".
        target: Whose operators and forms the models may have: one of `targets()`.
        opset: 18 to 20.
        kv_cache: Of text: inputs past_key_values.*, outputs present.*.
        genai: What onnxruntime-genai loads; implies kv_cache.
        pooling: Of text: "none" or "last"; None: as the checkpoint says.
        lora: Of Phi-4-multimodal: "vision", "speech" or "none".
        vision_input: Of Qwen's towers: "patches" or "image".
        method: Of blocks: "rtn", "search" or "hqq".
        block: Weights that share a scale.
        symmetric: Blocks without zero points.
        real_zeros: Zero points of blocks in the scales' dtype.
        accuracy_level: Of MatMulNBits: 0 the kernel's choice, 1 float32, 2 float16, 3 bfloat16, 4 INT8 activations.
        rename: Other names for sizes.
        check: Load every part in ONNX Runtime before it is published; else small parts only.

    Returns:
        The report. Nothing is written before all parts are built.

    Raises:
        InvalidArgument: options that contradict each other, or a part that the family does not have.
        InvalidFile: the checkpoint is incomplete or malformed.

    Examples:
        >>> built = thaw.build("checkpoint", "built", part="text", kv_cache=True)
        >>> thaw.inspect("built/text.onnx").outputs[0].dims
        ['batch', 'seq', '407']
    """
    options = build_options(part=part, dtype=dtype, target=target, opset=opset, kv_cache=kv_cache, genai=genai, pooling=pooling, lora=lora,
                            vision_input=vision_input, method=method, block=block, symmetric=symmetric,
                            real_zeros=real_zeros, accuracy_level=accuracy_level, rename=rename, check=check)
    return _thaw.build(Path(checkpoint), Path(folder), options)


@verb
def optimize(model: ModelLike, path: PathLike | None = None, *, target: str = "portable", level: str = "fuse", opset: int = 0,
             only: Iterable[str] = (), skip: Iterable[str] = (), max_growth: int = 0, constant_weights: bool = False,
             explain: bool = False, check: bool = True, inputs: Inputs | None = None, values: Values | None = None, seed: int = 0, external: str = "keep",
             rename: Mapping[str, str] | None = None, in_place: bool = False) -> _thaw.OptimizeResult:
    """Makes a model smaller and faster, for every size.

    Args:
        model: The model.
        path: Where an accepted result is written; None: nowhere.
        target: Whose operators the result may have: one of `targets()`.
        level: "clean", the same outputs bit for bit; "fuse", up to rounding.
        opset: Of the result; 0: the model's.
        only: Passes to run, by name (`optimize_passes`); all by default.
        skip: Passes not to run.
        max_growth: Bytes that folded constants may add to the file.
        constant_weights: Initializers that are inputs too become constants.
        explain: Count the bytes that nodes move; `to_text(explain=True)` also says why the remaining patterns were not fused.
        check: Compare the result with the original.
        inputs: For the check: arrays by input name; the rest is drawn.
        values: For the check: elements of small inputs.
        seed: Of what is drawn.
        external: Where weights go: "keep", "single" or "inline".
        rename: Other names for sizes.
        in_place: Allow `path` to be the file that the model was loaded from.

    Returns:
        The report and the model.

    Raises:
        InvalidArgument: an unknown pass or target, or an opset that cannot express a node.

    Examples:
        >>> smaller = thaw.optimize("tower.onnx", target="ort")
        >>> smaller.accepted, smaller.nodes_after < smaller.nodes_before
        (True, True)
    """
    options = _thaw.OptimizeOptions()
    _thaw.set_target(target.lower(), options)
    options.level = choice(_thaw.OptimizeLevel, level)
    options.opset, options.only, options.skip = opset, many(only), many(skip)
    options.max_growth, options.constant_weights, options.check = max_growth, constant_weights, check
    options.count_moved = explain
    options.feeds = feeds(inputs, values, seed)
    return _thaw.optimize(load(model), options, output(path, external, rename, in_place))


@verb
def optimize_passes() -> list[_thaw.OptimizePass]:
    """The passes of `optimize`, in the order in which they run.

    Examples:
        >>> "attention" in [each.name for each in thaw.optimize_passes()]
        True
    """
    return _thaw.optimize_passes()


@verb
def pin(model: ModelLike, path: PathLike | None = None, *, sizes: Sizes = "", inputs_as_constants: Inputs | None = None,
        values: Values | None = None, max_growth: int = 0, check: bool = True, inputs: Inputs | None = None,
        check_values: Values | None = None, seed: int = 0, external: str = "keep", rename: Mapping[str, str] | None = None, in_place: bool = False) -> _thaw.PinResult:
    """Makes a model static, at chosen sizes.

    Args:
        model: The model.
        path: Where an accepted result is written; None: nowhere.
        sizes: Of inputs: {"batch": 1, "height": 336}.
        inputs_as_constants: Inputs that become constants, as arrays.
        values: The same, as elements of small inputs.
        max_growth: Bytes that folded constants may add to the file.
        check: Compare the result with the original at the sizes.
        inputs: For the check: arrays by input name; the rest is drawn.
        check_values: For the check: elements of small inputs that stay.
        seed: Of what is drawn.
        external: Where weights go: "keep", "single" or "inline".
        rename: Other names for sizes.
        in_place: Allow `path` to be the file that the model was loaded from.

    Returns:
        The report and the model; `dynamic_axes` are those that are dynamic still, and why.

    Raises:
        InvalidArgument: an unknown size or input, or sizes that the model cannot run at.

    Examples:
        >>> pinned = thaw.pin("tower.onnx", sizes="batch=1,seq=64")
        >>> pinned.accepted, pinned.model.inputs[0].dims
        (True, ['1', '64', '64'])
    """
    options = _pinned(named_sizes(sizes), inputs_as_constants, values, max_growth, check, inputs, check_values, seed)
    return _thaw.pin(load(model), options, output(path, external, rename, in_place))


def _pinned(sizes: list[tuple[str, int]], inputs_as_constants: Inputs | None, values: Values | None, max_growth: int, check: bool,
            inputs: Inputs | None, check_values: Values | None, seed: int) -> _thaw.PinOptions:
    made = _thaw.PinOptions()
    made.sizes, made.values = sizes, feeds(inputs_as_constants, values, 0)
    made.max_growth, made.check, made.feeds = max_growth, check, feeds(inputs, check_values, seed)
    return made


@verb
def pin_each(model: ModelLike, path: PathLike | None = None, *, sizes: str | Sequence[Sizes], inputs_as_constants: Inputs | None = None,
             values: Values | None = None, max_growth: int = 0, check: bool = True, inputs: Inputs | None = None,
             check_values: Values | None = None, seed: int = 0, external: str = "keep", rename: Mapping[str, str] | None = None,
             in_place: bool = False) -> _thaw.PinnedModels:
    """Makes several static models of one, which share a data file.

    Args:
        model: The model.
        path: A name to which the sizes of each are added, "vision.onnx" for "vision_height-336.onnx"; None: nothing is written.
        sizes: Those of each model: [{"height": 320}, {"height": 640}], "height=320|640" or "h=320,w=480; h=640,w=960".
        inputs_as_constants: As `pin` has it, of all.
        values: As `pin` has it, of all.
        max_growth: Bytes that folded constants may add to each file.
        check: Compare each result with the original.
        inputs: For the check: arrays by input name; the rest is drawn.
        check_values: For the check: elements of small inputs that stay.
        seed: Of what is drawn.
        external: Where weights go: "keep", "single" or "inline".
        rename: Other names for sizes.
        in_place: Allow a path to be the file that the model was loaded from.

    Returns:
        A report for each model; all are written, or none.

    Raises:
        InvalidArgument: as `pin` does, and where two names are equal.
    """
    points = _thaw.parse_points(sizes) if isinstance(sizes, str) else [named_sizes(each) for each in sizes]
    options = [_pinned(list(point), inputs_as_constants, values, max_growth, check, inputs, check_values, seed) for point in points]
    return _thaw.pin_each(load(model), options, output(path, external, rename, in_place))


@verb
def split(model: ModelLike, folder: PathLike | None = None, *, at: Sequence[str] | Sequence[Sequence[str]] = (),
          outputs: Iterable[str] = (), parts: int = 2, balance: str = "bytes", sizes: Sizes = "", check: bool = True,
          inputs: Inputs | None = None, values: Values | None = None, seed: int = 0, external: str = "keep",
          rename: Mapping[str, str] | None = None) -> _thaw.SplitResult:
    """Splits a model into parts that run in sequence.

    Args:
        model: The model.
        folder: For part_1.onnx, part_2.onnx, …; with `outputs` a file; None: nothing is written.
        at: For each cut the tensor that crosses it, or the tensors.
        outputs: Outputs of the only part, which has the nodes that these tensors depend on.
        parts: How many, where no cut is given.
        balance: Of chosen cuts: "bytes" or "flops".
        sizes: For the operations of chosen cuts; others are 64.
        check: Compare the parts, run in sequence, with the original.
        inputs: For the check: arrays by input name; the rest is drawn.
        values: For the check: elements of small inputs.
        seed: Of what is drawn.
        external: Where weights go: "keep", "single" or "inline".
        rename: Other names for sizes.

    Returns:
        The report and the parts.

    Raises:
        InvalidArgument: a tensor that does not exist, or that no cut can pass.

    Examples:
        >>> cut = thaw.split("tower.onnx", "parts", parts=2)
        >>> sorted(path.name for path in Path("parts").glob("*.onnx"))
        ['part_1.onnx', 'part_2.onnx']
    """
    options = _thaw.SplitOptions()
    options.at = [[cut] if isinstance(cut, str) else list(cut) for cut in at]
    options.outputs, options.parts, options.balance = list(outputs), parts, choice(_thaw.SplitBalance, balance)
    options.sizes, options.check, options.feeds = named_sizes(sizes), check, feeds(inputs, values, seed)
    return _thaw.split(load(model), options, output(folder, external, rename, False))


@verb
def cut_points(model: ModelLike, *, sizes: Sizes = "") -> list[_thaw.CutPoint]:
    """Cuts that few elements cross: about a dozen at most, spread over the weights.

    Args:
        model: The model.
        sizes: For bytes and operations; others are 64.

    Returns:
        The cuts, in node order.

    Examples:
        >>> len(thaw.cut_points("tower.onnx")) > 2
        True
    """
    return _thaw.cut_points(load(model), named_sizes(sizes))
