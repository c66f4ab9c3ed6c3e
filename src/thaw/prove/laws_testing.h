// Laws held against ONNX Runtime: a model of nodes that are all outputs, and what their terms compute.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/ir/graph/model.h"

namespace thaw::proving {

using Sizes = std::map<std::string, int64_t>;

// A model whose outputs are all that its nodes are asked for, written in ONNX's text format.
class Graph {
 public:
  explicit Graph(std::string inputs, int opset = 17) : inputs_(std::move(inputs)), opset_(opset) {}

  // A node whose result is an output too; the name of it. `call`: "Relu(x)".
  std::string add(const std::string& call) {
    const std::string name = fmt::format("y{}", outputs_.size());
    nodes_ += fmt::format("{} = {}\n", name, call);
    outputs_.push_back(name);
    return name;
  }
  // One of several results, which are all outputs.
  std::vector<std::string> add(const std::string& call, size_t count) {
    const auto first = static_cast<ptrdiff_t>(outputs_.size());
    for (size_t i = 0; i < count; ++i) outputs_.push_back(fmt::format("y{}", outputs_.size()));
    std::vector<std::string> made(outputs_.begin() + first, outputs_.end());
    nodes_ += fmt::format("{} = {}\n", fmt::join(made, ", "), call);
    return made;
  }
  // An int64 tensor of one axis.
  std::string ints(const std::vector<int64_t>& values) {
    const std::string name = fmt::format("c{}", constants_.size());
    constants_.push_back(fmt::format("int64[{}] {} = {{{}}}", values.size(), name, fmt::join(values, ", ")));
    return name;
  }
  std::string floats(const std::string& dims, const std::vector<double>& values) {
    const std::string name = fmt::format("c{}", constants_.size());
    constants_.push_back(fmt::format("float[{}] {} = {{{}}}", dims, name, fmt::join(values, ", ")));
    return name;
  }

  std::unique_ptr<ir::Model> model() const;
  const std::string& nodes() const { return nodes_; }

 private:
  std::string inputs_, nodes_;
  int opset_;
  std::vector<std::string> constants_, outputs_;
};

inline std::vector<std::vector<int64_t>> permutations(int64_t rank) {
  std::vector<int64_t> order(static_cast<size_t>(rank));
  for (int64_t i = 0; i < rank; ++i) order[static_cast<size_t>(i)] = i;
  std::vector<std::vector<int64_t>> all;
  do all.push_back(order);
  while (std::ranges::next_permutation(order).found);
  return all;
}

inline std::string transposed(const std::string& x, const std::vector<int64_t>& order) {
  return fmt::format("Transpose <perm = [{}]> ({})", fmt::join(order, ", "), x);
}

// Every output of the model is what its term says, at each of the sizes; inputs named p… are above 0. A failure is one of the test.
void expect_laws_hold(const Graph& graph, const std::vector<Sizes>& at);

inline const std::vector<Sizes> kSizesToTry = {
    {{"n", 1}, {"m", 1}}, {{"n", 2}, {"m", 3}}, {{"n", 3}, {"m", 1}}, {{"n", 5}, {"m", 2}}};

}  // namespace thaw::proving
