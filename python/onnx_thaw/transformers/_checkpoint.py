"""A model in memory as the checkpoint that `save_pretrained` would write: settings in files, weights where they are."""
from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from onnx_thaw._errors import stated


def save_settings(model: Any, folder: Path, processor: Any = None) -> None:
    """Writes config.json and generation_config.json as `save_pretrained` does; the model's own config stays as it was.

    Args:
        model: A model of transformers.
        folder: An empty folder.
        processor: A tokenizer or processor that is saved beside them; None: none.
    """
    config = copy.deepcopy(model.config)
    config.dtype = str(model.dtype).removeprefix("torch.")
    config.architectures = [type(model).__name__]
    config.save_pretrained(folder)
    if model.can_generate():
        model.generation_config.save_pretrained(folder)
    if processor is not None:
        processor.save_pretrained(folder)


def weights_of(model: Any, notes: list[str]) -> list[tuple[str, Any]] | None:
    """The weights of a model as `save_pretrained` names them, where they lie.

    Args:
        model: A model of transformers, which is left as it is.
        notes: Gets what else is to be known.

    Returns:
        Names and tensors [*shape] on the CPU; None where this version of transformers does not tell the names.

    Raises:
        InvalidArgument: the weights are not in memory, or the model has adapters that are not merged.
    """
    where = type(model).__name__
    if getattr(model, "_hf_peft_config_loaded", False):
        raise stated("invalid_argument", "the model has adapters", where=where, expected="weights with the adapters merged",
                     next_step="merge them (PEFT: merge_and_unload), or export by another exporter")
    tensors = dict(model.state_dict())
    for name, tensor in tensors.items():
        if getattr(getattr(tensor, "device", None), "type", "") == "meta":
            raise stated("invalid_argument", f"the weight '{name}' is on the meta device", where=where, expected="weights in memory",
                         next_step="load the model without offloading")
    saved = _as_saved(model, tensors, notes)
    return None if saved is None else [(name, _on_cpu(tensor)) for name, tensor in saved.items() if _is_exchanged(tensor)]


def _as_saved(model: Any, tensors: dict[str, Any], notes: list[str]) -> dict[str, Any] | None:
    """The weights under the names that transformers >= 5 saves them by; None where it has no functions for that."""
    try:
        from transformers.core_model_loading import revert_weight_conversion
        from transformers.modeling_utils import remove_tied_weights_from_state_dict
    except ImportError:
        return None
    for name in getattr(model, "_keys_to_ignore_on_save", None) or ():
        tensors.pop(name, None)
    own = {_address(tensor) for tensor in tensors.values()}
    saved: dict[str, Any] = revert_weight_conversion(model, remove_tied_weights_from_state_dict(tensors, model))
    made = [tensor for tensor in saved.values() if _address(tensor) not in own]
    if made:
        size = sum(tensor.numel() * tensor.element_size() for tensor in made)
        notes.append(f"{len(made)} weights are saved split or merged: {size / 1e6:.1f} MB of them were copied in memory")
    return saved


def _address(tensor: Any) -> Any:
    return tensor.untyped_storage().data_ptr() if hasattr(tensor, "untyped_storage") else id(tensor)


def _is_exchanged(tensor: Any) -> bool:
    """Whether DLPack has its type. Others are of quantized models, which the library refuses by their config."""
    import torch
    return isinstance(tensor, torch.Tensor) and tensor.dtype in (
        torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8,
        torch.bool)


def _on_cpu(tensor: Any) -> Any:
    """The tensor itself where it lies on the CPU, row by row."""
    return tensor.detach().cpu().contiguous()
