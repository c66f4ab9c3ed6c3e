"""What `check --sizes` calls proven never stops in ONNX Runtime, also where numbers decide: indices, divisors, steps, lengths, pads.

Random small models make integers from sizes (ranges, their sums and differences, tables, counts that only running tells) and give them to
an operator that stops at some of them. THAW_VALUE_MODELS says how many models, THAW_VALUE_SIZES at how many sizes each;
ONNX's own node tests are looked at, too. `python tests/proven_values_test.py PATH_OF_THAW [--nodes]` prints what is wrong.
"""

import collections
import json
import os
import random
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.dirname(__file__))
import proven_runs_test as proven
from proven_runs_test import Runner

MODELS = int(os.environ.get("THAW_VALUE_MODELS", "600"))
SIZES = int(os.environ.get("THAW_VALUE_SIZES", "10"))
HIGHEST = 9  # of each size, 1 the lowest
SEED = 20261126
SYMBOLS = "abcdefghijklmnop"
F, INTEGER = TensorProto.FLOAT, TensorProto.INT64
UNCHECKED = {"Inverse"}  # ONNX Runtime reads matrices that are not square out of bounds
PROVEN_CODES = {"THAW001", "THAW040", "THAW041", "THAW050"}  # findings with which nothing is claimed


class Maker:
    """One model: x [n, m] and y [n, k], and whatever is made of their sizes."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.nodes, self.constants, self.functions, self.count = [], [], [], 0
        self.what = []

    def pick(self, *items):
        return self.rng.choice(items)

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def constant(self, value, dtype=np.int64):
        name = self.name()
        self.constants.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def add(self, op, inputs, outputs=1, **attributes):
        out = [self.name() for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, out, name=f"{op}{self.count}", **attributes))
        return out[0] if outputs == 1 else out

    def size(self):
        """A scalar made of a size."""
        axis = self.pick(0, 1)
        whole = self.add("Shape", [self.pick("x", "y")])
        size = self.add("Gather", [whole, self.constant(axis)])
        for _ in range(self.pick(0, 0, 1, 2)):
            op = self.pick("Add", "Sub", "Mul", "Div", "Mod", "Min", "Max")
            other = self.constant(self.pick(1, 2, 3, 4)) if self.rng.random() < 0.8 else self.size()
            self.what.append(op)
            size = self.add(op, [size, other] if self.rng.random() < 0.9 else [other, size])
        return size

    def listed(self, scalar):
        return self.add("Unsqueeze", [scalar, self.constant([0])])

    def indices(self, depth=0):
        """A list of integers."""
        kind = self.pick("range", "range", "range", "from", "down", "table", "table", "fill", "cumsum", "argmax", "nonzero", "small", "number")
        self.what.append(kind)
        if kind == "range":
            out = self.add("Range", [self.constant(0), self.size(), self.constant(1)])
        elif kind == "from":
            out = self.add("Range", [self.size(), self.size(), self.constant(self.pick(1, 2))])
        elif kind == "down":
            out = self.add("Range", [self.size(), self.constant(self.pick(-1, 0)), self.constant(-1)])
        elif kind == "table":
            length = self.pick(4, 16, 2000)
            table = self.constant(np.arange(length) % self.pick(4, 8, 4000))
            out = self.add("Slice", [table, self.constant([0]), self.listed(self.size())])
        elif kind == "fill":
            value = numpy_helper.from_array(np.array([self.pick(-2, 0, 1, 3)], np.int64))
            out = self.add("ConstantOfShape", [self.listed(self.size())], value=value)
        elif kind == "cumsum":
            out = self.add("CumSum", [self.add("Shape", [self.pick("x", "y")]), self.constant(0)])
        elif kind == "argmax":
            out = self.add("ArgMax", ["x"], axis=self.pick(0, 1), keepdims=0)
        elif kind == "nonzero":
            out = self.add("Squeeze", [self.add("Slice", [self.add("NonZero", ["x"]), self.constant([0]), self.constant([1])]), self.constant([0])])
        elif kind == "small":
            out = self.add("Concat", [self.listed(self.size()), self.listed(self.size())], axis=0)
        else:
            out = self.constant([self.rng.randrange(-3, 5) for _ in range(self.pick(1, 3))])
        for _ in range(self.pick(0, 0, 1, 2)):
            op = self.pick("Add", "Sub", "Mul", "Div", "Mod", "Min", "Max", "Neg", "Abs", "Clip", "Difference", "Concat", "Where", "Cast", "Reverse", "Halve")
            self.what.append(op)
            other = self.constant(self.pick(-1, 0, 1, 2, 5)) if self.rng.random() < 0.5 else self.size()
            if op in ("Neg", "Abs"):
                out = self.add(op, [out])
            elif op == "Clip":
                out = self.add(op, [out, self.constant(0), self.add("Sub", [self.size(), self.constant(1)])])
            elif op == "Difference":
                rows = self.add("Unsqueeze", [out, self.constant([1])])
                out = self.add("Reshape", [self.add("Sub", [rows, out]), self.constant([-1])])
            elif op == "Concat":
                more = self.indices(depth + 1) if depth < 1 else out
                out = self.add("Concat", [out, more], axis=0)
            elif op == "Where":
                out = self.add("Where", [self.add("Less", [out, self.constant(0)]), self.add("Add", [out, other]), out])
            elif op == "Cast":
                out = self.add("Cast", [self.add("Cast", [out], to=TensorProto.INT32)], to=INTEGER)
            elif op == "Reverse":
                out = self.add("Slice", [out, self.constant([-1]), self.constant([-(2**60)]), self.constant([0]), self.constant([-1])])
            elif op == "Halve":
                out = self.add("Div", [out, self.constant(2)])
            else:
                out = self.add(op, [out, other])
        return out

    def table(self):
        if self.rng.random() < 0.5:
            return self.constant(np.zeros((self.pick(1, 3, 8, 9, 12, 20), 2)), np.float32)
        return "x"

    def end(self):
        kind = self.pick("Gather", "Gather", "Gather", "GatherND", "GatherElements", "ScatterND", "ScatterElements", "Pad", "Pad", "ReverseSequence",
                         "SequenceAt", "Split", "SliceStep", "SliceAxis", "Tile", "Expand", "OneHot", "TopK", "RangeDelta", "Div", "Mod",
                         "CumSum", "ConstantOfShape", "Reshape", "Squeeze", "Reduce", "Lengths", "Resize", "Loop", "SplitToSequence", "If",
                         "ReshapeAll", "CenterCropPad", "HannWindow", "DFT", "STFT", "SequenceInsert", "SequenceErase", "GatherND2", "Compress",
                         "Trilu", "Col2Im", "MaxUnpool", "RoiAlign", "AffineGrid", "SliceBounds", "GatherPairs", "Chain", "Embedding", "Rows",
                         "Function", "Scan", "Bool", "SliceTable")
        self.what.append(kind)
        add, constant = self.add, self.constant
        if kind == "Gather":
            return add(kind, [self.table(), self.indices()], axis=0)
        if kind == "GatherND":
            return add(kind, [self.table(), add("Unsqueeze", [self.indices(), constant([1])])])
        if kind == "GatherElements":
            flat = add("Reshape", ["x", constant([-1])])
            return add(kind, [flat, self.indices()])
        if kind in ("ScatterND", "ScatterElements"):
            flat, at = add("Reshape", ["x", constant([-1])]), self.indices()
            updates = add("Cast", [at], to=F)
            if kind == "ScatterND":
                at = add("Unsqueeze", [at, constant([1])])
            return add(kind, [flat, at, updates])
        if kind == "Pad":
            amount = self.listed(self.size()) if self.rng.random() < 0.6 else constant([self.pick(-2, -1, 0, 1, 2)])
            if self.rng.random() < 0.3:
                amount = add("Neg", [amount])
            other = constant([self.pick(-1, 0, 1)])
            pads = add("Concat", [constant([0]), amount, constant([0]), other], axis=0)
            return add(kind, ["x", pads], mode=self.pick("constant", "reflect", "edge", "wrap"))
        if kind == "ReverseSequence":
            lengths = add("Expand", [self.size(), self.listed(add("Gather", [add("Shape", ["x"]), constant(1)]))])
            return add(kind, ["x", lengths], batch_axis=1, time_axis=0)
        if kind == "SequenceAt":
            items = add("SequenceConstruct", ["x"] * self.pick(1, 3)) if self.rng.random() < 0.5 else add("SplitToSequence", ["x"], axis=0)
            return add(kind, [items, self.size()])
        if kind == "SplitToSequence":
            return add("SequenceLength", [add(kind, ["x", self.size()], axis=0)])
        if kind == "Split":
            n, part = add("Gather", [add("Shape", ["x"]), constant(0)]), self.size()
            lengths = add("Concat", [self.listed(part), self.listed(add("Sub", [n, part]))], axis=0)
            return add(kind, ["x", lengths], 2, axis=0)[0]
        if kind == "SliceStep":
            return add("Slice", ["x", constant([0]), constant([100]), constant([0]), self.listed(self.size())])
        if kind == "SliceAxis":
            return add("Slice", ["x", constant([0]), constant([1]), self.listed(self.size())])
        if kind == "Tile":
            return add(kind, ["x", add("Concat", [self.listed(self.size()), constant([1])], axis=0)])
        if kind == "Expand":
            return add(kind, [constant([[1.0]], np.float32), add("Concat", [self.listed(self.size()), constant([1])], axis=0)])
        if kind == "OneHot":
            return add(kind, [self.indices(), self.size(), constant([0.0, 1.0], np.float32)])
        if kind == "TopK":
            return add(kind, ["x", self.listed(self.size())], 2, axis=self.pick(0, 1))[0]
        if kind == "RangeDelta":
            return add("Range", [constant(0), constant(10), self.size()])
        if kind in ("Div", "Mod"):
            return add(kind, [self.indices(), self.size()] if self.rng.random() < 0.5 else [constant(7), self.indices()])
        if kind in ("CumSum",):
            return add(kind, ["x", self.size()])
        if kind == "Reduce":
            return add("ReduceSum", ["x", self.listed(self.size())])
        if kind == "ConstantOfShape":
            return add(kind, [self.listed(self.size())])
        if kind == "Reshape":
            return add(kind, ["x", add("Concat", [self.listed(self.size()), constant([-1])], axis=0)])
        if kind == "Squeeze":
            return add("Unsqueeze", ["x", self.listed(self.size())])
        if kind == "Lengths":
            weights = [constant(np.zeros(s), np.float32) for s in ((1, 4, 2), (1, 4, 4))]
            sequence = add("Expand", [constant(np.zeros((1, 1, 2)), np.float32),
                                      add("Concat", [add("Shape", ["x"]), constant([1])], axis=0)])
            lengths = add("Expand", [add("Cast", [self.size()], to=TensorProto.INT32), self.listed(add("Gather", [add("Shape", ["x"]), constant(1)]))])
            return add("RNN", [sequence, *weights, "", lengths], hidden_size=4)
        if kind == "Resize":
            image = add("Unsqueeze", ["x", constant([0, 1])])
            sizes = add("Concat", [constant([1, 1]), self.listed(self.size()), self.listed(self.size())], axis=0)
            return add(kind, [image, "", "", sizes], mode="nearest")
        if kind == "ReshapeAll":
            return add("Reshape", ["x", add("Concat", [self.listed(self.size()), self.listed(self.size())], axis=0)], allowzero=self.pick(0, 1))
        if kind == "CenterCropPad":
            return add(kind, ["x", self.listed(self.size())], axes=[self.pick(0, 1)])
        if kind == "HannWindow":
            return add(kind, [self.size()])
        if kind in ("DFT", "STFT"):
            signal = add("Unsqueeze", ["x", constant([2])])
            if kind == "DFT":
                return add(kind, [signal, self.size()], axis=1)
            return add(kind, [signal, self.size(), "", self.size()])
        if kind in ("SequenceInsert", "SequenceErase"):
            items = add("SequenceConstruct", ["x", "x"]) if self.rng.random() < 0.5 else add("SplitToSequence", ["x"], axis=0)
            return add("SequenceLength", [add(kind, [items, "x", self.size()] if kind == "SequenceInsert" else [items, self.size()])])
        if kind in ("GatherND2", "GatherPairs"):
            rows = self.indices()
            other = add("Mod", [rows, self.size()]) if kind == "GatherND2" else add("Expand", [self.size(), add("Shape", [rows])])
            pair = add("Concat", [add("Unsqueeze", [rows, constant([1])]), add("Unsqueeze", [other, constant([1])])], axis=1)
            return add("GatherND", ["x", pair])
        if kind == "Compress":
            return add(kind, ["x", add("Less", [self.indices(), self.size()])], axis=0)
        if kind == "Trilu":
            return add(kind, ["x", self.size()], upper=self.pick(0, 1))
        if kind == "Col2Im":
            columns = add("Unsqueeze", ["x", constant([0])])
            return add(kind, [columns, add("Concat", [self.listed(self.size()), self.listed(self.size())], axis=0), constant([self.pick(1, 2), 1])])
        if kind == "MaxUnpool":
            image = add("Unsqueeze", ["x", constant([0, 1])])
            at = add("Unsqueeze", [add("Expand", [self.size(), add("Shape", ["x"])]), constant([0, 1])])
            return add(kind, [image, at], kernel_shape=[2, 2], strides=[2, 2])
        if kind == "RoiAlign":
            image = add("Unsqueeze", ["x", constant([0, 1])])
            at = self.indices()
            boxes = add("Expand", [constant([[0.0, 0.0, 1.0, 1.0]], np.float32), add("Concat", [add("Shape", [at]), constant([4])], axis=0)])
            return add(kind, [image, boxes, at])
        if kind == "AffineGrid":
            sizes = add("Concat", [constant([1, 1]), self.listed(self.size()), self.listed(self.size())], axis=0)
            return add("ConstantOfShape", [sizes])
        if kind == "SliceBounds":
            return add("Gather", [add("Slice", ["x", self.listed(self.size()), self.listed(self.size()), constant([0])]), self.indices()], axis=0)
        if kind == "SliceTable":
            table = constant(np.arange(12))
            part = add("Slice", [table, self.listed(self.size()), self.listed(self.size())])
            return add("Gather", ["x", part], axis=self.pick(0, 1))
        if kind == "Chain":
            return add("Gather", [self.table(), add("Gather", [self.indices(), self.indices()])], axis=0)
        if kind == "Embedding":
            rows = add("Reshape", [self.indices(), constant([1, -1])])
            hot = add("ScatterElements", [rows, constant([[0]]), constant([[self.pick(-1, 0, 3, 50)]])], axis=1)
            return add("Gather", [self.table(), hot])
        if kind == "Rows":
            rows = add("Expand", [add("Unsqueeze", [self.indices(), constant([1])]), add("Concat", [constant([1]), self.listed(self.size())], axis=0)])
            return add("GatherElements", ["x", rows], axis=self.pick(0, 1))
        if kind == "Bool":
            return add("Gather", [self.table(), add("Cast", [add("Less", [self.indices(), self.size()])], to=INTEGER)])
        if kind == "Function":
            read = helper.make_node("Gather", ["t", "i"], ["r"], axis=0)
            self.functions.append(helper.make_function("local", "read_rows", ["t", "i"], ["r"], [read], [helper.make_opsetid("", 19)]))
            return add("read_rows", [self.table(), self.indices()], domain="local")
        if kind == "Scan":
            row = helper.make_node("Gather", [self.table(), "i"], ["row"], axis=0)
            body = helper.make_graph([row], "body", [helper.make_tensor_value_info("i", INTEGER, [])], [helper.make_tensor_value_info("row", F, None)])
            return add(kind, [self.indices()], body=body, num_scan_inputs=1)
        if kind == "Loop":
            row = helper.make_node("Gather", [self.table(), self.pick("i", self.constant(self.pick(2, 5)))], ["row"], axis=0)
            go = helper.make_node("Identity", ["c"], ["go"])
            body = helper.make_graph([row, go], "body", [helper.make_tensor_value_info("i", INTEGER, []), helper.make_tensor_value_info("c", TensorProto.BOOL, [])],
                                     [helper.make_tensor_value_info("go", TensorProto.BOOL, []), helper.make_tensor_value_info("row", F, None)])
            return add(kind, [self.size(), ""], body=body)
        then = helper.make_node("Gather", [self.table(), self.indices()], ["picked"], axis=0)
        other = helper.make_node("Identity", ["x"], ["kept"])
        graphs = {"then_branch": helper.make_graph([then], "then", [], [helper.make_tensor_value_info("picked", F, None)]),
                  "else_branch": helper.make_graph([other], "else", [], [helper.make_tensor_value_info("kept", F, None)])}
        return add("If", [add("Less", [self.size(), self.size()])], **graphs)

    def model(self):
        out = self.end()
        inputs = [helper.make_tensor_value_info("x", F, ["n", "m"]), helper.make_tensor_value_info("y", F, ["n", "k"])]
        keep = helper.make_node("Identity", ["y"], ["kept_y"])
        outputs = [helper.make_empty_tensor_value_info(out), helper.make_empty_tensor_value_info("kept_y")]
        graph = helper.make_graph([*self.nodes, keep], "g", inputs, outputs, self.constants)
        opsets = [helper.make_opsetid("", 19), helper.make_opsetid("local", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9, functions=self.functions)


def points(rng):
    corners = [(n, m, k) for n in (1, HIGHEST) for m in (1, HIGHEST) for k in (1, HIGHEST)]
    rng.shuffle(corners)
    drawn = [tuple(rng.randint(1, HIGHEST) for _ in range(3)) for _ in range(SIZES)]
    return (corners + drawn)[:SIZES]


def feeds(n, m, k):
    """Numbers that grow, so that what depends on data is not the same everywhere."""
    return {"x": np.linspace(0, 1, n * m, dtype=np.float32).reshape(n, m), "y": np.ones((n, k), np.float32)}


def reports(thaw, models, dims=f"n=1..{HIGHEST},m=1..{HIGHEST},k=1..{HIGHEST}"):
    """What check says of each, many in one call."""
    out = []
    with tempfile.TemporaryDirectory() as folder:
        for begin in range(0, len(models), 60):
            paths = []
            for i, made in enumerate(models[begin:begin + 60]):
                paths.append(os.path.join(folder, f"{begin + i}.onnx"))
                onnx.save(made, paths[-1])
            done = subprocess.run([str(thaw), "check", *paths, "--sizes", dims, "--format", "json"], capture_output=True, text=True, check=False)
            answer = json.loads(done.stdout)
            out += answer.get("models", [answer])
    return out


def claims(report):
    """Whether every statement is called proven."""
    proof = report.get("proof")
    return bool(proof) and proof["input_conditions"] == proof["refuted"] == proof["unknown"] == 0 and not any(
        f["code"] in PROVEN_CODES for f in report["findings"])


def look(thaw, count, seed=SEED):
    makers = [Maker(seed + i) for i in range(count)]
    models = [maker.model() for maker in makers]
    runner, tally, wrong = Runner(), collections.Counter(), []
    try:
        for maker, made, report in zip(makers, models, reports(thaw, models), strict=True):
            is_claimed = claims(report)
            tally["proven" if is_claimed else "not proven"] += 1
            if not is_claimed and any(f["code"] == "THAW040" for f in report["findings"]):
                broken = next(f for f in report["findings"] if f["code"] == "THAW040")
                tally["broken"] += 1
                sizes = sizes_of(broken, "nmk")
                if runner.run(made.SerializeToString(), feeds(*sizes.values())) is None:
                    wrong.append((" ".join(maker.what), "broken, and runs at " + str(sizes), broken["message"]))
                continue
            if not is_claimed:
                continue
            data, rng = made.SerializeToString(), random.Random(0)
            for point in points(rng):
                said = runner.run(data, feeds(*point))
                tally["runs"] += 1
                if said is not None:
                    wrong.append((" ".join(maker.what), f"proven, and stops at n, m, k = {point}", said[-160:]))
                    break
    finally:
        runner.close()
    return tally, wrong


def witness(broken):
    """Sizes and numbers at which a finding says that the model breaks; none where no size will do."""
    parts = broken.get("details", {}).get("smallest size", "").split(", ")
    return {name: int(value) for name, value in (part.split("=") for part in parts if part)}


def sizes_of(broken, names):
    at = witness(broken)
    return {name: at.get(name, 1) for name in names}


def node_models(every):
    """ONNX's node tests and com.microsoft's, each size free, once all apart and once with those tied that were equal."""
    for case in [*proven.node_cases(), *proven.microsoft_cases()][::every]:
        for tied in (False, True):
            made = onnx.ModelProto.FromString(case.model.SerializeToString())
            names, feeds = {}, dict(case.feeds)
            for name, at in proven.symbols_of(made).items():
                size = feeds[at[0][0]].shape[at[0][1]]
                names.setdefault(size if tied else name, []).extend(at)
            if not names or len(names) > len(SYMBOLS):
                continue
            inputs = {info.name: info for info in made.graph.input}
            for symbol, places in zip(SYMBOLS, names.values()):
                for name, axis in places:
                    inputs[name].type.tensor_type.shape.dim[axis].dim_param = symbol
            # Every symbol is a size of each model, so that one call looks at many.
            for symbol in SYMBOLS:
                made.graph.input.append(helper.make_tensor_value_info("of_" + symbol, F, [symbol]))
            yield proven.Case(case.name, case.operator, made, feeds)


def node_feeds(case, sizes, rng):
    """At those sizes; integers are drawn, of which nothing was said."""
    feeds = {}
    for info in case.model.graph.input:
        dims = info.type.tensor_type.shape.dim
        given = case.feeds.get(info.name, np.zeros(1, np.float32))
        shape = [sizes.get(d.dim_param, d.dim_value) for d in dims]
        feeds[info.name] = proven.resize(given, shape)
        if given.dtype.kind in "iu":
            numbers = (-9, -1, 0, 1, 2, 7, 100) if given.dtype.kind == "i" else (0, 1, 2, 7, 100)
            drawn = [rng.choice(numbers) for _ in range(feeds[info.name].size)]
            feeds[info.name] = np.array(drawn, given.dtype).reshape(shape)
    return feeds


def look_at_nodes(thaw, every):
    cases = list(node_models(every))
    runner, tally, wrong = Runner(), collections.Counter(), []
    spec = ",".join(f"{symbol}=1..5" for symbol in SYMBOLS)
    try:
        for case, report in zip(cases, reports(thaw, [case.model for case in cases], spec), strict=True):
            data, rng = case.model.SerializeToString(), random.Random(0)
            if runner.run(data, {**node_feeds(case, dict.fromkeys(SYMBOLS, 1), rng), **case.feeds}) is not None:
                tally["does not run at all"] += 1
                continue
            broken = next((f for f in report["findings"] if f["code"] == "THAW040"), None)
            if claims(report):
                tally["proven"] += 1
                for _ in range(SIZES):
                    sizes = {symbol: rng.randint(1, 5) for symbol in SYMBOLS}
                    said = runner.run(data, node_feeds(case, sizes, rng))
                    tally["runs"] += 1
                    if said is not None:
                        wrong.append((case.operator, case.name, f"proven, and stops at {sizes}", said[-200:]))
                        break
            elif broken:
                tally["broken"] += 1
                at, sizes = witness(broken), sizes_of(broken, SYMBOLS)
                feeds = node_feeds(case, sizes, rng)
                for name, x in case.feeds.items():  # what integers hold is not what breaks it
                    if x.dtype.kind in "iu":
                        feeds[name] = proven.resize(x, feeds[name].shape).copy()
                        for i in range(feeds[name].size):
                            feeds[name].flat[i] = at.get(f"{name}[{i}]", feeds[name].flat[i])
                if case.operator not in UNCHECKED and runner.run(data, feeds) is None:
                    wrong.append((case.operator, case.name, f"broken, and runs at {at}", broken["message"]))
            else:
                tally["open"] += 1
    finally:
        runner.close()
    return tally, wrong


def test_what_is_proven_never_stops(thaw):
    tally, wrong = look(thaw.path, MODELS)
    print(dict(tally))
    assert not wrong, f"{len(wrong)} of {MODELS}: " + "\n".join(map(str, wrong[:10]))
    assert tally["proven"] > MODELS / 8 and tally["broken"] > MODELS / 8, tally


def test_what_is_proven_of_node_tests_never_stops(thaw):
    tally, wrong = look_at_nodes(thaw.path, 6)
    print(dict(tally))
    assert not wrong, f"{len(wrong)}: " + "\n".join(map(str, wrong[:10]))
    assert tally["proven"] > 100 and tally["broken"] > 100, tally


if __name__ == "__main__":
    if "--runner" in sys.argv:
        import proven_runs_test
        proven_runs_test.serve()
        sys.exit()
    counts, found = look_at_nodes(sys.argv[1], 1) if "--nodes" in sys.argv else look(sys.argv[1], MODELS)
    for case in found:
        print(*case, sep=" | ")
    print(dict(counts), len(found), "wrong")
