// Where a block stands in the model: the beginning of its weights' names and of its nodes' names.
//
//   Scope tower(net, weights, "visual");
//   Scope block = tower.in("blocks").in(3);
//   Var scale = block.in("norm1").var("weight", {64});      // the tensor "visual.blocks.3.norm1.weight"
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "thaw/model/nn/net.h"
#include "thaw/model/weights.h"

namespace thaw::model {

class Scope {
 public:
  Scope(Net& net, const Weights& weights, std::string prefix)
      : net_(&net), weights_(&weights), prefix_(std::move(prefix)) {}

  Scope in(std::string_view part) const;
  Scope in(int64_t index) const { return in(std::to_string(index)); }

  Net& net() const { return *net_; }
  const Weights& weights() const { return *weights_; }
  const std::string& name() const { return prefix_; }
  std::string name(std::string_view tensor) const;  // "<prefix>.<tensor>"

  bool has(std::string_view tensor) const { return weights_->has(name(tensor)); }
  Weight weight(std::string_view tensor, const std::vector<int64_t>& shape) const;
  // The same put into the model, under its full name.
  Var var(std::string_view tensor, const std::vector<int64_t>& shape) const;

 private:
  Net* net_;
  const Weights* weights_;
  std::string prefix_;
};

// Names the nodes that are added while it lives after a scope.
class Here {
 public:
  explicit Here(const Scope& scope) : Here(scope.net(), scope.name()) {}
  Here(Net& net, std::string location) : net_(net), outer_(net.location()) { net.set_location(std::move(location)); }
  Here(const Here&) = delete;
  Here& operator=(const Here&) = delete;
  ~Here() { net_.set_location(outer_); }

 private:
  Net& net_;
  std::string outer_;
};

}  // namespace thaw::model
