"""Verbs that run models, and the one that prepares their inputs."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from onnx_thaw import _thaw
from onnx_thaw._calls import verb
from onnx_thaw._models import ModelLike, path_or_model
from onnx_thaw._options import (
    Inputs,
    PathLike,
    Providers,
    Ranges,
    Sizes,
    Values,
    choice,
    feeds,
    paths,
    text_of_sizes,
    tolerance,
    word,
)
from onnx_thaw._options import providers as _providers


@verb
def inputs(files: PathLike | Iterable[PathLike], path: PathLike | None = None, *, preset: PathLike = "", model: PathLike | None = None,
           size: tuple[int, int] | None = None, min_pixels: int | None = None, max_pixels: int | None = None,
           resampler: str | None = None, whole_images: bool = False, clips: Iterable[Iterable[PathLike]] = (),
           fps: float | None = None, text: str | None = None, tokens: Iterable[int] = (), image_input: str = "",
           fit: str | None = None, place: str = "center", border: int = 114, scale: float | None = None,
           mean: Iterable[float] = (), std: Iterable[float] = (), layout: str | None = None, channels: str = "rgb",
           filter: str = "bilinear", upright: bool = True) -> _thaw.PreparedInputs:
    """Prepares inputs of models from images, clips and recordings.

    Args:
        files: Images or recordings.
        path: An .npz file for the arrays; None: none.
        preset: A checkpoint's folder, or a family: "qwen2_vl", "qwen2_5_vl", "qwen3_vl", "phi4_mm" or "qwen3_asr".
        model: Instead of a preset, any model with an image input.
        size: Width and height in pixels.
        min_pixels: Of Qwen: instead of the checkpoint's.
        max_pixels: Of Qwen: instead of the checkpoint's.
        resampler: "pillow", "torch" or "opencv": the library whose resizing is reproduced; None: "pillow", for phi4_mm "torch".
        whole_images: Of Qwen: `image` float32 [num_images, 3, height, width] instead of patches and their grid.
        clips: Of Qwen: the frames of each clip, in their order.
        fps: Frames per second of the clips.
        text: The prompt, as the checkpoint's chat template writes it; gives input_ids and attention_mask, int64 [1, seq].
        tokens: The same as token ids.
        image_input: With `model`: the input that takes the image, where several may.
        fit: With `model`: "keep", "stretch", "letterbox" or "height".
        place: Where the image is in its letterbox: "center" or "corner".
        border: Value of a letterbox's border, 0 to 255.
        scale: With `model`: element = (pixel * scale - mean) / std.
        mean: One number, or one for each channel.
        std: One number, or one for each channel.
        layout: With `model`: the order of axes, "nchw" or "nhwc"; None: the model's.
        channels: With `model`: the order of channels, "rgb" or "bgr".
        filter: With `model`: "bilinear" or "bicubic".
        upright: Apply the EXIF orientation.

    Returns:
        The arrays by input name, and what was done with each file.

    Raises:
        CannotRead: a file cannot be read.
        InvalidArgument: options that do not belong together, or a model without an image input.

    Examples:
        >>> prepared = thaw.inputs("photo.jpg", model="detector.onnx", size=(96, 64), fit="stretch")
        >>> prepared.arrays["input.1"].shape
        (1, 3, 64, 96)
    """
    options = _thaw.InputsOptions()
    options.preset, options.upright, options.text = str(preset), upright, text
    options.min_pixels, options.max_pixels = min_pixels, max_pixels
    options.whole_images, options.clips = whole_images, [paths(clip) for clip in clips]
    options.frame_rate, options.tokens = fps, list(tokens)
    if resampler is not None:
        options.resampler = choice(_thaw.Resampler, resampler)
    chosen = _thaw.ImageSize()
    if size is not None:
        chosen.width, chosen.height = size
    if model is not None:
        how = options.image_model
        how.model, how.input, how.size = Path(model), image_input, chosen
        how.scale, how.mean, how.std, how.border = scale, list(mean), list(std), border
        how.is_centered = word("place", place, {"center": True, "corner": False})
        how.bgr = word("channels", channels, {"rgb": False, "bgr": True})
        how.bilinear = word("filter", filter, {"bilinear": True, "bicubic": False})
        if fit is not None:
            how.fit = choice(_thaw.Fit, fit)
        if layout is not None:
            how.channels_last = word("layout", layout, {"nchw": False, "nhwc": True})
    elif size is not None:
        options.size = chosen
    return _thaw.inputs(paths(files), options, Path(path) if path is not None else "")


@verb
def run(model: ModelLike, inputs: Inputs | None = None, path: PathLike | None = None, *, values: Values | None = None,
        value_range: Ranges | None = None, sizes: Sizes = "", random: bool = False, cast: bool = False, outputs: Iterable[str] = (),
        seed: int = 0, threads: int = 0, optimization: str = "all", providers: Providers = (),
        placement: bool = False) -> _thaw.RunReport:
    """Runs a model once in ONNX Runtime.

    Args:
        model: The model.
        inputs: Arrays by input name.
        path: Where the outputs are written: .npz, or .npy for one; None: nowhere.
        values: Elements of small inputs.
        value_range: Inputs that are drawn uniformly: {"input_ids": (0, 511)}, both inclusive for integers.
        sizes: Of inputs that are not given, which are drawn then.
        random: Draw inputs that are not given, at sizes that the model runs at.
        cast: Convert inputs of another dtype.
        outputs: Names of the outputs to return; all by default.
        seed: Of what is drawn.
        threads: Intra-op threads; 0: one for each core.
        optimization: "none", "basic", "extended" or "all".
        providers: Execution providers of ONNX Runtime, in their order: "cuda", ["tensorrt", "cuda:device_id=1"]; by default those of
            `set_providers`.
        placement: Record where each node ran, and for how long.

    Returns:
        The outputs by name, the inputs, and the time of the run in seconds.

    Raises:
        InvalidArgument: an input is missing or does not match.
        RuntimeFailed: the model does not load or run.

    Examples:
        >>> report = thaw.run("tower.onnx", {"x": np.zeros((2, 5, 64), np.float32)})
        >>> report.outputs["y"].shape
        (2, 5, 64)
    """
    options = _thaw.RunOptions()
    options.feeds, options.sizes, options.random = feeds(inputs, values, seed, value_range), text_of_sizes(sizes), random
    options.cast, options.outputs, options.session.threads = cast, list(outputs), threads
    options.session.optimization = choice(_thaw.Optimization, optimization)
    options.session.providers, options.placement = _providers(providers), placement
    if path is not None:
        options.output = Path(path)
    options.model, given = path_or_model(model)
    return _thaw.run_model(options, given)


@verb
def generate(folder: PathLike, *, prompt: str = "", text: str | None = None, tokens: Iterable[int] = (),
             files: PathLike | Iterable[PathLike] = (), clips: Iterable[Iterable[PathLike]] = (), fps: float | None = None,
             checkpoint: PathLike | None = None, max_new_tokens: int = 256, threads: int = 0, optimization: str = "all",
             providers: Providers = (), progress: Callable[[int, str], None] | None = None) -> _thaw.Generated:
    """Generates text with models that `build` wrote with `kv_cache`; greedy decoding.

    Args:
        folder: The folder of the models.
        prompt: The user's message, to which the chat template is applied.
        text: Instead, the whole prompt as the template writes it.
        tokens: Instead, the whole prompt as token ids.
        files: Images or recordings, in the order of the prompt.
        clips: Of Qwen: the frames of each clip, in their order; after the images.
        fps: Frames per second of the clips.
        checkpoint: The folder with config.json and tokenizer; by default that of the models.
        max_new_tokens: At most so many.
        threads: Of ONNX Runtime; 0: one for each core.
        optimization: Of ONNX Runtime: "none", "basic", "extended" or "all".
        providers: Execution providers of ONNX Runtime, in their order: "cuda", ["tensorrt", "cuda:device_id=1"]; by default those of
            `set_providers`.
        progress: Called for each token, with the text that it completes.

    Returns:
        Text, tokens and times in seconds.

    Raises:
        InvalidArgument: the folder lacks a model, or its decoder has no cache.
        RuntimeFailed: a model does not run.
    """
    options = _thaw.GenerateOptions()
    options.prompt, options.text, options.tokens = prompt, text, list(tokens)
    options.files, options.max_new_tokens, options.session.threads = paths(files), max_new_tokens, threads
    options.clips, options.frame_rate = [paths(clip) for clip in clips], fps
    options.session.optimization = choice(_thaw.Optimization, optimization)
    options.session.providers = _providers(providers)
    if checkpoint is not None:
        options.checkpoint = Path(checkpoint)
    if progress is not None:
        options.progress = progress
    return _thaw.generate(Path(folder), options)


@verb
def verify(model: ModelLike, against: ModelLike | None = None, *, sizes: Sizes = "", points: int = 0, inputs: Inputs | None = None,
           values: Values | None = None, value_range: Ranges | None = None, seed: int = 0, atol: float | None = None,
           rtol: float | None = None, cosine: float | None = None, outputs: Iterable[str] = (), mask: str = "", cast: bool = False,
           per_sample: bool = False, map: Mapping[str, str] | None = None, threads: int = 0, optimization: str = "all",
           providers: Providers = (), against_provider: Providers = (), where: bool = False, prove: bool = False,
           evidence: PathLike | None = None, replay: PathLike | None = None, progress: Callable[[int, int], None] | None = None) -> _thaw.VerifyReport:
    """Compares a model with a reference: runs both on the same inputs at several sizes, and compares all outputs.

    Args:
        model: The model.
        against: The reference: a model, an .npz file of inputs and expected outputs, or a folder of such files; None: the model
            itself, which runs with `against_provider`.
        sizes: Sizes to run at; by default three that the reference runs at.
        points: How many to choose in wide ranges; 0: 6.
        inputs: Arrays by input name; the rest is drawn.
        values: Elements of small inputs.
        value_range: Inputs that are drawn uniformly: {"input_ids": (0, 511)}, both inclusive for integers.
        seed: Of what is drawn.
        atol: Outputs agree where |actual - expected| <= atol + rtol * |expected|; by default by type.
        rtol: Relative tolerance.
        cosine: The least cosine of the two as vectors.
        outputs: Outputs to compare; by default all that the reference has.
        mask: An input [batch, length] of ones and zeros; where it is 0 outputs [batch, length, …] are not compared.
        cast: Convert inputs of another dtype for the reference.
        per_sample: Run the reference once for each row along axis 0.
        map: Names of inputs and outputs: the model's to the reference's, where they differ.
        threads: Of ONNX Runtime, intra-op; 0: one for each core.
        optimization: Of ONNX Runtime: "none", "basic", "extended" or "all".
        providers: Execution providers of ONNX Runtime, in their order: "cuda", ["tensorrt", "cuda:device_id=1"]; by default those of
            `set_providers`.
        against_provider: The same of the reference; by default `providers`.
        where: Where outputs differ, find the first tensors inside the models that do.
        prove: Prove each output equal at every size, in real arithmetic, or name the smallest place where that is open; the reference
            is a model of the same names. With `sizes` it is proven for the ranges that these span.
        evidence: A file for the steps of the proof, with `prove`; written where an output is proven, or but for quantized constants.
        replay: Such a file: its steps are checked, without a search, and nothing is run.
        progress: Called with points done and in total.

    Returns:
        The report; `accepted` where all outputs agree at all points, or where the evidence of `replay` holds. With `prove` each
        output of its `proof` has a verdict: PROVEN, OPEN or DIFFERS.

    Raises:
        InvalidArgument: an unknown size, input or output; or the two have inputs of other names or dtypes; or with `prove` the reference
            is no model, or is compared in part.
        InvalidFile: a step of the evidence of `replay` does not follow, or it is of other models.
        RuntimeFailed: a side does not load, or no size was found at which the reference runs.

    Examples:
        >>> report = thaw.verify("tower.onnx", "tower.onnx", sizes="batch=1|3,seq=5")
        >>> report.accepted, len(report.points)
        (True, 2)
    """
    options = _thaw.VerifyOptions()
    options.points, options.feeds = points, feeds(inputs, values, seed, value_range)
    _thaw.set_sizes(text_of_sizes(sizes), options)
    options.tolerance, options.outputs, options.mask = tolerance(atol, rtol, cosine), list(outputs), mask
    options.how.cast, options.how.per_sample, options.how.names = cast, per_sample, dict(map or {})
    options.how.session.threads, options.how.session.optimization = threads, choice(_thaw.Optimization, optimization)
    options.how.session.providers, options.how.providers = _providers(providers), _providers(against_provider)
    options.where, options.prove = where, prove
    options.evidence, options.replay = evidence or "", replay or ""
    if progress is not None:
        options.progress = progress
    options.model, given = path_or_model(model)
    reference = None
    if against is not None:
        options.reference, reference = path_or_model(against)
    return _thaw.verify(options, given, reference)
