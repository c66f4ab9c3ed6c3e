"""What static exports of text models freeze: biases in buckets of distances."""
import numpy as np
import pytest

from lift_left_out_test import Net, lifted

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
    with pytest.raises(Exception, match=r"(?i)gather"):
        run.run(None, {"x": np.zeros((2, 97, 97), np.float32)})


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
    with pytest.raises(Exception, match=r"(?i)gather"):
        run.run(None, {"x": np.zeros((2, 59, 59), np.float32)})
