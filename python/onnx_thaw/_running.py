"""Verbs that run models, and the one that prepares their inputs."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from onnx_thaw import _thaw
from onnx_thaw._calls import verb
from onnx_thaw._models import ModelLike, as_file
from onnx_thaw._options import Inputs, PathLike, Sizes, Values, choice, feeds, paths, text_of_sizes, tolerance


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

    Examples:
        >>> prepared = thaw.inputs("photo.jpg", model="detector.onnx", size=(96, 64), fit="stretch")
        >>> prepared.arrays["input.1"].shape
        (1, 3, 64, 96)
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

    Examples:
        >>> report = thaw.run("tower.onnx", {"x": np.zeros((2, 5, 64), np.float32)})
        >>> report.outputs["y"].shape
        (2, 5, 64)
    """
    options = _thaw.RunOptions()
    options.feeds, options.sizes, options.random = feeds(inputs, values, seed), text_of_sizes(sizes), random
    options.cast, options.outputs, options.session.threads = cast, list(outputs), threads
    options.session.optimization = choice(_thaw.Optimization, optimization)
    with as_file(model) as path:
        options.model = path
        return _thaw.run_model(options)


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

    Examples:
        >>> report = thaw.verify("tower.onnx", "tower.onnx", sizes="batch=1|3,seq=5")
        >>> report.accepted, len(report.points)
        (True, 2)
    """
    options = _thaw.VerifyOptions()
    options.sweep, options.points, options.feeds = text_of_sizes(sizes), points, feeds(inputs, values, seed)
    options.tolerance, options.outputs, options.mask = tolerance(atol, rtol, cosine), list(outputs), mask
    options.how.cast, options.how.per_sample, options.how.names = cast, per_sample, dict(names or {})
    if progress is not None:
        options.progress = progress
    with as_file(model) as path, as_file(against) as reference:
        options.model, options.reference = path, reference
        return _thaw.verify(options)
