// Writing the nodes that compute a table at the top of a graph. Internal to lift/.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thaw/pass/emit_dim.h"

namespace thaw::lift {

class TableEmitter {
 public:
  // before: the node that all that is emitted stands before; the first of the graph where none is given.
  TableEmitter(ir::Model& model, pass::DimEmitter& sizes, ir::Node* before = nullptr)
      : graph_(*model.graph), sizes_(sizes), before_(before ? before : graph_.nodes().front()) {}

  pass::DimEmitter& sizes() { return sizes_; }
  ir::Value* emit(std::string_view op, std::vector<ir::Value*> inputs, std::vector<ir::Attribute> attributes = {});
  ir::Value* size(dim::Dim d) { return sizes_.emit(d); }  // int64 [1]
  ir::Value* ints(const std::vector<int64_t>& values);
  ir::Value* integer(int64_t value);  // scalar
  ir::Value* floats(const std::vector<int64_t>& dims, const std::vector<float>& values);
  ir::Value* add(ir::Value* a, ir::Value* b) { return emit("Add", {a, b}); }
  ir::Value* sub(ir::Value* a, ir::Value* b) { return emit("Sub", {a, b}); }
  ir::Value* mul(ir::Value* a, ir::Value* b) { return emit("Mul", {a, b}); }
  ir::Value* div(ir::Value* a, ir::Value* b) { return emit("Div", {a, b}); }  // integers: of numbers not negative
  ir::Value* remainder(ir::Value* a, ir::Value* b) { return sub(a, mul(div(a, b), b)); }
  ir::Value* cast(ir::Value* x, ir::DataType type);
  ir::Value* arange(dim::Dim length);  // int64 [length]
  ir::Value* column(ir::Value* x);     // [n] -> [n, 1]
  ir::Value* concat(std::vector<ir::Value*> parts, int64_t axis);

 private:
  ir::Graph& graph_;
  pass::DimEmitter& sizes_;
  ir::Node* before_;
  std::map<std::vector<int64_t>, ir::Value*> ints_;
  std::map<int64_t, ir::Value*> integers_;
  std::map<std::pair<std::vector<int64_t>, std::vector<float>>, ir::Value*> floats_;
  std::map<std::pair<ir::Value*, ir::DataType>, ir::Value*> casts_;
  // Nodes without attributes, by operator and inputs: the same is made once.
  std::map<std::pair<std::string, std::vector<ir::Value*>>, ir::Value*> made_;
};

}  // namespace thaw::lift
