// What the tests of dim/ share: expression trees that are built and evaluated naively, beside the Dims they describe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "thaw/dim/expr/scope.h"

namespace thaw::dim {

void PrintTo(const Dim& d, std::ostream* out);

}  // namespace thaw::dim

namespace thaw::dim::testing {

// A tree of operations as a user wrote it, never simplified.
struct Tree {
  enum class Kind : uint8_t {
    kSymbol,
    kConstant,
    kAdd,
    kSubtract,
    kMultiply,
    kFloorDiv,
    kCeilDiv,
    kMod,
    kMin,
    kMax,
    kBroadcast
  };
  Kind kind = Kind::kConstant;
  int64_t value = 0;  // the constant, or the index of the symbol
  std::shared_ptr<const Tree> left, right;
};
using TreePtr = std::shared_ptr<const Tree>;

inline constexpr Tree::Kind kOperations[] = {Tree::Kind::kAdd,      Tree::Kind::kSubtract, Tree::Kind::kMultiply,
                                             Tree::Kind::kFloorDiv, Tree::Kind::kCeilDiv,  Tree::Kind::kMod,
                                             Tree::Kind::kMin,      Tree::Kind::kMax,      Tree::Kind::kBroadcast};

TreePtr leaf_symbol(int index);
TreePtr leaf_constant(int64_t value);
TreePtr node(Tree::Kind kind, TreePtr left, TreePtr right);

// The value by the definitions of dim.h, in 128 bits; nullopt where an operation is undefined or leaves 64 bits.
std::optional<int64_t> naive_value(const Tree& tree, const std::vector<int64_t>& symbols);

// The tree built with Dim's operators; symbols[i] for symbol i.
Dim build(const Tree& tree, const std::vector<Dim>& symbols);

std::string text_of(const Tree& tree);

}  // namespace thaw::dim::testing
