"""Export of PyTorch modules at every size: right at sizes that were not exported, or refused with the reason."""
import gc
import json
import os
import random
import re
import subprocess
import sys

import numpy as np
import pytest

import onnx_thaw as thaw

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("onnxscript", reason="onnxscript is not installed, which the dynamo exporter needs")

nn = torch.nn
IMAGE = "batch=1..4,height=32..160:8,width=32..160:8"


def images(batch, height, width):
    return {"image": torch.randn(batch, 3, height, width)}


class Patches(nn.Module):
    """Patches with positions that the code makes, and attention: sizes are frozen all over a static export."""

    def __init__(self):
        super().__init__()
        self.cut, self.mix, self.out = nn.Conv2d(3, 16, 8, stride=8), nn.Linear(16, 48), nn.Linear(16, 3)

    def forward(self, image, scale=1.0):
        cut = self.cut(image)
        batch, channels, height, width = cut.shape
        tokens = cut.flatten(2).transpose(1, 2)
        rows = torch.arange(height, dtype=torch.float32).repeat_interleave(width)
        columns = torch.arange(width, dtype=torch.float32).repeat(height)
        tokens = tokens + (rows.sin() + columns.cos())[None, :, None]
        q, k, v = self.mix(tokens).reshape(batch, height * width, 3, 2, 8).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, height * width, channels)
        return {"features": (mixed * scale).transpose(1, 2).reshape(batch, channels, height, width), "scores": self.out(mixed.mean(1))}


def right_at(result, module, make_inputs, *points):
    """Whether the saved model is the module at these sizes, by other means than those of the export."""
    import onnx
    assert result.accepted, result
    session = thaw.Session(onnx.load_model_from_string(result.model.serialize()))
    for point in points:
        assert point not in result.sizes
        inputs = make_inputs(**point)
        with torch.no_grad():
            outputs = module.eval()(**inputs)
        got = session.run({name: each for name, each in inputs.items() if isinstance(each, torch.Tensor)})
        for name, wanted in outputs.items():
            np.testing.assert_allclose(got[name], wanted.numpy(), atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("exporter", ["dynamo", "torchscript"])
def test_a_module_is_right_at_sizes_that_were_not_exported(exporter, tmp_path):
    module = Patches()
    result = thaw.torch.export(module, images, sizes=IMAGE, exporter=exporter, keep_traces=tmp_path / "traces")
    right_at(result, module, images, dict(batch=1, height=152, width=40), dict(batch=4, height=32, width=144))
    assert result.exporter == exporter and len(result.traces) == len(result.sizes) >= 3 and all(path.exists() for path in result.traces)
    assert any(not each.exported for each in result.comparisons) and all(each.agrees for each in result.comparisons)
    ends = [each.sizes for each in result.comparisons]
    assert dict(batch=1, height=32, width=32) in ends and dict(batch=4, height=160, width=160) in ends
    assert [port.dims for port in result.model.inputs] == [["batch", "3", "height", "width"]]
    files = result.save(tmp_path / "model.onnx")
    assert files == [tmp_path / "model.onnx"]
    shown, found = str(result), json.loads(result.to_json())
    assert shown.endswith("accepted") and "agrees with the module at" in shown and f"exporter {exporter}: accepted" in shown
    assert found["accepted"] and found["sizes"] == result.sizes and found["lift"]["accepted"]


def test_the_model_outlives_its_result(tmp_path):
    module = Patches()
    result = thaw.torch.export(module, images, sizes=IMAGE)
    assert result.accepted, result
    model = result.model
    del result
    gc.collect()
    inputs = images(2, 72, 104)
    with torch.no_grad():
        wanted = module(**inputs)["features"].numpy()
    np.testing.assert_allclose(thaw.run(model, inputs).outputs["features"], wanted, atol=1e-4, rtol=1e-3)
    model.save(tmp_path / "m.onnx")


def test_mode_and_random_numbers_are_as_before():
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Dropout(0.5), nn.BatchNorm2d(4))
    module[2].eval()
    torch.manual_seed(3)
    np.random.seed(3)
    random.seed(3)
    before = torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()
    running = module[2].running_mean.clone()
    result = thaw.torch.export(module, lambda n: (torch.randn(n, 3, 9, 9) + float(np.random.rand()) + random.random(),), sizes="n=1..20")
    assert result.accepted, result
    assert module.training and module[1].training and not module[2].training
    assert torch.equal(before[0], torch.get_rng_state())
    assert (before[1], before[2]) == (np.random.get_state()[1].tolist(), random.getstate())
    assert torch.equal(running, module[2].running_mean)


