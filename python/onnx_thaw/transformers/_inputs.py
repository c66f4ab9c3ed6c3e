"""Inputs for the usual kinds of models, drawn by what their configs say: tokens, images, recordings.

What a config does not say, such as whether features are [batch, mels, frames] or [batch, frames, mels], is asked of the model: of several
makers the first is taken whose inputs it runs on.
"""
from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Iterator
from typing import Any

from onnx_thaw._errors import InvalidArgument, stated
from onnx_thaw._options import Sizes, text_of_sizes
from onnx_thaw.torch._choose import choose
from onnx_thaw.torch._sizes import Ranges, defined, text_of
from onnx_thaw.transformers._tasks import Task

_STEP = 32           # pixels, of models that do not say theirs: five halvings
_BATCH = "1..4"
_SAMPLES = "4000..160000"  # 0.25 to 10 s at 16 kHz
_FRAMES = "50..1000"       # 0.5 to 10 s at 100 a second
_MOST_TOKENS = 4096
_SEED = 11


@dataclasses.dataclass
class Maker:
    """A maker of inputs.

    Attributes:
        make: Called with a number for each size; returns keyword arguments.
        sizes: The default range of each size, as `--sizes` writes them.
    """

    make: Callable[..., dict[str, Any]]
    sizes: dict[str, str]


def _parameters(model: Any) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(model.forward).parameters)


def _number(config: Any, *names: str) -> int | None:
    """The first of these attributes that is a number, in the config or in that of its vision, audio or backbone."""
    for inner in (config, *(getattr(config, f"{part}_config", None) for part in ("vision", "audio", "text", "backbone"))):
        for name in names:
            value = getattr(inner, name, None)
            if isinstance(value, (list, tuple)) and value and all(isinstance(each, int) for each in value):
                value = max(value)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
    return None


# --- tokens -----------------------------------------------------------------------------------------------------------

def _most_tokens(model: Any, wanted: int) -> int:
    """How many tokens a model has positions for, `wanted` at most."""
    most = min(wanted, _number(model.config, "max_position_embeddings", "n_positions") or wanted)
    for name, module in model.named_modules():
        # A table with a row for padding counts positions from behind it.
        if "position" in name and hasattr(module, "num_embeddings") and getattr(module, "padding_idx", None) is not None:
            most = min(most, module.num_embeddings - module.padding_idx - 1)
    return most


def plain_tokens(model: Any) -> Any:
    """Token ids [n] that mean nothing special: no padding, no image's place."""
    import torch
    special: set[int] = set()

    def collect(settings: Any) -> None:
        for key, value in settings.items():
            if isinstance(value, dict):
                collect(value)
            elif str(key).endswith(("_token_id", "_token_index")):
                special.update(each for each in (value if isinstance(value, list) else [value]) if isinstance(each, int))
    collect(model.config.to_dict())
    vocabulary = min(_number(_text_config(model), "vocab_size") or 1 << 30, model.get_input_embeddings().num_embeddings)
    return torch.tensor([each for each in range(min(vocabulary, _MOST_TOKENS)) if each not in special])


def _text_config(model: Any) -> Any:
    return model.config.get_text_config() if hasattr(model.config, "get_text_config") else model.config


