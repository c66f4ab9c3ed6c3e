// Terms: what a value of a model is computed as, each once.
//
// Two values of two models that are one term are the same function of the inputs. The table is hash-consed: a term is made
// of what it does and of the terms that it is done to, and equal ones have one number. What may differ from run to run, and
// what is not understood, has a number of its own that nothing else gets.
//
// Numbers that are known at all sizes are leaves: constants by their bytes, small integer tensors by their elements as
// expressions of the sizes (dim/expr/dim.h).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/ops/rule/fact.h"

namespace thaw::proving {

using TermId = uint32_t;
inline constexpr TermId kNoTerm = UINT32_MAX;  // of an operand that is left out

// A tensor of numbers that were computed here, not read: each within `roundings` steps of float rounding of what it stands
// for, relative to `magnitude`, the sum of the sizes of all that was added up to it.
struct Computed {
  std::vector<double> values, magnitude;
  int roundings = 0;
};

// What is taken for granted where a law needs it: bits.
enum Assumption : uint8_t {
  kIntegersFit = 1,   // sums, differences and multiples of integers fit their types
  kMasksHide = 2,     // a score that a large negative number is added to, or stands in the place of, counts nothing
  kLengthsCount = 4,  // a vector is 0, or longer than a small limit that another is divided by at least
};
// Each as a sentence's end: "integers fit their types".
std::vector<std::string> texts_of(uint8_t assumed);

struct Term {
  enum class Kind : uint8_t {
    kInput,
    kConstant,  // bytes, or numbers computed here
    kSizes,     // integers that are expressions of the sizes
    kOperator,
    kSum,      // of arguments, each times a number
    kProduct,  // of arguments, each to a power
  };

  Kind kind = Kind::kOperator;
  std::string op;              // operator; the name of an input
  std::string settings;        // the rest of what it does, as bytes: attributes, version, which output
  std::vector<int64_t> ints;   // axes and steps of views
  std::vector<dim::Dim> dims;  // sizes and positions of views; elements of kSizes
  std::vector<TermId> arguments;
  std::vector<double> numbers;  // factors of a sum, exponents of a product
  ir::DataType dtype = ir::DataType::kUndefined;
  std::optional<ops::Shape> shape;

  std::shared_ptr<const ir::Tensor> tensor;     // a constant that was read
  std::shared_ptr<const Computed> computed;     // one that was not
  uint8_t assumed = 0;                          // for it to be this; no part of what it is
  std::array<const ir::Node*, 2> made_by = {};  // the first node of each model that is this, for messages; may be null

  bool is(std::string_view name) const { return kind == Kind::kOperator && op == name; }
};

// An expression as bytes of a key. It is interned in one scope, so that an address tells expressions apart.
void append_dim(std::string& key, dim::Dim d);
// Whether all sizes of a shape are known.
bool is_known(const std::optional<ops::Shape>& shape);
bool is_same(const ops::Shape& a, const ops::Shape& b);
// All sizes, where every one is a constant.
std::optional<std::vector<int64_t>> constant_dims(const std::optional<ops::Shape>& shape);
// What shapes broadcast to; nullopt where a size is unknown.
std::optional<ops::Shape> broadcast_shapes(const ops::Shape& a, const ops::Shape& b);

class Terms {
 public:
  explicit Terms(dim::Scope& scope) : scope_(scope) {}
  Terms(const Terms&) = delete;
  Terms& operator=(const Terms&) = delete;

  const Term& operator[](TermId id) const { return terms_[id]; }
  size_t size() const { return terms_.size(); }
  dim::Scope& scope() const { return scope_; }

  // The term's number. Facts of one that is there already stay; `made_by` is added to.
  TermId add(Term term);
  std::optional<TermId> find(const Term& term) const;
  // A term that equals no other.
  TermId add_unique(Term term);
  TermId apply(std::string op, std::vector<TermId> arguments, ir::DataType dtype, std::optional<ops::Shape> shape,
               std::string settings = {});
  TermId assuming(uint8_t what, TermId id) {
    terms_[id].assumed |= what;
    return id;
  }
  // What is taken for granted for each term and all that it is made of.
  std::vector<uint8_t> all_assumed() const;
  bool was_there() const { return was_there_; }  // of the term that was added last

  // What a body computes is another term than the same outside of it, unless that was there before: what is known of a
  // tensor inside may hold there alone. `what` says which body.
  uint32_t enter(const std::string& what);  // a number of that body
  void leave() { contexts_.pop_back(); }
  bool is_inside() const { return contexts_.size() > 1; }

  // The node that is read, and of which model: what terms are said to be made by.
  void reading(const ir::Node* node, int model) {
    node_ = node;
    model_ = model;
  }

 private:
  TermId insert(Term term, std::string key);

  dim::Scope& scope_;
  std::deque<Term> terms_;  // references stay good while terms are added
  std::unordered_map<std::string, TermId> known_;
  std::unordered_map<std::string, uint32_t> context_numbers_;
  std::vector<uint32_t> contexts_ = {0};  // from the outermost in
  uint64_t unique_ = 0;
  const ir::Node* node_ = nullptr;
  int model_ = 0;
  bool was_there_ = false;
};

}  // namespace thaw::proving
