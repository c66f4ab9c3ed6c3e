// Formulas: what a generator says of the entries of a table, as one expression over the positions of its axes.
//
// The same expression is evaluated in every trace, where it must give the table, and emitted as nodes, which make it at
// any size: what was checked is what is written. Entries are integers, reals or truths. Division and remainder are for
// integers that are not negative. Internal to lift/.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thaw/lift/table/formula/table_emitter.h"

namespace thaw::lifting {

enum class Kind : uint8_t { kInteger, kReal, kTruth };

// A size of the model and what it was in each trace.
struct Size {
  dim::Dim dim;
  std::vector<int64_t> at;
  friend Size operator+(const Size& a, const Size& b);
  friend Size operator-(const Size& a, const Size& b);
  friend Size operator*(const Size& a, const Size& b);
  friend Size operator/(const Size& a, const Size& b);  // rounded down
};
Size constant_size(int64_t value, size_t traces);
Size ceil_div(const Size& a, const Size& b);
Size larger_of(const Size& a, const Size& b);
Size smaller_of(const Size& a, const Size& b);

struct FormulaNode;

class Formula {
 public:
  Formula() = default;
  explicit Formula(std::shared_ptr<const FormulaNode> node) : node_(std::move(node)) {}
  Formula(const Size& size);  // NOLINT(google-explicit-constructor): p % width reads as it should
  Formula(int64_t value);     // NOLINT(google-explicit-constructor)
  const FormulaNode& node() const { return *node_; }
  Kind kind() const;
  // Whether it depends on the positions of an axis.
  bool varies_along(int axis) const;
  explicit operator bool() const { return node_ != nullptr; }

 private:
  std::shared_ptr<const FormulaNode> node_;
};

enum class FormulaOp : uint8_t {
  kPosition,  // 0, 1, … along an axis
  kSize,
  kNumbers,  // along an axis, or a single one
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMod,
  kMin,
  kMax,
  kEqual,
  kLess,
  kAnd,
  kOr,
  kNot,
  kWhere,
  kAbs,
  kCos,
  kSin,
  kLog,
  kSqrt,
  kReal,        // an integer or truth as a real
  kInteger,     // a truth as an integer
  kWhole,       // a real that is not negative, rounded down, as an integer
  kSingle,      // rounded to float32, as the nodes compute it anyway
  kRunningSum,  // along axis 0, of the entries before
  kLookup,      // in a table [n, width]
  kMade         // in a table that other nodes make
};

// A table [sizes…, width] of reals or integers that other nodes make, as one of rows: what is learned and interpolated.
struct MadeTable {
  std::vector<Size> sizes;
  std::vector<std::vector<double>> entries;  // by trace
  std::function<ir::Value*(TableEmitter&)> emit;
};

struct FormulaNode {
  FormulaOp op;
  Kind kind;
  std::vector<Formula> operands = {};
  int axis = 0;
  Size size = {};
  std::vector<double> numbers = {};
  int64_t width = 1;                           // of kLookup and kMade; of wide ones, `axis` is that of the columns
  std::shared_ptr<const MadeTable> made = {};  // an operand for each of its sizes
  std::vector<Limit> limits = {};              // within which it is known
  std::vector<NumberOfSizes> computed = {};    // with which it is computed
  uint32_t axes = 0;                           // bit by bit, those it varies along
  bool whole = false;                          // cannot be evaluated a few rows at a time
};

Formula position(int axis);
Formula real_number(double value);
Formula numbers(std::vector<double> values, Kind kind, int axis);
Formula operator+(const Formula& a, const Formula& b);
Formula operator-(const Formula& a, const Formula& b);
Formula operator*(const Formula& a, const Formula& b);
Formula operator/(const Formula& a, const Formula& b);  // rounded down where both are integers
Formula operator%(const Formula& a, const Formula& b);
Formula smaller(const Formula& a, const Formula& b);
Formula larger(const Formula& a, const Formula& b);
Formula equal(const Formula& a, const Formula& b);
Formula less(const Formula& a, const Formula& b);
Formula both(const Formula& a, const Formula& b);
Formula either(const Formula& a, const Formula& b);
Formula negation(const Formula& a);
Formula choose(const Formula& condition, const Formula& yes, const Formula& no);
Formula absolute(const Formula& a);
Formula cosine(const Formula& a);
Formula sine(const Formula& a);
Formula logarithm(const Formula& a);
Formula square_root(const Formula& a);
Formula as_real(const Formula& a);
Formula as_integer(const Formula& a);
Formula whole_part(const Formula& a);  // of a real that is not negative
// A real as float32 holds it. Where entries hang on the last bit, each step of a formula is one of these.
Formula in_single(const Formula& a);
Formula sum_before(const Formula& a);
// limits: within which the index is one of a row. columns: the axis that those of a wide table lie along, the last one.
Formula look_up_rows(std::vector<double> table, int64_t width, Kind kind, const Formula& index,
                     std::vector<Limit> limits = {}, int columns = 1);
// at: a place along each of the table's sizes.
Formula read_made(std::shared_ptr<const MadeTable> table, int64_t width, Kind kind, std::vector<Formula> at,
                  int columns);

// The same, known within these limits.
Formula within(const Formula& formula, std::vector<Limit> limits);

// The same, computed with this number.
Formula computed_with(const Formula& formula, NumberOfSizes number);

// The formula with others in the place of the positions of its axes, by axis; numbers along the axis after them, the
// columns, come to lie along another. nullopt where it cannot be computed entry by entry: running sums.
std::optional<Formula> substitute(const Formula& formula, std::span<const Formula> positions, int columns = 1);

// Entries at a product of positions, one list an axis. dims: how many of each axis; 1 where it does not vary.
struct Numbers {
  std::vector<int64_t> dims;
  std::vector<double> entries;
};
struct Points {
  size_t trace = 0;
  std::vector<std::vector<double>> positions;  // by axis
  bool in_single = false;                      // whether every real is rounded to float32 as it is computed
};
// All positions of axes of these sizes.
Points all_places(std::span<const Size> axes, size_t trace);
Numbers evaluate(const Formula& formula, const Points& points);
// Its entries at each of so many positions, also along axes that it does not vary along.
std::vector<double> spread(const Numbers& numbers, std::span<const int64_t> dims);
// How far float32 may be from each of these, where every step is rounded.
Numbers rounding_of(const Formula& formula, const Points& points);

// The formula over axes of these sizes, each given or 1: int64, float or bool.
ir::Value* emit_formula(const Formula& formula, std::span<const dim::Dim> axes, TableEmitter& emitter);

// A number that is computed of sizes, in float or double: [1]. among: how many stand in the list that it is of.
ir::Value* emit_number(const Formula& formula, ir::DataType type, bool is_scaled, size_t among, TableEmitter& emitter);

// As people write it: "sqrt(n) / 8". form_of: the same for any sizes.
std::string to_string(const Formula& formula);
std::string form_of(const Formula& formula);
// In the order in which they stand in it.
std::vector<dim::Dim> sizes_in(const Formula& formula);
std::vector<double> numbers_in(const Formula& formula);  // of short lists
// Remainders of positions by a number in it: the axis, and the number.
std::vector<std::pair<int, int64_t>> periods_in(const Formula& formula);

}  // namespace thaw::lifting
