// What is fed to a model at given sizes.
//
// Inputs that the user gave (arrays, values) are fed as given. The others are drawn: floats from a normal distribution,
// integers small and not negative (0 to 9; within the table that they index; axes within the rank, no two the same; sizes
// not 0; a single one that the model compares with numbers is one of those, another for each seed), booleans at random, strings "text0" to
// "text9". An integer or boolean input whose name says "mask" gets rows of ones that end in zeros, as padding does.
// What is drawn depends on the seed, the input's name and its shape, on nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "thaw/dim/expr/scope.h"
#include "thaw/dim/text/size_names.h"
#include "thaw/run.h"
#include "thaw/run/array.h"
#include "thaw/run/npy.h"
#include "thaw/run/sweep.h"

namespace thaw::run {

// An input of a model: its type, and its dims as expressions of one scope.
struct InputSpec {
  std::string name;
  ir::Type::Kind kind = ir::Type::Kind::kTensor;
  ir::DataType dtype = ir::DataType::kUndefined;
  std::optional<std::vector<dim::Dim>> dims;  // nullopt: rank not known
  bool has_default = false;                   // fed only when the user gives it
  // What the operators that read its integers ask of them (infer/integer_ranges.h).
  int64_t lowest = 0;
  std::optional<int64_t> index_bound;  // integers stay below it
  bool is_distinct = false;            // no two are the same, while there are that many
  std::vector<int64_t> choices;        // the one element is one of these (confirm/model_inputs.h)
};

// "1,22,30" as it was typed for an input; numbers, true and false, or strings.
using ValueTexts = std::vector<std::string>;

using thaw::FeedOptions;
using thaw::ValueRange;

class Feeder {
 public:
  // The scope must outlive the feeder. Throws thaw::Error where options name an input that there is not, or give one an
  // array of a rank or values of a type that it cannot have.
  Feeder(std::vector<InputSpec> inputs, const dim::Scope& scope, FeedOptions options);

  const std::vector<InputSpec>& inputs() const { return inputs_; }

  // Symbols that neither the point nor what the user gave determines.
  std::vector<FreeSymbol> free_symbols(const Point& point) const;

  // The point by the names that `thaw inspect` prints, with the elements that the options give one by one.
  Point canonical(const Point& point) const;

  // The feeds at a point that leaves no symbol free. A name of the point is what dim/text/size_names.h says. Arrays keep
  // the type they were given in. Throws thaw::Error where sizes contradict each other or a name is not one of the
  // model's.
  Arrays make(const Point& point) const;

  // Bytes that `make` would draw at a point; saturates. For callers who choose sizes themselves.
  uint64_t drawn_bytes(const Point& point) const;

  // Whether a name is NAME[i] of an integer input that is drawn.
  bool draws_element(std::string_view name) const;

 private:
  void take_elements();
  dim::Assignment bind(const Point& point) const;
  Array draw(const InputSpec& input, std::vector<int64_t> dims) const;
  const InputSpec* find(std::string_view name) const;

  std::vector<InputSpec> inputs_;
  const dim::Scope& scope_;
  FeedOptions options_;
  dim::SizeNames names_;
  std::vector<std::pair<std::string, int64_t>> elements_;  // NAME[i] of integer inputs, of the options' values
};

// The input of that name; throws thaw::Error that names those that there are.
const InputSpec& require_input(const std::vector<InputSpec>& inputs, const std::string& name);

// For reading what an input is fed: throws thaw::Error for a shape that the input cannot have, before its data are read.
NpyCheck shape_check(const InputSpec& input, std::string where);
// For integers that tell sizes, of an input that no model declares: throws where there are many.
NpyCheck few_elements(const std::string& input, std::string where);
// By what a model declares of it.
NpyCheck shape_check(const std::string& input, const ir::Type& declared, std::string where);

// The elements as an array of that type and shape; one text fills the shape. Throws thaw::Error naming `input` for a
// text that is no value of the type or a count that does not fit.
Array array_from_texts(const std::string& input, ir::DataType dtype, std::vector<int64_t> dims,
                       const ValueTexts& texts);

}  // namespace thaw::run
