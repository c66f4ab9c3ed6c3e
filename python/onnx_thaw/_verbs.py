"""The verbs: one function for each subcommand of `thaw`, with keyword options of the same names.

Models may be given as paths, bytes, `onnx.ModelProto`, `onnx_ir.Model` or `Model`; they are never changed. Sizes are written as the
command takes them, "height=320..640:32,width=224", or as a dict, {"height": range(320, 641, 32), "width": 224}. Every function raises
an `Error` where it cannot do what it was asked for; a result that may not be used is returned, with `accepted` false and the reason.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from onnx_thaw import _thaw
from onnx_thaw._calls import verb
from onnx_thaw._models import ModelLike, as_file, load
from onnx_thaw._options import Inputs, PathLike, Sizes, choice, feeds, many, named_sizes, output, paths, text_of_sizes

Values = Mapping[str, Iterable[int]]


class Inspection:
    """What `inspect` found: dims of every tensor as expressions of the inputs' sizes.

    Attributes:
        found: inputs, outputs, tensors, symbols, problems and counts.
    """

    def __init__(self, model: _thaw.Model, options: _thaw.InspectOptions) -> None:
        self._model = model
        self._options = options
        self.found: _thaw.Inspection = _thaw.inspect(model, options)

    @property
    def inputs(self) -> list[_thaw.TensorInfo]:
        """Inputs with their dims."""
        return self.found.inputs

    @property
    def outputs(self) -> list[_thaw.TensorInfo]:
        """Outputs with their dims."""
        return self.found.outputs

    @property
    def tensors(self) -> list[_thaw.TensorInfo]:
        """Outputs of all nodes, in the file's order."""
        return self.found.tensors

    @property
    def symbols(self) -> list[_thaw.SizeSymbol]:
        """The sizes that dims are expressions of."""
        return self.found.symbols

    def to_json(self) -> str:
        """What `thaw inspect --format json` prints."""
        return _thaw.inspect_json(self._model, self._options)

    def to_text(self, *, all: bool = False) -> str:
        """What `thaw inspect` prints."""
        return _thaw.inspect_text(self._model, self._options, all)

    def to_html(self) -> str:
        """The graph as a page."""
        return _thaw.inspect_html(self._model, self._options)

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        from onnx_thaw._notebook import frame
        return frame(self.to_html())


@verb
def inspect(model: ModelLike, *, sizes: Sizes = "", tensors: bool = False, weights: bool = False, cost: bool = False,
            only: str = "") -> Inspection:
    """Describes a model without running it: dims of every tensor as expressions of the inputs' sizes.

    Args:
        model: The model.
        sizes: One number for each size that is known; the others stay symbols.
        tensors: List the elements of small integer tensors, and every tensor in text.
        weights: List the initializers.
        cost: Operations and bytes moved, as expressions of the sizes.
        only: Shell pattern for the names of listed tensors.

    Returns:
        What was found. No weight is read.

    Raises:
        InvalidArgument: a size that the model does not have.
    """
    options = _thaw.InspectOptions()
    options.sizes = named_sizes(sizes)
    options.tensors, options.weights, options.cost, options.only = tensors, weights, cost, only
    return Inspection(load(model), options)


@verb
def annotate(model: ModelLike, path: PathLike | None = None, *, external: str = "keep", rename: Mapping[str, str] | None = None,
             in_place: bool = False) -> _thaw.AnnotateResult:
    """Declares the inferred dims of all tensors, for viewers: expressions become dim_param. Nothing else changes."""
    return _thaw.annotate(load(model), output(path, external, rename, in_place))


