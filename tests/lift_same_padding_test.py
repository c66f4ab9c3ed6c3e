"""Pads before convolutions, so that there is an entry for each stride: by as much as is missing to whole strides, and as a kernel needs more, half of it
on either side (TensorFlow's "same")."""
import numpy as np
import pytest

from lift_net import Net, seen_of, up

UNSEEN = (40, 41, 42, 43, 44, 45, 46, 47, 48, 59, 67)


def same(n, kernels, stride):
    """A convolution for each kernel, added up."""
    net, parts = Net(), []
    x = net.add("Transpose", "x", perm=[0, 2, 1])
    for kernel in kernels:
        total = max((up(n, stride) - 1) * stride + kernel - n, 0)
        y = net.add("Pad", x, net.ints(0, 0, total // 2, 0, 0, total - total // 2))
        weight = net.constant(np.random.default_rng(kernel).standard_normal((3, 3, kernel), dtype=np.float32))
        parts.append(net.add("Conv", y, weight, strides=[stride]))
    while len(parts) > 1:
        parts.append(net.add("Add", parts.pop(0), parts.pop(0)))
    return net.model([1, n, 3], parts[0])


def drawn(stride, draw, count=3):
    return tuple(int(n) for n in np.random.default_rng([stride, draw]).choice(np.arange(31, 73), count, replace=False))


@pytest.mark.parametrize("stride", [2, 3, 4])
@pytest.mark.parametrize("kernels", [(3,), (5,), (3, 5, 7), (4, 7)], ids=str)
@pytest.mark.parametrize("draw", range(4))
def test_is_right_or_guarded(thaw, save, tmp_path, stride, kernels, draw):
    seen = seen_of(thaw, save, tmp_path, lambda n: same(n, kernels, stride), drawn(stride, draw), UNSEEN)
    assert set(seen.values()) <= {"right", "guard"}, seen
