"""Built parts beside the module that they are of: text with and without a cache, vision towers, audio encoders."""
from __future__ import annotations

import contextlib
import copy
import dataclasses
import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from onnx_thaw import _thaw
from onnx_thaw._arrays import as_numpy
from onnx_thaw._errors import Error
from onnx_thaw._session import Session
from onnx_thaw.torch._compare import Comparison, compare
from onnx_thaw.torch._cost import free_bytes
from onnx_thaw.torch._nested import Flat
from onnx_thaw.torch._sizes import Point, text_of
from onnx_thaw.transformers._inputs import plain_tokens

_PAST = "past_key_values."
_TOKENS = [dict(batch=2, seq=7), dict(batch=3, seq=19), dict(batch=1, seq=1), dict(batch=1, seq=64)]
_GRIDS = [[(1, 3, 5)], [(1, 2, 2), (2, 4, 3)], [(1, 7, 2), (1, 3, 3), (1, 2, 5)]]  # frames, and merged patches in rows and columns
_CLIPS = [(131,), (250, 57), (100, 201, 33)]  # frames that are no padding
_CHUNK = 100  # frames that the module takes whole


class NotComparable(Exception):
    """Why a part is not compared."""


@contextlib.contextmanager
def _module_at(where: str) -> Iterator[None]:
    """Errors of the module are why it is not compared."""
    try:
        yield
    except (RuntimeError, ValueError, IndexError, TypeError) as error:
        raise NotComparable(f"the module fails at {where}: {type(error).__name__}: {str(error)[:160]}") from error


def reference_of(model: Any) -> Any:
    """The module in float32 on the CPU: itself, or, where it is neither and memory allows, what its config and weights make there.

    That is no copy: `model.to(torch.bfloat16)` also rounds tables that are not saved, such as rotary frequencies.

    Raises:
        NotComparable: it may not fit into memory.
    """
    import torch
    kinds = {each.dtype for each in model.parameters() if each.is_floating_point()}
    devices = {each.device.type for each in model.parameters()}
    if kinds <= {torch.float32} and devices <= {"cpu"}:
        return model
    size = 4 * sum(each.numel() for each in model.parameters())
    if size > free_bytes() // 3:
        raise NotComparable(f"the module is {', '.join(sorted(str(kind).removeprefix('torch.') for kind in kinds))} on "
                            f"{', '.join(sorted(devices))}, and takes {size / 1e9:.1f} GB in float32 on the CPU")
    config = copy.deepcopy(model.config)
    config.dtype = torch.float32
    with torch.device("cpu"):
        made = type(model)(config).float()
    made.load_state_dict(model.state_dict())
    return made.eval()


def compared(name: str, path: Path, reference: Any) -> Iterator[Comparison]:
    """Compares a part with the module at several sizes.

    Raises:
        NotComparable: the module has no function of its own that gives what the part does.
    """
    part = _Part(path)
    if name == "text":
        yield from _of_text(reference, part)
    elif name == "vision" and {"pixel_values", "grid_thw"} <= part.inputs.keys():
        yield from _of_vision(reference, part)
    elif name == "audio" and {"input_features", "input_features_mask"} <= part.inputs.keys():
        yield from _of_audio(reference, part)
    else:
        raise NotComparable("the module has no function that gives its outputs alone")


@dataclasses.dataclass
class _Step:
    """Inputs of a call, what the module makes of them, and which rows of [batch, seq, …] mean something."""

    inputs: dict[str, Any]
    outputs: dict[str, Any]
    mask: Any = None


class _Part:
    """A part in ONNX Runtime."""

    def __init__(self, path: Path) -> None:
        model = _thaw.Model.load(path)
        self.inputs = {port.name: port for port in model.inputs}
        self.outputs = [port.name for port in model.outputs]
        self.is_classifier = any(port.name == "logits" and len(port.dims or []) == 2 for port in model.outputs)
        self._session = Session(model)

    def beside(self, point: Point, steps: Iterable[_Step]) -> Comparison:
        """Runs the part step by step, its caches passed on."""
        found, cache = Comparison(point), dict[str, Any]()
        for step in steps:
            try:
                made = self._session.run({**{name: as_numpy(tensor) for name, tensor in step.inputs.items()}, **cache})
            except Error as error:
                return found.fail(str(error)[:300], runs=False)
            cache = {name.replace("present.", _PAST): array for name, array in made.items() if name.startswith("present.")}
            made = {name: array for name, array in made.items() if not name.startswith("present.")}
            if step.mask is not None:
                kept = as_numpy(step.mask) != 0
                made = {name: _without_padding(array, kept) for name, array in made.items()}
            compare(found, Flat(list(step.outputs), list(step.outputs.values()), [], lambda tensors: tensors), made)
        return found


# --- text -------------------------------------------------------------------------------------------------------------

