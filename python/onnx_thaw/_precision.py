"""Verbs about numbers of fewer bits: convert to them, measure the error, plan within a limit."""
from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnx_thaw import _thaw
from onnx_thaw._calls import verb
from onnx_thaw._errors import InvalidArgument
from onnx_thaw._models import ModelLike, load
from onnx_thaw._options import Inputs, PathLike, Values, choice, feeds, many, output, paths, shard_of, word

if TYPE_CHECKING:
    import distributed


def _blocks(block: int, symmetric: bool, real_zeros: bool, accuracy_level: int) -> _thaw.BlockOptions:
    made = _thaw.BlockOptions()
    made.block, made.symmetric, made.real_zeros, made.accuracy_level = block, symmetric, real_zeros, accuracy_level
    return made


def _int8(dynamic: bool, range: str, percentile: float, per_tensor: bool, symmetric_activations: bool, signed_activations: bool,
          asymmetric_weights: bool, unsigned_weights: bool, reduced_range: bool, smooth: float, equalize: bool,
          activation_products: bool, correct_bias: bool) -> _thaw.Int8Options:
    made = _thaw.Int8Options()
    made.dynamic, made.range, made.percentile = dynamic, choice(_thaw.RangeMethod, range), percentile
    made.per_channel, made.symmetric_weights = not per_tensor, not asymmetric_weights
    made.symmetric_activations, made.unsigned_activations = symmetric_activations, not signed_activations
    made.unsigned_weights, made.reduced_range, made.smooth = unsigned_weights, reduced_range, smooth
    made.equalize, made.activation_products, made.correct_bias = equalize, activation_products, correct_bias
    return made