def _tokens(model: Any, task: Task) -> Iterator[Maker]:
    import torch
    parameters, text, own = _parameters(model), _text_config(model), plain_tokens(model)
    pad = text.pad_token_id if isinstance(getattr(text, "pad_token_id", None), int) else 0
    has_pairs = "token_type_ids" in parameters and (_number(text, "type_vocab_size") or 0) > 1

    # A token of padding that sees nothing but padding has no defined output: windows reach half their size back.
    most_padding = (_number(text, "local_attention", "sliding_window", "attention_window") or 1 << 30) // 2

    def make(batch: int, seq: int) -> dict[str, Any]:
        lengths = torch.randint(max(1, seq - most_padding), seq + 1, (batch,))
        lengths[0] = seq
        mask = (torch.arange(seq) < lengths[:, None]).long()
        made = {"input_ids": torch.where(mask == 1, own[torch.randint(0, len(own), (batch, seq))], pad)}
        if "attention_mask" in parameters:
            made["attention_mask"] = mask
        if has_pairs:  # a query and a passage
            made["token_type_ids"] = ((torch.arange(seq) >= (lengths[:, None] + 1) // 2) & (mask == 1)).long()
        return {**made, **_settings(model, parameters)}
    yield Maker(make, {"batch": _BATCH, "seq": f"1..{_most_tokens(model, task.most)}"})


def _settings(model: Any, parameters: dict[str, inspect.Parameter]) -> dict[str, Any]:
    """Without a cache, and with outputs by name."""
    made: dict[str, Any] = {}
    takes_any = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values())
    if getattr(model.config, "use_cache", False) and ("use_cache" in parameters or (takes_any and "past_key_values" in parameters)):
        made["use_cache"] = False
    if not getattr(model.config, "return_dict", True) and ("return_dict" in parameters or takes_any):
        made["return_dict"] = True
    return made


# --- images -----------------------------------------------------------------------------------------------------------

def _image_step(config: Any) -> int:
    """Pixels that sides are multiples of: a patch, through all stages of a model of several."""
    patch = _number(config, "patch_stride", "patch_size")
    depths = (getattr(each, "depths", None) for each in (config, getattr(config, "backbone_config", None)))
    stages = next((len(each) for each in depths if isinstance(each, (list, tuple))), 0)
    stride = _number(config, "output_stride") or 1
    if patch is None:
        return max(_STEP, stride)
    return math.lcm(patch * 2 ** max(0, stages - 1), stride)


def _images(model: Any, task: Task) -> Iterator[Maker]:
    import torch
    parameters, config = _parameters(model), model.config
    channels = _number(config, "num_channels", "in_channels", "in_chans") or 3
    step, side = _image_step(config), _number(config, "image_size") or task.most
    least = max(step, -(-side // (2 * step)) * step)
    sides = f"{least}..{max(least + 2 * step, 2 * side // step * step)}:{step}"

    def maker(others: dict[str, Any], height: str, width: str) -> Maker:
        def make(batch: int, height: int, width: int) -> dict[str, Any]:
            return {"pixel_values": torch.randn(batch, channels, height, width), **others, **_settings(model, parameters)}
        return Maker(make, {"batch": _BATCH, "height": height, "width": width})
    if "interpolate_pos_encoding" in parameters:
        yield maker({"interpolate_pos_encoding": True}, sides, sides)
    yield maker({}, sides, sides)
    given = getattr(config, "image_size", None)
    pair = given if isinstance(given, (list, tuple)) and len(given) == 2 else (side, side)
    yield maker({}, str(pair[0]), str(pair[1]))


# --- recordings -------------------------------------------------------------------------------------------------------

def _recordings(model: Any, task: Task) -> Iterator[Maker]:
    import torch
    parameters, config = _parameters(model), model.config
    name = model.main_input_name
    mels = _number(config, "num_mel_bins", "feature_projection_input_dim", "input_feat_per_channel")

    def maker(size: str, values: str, shape: Callable[[int, int], tuple[int, ...]]) -> Maker:
        def make(**sizes: int) -> dict[str, Any]:
            return {name: torch.randn(shape(sizes["batch"], sizes[size])), **_settings(model, parameters)}
        return Maker(make, {"batch": _BATCH, size: values})
    if name == "input_values":
        yield maker("samples", _SAMPLES, lambda batch, samples: (batch, samples))
        yield maker("samples", _SAMPLES, lambda batch, samples: (batch, 1, samples))
    if mels is None:
        return
    bins, lengths = mels, [_FRAMES]
    for positions in (_number(config, "max_length"), _number(config, "max_source_positions")):
        if positions is not None:  # models of one length only, before or after they shorten it
            lengths += [str(positions), str(2 * positions), str(4 * positions)]
    for length in lengths:
        yield maker("frames", length, lambda batch, frames: (batch, frames, bins))
        yield maker("frames", length, lambda batch, frames: (batch, bins, frames))


_MAKERS: dict[str, Callable[[Any, Task], Iterator[Maker]]] = {"text": _tokens, "image": _images, "audio": _recordings}


def _with(maker: Maker, sizes: Sizes) -> str:
    """The caller's sizes, and the default ones of those that the caller leaves out."""
    text = text_of_sizes(sizes)
    names = defined(text)
    unknown = [name for name in names if name not in maker.sizes]
    if unknown:
        raise InvalidArgument(f"sizes: the inputs have no size '{unknown[0]}'; expected {', '.join(maker.sizes)}")
    return ",".join([*([text] if text else []), *(f"{name}={values}" for name, values in maker.sizes.items() if name not in names)])


def maker_for(model: Any, task: Task, sizes: Sizes) -> tuple[Maker, str]:
    """The first maker whose inputs the model runs on at two sizes, and the sizes with defaults filled in.

    Raises:
        InvalidArgument: `sizes` has a size that the inputs do not have.
        Unsupported: the model runs on none.
    """
    import torch

    from onnx_thaw.torch._module import left_as_it_was
    if task.modality not in _MAKERS:
        raise stated("unsupported", f"no inputs are made for '{task.name}'", where=type(model).__name__,
                     expected="a family that onnx_thaw.build knows",
                     next_step="export its encoder by task='image-feature-extraction', or call onnx_thaw.torch.export with inputs of your own")
    failures: list[str] = []
    wrong_sizes: InvalidArgument | None = None
    for maker in _MAKERS[task.modality](model, task):
        try:
            text = _with(maker, sizes)
        except InvalidArgument as error:
            wrong_sizes = wrong_sizes or error
            continue
        points = choose(Ranges(text), 2)
        point = points[0]
        try:
            with left_as_it_was(model, _SEED), torch.no_grad():
                for point in points:
                    model(**maker.make(**point))
        except Exception as error:
            failures.append(f"at {text_of(point)}: {type(error).__name__}: {str(error).splitlines()[0][:160] if str(error) else ''}")
            continue
        return maker, text
    if not failures and wrong_sizes is not None:
        raise wrong_sizes
    tried = "; ".join(failures) or "its config has no number of mel bins"
    raise stated("unsupported", f"the model runs on no inputs that are made for '{task.name}': {tried}", where=type(model).__name__,
                 expected=f"a model whose '{model.main_input_name}' follows from its config",
                 next_step="call onnx_thaw.torch.export with inputs of your own, or give sizes that the model takes")
