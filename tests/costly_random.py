"""Random models over sizes: arithmetic on vectors of integers, and tensors that are shaped by them."""
import random

import numpy as np

from costly_models import BOOL, INT, F, constant, helper, model, node, of_sizes, value

PLAIN = ("Add", "Mul", "Sub", "Div", "Max", "Min", "Mod")
ON_INTEGERS = (*PLAIN, "Neg", "Abs", "Concat", "Where", "Less", "Gather", "Slice", "Round", "CumSum", "Reduce", "Tile",
               "Reverse", "Cross")
ON_TENSORS = ("Expand", "Reshape", "Pad", "Tile", "Slice", "Shape", "Add", "Concat", "MaxPool", "MatMul",
              "ConstantOfShape", "Resize", "Transpose", "Unsqueeze", "AveragePool", "NonZero", "Range", "Split", "If",
              "Loop")
LONGEST = 1024


class Composer:
    """Chooses a few operators, then hundreds of nodes of these, most of which read what was made just before."""

    def __init__(self, seed):
        self.rng = rng = random.Random(seed)
        names, self.nodes, self.inputs = of_sizes(rng.choice([1, 2, 3, 5]))
        self.integers = {1: list(names)}  # by length
        self.tensors = ["x"]
        for length in (16, 128):
            if rng.random() < 0.5:
                self.inputs.append(value(f"v{length}", [length], INT))
                self.integers[length] = [f"v{length}"]
        if rng.random() < 0.5:
            self.inputs.append(value("z", ["n", rng.choice(["m", "n", 1, 4]), "w"]))
            self.tensors.append("z")
        self.inputs.append(value("c", [], BOOL))
        drawn = rng.sample([-1, 0, 1, 2, 3, 4, 7, 16, 31, 1000, 2**31, 2**40], 4)
        self.constants = [constant(f"k{i}", [k]) for i, k in enumerate(drawn)]
        self.integers[1] += [c.name for c in self.constants]
        self.constants += [constant("half", 2.5, np.float32), constant("zero", 0), constant("zeros", [0]), constant("two", [2]),
                           constant("one", [1]), constant("minus", [-1]), constant("low", [-2**40])]
        self.recent = rng.choice([2, 4, 10])

    def compose(self):
        rng = self.rng
        on_integers = rng.choices(ON_INTEGERS, k=rng.randint(2, 6))
        on_tensors = rng.choices(ON_TENSORS, k=rng.randint(0, 4))
        for i in range(rng.choice([30, 150, 600, 2000])):
            if on_tensors and rng.random() < 0.3:
                self.add_tensor(rng.choice(on_tensors), f"o{i}")
            else:
                self.add_integers(rng.choice(on_integers), f"o{i}")
        self.add("Expand", ["x", self.integer()[1]], "y")
        return model(self.nodes, ["y", self.tensor()], self.inputs, self.constants)

    def add(self, op, inputs, output, **attributes):
        self.nodes.append(node(op, inputs, [output], **attributes))
        return output

    def tensor(self):
        return self.rng.choice(self.tensors[-self.recent:])

    def integer(self, length=None):
        length = length if length in self.integers else self.rng.choice(list(self.integers))
        made = self.integers[length]
        return length, self.rng.choice(made[-self.recent:] if self.rng.random() < 0.8 else made)

    def add_integers(self, op, out):
        length, a = self.integer()
        _, b = self.integer(length if self.rng.random() < 0.8 else 1)
        if op in ("Concat", "Tile", "Cross"):
            longer = {"Concat": 2, "Tile": 2, "Cross": length}[op]
            if length * longer > LONGEST:
                return
        if op in PLAIN:
            self.add(op, [a, b], out)
        elif op in ("Neg", "Abs"):
            self.add(op, [a], out)
        elif op == "Concat":
            self.add(op, [a, self.integer(length)[1]], out, axis=0)
            length *= 2
        elif op == "Tile":
            self.add(op, [a, "two"], out)
            length *= 2
        elif op == "Cross":
            self.add("Unsqueeze", [a, "one"], out + "u")
            self.add(self.rng.choice(PLAIN), [out + "u", b], out + "m")
            self.add("Reshape", [out + "m", "minus"], out)
            length *= length
        elif op == "Where":
            self.add("Equal", [a, b], out + "e")
            self.add("Where", [out + "e", a, self.integer(length)[1]], out)
        elif op == "Less":
            self.add("Less", [a, b], out + "e")
            self.add("Cast", [out + "e"], out, to=INT)
        elif op == "Round":
            self.add("Cast", [a], out + "f", to=F)
            self.add("Div", [out + "f", "half"], out + "d")
            self.add(self.rng.choice(["Floor", "Ceil"]), [out + "d"], out + "c")
            self.add("Cast", [out + "c"], out, to=INT)
        elif op == "CumSum":
            self.add(op, [a, "zero"], out)
        elif op == "Reverse":
            self.add("Slice", [a, "minus", "low", "zeros", "minus"], out)
        else:
            length = 1
            if op == "Reduce":
                self.add(self.rng.choice(["ReduceProd", "ReduceSum", "ReduceMax"]), [a], out, keepdims=1)
            else:
                self.add(op, [a, "k0"] if op == "Gather" else [a, "k0", "k1"], out)
        self.integers.setdefault(length, []).append(out)

    def add_tensor(self, op, out):
        _, a = self.integer()
        if op in ("Expand", "Reshape", "Pad", "Tile"):
            self.add(op, [self.tensor(), a], out)
        elif op in ("Add", "MatMul"):
            self.add(op, [self.tensor(), self.tensor()], out)
        elif op in ("Transpose", "NonZero"):
            self.add(op, [self.tensor()], out)
        elif op == "Slice":
            self.add(op, [self.tensor(), self.integer(1)[1], self.integer(1)[1]], out)
        elif op == "Concat":
            self.add(op, [self.tensor(), self.tensor()], out, axis=0)
        elif op == "MaxPool":
            self.add(op, [self.tensor()], out, kernel_shape=[2], strides=[2])
        elif op == "AveragePool":
            self.add(op, [self.tensor()], out, kernel_shape=[3, 3], pads=[1, 0, 1, 2], strides=[3, 2])
        elif op == "ConstantOfShape":
            self.add(op, [a], out)
        elif op == "Resize":
            self.add(op, [self.tensor(), "", "", a], out)
        elif op == "Unsqueeze":
            self.add(op, [self.tensor(), "k0"], out)
        elif op == "Split":
            self.nodes.append(node(op, [self.tensor()], [out, out + "b"], axis=0))
            self.tensors.append(out + "b")
        elif op == "If":
            branches = [helper.make_graph([node(each, [self.tensor()], [out + each])], each, [], [value(out + each)])
                        for each in ("Relu", "Neg")]
            self.add(op, ["c"], out, then_branch=branches[0], else_branch=branches[1])
        else:
            return self.add_length(op, a, out)
        self.tensors.append(out)

    def add_length(self, op, a, out):
        """What makes integers: a shape, a range, a Loop that carries one."""
        length = 1
        if op == "Shape":
            self.add(op, [self.tensor()], out)
            length = self.rng.choice([1, 2, 3, 4])
        elif op == "Range":
            self.add(op, ["k0", a, "k1"], out)
        else:
            nodes = [node("Identity", [out + "g"], [out + "h"]),
                     node(self.rng.choice(["Add", "Mul", "Div"]), [out + "c", self.integer(1)[1]], [out + "d"])]
            body = helper.make_graph(
                nodes, "body", [value(out + "i", [], INT), value(out + "g", [], BOOL), value(out + "c", [1], INT)],
                [value(out + "h", [], BOOL), value(out + "d", [1], INT)])
            self.add(op, ["k1", "", self.integer(1)[1]], out, body=body)
        self.integers.setdefault(length, []).append(out)


def random_model(seed):
    return Composer(seed).compose()
