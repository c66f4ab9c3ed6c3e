"""What static exports of text models freeze: biases in buckets of distances, positions behind a past, strides of what is read as a flat list."""
import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from conftest import session
from lift_left_out_test import lifted
from lift_net import Net

TRACES = (19, 34, 53)


def t5_bucket(distance, buckets=32, farthest=128):
    """Of how far a key is after the query, as T5 counts it."""
    half, far = buckets // 2, np.abs(distance)
    exact = half // 2
    grown = exact + (np.log(np.maximum(far, 1) / exact) / np.log(farthest / exact) * (half - exact)).astype(np.int64)
    return np.where(distance > 0, half, 0) + np.where(far < exact, far, np.minimum(grown, half - 1))


def deberta_bucket(distance, buckets=16, farthest=512):
    middle, far = buckets // 2, np.abs(distance)
    grown = np.ceil(np.log(np.maximum(far, 1) / middle) / np.log((farthest - 1) / middle) * (middle - 1)) + middle
    return np.where(far < middle, distance, np.sign(distance) * grown).astype(np.int64)


def apart(n):
    return np.arange(n) - np.arange(n)[:, None]


BUCKETS = {"T5": (t5_bucket, 64), "DeBERTa": (deberta_bucket, 84)}


@pytest.mark.parametrize("name", BUCKETS)
def test_a_bias_in_buckets_is_known_to_the_end_of_the_last_bucket(thaw, save, tmp_path, name):
    """Buckets grow by one factor, which tells where the one ends that the largest trace ends in; a size beyond is an error."""
    bucket, largest = BUCKETS[name]
    learned = np.random.default_rng(1).standard_normal((2, 64)).astype(np.float32)

    def trace(n):
        net = Net()
        return net.model([2, n, n], net.add("Add", "x", net.constant(learned[:, bucket(apart(n)) + 24])))

    run = lifted(thaw, save, tmp_path, {str(n): trace(n) for n in TRACES})
    for n in (5, 29, 61, largest):
        assert np.array_equal(run.run(None, {"x": np.zeros((2, n, n), np.float32)})[0], learned[:, bucket(apart(n)) + 24]), n
    with pytest.raises(Exception, match="guard_Reshape"):
        run.run(None, {"x": np.zeros((2, 97, 97), np.float32)})


def test_positions_that_count_from_0_again(thaw, save, tmp_path):
    """A text and the patches of an image behind it, as LayoutLMv3 has them: what one knows of a distance, the other does too."""
    learned, patches = np.random.default_rng(1).standard_normal((2, 64)).astype(np.float32), 41

    def table(n):
        places = np.concatenate([np.arange(n), np.arange(patches)])
        return learned[:, t5_bucket(places - places[:, None])]

    def trace(n):
        net = Net()
        return net.model([n, 2], net.add("Add", net.add("ReduceSum", "x", keepdims=0), net.constant(table(n))))

    run = lifted(thaw, save, tmp_path, {str(n): trace(n) for n in TRACES})
    for n in (2, 29, 41, 61, 64):
        assert np.array_equal(run.run(None, {"x": np.zeros((n, 2), np.float32)})[0], table(n)), n
    with pytest.raises(Exception, match="guard_Reshape"):
        run.run(None, {"x": np.zeros((97, 2), np.float32)})


def test_the_last_bucket_is_the_last(thaw, save, tmp_path):
    """Longer than the next one would have begun: it goes on for ever."""
    learned = np.random.default_rng(1).standard_normal((2, 64)).astype(np.float32)

    def trace(n):
        net = Net()
        return net.model([2, n, n], net.add("Add", "x", net.constant(learned[:, t5_bucket(apart(n))])))

    run = lifted(thaw, save, tmp_path, {str(n): trace(n) for n in (61, 103, 151)})
    for n in (7, 127, 293):
        assert np.array_equal(run.run(None, {"x": np.zeros((2, n, n), np.float32)})[0], learned[:, t5_bucket(apart(n))]), n


