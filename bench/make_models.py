"""Writes the models of the benchmarks into a folder (a process of its own, so that the measuring one stays small).

    python make_models.py decoder LAYERS PATH | chain NODES PATH | external GIGABYTES FOLDER
"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from models import large, text_decoder  # noqa: E402


def main():
    what, size, path = sys.argv[1:]
    if what == "external":
        large.external(path, float(size))
        return
    model = text_decoder.dynamic(layers=int(size)) if what == "decoder" else large.chain(int(size))
    Path(path).write_bytes(model.SerializeToString())
    print(len(model.graph.node))


if __name__ == "__main__":
    main()
