"""What a model is used for: by its class, as transformers' auto classes list it. Needs no torch."""
from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from onnx_thaw._errors import Error, stated


@dataclasses.dataclass(frozen=True)
class Task:
    """A task, by the name that transformers' pipelines have for it.

    Attributes:
        name: Its name.
        modality: What goes in: "text", "image" or "audio"; empty where it is several, which only `build` knows.
        classes: The tables of `transformers.models.auto.modeling_auto` that list its classes; none: whatever gives features.
        part: The part of a built family that it is; "all" where it is the whole model.
        most: The largest default size: tokens, or pixels of a side that a config does not say.
    """

    name: str
    modality: str
    classes: tuple[str, ...]
    part: str = "all"
    most: int = 512


_TEXT, _IMAGE, _AUDIO = "text", "image", "audio"
_ALL = [
    Task("image-text-to-text", "", ("IMAGE_TEXT_TO_TEXT",)),
    Task("any-to-any", "", ("MULTIMODAL_LM",)),
    Task("text-generation", _TEXT, ("CAUSAL_LM",), "text"),
    Task("text-classification", _TEXT, ("SEQUENCE_CLASSIFICATION",), "text"),
    Task("token-classification", _TEXT, ("TOKEN_CLASSIFICATION",), "text"),
    Task("question-answering", _TEXT, ("QUESTION_ANSWERING",), "text", 384),
    Task("fill-mask", _TEXT, ("MASKED_LM",), "text"),
    Task("feature-extraction", _TEXT, (), "text"),
    Task("image-classification", _IMAGE, ("IMAGE_CLASSIFICATION",), "vision", 224),
    Task("object-detection", _IMAGE, ("OBJECT_DETECTION",), "vision"),
    Task("image-segmentation", _IMAGE, ("SEMANTIC_SEGMENTATION", "IMAGE_SEGMENTATION", "INSTANCE_SEGMENTATION",
                                        "UNIVERSAL_SEGMENTATION"), "vision"),
    Task("depth-estimation", _IMAGE, ("DEPTH_ESTIMATION",), "vision"),
    Task("image-feature-extraction", _IMAGE, (), "vision", 224),
    Task("audio-classification", _AUDIO, ("AUDIO_CLASSIFICATION",), "audio"),
    Task("automatic-speech-recognition", _AUDIO, ("CTC",), "audio"),
    Task("audio-feature-extraction", _AUDIO, (), "audio"),
]
_BY_NAME = {task.name: task for task in _ALL}
_OTHER_NAMES = {"text-embedding": "feature-extraction", "sentence-similarity": "feature-extraction",
                "reranking": "text-classification", "text-ranking": "text-classification",
                "semantic-segmentation": "image-segmentation", "vision-features": "image-feature-extraction",
                "speech-encoder": "audio-feature-extraction"}
_INPUTS = {_TEXT: "tokens", _IMAGE: "images", _AUDIO: "recordings"}
# The first input of a model, which its class names.
_MODALITIES = {"input_ids": _TEXT, "pixel_values": _IMAGE, "input_values": _AUDIO, "input_features": _AUDIO}


def tasks() -> list[str]:
    """The names of tasks that `export` takes."""
    return [*_BY_NAME, *_OTHER_NAMES]


def modality_of(model: Any) -> str:
    """What a model's first input is: "text", "image", "audio", or "" for another."""
    return _MODALITIES.get(str(getattr(model, "main_input_name", "")), "")


def _auto() -> Any:
    from transformers.models.auto import modeling_auto
    return modeling_auto


def _lists(table: str, kind: str) -> bool:
    names = getattr(_auto(), f"MODEL_FOR_{table}_MAPPING_NAMES", {}).values()
    return any(kind == each or (isinstance(each, (tuple, list)) and kind in each) for each in names)


def tasks_of(model: Any) -> list[str]:
    """The tasks that the class of a model is listed for."""
    kinds = [kind.__name__ for kind in type(model).__mro__ if kind.__module__.startswith("transformers.models.")]
    own = kinds[0] if kinds else type(model).__name__
    return [task.name for task in _ALL if any(_lists(table, own) for table in task.classes)]


def _features(modality: str) -> Task:
    return next(task for task in _ALL if not task.classes and task.modality == modality)


def _refusal(what: str, model: Any, expected: str, next_step: str) -> Error:
    return stated("invalid_argument", what, where=type(model).__name__, expected=expected, next_step=next_step)


def task_for(model: Any, name: str | None) -> Task:
    """The task that a name means, or that a model's class is for.

    Raises:
        InvalidArgument: no such task, or the model is for others.
    """
    listed = tasks_of(model)
    modality = modality_of(model)
    if name is None:
        if listed:
            return _BY_NAME[listed[0]]
        if modality:
            return _features(modality)
        raise _refusal(f"the model's first input is '{getattr(model, 'main_input_name', None)}', for which there is no task", model,
                       f"one of {', '.join(_MODALITIES)}", "call onnx_thaw.torch.export with inputs of your own")
    task = _BY_NAME.get(_OTHER_NAMES.get(name, name))
    if task is None:
        raise _refusal(f"the task '{name}' is not known", model, f"one of {', '.join(tasks())}",
                       "name one of these, or call onnx_thaw.torch.export with inputs of your own")
    if task.name == "feature-extraction" and modality in (_IMAGE, _AUDIO):  # as pipelines call it for every model
        task = _features(modality)
    if task.classes and task.name not in listed:
        own = [*listed, *([_features(modality).name] if modality else [])]
        raise _refusal(f"the class is not for '{task.name}'", model, f"one of {', '.join(own)}",
                       f"load the model with the auto class of '{task.name}', or name a task of this one")
    return task


def model_for(model: Any, task: Task) -> Any:
    """What of a model a task needs: for features the model without its head, and the encoder where it has a decoder or several towers.

    Raises:
        InvalidArgument: no part of the model takes what the task gives, and nothing else.
    """
    if task.classes:
        return model
    base = getattr(model, "base_model", model)
    for found in (base, *_encoders(base, task.modality)):
        if modality_of(found) == task.modality and _is_alone(found, task.modality):
            return found
    raise _refusal(f"no part of it takes {_INPUTS[task.modality]} alone", model, "a model of the task's kind",
                   "call onnx_thaw.torch.export with the part and inputs of your own")


def _encoders(base: Any, modality: str) -> Iterator[Any]:
    """What a model calls its encoder of a kind, then the models that it is made of."""
    import transformers
    for asked in (None if modality == _TEXT else modality, None):
        if hasattr(base, "get_encoder"):
            yield base.get_encoder(modality=asked)
    yield from (child for child in base.children() if isinstance(child, transformers.PreTrainedModel))


def _is_alone(model: Any, modality: str) -> bool:
    """Whether a model has no inputs of another kind, and no decoder's."""
    import inspect
    taken = inspect.signature(model.forward).parameters
    return "decoder_input_ids" not in taken and all(kind == modality for name, kind in _MODALITIES.items() if name in taken)
