// Nodes of constants alone, computed element by element.
//
// Integers and truth values are exact. A real number is known within an error: as far as the roundings of its type, in any order, may
// have moved it. What is not certain is open, as a number that rounding moves over the next integer before it is truncated, or an
// integer that does not fit its type. What is made of it is open too, unless something else is chosen in its place.
//
// It follows values of one model, not terms: a term may stand for a constant of the other model that it equals but for rounding.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/prove/laws.h"

namespace thaw::proving {

struct KnownNumber {
  int64_t whole = 0;  // of integers and truth values
  double real = 0;    // of all others
  double error = 0;   // infinite: nothing is known

  bool is_open() const { return std::isinf(error); }
  bool is_exact() const { return error == 0; }
};
inline constexpr KnownNumber kOpenNumber{0, 0, std::numeric_limits<double>::infinity()};

struct KnownTensor {
  ir::DataType type = ir::DataType::kUndefined;
  std::vector<int64_t> dims;
  std::vector<KnownNumber> elements;  // row-major

  bool is_open() const;  // somewhere
};

inline constexpr int64_t kMostEvaluated = int64_t{1} << 22;  // elements of a result
inline constexpr int64_t kMostEvaluatedOfAll = int64_t{1} << 23;

struct NodeOfConstants {
  const ir::Node& node;
  int64_t opset = 0;
  std::vector<const KnownTensor*> operands;                      // null: left out
  std::vector<std::optional<std::vector<int64_t>>> result_dims;  // as inference knows them

  bool has(size_t i) const { return i < operands.size() && operands[i]; }
};

// Of each result; empty where the operator is not one that is computed here, or a result is too large.
std::vector<KnownTensor> evaluated(const NodeOfConstants& of);

// A constant that a model holds; nullopt where its type or its size is not computed with.
std::optional<KnownTensor> known_tensor(const ir::Tensor& tensor);
// The integers of a term that are known; nullopt of all else.
std::optional<KnownTensor> known_tensor(const Term& term);
// The constant that it is; nullopt where some of it is open, or known too little, or infinite beside what was rounded.
std::optional<TermId> written(Algebra& algebra, const KnownTensor& tensor);

// What several operators are made of. A result in floating-point is exact where rounding changes nothing.
bool is_truth_or_integer(ir::DataType type);                 // of whole bytes
KnownNumber whole_number(ir::DataType type, int64_t value);  // open where it does not fit
KnownNumber held_by_double(KnownNumber whole);  // open where float64, in which runtimes compute it, does not hold it
KnownNumber added(ir::DataType type, KnownNumber a, KnownNumber b);
KnownNumber multiplied(ir::DataType type, KnownNumber a, KnownNumber b);
KnownNumber divided(ir::DataType type, KnownNumber a, KnownNumber b);  // integers towards 0
// The larger of two, or the smaller.
KnownNumber extremum(ir::DataType type, KnownNumber a, KnownNumber b, bool is_largest);
// The sum of all: of integers where float64 holds each sum of some of them.
KnownNumber sum_of(ir::DataType type, std::span<const KnownNumber> numbers);
// As a number of the type, which so many of its roundings may have moved beside the error.
KnownNumber rounded(ir::DataType type, double value, double error, double roundings = 1);
bool holds_number(ir::DataType type, double value);

// The integers of an operand; nullopt where it is left out or some are open.
std::optional<std::vector<int64_t>> integers_of(const KnownTensor* tensor);
// An axis from the front; nullopt where there is none.
std::optional<size_t> axis_of(int64_t axis, size_t rank);
// What tensors broadcast to; nullopt where they do not, or it is too large.
std::optional<std::vector<int64_t>> broadcast_dims(std::span<const KnownTensor* const> operands);
// For each element of `dims`, where an operand of these dims that broadcasts to it is read.
std::vector<int64_t> broadcast_offsets(std::span<const int64_t> from, std::span<const int64_t> dims);
// How many elements those are; nullopt where too many for a result.
std::optional<int64_t> count_of_result(std::span<const int64_t> dims);

// Operators by what they do: element by element, by where elements are read, along axes, and Resize. Empty of all others.
std::vector<KnownTensor> evaluated_each(const NodeOfConstants& of);
std::vector<KnownTensor> evaluated_moves(const NodeOfConstants& of);
std::vector<KnownTensor> evaluated_along_axes(const NodeOfConstants& of);
std::vector<KnownTensor> evaluated_resize(const NodeOfConstants& of);

}  // namespace thaw::proving
