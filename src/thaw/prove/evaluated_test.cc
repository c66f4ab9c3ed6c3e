// What is computed of constants against ONNX Runtime, over random small tensors.
#include "thaw/prove/evaluated.h"

#include <array>
#include <random>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <onnx/defs/parser.h>

#include "thaw/ir/wire/wire.h"
#include "thaw/prove/aligned.h"
#include "thaw/prove/model_facts.h"
#include "thaw/prove/prove.h"
#include "thaw/run/session.h"

namespace thaw::proving {
namespace {

enum class Draw : uint8_t { kReals, kAbove, kSmallReals, kWhole, kFew, kTruths, kZero };  // kAbove: above 0

// A constant of a node: given, or drawn anew each time.
struct Drawn {
  std::string type;
  std::vector<int64_t> dims;
  Draw draw = Draw::kWhole;
  std::vector<int64_t> given = {};
};

Drawn reals(std::vector<int64_t> dims, Draw draw = Draw::kReals) { return {"float", std::move(dims), draw}; }
Drawn wholes(std::vector<int64_t> dims, Draw draw = Draw::kWhole) { return {"int64", std::move(dims), draw}; }
Drawn truths(std::vector<int64_t> dims) { return {"bool", std::move(dims), Draw::kTruths}; }
Drawn list(std::vector<int64_t> values) {
  const std::vector<int64_t> dims{std::ssize(values)};
  return {"int64", dims, Draw::kWhole, std::move(values)};
}
Drawn scalar(int64_t value, std::string type = "int64") { return {std::move(type), {}, Draw::kWhole, {value}}; }

std::unique_ptr<ir::Model> parsed(const std::string& text) {
  onnx::ModelProto proto;
  const auto status = onnx::OnnxParser::Parse(proto, text.c_str());
  if (!status.IsOK()) throw std::invalid_argument(status.ErrorMessage() + text);
  auto bytes = std::make_shared<const std::string>(proto.SerializeAsString());
  return ir::parse(std::as_bytes(std::span(bytes->data(), bytes->size())), bytes);
}

// A model of one node, `call` of constants a, b, c, …
std::string model_of(const std::string& call, const std::vector<Drawn>& operands, std::mt19937& random, int opset,
                     size_t results) {
  std::vector<std::string> constants, outputs;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Drawn& one = operands[i];
    std::vector<std::string> values;
    for (int64_t k = 0, count = product_of(one.dims); k < count; ++k) {
      const auto whole = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
      if (!one.given.empty()) {
        values.push_back(std::to_string(one.given[static_cast<size_t>(k)]));
      } else if (one.draw == Draw::kTruths) {
        values.push_back(std::to_string(whole(0, 1)));
      } else if (one.draw == Draw::kWhole || one.draw == Draw::kFew) {
        values.push_back(std::to_string(one.draw == Draw::kFew ? whole(0, 2) : whole(-9, 9)));
      } else {
        const double scale = one.draw == Draw::kSmallReals ? 0.3 : 1;
        double value =
            whole(0, 2) == 0 ? whole(-6, 6) / 2.0 : std::uniform_real_distribution<double>(-3, 3)(random) * scale;
        if (one.draw == Draw::kAbove) value = std::fabs(value) + 0.1;
        values.push_back(fmt::format("{}", static_cast<float>(value)));
      }
    }
    constants.push_back(fmt::format("{}[{}] {} = {{{}}}", one.type, fmt::join(one.dims, ","),
                                    static_cast<char>('a' + i), fmt::join(values, ", ")));
    if (one.dims.empty())
      constants.back() = fmt::format("{} {} = {{{}}}", one.type, static_cast<char>('a' + i), fmt::join(values, ", "));
  }
  for (size_t i = 0; i < results; ++i) outputs.push_back(fmt::format("y{}", i));
  return fmt::format(R"(<ir_version: 9, opset_import: ["" : {}]> g () => ({}) <{}> {{ {} = {} }})", opset,
                     fmt::join(outputs, ", "), fmt::join(constants, ", "), fmt::join(outputs, ", "), call);
}

struct Known {
  size_t all = 0, known = 0;
};

// Each element that is known is what ONNX Runtime computes, within the error.
void expect_as_run(const std::string& text, Known& count) {
  SCOPED_TRACE(text);
  const auto model = parsed(text);
  dim::Scope scope;
  const ModelFacts facts(*model, scope);
  const ir::Node& node = *model->graph->outputs()[0]->producer();
  std::vector<std::optional<KnownTensor>> operands;
  NodeOfConstants of{.node = node, .opset = model->opset("").value(), .operands = {}, .result_dims = {}};
  for (const ir::Value* value : node.inputs())
    operands.push_back(value ? known_tensor(*value->fixed_constant()) : std::nullopt);
  for (const auto& one : operands) of.operands.push_back(one ? &*one : nullptr);
  for (const ir::Value* output : node.outputs()) of.result_dims.push_back(constant_dims(facts.fact(output).shape));
  const std::vector<KnownTensor> made = evaluated(of);
  ASSERT_EQ(made.size(), node.outputs().size());
  run::SessionOptions plain;
  plain.optimization = run::Optimization::kNone;
  const Arrays wanted = run::Session(*model, plain).run({});
  for (size_t i = 0; i < made.size(); ++i) {
    const Array& array = wanted.at(model->graph->outputs()[i]->name());
    ASSERT_EQ(made[i].dims, array.dims);
    ASSERT_EQ(made[i].type, array.dtype);
    const std::vector<double> values = to_doubles(array);
    ASSERT_EQ(made[i].elements.size(), values.size());
    for (size_t k = 0; k < values.size(); ++k) {
      const KnownNumber& one = made[i].elements[k];
      ++count.all;
      if (one.is_open()) continue;
      ++count.known;
      if (!is_real(made[i].type)) {
        ASSERT_EQ(static_cast<double>(one.whole), values[k]) << "element " << k;
      } else if (one.real != values[k]) {
        ASSERT_LE(std::fabs(one.real - values[k]), one.error)
            << "element " << k << ": " << one.real << ", not " << values[k];
      }
    }
  }
}

// Drawn several times; so much of all must be known.
void expect_evaluated(const std::string& call, const std::vector<Drawn>& operands, double least = 1, int opset = 18,
                      size_t results = 1) {
  std::mt19937 random(11);
  Known count;
  for (int i = 0; i < 12; ++i) {
    expect_as_run(model_of(call, operands, random, opset, results), count);
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GE(static_cast<double>(count.known), least * static_cast<double>(count.all)) << call;
}

TEST(EvaluatedConstants, ElementByElement) {
  for (const std::string op : {"Add", "Sub", "Mul"}) {
    expect_evaluated(op + "(a, b)", {reals({2, 1, 3}), reals({4, 1})});
    expect_evaluated(op + "(a, b)", {wholes({2, 3}), wholes({})});
    expect_evaluated(op + "(a, b)", {{"int32", {5}}, {"int32", {2, 5}}});
  }
  expect_evaluated("Sub(a, b)", {{"uint8", {5}, Draw::kFew}, {"uint8", {5}, Draw::kFew}}, 0.3, 14);
  expect_evaluated("Div(a, b)", {reals({2, 3}), reals({3}, Draw::kAbove)});
  expect_evaluated("Div(a, b)", {wholes({4, 5}), scalar(3)});
  expect_evaluated("Div(a, b)", {wholes({4, 5}), scalar(-4)});
  for (const int64_t by : {1, 3, -4}) expect_evaluated("Mod(a, b)", {wholes({20}), scalar(by)});
  for (const int64_t by : {3, -4}) {
    expect_evaluated("Mod<fmod = 1>(a, b)", {wholes({20}), scalar(by)});
    expect_evaluated("Mod<fmod = 1>(a, b)", {reals({20}), {"float", {}, Draw::kWhole, {by}}});
  }
  for (const std::string op : {"Max", "Min"}) {
    expect_evaluated(op + "(a, b, c)", {reals({2, 1, 3}), reals({4, 1}), reals({})});
    expect_evaluated(op + "(a, b)", {wholes({2, 3}), wholes({3})});
  }
  for (const std::string op : {"Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"}) {
    expect_evaluated(op + "(a, b)", {reals({7, 3}), reals({3})});
    expect_evaluated(op + "(a, b)", {wholes({7, 3}), wholes({7, 1})});
  }
  for (const std::string op : {"And", "Or", "Xor"}) expect_evaluated(op + "(a, b)", {truths({7, 3}), truths({3})});
  for (const std::string op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"})
    expect_evaluated(op + "(a, b)", {wholes({7, 3}), wholes({3})});
  for (const std::string op : {"Neg", "Abs", "Sign", "Relu"}) {
    expect_evaluated(op + "(a)", {reals({15})});
    expect_evaluated(op + "(a)", {{"int32", {15}}});
  }
  for (const std::string op :
       {"Floor", "Ceil", "Round", "Exp", "Sin", "Cos", "Tanh", "Erf", "Sigmoid", "Softplus", "Identity", "Abs"})
    expect_evaluated(op + "(a)", {reals({40})});
  for (const std::string op : {"Sqrt", "Log", "Reciprocal"}) expect_evaluated(op + "(a)", {reals({40}, Draw::kAbove)});
  expect_evaluated("Not(a)", {truths({9})});
  for (const int64_t by : {0, 1, 2, 3, 5, -1, -2}) {
    expect_evaluated("Pow(a, b)", {reals({20}, Draw::kAbove), scalar(by)});
    expect_evaluated("Pow(a, b)", {reals({20}, Draw::kAbove), {"float", {}, Draw::kWhole, {by}}});
  }
  expect_evaluated("Pow(a, b)", {wholes({20}), scalar(3)});
  expect_evaluated("Pow(a, b)", {reals({20}, Draw::kAbove), reals({20})});
  expect_evaluated("Where(a, b, c)", {truths({2, 1, 3}), reals({4, 1}), reals({})});
  expect_evaluated("Where(a, b, c)", {truths({2, 1, 3}), wholes({4, 1}), wholes({3})});
  expect_evaluated("Clip(a, b, c)", {reals({20}), scalar(-1, "float"), scalar(2, "float")});
  expect_evaluated("Clip(a, , b)", {wholes({20}), scalar(2)});
}

TEST(EvaluatedConstants, Casts) {
  const std::vector<std::pair<int, std::string>> types = {{1, "float"}, {10, "float16"}, {11, "double"}, {7, "int64"},
                                                          {6, "int32"}, {9, "bool"},     {2, "uint8"}};
  for (const auto& [to, name] : types) {
    const std::string call = fmt::format("Cast<to = {}>(a)", to);
    expect_evaluated(call, {wholes({20}, name == "uint8" ? Draw::kFew : Draw::kWhole)});
    expect_evaluated(call, {truths({9})});
    expect_evaluated(call, {reals({20}, name == "uint8" ? Draw::kAbove : Draw::kReals)});
  }
}

TEST(EvaluatedConstants, Moves) {
  expect_evaluated("Reshape(a, b)", {reals({2, 6}), list({3, -1})});
  expect_evaluated("Flatten<axis = 2>(a)", {wholes({2, 3, 4})});
  expect_evaluated("Squeeze(a, b)", {wholes({2, 1, 4}), list({1})});
  expect_evaluated("Unsqueeze(a, b)", {truths({2, 4}), list({0, 2})});
  for (const std::string order : {"0, 1, 2", "2, 0, 1", "1, 0, 2", "2, 1, 0"})
    expect_evaluated(fmt::format("Transpose<perm = [{}]>(a)", order), {reals({2, 3, 4})});
  expect_evaluated("Transpose(a)", {wholes({2, 3, 4})});
  expect_evaluated("Expand(a, b)", {reals({3, 1}), list({2, 1, 4})});
  expect_evaluated("Tile(a, b)", {wholes({2, 3}), list({2, 3})});
  expect_evaluated("Concat<axis = 1>(a, b)", {reals({2, 3, 2}), reals({2, 1, 2})});
  expect_evaluated("Concat<axis = -1>(a, b, a)", {wholes({2, 3}), wholes({2, 1})});
  const std::vector<std::array<int64_t, 3>> cuts = {{0, 9, 1},   {1, 4, 2}, {-3, -1, 1}, {4, 0, -1}, {-1, -9, -2},
                                                    {4, -9, -3}, {2, 2, 1}, {9, 0, -2},  {-9, 3, 1}};
  for (const auto& [begin, end, step] : cuts)
    expect_evaluated("Slice(a, b, c, d, e)", {reals({2, 5}), list({begin}), list({end}), list({-1}), list({step})});
  expect_evaluated("Slice(a, b, c, d, e)", {wholes({4, 5}), list({3, 1}), list({0, 4}), list({0, 1}), list({-2, 1})});
  expect_evaluated("Split<axis = 1>(a, b)", {reals({2, 5}), list({2, 3})}, 1, 18, 2);
  for (const int64_t axis : {0, 1, -1}) {
    expect_evaluated(fmt::format("Gather<axis = {}>(a, b)", axis), {reals({3, 4, 3}), list({0, -1, 2, 0})});
    expect_evaluated(fmt::format("Gather<axis = {}>(a, b)", axis), {wholes({3, 4, 3}), scalar(-2)});
    expect_evaluated(fmt::format("GatherElements<axis = {}>(a, b)", axis), {reals({3, 3}), wholes({2, 3}, Draw::kFew)});
  }
  expect_evaluated("GatherND(a, b)", {reals({3, 3, 2}), wholes({4, 2}, Draw::kFew)});
  expect_evaluated("GatherND(a, b)", {wholes({3, 3, 2}), wholes({2, 2, 1}, Draw::kFew)});
  expect_evaluated("ScatterND(a, b, c)", {reals({3, 2}), {"int64", {2, 1}, Draw::kWhole, {2, 0}}, reals({2, 2})});
  expect_evaluated("ScatterND(a, b, c)", {wholes({3, 2}), {"int64", {2, 2}, Draw::kWhole, {2, 0, 1, -1}}, wholes({2})});
  expect_evaluated("ScatterElements<axis = 1>(a, b, c)",
                   {reals({2, 3}), {"int64", {2, 2}, Draw::kWhole, {2, 0, 1, -1}}, reals({2, 2})});
  for (const int64_t k : {-2, -1, 0, 1, 3})
    for (const int upper : {0, 1})
      expect_evaluated(fmt::format("Trilu<upper = {}>(a, b)", upper), {reals({2, 3, 4}), scalar(k)});
  expect_evaluated("Pad(a, b, c)", {reals({2, 3}), list({1, 0, 0, 2}), reals({})});
  expect_evaluated("Pad(a, b, c, d)", {wholes({2, 3}), list({1, 2}), wholes({}), list({-1})});
  for (const std::string mode : {"reflect", "edge"})
    expect_evaluated(fmt::format("Pad<mode = \"{}\">(a, b)", mode), {reals({3, 4}), list({1, 2, 2, 3})});
  expect_evaluated("ConstantOfShape(a)", {list({2, 3})});
  expect_evaluated("ConstantOfShape<value = int64[1] {7}>(a)", {list({2, 3})});
  for (const std::array<int64_t, 3>& said :
       std::vector<std::array<int64_t, 3>>{{0, 7, 1}, {2, 9, 3}, {9, 0, -2}, {3, 3, 1}, {5, 2, 1}}) {
    expect_evaluated("Range(a, b, c)", {scalar(said[0]), scalar(said[1]), scalar(said[2])});
    expect_evaluated("Range(a, b, c)", {scalar(said[0], "float"), scalar(said[1], "float"), scalar(said[2], "float")});
  }
  expect_evaluated("NonZero(a)", {truths({3, 4})});
  expect_evaluated("NonZero(a)", {wholes({3, 4}, Draw::kFew)});
}

TEST(EvaluatedConstants, AlongAxes) {
  for (const std::string op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"})
    for (const int keeps : {0, 1}) {
      expect_evaluated(fmt::format("{}<keepdims = {}>(a, b)", op, keeps), {reals({2, 3, 4}), list({1})});
      expect_evaluated(fmt::format("{}<keepdims = {}>(a, b)", op, keeps), {reals({2, 3, 4}), list({-1, 0})});
      expect_evaluated(fmt::format("{}<keepdims = {}>(a)", op, keeps), {reals({2, 3, 2}, Draw::kSmallReals)});
      if (op != "ReduceMean")
        expect_evaluated(fmt::format("{}<keepdims = {}>(a, b)", op, keeps), {{"int32", {2, 3, 4}}, list({1})});
    }
  expect_evaluated("ReduceMax<axes = [1]>(a)", {reals({2, 3, 4})}, 1, 13);
  for (const int reverse : {0, 1})
    for (const int exclusive : {0, 1}) {
      const std::string call = fmt::format("CumSum<reverse = {}, exclusive = {}>(a, b)", reverse, exclusive);
      expect_evaluated(call, {reals({2, 5, 3}), scalar(1)});
      expect_evaluated(call, {wholes({2, 5, 3}), scalar(-1)});
    }
  expect_evaluated("MatMul(a, b)", {reals({3, 4}), reals({4, 5})});
  expect_evaluated("MatMul(a, b)", {reals({2, 1, 3, 4}), reals({3, 4, 2})});
  expect_evaluated("MatMul(a, b)", {reals({3, 1}), reals({1, 5})});
  for (const int axis : {0, 1, -1}) expect_evaluated(fmt::format("Softmax<axis = {}>(a)", axis), {reals({3, 4, 5})});
  expect_evaluated("LayerNormalization(a, b, c)", {reals({3, 8}), reals({8}), reals({8})});
  expect_evaluated("LayerNormalization<axis = 1>(a, b)", {reals({3, 2, 4}), reals({2, 4})});
  expect_evaluated("Einsum<equation = \"i,j->ij\">(a, b)", {reals({3}), reals({4})});
  expect_evaluated("Einsum<equation = \"bnij,bjnd->bind\">(a, b)", {reals({2, 3, 2, 4}), reals({2, 4, 3, 2})});
  expect_evaluated("Einsum<equation = \"ij->j\">(a)", {reals({3, 4})});
  expect_evaluated("IsNaN(a)", {reals({3, 4})});
}

TEST(EvaluatedConstants, Resize) {
  for (const std::string mode : {"half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"})
    for (const std::string how : {"linear", "cubic", "nearest"})
      for (const std::vector<int64_t>& to :
           std::vector<std::vector<int64_t>>{{1, 2, 5, 7}, {1, 2, 8, 6}, {1, 2, 3, 2}, {1, 2, 4, 3}, {1, 2, 1, 1}}) {
        const std::string call = fmt::format(
            "Resize<mode = \"{}\", coordinate_transformation_mode = \"{}\", nearest_mode = \"floor\">(a, , , b)", how,
            mode);
        std::mt19937 random(3);
        Known count;
        const std::string text = model_of(call, {reals({1, 2, 4, 3}), list(to)}, random, 18, 1);
        if (how == "nearest" && mode != "asymmetric") continue;
        expect_as_run(text, count);
        ASSERT_EQ(count.known, count.all) << text;
      }
}

// x and a constant that is computed, and x and the constant that ONNX Runtime computes of it.
struct Pair {
  std::unique_ptr<ir::Model> computed, held;
};

std::string text(const std::string& inputs, const std::string& outputs, const std::string& constants,
                 const std::string& nodes) {
  return fmt::format(R"(<ir_version: 9, opset_import: ["" : 18]> g ({}) => ({}) <{}> {{ {} }})", inputs, outputs,
                     constants, nodes);
}

// `nodes` make c, of dims [2, 3].
Pair pair_of(const std::string& type, const std::string& nodes, double off) {
  const Array c = run::Session(*parsed(text("", "c", "", nodes)), {}).run({}).at("c");
  std::vector<double> values = to_doubles(c);
  values[4] += off;
  if (type != "float") values[4] = std::trunc(values[4]);
  const std::string constant =
      fmt::format("{}[{}] c = {{{:.9g}}}", type, fmt::join(c.dims, ","), fmt::join(values, ", "));
  const std::string input = fmt::format("{}[n, {}] x", type, fmt::join(c.dims, ", "));
  return {parsed(text(input, "y", "", nodes + " y = Mul(x, c)")), parsed(text(input, "y", constant, "y = Mul(x, c)"))};
}

bool is_proven(const Pair& pair) {
  const Comparison made = compare(*pair.computed, *pair.held);
  return made.outputs.size() == 1 && made.outputs[0].is_proven;
}

// What holds another number is not the same.
TEST(EvaluatedConstants, AreConstantsOfTheOtherModel) {
  const std::vector<std::pair<std::string, std::string>> all = {
      {"float",
       "s = Constant<value_ints = [2, 3]>() o = ConstantOfShape<value = float[1] {1}>(s) k = Constant<value_int = 1>() "
       "c = CumSum(o, k)"},
      {"float",
       "i = Constant<value_floats = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]>() f = Constant<value_float = 0.37>() m = Mul(i, f) "
       "r = Sin(m) s = Constant<value_ints = [2, 3]>() c = Reshape(r, s)"},
      {"float",
       "a = Constant<value = float[2, 1] {0.5, 2}>() b = Constant<value = float[1, 3] {1, 0.3, -2}>() m = MatMul(a, b) "
       "c = Softmax(m)"},
      {"float",
       "a = Constant<value = float[3] {0.5, 2, 7}>() b = Constant<value = float[2] {1, 0.3}>() c = Einsum<equation = "
       "\"i,j->ji\">(a, b)"},
      {"float",
       "a = Constant<value = float[2, 3] {1, 2, 3, 4, 7, 9}>() b = Constant<value = float[3] {1, 2, 3}>() c = "
       "LayerNormalization(a, b)"},
      {"int64",
       "z = Constant<value_int = 0>() n = Constant<value_int = 6>() o = Constant<value_int = 1>() i = Range(z, n, o) s "
       "= Constant<value_ints = [2, 3]>() r = Reshape(i, s) "
       "f = Cast<to = 1>(r) h = Constant<value_float = 0.4>() m = Mul(f, h) c = Cast<to = 7>(m)"},
      // 0 has no logarithm: what is chosen instead counts alone.
      {"int64",
       "i = Constant<value = float[2, 3] {0, 1, 2, 3, 4, 5}>() l = Log(i) f = Constant<value_float = 0.9>() m = Mul(l, "
       "f) k = Cast<to = 7>(m) z = Constant<value_float = 0.0>() "
       "e = Equal(i, z) o = Constant<value_int = 9>() c = Where(e, o, k)"},
  };
  for (const auto& [type, nodes] : all) {
    SCOPED_TRACE(nodes);
    EXPECT_TRUE(is_proven(pair_of(type, nodes, 0)));
    for (const double off : {1.0, -1.0}) EXPECT_FALSE(is_proven(pair_of(type, nodes, off)));
    EXPECT_EQ(is_proven(pair_of(type, nodes, 1e-3)), type != "float");  // an integer is written without it
  }
}

// Of numbers that little is left of, many others would be as near.
TEST(EvaluatedConstants, WhatIsKnownTooLittle) {
  const std::string nodes =
      "a = Constant<value = float[2, 3] {1000.1, 1000.2, 1000.3, 1000.15, 1000.25, 1000.4}>() k = Constant<value = "
      "float[3, 3] {0.3, 0.4, 0.3, 0.2, 0.3, 0.5, 0.1, 0.6, 0.3}>() m = MatMul(a, k) "
      "w = Constant<value_floats = [1.0, 1.0, 1.0]>() c = LayerNormalization(m, w)";
  for (const double off : {1e-2, 1e-3, -1e-3}) EXPECT_FALSE(is_proven(pair_of("float", nodes, off)));
}

// Where the type has fewer digits than the number, the number is as good as rounded.
TEST(EvaluatedConstants, NumbersThatAreLargerThanTheirDigits) {
  const std::string nodes =
      "a = Constant<value = float[2, 3] {1e7, 2.3e8, -7e8, 1.1e9, 3, 4}>() b = Constant<value_float = 1.7>() m = "
      "Mul(a, b) c = Round(m)";
  EXPECT_TRUE(is_proven(pair_of("float", nodes, 0)));
  EXPECT_FALSE(is_proven(pair_of("float", nodes, 1)));
  EXPECT_FALSE(is_proven(pair_of("float", nodes, -1)));
}

// What rounding decides is open: 3 times the third of 1 may be less than 1.
TEST(EvaluatedConstants, RoundingDecidesNothing) {
  const std::string nodes =
      "i = Constant<value = float[20] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}>() t = "
      "Constant<value_float = 3.0>() q = Div(i, t) m = Mul(q, t) c = Cast<to = 7>(m)";
  EXPECT_FALSE(is_proven(pair_of("int64", nodes, 0)));
  EXPECT_FALSE(is_proven(pair_of("int64", nodes, -1)));
}

// Nor do two constants that are each as good as 1 have one floor: rounding may have taken either below it.
TEST(EvaluatedConstants, RoundingDecidesNoFloor) {
  const auto model = [](const std::string& op, int divisor) {
    return parsed(text("float[n, 2] x", "y", fmt::format("float[2] a = {{1, 2}}, float[1] k = {{{}}}", divisor),
                       fmt::format("q = Div(a, k) m = Mul(q, k) {} y = Mul(x, c)",
                                   op == "Sign" ? "d = Sub(m, a) c = Sign(d)" : fmt::format("c = {}(m)", op))));
  };
  for (const std::string op : {"Floor", "Ceil", "Sign"}) {
    SCOPED_TRACE(op);
    EXPECT_FALSE(is_proven({model(op, 41), model(op, 3)}));
    EXPECT_FALSE(is_proven({model(op, 41), model(op, 41)}));
  }
}

// What ONNX Runtime computes in float64, or otherwise than the specification, is left open.
TEST(EvaluatedConstants, WhatRuntimesRoundIsOpen) {
  const std::string slice = "int64[1] b = {2}, int64[1] e = {9223372036854775807}, int64[1] a = {1}, int64[1] s = {-1}";
  const std::vector<std::array<std::string, 4>> all = {
      // type and dims of the result, constants, nodes, the numbers of the specification
      {"int64", "int64[1, 4] v = {1, 2, 3, 4}, " + slice, "c = Slice(v, b, e, a, s)", "int64[1, 0] c = {}"},
      {"int64", "int64[2] v = {9007199254740993, 2}", "c = ReduceSum(v)", "int64[1] c = {9007199254740995}"},
      {"int64", "int64[2] v = {129140163, 129140163}", "c = ReduceProd(v)", "int64[1] c = {16677181699666569}"},
      {"int64", "int64[1] v = {3}, int64[1] w = {39}", "c = Pow(v, w)", "int64[1] c = {4052555153018976267}"},
      {"int64", "int64[1] v = {9007199254740993}, int64[1] w = {1048576}", "c = Mod<fmod = 1>(v, w)",
       "int64[1] c = {1}"},
      {"float", "float v = {16777216}, float w = {16777220}, float o = {1}", "c = Range(v, w, o)",
       "float[4] c = {16777216, 16777217, 16777218, 16777219}"},
  };
  for (const auto& [type, constants, nodes, held] : all) {
    SCOPED_TRACE(nodes);
    const std::string input = type + "[n] x";
    EXPECT_FALSE(is_proven({parsed(text(input, "y", constants, nodes + " y = Identity(c)")),
                            parsed(text(input, "y", held, "y = Identity(c)"))}));
  }
}

}  // namespace
}  // namespace thaw::proving
