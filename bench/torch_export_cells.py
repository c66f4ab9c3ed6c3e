"""One architecture exported by one exporter, and judged.

Seconds are of processors, of this process and of those that it started: others may run on the machine. All are judged alike: at 12 drawn sizes that nothing was exported at, and at the ends of the ranges, in ONNX Runtime, beside the module itself.
"""
import contextlib
import importlib.metadata
import os
import tempfile
from pathlib import Path

import onnxscript  # noqa: F401 (what exporters load is no part of their time)
import torch
import torch._dynamo
import torch.onnx._internal.exporter._core
import transformers
from torch import nn

import onnx_thaw as thaw
from onnx_thaw.torch._choose import choose, ends, unseen
from onnx_thaw.torch._compare import Comparison, compare
from onnx_thaw.torch._exporters import quiet, reason_of
from onnx_thaw.torch._module import Subject, left_as_it_was, wrapper
from onnx_thaw.torch._nested import Flat
from onnx_thaw.torch._sizes import Ranges, text_of
from torch_export_models import MODELS

with contextlib.suppress(ImportError):
    from optimum.exporters.onnx import onnx_export_from_model
    from optimum.exporters.tasks import TasksManager

SEED = 1234  # not that of the export: other sizes and other numbers
DRAWN = 12
PACKAGES = ("torch", "transformers", "timm", "torchvision", "onnxruntime", "optimum-onnx")


def versions():
    """Of what is installed."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def processor_seconds():
    """Of this process, and of those that it started."""
    spent, ticks = sum(os.times()[:4]), os.sysconf("SC_CLK_TCK")
    for children in Path("/proc/self/task").glob("*/children"):
        for process in children.read_text("ascii").split():
            with contextlib.suppress(OSError):
                spent += sum(int(each) for each in Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()[11:15]) / ticks
    return spent


def varied(module):
    """Parameters that are all one number get noise: scores that all tie have no order to compare."""
    if isinstance(module, nn.Module):
        with torch.no_grad():
            for each in module.parameters():
                if each.numel() > 1 and each.is_floating_point() and (each == each.flatten()[0]).all():
                    each += 0.1 * torch.randn_like(each)
    return module


def judged(subject, path, points, feeds=None, common=False):
    """Of a model: "right", "wrong" (other numbers or shapes) or "stops" (an error), and where.

    Args:
        subject: The module with its inputs.
        path: The model.
        points: Sizes.
        feeds: Makes the model's inputs of the module's, by name; by default they are the same.
        common: Whether outputs that only one of the two has are left out.
    """
    session = thaw.Session(path)
    names = {port.name for port in session.inputs}
    for point in points:
        case = subject.case(point, draw=SEED)
        subject.run(case)
        given = dict(zip(case.inputs.names, case.inputs.tensors))
        given = feeds(given, point) if feeds else given
        if names - given.keys():
            return "stops", f"it asks for {', '.join(sorted(names - given.keys()))}"
        try:
            outputs = session.run({name: tensor for name, tensor in given.items() if name in names})
        except thaw.Error as error:
            return "stops", f"{text_of(point)}: {' '.join(str(error).split()).removeprefix(f'{path}: ')}"
        expected = case.outputs
        if common:
            if len(expected.names) == len(outputs) == 1:
                outputs = dict(zip(expected.names, outputs.values()))
            kept = [i for i, name in enumerate(expected.names) if name in outputs]
            if not kept:
                return "wrong", f"none of its outputs ({', '.join(outputs)}) is one of the module's ({', '.join(expected.names)})"
            expected = Flat([expected.names[i] for i in kept], [expected.tensors[i] for i in kept], [], expected.build)
            outputs = {name: outputs[name] for name in expected.names}
        found = compare(Comparison(point), expected, outputs)
        if not found.agrees:
            return "wrong", f"{text_of(point)}: {found.reason}"
    return "right", ""


class Job:
    """An architecture with its inputs and the sizes that it is judged at."""

    def __init__(self, name):
        self.row = MODELS[name]
        torch.manual_seed(0)
        self.module = varied(self.row.make())
        self.ranges, self.subject = Ranges(self.row.sizes), Subject(self.module, self.row.inputs, SEED)
        exported = choose(self.ranges, 3)
        self.points = unseen(self.ranges, exported, DRAWN, lambda _: True, SEED) + ends(self.ranges)
        self.first, self.second = exported[:2]

    def axes(self):
        """The case of the first size, and of each input and output which axes vary."""
        case, other = self.subject.case(self.first), self.subject.case(self.second)
        self.subject.run(case)
        self.subject.run(other)

        def vary(a, b):
            return [[i for i, (x, y) in enumerate(zip(one.shape, two.shape)) if x != y] for one, two in zip(a.tensors, b.tensors)]
        return case, vary(case.inputs, other.inputs), vary(case.outputs, other.outputs)


def by_thaw(job, path):
    """onnx_thaw.torch.export."""
    result = thaw.torch.export(job.module, job.row.inputs, sizes=job.row.sizes)
    found = {"exporter": result.exporter, "exports": len(result.sizes), "exporters": result.exporters, "frozen": result.frozen,
             "not_compared": result.not_compared}
    if not result.accepted:
        return found | {"verdict": "refused", "why": result.reason}
    result.save(path)
    return found


def by_dynamo(job, path):
    """torch.onnx.export(dynamo=True): every axis that varies is Dim.DYNAMIC, or Dim.AUTO where that fails."""
    case, axes, _ = job.axes()
    reason = ""
    for hint in (torch.export.Dim.DYNAMIC, torch.export.Dim.AUTO):
        try:
            with quiet(), torch.no_grad():
                torch.onnx.export(wrapper(job.subject, case), tuple(case.inputs.tensors), str(path), dynamo=True, input_names=case.inputs.names,
                                  output_names=case.outputs.names, external_data=False,
                                  dynamic_shapes=(tuple(dict.fromkeys(each, hint) for each in axes),))
            return {}
        except Exception as error:
            reason = reason or reason_of(error)
    return {"verdict": "none", "why": reason}


def by_torchscript(job, path):
    """torch.onnx.export(dynamo=False): every axis that varies is among dynamic_axes."""
    case, inputs, outputs = job.axes()
    names = [*case.inputs.names, *case.outputs.names]
    axes = {name: {axis: f"{name}_{axis}" for axis in each} for name, each in zip(names, [*inputs, *outputs]) if each}
    try:
        with quiet(), torch.no_grad():
            torch.onnx.export(wrapper(job.subject, case), tuple(case.inputs.tensors), str(path), dynamo=False, opset_version=17,
                              input_names=case.inputs.names, output_names=case.outputs.names, dynamic_axes=axes)
    except Exception as error:
        return {"verdict": "none", "why": reason_of(error)}
    return {}


def by_optimum(job, path):
    """optimum's onnx_export_from_model, with the arguments of the call that are flags."""
    module, unknown = job.module.eval() if isinstance(job.module, nn.Module) else job.module, {"verdict": "unknown", "why": "not known to it"}
    if not job.row.task:
        return unknown
    if hasattr(module, "config"):
        if module.config.model_type.replace("_", "-") not in {each.replace("_", "-") for each in TasksManager._SUPPORTED_MODEL_TYPE}:
            return unknown
        _write_checkpoint(module.config, path.parent / "checkpoint", job.first)
    flags = {name: value for name, value in job.row.inputs(**job.first).items() if isinstance(value, bool)}
    try:
        with quiet():
            onnx_export_from_model(module, path.parent, task=job.row.task, do_validation=False, model_kwargs=flags or None)
    except Exception as error:
        reason = reason_of(error)
        return unknown if "task" in reason and "supported" in reason else {"verdict": "none", "why": reason}
    made = sorted(path.parent.glob("*.onnx"))
    if len(made) != 1:
        return {"verdict": "none", "why": f"it writes {', '.join(each.name for each in made) or 'no model'}"}
    made[0].replace(path)
    return {}


