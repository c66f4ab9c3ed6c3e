// Writing the nodes that compute a table, from sizes on. Internal to lift/.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "thaw/lift/table/formula/limit.h"
#include "thaw/rewrite/dim_emitter.h"

namespace thaw::lifting {

// A number that is computed of sizes. form: how, whatever the sizes, and among how many numbers it stands. is_scaled: by a factor, which may
// stand for a part of a size that is rounded.
struct NumberOfSizes {
  std::string form;
  std::vector<dim::Dim> sizes;
  bool is_scaled = false;
};

class TableEmitter : public ops::Emit {
 public:
  // before: the node that all that is emitted stands before; the first of the graph as it was where none is given.
  explicit TableEmitter(rewrite::DimEmitter& sizes) : ops::Emit(sizes.at()), sizes_(&sizes) {}
  TableEmitter(rewrite::DimEmitter& sizes, ir::Node* before)
      : ops::Emit(sizes.emitter().before(before)), sizes_(&sizes) {}

  rewrite::DimEmitter& sizes() { return *sizes_; }
  // int64 [1]
  ir::Value* size(dim::Dim d) {
    asked_.push_back(d);
    return sizes_->emit(d);
  }
  // The sizes that were asked for since the last time.
  std::vector<dim::Dim> take_asked() { return std::exchange(asked_, {}); }
  // int64 [length]; Range takes scalars.
  ir::Value* arange(dim::Dim length) {
    return emit("Range", {integer(0), reshape(size(length), list({})), integer(1)});
  }
  // The table that is written is known within it.
  void note(const Limit& limit) { limits_.push_back(limit); }
  const std::vector<Limit>& limits() const { return limits_; }
  // No shape holds the sizes of such a number, as it does the length of a table.
  void note(NumberOfSizes number) { numbers_.push_back(std::move(number)); }
  const std::vector<NumberOfSizes>& numbers_of_sizes() const { return numbers_; }
  ir::Value* column(ir::Value* x) { return reshape(x, list({-1, 1})); }                   // [n] -> [n, 1]
  ir::Value* remainder(ir::Value* a, ir::Value* b) { return sub(a, mul(div(a, b), b)); }  // of numbers not negative

 private:
  rewrite::DimEmitter* sizes_;
  std::vector<dim::Dim> asked_;
  std::vector<Limit> limits_;
  std::vector<NumberOfSizes> numbers_;
};

}  // namespace thaw::lifting
