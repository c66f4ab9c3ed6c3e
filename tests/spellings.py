"""The spellings of fusions that tests try, and near-misses: a registry that the modules spellings_*.py fill."""
from spelling import Graph

SPELLINGS, NEAR_MISSES = {}, {}


class Case:
    def __init__(self, build, left, target, opset, without):
        self.build, self.left, self.target, self.opset, self.without = build, left, target, opset, without

    def model(self):
        graph = Graph(self.opset)
        made = self.build(graph)
        graph.output(*(made if isinstance(made, (tuple, list)) else [made]))
        return graph.model()


def _register(table, build, left, without, ort, portable):
    name = build.__name__.replace("_", " ").strip()
    for target, opsets in (("ort", ort), ("portable", portable)):
        for opset in opsets:
            key = f"{name}, {target} {opset}"
            assert key not in table, key
            table[key] = Case(build, left[target] if isinstance(left, dict) else left, target, opset, without)


def spelling(left, ort=(13, 18), portable=()):
    """`left`: the operators that are there afterwards, as fits() takes them; a dict where the targets differ."""
    def add(build):
        _register(SPELLINGS, build, left, None, ort, portable)
        return build
    return add


def near_miss(*without, ort=(18,), portable=()):
    """Operators that must not be there afterwards."""
    def add(build):
        _register(NEAR_MISSES, build, None, without, ort, portable)
        return build
    return add


def fits(left, wanted):
    """`wanted`: all that is left, or a list of operators that are there once where no softmax and no sum of products is."""
    if isinstance(wanted, str):
        return sorted(left) == sorted(wanted.split())
    return all(left.count(op) == 1 for op in wanted) and not {"Softmax", "Einsum", "FusedMatMul"} & set(left)
