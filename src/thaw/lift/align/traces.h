// The traces of one model and the sizes that they were made at.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thaw/dim/expr/scope.h"
#include "thaw/ir/graph/model.h"
#include "thaw/lift.h"

namespace thaw::lifting {

using thaw::AddedInput;
using thaw::InputValues;

// A node that reads a table: by what its first output is called, which operand, and what that is.
struct TableReader {
  std::string node;
  int input = 0;
  std::vector<double> table = {};
};

struct Trace {
  std::string name;  // of the file, for messages
  std::unique_ptr<ir::Model> model;
  std::map<std::string, InputValues> values;  // by input
  std::map<std::string, int64_t> sizes = {};  // of declared names; filled by find_variables
  // What reads tables that the lifted model has otherwise, as the exporter rounded them wrongly: those of one place in each trace.
  std::vector<TableReader> corrected = {};
};

// Something that differs from trace to trace and that the model sees.
struct Variable {
  enum class Kind : uint8_t {
    kDim,    // of an input; index: the axis
    kValue,  // an element of an input; index: in row-major order
    kMarked  // how much of a mask is 1; index: -1, or an axis along which several count as one
  };
  dim::Dim symbol;
  std::vector<int64_t> at;  // its value in each trace
  Kind kind = Kind::kDim;
  std::string input;
  int64_t index = 0;
  int64_t row = 0;  // kValue: the size of the input's last axis, where it has several
  // The first axis of an input that has others that differ: sizes of the others rarely follow it.
  bool is_batch = false;

  // Whether it differs between the traces.
  bool varies() const {
    return std::any_of(at.begin(), at.end(), [&](int64_t value) { return value != at.front(); });
  }
};

// Of its symbol, in the symbol's scope.
int id_of(const Variable& variable);

// Variable i at value_of(i).
dim::Assignment assignment_of(std::span<const Variable> variables, const std::function<int64_t(size_t)>& value_of);

// At sizes in the order of the variables; at each of several; in each trace.
dim::Assignment assignment_at(std::span<const Variable> variables, const std::vector<int64_t>& sizes);
std::vector<dim::Assignment> assignments_in_traces(std::span<const Variable> variables);
std::vector<dim::Assignment> assignments_at(std::span<const Variable> variables,
                                            std::span<const std::vector<int64_t>> sizes);

// What a size is where variable i has value_of(i); nullopt where that cannot be told.
std::optional<int64_t> value_at(dim::Dim size, std::span<const Variable> variables,
                                const std::function<int64_t(size_t)>& value_of);

// What a size is in each trace; empty where that cannot be told.
std::vector<int64_t> in_traces(dim::Dim size, std::span<const Variable> variables);

// The largest number that divides all; 0 of none, or where all are 0.
int64_t common_divisor(std::span<const int64_t> values);
// The largest number by which all leave one remainder; 0 where all are the same.
int64_t common_step(std::span<const int64_t> values);

// The sizes of the traces as variables of a scope. Dims that are equal in every trace are one variable; a dim with a
// name keeps it, others are called "<input>_dim<axis>". Dims come before values: a size is told by a dim where it can
// be, else by an element, else by how many elements of a mask (of zeros and ones) are marked. Throws thaw::Error where
// the traces' inputs differ in name, type or rank.
std::vector<Variable> find_variables(std::vector<Trace>& traces, const std::vector<AddedInput>& added,
                                     dim::Scope& scope);

// Inputs whose values were told and are no variable: data, as a list that grows or a long one, or what dims tell already.
std::vector<std::string> values_passed_over(const std::vector<Trace>& traces, std::span<const Variable> variables);

// The dims of an input of the first trace in these variables; a number where it is the same in every trace, unknown
// where its rank says nothing of it. Its shape must be declared.
std::vector<dim::Dim> input_dims(const ir::Value& input, const std::vector<Trace>& traces,
                                 std::span<const Variable> variables);

// "height = 14, width = 22": of the value of every variable, those that differ between the traces.
std::string text_of_sizes(std::span<const Variable> variables, const std::vector<int64_t>& sizes);

}  // namespace thaw::lifting
