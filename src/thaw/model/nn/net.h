// A model while it is written: tensors as expressions.
//
//   Net net(options);
//   Var x = net.input("x", ir::DataType::kFloat, {"rows", 64});
//   Var y = softmax(matmul(x, net.weight("w", w)) * 0.125, -1);
//   net.output(y, "y", {"rows", 64});
//   std::unique_ptr<ir::Model> model = net.finish();
//
// A Var is a tensor of the graph with its element type. Arithmetic on Vars adds nodes; a number in an expression
// becomes a constant of the other operand's type, and equal constants are one (rewrite/emitter.h). Nodes and tensors are
// named after where in the model they stand (see Scope) and their operator. What the operators mean is ONNX's; nothing is
// computed here.
// Types must agree as ONNX demands: a mismatch is a programming error and throws std::logic_error.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thaw/build.h"
#include "thaw/ir/graph/builder.h"
#include "thaw/ir/graph/schema.h"
#include "thaw/model/weight.h"
#include "thaw/rewrite/emitter.h"

namespace thaw::model {

class Net;

struct Var {
  Net* net = nullptr;
  ir::Value* value = nullptr;
  ir::DataType type = ir::DataType::kUndefined;
  explicit operator bool() const { return value != nullptr; }
};

class Net {
 public:
  explicit Net(const BuildOptions& options);
  Net(const Net&) = delete;
  Net& operator=(const Net&) = delete;

  const BuildOptions& options() const { return options_; }
  ir::DataType dtype() const { return options_.dtype; }  // of activations
  bool is_ort() const { return options_.target == BuildTarget::kOrt; }

  Var input(const std::string& name, ir::DataType type, const ir::Dims& dims);
  // [count, width], of no rows where the caller leaves it out.
  Var optional_rows(const std::string& name, ir::DataType type, const std::string& count, int64_t width);
  void output(Var value, const std::string& name, const ir::Dims& dims);
  // What is known of the inputs' sizes and values, for who checks the model (infer/stated_sizes.h): "h=28..:28".
  void state(const std::string& sizes);

  // Constants: int64 scalars and lists, a scalar of any type, float tables (cast to no type), a weight in dtype().
  Var integer(int64_t value);
  Var integers(const std::vector<int64_t>& values);
  Var scalar(double value, ir::DataType type);
  Var floats(const std::vector<int64_t>& dims, const std::vector<float>& values);
  Var weight(const std::string& name, const Weight& weight);
  Var weight(const std::string& name, const Weight& weight, ir::DataType type);

  // A node; inputs without value are left out. One that does not take the activations' type as of the opset, as Conv takes
  // bfloat16 from opset 22 on, computes in float32 between Casts.
  Var node(std::string_view op, const std::vector<Var>& inputs, ir::DataType type,
           std::vector<ir::Attribute> attributes = {}, std::string_view domain = {});
  std::vector<Var> nodes(std::string_view op, const std::vector<Var>& inputs, const std::vector<ir::DataType>& types,
                         std::vector<ir::Attribute> attributes = {}, std::string_view domain = {});

  // Where in the model the next nodes stand: "blocks.3.attn". Scope sets it.
  const std::string& location() const { return location_; }
  void set_location(std::string location);

  std::unique_ptr<ir::Model> finish();

 private:
  std::vector<Var> write(std::string_view op, const std::vector<Var>& inputs, const std::vector<ir::DataType>& types,
                         std::vector<ir::Attribute> attributes, std::string_view domain);
  const std::optional<ir::OperandTypes>& operand_types(std::string_view op, std::string_view domain);

  BuildOptions options_;
  ir::ModelBuilder builder_;
  rewrite::Emitter emitter_;
  std::string location_;
  std::vector<std::string> stated_;
  std::map<std::string, Var, std::less<>> weights_;
  std::map<std::pair<std::string, std::string>, std::optional<ir::OperandTypes>> operand_types_;
};

// Elementwise, with ONNX's broadcasting. A number takes the other operand's type.
Var operator+(Var a, Var b);
Var operator-(Var a, Var b);
Var operator*(Var a, Var b);
Var operator/(Var a, Var b);  // integers: truncated toward zero
Var operator+(Var a, double b);
Var operator-(Var a, double b);
Var operator-(double a, Var b);
Var operator*(Var a, double b);
Var operator/(Var a, double b);
Var operator-(Var a);
Var minimum(Var a, Var b);
Var maximum(Var a, Var b);
Var less(Var a, Var b);
Var less_or_equal(Var a, Var b);
Var greater_or_equal(Var a, Var b);
Var equal(Var a, Var b);
Var logical_and(Var a, Var b);
Var logical_or(Var a, Var b);
Var where(Var condition, Var a, Var b);
Var sqrt(Var x);
Var cos(Var x);
Var sin(Var x);
Var tanh(Var x);
Var sigmoid(Var x);
Var erf(Var x);
Var cast(Var x, ir::DataType type);  // nothing where it is of that type

// Over axes. Axes may be negative.
Var reduce_sum(Var x, const std::vector<int64_t>& axes, bool keep_dims = false);
Var reduce_mean(Var x, const std::vector<int64_t>& axes, bool keep_dims = false);
Var reduce_max(Var x, const std::vector<int64_t>& axes, bool keep_dims = false);
Var cumulative_sum(Var x, int64_t axis);  // inclusive
Var softmax(Var x, int64_t axis);
Var matmul(Var a, Var b);

// Shape. A Reshape target may hold 0 (the input's size at that position) and one -1.
Var reshape(Var x, const std::vector<int64_t>& dims);
Var reshape(Var x, Var shape);
Var transpose(Var x, const std::vector<int64_t>& permutation);
Var unsqueeze(Var x, const std::vector<int64_t>& axes);
Var squeeze(Var x, const std::vector<int64_t>& axes);
Var concat(const std::vector<Var>& parts, int64_t axis);
std::vector<Var> split(Var x, int64_t axis, const std::vector<int64_t>& sizes);
Var slice(Var x, int64_t axis, int64_t begin, int64_t end);  // end past the axis: up to its end
Var slice(Var x, int64_t axis, Var begin, Var end);          // begin, end: int64 [1]
Var gather(Var x, Var indices, int64_t axis = 0);
Var expand(Var x, Var shape);
Var pad_end(Var x, int64_t axis, int64_t rank, Var count);  // zeros after the end of an axis; count: int64 [1]
Var shape_of(Var x);                                        // int64 [rank]
Var size_of(Var x, int64_t axis);                           // int64 [1]
Var length_of(Var x, int64_t axis);                         // int64 scalar
Var arange(Var count);                                      // int64 [count] from an int64 scalar
Var zeros(Var shape, ir::DataType type);                    // shape: int64 [rank]

}  // namespace thaw::model
