"""What Thaw says runs, runs: an operator whose rule leaves out what ONNX Runtime asks of its operands is found here.

Each case is one of ONNX's own node tests or one of com.microsoft, with a symbol for each size. One size of one operand is changed
at a time, and those that were equal are changed together. Where every statement of the node still holds, nothing tells a user that
these sizes do not go together: ONNX Runtime must run them. `python tests/proven_runs_test.py` prints what it does not.
"""

import collections
import os
import pickle
import re
import struct
import subprocess
import sys
import warnings

import numpy as np
import pytest

sys.path.insert(0, os.path.dirname(__file__))
import infer_microsoft_test as microsoft
import infer_node_test as nodes

warnings.filterwarnings("ignore")

MOST_OF_A_KIND = 24      # cases of one operator
MOST_ELEMENTS = 1 << 20  # of one operand

# Refusals that are about what fed indices hold, not about sizes: the data were cut under them.
INDICES = re.compile(r"out of (data )?bounds|out of range|invalid ind|index out of|exceeds max_sequence_length", re.IGNORECASE)
# Refusals that no statement about sizes says, by what ONNX Runtime answers.
OTHER_REASONS = {
    r"reshape_helper": "a Reshape's target is fed here: a 0 in it would copy a size, so that nothing is said of its elements",
    r"ScalesValidation 'Linear' mode only supports|ScalesValidation 'Cubic' mode only supports":
        "the kernels of Resize interpolate along two or three axes, whichever the model says",
}

Case = collections.namedtuple("Case", "name operator model feeds")
Refusal = collections.namedtuple("Refusal", "operator case shapes said")


