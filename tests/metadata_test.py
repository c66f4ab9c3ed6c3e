"""docs/metadata.md: what becomes of metadata_props in what each verb writes; a second run changes none."""
import json

import onnx
import onnx.parser
import pytest

TEXT = """<ir_version: 10, opset_import: ["" : 18]>
g (float["?", 4] x) => (float["?", 2] y) <float[4, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}> {
  a = MatMul(x, w)
  b = Relu(a)
  s = Constant <value = int64[2] {-1, 2}> ()
  y = Reshape(b, s)
}"""
MINE = {"made.by": "a test", "of": "metadata", "": "empty key"}

# How each verb is called, and what it writes.
CALLS = {
    "fix": (["-o", "out.onnx"], ["out.onnx"]),
    "optimize": (["-o", "out.onnx"], ["out.onnx"]),
    "batch": (["-o", "out.onnx", "--no-check"], ["out.onnx"]),
    "pin": (["-o", "out.onnx", "--sizes", "x_dim0=3"], ["out.onnx"]),
    "convert": (["-o", "out.onnx", "--to", "f16"], ["out.onnx"]),
    "split": (["-o", "parts", "--at", "b"], ["parts/part_1.onnx", "parts/part_2.onnx"]),
    "inspect": (["--annotate", "-o", "out.onnx"], ["out.onnx"]),
}
PROVING = ("fix", "optimize", "pin", "split")


def put(holder, **pairs):
    for key, value in pairs.items():
        holder.metadata_props.add(key=key, value=value)


def props(holder):
    return {pair.key: pair.value for pair in holder.metadata_props}


@pytest.fixture
def folder(tmp_path):
    model = onnx.parser.parse_model(TEXT)
    for key, value in MINE.items():
        model.metadata_props.add(key=key, value=value)
    put(model.graph, graph="g")
    for node in model.graph.node:
        put(node, node=node.output[0])
    put(model.graph.input[0], input="x")
    onnx.save(model, tmp_path / "model.onnx")
    return tmp_path


@pytest.mark.parametrize("verb", CALLS)
def test_what_is_there_is_kept_and_a_second_run_changes_none(thaw, folder, verb):
    options, written = CALLS[verb]
    thaw(verb, "model.onnx", *options, code=0, cwd=folder)
    for path in written:
        made = onnx.load(folder / path)
        stated = props(made)
        proof = stated.pop("thaw.proof", None)
        assert stated == MINE and (proof is not None) == (verb in PROVING)
        assert props(made.graph) == {"graph": "g"}
        kept = {node.output[0]: props(node).get("node") for node in made.graph.node if node.op_type == "Relu"}
        assert all(of is not None for of in kept.values())
    if verb == "split":
        return
    (folder / "again").mkdir()
    (folder / "out.onnx").rename(folder / "again" / "model.onnx")
    once = onnx.load(folder / "again" / "model.onnx")
    options = [word for word in options if verb != "pin" or (word != "--sizes" and "dim" not in word)]  # its sizes are numbers by then
    thaw(verb, "model.onnx", *options, code={0, 1}, cwd=folder / "again")
    twice = folder / "again" / "out.onnx"
    if twice.exists():  # what needs nothing is not written by `fix`
        again = onnx.load(twice)
        assert props(again) == props(once) and props(again.graph) == props(once.graph)


def stated(thaw, path):
    return thaw.json("inspect", path, code=0).get("proof")


@pytest.mark.parametrize("verb", PROVING)
def test_what_a_proof_said_is_stated_and_shown(thaw, folder, verb):
    options, written = CALLS[verb]
    thaw(verb, "model.onnx", *options, code=0, cwd=folder)
    origins = set()
    for path in written:
        (line,) = [props(onnx.load(folder / path))["thaw.proof"]]
        shown = stated(thaw, folder / path)
        assert line == f"proven {shown['proven']} of {shown['outputs']} outputs, origin {shown['origin']}" and shown["outputs"] == 1
        origins.add(shown["origin"])
        assert f"states: {shown['proven']} of 1 output proven equal" in thaw("inspect", folder / path, code=0).stdout
    # The same origin, whatever its metadata, and no other.
    onnx.save(onnx.parser.parse_model(TEXT.replace("1, 2, 3", "1, 2, 4")), folder / "other.onnx")
    for model, is_same in (("model.onnx", True), ("other.onnx", False)):
        thaw("optimize", model, "-o", "again.onnx", code=0, cwd=folder)
        assert (stated(thaw, folder / "again.onnx")["origin"] in origins) == is_same


