"""Loading a model and saving it loses nothing: the message that Python reads from both files is the same."""
import random

import onnx
import pytest
from onnx import TensorProto, helper

from conftest import need_package, need_shared
from ir_tool import roundtrip


def canonical(data):
    """Comparable bytes: equal for equal messages, unknown fields, presence and NaN included."""
    return onnx.load_from_string(data).SerializeToString(deterministic=True)


def assert_same_after_roundtrip(files, tmp_path, least=1):
    assert len(files) >= least
    pairs = [(file, tmp_path / f"{i}.onnx") for i, file in enumerate(files)]
    roundtrip(pairs)
    for source, target in pairs:
        assert canonical(source.read_bytes()) == canonical(target.read_bytes()), source


def written(models, tmp_path):
    files = []
    for i, model in enumerate(models):
        files.append(tmp_path / f"source{i}.onnx")
        files[-1].write_bytes(model.SerializeToString())
    return files


@pytest.mark.filterwarnings("ignore")
def test_every_node_model_of_onnx(tmp_path):
    from onnx.backend.test.loader import load_model_tests
    models = [case.model or onnx.load(f"{case.model_dir}/model.onnx") for case in load_model_tests(kind="node")]
    assert_same_after_roundtrip(written(models, tmp_path), tmp_path, least=1884)


@pytest.mark.parametrize("package", ["rapidocr_onnxruntime", "silero_vad", "onnxruntime"])
def test_models_of_packages(package, tmp_path):
    files = sorted(need_package(package).rglob("*.onnx"))
    assert_same_after_roundtrip(files, tmp_path, least=3)


@pytest.mark.parametrize("folder", ["models", "fixtures"])
def test_models_of_the_field(folder, tmp_path):
    assert_same_after_roundtrip(sorted(need_shared(folder).rglob("*.onnx")), tmp_path)


def entry(key=None, value=None):
    made = onnx.StringStringEntryProto()
    if key is not None:
        made.key = key
    if value is not None:
        made.value = value
    return made


def branch(name, outer):
    """A subgraph that reads `outer`, declares it in value_info, and returns it beside a value of its own."""
    own = f"{name}_own"
    info = helper.make_tensor_value_info
    return helper.make_graph(
        [helper.make_node("Neg", [outer], [own])], name, [],
        [info(own, TensorProto.FLOAT, ["n"]), info(outer, TensorProto.FLOAT, ["m"])],
        value_info=[info(outer, TensorProto.FLOAT, ["elsewhere"])])


def tensors():
    """One tensor for each way that data can stand in a file."""
    yield helper.make_tensor("raw", TensorProto.FLOAT, [2, 3], bytes(24), raw=True)
    yield helper.make_tensor("empty_raw", TensorProto.INT64, [0], b"", raw=True)
    yield helper.make_tensor("scalar", TensorProto.INT64, [], [7])
    yield helper.make_tensor("text", TensorProto.STRING, [3], [b"a", b"", b"\xff"])
    yield helper.make_tensor("half", TensorProto.FLOAT16, [2], [1.5, -2.0])
    yield helper.make_tensor("complex", TensorProto.COMPLEX64, [2], [1 + 2j, 3 - 4j])
    yield helper.make_tensor("unsigned", TensorProto.UINT64, [2], [2**64 - 1, 3])
    yield helper.make_tensor("double", TensorProto.DOUBLE, [1], [float("nan")])
    yield helper.make_tensor("int4", TensorProto.INT4, [5], [-8, 7, 1, -1, 3])
    nothing = TensorProto(name="nothing", data_type=TensorProto.FLOAT, dims=[0, 5])
    yield nothing
    described = helper.make_tensor("described", TensorProto.BOOL, [1], [True])
    described.doc_string = "what it is"
    described.metadata_props.append(entry("k", "v"))
    yield described
    external = TensorProto(name="outside", data_type=TensorProto.FLOAT, dims=[4],
                           data_location=TensorProto.EXTERNAL)
    external.external_data.extend([entry("length", "16"), entry("location", "gone/weights.bin"), entry("offset", "32"),
                                   entry("checksum", "abc"), entry("vendor", "x")])
    yield external


