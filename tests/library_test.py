"""docs/library.md: its examples are built against an installed copy, in their order, and print what stands under them."""
import re
import shutil
import subprocess

import numpy as np
import onnx
import pytest

from check_rules_test import F, ints, model, node
from conftest import SOURCE, run
from install_test import CMAKE, NINJA, PROJECT, prefix  # noqa: F401  (a fixture)
from run_limits_test import endless

PAGE = (SOURCE / "docs" / "library.md").read_text()
EXAMPLES = re.findall(r"```cpp\n((?:(?!```).)*)```\n\n```text\n((?:(?!```).)*)```", PAGE, re.S)


def detector():
    """Halves an image and brings it back to the size that it was exported at."""
    nodes = [node("AveragePool", ["image"], "halves", kernel_shape=[2, 2], strides=[2, 2]),
             node("Resize", ["halves", "", "", "sizes"], "resized", mode="nearest"), node("Add", ["image", "resized"], "boxes")]
    return model(nodes, [("image", F, [1, 3, "height", "width"])], [("boxes", F, None)], [ints("sizes", [1, 3, 38, 62])])


def trace(n, rows="rows"):
    """Rows of 4 in pairs, frozen at n rows."""
    nodes = [node("Reshape", ["x", "shape"], "pairs"), node("Softmax", ["pairs"], "y", axis=1)]
    return model(nodes, [("x", F, [n if rows is None else rows, 4])], [("y", F, None)], [ints("shape", [2 * n, 2])])


def paired(x):
    e = np.exp(x.reshape(-1, 2))
    return e / e.sum(1, keepdims=True)


@pytest.fixture(scope="module")
def program(prefix, tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    functions = "\n".join(f"void example_{i}() {{\n{code}}}" for i, (code, _) in enumerate(EXAMPLES))
    calls = "".join(f"  if (n == {i}) example_{i}();\n" for i in range(len(EXAMPLES)))
    (folder / "CMakeLists.txt").write_text(PROJECT)
    (folder / "main.cc").write_text("#include <thaw/thaw.h>\n\n#include <cstdlib>\n#include <iostream>\n\n" + functions +
                                    "\nint main(int, char** argv) {\n  const int n = std::atoi(argv[1]);\n" + calls + "}\n")
    subprocess.run([CMAKE, "-S", folder, "-B", folder / "build", "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={NINJA}",
                    f"-DCMAKE_PREFIX_PATH={prefix}"], check=True, capture_output=True)
    done = subprocess.run([CMAKE, "--build", folder / "build"], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    onnx.save(detector(), folder / "detector.onnx")
    onnx.save(trace(4), folder / "trace.onnx")
    onnx.save(endless(), folder / "endless.onnx")
    for n in (5, 7, 11):
        onnx.save(trace(n, None), folder / f"trace_{n}.onnx")
    rows = {f"x_{i}": np.random.default_rng(n).standard_normal((n, 4), dtype=np.float32) for i, n in enumerate((7, 11, 13))}
    np.savez(folder / "reference.npz", **rows, **{name.replace("x", "y"): paired(x) for name, x in rows.items()})
    shutil.copytree(SOURCE / "tests" / "fixtures" / "qwen2" / "decoder", folder / "checkpoint")
    shutil.copy(SOURCE / "tests" / "fixtures" / "inputs" / "wide.png", folder / "photo.png")
    return folder


def test_the_examples_print_what_the_page_says(program):
    assert len(EXAMPLES) >= 11
    for i, (code, wanted) in enumerate(EXAMPLES):
        done = subprocess.run([program / "build" / "consumer", str(i)], cwd=program, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (0, wanted), f"{code}\n{done.stdout}\n{done.stderr}"
    x = np.random.default_rng(3).standard_normal((17, 4), dtype=np.float32)
    for name in ("thawed.onnx", "lifted.onnx"):  # at a size that nothing showed
        assert np.abs(run(onnx.load(program / name), {"x": x})[0] - paired(x)).max() < 1e-6


def test_every_code_of_an_error_is_described():
    header = (SOURCE / "include" / "thaw" / "error.h").read_text()
    codes = re.findall(r"^  k(\w+) = \d+,", header, re.M)
    words = ["_".join(re.findall(r"[A-Z][a-z]+", code)).lower() for code in codes]
    assert len(words) >= 9
    assert re.findall(r"^\| `([a-z_]+)` \|", PAGE, re.M) == words
