"""What `thaw batch` writes was run and compared, every output of it; what could not be is not written without --no-check."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from batch_control_test import INT64, constant, draw, info, model_of, node
from batch_models_test import TOLERANCE, batch, samples_agree  # noqa: F401 (batch is a fixture)

INT32, UINT8 = TensorProto.INT32, TensorProto.UINT8


def dims(path):
    graph = onnx.load(path).graph
    return {v.name: [d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim] for v in [*graph.input, *graph.output]}


def add_domain(model):
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return model


def not_written(thaw, tmp_path, path, *args):
    """The report of a call that writes nothing; --no-check writes it."""
    out = tmp_path / "unproven.onnx"
    report = thaw.json("batch", path, "-o", out, *args, code=1)
    assert not out.exists() and report["output"] is None and report["not_compared"]
    text = thaw("batch", path, "-o", out, *args, code=1).stdout
    assert "not checked: " in text and "nothing was written" in text and "--no-check" in text and not out.exists()
    thaw("batch", path, "-o", out, *args, "--no-check", code=0)
    assert out.exists()
    return report


def two_rates(sizes=(512, 256)):
    """An If by the sample rate, whose branches take windows of other lengths."""
    def branch(name, size):
        shape = constant(f"{name}_shape", [1, size // 16, 16])
        return helper.make_graph([node("Reshape", f"x {name}_shape", f"{name}_r"),
                                  node("ReduceMean", f"{name}_r", name, axes=[1, 2], keepdims=1)], name, [], [info(name)], [shape])
    nodes = [node("Equal", "sr rate", "is_fast"),
             node("If", "is_fast", "i", then_branch=branch("fast", sizes[0]), else_branch=branch("slow", sizes[1])), node("Relu", "i", "y")]
    return model_of(nodes, [info("x", dims=[1, "samples"]), info("sr", INT64, [])], [info("y")], [constant("rate", 16000)])


def test_what_does_not_run_is_not_written(thaw, save, tmp_path):
    """A bias of four axes, which the kernel does not take."""
    nodes = [helper.make_node("BiasGelu", ["x", "b"], ["y"], domain="com.microsoft")]
    save_as = save(add_domain(model_of([*nodes], [info("x", dims=[1, 2, 3, 4]), info("b", dims=[4])], [info("y")])), "fine")
    thaw("batch", save_as, "-o", tmp_path / "fine.out.onnx", "--inputs", "x", code=0)
    bad = model_of([node("Reshape", "b0 shape", "b"), *nodes], [info("x", dims=[1, 2, 3, 4]), info("b0", dims=[4]), info("shape", INT64, ["k"])],
                   [info("y")])
    out = tmp_path / "out.onnx"
    run = thaw("batch", save(add_domain(bad)), "-o", out, "--inputs", "x", "--values", "shape=1,1,1,4", code={1, 2})
    assert not out.exists() and "agrees" not in run.stdout


def test_an_if_of_two_rates_is_tried_at_both(save, batch):
    """The rate is drawn from what it is compared with: each branch is run."""
    batched, report = batch(save(two_rates((256, 256))), "--inputs", "x")
    assert len(report["checks"]) == 2 and all(run["agrees"] for run in report["checks"])
    samples = draw(4, x=(1, 256))
    for rate in (16000, 8000):
        assert samples_agree(save(two_rates((256, 256)), "own"), batched, samples, dict(sr=np.array(rate))) <= TOLERANCE


def test_branches_that_cannot_both_run_are_not_written(thaw, save, tmp_path):
    """Where the rate differs from sample to sample both are computed for all, and one of them cannot."""
    out = tmp_path / "out.onnx"
    run = thaw("batch", save(two_rates()), "-o", out, code={1, 2})
    assert not out.exists() and "agrees" not in run.stdout


def test_a_model_that_does_not_run_here_is_not_written(thaw, save, tmp_path):
    model = model_of([node("Gather", "x rows", "g", axis=1), node("Add", "g x", "y")], [info("x", dims=[1, 6]), info("rows", INT64, [1])],
                     [info("y")])
    report = not_written(thaw, tmp_path, save(model), "--inputs", "x", "--values", "rows=77")
    assert "does not run here" in report["not_compared"][0] and report["checks"] == []


def test_an_output_without_elements_proves_nothing_and_other_sizes_are_tried(thaw, save, batch, tmp_path):
    def cut(start):
        return model_of([node("Slice", "x from to axis", "y")], [info("x", dims=[1, 3, "w"])], [info("y")],
                        [constant("from", [start]), constant("to", [2 ** 40]), constant("axis", [2])])
    _, report = batch(save(cut(1000)))
    assert report["checks"] and all(run["elements"] > 0 for run in report["checks"])
    text = thaw("batch", save(cut(1000)), "-o", tmp_path / "out.onnx", code=0).stdout
    assert "0 of 0" not in text and "agrees sample by sample" in text
    report = not_written(thaw, tmp_path, save(cut(2 ** 30), "never"))
    assert "no elements" in report["not_compared"][0]


def test_an_output_without_elements_beside_one_with_some(thaw, save, tmp_path):
    model = model_of([node("Slice", "x from to axis", "y"), node("Relu", "x", "z")], [info("x", dims=[1, 3, "w"])], [info("y"), info("z")],
                     [constant("from", [2 ** 30]), constant("to", [2 ** 40]), constant("axis", [2])])
    report = not_written(thaw, tmp_path, save(model))
    assert "'y'" in report["not_compared"][0] and "'z'" not in report["not_compared"][0]


def test_an_output_that_is_empty_at_every_size_is_compared_by_its_shape(thaw, save, tmp_path):
    model = model_of([node("Slice", "x zero zero axis", "y")], [info("x", dims=[1, 3, "w"])], [info("y")],
                     [constant("zero", [0]), constant("axis", [1])])
    text = thaw("batch", save(model), "-o", tmp_path / "out.onnx", code=0).stdout
    assert "0 of 0" not in text and "shapes only" in text


@pytest.mark.parametrize("form, indices", [("merged", "s e a"), ("leading", "s e a"), ("leading", "s e"), ("leading", "s e a t")])
@pytest.mark.parametrize("computed", [False, True])
def test_a_slice_by_int32(save, batch, form, indices, computed):
    """All of its operands stay of one type."""
    constants = {"s": [1], "e": [3], "a": [1 if form == "merged" else 0], "t": [1]}
    given = [constant(n, v, np.int64 if computed else np.int32) for n, v in constants.items() if n in indices.split()]
    casts = [node("Cast", f"{n}", f"{n}32", to=INT32) for n in indices.split()] if computed else []
    names = " ".join(f"{n}32" if computed else n for n in indices.split())
    model = save(model_of([*casts, node("Slice", f"x {names}", "y")], [info("x", dims=[1 if form == "merged" else 5, 4, 7])], [info("y")], given))
    batched, _ = batch(model)
    onnx.checker.check_model(str(batched), full_check=True)
    assert samples_agree(model, batched, draw(3, x=(1 if form == "merged" else 5, 4, 7))) == 0


@pytest.mark.parametrize("shape", [[1, 3], [4, 3]])
def test_an_output_that_is_also_an_input(save, batch, shape):
    model = save(model_of([node("Relu", "x", "y")], [info("x", dims=shape), info("k", dims=[5])],
                          [info("y", dims=shape), info("x", dims=shape), info("k", dims=[5])]))
    batched, _ = batch(model)
    assert [o.name for o in onnx.load(batched).graph.output] == ["y", "x", "k"]
    assert samples_agree(model, batched, draw(4, x=shape, k=(5,))) == 0


def test_an_input_that_is_shared_and_an_output_is_refused_in_a_sentence(thaw, save, tmp_path):
    path = save(model_of([node("Relu", "x", "y")], [info("x", dims=[1, 3]), info("k", dims=[5])], [info("y"), info("k", dims=[5])]))
    message = thaw.error("batch", path, "-o", tmp_path / "out.onnx", "--inputs", "x")
    assert "input 'k'" in message and "--inputs" in message


@pytest.mark.parametrize("nodes, shape", [([node("Transpose", "x", "y", perm=[1, 0])], (1, 3)),
                                          ([node("Transpose", "x", "u", perm=[1, 0]), node("Transpose", "u", "y", perm=[1, 0])], (1, 3)),
                                          ([node("Unsqueeze", "x zero", "y")], (3, 1)),
                                          ([node("Identity", "c", "y"), node("Relu", "x", "z")], (1, 3))])
def test_an_output_that_is_listed_twice(save, batch, nodes, shape):
    outputs = [info("y"), *([info("z")] if any(n.output[0] == "z" for n in nodes) else []), info("y")]
    model = save(model_of(nodes, [info("x", dims=shape)], outputs, [constant("zero", [0]), constant("c", [[5, 6]], np.float32)]))
    batched, _ = batch(model)
    assert [o.name for o in onnx.load(batched).graph.output] == [o.name for o in outputs]
    assert samples_agree(model, batched, draw(4, x=shape)) == 0


def recording(mixes=False):
    """Two axes, the first called N, as a judge of recordings has them: windows, a convolution, numbers of each recording."""
    rng = np.random.default_rng(3)
    weights = [constant("cw", rng.standard_normal((4, 1, 16)) / 4, np.float32), constant("pw", rng.standard_normal((4, 3)), np.float32)]
    tail = [node("MatMul", "m pw", "r"), node("Softmax", "r", "y", axis=0)] if mixes else [node("MatMul", "m pw", "y")]
    return model_of([node("Unsqueeze", "x one", "u"), node("Conv", "u cw", "c", strides=[8]), node("Relu", "c", "r0"),
                     node("ReduceMean", "r0", "m", axes=[2], keepdims=0), *tail],
                    [info("x", dims=["N", 1440])], [info("y", dims=["N", 3])], [constant("one", [1]), *weights])


def test_a_batch_by_another_name_is_one(thaw, save, batch, tmp_path):
    model = save(recording())
    batched, report = batch(model)
    assert dims(batched) == {"x": ["batch", 1440], "y": ["batch", 3]}
    assert [n["where"] for n in report["existing_batches"]] == ["x"] and "--new-axis" in report["existing_batches"][0]["message"]
    assert "already a batch axis" in thaw("batch", model, "-o", tmp_path / "out.onnx", code=0).stdout
    assert samples_agree(model, batched, draw(4, x=(1, 1440))) <= TOLERANCE
    batched, _ = batch(model, "--new-axis")
    assert dims(batched)["x"] == ["batch", "N", 1440]


def test_rows_that_meet_are_no_batch(save, batch):
    model = save(recording(mixes=True))
    batched, report = batch(model)
    assert dims(batched)["x"] == ["batch", "N", 1440] and report["existing_batches"] == []
    assert samples_agree(model, batched, draw(4, x=(5, 1440))) <= TOLERANCE


@pytest.mark.parametrize("name", ["32", "0", "", "a b", "a-b", "2x", "n*2", "größe", "a/b"])
def test_a_name_that_no_size_can_have_is_refused(thaw, save, tmp_path, name):
    path = save(model_of([node("Relu", "x", "y")], [info("x", dims=[1, 3])], [info("y")]))
    message = thaw.error("batch", path, "-o", tmp_path / "out.onnx", "--name", name)
    assert "--name" in message and "letters, digits" in message and not (tmp_path / "out.onnx").exists()


@pytest.mark.parametrize("name", ["images", "_n", "N.1", "a:b", "x2"])
def test_a_name_is_kept_as_it_is(save, batch, name):
    batched, _ = batch(save(model_of([node("Relu", "x", "y")], [info("x", dims=[1, 3])], [info("y")])), "--name", name)
    assert dims(batched)["x"] == [name, 3] and dims(batched)["y"] == [name, 3]


@pytest.mark.parametrize("a_point, b_point", [([1], None), ([1], []), ([], [1]), ([1], [1]), (None, [1])])
@pytest.mark.parametrize("b_differs", [True, False])
def test_a_product_of_integers_with_zero_points_of_each_sample(save, batch, a_point, b_point, b_differs):
    rng = np.random.default_rng(5)
    inputs = {"a": (3, 5), **({"b": (5, 4)} if b_differs else {})}
    inputs |= {name: tuple(shape) for name, shape in (("az", a_point), ("bz", b_point)) if shape is not None}
    operands = ["a", "b", "az" if a_point is not None else "", "bz" if b_point is not None else ""]
    model = save(model_of([helper.make_node("MatMulInteger", operands, ["y"])], [info(n, UINT8, list(s)) for n, s in inputs.items()],
                          [info("y", INT32)], [] if b_differs else [constant("b", rng.integers(0, 256, (5, 4)), np.uint8)]))
    batched, _ = batch(model)
    samples = [{n: rng.integers(0, 256, s).astype(np.uint8) for n, s in inputs.items()} for _ in range(5)]
    assert samples_agree(model, batched, samples) == 0


def test_zero_points_of_columns_of_each_sample(save, batch):
    rng = np.random.default_rng(6)
    shapes = {"a": (2, 3, 5), "b": (5, 4), "bz": (4,)}
    model = save(model_of([helper.make_node("MatMulInteger", ["a", "b", "", "bz"], ["y"])], [info(n, UINT8, list(s)) for n, s in shapes.items()],
                          [info("y", INT32)]))
    batched, _ = batch(model)
    samples = [{n: rng.integers(0, 256, s).astype(np.uint8) for n, s in shapes.items()} for _ in range(5)]
    assert samples_agree(model, batched, samples) == 0


def test_an_old_file_lists_what_is_added_among_its_inputs(save, batch):
    """Files of IR versions before 4 have each initializer among the inputs; MNIST as it is handed around is one."""
    model = model_of([node("Reshape", "x to", "r"), node("MatMul", "r w", "y")], [info("x", dims=[1, 2, 6]), info("to", INT64, [2]), info("w", dims=[12, 3])],
                     [info("y", dims=[1, 3])], [constant("to", [1, 12]), constant("w", np.ones((12, 3)) / 8, np.float32)], opset=8)
    model.ir_version = 3
    path = save(model)
    batched, _ = batch(path)
    onnx.checker.check_model(str(batched), full_check=True)
    assert samples_agree(path, batched, draw(3, x=(1, 2, 6))) < TOLERANCE


@pytest.mark.parametrize("shape", [[], [2]])
def test_rows_of_each_sample_by_int32(save, batch, shape):
    model = save(model_of([node("Gather", "x at", "y", axis=1)], [info("x", dims=[2, 5, 3]), info("at", INT32, shape)], [info("y")]))
    batched, _ = batch(model)
    feeds = draw(3, x=(2, 5, 3))
    for i, feed in enumerate(feeds):
        feed["at"] = np.full(shape, i - 1, np.int32)
    assert samples_agree(model, batched, feeds) == 0