def rich_model():
    """A model with something of everything that onnx.proto knows."""
    info = helper.make_tensor_value_info
    tensor_type = helper.make_tensor_type_proto(TensorProto.FLOAT, ["n", 3, None])
    sequence = helper.make_sequence_type_proto(tensor_type)
    inputs = [info("x", TensorProto.FLOAT, ["n"]), info("cond", TensorProto.BOOL, []),
              info("raw", TensorProto.FLOAT, [2, 3]), info("seq", TensorProto.FLOAT, ["n"])]
    inputs[3].type.CopyFrom(helper.make_optional_type_proto(sequence))
    inputs.append(onnx.ValueInfoProto(name="map"))
    inputs[-1].type.map_type.key_type = TensorProto.INT64
    inputs[-1].type.map_type.value_type.CopyFrom(tensor_type)
    inputs.append(onnx.ValueInfoProto(name="opaque", doc_string="seen by none"))
    inputs[-1].type.opaque_type.domain = "d"
    inputs.append(helper.make_sparse_tensor_value_info("sparse_in", TensorProto.FLOAT, ["n", 5]))
    inputs.append(onnx.ValueInfoProto(name="untyped"))
    sparse = helper.make_sparse_tensor(helper.make_tensor("sparse", TensorProto.FLOAT, [2], [1.0, 2.0]),
                                       helper.make_tensor("", TensorProto.INT64, [2], [1, 4]), [7])
    nodes = [
        helper.make_node("If", ["cond"], ["a", "b"], name="choose", then_branch=branch("t", "x"), else_branch=branch("e", "x")),
        helper.make_node("Call", ["a", "", "b"], ["c", "", "d"], domain="local", overload="second", k=3,
                         floats=[1.0, 2.5], strings=["a", ""], empty="", doc_string="calls"),
        helper.make_node("Optional", [], ["o"], type=sequence),
        helper.make_node("Constant", [], ["k"], sparse_value=sparse),
        helper.make_node("Pack", ["c"], ["p"], domain="local", tensors=[t for t in tensors() if t.name != "outside"],
                         types=[tensor_type, sequence], sparse_tensors=[sparse], graphs=[branch("g", "a"), branch("h", "a")]),
    ]
    nodes[0].metadata_props.append(entry("only key"))
    configuration = nodes[0].device_configurations.add(configuration_id="gpus", pipeline_stage=2)
    sharding = configuration.sharding_spec.add(tensor_name="a", device=[0, 1])
    sharding.sharded_dim.add(axis=1).simple_sharding.add(dim_param="n", num_shards=2)
    bare = nodes[1].attribute.add(name="int_without_value", type=onnx.AttributeProto.INT)
    assert not bare.HasField("i")
    outputs = [info("c", TensorProto.FLOAT, ["n"]), info("x", TensorProto.FLOAT, ["other"]),
               info("c", TensorProto.FLOAT, ["again"]), info("scalar", TensorProto.INT64, [])]
    graph = helper.make_graph(nodes, "main", inputs, outputs, list(tensors()), "about the graph",
                              [info("a", TensorProto.FLOAT, ["n"]), info("no_such_value", TensorProto.FLOAT, [3]),
                               info("c", TensorProto.FLOAT, ["contradicts"]), onnx.ValueInfoProto(name="b")],
                              [helper.make_sparse_tensor(helper.make_tensor("sparse_init", TensorProto.FLOAT, [1], [5.0]),
                                                         helper.make_tensor("i", TensorProto.INT64, [1], [2]), [3])])
    graph.metadata_props.append(entry("g", "raph"))
    annotation = graph.quantization_annotation.add(tensor_name="a")
    annotation.quant_parameter_tensor_names.extend([entry("SCALE_TENSOR", "raw"), entry("ZERO_POINT_TENSOR", "scalar")])
    body = [helper.make_node("Add", ["p", "p"], ["q"]), helper.make_node("Leaky", ["q"], ["r"])]
    body[1].attribute.add(name="alpha", type=onnx.AttributeProto.FLOAT, ref_attr_name="k")
    function = helper.make_function("local", "Call", ["p", "unused"], ["r", "s", "p"], [*body, helper.make_node("Neg", ["q"], ["s"])],
                                    [helper.make_opsetid("", 21), helper.make_opsetid("local", 1)], ["k"],
                                    [helper.make_attribute("floats", [1.0])], overload="second")
    function.value_info.extend([info("q", TensorProto.FLOAT, ["n"]), info("p", TensorProto.FLOAT, [3])])
    function.doc_string = "a function"
    function.metadata_props.append(entry("f", "n"))
    model = helper.make_model(graph, functions=[function], producer_name="test", producer_version="1.2", domain="org",
                              model_version=-3, doc_string="all of it", ir_version=13,
                              opset_imports=[helper.make_opsetid("", 23), helper.make_opsetid("local", 1)])
    model.metadata_props.extend([entry("a", "b"), entry("a", "c"), entry("empty", "")])
    model.configuration.add(name="gpus", num_devices=2, device=["0", "1"])
    training = model.training_info.add()
    training.algorithm.CopyFrom(branch("train", "x"))
    training.update_binding.append(entry("raw", "t_own"))
    return model


