"""`python -m onnx_thaw`: the command."""
import os
import sys
from pathlib import Path

from onnx_thaw import _runtime as _runtime


def main() -> None:
    """Becomes the command of the package."""
    program = Path(__file__).parent / "bin" / "thaw"
    os.execv(program, ["thaw", *sys.argv[1:]])


if __name__ == "__main__":
    main()