@verb
def convert(model: ModelLike, path: PathLike | None = None, *, to: str = "keep", plan: PathLike | None = None,
            data: PathLike | None = None, held_out: PathLike | None = None, preprocessing: Iterable[str] = (),
            prompt: str | Iterable[str] = (), tokens: Iterable[Iterable[int]] = (), files: PathLike | Iterable[PathLike] = (),
            files_per_prompt: int = 1, clips: Iterable[PathLike | Iterable[PathLike]] = (), fps: float | None = None,
            checkpoint: PathLike | None = None, max_new_tokens: int = 16,
            keep: str | Iterable[str] = (), method: str | None = None, block: int = 32, symmetric: bool = False,
            real_zeros: bool = False, accuracy_level: int = 0, form: str | None = None, dynamic: bool = False,
            range: str = "min-max", percentile: float = 99.999, per_tensor: bool = False, symmetric_activations: bool = False,
            signed_activations: bool = False, asymmetric_weights: bool = False, unsigned_weights: bool = False,
            reduced_range: bool = False, smooth: float = 0.0, equalize: bool = False, activation_products: bool = False,
            correct_bias: bool = False, io: str = "keep", optimize: bool = True, target: str | None = None,
            constant_weights: bool = False, check: bool = True, inputs: Inputs | None = None, values: Values | None = None,
            seed: int = 0, external: str = "keep", rename: Mapping[str, str] | None = None,
            in_place: bool = False) -> _thaw.ConvertResult:
    """Converts a model to fewer bits, and measures the accuracy of each output and each layer.

    Args:
        model: The model.
        path: Where an accepted result is written; None: nowhere.
        to: "f16", "bf16", "int8", "int4", "int3", "int2" or "int8-blocks".
        plan: A plan of `plan`, with a precision for each node. `to` is for the nodes that it does not name, where it
            has no default of another type.
        data: Calibration samples: a folder of .npz files, images or recordings, or one .npz file.
        held_out: Samples that judge the result, and that no choice depends on.
        preprocessing: How images or recordings become inputs: options of `thaw inputs`, such as "--resize=height:48".
        prompt: Instead of `data`, of a model in a folder that `build` wrote with `kv_cache`: users' messages, one for each sample.
        tokens: Instead, whole prompts as token ids.
        files: The images or recordings of the prompts; those of one go with all of them.
        files_per_prompt: So many of these in a row go with one prompt.
        clips: Of Qwen: the frames of each prompt's clip, in their order; one goes with all of them.
        fps: Frames per second of the clips.
        checkpoint: The folder with config.json and tokenizer; by default that of the model.
        max_new_tokens: At most so many tokens of each answer are fed.
        keep: Shell patterns of nodes and operators that stay unchanged.
        method: Of blocks: "rtn", "search", "hqq", "gptq" (Frantar et al. 2022) or "awq" (Lin et al. 2023); None: "gptq" with samples
            for 2 to 4 bits, else "search".
        block: Weights that share a scale: 16, 32, 64, 128 or 256.
        symmetric: Blocks without zero points.
        real_zeros: Zero points of blocks in the scales' dtype, which MatMulNBits takes with 2, 3 and 4 bits.
        accuracy_level: Of MatMulNBits: 0 the kernel's choice, 1 float32, 2 float16, 3 bfloat16, 4 INT8 activations.
        form: Of blocks: "matmulnbits", or "qdq", ONNX's DequantizeLinear; None: what `target` takes.
        dynamic: INT8 with scales that are measured in each run.
        range: Of INT8 activations: "min-max", "percentile", "entropy" or "mse".
        percentile: Of "percentile": the share of values within the range, 50 to 100.
        per_tensor: INT8: one scale for each weight, not for each output channel.
        symmetric_activations: INT8: no zero points of activations.
        signed_activations: INT8: int8 activations, not uint8.
        asymmetric_weights: INT8: zero points of weights.
        unsigned_weights: INT8: uint8 weights, not int8.
        reduced_range: INT8: weights of 7 bits, for processors without VNNI.
        smooth: INT8: alpha of SmoothQuant (Xiao et al. 2022), 0 to 1; 0: off.
        equalize: INT8: cross-layer equalization of convolutions (Nagel et al. 2019).
        activation_products: INT8: products of two activations too, as in attention; with `data`.
        correct_bias: INT8: bias correction (Nagel et al. 2019).
        io: "convert" inputs and outputs too, or "keep" them.
        optimize: Run `optimize` first.
        target: Whose operators and forms the result may have: one of `targets()`; None: "portable", but for the form of blocks.
            Zero points are left out where the target takes none.
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

    Raises:
        InvalidArgument: options that contradict each other, patterns in `keep` that match no node, and what `target` does not
            take.

    Examples:
        >>> small = thaw.convert("tower.onnx", to="int4", data="samples", held_out="held_out")
        >>> small.accepted, round(small.comparisons[0].sqnr_db)
        (True, 17)
    """
    options = _thaw.ConvertOptions()
    options.prompts = _prompts(prompt, tokens, files, files_per_prompt, clips, fps, checkpoint, max_new_tokens)
    options.precision.to = choice(_thaw.NumberFormat, to)
    blocks = _blocks(block, symmetric, real_zeros, accuracy_level)
    if method is not None:
        blocks.method = choice(_thaw.BlockMethod, method)
    elif plan is None:
        blocks.method = _thaw.default_method(options.precision.to, data is not None or options.prompts.any, real_zeros)
    options.precision.blocks = blocks
    options.precision.int8 = _int8(dynamic, range, percentile, per_tensor, symmetric_activations, signed_activations,
                                   asymmetric_weights, unsigned_weights, reduced_range, smooth, equalize, activation_products,
                                   correct_bias)
    options.precision = _thaw.default_precision(options.precision, (target or "").lower())
    if form is not None:
        options.precision.blocks.form = choice(_thaw.BlockForm, form)
    if plan is not None:
        _thaw.read_plan(Path(plan), options, model if isinstance(model, (str, os.PathLike)) else "")
    options.keep, options.convert_io, options.optimize = many(keep), word("io", io, {"convert": True, "keep": False}), optimize
    if target is not None:
        _thaw.set_target(target.lower(), options)
    options.constant_weights, options.check = constant_weights, check
    if data is not None:
        options.data = Path(data)
    if held_out is not None:
        options.held_out = Path(held_out)
    options.preprocessing = list(preprocessing)
    options.feeds = feeds(inputs, values, seed)
    return _thaw.convert(load(model), options, output(path, external, rename, in_place))