@pytest.mark.parametrize("options", [["batch"], ["convert", "--to", "f16"], ["optimize", "--no-check"], ["fix", "--no-check"]])
def test_what_is_not_proven_states_no_proof(thaw, folder, options):
    verb, *options = options
    model = onnx.load(folder / "model.onnx")
    model.metadata_props.add(key="thaw.proof", value="proven 1 of 1 outputs, origin xxh3-128:" + "0" * 32)
    onnx.save(model, folder / "claims.onnx")
    assert stated(thaw, folder / "claims.onnx") == {"proven": 1, "outputs": 1, "origin": "xxh3-128:" + "0" * 32}
    thaw(verb, "claims.onnx", "-o", "out.onnx", *options, code=0, cwd=folder)
    assert props(onnx.load(folder / "out.onnx")) == MINE


@pytest.mark.parametrize("text", ["", "proven", "proven 2 of 1 outputs, origin xxh3-128:" + "0" * 32, "proven 1 of 1 outputs, origin xxh3-128:0", "proven -1 of 1 outputs"])
def test_what_cannot_be_read_is_not_shown(thaw, folder, text):
    model = onnx.load(folder / "model.onnx")
    model.metadata_props.add(key="thaw.proof", value=text)
    onnx.save(model, folder / "odd.onnx")
    assert stated(thaw, folder / "odd.onnx") is None


def test_a_hash_is_of_what_a_model_holds(thaw, folder):
    """Wherever its weights lie."""
    model = onnx.load(folder / "model.onnx")
    onnx.save(model, folder / "apart.onnx", save_as_external_data=True, size_threshold=0, location="apart.data")
    said = set()
    for path in ("model.onnx", "apart.onnx"):
        thaw("optimize", path, "-o", "out.onnx", code=0, cwd=folder)
        said.add(stated(thaw, folder / "out.onnx")["origin"])
    assert len(said) == 1


def test_lift_keeps_those_of_the_first_trace(thaw, tmp_path):
    for n in (5, 7, 11):
        trace = onnx.parser.parse_model(f'''<ir_version: 10, opset_import: ["" : 18]>
            g (float[{n}, 4] x) => (float[{2 * n}, 2] y) {{ s = Constant <value = int64[2] {{{2 * n}, 2}}> ()  y = Reshape(x, s) }}''')
        trace.metadata_props.add(key="trace", value=str(n))
        onnx.save(trace, tmp_path / f"t{n}.onnx")
    thaw("lift", "t5.onnx", "t7.onnx", "t11.onnx", "-o", "out.onnx", code=0, cwd=tmp_path)
    assert props(onnx.load(tmp_path / "out.onnx")) == {"trace": "5"}


def trace_of_grid(grid, extra=0):
    n = grid[0] * grid[1] * grid[2] + extra
    return onnx.parser.parse_model(f'''<ir_version: 10, opset_import: ["" : 18]>
        g (float[{n}, 4] x, int64[1, 3] grid) => (float[{2 * n}, 2] y, int64[1, 3] z) {{
        s = Constant <value = int64[2] {{{2 * n}, 2}}> ()  y = Reshape(x, s)  z = Identity(grid) }}''')


@pytest.mark.parametrize("extra, stated", [(0, "grid[:,0]=1.., grid[:,1]=1.., grid[:,2]=1.., x_dim0=sum(grid[:,0]*grid[:,1]*grid[:,2])"), (1, None)])
def test_lift_states_how_a_size_hangs_together_with_rows(thaw, tmp_path, extra, stated):
    grids = [(1, 2, 3), (1, 5, 4), (1, 7, 3)]
    for i, grid in enumerate(grids):
        onnx.save(trace_of_grid(grid, extra), tmp_path / f"t{i}.onnx")
    values = {f"t{i}.onnx": {"grid": [list(grid)]} for i, grid in enumerate(grids)}
    (tmp_path / "values.json").write_text(json.dumps(values))
    thaw("lift", "t0.onnx", "t1.onnx", "t2.onnx", "-o", "out.onnx", "--trace-values", "values.json", code=0, cwd=tmp_path)
    assert props(onnx.load(tmp_path / "out.onnx")).get("thaw.sizes") == stated