def test_runs_that_grow_otherwise_end_with_the_traces(thaw, save, tmp_path):
    learned = np.random.default_rng(1).standard_normal((2, 64)).astype(np.float32)

    def bias(n):
        far = apart(n)
        return learned[:, (np.sign(far) * np.sqrt(2 * np.abs(far))).astype(np.int64) + 24]

    def trace(n):
        net = Net()
        return net.model([2, n, n], net.add("Add", "x", net.constant(bias(n))))

    run = lifted(thaw, save, tmp_path, {str(n): trace(n) for n in TRACES})
    assert np.array_equal(run.run(None, {"x": np.zeros((2, 31, 31), np.float32)})[0], bias(31))
    with pytest.raises(Exception, match="guard_Reshape"):
        run.run(None, {"x": np.zeros((2, 59, 59), np.float32)})


PAST, PAST_UNSEEN = [(19, 3), (34, 5), (53, 8)], [(29, 7), (61, 11), (2, 1), (127, 3)]
FREQUENCIES = 10000.0 ** (-np.arange(6) / 6)


def angles(past, new):
    return ((past + np.arange(new, dtype=np.float32))[:, None] * FREQUENCIES.astype(np.float32)).astype(np.float32)


POSITIONS = {
    "angles": angles,
    "cosines": lambda past, new: np.cos(np.concatenate([angles(past, new)] * 2, -1)),
    "sines": lambda past, new: np.sin(np.concatenate([angles(past, new)] * 2, -1)),
    "in turn": lambda past, new: np.stack([np.sin(angles(past, new)), np.cos(angles(past, new))], -1).reshape(new, -1),
}


@pytest.mark.parametrize("name", POSITIONS)
def test_positions_behind_a_past(thaw, save, tmp_path, name):
    """Tokens that come after those of a cache: their rotary tables begin where the cache ends."""
    table = POSITIONS[name]

    def trace(past, new):
        net = Net()
        rows = net.add("Slice", net.add("Concat", "cache", "x", axis=0), net.ints(past), net.ints(past + new), net.ints(0))
        return with_cache(net, past, new, net.add("Add", net.add("ReduceSum", rows, keepdims=1), net.constant(table(past, new))))

    run = lifted(thaw, save, tmp_path, {f"{past}x{new}": trace(past, new) for past, new in PAST})
    for past, new in PAST_UNSEEN:
        got = run.run(None, {"x": np.zeros((new, 2), np.float32), "cache": np.zeros((past, 2), np.float32)})[0]
        wanted = table(past, new)
        assert got.shape == wanted.shape and np.abs(got - wanted).max() <= 2e-7 * (past + new) + 2e-6, (past, new)


def with_cache(net, past, new, result):
    model = net.model([new, 2], result)
    model.graph.input.append(helper.make_tensor_value_info("cache", TensorProto.FLOAT, [past, 2]))
    return model


def masked(past, new, mask_first, needs_sum):
    """A mask of what was cached and what is new, declared before the cache or after it; frozen sizes take its rows apart."""
    net, total = Net(), past + new
    rows = net.add("Expand", net.add("Unsqueeze", "mask", net.ints(1)), net.ints(total, 2))
    every = net.add("Concat", "cache", "x", axis=0)
    result = net.add("Add", rows, every) if needs_sum else net.add("Concat", rows, every, axis=0)
    made = with_cache(net, past, new, net.add("Reshape", result, net.ints(1, total if needs_sum else 2 * total, 2)))
    mask = helper.make_tensor_value_info("mask", TensorProto.FLOAT, [total])
    made.graph.input.insert(1 if mask_first else 2, mask)
    return made


