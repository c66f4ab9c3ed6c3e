"""Small files that ask for much: each maker gives a model whose file is small beside what it asks for."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

F, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
MADE = []


def costly(maker):
    MADE.append(maker)
    return maker


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, list(inputs), list(outputs), **attributes)


def value(name, dims=None, dtype=F):
    return helper.make_tensor_value_info(name, dtype, dims)


def constant(name, array, dtype=np.int64):
    return numpy_helper.from_array(np.asarray(array, dtype), name)


def model(nodes, outputs, inputs=None, constants=(), functions=(), opset=17):
    inputs = inputs if inputs is not None else [value("x", ["n", 4]), value("c", [], BOOL)]
    outputs = [o if not isinstance(o, str) else value(o) for o in outputs]
    graph = helper.make_graph(nodes, "costly", inputs, outputs, list(constants))
    imports = [helper.make_opsetid("", opset), *([helper.make_opsetid("own", 1)] if functions else [])]
    return helper.make_model(graph, opset_imports=imports, functions=list(functions), ir_version=8)


def chain(op, first, count, *more, **attributes):
    """first -> op -> op … -> (nodes, name of the last)"""
    nodes, at = [], first
    for i in range(count):
        nodes.append(node(op, [at, *more], [f"{op}{i}"], **attributes))
        at = f"{op}{i}"
    return nodes, at


# Sequences.

@costly
def sequences_of_sequences():
    nodes = [node("Relu", ["x"], ["y"])]
    for level in range(60):
        inside = f"s{level - 1}" if level else "x"
        nodes.append(node("SequenceConstruct", [inside, inside], [f"s{level}"]))
    return model(nodes, ["y"])


@costly
def sequences_of_two_that_are_alike():
    nodes = [node("Relu", ["x"], ["y"])]
    for level in range(60):
        inside = [f"a{level - 1}", f"b{level - 1}"] if level else ["x", "x"]
        nodes += [node("SequenceConstruct", inside, [f"{side}{level}"]) for side in "ab"]
    return model(nodes, ["y"])


@costly
def sequences_that_grow():
    nodes = [node("SequenceEmpty", [], ["s"])]
    more, last = chain("SequenceInsert", "s", 12000, "x")
    return model([*nodes, *more, node("ConcatFromSequence", [last], ["y"], axis=0)], ["y"])


@costly
def a_sequence_of_many():
    return model([node("SequenceConstruct", ["x"] * 100000, ["s"]), node("ConcatFromSequence", ["s"], ["y"], axis=0)],
                 ["y"])


# Graphs inside graphs.

@costly
def ifs_in_ifs():
    def branch(level):
        if level == 0:
            nodes = [node("Relu", ["x"], ["r0"])]
        else:
            inner = branch(level - 1)
            other = helper.make_graph([node("Neg", ["x"], [f"e{level}"])], "else", [], [value(f"e{level}")])
            nodes = [node("If", ["t"], [f"r{level}"], then_branch=inner, else_branch=other)]
        return helper.make_graph(nodes, "then", [], [value(f"r{level}")])
    top = branch(24)
    first = [node("ReduceMax", ["x"], ["m"], keepdims=0), node("Cast", ["m"], ["t"], to=BOOL)]
    return model([*first, *top.node], [top.output[0].name], [value("x", [1, 4, 4])])


@costly
def ifs_of_conditions_of_their_own():
    def branch(level):
        name = f"t{level}"
        nodes = [node("ReduceMax", ["x"], [f"m{level}"], keepdims=0),
                 node("Greater", [f"m{level}", "zero"], [name])]
        if level:
            inner, other = branch(level - 1), helper.make_graph(
                [node("Neg", ["x"], [f"e{level}"])], "else", [], [value(f"e{level}")])
            nodes.append(node("If", [name], [f"r{level}"], then_branch=inner, else_branch=other))
        else:
            nodes.append(node("Relu", ["x"], ["r0"]))
        return helper.make_graph(nodes, "then", [], [value(f"r{level}")])
    top = branch(24)
    return model([*top.node], [top.output[0].name], [value("x", [1, 4, 4])], [constant("zero", 0, np.float32)])


def loops(kind, depth=30):
    """Loop, Scan or SequenceMap, each in the body of the one before."""
    def body(level):
        x = f"x{level}"
        if level == 0:
            nodes, last = [node("Concat", [x, x], ["y0"], axis=0)], "y0"
        else:
            inner = body(level - 1)
            if kind == "Loop":
                nodes = [node("Loop", ["trips", "", x], [f"y{level}"], body=inner)]
            elif kind == "Scan":
                nodes = [node("Scan", [x, "rows"], [f"y{level}", f"z{level}"], body=inner, num_scan_inputs=1)]
            else:
                nodes = [node("SequenceConstruct", [x] * 16, [f"s{level}"]),
                         node("SequenceMap", [f"s{level}"], [f"m{level}"], body=inner),
                         node("ConcatFromSequence", [f"m{level}"], [f"y{level}"], axis=0)]
            last = f"y{level}"
        if kind == "Loop":
            inputs = [value(f"i{level}", [], INT), value(f"go{level}", [], BOOL), value(x)]
            nodes.append(node("Identity", [f"go{level}"], [f"on{level}"]))
            return helper.make_graph(nodes, "body", inputs, [value(f"on{level}", [], BOOL), value(last)])
        if kind == "Scan":
            nodes.append(node("Identity", [f"row{level}"], [f"out{level}"]))
            return helper.make_graph(nodes, "body", [value(x), value(f"row{level}")], [value(last), value(f"out{level}")])
        return helper.make_graph(nodes, "body", [value(x)], [value(last)])
    inner = body(depth)
    constants = [constant("trips", 3), constant("rows", np.ones((3, 2)), np.float32)]
    top = {"Loop": [node("Loop", ["trips", "", "x"], ["y"], body=inner)],
           "Scan": [node("Scan", ["x", "rows"], ["y", "z"], body=inner, num_scan_inputs=1)],
           "SequenceMap": [node("SequenceConstruct", ["x", "x"], ["s"]), node("SequenceMap", ["s"], ["m"], body=inner),
                           node("ConcatFromSequence", ["m"], ["y"], axis=0)]}[kind]
    return model(top, ["y"], [value("x", ["n", 4])], constants)


@costly
def loops_in_loops():
    return loops("Loop")


@costly
def scans_in_scans():
    return loops("Scan")


@costly
def maps_in_maps():
    return loops("SequenceMap")


def loop_that_shifts(count, depth):
    """What goes around moves one place on with each round, in a Loop in a Loop."""
    def body(level):
        names = [f"v{level}_{k}" for k in range(count)]
        inputs = [value(f"i{level}", [], INT), value(f"go{level}", [], BOOL), *[value(n) for n in names]]
        if level:
            nodes = [node("Loop", ["trips", "", *names], [f"w{level}_{k}" for k in range(count)], body=body(level - 1))]
        else:
            nodes = [node("Relu", [names[k - 1]], [f"w0_{k}"]) for k in range(count)]
        outputs = [value(f"w{level}_{k}") for k in range(count)]
        nodes.append(node("Identity", [f"go{level}"], [f"on{level}"]))
        return helper.make_graph(nodes, "body", inputs, [value(f"on{level}", [], BOOL), *outputs])
    given = ["x", *["k"] * (count - 1)]
    return model([node("Loop", ["trips", "", *given], [f"y{k}" for k in range(count)], body=body(depth))], ["y3"],
                 [value("x", ["n", 4])], [constant("trips", 3), constant("k", np.ones((1, 4)), np.float32)])


@costly
def loops_that_shift():
    return loop_that_shifts(150, 3)


def functions(depth, calls, width=1):
    """Function i calls function i-1 several times."""
    made = [helper.make_function("own", "F0", ["a"], ["b"], [node("Relu", ["a"], ["r"]), *[
        node("Neg", [f"n{k - 1}" if k else "r"], [f"n{k}" if k < width - 1 else "b"]) for k in range(width)]],
        [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)])]
    for level in range(1, depth):
        names = [f"t{k}" for k in range(calls)]
        nodes = [helper.make_node(f"F{level - 1}", [names[k - 1] if k else "a"], [names[k]], domain="own")
                 for k in range(calls)]
        nodes.append(node("Identity", [names[-1]], ["b"]))
        made.append(helper.make_function("own", f"F{level}", ["a"], ["b"], nodes,
                                         [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]))
    return model([helper.make_node(f"F{depth - 1}", ["x"], ["y"], domain="own")], ["y"], functions=made)


@costly
def functions_that_call_twice():
    return functions(48, 2)


@costly
def functions_that_call_often():
    return functions(4, 60, 60)


# Ranks.

@costly
def unsqueezes():
    nodes, last = chain("Unsqueeze", "x", 4000, "axis")
    return model([*nodes, node("Relu", [last], ["y"])], ["y"], constants=[constant("axis", [0])])


@costly
def an_unsqueeze_to_a_great_rank():
    nodes, last = chain("Relu", "u", 200)
    return model([node("Unsqueeze", ["x", "axes"], ["u"]), *nodes], [last],
                 constants=[constant("axes", np.arange(30000))])


@costly
def an_input_of_a_great_rank():
    nodes, last = chain("Add", "x", 500, "x")
    return model(nodes, [last], [value("x", [1] * 30000)])


@costly
def an_input_of_many_sizes():
    nodes, last = chain("Relu", "x", 300)
    return model(nodes, [last], [value("x", [f"s{i}" for i in range(30000)])])


@costly
def a_constant_of_a_great_rank():
    tensor = TensorProto(name="k", data_type=F, dims=[1] * 30000, raw_data=b"\0\0\0\0")
    nodes, last = chain("Add", "x", 300, "k")
    return model(nodes, [last], constants=[tensor])


@costly
def reshapes_to_great_ranks():
    nodes = [node("Reshape", ["x", "shape"], ["r"])]
    more, last = chain("Transpose", "r", 1000)
    return model([*nodes, *more], [last], constants=[constant("shape", [-1] + [1] * 1000)])


@costly
def shapes_that_double():
    nodes, at = [node("Shape", ["x"], ["s"])], "s"
    for i in range(9):
        nodes += [node("Concat", [at, at], [f"c{i}"], axis=0), node("Expand", ["x", f"c{i}"], [f"e{i}"])]
        at = f"c{i}"
    return model([*nodes, node("Relu", ["e8"], ["y"])], ["y"])


@costly
def a_shape_of_a_thousand_ones():
    nodes, at = [node("ConstantOfShape", ["ones"], ["e0"])], "e0"
    more, last = chain("Mul", at, 2000, "e0")
    return model([*nodes, *more, node("Add", ["x", last], ["y"])], ["y"], constants=[constant("ones", [1] * 1024)])


# Elements of small tensors.

def followed(op, count, first=(), constants=()):
    """128 elements of an input, eight times beside each other, through a chain of one operator with two operands."""
    nodes = [node("Concat", ["v"] * 8, ["all"], axis=0), *first]
    more, last = chain(op, "all", count, "all")
    return model([*nodes, *more, node("Expand", ["x", last], ["y"])], ["y"],
                 [value("x", ["n"]), value("v", [128], INT)], constants)


@costly
def elements_that_are_added():
    return followed("Add", 3000)


@costly
def elements_that_are_multiplied():
    return followed("Mul", 3000)


@costly
def elements_that_are_divided():
    return followed("Div", 2000)


@costly
def elements_of_maxima():
    return followed("Max", 2000)


@costly
def elements_that_are_copied():
    nodes = [node("Range", ["zero", "k", "one"], ["r"])]
    more, last = chain("Neg", "r", 20000)
    return model([*nodes, *more, node("Gather", ["x", last], ["y"])], ["y"],
                 constants=[constant("zero", 0), constant("one", 1), constant("k", 1024)])


@costly
def elements_that_are_turned():
    nodes = [node("Range", ["zero", "k", "one"], ["r"]), node("Reshape", ["r", "shape"], ["m"])]
    more, last = chain("Transpose", "m", 10000)
    return model([*nodes, *more, node("Gather", ["x", last], ["y"])], ["y"],
                 constants=[constant("zero", 0), constant("one", 1), constant("k", 1024), constant("shape", [32, 32])])


@costly
def tiles_that_double():
    nodes, at = [node("Shape", ["x"], ["s"])], "s"
    for i in range(40):
        nodes.append(node("Tile", [at, "two"], [f"t{i}"]))
        at = f"t{i}"
    return model([*nodes, node("ConstantOfShape", [at], ["k"]), node("Add", ["x", "k"], ["y"])], ["y"],
                 constants=[constant("two", [2])])


# Sizes as expressions.

def of_sizes(count):
    names = [f"s{i}" for i in range(count)]
    nodes = [node("Shape", ["x"], ["shape"]), node("Split", ["shape"], names, axis=0)]
    return names, nodes, [value("x", [f"d{i}" for i in range(count)])]


@costly
def products_of_sums():
    names, nodes, inputs = of_sizes(40)
    at = "s0"
    for i in range(1, 40, 2):
        nodes += [node("Add", [names[i], names[i - 1]], [f"a{i}"]), node("Mul", [at, f"a{i}"], [f"m{i}"])]
        at = f"m{i}"
    return model([*nodes, node("ConstantOfShape", [at], ["y"])], ["y"], inputs)


@costly
def powers_of_sums():
    names, nodes, inputs = of_sizes(3)
    nodes += [node("Add", names[:2], ["a"]), node("Add", ["a", "one"], ["p0"])]
    for i in range(400):
        nodes += [node("Mul", [f"p{i}", f"p{max(0, i - 3)}"], [f"q{i}"]), node("Div", [f"q{i}", "seven"], [f"f{i}"]),
                  node("Add", [f"f{i}", names[i % 3]], [f"p{i + 1}"])]
    return model([*nodes, node("ConstantOfShape", ["p400"], ["y"])], ["y"], inputs,
                 [constant("one", [1]), constant("seven", [7])])


@costly
def floors_of_floors():
    names, nodes, inputs = of_sizes(4)
    at = "s0"
    for i in range(600):
        nodes += [node("Add", [at, names[i % 4]], [f"a{i}"]), node("Div", [f"a{i}", f"k{i % 5}"], [f"f{i}"])]
        at = f"f{i}"
    return model([*nodes, node("ConstantOfShape", [at], ["y"])], ["y"], inputs,
                 [constant(f"k{i}", [2 * i + 3]) for i in range(5)])


@costly
def divisions_by_sums():
    names, nodes, inputs = of_sizes(6)
    at = "s0"
    for i in range(600):
        nodes += [node("Mul", [at, names[i % 6]], [f"m{i}"]), node("Add", [f"m{i}", names[(i + 1) % 6]], [f"a{i}"]),
                  node("Div", [f"a{i}", names[(i + 2) % 6]], [f"f{i}"])]
        at = f"f{i}"
    return model([*nodes, node("ConstantOfShape", [at], ["y"])], ["y"], inputs)


@costly
def convolutions_over_convolutions():
    nodes, at = [], "x"
    for i in range(400):
        nodes.append(node("MaxPool", [at], [f"p{i}"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]))
        nodes.append(node("Resize", [f"p{i}", "", "scales"], [f"r{i}"]))
        at = f"r{i}"
    return model(nodes, [at], [value("x", [1, 3, "h", "w"])], [constant("scales", [1, 1, 1.7, 1.3], np.float32)])


@costly
def paddings_by_sizes():
    names, nodes, inputs = of_sizes(4)
    nodes.append(node("Concat", [*names, *names], ["pads"], axis=0))
    at = "x"
    for i in range(300):
        nodes += [node("Pad", [at, "pads"], [f"p{i}"]), node("MaxPool", [f"p{i}"], [f"q{i}"], kernel_shape=[3, 3],
                                                             strides=[2, 2])]
        at = f"q{i}"
    return model(nodes, [at], inputs)


@costly
def thousands_of_symbols():
    inputs = [value(f"x{i}", [f"a{i}", f"b{i}"]) for i in range(4000)]
    nodes = [node("Concat", [i.name for i in inputs], ["all"], axis=0), node("Relu", ["all"], ["y"])]
    return model(nodes, ["y"], inputs)


@costly
def thousands_of_equations():
    inputs = [value(f"x{i}", [f"a{i}", f"b{i}"]) for i in range(2000)]
    nodes = [node("Add", [f"x{i}", f"x{i + 1}"], [f"y{i}"]) for i in range(1999)]
    return model(nodes, [f"y{i}" for i in range(1999)], inputs)


@costly
def sizes_declared_as_expressions():
    text = "+".join(f"s{i}*t{i}" for i in range(60))
    inputs = [value(f"x{i}", [f"({text})//{i + 2}", f"s{i % 60}", f"t{i % 60}"]) for i in range(1500)]
    return model([node("Relu", ["x7"], ["y"])], ["y"], inputs)


@costly
def thousands_of_broadcasts():
    inputs = [value(f"x{i}", [f"a{i}"]) for i in range(400)]
    nodes, at = [], "x0"
    for i in range(1, 400):
        nodes.append(node("Add", [at, f"x{i}"], [f"y{i}"]))
        at = f"y{i}"
    return model(nodes, [at], inputs)


# Lists, names and counts.

@costly
def an_output_a_hundred_thousand_times():
    return model([node("Relu", ["x"], ["y"])], ["y"] * 100000)


@costly
def an_operand_a_hundred_thousand_times():
    return model([node("Concat", ["x"] * 100000, ["y"], axis=0)], ["y"])


@costly
def a_split_into_many():
    names = [f"s{i}" for i in range(30000)]
    return model([node("Split", ["x"], names, axis=0), node("Relu", ["s7"], ["y"])], ["y"], [value("x", [30000, 4])])


@costly
def outputs_of_many():
    nodes = [node("Relu", ["x"], [f"y{i}"]) for i in range(20000)]
    return model(nodes, [f"y{i}" for i in range(20000)])


@costly
def constants_of_one_prefix():
    constants = [constant("layers.attention.weight." * 4 + str(i), [i], np.float32) for i in range(20000)]
    return model([node("Sum", ["x", *[c.name for c in constants]], ["y"])], ["y"], constants=constants)


@costly
def an_attribute_of_a_million():
    return model([node("Constant", [], ["k"], value_ints=list(range(1000000))), node("Gather", ["x", "k"], ["y"])],
                 ["y"])


@costly
def axes_of_a_million():
    return model([node("ReduceSum", ["x", "axes"], ["y"])], ["y"], constants=[constant("axes", np.zeros(1000000))])


@costly
def a_permutation_of_a_million():
    return model([node("Transpose", ["x"], ["y"], perm=list(range(1000000)))], ["y"])


@costly
def a_name_of_a_megabyte():
    nodes, last = chain("Relu", "x", 2000)
    return model(nodes, [last], [value("x", ["n" * 1000000, "m" * 1000000])])


@costly
def an_input_value_of_a_long_name():
    name = "v" * 300000
    nodes = [node("Concat", [name] * 8, ["all"], axis=0), node("Add", ["all", "all"], ["b"]),
             node("Expand", ["x", "b"], ["y"])]
    return model(nodes, ["y"], [value("x", ["n"]), value(name, [128], INT)])


@costly
def a_node_of_a_long_name():
    nodes, last = chain("NonZero", "x", 1)
    graphs = []
    for i in range(1000):
        graphs.append(node("Add", ["x", "odd"], [f"y{i}"]))
    made = model([*nodes, *graphs], [last], constants=[constant("odd", np.zeros(3), np.float32)])
    made.graph.name = "g" * 1000000
    made.graph.node[0].name = "N" * 1000000
    return made


@costly
def a_function_of_a_long_name():
    name = "F" * 200000
    body = helper.make_function("own", name, ["a"], ["b"], [node("NonZero", ["a"], ["b"])], [helper.make_opsetid("", 17)])
    nodes = [helper.make_node(name, ["x"], [f"y{i}"], domain="own") for i in range(20)]
    return model(nodes, ["y3"], functions=[body])


@costly
def graphs_many_levels_deep():
    def branch(level):
        nodes = [node("Identity", ["x"], [f"r{level}"])] if level == 0 else [
            node("If", ["c"], [f"r{level}"], then_branch=branch(level - 1), else_branch=helper.make_graph(
                [node("Identity", ["x"], [f"e{level}"])], "else", [], [value(f"e{level}")]))]
        return helper.make_graph(nodes, "g" * 2000, [], [value(f"r{level}")])
    top = branch(24)
    return model([*top.node], ["r24"])


@costly
def thousands_of_functions():
    made = [helper.make_function("own", f"F{i}", ["a"], ["b"],
                                 [helper.make_node(f"F{i - 1}", ["a"], ["b"], domain="own") if i else
                                  node("Relu", ["a"], ["b"])],
                                 [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]) for i in range(4000)]
    nodes = [helper.make_node(f"F{i}", ["x"], [f"y{i}"], domain="own") for i in range(0, 4000, 2)]
    return model(nodes, ["y0"], functions=made)


@costly
def a_loop_of_many_values():
    count = 3000
    inputs = [value("i", [], INT), value("go", [], BOOL), *[value(f"v{k}") for k in range(count)]]
    nodes = [node("Relu", [f"v{k - 1}"], [f"w{k}"]) for k in range(count)] + [node("Identity", ["go"], ["on"])]
    body = helper.make_graph(nodes, "body", inputs, [value("on", [], BOOL), *[value(f"w{k}") for k in range(count)]])
    given = ["x", *["k"] * (count - 1)]
    return model([node("Loop", ["trips", "", *given], [f"y{k}" for k in range(count)], body=body)], ["y3"],
                 [value("x", ["n", 4])], [constant("trips", 3), constant("k", np.ones((1, 4)), np.float32)])


@costly
def one_value_read_by_all():
    nodes = [node("Shape", ["x"], ["s"]), *[node("Reshape", ["x", "s"], [f"y{i}"]) for i in range(20000)]]
    return model([*nodes, node("Sum", [f"y{i}" for i in range(20000)], ["y"])], ["y"], [value("x", [1, 3, 8, 8])])


@costly
def frozen_sizes_by_the_thousand():
    nodes, at = [], "x"
    for i in range(2500):
        nodes += [node("Reshape", [at, f"flat{i}"], [f"f{i}"]), node("Reshape", [f"f{i}", f"back{i}"], [f"b{i}"])]
        at = f"b{i}"
    constants = [constant(f"{name}{i}", shape) for i in range(2500)
                 for name, shape in (("flat", [1, 12, 640]), ("back", [1, 3, 4, 640]))]
    return model(nodes, [at], [value("x", [1, 3, 4, 640])], constants)


@costly
def frozen_sizes_in_products():
    nodes, at = [], "x"
    for i in range(300):
        nodes += [node("MaxPool", [at], [f"p{i}"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
                  node("Reshape", [f"p{i}", "flat"], [f"f{i}"]), node("Transpose", [f"f{i}"], [f"t{i}"], perm=[0, 2, 1]),
                  node("MatMul", [f"f{i}", f"t{i}"], [f"m{i}"]), node("MatMul", [f"m{i}", f"f{i}"], [f"n{i}"]),
                  node("Reshape", [f"n{i}", "back"], [f"b{i}"])]
        at = f"b{i}"
    return model(nodes, [at], [value("x", [1, 8, 24, 24])], [constant("flat", [1, 8, 576]),
                                                             constant("back", [1, 8, 24, 24])])