def _of_text(reference: Any, part: _Part) -> Iterator[Comparison]:
    import torch
    module = reference if "logits" in part.outputs else reference.base_model
    pad = getattr(reference.config.get_text_config(), "pad_token_id", None)
    tokens = plain_tokens(reference)
    takes_padding = isinstance(pad, int) or not part.is_classifier  # which looks for the last token by the id of padding
    for point in _TOKENS:
        batch, seq = point["batch"], point["seq"]
        mask = torch.ones(batch, seq, dtype=torch.long)
        for row in range(1, batch) if takes_padding else ():  # padding at the right and at the left
            mask[row, slice(-(seq // 3), None) if row % 2 else slice(0, seq // 3)] = 0
        ids = torch.where(mask == 1, tokens[torch.randint(0, len(tokens), (batch, seq))], pad or 0)
        with _module_at(text_of(point)):
            steps = list(_steps(module, part, ids, mask))
        yield part.beside(point, steps)


def _steps(module: Any, part: _Part, ids: Any, mask: Any) -> Iterator[_Step]:
    """One call, or two where there is a cache."""
    import torch
    ports, caches = part.inputs, [port for name, port in part.inputs.items() if name.startswith(_PAST)]
    batch, seq = ids.shape
    bounds = [0, (seq + 1) // 2, seq] if caches and seq > 1 else [0, seq]
    past: Any = None
    for first, last in itertools.pairwise(bounds):
        given = {"attention_mask": mask[:, :last]}
        if "position_ids" in ports:
            positions = torch.arange(first, last).expand(batch, last - first)
            given["position_ids"] = positions.expand(3, batch, last - first) if len(ports["position_ids"].dims or []) == 3 else positions
        if "inputs_embeds" in ports:
            with torch.no_grad():
                given["inputs_embeds"] = module.get_input_embeddings()(ids[:, first:last])
        else:
            given["input_ids"] = ids[:, first:last]
        fed = {name: tensor for name, tensor in given.items() if name in ports}
        if past is None:
            fed.update({port.name: torch.zeros(batch, _number(port, 1), 0, _number(port, 3)) for port in caches})
        for name in ports.keys() - fed.keys() - {port.name for port in caches}:
            if not name.startswith("deepstack_embeds"):
                raise NotComparable(f"its input '{name}' is none of the module's")
            fed[name] = torch.zeros_like(given["inputs_embeds"])  # of tokens that are no image's
        with torch.no_grad():
            made = module(**given, **({"past_key_values": past} if past is not None else {}), use_cache=bool(caches))
        past = made["past_key_values"] if caches else None
        kept = mask[:, first:last]
        yield _Step(fed, {name: _expected(made, name, kept) for name in part.outputs if not name.startswith("present.")}, kept)


def _number(port: Any, axis: int) -> int:
    return int(port.dims[axis])


def _expected(made: Any, name: str, mask: Any) -> Any:
    """The module's output under the part's name; zeros where there is padding."""
    import torch
    if name == "sentence_embedding":
        last = mask.shape[1] - 1 - mask.flip(1).argmax(1)
        return made["last_hidden_state"][torch.arange(len(mask)), last]
    if name not in made:
        raise NotComparable(f"its output '{name}' is none of the module's")
    return _without_padding(made[name], mask)


def _without_padding(values: Any, kept: Any) -> Any:
    """Zeros where there is padding in [batch, seq, …], of PyTorch or NumPy; [batch, labels] as it is."""
    return values * kept[..., None] if values.ndim > 2 and values.shape[:2] == kept.shape else values


# --- towers -----------------------------------------------------------------------------------------------------------

def _of_vision(reference: Any, part: _Part) -> Iterator[Comparison]:
    import torch
    merge = reference.config.vision_config.spatial_merge_size
    width = _number(part.inputs["pixel_values"], 1)
    for grids in _GRIDS:
        grid = torch.tensor([(frames, rows * merge, columns * merge) for frames, rows, columns in grids])
        pixels = torch.randn(int(grid.prod(1).sum()), width)
        with torch.no_grad(), _module_at(f"grid_thw={grid.tolist()}"):
            made = reference.get_image_features(pixels, grid)
        outputs = {"vision_features": _joined(made.pooler_output)}
        outputs.update({f"deepstack_features_{i}": _joined(each) for i, each in enumerate(getattr(made, "deepstack_features", None) or [])})
        yield part.beside({"num_images": len(grid), "num_patches": len(pixels)}, [_Step({"pixel_values": pixels, "grid_thw": grid}, outputs)])


def _of_audio(reference: Any, part: _Part) -> Iterator[Comparison]:
    import torch
    bins = _number(part.inputs["input_features"], 1)
    for clips in _CLIPS:
        longest = -(-max(clips) // _CHUNK) * _CHUNK
        mask = (torch.arange(longest) < torch.tensor(clips)[:, None]).long()
        features = torch.randn(len(clips), bins, longest)
        with torch.no_grad(), _module_at(f"frames={list(clips)}"):
            made = reference.get_audio_features(features, mask)
        yield part.beside({"batch": len(clips), "frames": longest}, [_Step({"input_features": features, "input_features_mask": mask},
                                                                          {"audio_features": _joined(made.pooler_output)})])


def _joined(features: Any) -> Any:
    """Features [tokens, hidden] of all images or clips."""
    import torch
    return torch.cat(list(features)) if isinstance(features, (tuple, list)) else features