@pytest.mark.parametrize("mask_first", [True, False])
def test_a_mask_is_as_long_as_a_cache_and_what_is_new(thaw, save, tmp_path, mask_first):
    """No trace has another size, and the model contradicts itself at any: sizes that are tried are such, and the model says so."""
    paths = [save(masked(past, new, mask_first, True), f"trace_{past}x{new}") for past, new in PAST]
    out = tmp_path / "out.onnx"
    report = thaw.json("lift", *paths, "-o", out, code=0)
    follows = next(note for note in report["valid_sizes"] if "as in every trace" in note["message"])
    stated = {each.key: each.value for each in onnx.load(out).metadata_props}["thaw.sizes"]
    assert follows["message"].startswith("valid for ") and stated.count("=") == 1
    run = session(out)
    for past, new in PAST_UNSEEN:
        x, cache, mask = (np.random.default_rng(0).standard_normal(dims).astype(np.float32) for dims in ((new, 2), (past, 2), (past + new,)))
        got = run.run(None, {"x": x, "cache": cache, "mask": mask})[0]
        np.testing.assert_array_equal(got, (np.concatenate([cache, x]) + mask[:, None])[None])
    thaw("check", out, code=0)
    thaw("verify", out, "--against", out, code=0)  # its own choice of sizes


def test_sizes_that_add_up_by_chance_are_sizes_of_their_own(thaw, save, tmp_path):
    paths = [save(masked(past, new, True, False), f"trace_{past}x{new}") for past, new in PAST]
    out = tmp_path / "out.onnx"
    assert thaw.json("lift", *paths, "-o", out, code=0)["valid_sizes"] == []
    assert not {each.key for each in onnx.load(out).metadata_props}
    x, cache, mask = (np.random.default_rng(0).standard_normal(dims).astype(np.float32) for dims in ((7, 2), (29, 2), (5,)))
    got = session(out).run(None, {"x": x, "cache": cache, "mask": mask})[0]
    np.testing.assert_array_equal(got, np.concatenate([mask[:, None].repeat(2, 1), cache, x])[None])


def test_a_wave_of_no_one_frequency_behind_a_past_is_not_explained(thaw, save, tmp_path):
    """A chirp looks like a cosine for three positions."""
    paths = []
    for past, new in PAST:
        net = Net()
        every = net.add("Concat", "cache", "x", axis=0)
        x = past + np.arange(new, dtype=np.float64)
        table = np.cos(0.3 * x + 0.002 * x * x).astype(np.float32)[:, None]
        paths.append(save(with_cache(net, past, new, net.add("Add", net.add("ReduceSum", every, keepdims=1), net.constant(table))),
                          f"trace_{past}x{new}"))
    run = thaw("lift", *paths, "-o", tmp_path / "out.onnx", code=1)
    assert "no generator gives its entries" in run.stdout and not (tmp_path / "out.onnx").exists()


