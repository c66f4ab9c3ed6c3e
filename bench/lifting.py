"""How many fresh exports `thaw lift` lifts: architectures of transformers, torchvision and timm, both exporters, judged by torch.

    python bench/lifting.py --thaw build/thaw --folder /tmp/lifting [--only bert swin] [--exporters script dynamo] [--json FILE]

Each architecture (lifting_*models.py: tiny, random weights) is exported at three sizes by TorchScript (`dynamo=False`) and by
today's default (`dynamo=True`), with static shapes. What Thaw lifts of them runs at two sizes that no trace has, one of them
beyond the largest trace, and is held against torch. Traces and torch's numbers are kept in the folder and not made again.
Needs torch, transformers, onnx, onnxscript and onnxruntime; torchvision and timm where they are installed. Not a part of CI.
"""
import argparse
import collections
import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import lifting_fresh_models  # noqa: F401 (adds its own to MODELS, as the next ones do)
import lifting_image_models  # noqa: F401
import lifting_language_models  # noqa: F401
import lifting_text_models  # noqa: F401
import lifting_timm_models  # noqa: F401
from lifting_judging import EXPORTERS, TOLERANCE, differences, is_near, tensors_of, text_of, verdict_of
from lifting_models import MODELS


def export(name, exporter, folder):
    """Three traces, and torch's numbers at all sizes."""
    import torch
    warnings.filterwarnings("ignore")
    architecture = MODELS[name]
    torch.manual_seed(0)
    model = architecture.make().eval()
    with torch.no_grad():
        for parameter in model.parameters():  # biases and tables that start at 0 would hide what is wrong
            if parameter.requires_grad:
                parameter.add_(torch.randn_like(parameter) * 0.05)

    class Wrapped(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, *arrays):
            return tuple(tensors_of(self.model(**dict(zip(names, arrays, strict=True)), **architecture.call)))

    names = list(architecture.inputs(*architecture.sizes[0]))
    wrapped = Wrapped().eval()
    resize = architecture.resize or (lambda *_: None)
    for size in [*architecture.sizes, *architecture.unseen]:
        feeds = {key: torch.from_numpy(array) for key, array in architecture.inputs(*size).items()}
        resize(model, *size)
        with torch.no_grad():
            outputs = wrapped(*feeds.values())
        np.savez(folder / f"truth_{text_of(size)}.npz", *[o.numpy() for o in outputs])
    for size in architecture.sizes:
        feeds = {key: torch.from_numpy(array) for key, array in architecture.inputs(*size).items()}
        path = folder / f"trace_{text_of(size)}.onnx"
        resize(model, *size)
        with torch.no_grad():
            torch.onnx.export(wrapped, tuple(feeds.values()), str(path), input_names=names, dynamo=exporter == "dynamo",
                              **(dict(external_data=False) if exporter == "dynamo" else dict(opset_version=17)))


def differences_of_traces(session_of, architecture, folder):
    """Of each output of the traces, the largest difference from torch at their own sizes: nothing that lifting could mend."""
    worst = []
    for size in architecture.sizes:
        feeds = architecture.inputs(*size)
        session = session_of(folder / f"trace_{text_of(size)}.onnx")
        outputs = session.run(None, {i.name: feeds[i.name] for i in session.get_inputs()})
        each = list(differences(outputs, np.load(folder / f"truth_{text_of(size)}.npz")))
        worst = [max(a, b) for a, b in zip(worst, each, strict=True)] if worst else each
    return worst


def judged(path, architecture, folder):
    """'right', 'guarded' (at a size that the report says it is not valid for), 'wrong' or, where no output of a trace is torch's, 'not judged'; and the largest difference of each unseen size."""
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)

    def session_of(model):
        return onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])

    session = session_of(path)
    in_traces = differences_of_traces(session_of, architecture, folder)
    judges = [i for i, worst in enumerate(in_traces) if worst <= TOLERANCE]
    if not judges:
        return "not judged", "the exporter's traces are otherwise than torch at their own sizes"
    own = len(in_traces) - len(judges)
    verdict, seen = "right", [f"{own} outputs the exporter's own"] if own else []
    for size in architecture.unseen:
        feeds = architecture.inputs(*size)
        try:
            outputs = session.run(None, {i.name: feeds[i.name] for i in session.get_inputs()})
        except Exception as error:
            is_guard = "guard_Reshape" in str(error)
            seen.append(f"{text_of(size)}: {'ended by the guard' if is_guard else str(error)[:160]}")
            verdict = "guarded" if is_guard and verdict != "wrong" else "wrong"
            continue
        found = list(differences(outputs, np.load(folder / f"truth_{text_of(size)}.npz")))
        seen.append(f"{text_of(size)}: {max(found[i] for i in judges):.1e}")
        if any(not is_near(found[i], in_traces[i]) for i in judges):
            verdict = "wrong"
    return verdict, ", ".join(seen)


def lift(thaw, name, folder):
    architecture = MODELS[name]
    out = folder / "lifted.onnx"
    traces = [folder / f"trace_{text_of(size)}.onnx" for size in architecture.sizes]
    return verdict_of(thaw, traces, out, lambda path: judged(path, architecture, folder))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--thaw", default="build/thaw")
    parser.add_argument("--folder", type=Path, required=True, help="where traces are kept")
    parser.add_argument("--only", nargs="*", default=list(MODELS))
    parser.add_argument("--exporters", nargs="*", default=list(EXPORTERS), choices=EXPORTERS)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--export-one", nargs=2, metavar=("NAME", "EXPORTER"), help=argparse.SUPPRESS)
    parser.add_argument("--timeout", type=float, default=400, help="seconds that the exports of an architecture may take")
    options = parser.parse_args()
    if options.export_one:
        name, exporter = options.export_one
        export(name, exporter, options.folder / exporter / name)
        return 0
    results, counts = {}, {exporter: collections.Counter() for exporter in options.exporters}
    for name in options.only:
        for exporter in options.exporters:
            folder = options.folder / exporter / name
            failed = folder / "failed.txt"
            if not (folder / "done").exists() and not failed.exists():
                folder.mkdir(parents=True, exist_ok=True)
                command = [sys.executable, __file__, "--folder", str(options.folder), "--export-one", name, exporter]
                try:
                    run = subprocess.run(command, capture_output=True, text=True, timeout=options.timeout, check=False)
                    problem = run.stderr.strip().splitlines()[-1:] or [""] if run.returncode != 0 else None
                except subprocess.TimeoutExpired:
                    problem = ["took too long"]
                if problem:
                    failed.write_text(problem[0] + "\n" + (run.stderr if "run" in locals() else ""))
                else:
                    (folder / "done").touch()
            if failed.exists():
                result = dict(verdict="no export", why=failed.read_text().splitlines()[0][:200], seconds=0)
            else:
                result = lift(options.thaw, name, folder)
            results[f"{name}/{exporter}"] = result
            counts[exporter][result["verdict"]] += 1
            print(f"{name:24} {exporter:7} {result['verdict']:14} {result['seconds']:6.1f} s  {result['why']}", flush=True)
    for exporter, count in counts.items():
        print(f"{exporter}: {', '.join(f'{n} {verdict}' for verdict, n in count.most_common())}")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