def _write_checkpoint(config, folder, point):
    """What stands beside a checkpoint's weights: some of optimum's configs look there for the size of images."""
    config.save_pretrained(folder)
    transformers.ViTImageProcessor(size={side: point.get(side, 96) for side in ("height", "width")}).save_pretrained(folder)
    config._name_or_path = str(folder)


def optimum_feeds(given, point):
    """Inputs by optimum's names; those that the module makes itself, as it makes them."""
    feeds = dict(given)
    if "x" in given:
        feeds["pixel_values"] = given["x"]
    if "input_ids" in given:
        tokens = given["input_ids"]
        feeds.setdefault("token_type_ids", torch.zeros_like(tokens))
        past = point.get("past", 0)
        feeds.setdefault("attention_mask", torch.ones(tokens.shape[0], past + tokens.shape[1], dtype=torch.long))
        feeds.setdefault("position_ids", torch.arange(past, past + tokens.shape[1])[None].repeat(tokens.shape[0], 1))
    return feeds


EXPORTERS = {"thaw": by_thaw, "dynamo": by_dynamo, "torchscript": by_torchscript, "optimum": by_optimum}


def cell(name, exporter):
    """What one exporter makes of an architecture.

    Returns:
        "verdict", "why", "seconds"; of thaw also "exporter", "exports", "exporters", "frozen", "not_compared".
    """
    try:
        job = Job(name)
    except AttributeError:  # a class that this release of transformers has not
        return {"verdict": "unknown", "why": f"not in transformers {transformers.__version__}"}
    with tempfile.TemporaryDirectory() as folder, left_as_it_was(job.module, SEED):
        path = Path(folder, "model.onnx")
        started = processor_seconds()
        found = EXPORTERS[exporter](job, path)
        found["seconds"] = round(processor_seconds() - started, 1)
        if "verdict" not in found:
            how = dict(feeds=optimum_feeds, common=True) if exporter == "optimum" else {}
            found["verdict"], found["why"] = judged(job.subject, path, job.points, **how)
    return found
