"""A model of transformers as ONNX: built where its family is known, else exported at a few sizes and lifted."""
from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from onnx_thaw._errors import InvalidArgument, stated
from onnx_thaw._options import PathLike, Sizes

if TYPE_CHECKING:
    from onnx_thaw.torch._result import ExportResult
    from onnx_thaw.transformers._result import BuildResult

_EXPORTERS = ("auto", "build", "dynamo", "torchscript")


def export(model: Any, task: str | None = None, *, sizes: Sizes = "", exporter: str = "auto",
           build_options: Mapping[str, Any] | None = None, processor: Any = None, most_traces: int = 5,
           keep_traces: PathLike | None = None, seed: int = 0, max_memory: int = 0, max_seconds: float = 120.0,
           exporter_options: Mapping[str, Any] | None = None) -> BuildResult | ExportResult:
    """Exports a model of transformers at every size, and compares the result with the model itself.

    A family that `onnx_thaw.build` knows is built from the weights in memory, which are read while the files are written and not copied
    before. Any other model goes through `onnx_thaw.torch.export`, on inputs that are drawn by what its config says.

    Args:
        model: A transformers.PreTrainedModel.
        task: What it is for, as transformers' pipelines call it ("object-detection"); `tasks()` lists them. None: what its class is for.
        sizes: Ranges of the inputs' sizes, where the defaults do not do: "batch=1..8,seq=1..2048"; "height=…,width=…" of images,
            "samples=…" or "frames=…" of recordings. A built model takes every size.
        exporter: "auto" (build, then dynamo, then torchscript), "build", "dynamo" or "torchscript".
        build_options: Options of `onnx_thaw.build`: {"kv_cache": True, "dtype": "int4"}. With these nothing else is tried.
        processor: A tokenizer or processor; what it saves goes beside a built model that has a cache.
        most_traces: How many exports to make at most.
        keep_traces: A folder for the exports; by default they are removed.
        seed: Of random numbers; the caller's generators are left as they are.
        max_memory: Bytes that a comparison may take, as estimated; 0: a third of what is free.
        max_seconds: What one run of the model may take in a comparison, as estimated.
        exporter_options: Passed to torch.onnx.export: {"opset_version": 20}.

    Returns:
        The result, also where it is not accepted: `accepted`, `reason`, `model`, `comparisons`, `save`, …

    Raises:
        InvalidArgument: the task is not known or not the model's, or an option is wrong.
        Unsupported: no inputs can be made of what the config says.
    """
    if exporter not in _EXPORTERS:
        raise stated("invalid_argument", f"exporter {exporter!r} is not known", expected=f"one of {', '.join(_EXPORTERS)}",
                     next_step="leave it out for 'auto'")
    if build_options and exporter not in ("auto", "build"):
        raise stated("invalid_argument", f"build_options go with exporter='build', and it is {exporter!r}", expected="one of the two",
                     next_step="leave one of them out")
    try:
        import torch  # noqa: F401  (the other modules import it)
        import transformers
    except ImportError:
        raise InvalidArgument("onnx_thaw.transformers.export needs PyTorch and transformers; pip install 'onnx-thaw[torch]' "
                              "transformers") from None
    from onnx_thaw.torch._export import export as export_module
    from onnx_thaw.torch._module import left_as_it_was
    from onnx_thaw.transformers._build import built
    from onnx_thaw.transformers._inputs import maker_for
    from onnx_thaw.transformers._tasks import model_for, task_for
    if not isinstance(model, transformers.PreTrainedModel):
        raise stated("invalid_argument", f"the model is a {type(model).__name__}", expected="a transformers.PreTrainedModel",
                     next_step="call onnx_thaw.torch.export for other modules")
    with left_as_it_was(model, seed):  # modes and generators, whatever is tried
        chosen = task_for(model, task)
        before: BuildResult | None = None
        if exporter in ("auto", "build"):
            before = built(model, chosen, build_options or {}, processor, seed)
            if before.accepted or build_options or exporter == "build" or not chosen.modality:
                return before
        module = model_for(model, chosen)
        maker, ranges = maker_for(module, chosen, sizes)
        result = export_module(module, maker.make, sizes=ranges, exporter=exporter, most_traces=most_traces,
                               keep_traces=keep_traces, seed=seed, max_memory=max_memory, max_seconds=max_seconds,
                               exporter_options=exporter_options)
        if before is not None:
            result.exporters = {**before.exporters, **result.exporters}
            result.notes = [*before.notes, *result.notes]
        return result