def padded(n, window=16):
    return -(-n // window) * window


def flat_strides(n, stride):
    """Rows padded to whole windows, read as a flat list at multiples of a stride."""
    net, more = Net(), padded(n) - n
    x = net.add("Pad", "x", net.ints(0, 0, more, 0)) if more else "x"
    x = net.add("ReduceMax", net.add("Reshape", x, net.ints(padded(n) // 16, 16, 3)), net.ints(1), keepdims=0)
    places = net.add("Cast", net.add("ReduceSum", x, keepdims=0), to=7)
    return net.model([n, 3], net.add("Add", net.add("Cast", net.add("Mul", places, net.ints(stride(n))), to=1), x))


def test_a_stride_follows_the_tensor_that_it_is_of(thaw, save, tmp_path):
    def stride(n):
        return 8 * (padded(n) + 16)

    run = lifted(thaw, save, tmp_path, {str(n): flat_strides(n, stride) for n in TRACES})
    for n in (17, 29, 61, 127):
        x = np.full((n, 3), 2.0, np.float32)
        wanted = session(save(flat_strides(n, stride), "wanted")).run(None, {"x": x})[0]
        assert np.array_equal(run.run(None, {"x": x})[0], wanted), n


def test_a_stride_on_no_line_is_not_explained(thaw, save, tmp_path):
    paths = [save(flat_strides(n, dict(zip(TRACES, (384, 515, 640), strict=True)).get), f"trace_{n}") for n in TRACES]
    run = thaw("lift", *paths, "-o", tmp_path / "out.onnx", code=1)
    assert "384, 515, 640" in run.stdout and not (tmp_path / "out.onnx").exists()


def test_distances_between_a_list_and_its_pooled_one(thaw, save, tmp_path):
    """Funnel's: as many as the list has and twice what pooling leaves of it."""
    def trace(n):
        net, left = Net(), (n + 1) // 2
        pooled = net.add("MaxPool", "x", kernel_shape=[2], strides=[2], ceil_mode=1)
        table = (np.arange(n + 2 * left) * np.float32(0.5))[None, None]
        return net.model([1, 1, n], net.add("Add", net.add("ReduceSum", pooled, keepdims=1), net.constant(table.astype(np.float32))))

    run = lifted(thaw, save, tmp_path, {str(n): trace(n) for n in TRACES})
    for n in (6, 29, 61):
        got = run.run(None, {"x": np.zeros((1, 1, n), np.float32)})[0]
        assert got.shape == (1, 1, n + 2 * ((n + 1) // 2)) and np.array_equal(got[0, 0], np.arange(got.size) * np.float32(0.5)), n


WIDE = 10000.0 ** (-np.arange(24) / 24)
ROWS = {
    "angles": lambda past: (np.float32(past) * WIDE.astype(np.float32)).astype(np.float32),
    "cosines, twice": lambda past: np.cos(np.tile(past * WIDE, 2)).astype(np.float32),
    "sines, each twice": lambda past: np.sin(np.repeat(past * WIDE, 2)).astype(np.float32),
    "sines before cosines": lambda past: np.concatenate([np.sin(past * WIDE), np.cos(past * WIDE)]).astype(np.float32),
    "in turn": lambda past: np.stack([np.sin(past * WIDE), np.cos(past * WIDE)], -1).reshape(-1).astype(np.float32),
    "one frequency": lambda past: np.full(2, np.cos(past), np.float32),
}


def step(past, row):
    """One token behind a cache."""
    net = Net()
    total = net.add("ReduceSum", net.add("Concat", "cache", "x", axis=0), keepdims=1)
    return with_cache(net, past, 1, net.add("Add", total, net.constant(row[None, None])))


@pytest.mark.parametrize("name", ROWS)
def test_the_position_of_one_token_behind_a_past(thaw, save, tmp_path, name):
    run = lifted(thaw, save, tmp_path, {str(past): step(past, ROWS[name](past)) for past in TRACES})
    for past in (1, 29, 61, 127):
        got = run.run(None, {"x": np.zeros((1, 2), np.float32), "cache": np.zeros((past, 2), np.float32)})[0]
        wanted = ROWS[name](past)[None, None]
        assert got.shape == wanted.shape and np.abs(got - wanted).max() <= 2e-7 * past + 2e-6, past


@pytest.mark.parametrize("name", ["learned", "frequencies of no power"])
def test_a_row_that_no_position_gives_is_not_explained(thaw, save, tmp_path, name):
    random = np.random.default_rng(2)
    frequencies = np.sort(random.random(24))
    paths = []
    for past in TRACES:
        row = random.standard_normal(48).clip(-1, 1) if name == "learned" else np.cos(np.tile(past * frequencies, 2))
        paths.append(save(step(past, row.astype(np.float32)), f"trace_{past}"))
    run = thaw("lift", *paths, "-o", tmp_path / "out.onnx", code=1)
    assert "no generator gives its entries" in run.stdout and not (tmp_path / "out.onnx").exists()


def streams(n):
    """How far before, of a list and of the same list a place later; and what may see what."""
    far = -apart(n)
    distances = np.concatenate([np.maximum(far, 0), np.maximum(far - 1, 0)], 1)
    bias = np.concatenate([np.where(far < 0, -1e4, 0), np.where(far == 0, 0, -1e4)], 1)
    return distances.astype(np.float32), bias.astype(np.float32)


@pytest.mark.parametrize("axis", [0, 1])
def test_tables_side_by_side(thaw, save, tmp_path, axis):
    def tables(n):
        return streams(n) if axis == 1 else [table.T for table in streams(n)]

    def trace(n):
        net = Net()
        total = net.add("ReduceSum", "x", keepdims=1)
        return net.model([n, 2], net.add("Add", net.add("Add", total, net.constant(tables(n)[0])), net.constant(tables(n)[1])))

    run = lifted(thaw, save, tmp_path, {str(n): trace(n) for n in TRACES})
    for n in (2, 29, 61):
        got, wanted = run.run(None, {"x": np.zeros((n, 2), np.float32)})[0], sum(tables(n))
        assert got.shape == wanted.shape and np.array_equal(got, wanted), n


def test_values_that_are_data_are_passed_over_and_it_is_said(thaw, save, tmp_path):
    """Ids that grow tell no size; the length of their list does."""
    paths, told = [], {}
    for n in TRACES:
        net = Net()
        paths.append(save(net.model([n, 2], net.add("Reshape", "x", net.ints(2 * n))), f"trace_{n}"))
        paths[-1].write_bytes(with_ids(paths[-1], n))
        told[paths[-1].name] = {"ids": [list(range(3, 3 + n))]}
    (tmp_path / "values.json").write_text(json.dumps(told))
    run = thaw("lift", *paths, "-o", tmp_path / "lifted.onnx", "--trace-values", tmp_path / "values.json", code=0)
    assert "skipped (1)\n  ids: its values are data" in run.stdout


def with_ids(path, n):
    model = onnx.load(path)
    model.graph.input.append(helper.make_tensor_value_info("ids", TensorProto.INT64, [1, n]))
    return model.SerializeToString()


def test_one_number_a_trace_is_no_step(thaw, save, tmp_path):
    """Of two traces, whether a size is even tells anything apart."""
    paths = [save(step(past, np.full(2, np.cos(past), np.float32)), f"trace_{past}") for past in TRACES[:2]]
    run = thaw("lift", *paths, "-o", tmp_path / "out.onnx", code=1)
    assert "no generator gives its entries" in run.stdout and not (tmp_path / "out.onnx").exists()


def test_codes_of_several_codebooks_in_one_table(thaw, save, tmp_path):
    """Each is added to where its codebook begins, so that the check may not feed all numbers that the table has rows for."""
    def trace(n):
        offsets, table = np.array([0, 100, 120]), np.random.default_rng(2).standard_normal((140, 8)).astype(np.float32)
        constants = [("pad", np.array(69)), ("offsets", offsets), ("table", table), ("axis", np.array([2])), ("sizes", np.array([n, 8]))]
        nodes = [helper.make_node("Equal", ["ids", "pad"], ["is_pad"]), helper.make_node("Add", ["ids", "offsets"], ["later"]),
                 helper.make_node("Where", ["is_pad", "ids", "later"], ["codes"]), helper.make_node("Gather", ["table", "codes"], ["rows"]),
                 helper.make_node("ReduceSum", ["rows", "axis"], ["sums"], keepdims=0), helper.make_node("Reshape", ["sums", "sizes"], ["y"])]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("ids", TensorProto.INT64, [1, n, 3])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [n, 8])],
                                  [onnx.numpy_helper.from_array(array, name) for name, array in constants])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)

    run = lifted(thaw, save, tmp_path, {str(n): trace(n) for n in TRACES})
    assert run.run(None, {"ids": np.zeros((1, 61, 3), np.int64)})[0].shape == (61, 8)