def test_a_function_of_two_tensors():
    def shares(a, b):
        return (a @ b.T).softmax(-1) / a.shape[0], b.sum(0)
    result = thaw.torch.export(shares, lambda n, m: (torch.randn(n, 5), torch.randn(m, 5)), sizes={"n": range(1, 30), "m": range(1, 30)})
    assert result.accepted, result
    assert [port.name for port in result.model.inputs] == ["a", "b"]
    assert [port.name for port in result.model.outputs] == ["output_0", "output_1"]


def test_nested_inputs_and_outputs_and_what_is_no_tensor():
    class Bags(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = nn.Embedding(20, 8)

        def forward(self, bag, how, scale=2.0):
            tokens = self.tokens(bag["ids"]) * bag["weights"][0][..., None]
            made = tokens.sum(1) if how == "sum" else tokens.mean(1)
            return {"pooled": made * scale, "all": [tokens, (tokens.amax(1), None)], "count": 3}

    def inputs(batch, seq):
        return (dict(ids=torch.randint(0, 20, (batch, seq)), weights=[torch.rand(batch, seq)]), "sum"), dict(scale=3.0)
    result = thaw.torch.export(Bags(), inputs, sizes="batch=1..4,seq=2..40")
    assert result.accepted, result
    assert [port.name for port in result.model.inputs] == ["bag.ids", "bag.weights.0"]
    assert [port.name for port in result.model.outputs] == ["pooled", "all.0", "all.1.0"]
    assert any("how: str" in note for note in result.notes) and any("count: int" in note for note in result.notes)


def test_the_words_of_torch_export():
    from torch.export import Dim
    batch = Dim("batch", min=1, max=6)
    result = thaw.torch.export(Patches(), example=(torch.randn(2, 3, 32, 48),),
                               dynamic_shapes={"image": {0: batch, 2: 8 * Dim("rows", min=3, max=15), 3: 8 * Dim("columns", min=3, max=15)}}, exporter="torchscript")
    assert result.accepted, result
    assert result.ranges == {"batch": "1..6", "rows": "3..15", "columns": "3..15"}
    result = thaw.torch.export(lambda a, b: a + b, example=(torch.randn(7), torch.randn(7)), dynamic_shapes=({0: Dim.AUTO}, {0: Dim.AUTO}),
                               exporter="torchscript")
    assert result.accepted, result
    assert result.ranges == {"a_dim0": "2..28"}


def test_one_size_is_compared_on_other_numbers():
    result = thaw.torch.export(Patches(), images, sizes="batch=2,height=48,width=64")
    assert result.accepted and result.report is None and len(result.comparisons) == 2
    assert result.comparisons[0].max_abs_diff != result.comparisons[1].max_abs_diff or result.comparisons[0].agrees


class Branches(nn.Module):
    """Does something else from a size on that no small export reaches."""

    def forward(self, image):
        return {"out": image * 2 if image.shape[2] < 150 else image * 3}


def test_what_no_export_saw_is_refused(tmp_path):
    result = thaw.torch.export(Branches(), images, sizes=IMAGE, exporter="dynamo", keep_traces=tmp_path / "traces")
    assert not result.accepted and result.reason
    with pytest.raises(thaw.Refused) as caught:
        result.save(tmp_path / "model.onnx")
    assert caught.value.result is result and not (tmp_path / "model.onnx").exists()
    assert str(result).endswith(f"not accepted: {result.reason}")


class Learned(nn.Module):
    """Reads as many rows as there are tokens of numbers that the export folds."""

    def forward(self, x):
        noise = torch.from_numpy(np.random.default_rng(x.shape[1]).standard_normal(x.shape[1]).astype(np.float32))
        return x * 2 + noise


def test_what_stays_frozen_names_the_line_of_the_module():
    result = thaw.torch.export(Learned(), lambda n: torch.randn(2, n), sizes="n=4..40", exporter="dynamo")
    assert not result.accepted and result.frozen
    assert "torch_test.py:" in result.reason and "noise" in result.reason, result.reason


class Halves(nn.Module):
    def forward(self, x):
        half = x.shape[0] // 2
        return torch.zeros(half, 3) + x[:1] * float(half)


def test_what_the_exports_do_not_determine_is_exported_too(monkeypatch):
    """Even sizes do not tell how a half is rounded."""
    from onnx_thaw.torch import _export
    real = _export.choose
    monkeypatch.setattr(_export, "choose", lambda ranges, count, taken=(): real(ranges, count, taken) if taken else [
        {"n": value} for value in (8, 16, 24)])
    call = lambda most: thaw.torch.export(Halves(), lambda n: torch.randn(n, 3), sizes="n=8..64", exporter="torchscript", most_traces=most)
    few = call(3)
    assert not few.accepted and "do not determine the model at n=" in few.reason, few
    more = call(5)
    assert more.accepted and len(more.sizes) in (4, 5) and more.sizes[-1]["n"] % 2 == 1, more


def test_a_cache_is_flat_and_named():
    pytest.importorskip("transformers", reason="transformers is not installed")
    from transformers.cache_utils import DynamicCache

    class Decoder(nn.Module):
        def forward(self, x, past_key_values):
            keys, values = past_key_values.update(x[:, None], x[:, None] * 2, 0)
            scores = x[:, None] @ keys.transpose(2, 3)
            return {"out": scores.softmax(-1) @ values, "past_key_values": past_key_values}

    def inputs(batch, past, new):
        return {"x": torch.randn(batch, new, 8),
                "past_key_values": DynamicCache([(torch.randn(batch, 1, past, 8), torch.randn(batch, 1, past, 8))])}
    result = thaw.torch.export(Decoder(), inputs, sizes="batch=1..4,past=1..40,new=1..8")
    assert result.accepted, result
    assert [port.name for port in result.model.inputs] == ["x", "past_key_values.0.key", "past_key_values.0.value"]
    assert [port.name for port in result.model.outputs] == ["out", "present.0.key", "present.0.value"]
    batch, heads, total, width = result.model.outputs[1].dims
    assert (batch, heads, sorted(total.split(" + ")), width) == ("batch", "1", ["new", "past"], "8")


class Short(nn.Module):
    def forward(self, x):
        if x.shape[0] > 30:
            raise ValueError("too long")
        return x + 1


def test_a_size_at_which_the_module_fails_is_named_once():
    result = thaw.torch.export(Short(), lambda n: torch.randn(n, 3), sizes="n=1..40")
    assert not result.accepted and "too long; narrow the ranges" in result.reason and list(result.exporters) == ["dynamo"], result


def test_a_module_that_fails_at_another_size_to_export_is_refused():
    class Once(nn.Module):
        first = None

        def forward(self, x):
            self.first = self.first or len(x)
            if len(x) != self.first:
                raise ValueError(f"no {len(x)}")
            return x + 1

    result = thaw.torch.export(Once(), lambda n: torch.randn(n, 3), sizes="n=1..40")
    assert not result.accepted and re.fullmatch(r"the module fails at n=(\d+): ValueError: no \1; narrow the ranges", result.reason), result


def test_what_the_module_raises_goes_to_the_caller():
    module = nn.Linear(3, 4)
    with pytest.raises(RuntimeError):
        thaw.torch.export(module, lambda n: torch.randn(n, 5), sizes="n=1..9")
    assert module.training


def test_a_runtime_that_is_missing_is_no_fault_of_the_export(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import torch, onnx_thaw as thaw\n"
                      "try:\n    print(thaw.torch.export(torch.nn.Linear(3, 4), lambda n: torch.randn(n, 3), sizes='n=1..40').reason)\n"
                      "except thaw.Error as error:\n    print('raised', error.code)\n")
    run = subprocess.run([sys.executable, str(script)], env={**os.environ, "THAW_ONNXRUNTIME": str(tmp_path)}, capture_output=True, text=True)
    assert run.stdout.splitlines()[-1] == "raised runtime_missing", run


class Random(nn.Module):
    def forward(self, x):
        return x + torch.rand(())


def test_a_module_that_draws_random_numbers_is_refused():
    result = thaw.torch.export(Random(), lambda n: torch.randn(n, 3), sizes="n=1..9")
    assert not result.accepted and "each time" in result.reason and not result.sizes


class OnlyEager(nn.Module):
    """What no exporter takes."""

    def forward(self, x):
        return torch.linalg.eigvals(x @ x.T).real.sort().values


def test_errors_of_both_exporters_stand_in_the_reason():
    result = thaw.torch.export(OnlyEager(), lambda n: torch.randn(n, 3), sizes="n=1..9")
    assert not result.accepted and set(result.exporters) == {"dynamo", "torchscript"}
    assert "dynamo: the exporter fails" in result.reason and "torchscript: " in result.reason, result.reason


class Traced(nn.Module):
    """Is another under a tracer."""

    def forward(self, x):
        return x * 2 if torch.compiler.is_exporting() else x * 3


def test_an_export_that_is_not_the_module_is_not_used():
    result = thaw.torch.export(Traced(), lambda n: torch.randn(n, 3), sizes="n=1..9")
    assert "the export itself differs from the module" in result.exporters["dynamo"], result
    assert result.accepted and result.exporter == "torchscript", result
    result = thaw.torch.export(Traced(), lambda n: torch.randn(n, 3), sizes="n=1..9", exporter="dynamo")
    assert not result.accepted


def double(x):
    return x.repeat(2, 1)


def test_ends_that_take_too_much_memory_are_left_out_and_named():
    result = thaw.torch.export(double, lambda n: torch.randn(n, 3), sizes="n=1..4000000", max_memory=1 << 16,
                               exporter="torchscript")
    assert result.accepted, result
    assert len(result.not_compared) == 1 and result.not_compared[0].startswith("n=4000000: it may take"), result


def test_nothing_is_accepted_that_was_compared_at_exported_sizes_only():
    result = thaw.torch.export(double, lambda n: torch.randn(n, 3), sizes="n=101|303|909|4000001", exporter="torchscript",
                               max_memory=1 << 16)
    assert [point["n"] for point in result.sizes] == [101, 303, 909]
    assert not result.accepted and "no size that was not exported" in result.reason and "4000001" in result.reason, result


@pytest.mark.parametrize("call, word", [
    (lambda: thaw.torch.export(Patches(), images, sizes=IMAGE, exporter="onnx"), "exporter"),
    (lambda: thaw.torch.export(Patches()), "make_inputs"),
    (lambda: thaw.torch.export(Patches(), images, sizes="h=4.."), "no end"),
    (lambda: thaw.torch.export(Patches(), lambda n: {"image": 3}, sizes="n=1..4"), "no tensor"),
    (lambda: thaw.torch.export(Patches(), images, sizes=IMAGE, most_traces=1), "most_traces"),
    (lambda: thaw.torch.export(Patches(), example=(torch.randn(2, 3, 32, 32),), dynamic_shapes={"picture": {0: torch.export.Dim("b")}}),
     "picture")])
def test_wrong_calls(call, word):
    with pytest.raises(thaw.InvalidArgument) as caught:
        call()
    assert word in str(caught.value)


def test_the_page_of_the_guide_runs(tmp_path, monkeypatch):
    import re

    from conftest import SOURCE
    page = (SOURCE / "docs" / "guide" / "torch.md").read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    assert len(blocks) == 2
    folder = tmp_path / "page"
    folder.mkdir()
    monkeypatch.chdir(folder)

    class Features(nn.Module):
        def __init__(self):
            super().__init__()
            self.cut = nn.Conv2d(3, 8, 16, stride=16)

        def forward(self, pixel_values):
            return self.cut(pixel_values).flatten(2).transpose(1, 2)
    names = {"module": Features()}
    for block in blocks:
        exec(compile(block, "docs/guide/torch.md", "exec"), names)
        assert names["result"].accepted, names["result"]
    assert (folder / "model.onnx").exists()
    monkeypatch.chdir(tmp_path)
