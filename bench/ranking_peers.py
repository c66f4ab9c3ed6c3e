"""Peers that rank nodes by what quantizing them costs, as a process: they want torch, and packages of other versions.

    PYTHON ranking_peers.py onnxsim MODEL SAMPLES FIGURES NODE…              its estimators for weights of 4 bits
    PYTHON ranking_peers.py onnxsim-activations MODEL SAMPLES FIGURES NODE…  each node alone in QDQ of 8 bits
    PYTHON ranking_peers.py inc MODEL SAMPLES FIGURES NODE…                  Neural Compressor's mse_v2: all but each node in QDQ of 8 bits
    PYTHON ranking_peers.py quark MODEL SAMPLES FIGURES NODE…                each node alone in QDQ of 8 bits, the others in 16

SAMPLES are of one size. FIGURES: of each method its seconds and its scores by node, more for the worse; or why there are none.
"""
import contextlib
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx

ESTIMATORS = ["weight_err", "weight_err_rel", "fisher", "taylor", "hessian_trace"]


def one_at_a_time(model):
    """The model over inputs with one more axis before all others, along which samples lie: onnxsim's estimators want that."""
    squeezed = [onnx.helper.make_node("Squeeze", [f"{i.name}/sample", "sample_axis"], [i.name], name=f"{i.name}/Squeeze")
                for i in model.graph.input]
    for i in model.graph.input:
        i.name += "/sample"
        dims = list(i.type.tensor_type.shape.dim)
        del i.type.tensor_type.shape.dim[:]
        i.type.tensor_type.shape.dim.add(dim_value=1)
        i.type.tensor_type.shape.dim.extend(dims)
    nodes = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend(squeezed + nodes)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([0]), "sample_axis"))
    return model


def onnxsim(model, samples, nodes):
    from onnxsim import quant_sensitivity
    stacked = {f"{name}/sample": np.stack([s[name] for s in samples]) for name in samples[0]}
    model = one_at_a_time(onnx.load(model))
    sites = [s for s in quant_sensitivity.find_sites(model) if s.name in nodes]
    for method in ESTIMATORS:
        def scored(method=method):
            report = quant_sensitivity.rank(model, sites=sites, calib=stacked, bits=4, methods=[method], hessian_batch=1)
            if method not in report.scores:
                raise NotImplementedError(report.skipped[method])
            return dict(zip(report.groups, map(float, report.scores[method]), strict=True))
        yield method, scored


def onnxsim_activations(model, samples, nodes):
    from onnxsim.activation_sensitivity import analyze_activation_sensitivity, group_nodes

    def scored():
        known = group_nodes(str(model), "node")
        report = analyze_activation_sensitivity(str(model), samples, groups={name: [name] for name in nodes if name in known})
        return {g.group: -g.score for g in report.groups}
    yield "only", scored


def quark(model, samples, nodes):
    from onnxruntime.quantization import CalibrationDataReader
    from quark.onnx import AutoMixprecisionConfig, Int8Spec, Int16Spec, ModelQuantizer, QConfig, QLayerConfig, UInt8Spec

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.reset_iter()

        def reset_iter(self):
            self.left = iter(samples)

        def get_next(self):
            return next(self.left, None)

    def scored():
        with tempfile.TemporaryDirectory() as folder:
            found = Path(folder) / "found.json"
            mixed = AutoMixprecisionConfig(QLayerConfig(activation=UInt8Spec(), weight=Int8Spec()), include_layers=list(nodes),
                                           metric_threshold=None, sensitivity_cache_file=found)
            config = QConfig(QLayerConfig(activation=Int16Spec(), weight=Int16Spec()), algo_config=[mixed], OptimizeModel=False)
            ModelQuantizer(config).quantize_model(str(model), str(Path(folder) / "mixed.onnx"), Reader())
            return {r["name"]: r["score"] for r in json.loads(found.read_text())["results"]}
    yield "l2", scored


class _Found(Exception):
    """Neural Compressor goes on to tune behind its first ranking."""


def inc(model, samples, nodes):
    from neural_compressor import PostTrainingQuantConfig, quantization
    from neural_compressor.adaptor.onnxrt import ONNXRUNTIMEAdaptor
    from neural_compressor.config import AccuracyCriterion, TuningCriterion

    class Loader:
        batch_size = 1

        def __iter__(self):
            return ((sample, None) for sample in samples)

        def __len__(self):
            return len(samples)

    def scored():
        errors, rank = {}, ONNXRUNTIMEAdaptor._get_mse_order

        def keep(self, *given, **named):
            errors.update(rank(self, *given, **named))
            raise _Found
        ONNXRUNTIMEAdaptor._get_mse_order = keep
        answers = iter([1.0])  # of float32; what is quantized is never good enough, so that it ranks
        config = PostTrainingQuantConfig(
            approach="static", quant_format="QDQ", calibration_sampling_size=len(samples), recipes={"graph_optimization_level": "DISABLE_ALL"},
            tuning_criterion=TuningCriterion(strategy="mse_v2", max_trials=9, strategy_kwargs={"confidence_batches": len(samples)}),
            accuracy_criterion=AccuracyCriterion(tolerable_loss=0.01), quant_level=1)
        with contextlib.suppress(_Found):
            quantization.fit(str(model), config, calib_dataloader=Loader(), eval_func=lambda _: next(answers, 0.0))
        if not errors:
            raise RuntimeError("it ranked nothing")
        return {name: -float(error) for (name, _), error in errors.items() if name in nodes}
    yield "mse_v2", scored


def main():
    who, model, samples, figures, *nodes = sys.argv[1:]
    samples = [dict(np.load(path)) for path in sorted(Path(samples).glob("*.npz"))]
    found = {}
    for method, scored in {"onnxsim": onnxsim, "onnxsim-activations": onnxsim_activations, "inc": inc, "quark": quark}[who](model, samples, nodes):
        start = time.perf_counter()
        try:
            scores = scored()
            found[method] = {"seconds": time.perf_counter() - start, "scores": scores}
        except Exception as error:  # what it does not manage is a figure too
            found[method] = {"why": f"{type(error).__name__}: {error}".splitlines()[0]}
        Path(figures).write_text(json.dumps(found), encoding="utf-8")  # at once: the next method may be stopped for its time


if __name__ == "__main__":
    main()
