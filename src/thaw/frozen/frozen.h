// Finding frozen sizes: constants that stand where a size of the input should.
//
// A trace or an optimizer writes the example's sizes into the graph: Reshape targets, Split lists, index and angle
// tables. Nothing in one file says so, but the rest of the graph does: a size that is still an expression of the inputs
// meets a constant that it can equal at one input size only. The analysis
//   1. runs inference and solves the meetings for the input sizes that the model was frozen at (assumed_sizes.h);
//   2. runs it again, going on with the expression wherever a constant equals it at those sizes, and as the operators'
//      frozen rules say (ops/rule/frozen_rule.h), so that a size frozen early does not hide one frozen later;
//   3. follows each constant back to the initializer or Constant node that it comes from (source.h).
// What the file does not tell (two sizes that happened to be equal) is not guessed: a site says what it could be, no
// more.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "thaw/infer/infer.h"

namespace thaw::frozen {

enum class FrozenRole : uint8_t {
  kShape,      // an element of a shape: Reshape, Expand, ConstantOfShape, Tile's repeats, Resize's sizes, Range's limit
  kSplit,      // a list of split lengths
  kSlice,      // a start or end of Slice
  kIndex,      // a table of indices into an axis whose size the input decides
  kTable,      // a table with an axis that the input should size: positions, angles, masks, weights of interpolation
  kAttribute,  // the same as kShape, kSplit or kSlice, in an attribute of an old operator version
  kWeight,     // a trained weight that admits one size of the input only
};

// A frozen number and the size that belongs in its place.
struct FrozenSize {
  int64_t value = 0;
  dim::Dim expression;
  bool product = false, by_chance = false, next_to_one = false;  // as in FrozenSite
  bool is_doubtful() const { return product || by_chance || next_to_one; }
};

// An element of what a node reads as a shape, or an axis of a table that it reads, told apart from others of the same number.
struct FrozenElement {
  const ir::Node* reader = nullptr;
  int at = 0;
  dim::Dim expression;
};

// One constant that was frozen, or (constant null) one node where a size was.
struct FrozenSite {
  FrozenRole role = FrozenRole::kShape;
  const ir::Value* constant = nullptr;  // initializer, or output of the Constant node
  const ir::Node* node = nullptr;       // where it met the size first
  int num_nodes = 1;                    // nodes where it did
  int64_t value = 0;                    // the frozen size that met the graph first
  dim::Dim expression;                  // the size that belongs there
  std::vector<FrozenSize> more;         // others in the same constant ([1, 96, 40, 30]), up to a handful
  bool silent = false;   // other sizes run, and are wrong: a -1, a clamp or an index swallows the difference
  bool product = false;  // several elements of the constant together make up the size (11*2*15*2 = patches)
  // kAttribute: the node that has it, which need not be where the size was met, and the attribute's name.
  const ir::Node* holder = nullptr;
  std::string attribute = {};
  // Sizes that the graph admits as well as those that were solved for make another number of the expression.
  bool by_chance = false;
  // A 1 stands beside the size, and nothing tells that it is no part of it: one window of 4, or 4 of an axis that was put in.
  bool next_to_one = false;
  std::vector<FrozenElement> locations =
      {};  // of kShape and kTable: those that are known, as far as they could be followed
  // Nothing but the name that an output declares tells of it: the size is that name, which is no size of the inputs.
  bool by_name = false;
  // The size is a free batch, and samples come out of the model with no axis that counts them: the 1 was a batch of one.
  bool folds_batch = false;
  // Whether the constant's first number may be that of another expression.
  bool is_doubtful() const { return product || by_chance || next_to_one; }
};

struct FrozenAnalysis {
  infer::Result result;            // facts with the frozen sizes thawed: what the model was meant to be
  dim::Assignment assumed_sizes;   // input sizes at which the model was frozen, as far as they could be solved
  std::set<int> guessed;           // symbols of which only a product with others is known
  bool all_inputs_static = false;  // every input dim was a number; they were taken as frozen too
  std::vector<FrozenSite> sites;   // in node order
};

// The scope must be fresh: the symbols of the model's inputs are made in it. `held`: sizes, by name, that stay numbers
// in a model all of whose inputs are numbers.
FrozenAnalysis find_frozen(const ir::Model& model, dim::Scope& scope, const std::set<std::string>& held = {});

}  // namespace thaw::frozen