def messages_of(message):
    yield message
    for field, value in message.ListFields():
        if field.message_type:
            for inner in value if field.is_repeated else [value]:
                yield from messages_of(inner)


# Setting these, even to their default, changes what the model means or makes it invalid.
NOT_SET = {"TensorProto.raw_data", "TensorProto.segment", "AttributeProto.g", "AttributeProto.t"}


def with_explicit_defaults(model, seed):
    """Sets fields that are not set to what they are when not set, and leaves parts of entries out."""
    rng = random.Random(seed)
    model = onnx.load_from_string(model.SerializeToString())
    for message in list(messages_of(model)):
        for field in message.DESCRIPTOR.fields:
            name = f"{message.DESCRIPTOR.name}.{field.name}"
            if rng.random() > 0.25 or name in NOT_SET:
                continue
            if field.message_type is not None:
                if field.name in ("metadata_props", "quant_parameter_tensor_names"):
                    getattr(message, field.name).append(rng.choice([entry(), entry("k"), entry(None, "v"), entry("", "")]))
            elif not field.is_repeated and not message.HasField(field.name):
                group = field.containing_oneof
                if group is None or message.WhichOneof(group.name) is None:
                    setattr(message, field.name, field.default_value)
    return model


def test_a_model_with_something_of_everything(tmp_path):
    models = [rich_model()]
    for version in (3, 4, 7, 10):
        models.append(rich_model())
        models[-1].ir_version = version
    models[1].opset_import[0].domain = "ai.onnx"
    models[1].graph.node[2].domain = "ai.onnx"
    assert_same_after_roundtrip(written(models, tmp_path), tmp_path)


def test_what_a_file_sets_stays_set(tmp_path):
    models = [with_explicit_defaults(rich_model(), seed) for seed in range(60)]
    assert len({model.SerializeToString(deterministic=True) for model in models}) == 60
    assert_same_after_roundtrip(written(models, tmp_path), tmp_path)


def test_unknown_fields_stay(tmp_path):
    model = rich_model()
    # Field 999 of the model, of a node and of a type; a group; fields known by number but of another wire type.
    unknown = b"\xba\x3e\x03abc" + b"\xc3\x3e\x08\x05\xc4\x3e"
    data = model.SerializeToString() + unknown + b"\x0a\x01x"
    source, target = tmp_path / "a.onnx", tmp_path / "b.onnx"
    source.write_bytes(data)
    roundtrip([(source, target)])
    assert canonical(data) == canonical(target.read_bytes())
    assert unknown[:6] in target.read_bytes() and unknown[6:] in target.read_bytes()


def test_messages_in_parts_are_merged_as_protobuf_does(tmp_path):
    first, second = rich_model(), onnx.ModelProto()
    second.graph.doc_string = "from the second part"
    second.graph.node.append(helper.make_node("Neg", ["x"], ["late"]))
    second.graph.initializer.append(helper.make_tensor("late_weight", TensorProto.FLOAT, [1], [2.0]))
    data = first.SerializeToString() + second.SerializeToString()
    source, target = tmp_path / "a.onnx", tmp_path / "b.onnx"
    source.write_bytes(data)
    roundtrip([(source, target)])
    assert canonical(data) == canonical(target.read_bytes())
    assert "late" in [node.output[0] for node in onnx.load(target, load_external_data=False).graph.node]


def test_packed_and_unpacked_fields_are_the_same(tmp_path):
    model = helper.make_model(helper.make_graph(
        [helper.make_node("Transpose", ["x"], ["y"], perm=[1, 0])], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 2])]))
    data = model.SerializeToString()
    unpacked, packed = b"\x40\x01\x40\x00", b"\x42\x02\x01\x00"  # ints, field 8
    assert data.count(unpacked) == 1
    source, target = tmp_path / "a.onnx", tmp_path / "b.onnx"
    source.write_bytes(data.replace(unpacked, packed))
    roundtrip([(source, target)])
    assert canonical(data) == canonical(target.read_bytes())


def test_unsorted_nodes_are_sorted_and_nothing_else(tmp_path):
    model = rich_model()
    nodes = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend([nodes[1], nodes[4], nodes[2], nodes[0], nodes[3]])
    source, target = tmp_path / "a.onnx", tmp_path / "b.onnx"
    source.write_bytes(model.SerializeToString())
    roundtrip([(source, target)])
    del model.graph.node[:]
    model.graph.node.extend([nodes[2], nodes[0], nodes[1], nodes[4], nodes[3]])
    assert canonical(model.SerializeToString()) == canonical(target.read_bytes())
