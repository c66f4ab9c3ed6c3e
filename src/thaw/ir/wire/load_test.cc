#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thaw/core/error.h"
#include "thaw/core/temp_folder_testing.h"
#include "thaw/ir/graph/builder.h"
#include "thaw/ir/graph/consistency_testing.h"
#include "thaw/ir/wire/wire.h"

namespace thaw::ir {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// Wire format by hand.
std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
std::string number(uint32_t field, uint64_t value) { return varint(wire::varint_tag(field)) + varint(value); }
std::string bytes(uint32_t field, const std::string& content) {
  return varint(wire::bytes_tag(field)) + varint(content.size()) + content;
}
std::string node(const std::string& op, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                 const std::string& rest = {}) {
  std::string content;
  for (const std::string& input : inputs) content += bytes(1, input);
  for (const std::string& output : outputs) content += bytes(2, output);
  return bytes(1, content + bytes(3, "node_" + outputs.at(0)) + bytes(4, op) + rest);
}
std::string input(const std::string& name) { return bytes(11, bytes(1, name)); }
std::string output(const std::string& name) { return bytes(12, bytes(1, name)); }
std::string model(const std::string& graph) { return number(1, 10) + bytes(7, graph) + bytes(8, number(2, 21)); }

std::unique_ptr<Model> parse_text(const std::string& text, const std::filesystem::path& folder = {}) {
  auto owned = std::make_shared<std::string>(text);
  return parse(std::as_bytes(std::span(*owned)), owned, folder);
}

std::string refusal(const std::string& text) {
  try {
    parse_text(text);
  } catch (const Error& error) {
    EXPECT_FALSE(error.parts().next.empty()) << error.what();
    return error.what();
  }
  return "no error";
}

std::string graph_error(const std::string& graph) { return refusal(model(graph)); }

TEST(Load, ReadsAGraphByHand) {
  const auto m =
      parse_text(model(node("Relu", {"x"}, {"y"}) + node("TopK", {"y", ""}, {"", "z"}) + input("x") + output("z")));
  EXPECT_EQ(m->opset(""), 21);
  EXPECT_EQ(m->graph->nodes().size(), 2u);
  const Node* last = m->graph->nodes().back();
  EXPECT_EQ(last->input(0)->producer()->op_type(), "Relu");
  EXPECT_EQ(last->input(1), nullptr);
  EXPECT_EQ(last->output(0), nullptr);
  EXPECT_THAT(m->graph->outputs(), ElementsAre(last->output(1)));
  EXPECT_EQ(inconsistency(*m->graph), "");
}

TEST(Load, RefusesGraphsWhoseNamesDoNotAddUp) {
  EXPECT_THAT(graph_error(node("Relu", {"none"}, {"y"})),
              AllOf(HasSubstr("Relu 'node_y'"), HasSubstr("reads 'none', which nothing makes")));
  EXPECT_THAT(graph_error(node("Relu", {"x"}, {"y"}) + node("Neg", {"x"}, {"y"}) + input("x")), HasSubstr("'y'"));
  EXPECT_THAT(graph_error(input("x") + input("x")), HasSubstr("'x' of a graph input is taken"));
  EXPECT_THAT(graph_error(input("x") + node("Relu", {"x"}, {"x"})), HasSubstr("is taken"));
  EXPECT_THAT(graph_error(input("x") + output("y")), HasSubstr("'y' is made by no node"));
  EXPECT_THAT(graph_error(bytes(5, bytes(8, "w")) + bytes(5, number(2, 1) + bytes(8, "w"))),
              HasSubstr("'w' is that of two constants"));
  EXPECT_THAT(graph_error(bytes(5, bytes(8, "w")) + node("Relu", {"x"}, {"w"}) + input("x")),
              HasSubstr("'w' of an initializer is taken"));
  EXPECT_THAT(graph_error(bytes(11, "")), HasSubstr("a graph input has no name"));
  EXPECT_THAT(graph_error(bytes(5, "")), HasSubstr("an initializer has no name"));
  EXPECT_THAT(graph_error(bytes(1, bytes(2, "y"))), HasSubstr("has no operator"));
  EXPECT_THAT(refusal(number(1, 10)), HasSubstr("has no graph"));
  EXPECT_THAT(refusal(""), HasSubstr("has no graph"));
}

TEST(Load, NamesTheCycle) {
  EXPECT_THAT(
      graph_error(input("x") + node("Add", {"x", "c"}, {"a"}) + node("Neg", {"a"}, {"b"}) + node("Abs", {"b"}, {"c"})),
      AllOf(HasSubstr("cycle"), HasSubstr("Neg 'node_b'")));
  EXPECT_THAT(graph_error(node("Neg", {"a"}, {"a"})), HasSubstr("cycle through Neg 'node_a'"));
}

TEST(Load, CycleThroughASubgraph) {
  const std::string body = node("Neg", {"y"}, {"inner"}) + output("inner");
  const std::string branch = bytes(5, bytes(1, "then_branch") + bytes(6, body) + number(20, 5));
  EXPECT_THAT(graph_error(input("c") + node("If", {"c"}, {"y"}, branch)), HasSubstr("cycle through If 'node_y'"));
}

TEST(Load, SortsWhatIsOutOfOrder) {
  const auto m = parse_text(
      model(node("Abs", {"b"}, {"c"}) + node("Neg", {"a"}, {"b"}) + node("Relu", {"x"}, {"a"}) + input("x")));
  std::vector<std::string> ops;
  for (const Node* n : m->graph->nodes()) ops.push_back(n->op_type());
  EXPECT_THAT(ops, ElementsAre("Relu", "Neg", "Abs"));
}

TEST(Load, MessagesNameTheSubgraph) {
  const std::string body = node("Neg", {"none"}, {"inner"}) + output("inner");
  const std::string branch = bytes(5, bytes(1, "then_branch") + bytes(6, body) + number(20, 5));
  EXPECT_THAT(graph_error(input("c") + node("If", {"c"}, {"y"}, branch)),
              AllOf(HasSubstr("Neg 'node_inner'"), HasSubstr("subgraph of If 'node_y'"), HasSubstr("reads 'none'")));
}

TEST(Load, SubgraphsMayHideOuterNames) {
  const std::string body = node("Neg", {"x"}, {"h"}) + node("Abs", {"h"}, {"inner"}) + output("inner");
  const std::string branch = bytes(5, bytes(1, "then_branch") + bytes(6, body) + number(20, 5));
  const auto m =
      parse_text(model(input("c") + input("x") + node("Relu", {"x"}, {"h"}) + node("If", {"c"}, {"y"}, branch)));
  const Graph* inner = m->graph->nodes().back()->subgraphs()[0];
  EXPECT_EQ(inner->nodes().back()->input(0)->producer()->op_type(), "Neg");
}

TEST(Load, NestingIsBounded) {
  const auto nested = [](int depth) {
    std::string graph = node("Neg", {"x"}, {"y0"});
    for (int i = 1; i < depth; ++i) {
      const std::string branch = bytes(5, bytes(1, "body") + bytes(6, graph) + number(20, 5));
      graph = node("Loop", {"x"}, {"y" + std::to_string(i)}, branch);
    }
    return model(graph + input("x"));
  };
  EXPECT_EQ(refusal(nested(100)), "no error");
  EXPECT_THAT(refusal(nested(101)), HasSubstr("graphs nest too deeply"));
  EXPECT_THAT(refusal(nested(5000)), HasSubstr("graphs nest too deeply"));

  const auto types = [](int depth) {
    std::string type = bytes(1, number(1, 1));
    for (int i = 1; i < depth; ++i) type = bytes(4, bytes(1, type));
    return model(bytes(11, bytes(1, "x") + bytes(2, type)));
  };
  EXPECT_EQ(refusal(types(100)), "no error");
  EXPECT_THAT(refusal(types(101)), HasSubstr("types nest too deeply"));
  EXPECT_THAT(refusal(types(20'000)), HasSubstr("types nest too deeply"));

  const auto groups = [](int depth) {
    std::string group;
    for (int i = 0; i < depth; ++i) group += varint(wire::tag(900, wire::kGroupStart));
    for (int i = 0; i < depth; ++i) group += varint(wire::tag(900, wire::kGroupEnd));
    return model(input("x")) + group;
  };
  EXPECT_EQ(refusal(groups(100)), "no error");
  EXPECT_THAT(refusal(groups(101)), HasSubstr("groups nest too deeply"));
}

TEST(Load, RefusesMalformedBytes) {
  const std::string good = model(input("x"));
  EXPECT_THAT(refusal(good + varint(wire::tag(900, wire::kGroupEnd))), HasSubstr("wire type 4"));
  EXPECT_THAT(refusal(good + varint(wire::tag(900, wire::kGroupStart))), HasSubstr("group without end"));
  EXPECT_THAT(refusal(good + varint(wire::tag(900, wire::kGroupStart)) + varint(wire::tag(901, wire::kGroupEnd))),
              HasSubstr("did not begin"));
  EXPECT_THAT(refusal(good + varint(7)), HasSubstr("field number"));
  EXPECT_THAT(refusal(good + varint(uint64_t{1} << 40)), HasSubstr("field number"));
  EXPECT_THAT(refusal(good + std::string(11, '\xff')), HasSubstr("64 bits"));
  EXPECT_THAT(refusal(good + varint(wire::bytes_tag(900)) + varint(uint64_t{1} << 62)), HasSubstr("says it has"));
  EXPECT_THAT(refusal(good + varint(wire::bytes_tag(900)) + varint(UINT64_MAX)), HasSubstr("says it has"));
  EXPECT_THAT(refusal(good + varint(wire::fixed32_tag(900)) + "abc"), HasSubstr("truncated"));
  EXPECT_THAT(refusal("PK\x03\x04 a zip file"), HasSubstr("byte"));
}

std::string model_of_tensor(const std::string& fields) { return model(bytes(5, bytes(8, "w") + fields)); }

TEST(Load, RefusesTensorsThatContradictThemselves) {
  const std::string is_float = number(2, 1);
  EXPECT_THAT(refusal(model_of_tensor(is_float + number(1, 3) + bytes(9, std::string(11, 'x')))),
              AllOf(HasSubstr("tensor 'w'"), HasSubstr("has 11 bytes of data; expected 12")));
  EXPECT_THAT(refusal(model_of_tensor(is_float + number(1, static_cast<uint64_t>(-3)) + bytes(9, ""))),
              HasSubstr("negative dim -3"));
  EXPECT_THAT(refusal(model_of_tensor(is_float + number(1, 1ULL << 62) + number(1, 4) + bytes(9, ""))),
              HasSubstr("overflow"));
  EXPECT_THAT(refusal(model_of_tensor(is_float + number(1, 1ULL << 62) + bytes(9, ""))), HasSubstr("overflow"));
  EXPECT_EQ(refusal(model_of_tensor(is_float + number(1, 1ULL << 62) + number(1, 0) + bytes(9, ""))), "no error");
}

TEST(Load, TypedDataIsCheckedWhenItIsRead) {
  const auto read = [](const std::string& fields) {
    const auto m = parse_text(model_of_tensor(fields));
    try {
      return m->graph->find("w")->initializer()->to_double();
    } catch (const Error&) {
      return std::vector<double>{-99};
    }
  };
  const std::string is_int32 = number(2, 6) + number(1, 3);
  EXPECT_THAT(read(is_int32 + bytes(5, varint(1) + varint(2) + varint(static_cast<uint64_t>(-3)))),
              ElementsAre(1, 2, -3));
  EXPECT_THAT(read(is_int32 + number(5, 1) + bytes(5, varint(2)) + number(5, 3)), ElementsAre(1, 2, 3));
  EXPECT_THAT(read(number(5, 1) + is_int32 + bytes(5, varint(2) + varint(3))),
              ElementsAre(1, 2, 3));  // apart from each other
  EXPECT_THAT(read(is_int32 + bytes(5, varint(1) + varint(2))), ElementsAre(-99));
  EXPECT_THAT(read(is_int32 + bytes(5, "\xff")), ElementsAre(-99));
  EXPECT_THAT(read(number(2, 1) + number(1, 1) + bytes(4, "abc")), ElementsAre(-99));
  EXPECT_THAT(read(number(2, 22) + number(1, 3) + bytes(5, varint(0x21) + varint(0x0f))), ElementsAre(1, 2, -1));
  EXPECT_THAT(read(number(2, 10) + number(1, 1) + bytes(5, varint(0x3e00))), ElementsAre(1.5));
  EXPECT_THAT(read(number(2, 27) + number(1, 4) + bytes(5, varint(1) + varint(2) + varint(3) + varint(33))),
              ElementsAre(0.125, 0.25, 0.375, -0.125));
  EXPECT_THAT(read(number(2, 12) + number(1, 1) + bytes(11, varint(4'000'000'000))), ElementsAre(4e9));
}

// A model with much of the format in it, for the tests that break it.
std::string specimen() {
  ModelBuilder m;
  Value* cond = m.add_input("cond", DataType::kBool, {});
  Value* x = m.add_input("x", DataType::kFloat, {"n", 3, kUnknownDim});
  Value* w = m.add_floats("w", {3, 1}, std::vector<float>{1, 2, 3});
  Value* y = m.add_node("Mul", {x, w}, {{"alpha", 1.5F}, {"perm", std::vector<int64_t>{1, 0}}, {"s", "text"}});
  m.graph().set_value_info(y, sequence_type(tensor_type(DataType::kFloat, {"n"})));
  const auto branch = m.make_subgraph("t", [&](GraphBuilder& body) { body.add_output(body.add_node("Add", {y, w})); });
  Value* k = m.add_node("Constant", {},
                        {{"value", std::make_shared<Tensor>(Tensor::from_int64("", {1}, std::vector<int64_t>{7}))}});
  m.add_output(m.add_node("If", {cond, k}, {{"then_branch", branch}}), tensor_type(DataType::kFloat, {"n"}));
  m.model().metadata_props.emplace_back("key", "value");
  return serialize(m.model());
}

TEST(Load, TruncatedAnywhereIsAnErrorOrAModel) {
  const std::string whole = specimen();
  ASSERT_EQ(refusal(whole), "no error");
  int errors = 0;
  for (size_t size = 0; size < whole.size(); ++size) errors += refusal(whole.substr(0, size)) != "no error";
  // Only a cut between two fields after the graph leaves a model.
  EXPECT_GE(errors, static_cast<int>(whole.size()) - 4);
}

TEST(Load, FlippedBitsAreAnErrorOrAModel) {
  const std::string whole = specimen();
  int errors = 0, models = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = whole;
      flipped[at] = static_cast<char>(flipped[at] ^ 1 << bit);
      std::unique_ptr<Model> m;
      try {
        m = parse_text(flipped);
      } catch (const Error&) {
        ++errors;
        continue;
      }
      ++models;
      ASSERT_EQ(inconsistency(*m->graph), "");
      // What was read can be written, and read again.
      const std::string written = serialize(*m);
      ASSERT_EQ(serialize(*parse_text(written)), written) << "byte " << at << ", bit " << bit;
    }
  }
  EXPECT_GT(errors, 500);
  EXPECT_GT(models, 500);
}

TEST(Load, RandomBytesAreAnError) {
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string text(random() % 64, '\0');
    for (char& c : text) c = static_cast<char>(random());
    EXPECT_NE(refusal(text), "no error");
  }
}

// The model of one node with one attribute of these fields.
std::string with_attribute(const std::string& fields) {
  return model(input("x") + node("Custom", {"x"}, {"y"}, bytes(5, bytes(1, "a") + fields)));
}
// What is written must read as the same model again: byte for byte when it is written once more.
std::unique_ptr<Model> written_again(const std::string& text) {
  const std::string written = serialize(*parse_text(text));
  auto again = parse_text(written);
  EXPECT_EQ(serialize(*again), written);
  return again;
}
const Attribute& attribute_of(const Model& m) { return m.graph->nodes().back()->attributes()[0]; }

TEST(Load, AttributesOfTwoValuesNeedAType) {
  const std::string an_integer = number(3, 7), a_string = bytes(4, "text"), no_tensor = bytes(5, "\xff");
  // The type says which value counts, wherever they stand; the other is kept, and not looked into.
  for (const std::string& fields : {a_string + an_integer, an_integer + a_string, no_tensor + an_integer}) {
    const auto m = written_again(with_attribute(fields + number(20, 2)));
    ASSERT_NE(attribute_of(*m).as<int64_t>(), nullptr);
    EXPECT_EQ(*attribute_of(*m).as<int64_t>(), 7);
    EXPECT_GT(attribute_of(*m).extra.size(), 2u);
  }
  const auto refused =
      AllOf(HasSubstr("Custom 'node_y'"), HasSubstr("has an integer and a string in the attribute 'a'"));
  EXPECT_THAT(refusal(with_attribute(an_integer + a_string)), refused);
  EXPECT_THAT(refusal(with_attribute(an_integer + a_string + an_integer)), refused);
  EXPECT_THAT(refusal(with_attribute(an_integer + a_string + number(20, 0))), refused);
  EXPECT_THAT(refusal(with_attribute(no_tensor + an_integer)), HasSubstr("has a tensor and an integer"));
  // A reference takes its value from elsewhere, and its type with it.
  const auto m = written_again(with_attribute(an_integer + a_string + bytes(21, "other") + number(20, 0)));
  EXPECT_EQ(attribute_of(*m).ref_attr_name, "other");
  EXPECT_EQ(attribute_of(*m).extra, varint(20 << 3 | 0) + varint(0) + an_integer + a_string);
}

TEST(Load, AttributesWithoutTypeKeepTheOneThatTheirValueTells) {
  const auto integer = written_again(with_attribute(number(3, 7)));
  ASSERT_NE(attribute_of(*integer).as<int64_t>(), nullptr);
  EXPECT_EQ(*attribute_of(*integer).as<int64_t>(), 7);
  // Of a list without items only the field's number tells.
  for (const std::string& rest : {std::string(), number(20, 0)}) {
    const auto floats = written_again(with_attribute(bytes(7, "") + rest));
    ASSERT_NE(attribute_of(*floats).as<std::vector<float>>(), nullptr);
    EXPECT_TRUE(attribute_of(*floats).as<std::vector<float>>()->empty());
    const auto ints = written_again(with_attribute(bytes(8, "") + number(8, 5) + rest));
    ASSERT_NE(attribute_of(*ints).as<std::vector<int64_t>>(), nullptr);
    EXPECT_THAT(*attribute_of(*ints).as<std::vector<int64_t>>(), ElementsAre(5));
  }
}

TEST(Load, FieldsOfAnotherWireTypeAreUnknownOnes) {
  // The number of the string with a varint, of the type with bytes, of the integers with four bytes.
  const std::string odd = number(4, 9) + bytes(20, "x") + varint(wire::fixed32_tag(8)) + "1234";
  const auto m = written_again(with_attribute(odd + number(3, 7)));
  ASSERT_NE(attribute_of(*m).as<int64_t>(), nullptr);
  EXPECT_EQ(*attribute_of(*m).as<int64_t>(), 7);
  EXPECT_EQ(attribute_of(*m).extra, odd);
  // The last of two values of one type stands, as it does for the name.
  const auto twice = written_again(with_attribute(number(3, 7) + number(3, 11) + bytes(1, "") + bytes(1, "b")));
  EXPECT_EQ(*attribute_of(*twice).as<int64_t>(), 11);
  EXPECT_EQ(attribute_of(*twice).name, "b");
}

TEST(Load, AttributesOfOneNameAreFoundAmongMany) {
  const auto with = [](int count, const std::string& last) {
    std::string attributes;
    for (int i = 0; i < count; ++i) attributes += bytes(5, bytes(1, fmt::format("a{}", i)) + number(3, 1));
    return model(input("x") + node("Custom", {"x"}, {"y"}, attributes + bytes(5, bytes(1, last) + number(3, 1))));
  };
  for (const int count : {1, 15, 16, 17, 100'000}) {
    EXPECT_EQ(refusal(with(count, "b")), "no error") << count;
    EXPECT_THAT(refusal(with(count, "a0")), HasSubstr("has the attribute 'a0' twice")) << count;
  }
}

TEST(Load, MessagesInManyPartsCostTheirBytes) {
  // A sparse tensor whose values, and a type whose element, stand in many parts between other fields.
  constexpr int kParts = 60'000;
  std::string sparse = bytes(1, bytes(8, "s") + number(2, 1)), type;
  for (int i = 0; i < kParts; ++i) {
    sparse += bytes(1, number(1, 1)) + bytes(2, number(1, 1)) + number(900, 1);
    type += bytes(1, number(1, 1)) + number(900, 1);
  }
  const auto m = parse_text(model(bytes(15, sparse) + bytes(11, bytes(1, "x") + bytes(2, type))));
  EXPECT_EQ(m->graph->find("s")->sparse_initializer()->values.dims.size(), static_cast<size_t>(kParts));
  EXPECT_EQ(m->graph->find("x")->type.elem_type, DataType::kFloat);
  // The numbers of a tensor, one by one between other fields.
  std::string apart = number(2, 7) + number(1, kParts);
  for (int i = 0; i < kParts; ++i) apart += number(7, 3) + number(900, 1);
  EXPECT_EQ(parse_text(model_of_tensor(apart))->graph->find("w")->initializer()->to_int64().size(),
            static_cast<size_t>(kParts));
}

TEST(Load, AnnotationsFollowRenames) {
  const std::string parameter = bytes(2, bytes(1, "SCALE_TENSOR") + bytes(2, "scale"));
  const auto m = parse_text(model(input("x") + input("scale") + bytes(14, bytes(1, "x") + parameter)));
  ASSERT_EQ(m->graph->quantization_annotations().size(), 1u);
  m->graph->rename(m->graph->find("x"), "image");
  m->graph->rename(m->graph->find("scale"), "step");
  const TensorAnnotation& annotation = m->graph->quantization_annotations()[0];
  EXPECT_EQ(annotation.tensor_name, "image");
  EXPECT_THAT(annotation.parameters, ElementsAre(testing::Pair("SCALE_TENSOR", "step")));
  EXPECT_THAT(serialize(*m), AllOf(HasSubstr("image"), HasSubstr("step"), testing::Not(HasSubstr("scale"))));
}

TEST(Load, OfAFileNamesIt) {
  TempFolder folder;
  const auto path = folder.write("bad.onnx", "\x01\x02 no model");
  try {
    load(path);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("bad.onnx"), HasSubstr("byte")));
  }
  EXPECT_THROW(load(folder.write("empty.onnx", "")), Error);
  EXPECT_THROW(load(folder / "none.onnx"), Error);
  EXPECT_THROW(load(folder.path()), Error);
}

}  // namespace
}  // namespace thaw::ir
