"""`python -m onnx_thaw`: the command."""
import os
import sys
from importlib.util import find_spec
from pathlib import Path


def main() -> None:
    """Becomes the command of the package."""
    spec = find_spec("onnxruntime")
    if spec is not None and spec.submodule_search_locations and not os.environ.get("THAW_ONNXRUNTIME"):
        os.environ["THAW_ONNXRUNTIME"] = str(spec.submodule_search_locations[0])
    program = Path(__file__).parent / "bin" / "thaw"
    os.execv(program, ["thaw", *sys.argv[1:]])


if __name__ == "__main__":
    main()
