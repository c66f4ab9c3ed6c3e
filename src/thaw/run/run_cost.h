// What running a model takes at sizes, told before it is run: of sizes that nobody asked for, the cheap ones are tried.
//
// Shapes and operations are expressions of the sizes of the inputs; confirm/cost_of_runs.h takes them from inference. What has no
// known size counts as nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "thaw/dim/expr/scope.h"

namespace thaw::run {

class RunCost {
 public:
  // A tensor that nodes read or write, by what add_tensor says.
  using Tensor = size_t;
  Tensor add_tensor(uint64_t bytes_each, std::vector<dim::Dim> dims);
  // The tensors that a node reads and writes, weights left out, and how many operations it takes.
  void add_node(const std::vector<Tensor>& tensors, dim::Dim flops);

  struct Taken {
    double bytes = 0;  // that the largest node reads and writes
    double flops = 0;  // of all nodes

    // About how much memory it takes beside weights: results wait for those who read them, and kernels have buffers of
    // their own.
    double working_bytes() const;
    // So little that it need not be asked for.
    bool is_small() const;
    // Of the operations and the bytes, in what a processor does in about the time of an operation.
    double work() const;
  };
  // At sizes by id of their symbols.
  Taken at(const dim::Assignment& sizes) const;

 private:
  struct Shape {
    uint64_t bytes_each;
    std::vector<dim::Dim> dims;
  };
  // A deep model repeats few shapes, nodes and expressions, each of which is evaluated once.
  using Key = std::pair<const dim::Expr*, int64_t>;
  static Key key_of(dim::Dim d) { return {d.expr(), d.constant().value_or(-1)}; }

  std::vector<Shape> shapes_;
  std::map<std::pair<uint64_t, std::vector<Key>>, Tensor> known_shapes_;
  std::set<std::vector<Tensor>> nodes_;
  std::map<Key, size_t> known_flops_;               // where they stand in flops_
  std::vector<std::pair<dim::Dim, double>> flops_;  // and how many nodes take that many
};

}  // namespace thaw::run