@verb
def diff(a: ModelLike, b: ModelLike, *, weights: bool = True, infer: bool = True,
         progress: Callable[[int, int], None] | None = None) -> _thaw.ModelDiff:
    """Compares two models: inputs and outputs, opsets, nodes, attributes, weights, declared and inferred dims.

    Args:
        a: The first model.
        b: The second model.
        weights: Compare the elements of weights; else only their types.
        infer: Compare inferred dims.
        progress: Called with bytes of weights done and in total.

    Returns:
        The differences; `accepted` where there are none.
    """
    options = _thaw.DiffOptions()
    options.weights, options.infer = weights, infer
    if progress is not None:
        options.progress = progress
    return _thaw.diff(load(a), load(b), options)


@verb
def check(model: ModelLike, *, sizes: Sizes = "", target: str = "", select: str | Iterable[str] = (),
          ignore: str | Iterable[str] = (), run: bool = False, inputs: Inputs | None = None, values: Values | None = None,
          seed: int = 0) -> _thaw.CheckReport:
    """Finds errors in sizes, types and declarations, with cause and fix; and proves a model over ranges of sizes.

    Args:
        model: The model.
        sizes: Ranges to prove the model over: "batch=1..8,height=64..1024:32".
        target: "portable", "ort" or "directml": find what this backend does not support.
        select: Codes of rules that apply, or how they begin ("THAW03"); all by default.
        ignore: Codes of rules that do not apply.
        run: Run the model at the sizes that the proof finds to fail, and add the outcome to the finding.
        inputs: For these runs: arrays by input name; the rest is drawn.
        values: For these runs: elements of small inputs.
        seed: Of what is drawn.

    Returns:
        The findings; `accepted` where none is an error or a warning.

    Raises:
        InvalidArgument: an unknown code, size or target.
    """
    options = _thaw.CheckOptions()
    options.sizes, options.target, options.run = text_of_sizes(sizes), target, run
    options.only, options.ignore = many(select), many(ignore)
    options.feeds = feeds(inputs, values, seed)
    return _thaw.check(load(model), options)


@verb
def prove(statement: str) -> _thaw.SizeStatement:
    """Proves a statement on sizes for all values of its symbols, which are 0 or more.

    Args:
        statement: Conditions with ==, <=, >=, < or > between expressions, joined by "and"; what is given stands before "=>":
            "h % 32 == 0 and w <= h => floor(h/8) % 4 == 0".

    Returns:
        The verdict, with the smallest counterexample that was found.

    Raises:
        InvalidArgument: the text is no statement.
    """
    return _thaw.prove(statement)