class Runner:
    """ONNX Runtime in a process of its own: some kernels read out of bounds where sizes do not fit each other."""

    def __init__(self):
        self.process = None

    def run(self, model, feeds):
        """None where it runs, else what was said."""
        if self.process is None:
            self.process = subprocess.Popen([sys.executable, __file__, "--runner"], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            data = pickle.dumps((model, feeds))
            self.process.stdin.write(struct.pack("<q", len(data)) + data)
            self.process.stdin.flush()
            size, = struct.unpack("<q", self.process.stdout.read(8))
            return pickle.loads(self.process.stdout.read(size))
        except (struct.error, BrokenPipeError):
            self.process.kill()
            self.process.wait()
            self.process = None
            return "crashed"

    def close(self):
        if self.process:
            self.process.kill()
            self.process.wait()


def serve():
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    session, loaded = None, None
    while header := source.read(8):
        model, feeds = pickle.loads(source.read(struct.unpack("<q", header)[0]))
        try:
            if model != loaded:
                loaded = model
                session = None
                session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
            if session is None:
                raise ValueError("not loaded")
            session.run(None, feeds)
            said = None
        except Exception as error:
            said = str(error)
        data = pickle.dumps(said)
        sink.write(struct.pack("<q", len(data)) + data)
        sink.flush()


def forget_inner_types(graph):
    """Drops the sizes that subgraphs declare of what they take and return: ONNX Runtime holds them to these."""
    for node in graph.node:
        for inner in (a.g for a in node.attribute if a.HasField("g")):
            del inner.value_info[:]
            for value in (*inner.input, *inner.output):
                if value.type.HasField("tensor_type"):
                    value.type.tensor_type.ClearField("shape")
            forget_inner_types(inner)


def node_cases():
    count = collections.Counter()
    for case in nodes.load_cases():
        operator = nodes.operator_of(case.model)
        made = nodes.symbolic(case.model, case.data[0][0])
        count[operator] += 1
        if made is None or count[operator] > MOST_OF_A_KIND:
            continue
        nodes.forget_types(made[0])
        forget_inner_types(made[0].graph)
        feeds = {info.name: nodes.array(x) for info, x in zip(made[0].graph.input, case.data[0][0])}
        yield Case(case.name, operator, made[0], feeds)


def microsoft_cases():
    for name, case in microsoft.CASES.items():
        model, feeds, _, _ = microsoft.build(name.split()[0], *case)
        yield Case(f"com.microsoft {name}", name.split()[0], model, feeds)


def resize(x, shape):
    return np.asarray(np.resize(x, shape) if x.size else np.zeros(shape, x.dtype), x.dtype)


def symbols_of(model):
    """{name: [(input, axis)]} of the sizes that are free."""
    places = {}
    for info in model.graph.input:
        for axis, d in enumerate(info.type.tensor_type.shape.dim):
            if d.dim_param:
                places.setdefault(d.dim_param, []).append((info.name, axis))
    return places


def changes(model, feeds):
    """Sizes of the operands, changed: {symbol: size}, one at a time and then all that were equal together."""
    places = symbols_of(model)
    sizes = {name: feeds[at[0][0]].shape[at[0][1]] for name, at in places.items()}
    for name, size in sizes.items():
        for other in {size + 1, 2 * size, 1} - {size}:
            yield {**sizes, name: other}
    for size in set(sizes.values()):
        equal = [name for name in sizes if sizes[name] == size]
        for other in {size + 1, 2 * size}:
            if len(equal) > 1:
                yield {**sizes, **dict.fromkeys(equal, other)}
            # All but one.
            for left in equal if len(equal) > 2 else ():
                yield {**sizes, **{name: other for name in equal if name != left}}


def fed(model, feeds, sizes):
    out = dict(feeds)
    for info in model.graph.input:
        shape = [sizes[d.dim_param] if d.dim_param else n
                 for d, n in zip(info.type.tensor_type.shape.dim, feeds[info.name].shape)]
        if int(np.prod(shape)) > MOST_ELEMENTS:
            return None
        out[info.name] = resize(feeds[info.name], shape)
    return out


def values_of(feeds):
    return {name: x.ravel().tolist() for name, x in feeds.items() if x.dtype.kind in "iu"}


def holds(statement, sizes, values):
    """Whether it holds at these sizes; None where they do not tell."""
    try:
        a, b = (nodes.evaluate(str(side), sizes, values) for side in (statement["a"], statement["b"]))
    except (KeyError, IndexError):
        return None
    if a is None or b is None:
        return None
    return {"equal": a == b, "at most": a <= b, "broadcast": a == b or 1 in (a, b),
            "divisible": b != 0 and a % b == 0}[statement["kind"]]


def claims(case, answer):
    """The changed feeds at which nothing is said against the model."""
    for sizes in changes(case.model, case.feeds):
        feeds = fed(case.model, case.feeds, sizes)
        if feeds is None:
            continue
        values = values_of(feeds)
        if all(holds(s, sizes, values) for s in answer["statements"]):
            yield feeds


def look(cases, answers):
    runner, tally, wrong = Runner(), collections.Counter(), []
    try:
        for case, answer in zip(cases, answers, strict=True):
            if "error" in answer or answer["problems"] or answer["unknown_operators"] or answer["statements"] is None:
                tally["nothing said"] += 1
                continue
            data = case.model.SerializeToString()
            if runner.run(data, case.feeds) is not None:
                tally["does not run at all"] += 1
                continue
            tally["cases"] += 1
            for feeds in claims(case, answer):
                tally["tried"] += 1
                said = runner.run(data, feeds)
                if said is None:
                    tally["ran"] += 1
                elif INDICES.search(said):
                    tally["indices"] += 1
                else:
                    wrong.append(Refusal(case.operator, case.name, {name: x.shape for name, x in feeds.items()}, said))
    finally:
        runner.close()
    return tally, wrong


def everything():
    cases = [*node_cases(), *microsoft_cases()]
    return cases, nodes.infer([case.model for case in cases])


def text_of(refusal):
    said = " ".join(refusal.said.split())
    return f"{refusal.operator}: {refusal.case} {refusal.shapes}: {said[said.rfind('Message:') + 1:][-200:]}"


def test_what_nothing_is_said_against_runs():
    if not nodes.TOOL.exists():
        pytest.skip("infer_batch is not built")
    tally, refused = look(*everything())
    print(dict(tally))
    assert tally["cases"] > 900 and tally["ran"] > 3000, tally
    reasons = [next((reason for reason in OTHER_REASONS if re.search(reason, r.said)), None) for r in refused]
    wrong = [r for r, reason in zip(refused, reasons) if reason is None]
    assert not wrong, f"{len(wrong)} refused: " + "\n".join(map(text_of, wrong[:10]))
    # An exception that is none any more has to go.
    assert set(reasons) == set(OTHER_REASONS)


if __name__ == "__main__":
    if "--runner" in sys.argv:
        serve()
        sys.exit()
    counts, found = look(*everything())
    print(dict(counts))
    for refusal in found:
        print(text_of(refusal))
