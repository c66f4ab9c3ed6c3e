"""Writes the models of the benchmarks into a folder (a process of its own, so that the measuring one stays small).

    python make_models.py decoder LAYERS PATH | chain NODES PATH | external GIGABYTES FOLDER |
                          traces BLOCKS FOLDER
"""
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from models import large, text_decoder, vision_tower


def traces(blocks, folder):
    """Three of one tower, every eighth block without windows, and what their grids were."""
    grids = {}
    for h, w in ((22, 30), (24, 32), (28, 18)):
        model = vision_tower.static(h, w, blocks=blocks, full=tuple(range(7, blocks, 8)), rotary="folded")
        (folder / f"tower_{h}x{w}.onnx").write_bytes(model.SerializeToString())
        grids[f"tower_{h}x{w}.onnx"] = {"grid_thw": [[1, h, w]]}
    (folder / "values.json").write_text(json.dumps(grids))
    return len(model.graph.node)


def main():
    what, size, path = sys.argv[1:]
    if what == "external":
        large.external(path, float(size))
        return
    if what == "traces":
        print(traces(int(size), Path(path)))
        return
    model = text_decoder.dynamic(layers=int(size)) if what == "decoder" else large.chain(int(size))
    Path(path).write_bytes(model.SerializeToString())
    print(len(model.graph.node))


if __name__ == "__main__":
    main()
