#include "thaw/model/nn/net.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>

#include "thaw/infer/stated_sizes.h"
#include "thaw/ir/data/floats.h"

namespace thaw::model {
namespace {

constexpr int64_t kIrVersion = 9;  // what runtimes of opset 20's time read
constexpr int64_t kAllOfAxis = INT64_MAX;
constexpr int64_t kFormOpset = 18;  // the oldest that is written, and what operators look like here

}  // namespace

Net::Net(const BuildOptions& options)
    : options_(options), builder_(options.opset, kIrVersion), emitter_(builder_.model(), {}) {
  emitter_.ask_as_of(kFormOpset);
}

Var Net::input(const std::string& name, ir::DataType type, const ir::Dims& dims) {
  return {this, builder_.add_input(name, type, dims), type};
}

Var Net::optional_rows(const std::string& name, ir::DataType type, const std::string& count, int64_t width) {
  Var var = input(name, type, {count, width});
  builder_.graph().replace_initializer(var.value, ir::Tensor::from_bytes(name, type, {0, width}, {}));
  return var;
}

void Net::output(Var value, const std::string& name, const ir::Dims& dims) {
  // A tensor has one name: what is an input, a weight or an output already goes through an Identity.
  const bool taken = !value.value->producer() || value.value->is_output();
  if (taken) value = node("Identity", {value}, value.type);
  builder_.add_output(value.value, ir::tensor_type(value.type, dims), name);
}

Var Net::integer(int64_t value) {
  return {this, emitter_.at_end(builder_.graph()).integer(value), ir::DataType::kInt64};
}

Var Net::integers(const std::vector<int64_t>& values) {
  return {this, emitter_.at_end(builder_.graph()).list(values), ir::DataType::kInt64};
}

Var Net::scalar(double value, ir::DataType type) {
  if (type == ir::DataType::kInt64) return integer(static_cast<int64_t>(value));
  std::vector<std::byte> bytes(static_cast<size_t>(ir::bits_of(type)) / 8);
  const auto single = static_cast<float>(value);
  if (type == ir::DataType::kInt32) {
    const auto whole = static_cast<int32_t>(value);
    std::memcpy(bytes.data(), &whole, sizeof(whole));
  } else {
    static_cast<void>(ir::from_floats({&single, 1}, type, bytes.data()));
  }
  return {this, emitter_.constant(ir::Tensor::from_bytes({}, type, {}, std::move(bytes))), type};
}

Var Net::floats(const std::vector<int64_t>& dims, const std::vector<float>& values) {
  std::string name = location_.empty() ? "table" : location_ + "/table";
  return {this, emitter_.constant(ir::Tensor::from_float(std::move(name), dims, values)), ir::DataType::kFloat};
}

Var Net::weight(const std::string& name, const Weight& weight) { return this->weight(name, weight, dtype()); }

Var Net::weight(const std::string& name, const Weight& weight, ir::DataType type) {
  Var& var = weights_[name];
  if (!var) var = {this, builder_.add_tensor(weight.tensor(name, type)), type};
  return var;
}

Var Net::node(std::string_view op, const std::vector<Var>& inputs, ir::DataType type,
              std::vector<ir::Attribute> attributes, std::string_view domain) {
  return nodes(op, inputs, {type}, std::move(attributes), domain).front();
}

const std::optional<ir::OperandTypes>& Net::operand_types(std::string_view op, std::string_view domain) {
  const auto [at, is_new] = operand_types_.try_emplace({std::string(domain), std::string(op)});
  if (is_new) at->second = ir::find_operand_types(domain, op, options_.opset);
  return at->second;
}

std::vector<Var> Net::nodes(std::string_view op, const std::vector<Var>& inputs, const std::vector<ir::DataType>& types,
                            std::vector<ir::Attribute> attributes, std::string_view domain) {
  const auto& taken = operand_types(op, domain);
  const auto is_wide = [&](std::string_view parameter, ir::DataType type) {
    return taken && type == dtype() && !parameter.empty() && !taken->takes(parameter, type);
  };
  std::vector<Var> operands = inputs;
  std::vector<ir::DataType> results = types;
  for (size_t i = 0; i < operands.size(); ++i)
    if (operands[i] && is_wide(taken ? taken->input(i) : "", operands[i].type))
      operands[i] = cast(operands[i], ir::DataType::kFloat);
  for (size_t i = 0; i < results.size(); ++i)
    if (is_wide(taken ? taken->output(i) : "", results[i])) results[i] = ir::DataType::kFloat;
  std::vector<Var> made = write(op, operands, results, std::move(attributes), domain);
  for (size_t i = 0; i < made.size(); ++i)
    if (results[i] != types[i]) made[i] = cast(made[i], types[i]);
  return made;
}

std::vector<Var> Net::write(std::string_view op, const std::vector<Var>& inputs, const std::vector<ir::DataType>& types,
                            std::vector<ir::Attribute> attributes, std::string_view domain) {
  std::vector<ir::Value*> values;
  values.reserve(inputs.size());
  for (const Var& var : inputs) values.push_back(var.value);
  rewrite::NodeSpec node{.op = op, .inputs = std::move(values), .attributes = std::move(attributes), .domain = domain};
  node.outputs.clear();
  for (const ir::DataType type : types) node.outputs.push_back(type != ir::DataType::kUndefined);
  const auto outputs = emitter_.write(builder_.graph(), nullptr, std::move(node));
  std::vector<Var> vars;
  for (size_t i = 0; i < outputs.size(); ++i) vars.push_back({this, outputs[i], types[i]});
  return vars;
}

void Net::set_location(std::string location) {
  emitter_.set_origin(location);
  location_ = std::move(location);
}

void Net::state(const std::string& sizes) { stated_.push_back(sizes); }

std::unique_ptr<ir::Model> Net::finish() {
  std::unique_ptr<ir::Model> model = builder_.build();
  for (const std::string& sizes : stated_) infer::state_sizes(*model, sizes);
  return model;
}

namespace {

void require_alike(const Var& a, const Var& b, const char* op) {
  if (a.type == b.type) return;
  throw std::logic_error(
      fmt::format("{} of {} and {} at {}", op, ir::name_of(a.type), ir::name_of(b.type), a.net->location()));
}

Var binary(const char* op, Var a, Var b) {
  require_alike(a, b, op);
  return a.net->node(op, {a, b}, a.type);
}

Var comparison(const char* op, Var a, Var b) {
  require_alike(a, b, op);
  return a.net->node(op, {a, b}, ir::DataType::kBool);
}

Var unary(const char* op, Var x) { return x.net->node(op, {x}, x.type); }

Var reduce(const char* op, Var x, const std::vector<int64_t>& axes, bool keep_dims) {
  return x.net->node(op, {x, x.net->integers(axes)}, x.type, {{"keepdims", int64_t{keep_dims}}});
}

}  // namespace

Var operator+(Var a, Var b) { return binary("Add", a, b); }
Var operator-(Var a, Var b) { return binary("Sub", a, b); }
Var operator*(Var a, Var b) { return binary("Mul", a, b); }
Var operator/(Var a, Var b) { return binary("Div", a, b); }
Var operator+(Var a, double b) { return a + a.net->scalar(b, a.type); }
Var operator-(Var a, double b) { return a - a.net->scalar(b, a.type); }
Var operator-(double a, Var b) { return b.net->scalar(a, b.type) - b; }
Var operator*(Var a, double b) { return a * a.net->scalar(b, a.type); }
Var operator/(Var a, double b) { return a / a.net->scalar(b, a.type); }
Var operator-(Var a) { return unary("Neg", a); }
Var minimum(Var a, Var b) { return binary("Min", a, b); }
Var maximum(Var a, Var b) { return binary("Max", a, b); }
Var less(Var a, Var b) { return comparison("Less", a, b); }
Var less_or_equal(Var a, Var b) { return comparison("LessOrEqual", a, b); }
Var greater_or_equal(Var a, Var b) { return comparison("GreaterOrEqual", a, b); }
Var equal(Var a, Var b) { return comparison("Equal", a, b); }
Var logical_and(Var a, Var b) { return comparison("And", a, b); }
Var logical_or(Var a, Var b) { return comparison("Or", a, b); }

Var where(Var condition, Var a, Var b) {
  require_alike(a, b, "Where");
  return a.net->node("Where", {condition, a, b}, a.type);
}

Var sqrt(Var x) { return unary("Sqrt", x); }
Var cos(Var x) { return unary("Cos", x); }
Var sin(Var x) { return unary("Sin", x); }
Var tanh(Var x) { return unary("Tanh", x); }
Var sigmoid(Var x) { return unary("Sigmoid", x); }
Var erf(Var x) { return unary("Erf", x); }

Var cast(Var x, ir::DataType type) {
  if (x.type == type) return x;
  return x.net->node("Cast", {x}, type, {{"to", static_cast<int64_t>(type)}});
}

Var reduce_sum(Var x, const std::vector<int64_t>& axes, bool keep_dims) {
  return reduce("ReduceSum", x, axes, keep_dims);
}
Var reduce_mean(Var x, const std::vector<int64_t>& axes, bool keep_dims) {
  return reduce("ReduceMean", x, axes, keep_dims);
}
Var reduce_max(Var x, const std::vector<int64_t>& axes, bool keep_dims) {
  return reduce("ReduceMax", x, axes, keep_dims);
}

Var cumulative_sum(Var x, int64_t axis) { return x.net->node("CumSum", {x, x.net->integer(axis)}, x.type); }
Var softmax(Var x, int64_t axis) { return x.net->node("Softmax", {x}, x.type, {{"axis", axis}}); }
Var matmul(Var a, Var b) { return binary("MatMul", a, b); }

Var reshape(Var x, const std::vector<int64_t>& dims) { return reshape(x, x.net->integers(dims)); }
Var reshape(Var x, Var shape) { return x.net->node("Reshape", {x, shape}, x.type); }
Var transpose(Var x, const std::vector<int64_t>& permutation) {
  return x.net->node("Transpose", {x}, x.type, {{"perm", permutation}});
}
Var unsqueeze(Var x, const std::vector<int64_t>& axes) {
  return x.net->node("Unsqueeze", {x, x.net->integers(axes)}, x.type);
}
Var squeeze(Var x, const std::vector<int64_t>& axes) {
  return x.net->node("Squeeze", {x, x.net->integers(axes)}, x.type);
}

Var concat(const std::vector<Var>& parts, int64_t axis) {
  if (parts.size() == 1) return parts.front();
  for (const Var& part : parts) require_alike(parts.front(), part, "Concat");
  return parts.front().net->node("Concat", parts, parts.front().type, {{"axis", axis}});
}

std::vector<Var> split(Var x, int64_t axis, const std::vector<int64_t>& sizes) {
  return x.net->nodes("Split", {x, x.net->integers(sizes)}, std::vector(sizes.size(), x.type), {{"axis", axis}});
}

Var slice(Var x, int64_t axis, int64_t begin, int64_t end) {
  return slice(x, axis, x.net->integers({begin}), x.net->integers({end < 0 ? end : std::min(end, kAllOfAxis)}));
}

Var slice(Var x, int64_t axis, Var begin, Var end) {
  return x.net->node("Slice", {x, begin, end, x.net->integers({axis})}, x.type);
}

Var gather(Var x, Var indices, int64_t axis) { return x.net->node("Gather", {x, indices}, x.type, {{"axis", axis}}); }
Var expand(Var x, Var shape) { return x.net->node("Expand", {x, shape}, x.type); }

Var pad_end(Var x, int64_t axis, int64_t rank, Var count) {
  std::vector<Var> pads;
  const auto add_zeros = [&](int64_t n) {
    if (n > 0) pads.push_back(x.net->integers(std::vector<int64_t>(static_cast<size_t>(n), 0)));
  };
  add_zeros(rank + axis);
  pads.push_back(count);
  add_zeros(rank - axis - 1);
  return x.net->node("Pad", {x, concat(pads, 0)}, x.type);
}

Var shape_of(Var x) { return x.net->node("Shape", {x}, ir::DataType::kInt64); }

Var size_of(Var x, int64_t axis) {
  return x.net->node("Shape", {x}, ir::DataType::kInt64, {{"start", axis}, {"end", axis + 1}});
}

Var length_of(Var x, int64_t axis) { return squeeze(size_of(x, axis), {0}); }

Var arange(Var count) {
  return count.net->node("Range", {count.net->integer(0), count, count.net->integer(1)}, ir::DataType::kInt64);
}

Var zeros(Var shape, ir::DataType type) {
  auto value = std::make_shared<ir::Tensor>(
      ir::Tensor::from_bytes("", type, {1}, std::vector<std::byte>(static_cast<size_t>(ir::bits_of(type)) / 8)));
  return shape.net->node("ConstantOfShape", {shape}, type, {{"value", std::move(value)}});
}

}  // namespace thaw::model