@verb
def sensitivity(model: ModelLike, folder: PathLike | None = None, *, data: PathLike | None = None,
                to: str | Iterable[str] = "int8-blocks", prompt: str | Iterable[str] = (), tokens: Iterable[Iterable[int]] = (),
                files: PathLike | Iterable[PathLike] = (), files_per_prompt: int = 1, clips: Iterable[PathLike | Iterable[PathLike]] = (), fps: float | None = None,
                checkpoint: PathLike | None = None, max_new_tokens: int = 16,
                preprocessing: Iterable[str] = (), outputs: Iterable[str] = (), keep: str | Iterable[str] = (),
                metric: str | None = None, mode: str = "exact", exact_below: float = 3e9, group: str = "node", only_in: bool = False,
                method: str | None = None, block: int = 32, symmetric: bool = False, real_zeros: bool = False,
                accuracy_level: int = 0, dynamic: bool = False, range: str = "min-max", percentile: float = 99.999,
                per_tensor: bool = False, symmetric_activations: bool = False, signed_activations: bool = False,
                asymmetric_weights: bool = False, unsigned_weights: bool = False, reduced_range: bool = False, smooth: float = 0.0,
                equalize: bool = False, activation_products: bool = False, correct_bias: bool = False, target: str | None = None,
                optimize: bool = True, max_memory: int = 1 << 30, seed: int = 0, resume: bool = False,
                shard: tuple[int, int] | None = None, progress: Callable[[int, int], None] | None = None,
                client: distributed.Client | None = None, shards: int | None = None, retries: int = 2) -> _thaw.SensitivityReport:
    """Measures the error of the outputs when one node is converted, or all but one.

    Args:
        model: The model; or the folder of models that `build` wrote with `kv_cache`, whose nodes are ranked by what they do to the
            tokens that it answers prompts with.
        folder: For the report, its page and the journal; None: none.
        data: Samples of a model: a folder of .npz files, or of images or recordings with `preprocessing`.
        to: Precisions; each node is measured in each.
        prompt: Of a folder of models: users' messages, one for each sample.
        tokens: Instead, whole prompts as token ids.
        files: The images or recordings of the prompts; those of one go with all of them.
        files_per_prompt: So many of these in a row go with one prompt.
        clips: Of Qwen: the frames of each prompt's clip, in their order; one goes with all of them.
        fps: Frames per second of the clips.
        checkpoint: The folder with config.json and tokenizer; by default that of the models.
        max_new_tokens: At most so many tokens of each answer are compared.
        preprocessing: Options of `thaw inputs`.
        outputs: Outputs to compare; by default all of floating point.
        keep: Shell patterns of nodes and operators that stay unchanged.
        metric: "mse", "cosine", "kl" (nats) or "sqnr" (dB), for ranking; all are measured. None: "mse", of a folder of models "kl".
        mode: "exact" measures every node; "fast" predicts, and measures the worst and the uncertain.
        exact_below: In fast mode every node is measured where each takes fewer floating-point operations.
        group: "node", "attention" or "layer": what is converted together.
        only_in: Measure each node in the original only, not in the converted model too.
        method: Of blocks: "rtn", "search", "hqq", "gptq" or "awq"; None: "search".
        block: Weights that share a scale: 16, 32, 64, 128 or 256.
        symmetric: Blocks without zero points.
        real_zeros: Zero points of blocks in the scales' dtype.
        accuracy_level: Of MatMulNBits, 0 to 4, as `convert` has it.
        dynamic: INT8 with scales that are measured in each run.
        range: Of INT8 activations: "min-max", "percentile", "entropy" or "mse".
        percentile: Of "percentile": the share of values within the range, 50 to 100.
        per_tensor: INT8: one scale for each weight, not for each output channel.
        symmetric_activations: INT8: no zero points of activations.
        signed_activations: INT8: int8 activations, not uint8.
        asymmetric_weights: INT8: zero points of weights.
        unsigned_weights: INT8: uint8 weights, not int8.
        reduced_range: INT8: weights of 7 bits.
        smooth: INT8: alpha of SmoothQuant, 0 to 1; 0: off.
        equalize: INT8: cross-layer equalization of convolutions.
        activation_products: INT8: products of two activations too.
        correct_bias: INT8: bias correction.
        target: Whose operators and forms the result may have: one of `targets()`; None: "portable", but for the form of blocks.
            Zero points are left out where the target takes none.
        optimize: Run `optimize` first.
        max_memory: Bytes of activations in memory; the rest is on disk.
        seed: Of the bootstrap, and of what is drawn.
        resume: Take measurements of the same run from the journal in `folder`.
        shard: (I, N): measure every N-th unit, from the I-th; `merge_reports` puts the reports together.
        progress: Called with runs of nodes done and in total.
        client: Of a Dask cluster, whose workers measure shards; each with the threads and the memory of its worker.
        shards: With `client`, how many; by default one for each worker.
        retries: With `client`, how often a shard is measured again whose process was ended. That of a lost worker always is.

    Returns:
        The report; `plan` makes plans of it. With `client` it is the same, but in mode "fast", which predicts within a shard.

    Raises:
        InvalidArgument: there are no samples, or they do not match the inputs; an unknown output.
        RuntimeFailed: the original does not run.

    Examples:
        >>> report = thaw.sensitivity("tower.onnx", data="samples", to=["int4", "int8-blocks"])
        >>> report.units[0].nodes, report.units[0].bytes
        (['blocks.0.attn.q_proj/MatMul'], 16384)
    """
    options = _thaw.SensitivityOptions()
    precision = _thaw.PrecisionOptions()
    precision.blocks = _blocks(block, symmetric, real_zeros, accuracy_level)
    if method is not None:
        precision.blocks.method = choice(_thaw.BlockMethod, method)
    precision.int8 = _int8(dynamic, range, percentile, per_tensor, symmetric_activations, signed_activations, asymmetric_weights,
                           unsigned_weights, reduced_range, smooth, equalize, activation_products, correct_bias)
    options.precisions = [_thaw.default_precision(_in(precision, each), (target or "").lower()) for each in many(to)]
    is_folder = isinstance(model, (str, os.PathLike)) and os.path.isdir(model)
    if data is not None:
        options.data = Path(data)
    options.prompts = _prompts(prompt, tokens, files, files_per_prompt, clips, fps, checkpoint, max_new_tokens)
    options.preprocessing = list(preprocessing)
    options.outputs, options.keep = list(outputs), many(keep)
    options.metric = _thaw.default_metric(is_folder) if metric is None else choice(_thaw.ErrorMetric, metric)
    options.mode = choice(_thaw.SensitivityMode, mode)
    options.exact_below, options.group, options.one_out = exact_below, choice(_thaw.SensitivityGroup, group), not only_in
    options.optimize = optimize
    if target is not None:
        _thaw.set_target(target.lower(), options)
    options.max_memory, options.seed, options.resume = max_memory, seed, resume
    if shard is not None:
        options.shard, options.shards = shard_of(shard)
    if client is not None:
        if shard is not None:
            raise InvalidArgument("a shard is measured here, and a client measures all of them; give one of both")
        if data is None and not is_folder:
            raise InvalidArgument("there are no samples for the workers; expected data, or a folder of models with prompts")
        from onnx_thaw import _dask
        asked: dict[str, Any] = {}
        if is_folder:
            own = None if checkpoint is None else Path(checkpoint).absolute()
            asked = {"prompt": many(prompt), "tokens": [list(each) for each in tokens], "files": [each.absolute() for each in paths(files)],
                     "files_per_prompt": files_per_prompt, "clips": [[each.absolute() for each in paths(clip)] for clip in clips], "fps": fps,
                     "checkpoint": own, "max_new_tokens": max_new_tokens}
        measure = partial(sensitivity, to=many(to), preprocessing=list(preprocessing), outputs=list(outputs), keep=many(keep),
                          metric=metric, mode=mode, exact_below=exact_below, group=group, only_in=only_in, method=method, block=block,
                          symmetric=symmetric, real_zeros=real_zeros, accuracy_level=accuracy_level, dynamic=dynamic, range=range,
                          percentile=percentile, per_tensor=per_tensor, symmetric_activations=symmetric_activations,
                          signed_activations=signed_activations, asymmetric_weights=asymmetric_weights,
                          unsigned_weights=unsigned_weights, reduced_range=reduced_range, smooth=smooth, equalize=equalize,
                          activation_products=activation_products, correct_bias=correct_bias, target=target, optimize=optimize,
                          max_memory=max_memory, seed=seed, **asked)
        return _dask.sensitivity(client, measure, model, Path(folder) if folder is not None else None,
                                 None if data is None else Path(data), list(preprocessing), shards, retries, resume, progress,
                                 _dask.read_with(asked))
    if progress is not None:
        options.progress = progress
    if is_folder and isinstance(model, (str, os.PathLike)):
        return _thaw.sensitivity_of_folder(Path(model), options, Path(folder) if folder is not None else "")
    return _thaw.sensitivity(load(model), options, Path(folder) if folder is not None else "")