@verb
def rules() -> list[_thaw.RuleInfo]:
    """The rules of `check`, sorted by code."""
    return _thaw.rules()


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
    """
    options = _thaw.FixOptions()
    options.sizes, options.chains = not keep_sizes, not keep_chains
    options.declarations, options.types = not keep_declarations, not keep_types
    options.check, options.feeds = check, feeds(inputs, values, seed)
    return _thaw.fix(load(model), options, output(path, external, rename, in_place))


@verb
def fix_with_reference(model: ModelLike, reference: PathLike, path: PathLike | None = None, *,
                       at: Mapping[str, Sequence[int]] | None = None, cases: Iterable[str] = (), tries: int = 200,
                       atol: float | None = None, rtol: float | None = None, external: str = "keep",
                       rename: Mapping[str, str] | None = None, in_place: bool = False) -> _thaw.FixReferenceResult:
    """Finds which integers of one static trace are sizes, and confirms them by what the true model computes at other sizes.

    Args:
        model: The trace.
        reference: An .npz file of inputs and outputs of the true model at other sizes.
        path: Where an accepted result is written; None: nowhere.
        at: The sizes of the export: elements of an input, or dims, by name.
        cases: Cases of the reference by name; all by default.
        tries: Candidates that are run at most.
        atol: Absolute tolerance; by default that of the outputs' type.
        rtol: Relative tolerance.
        external: Where weights go: "keep", "single" or "inline".
        rename: Other names for sizes.
        in_place: Allow `path` to be the file that the model was loaded from.

    Returns:
        The report and the model.
    """
    options = _thaw.FixReferenceOptions()
    options.at = {name: list(sizes) for name, sizes in (at or {}).items()}
    options.cases, options.most_tries = list(cases), tries
    options.tolerance = _tolerance(atol, rtol, None)
    return _thaw.fix_with_reference(load(model), Path(reference), options, output(path, external, rename, in_place))


@verb
def batch(model: ModelLike, path: PathLike | None = None, *, name: str = "batch", only: Iterable[str] = (), sample: Sizes = "",
          new_axis: bool = False, loop: bool = False, check: bool = True, inputs: Inputs | None = None, values: Values | None = None,
          seed: int = 0, external: str = "keep", rename: Mapping[str, str] | None = None,
          in_place: bool = False) -> _thaw.BatchResult:
    """Adds a batch axis to a model for one sample: element i of its outputs equals the original's output on sample i.

    Args:
        model: A model for one sample.
        path: Where an accepted result is written; None: nowhere.
        name: Of the batch size.
        only: Inputs that differ from sample to sample; all by default.
        sample: Sizes of one sample: {"input_dim0": 1}.
        new_axis: All inputs get a new first axis.
        loop: Operators without a batch rule run sample by sample, in a Scan.
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
    """
    options = _thaw.BatchOptions()
    options.name, options.inputs, options.sample = name, list(only), named_sizes(sample)
    options.new_axis, options.allow_loop, options.check = new_axis, loop, check
    options.feeds = feeds(inputs, values, seed)
    return _thaw.batch(load(model), options, output(path, external, rename, in_place))


@verb
def lift(traces: Sequence[PathLike], path: PathLike | None = None, *, trace_values: PathLike | Iterable[PathLike] = (),
         keep_static: Iterable[str] = (), check: bool = True, external: str = "keep", rename: Mapping[str, str] | None = None,
         in_place: bool = False) -> _thaw.LiftResult:
    """Makes one dynamic model of several static traces of a model.

    Args:
        traces: Files of traces that differ only where sizes were frozen.
        path: Where an accepted result is written; None: nowhere.
        trace_values: Files with the integer inputs' values: JSON, or an .npz called as its trace.
        keep_static: Constants, by name in the first trace, that stay as they are there.
        check: Compare the result with each trace.
        external: Where weights go: "keep", "single" or "inline".
        rename: Other names for sizes.
        in_place: Allow `path` to be one of the traces.

    Returns:
        The report, and the model where it is accepted.
    """
    given = []
    for trace in traces:
        one = _thaw.LiftTrace()
        one.model = Path(trace)
        given.append(one)
    options = _thaw.LiftOptions()
    options.values, options.keep_static, options.check = paths(trace_values), set(keep_static), check
    return _thaw.lift(given, options, output(path, external, rename, in_place))


@verb
def build(checkpoint: PathLike, folder: PathLike, *, part: str = "all", dtype: str = "f32", target: str = "portable", opset: int = 20,
          kv_cache: bool = False, genai: bool = False, pooling: str | None = None, lora: str = "vision",
          vision_input: str = "patches", method: str = "search", block: int = 32, symmetric: bool = False,
          rename: Mapping[str, str] | None = None, check: bool = True) -> _thaw.BuildReport:
    """Builds ONNX models from a checkpoint of transformers: vision towers, audio encoders, text decoders, embedding models.

    Args:
        checkpoint: A folder with config.json and *.safetensors.
        folder: Where <part>.onnx and <part>.onnx.data go; made where it is not there.
        part: "vision", "text", "audio", "embedding" or "all".
        dtype: "f32", "f16" or "bf16"; or of matrices alone "int4", "int4-f16" or "int8-blocks".
        target: "portable", "ort" or "directml".
        opset: 18 to 20.
        kv_cache: Of text: inputs past_key_values.*, outputs present.*.
        genai: What onnxruntime-genai loads; implies kv_cache.
        pooling: Of text: "none" or "last"; None: as the checkpoint says.
        lora: Of Phi-4-multimodal: "vision", "speech" or "none".
        vision_input: Of Qwen's towers: "patches" or "image".
        method: Of blocks: "rtn", "search" or "hqq".
        block: Weights that share a scale.
        symmetric: Blocks without zero points.
        rename: Other names for sizes.
        check: Load every part in ONNX Runtime before it is published; else small parts only.

    Returns:
        The report. Nothing is written before all parts are built.
    """
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
    options.target, options.lora = choice(_thaw.BuildTarget, target), choice(_thaw.Lora, lora)
    options.input = choice(_thaw.VisionInput, vision_input)
    if pooling is not None:
        options.pooling = choice(_thaw.Pooling, pooling)
    options.rename = list((rename or {}).items())
    return _thaw.build(Path(checkpoint), Path(folder), options)


@verb
def optimize(model: ModelLike, path: PathLike | None = None, *, target: str = "portable", level: str = "fuse", opset: int = 0,
             only: Iterable[str] = (), skip: Iterable[str] = (), max_growth: int = 0, constant_weights: bool = False,
             check: bool = True, inputs: Inputs | None = None, values: Values | None = None, seed: int = 0, external: str = "keep",
             rename: Mapping[str, str] | None = None, in_place: bool = False) -> _thaw.OptimizeResult:
    """Makes a model smaller and faster, for every size.

    Args:
        model: The model.
        path: Where an accepted result is written; None: nowhere.
        target: Whose operators the result may have: "portable", "ort" or "directml".
        level: "clean", the same outputs bit for bit; "fuse", up to rounding.
        opset: Of the result; 0: the model's.
        only: Passes to run, by name (`optimize_passes`); all by default.
        skip: Passes not to run.
        max_growth: Bytes that folded constants may add to the file.
        constant_weights: Initializers that are inputs too become constants.
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
        InvalidArgument: an unknown pass, or an opset that cannot express a node.
    """
    options = _thaw.OptimizeOptions()
    options.target, options.level = choice(_thaw.OptimizeTarget, target), choice(_thaw.OptimizeLevel, level)
    options.opset, options.only, options.skip = opset, many(only), many(skip)
    options.max_growth, options.constant_weights, options.check = max_growth, constant_weights, check
    options.feeds = feeds(inputs, values, seed)
    return _thaw.optimize(load(model), options, output(path, external, rename, in_place))


@verb
def optimize_passes() -> list[_thaw.OptimizePass]:
    """The passes of `optimize`, in the order in which they run."""
    return _thaw.optimize_passes()


def _precision(to: str, method: str | None, block: int, symmetric: bool, dynamic: bool, range_method: str, percentile: float,
               smooth: float, equalize: bool, correct_bias: bool) -> _thaw.PrecisionOptions:
    made = _thaw.PrecisionOptions()
    made.to = choice(_thaw.NumberFormat, to)
    if method is not None:
        made.blocks.method = choice(_thaw.BlockMethod, method)
    made.blocks.block, made.blocks.symmetric = block, symmetric
    made.int8.dynamic, made.int8.range = dynamic, choice(_thaw.RangeMethod, range_method)
    made.int8.percentile, made.int8.smooth = percentile, smooth
    made.int8.equalize, made.int8.correct_bias = equalize, correct_bias
    return made


@verb
def convert(model: ModelLike, path: PathLike | None = None, *, to: str = "keep", plan: PathLike | None = None,
            data: PathLike | None = None, held_out: PathLike | None = None, preprocessing: Iterable[str] = (),
            keep: str | Iterable[str] = (), method: str | None = None, block: int = 32, symmetric: bool = False,
            dynamic: bool = False, range: str = "min-max", percentile: float = 99.999, smooth: float = 0.0, equalize: bool = False,
            correct_bias: bool = False, io: str = "keep", optimize: bool = True, target: str = "portable",
            constant_weights: bool = False, check: bool = True, inputs: Inputs | None = None, values: Values | None = None,
            seed: int = 0, external: str = "keep", rename: Mapping[str, str] | None = None,
            in_place: bool = False) -> _thaw.ConvertResult:
    """Converts a model to fewer bits, and measures the accuracy of each output and each layer.

    Args:
        model: The model.
        path: Where an accepted result is written; None: nowhere.
        to: "f16", "bf16", "int8", "int4", "int3", "int2" or "int8-blocks".
        plan: A plan of `plan`, with a precision for each node, instead of `to`.
        data: Calibration samples: a folder of .npz files, images or recordings, or one .npz file.
        held_out: Samples that judge the result, and that no choice depends on.
        preprocessing: How images or recordings become inputs: options of `thaw inputs`, such as "--resize=height:48".
        keep: Shell patterns of nodes and operators that stay unchanged.
        method: Of blocks: "rtn", "search", "hqq", "gptq" or "awq"; None: "gptq" with samples for 2 to 4 bits, else "search".
        block: Weights that share a scale: 16, 32, 64, 128 or 256.
        symmetric: Blocks without zero points.
        dynamic: INT8 with scales that are measured in each run.
        range: Of INT8 activations: "min-max", "percentile", "entropy" or "mse".
        percentile: Of "percentile".
        smooth: Alpha of SmoothQuant, 0 to 1; 0: off.
        equalize: Cross-layer equalization of convolutions.
        correct_bias: Bias correction.
        io: "convert" inputs and outputs too, or "keep" them.
        optimize: Run `optimize` first.
        target: "portable", "ort" or "directml".
        constant_weights: Initializers that are inputs too become constants.
        check: Compare the result with the original.
        inputs: For the check: arrays by input name; the rest is drawn.
        values: For the check: elements of small inputs.
        seed: Of what is drawn.
        external: Where weights go: "keep", "single" or "inline".
        rename: Other names for sizes.
        in_place: Allow `path` to be the file that the model was loaded from.

    Returns:
        The report and the model. SQNR is 10 log10(sum x^2 / sum (x - y)^2), in dB.
    """
    options = _thaw.ConvertOptions()
    if method is None and data is not None and choice(_thaw.NumberFormat, to) in (
            _thaw.NumberFormat.INT4, _thaw.NumberFormat.INT3, _thaw.NumberFormat.INT2):
        method = "gptq"
    options.precision = _precision(to, method, block, symmetric, dynamic, range, percentile, smooth, equalize, correct_bias)
    if plan is not None:
        _thaw.read_plan(Path(plan), options)
    options.keep, options.convert_io, options.optimize = many(keep), io == "convert", optimize
    options.target, options.constant_weights, options.check = choice(_thaw.OptimizeTarget, target), constant_weights, check
    if data is not None:
        options.data = Path(data)
    if held_out is not None:
        options.held_out = Path(held_out)
    options.preprocessing = list(preprocessing)
    options.feeds = feeds(inputs, values, seed)
    return _thaw.convert(load(model), options, output(path, external, rename, in_place))


@verb
def pin(model: ModelLike, path: PathLike | None = None, *, sizes: Sizes = "", inputs_as_constants: Inputs | None = None,
        values: Values | None = None, max_growth: int = 0, check: bool = True, inputs: Inputs | None = None, seed: int = 0,
        external: str = "keep", rename: Mapping[str, str] | None = None, in_place: bool = False) -> _thaw.PinResult:
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
        seed: Of what is drawn.
        external: Where weights go: "keep", "single" or "inline".
        rename: Other names for sizes.
        in_place: Allow `path` to be the file that the model was loaded from.

    Returns:
        The report and the model; `dynamic_axes` are those that are dynamic still, and why.
    """
    options = _thaw.PinOptions()
    options.sizes, options.values = named_sizes(sizes), feeds(inputs_as_constants, values, 0)
    options.max_growth, options.check, options.feeds = max_growth, check, feeds(inputs, None, seed)
    return _thaw.pin(load(model), options, output(path, external, rename, in_place))


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
    """
    options = _thaw.SplitOptions()
    options.at = [[cut] if isinstance(cut, str) else list(cut) for cut in at]
    options.outputs, options.parts, options.balance = list(outputs), parts, choice(_thaw.SplitBalance, balance)
    options.sizes, options.check, options.feeds = named_sizes(sizes), check, feeds(inputs, values, seed)
    return _thaw.split(load(model), options, output(folder, external, rename, False))


@verb
def cut_points(model: ModelLike, *, sizes: Sizes = "") -> list[_thaw.CutPoint]:
    """Cuts that few elements cross, in node order."""
    return _thaw.cut_points(load(model), named_sizes(sizes))


@verb
def sensitivity(model: ModelLike, folder: PathLike | None = None, *, data: PathLike, to: str | Iterable[str] = "int8-blocks",
                preprocessing: Iterable[str] = (), outputs: Iterable[str] = (), keep: str | Iterable[str] = (),
                metric: str = "mse", mode: str = "exact", group: str = "node", one_out: bool = True, method: str | None = None,
                block: int = 32, dynamic: bool = False, target: str = "portable", optimize: bool = True,
                max_memory: int = 1 << 30, seed: int = 0, resume: bool = False,
                progress: Callable[[int, int], None] | None = None) -> _thaw.SensitivityReport:
    """Measures the error of the outputs when one node is converted, or all but one.

    Args:
        model: The model.
        folder: For the report, its page and the journal; None: none.
        data: Samples: a folder of .npz files, or of images or recordings with `preprocessing`.
        to: Precisions; each node is measured in each.
        preprocessing: Options of `thaw inputs`.
        outputs: Outputs to compare; by default all of floating point.
        keep: Shell patterns of nodes and operators that stay unchanged.
        metric: "mse", "cosine", "kl" (nats) or "sqnr" (dB), for ranking; all are measured.
        mode: "exact" measures every node; "fast" predicts, and measures the worst and the uncertain.
        group: "node", "attention" or "layer": what is converted together.
        one_out: Leave-one-out errors too, in exact mode.
        method: Of blocks.
        block: Weights that share a scale.
        dynamic: INT8 with scales that are measured in each run.
        target: "portable", "ort" or "directml".
        optimize: Run `optimize` first.
        max_memory: Bytes of activations in memory; the rest is on disk.
        seed: Of the bootstrap, and of what is drawn.
        resume: Take measurements of the same run from the journal in `folder`.
        progress: Called with runs of nodes done and in total.

    Returns:
        The report; `plan` makes plans of it.
    """
    options = _thaw.SensitivityOptions()
    options.precisions = [_precision(each, method, block, False, dynamic, "min-max", 99.999, 0, False, False) for each in many(to)]
    options.data, options.preprocessing = Path(data), list(preprocessing)
    options.outputs, options.keep = list(outputs), many(keep)
    options.metric, options.mode = choice(_thaw.ErrorMetric, metric), choice(_thaw.SensitivityMode, mode)
    options.group, options.one_out = choice(_thaw.SensitivityGroup, group), one_out
    options.target, options.optimize = choice(_thaw.OptimizeTarget, target), optimize
    options.max_memory, options.seed, options.resume = max_memory, seed, resume
    if progress is not None:
        options.progress = progress
    return _thaw.sensitivity(load(model), options, Path(folder) if folder is not None else "")


@verb
def plan(report: _thaw.SensitivityReport | PathLike, path: PathLike | None = None, *, max_bytes: int | None = None,
         max_error: float | None = None, target_sqnr: float | None = None, model: PathLike | None = None,
         data: PathLike | None = None, check: bool = True) -> _thaw.PlanReport:
    """The plan with least error within a number of bytes, or with fewest bytes within an error.

    Args:
        report: A report of `sensitivity`, or its folder.
        path: Where the plan is written, for `convert`; None: nowhere.
        max_bytes: Of all constants.
        max_error: In the report's metric.
        target_sqnr: In dB. Exactly one of the three is given.
        model: The model; by default that of the report.
        data: Samples to measure plans on; by default those of the report.
        check: Measure plans; else use predictions, and run nothing.

    Returns:
        The plan, predicted and measured.

    Raises:
        InvalidArgument: no plan is within the limit; the message names the least possible.
    """
    options = _thaw.BestPlanOptions()
    options.within.max_bytes, options.within.max_error, options.within.min_sqnr = max_bytes, max_error, target_sqnr
    if model is not None:
        options.model = Path(model)
    if data is not None:
        options.data = Path(data)
    options.check = check
    read = report if isinstance(report, _thaw.SensitivityReport) else _thaw.read_report(Path(report))
    return _thaw.best_plan(read, options, Path(path) if path is not None else "")


@verb
def inputs(files: PathLike | Iterable[PathLike], path: PathLike | None = None, *, preset: PathLike = "", model: PathLike | None = None,
           size: tuple[int, int] | None = None, min_pixels: int | None = None, max_pixels: int | None = None,
           text: str | None = None, fit: str | None = None, scale: float | None = None, mean: Iterable[float] = (),
           std: Iterable[float] = (), upright: bool = True) -> _thaw.PreparedInputs:
    """Prepares inputs of models from images and recordings.

    Args:
        files: Images or recordings.
        path: An .npz file for the arrays; None: none.
        preset: A checkpoint's folder, or a family: "qwen2_vl", "qwen2_5_vl", "qwen3_vl", "phi4_mm" or "qwen3_asr".
        model: Instead of a preset, any model with an image input.
        size: Width and height in pixels.
        min_pixels: Instead of the checkpoint's.
        max_pixels: Instead of the checkpoint's.
        text: The prompt, as the checkpoint's chat template writes it; gives input_ids and attention_mask.
        fit: With `model`: "keep", "stretch", "letterbox" or "height".
        scale: With `model`: element = (pixel * scale - mean) / std.
        mean: One number, or one for each channel.
        std: One number, or one for each channel.
        upright: Apply the EXIF orientation.

    Returns:
        The arrays by input name, and what was done with each file.
    """
    options = _thaw.InputsOptions()
    options.preset, options.upright, options.text = str(preset), upright, text
    options.min_pixels, options.max_pixels = min_pixels, max_pixels
    chosen = _thaw.ImageSize()
    if size is not None:
        chosen.width, chosen.height = size
    if model is not None:
        options.image_model.model, options.image_model.size = Path(model), chosen
        options.image_model.scale, options.image_model.mean, options.image_model.std = scale, list(mean), list(std)
        if fit is not None:
            options.image_model.fit = choice(_thaw.Fit, fit)
    elif size is not None:
        options.size = chosen
    return _thaw.inputs(paths(files), options, Path(path) if path is not None else "")


@verb
def generate(folder: PathLike, *, prompt: str = "", text: str | None = None, tokens: Iterable[int] = (),
             files: PathLike | Iterable[PathLike] = (), checkpoint: PathLike | None = None, max_new_tokens: int = 256,
             threads: int = 0, progress: Callable[[int, str], None] | None = None) -> _thaw.Generated:
    """Generates text with models that `build` wrote with `kv_cache`; greedy decoding.

    Args:
        folder: The folder of the models.
        prompt: The user's message, to which the chat template is applied.
        text: Instead, the whole prompt as the template writes it.
        tokens: Instead, the whole prompt as token ids.
        files: Images or recordings, in the order of the prompt.
        checkpoint: The folder with config.json and tokenizer; by default that of the models.
        max_new_tokens: At most so many.
        threads: Of ONNX Runtime; 0: one for each core.
        progress: Called for each token, with the text that it completes.

    Returns:
        Text, tokens and times in seconds.
    """
    options = _thaw.GenerateOptions()
    options.prompt, options.text, options.tokens = prompt, text, list(tokens)
    options.files, options.max_new_tokens, options.session.threads = paths(files), max_new_tokens, threads
    if checkpoint is not None:
        options.checkpoint = Path(checkpoint)
    if progress is not None:
        options.progress = progress
    return _thaw.generate(Path(folder), options)


@verb
def run(model: ModelLike, inputs: Inputs | None = None, *, values: Values | None = None, sizes: Sizes = "", random: bool = False,
        cast: bool = False, outputs: Iterable[str] = (), seed: int = 0, threads: int = 0,
        optimization: str = "all") -> _thaw.RunReport:
    """Runs a model once in ONNX Runtime.

    Args:
        model: The model.
        inputs: Arrays by input name.
        values: Elements of small inputs.
        sizes: Of inputs that are not given, which are drawn then.
        random: Draw inputs that are not given, at sizes that the model runs at.
        cast: Convert inputs of another dtype.
        outputs: Names of the outputs to return; all by default.
        seed: Of what is drawn.
        threads: Intra-op threads; 0: one for each core.
        optimization: "none", "basic", "extended" or "all".

    Returns:
        The outputs by name, the inputs, and the time of the run in seconds.

    Raises:
        InvalidArgument: an input is missing or does not match.
        RuntimeFailed: the model does not load or run.
    """
    options = _thaw.RunOptions()
    options.feeds, options.sizes, options.random = feeds(inputs, values, seed), text_of_sizes(sizes), random
    options.cast, options.outputs, options.session.threads = cast, list(outputs), threads
    options.session.optimization = choice(_thaw.Optimization, optimization)
    with as_file(model) as path:
        options.model = path
        return _thaw.run_model(options)


def _tolerance(atol: float | None, rtol: float | None, cosine: float | None) -> _thaw.Tolerance:
    made = _thaw.Tolerance()
    made.absolute, made.relative, made.cosine = atol, rtol, cosine
    return made


@verb
def verify(model: ModelLike, against: ModelLike, *, sizes: Sizes = "", points: int = 0, inputs: Inputs | None = None,
           values: Values | None = None, seed: int = 0, atol: float | None = None, rtol: float | None = None,
           cosine: float | None = None, outputs: Iterable[str] = (), mask: str = "", cast: bool = False, per_sample: bool = False,
           names: Mapping[str, str] | None = None, progress: Callable[[int, int], None] | None = None) -> _thaw.VerifyReport:
    """Compares a model with a reference: runs both on the same inputs at several sizes, and compares all outputs.

    Args:
        model: The model.
        against: The reference: a model, an .npz file of inputs and expected outputs, or a folder of such files.
        sizes: Sizes to run at; by default three that the reference runs at.
        points: How many to choose in wide ranges; 0: 6.
        inputs: Arrays by input name; the rest is drawn.
        values: Elements of small inputs.
        seed: Of what is drawn.
        atol: Outputs agree where |actual - expected| <= atol + rtol * |expected|; by default by type.
        rtol: Relative tolerance.
        cosine: The least cosine of the two as vectors.
        outputs: Outputs to compare; by default all that the reference has.
        mask: An input [batch, length] of ones and zeros; where it is 0 outputs [batch, length, …] are not compared.
        cast: Convert inputs of another dtype for the reference.
        per_sample: Run the reference once for each row along axis 0.
        names: Of inputs and outputs: the model's to the reference's, where they differ.
        progress: Called with points done and in total.

    Returns:
        The report; `accepted` where all outputs agree at all points.
    """
    options = _thaw.VerifyOptions()
    options.sweep, options.points, options.feeds = text_of_sizes(sizes), points, feeds(inputs, values, seed)
    options.tolerance, options.outputs, options.mask = _tolerance(atol, rtol, cosine), list(outputs), mask
    options.how.cast, options.how.per_sample, options.how.names = cast, per_sample, dict(names or {})
    if progress is not None:
        options.progress = progress
    with as_file(model) as path, as_file(against) as reference:
        options.model, options.reference = path, reference
        return _thaw.verify(options)
