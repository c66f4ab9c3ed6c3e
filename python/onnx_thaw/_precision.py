"""Verbs about numbers of fewer bits: convert to them, measure the error, plan within a limit."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from onnx_thaw import _thaw
from onnx_thaw._calls import verb
from onnx_thaw._errors import InvalidArgument
from onnx_thaw._models import ModelLike, load
from onnx_thaw._options import Inputs, PathLike, Values, choice, feeds, many, output, paths, shard_of

if TYPE_CHECKING:
    import distributed


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

    Examples:
        >>> small = thaw.convert("tower.onnx", to="int4", data="samples", held_out="held_out")
        >>> small.accepted, round(small.comparisons[0].sqnr_db)
        (True, 17)
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
def sensitivity(model: ModelLike, folder: PathLike | None = None, *, data: PathLike, to: str | Iterable[str] = "int8-blocks",
                preprocessing: Iterable[str] = (), outputs: Iterable[str] = (), keep: str | Iterable[str] = (),
                metric: str = "mse", mode: str = "exact", group: str = "node", one_out: bool = True, method: str | None = None,
                block: int = 32, dynamic: bool = False, target: str = "portable", optimize: bool = True,
                max_memory: int = 1 << 30, seed: int = 0, resume: bool = False, shard: tuple[int, int] | None = None,
                progress: Callable[[int, int], None] | None = None, client: distributed.Client | None = None,
                shards: int | None = None, retries: int = 2) -> _thaw.SensitivityReport:
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
        shard: (I, N): measure every N-th unit, from the I-th; `merge_reports` puts the reports together.
        progress: Called with runs of nodes done and in total.
        client: Of a Dask cluster, whose workers measure shards; each with the threads and the memory of its worker.
        shards: With `client`, how many; by default one for each worker.
        retries: With `client`, how often a shard is measured again whose process was ended. That of a lost worker always is.

    Returns:
        The report; `plan` makes plans of it. With `client` it is the same, but in mode "fast", which predicts within a shard.

    Examples:
        >>> report = thaw.sensitivity("tower.onnx", data="samples", to=["int4", "int8-blocks"])
        >>> report.units[0].nodes, report.units[0].bytes
        (['blocks.0.attn.q_proj/MatMul'], 16384)
    """
    options = _thaw.SensitivityOptions()
    options.precisions = [_precision(each, method, block, False, dynamic, "min-max", 99.999, 0, False, False) for each in many(to)]
    options.data, options.preprocessing = Path(data), list(preprocessing)
    options.outputs, options.keep = list(outputs), many(keep)
    options.metric, options.mode = choice(_thaw.ErrorMetric, metric), choice(_thaw.SensitivityMode, mode)
    options.group, options.one_out = choice(_thaw.SensitivityGroup, group), one_out
    options.target, options.optimize = choice(_thaw.OptimizeTarget, target), optimize
    options.max_memory, options.seed, options.resume = max_memory, seed, resume
    if shard is not None:
        options.shard, options.shards = shard_of(shard)
    if client is not None:
        if shard is not None:
            raise InvalidArgument("a shard is measured here, and a client measures all of them; give one of both")
        from onnx_thaw import _dask
        measure = partial(sensitivity, to=many(to), preprocessing=list(preprocessing), outputs=list(outputs), keep=many(keep),
                          metric=metric, mode=mode, group=group, one_out=one_out, method=method, block=block, dynamic=dynamic,
                          target=target, optimize=optimize, max_memory=max_memory, seed=seed)
        return _dask.sensitivity(client, measure, model, Path(folder) if folder is not None else None, Path(data),
                                 list(preprocessing), shards, retries, resume, progress)
    if progress is not None:
        options.progress = progress
    return _thaw.sensitivity(load(model), options, Path(folder) if folder is not None else "")


@verb
def merge_reports(reports: Iterable[PathLike], folder: PathLike | None = None) -> _thaw.SensitivityReport:
    """Merges the shards of one run of `sensitivity`.

    Args:
        reports: The folders that the shards wrote, all of them.
        folder: For the merged report and its page; None: none.

    Returns:
        The report, as one process makes it.

    Raises:
        InvalidArgument: they are of different runs, or nodes are missing.
    """
    return _thaw.merge_reports(paths(reports), Path(folder) if folder is not None else "")


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
    options.check = check
    read = report if isinstance(report, _thaw.SensitivityReport) else _thaw.read_report(Path(report))
    return _thaw.best_plan(read, options, Path(path) if path is not None else "")