def _prompts(prompt: str | Iterable[str], tokens: Iterable[Iterable[int]], files: PathLike | Iterable[PathLike], files_per_prompt: int,
             clips: Iterable[PathLike | Iterable[PathLike]], fps: float | None, checkpoint: PathLike | None,
             max_new_tokens: int) -> _thaw.PromptOptions:
    made = _thaw.PromptOptions()
    made.files_per_prompt, made.clips, made.frame_rate = files_per_prompt, [paths(each) for each in clips], fps
    made.prompts, made.tokens, made.files = many(prompt), [list(each) for each in tokens], paths(files)
    made.answer_tokens = max_new_tokens
    if checkpoint is not None:
        made.checkpoint = Path(checkpoint)
    return made


def _in(precision: _thaw.PrecisionOptions, to: str) -> _thaw.PrecisionOptions:
    made = _thaw.PrecisionOptions()
    made.to, made.blocks, made.int8 = choice(_thaw.NumberFormat, to), precision.blocks, precision.int8
    return made


@verb
def merge_reports(reports: PathLike | Iterable[PathLike], folder: PathLike | None = None) -> _thaw.SensitivityReport:
    """Puts the reports of all shards of one run of `sensitivity` together.

    Args:
        reports: Their folders.
        folder: For the merged report; None: none.

    Returns:
        The report of the whole run.

    Raises:
        InvalidArgument: they are of different runs, or a unit is missing.
    """
    return _thaw.merge_reports(paths(reports), Path(folder) if folder is not None else "")


@verb
def plan(report: _thaw.SensitivityReport | PathLike, path: PathLike | None = None, *, max_bytes: int | None = None,
         max_error: float | None = None, target_sqnr: float | None = None, model: PathLike | None = None,
         data: PathLike | None = None, preprocessing: Iterable[str] = (), prompt: str | Iterable[str] = (),
         tokens: Iterable[Iterable[int]] = (), files: PathLike | Iterable[PathLike] = (),
         files_per_prompt: int = 1, clips: Iterable[PathLike | Iterable[PathLike]] = (), fps: float | None = None,
         checkpoint: PathLike | None = None,
         max_new_tokens: int = 16, check: bool = True, file_format: str = "thaw") -> _thaw.PlanResult:
    """The plan with least error within a number of bytes, or with fewest bytes within an error.

    Args:
        report: A report of `sensitivity`, or its folder, whose page is written again with a plan that is written.
        path: Where the plan is written, for `convert` or what `file_format` says; None: nowhere.
        max_bytes: Of all constants.
        max_error: In the report's metric.
        target_sqnr: In dB. Exactly one of the three is given.
        model: The model; by default that of the report.
        data: Samples to measure plans on; by default those of the report.
        preprocessing: How images or recordings become inputs: options of `thaw inputs`; by default those of the report.
        prompt: Of a folder of models: messages to measure plans on; by default those of the report.
        tokens: Instead, whole prompts as token ids.
        files: The images or recordings of the prompts; those of one go with all of them.
        files_per_prompt: So many of these in a row go with one prompt.
        clips: Of Qwen: the frames of each prompt's clip, in their order; one goes with all of them.
        fps: Frames per second of the clips.
        checkpoint: The folder with config.json and tokenizer; by default that of the report.
        max_new_tokens: At most so many tokens of each answer are compared.
        check: Measure plans; else use predictions, and run nothing.
        file_format: What reads the file: "thaw", or the quantizer of "ort" (ONNX Runtime), "olive", "inc" (Neural Compressor 2) or
            "modelopt" (NVIDIA). Its nodes are those that `optimize` makes of the model, where the report says that it ran first.

    Returns:
        The plan, predicted and measured.

    Raises:
        InvalidArgument: no plan is within the limit; the message names the least possible. Nodes without names, for other quantizers.
        Unsupported: a precision that the quantizer lacks.

    Examples:
        >>> report = thaw.sensitivity("tower.onnx", data="samples", to=["int4", "int8-blocks"])
        >>> best = thaw.plan(report, "plan.json", max_bytes=150_000, data="held_out")
        >>> best.accepted, best.measured.bytes <= 150_000
        (True, True)
        >>> thaw.convert("tower.onnx", plan="plan.json", data="samples").accepted
        True
    """
    options = _thaw.BestPlanOptions()
    options.within.max_bytes, options.within.max_error, options.within.min_sqnr = max_bytes, max_error, target_sqnr
    if model is not None:
        options.model = Path(model)
    if data is not None:
        options.data = Path(data)
    options.preprocessing, options.check = list(preprocessing), check
    options.prompts = _prompts(prompt, tokens, files, files_per_prompt, clips, fps, checkpoint, max_new_tokens)
    options.format = choice(_thaw.PlanFormat, file_format)
    if isinstance(report, _thaw.SensitivityReport):
        read = report
    else:
        read = _thaw.read_report(Path(report))
        if path is not None and Path(report).is_dir():
            options.report = Path(report)
    return _thaw.best_plan(read, options, Path(path) if path is not None else "")
