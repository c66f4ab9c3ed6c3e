#include "thaw/lift/align/traces.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/core/error.h"
#include "thaw/dim/text/text.h"
#include "thaw/frozen/frozen.h"

namespace thaw::lifting {
namespace {

constexpr size_t kMostElements = 64;  // of an input that is a list of sizes rather than data

// Sizes that a declared name had when the trace was made, as far as the trace's own constants tell.
std::map<std::string, int64_t> solved_names(const ir::Model& model) {
  dim::Scope scope;
  const frozen::FrozenAnalysis frozen = frozen::find_frozen(model, scope);
  std::map<std::string, int64_t> sizes;
  for (const auto& [id, value] : frozen.assumed_sizes) {
    if (!frozen.guessed.contains(id)) sizes.emplace(scope.symbols()[static_cast<size_t>(id)].name, value);
  }
  return sizes;
}

// Sizes of names that the shapes of told inputs give.
std::map<std::string, int64_t> declared_sizes(const Trace& trace) {
  std::map<std::string, int64_t> sizes;
  for (const ir::Value* input : trace.model->graph->inputs()) {
    const auto told = trace.values.find(input->name());
    if (told == trace.values.end() || !input->type.shape || told->second.dims.size() != input->type.shape->size())
      continue;
    for (size_t axis = 0; axis < told->second.dims.size(); ++axis) {
      const std::string& name = (*input->type.shape)[axis].param;
      if (!name.empty()) sizes.emplace(name, told->second.dims[axis]);
    }
  }
  return sizes;
}

// Whether an axis of an input is a name whose size is not known.
bool has_unknown_names(const Trace& trace) {
  return std::ranges::any_of(trace.model->graph->inputs(), [&](const ir::Value* input) {
    return input->type.shape && std::ranges::any_of(*input->type.shape, [&](const ir::DeclaredDim& dim) {
             return !dim.value && !trace.sizes.contains(dim.param);
           });
  });
}

const ir::Value* input_of(const Trace& trace, const ir::Value& like) {
  for (const ir::Value* input : trace.model->graph->inputs()) {
    if (input->name() != like.name()) continue;
    const auto &a = input->type, &b = like.type;
    if (a.elem_type == b.elem_type && a.shape && b.shape && a.shape->size() == b.shape->size()) return input;
    throw Error(ErrorCode::kUnsupported,
                {.what = fmt::format("input '{}' differs in type or rank from the first trace", like.name()),
                 .where = trace.name,
                 .expected = "traces of one model",
                 .next = "export all of them with the same inputs"});
  }
  throw Error(ErrorCode::kUnsupported, {.what = fmt::format("there is no input '{}'", like.name()),
                                        .where = trace.name,
                                        .expected = "the inputs of the first trace",
                                        .next = "export all of them with the same inputs"});
}

void add_values(const std::vector<Trace>& traces, const std::string& input, dim::Scope& scope,
                std::vector<Variable>& variables) {
  const auto first = traces.front().values.find(input);
  if (first == traces.front().values.end()) return;
  const size_t count = first->second.values.size();
  if (count == 0 || count > kMostElements) return;
  // A list that grows is data, and no list of sizes.
  for (const Trace& trace : traces) {
    const auto found = trace.values.find(input);
    if (found == trace.values.end() || found->second.dims != first->second.dims || found->second.values.empty()) return;
  }
  for (size_t i = 0; i < count; ++i) {
    Variable v{.symbol = scope.input_value(input, static_cast<int64_t>(i)),
               .at = {},
               .kind = Variable::Kind::kValue,
               .input = input,
               .index = static_cast<int64_t>(i),
               .row = first->second.dims.size() > 1 ? first->second.dims.back() : 0};
    for (const Trace& trace : traces) v.at.push_back(trace.values.at(input).values[i]);
    scope.assume_range(v.symbol, 1, std::nullopt);
    variables.push_back(std::move(v));
  }
}

// How much of a mask is marked along an axis, over all other positions; all of it for axis -1.
int64_t marked(const InputValues& mask, int64_t axis) {
  if (axis < 0) return std::accumulate(mask.values.begin(), mask.values.end(), int64_t{0});
  const auto at = static_cast<std::ptrdiff_t>(axis);
  const int64_t size = mask.dims[static_cast<size_t>(axis)];
  const int64_t inner = std::accumulate(mask.dims.begin() + at + 1, mask.dims.end(), int64_t{1}, std::multiplies<>());
  std::vector<bool> any(mask.values.size() / static_cast<size_t>(size));
  for (size_t i = 0; i < mask.values.size(); ++i) {
    const auto outer = static_cast<int64_t>(i) / inner / size, rest = static_cast<int64_t>(i) % inner;
    if (mask.values[i] != 0) any[static_cast<size_t>(outer * inner + rest)] = true;
  }
  return std::count(any.begin(), any.end(), true);
}

void add_marked(const std::vector<Trace>& traces, const std::string& input, dim::Scope& scope,
                std::vector<Variable>& variables) {
  const auto is_mask = [&](const Trace& trace) {
    const auto found = trace.values.find(input);
    return found != trace.values.end() && !found->second.values.empty() &&
           std::all_of(found->second.values.begin(), found->second.values.end(),
                       [](int64_t v) { return v == 0 || v == 1; });
  };
  if (!std::all_of(traces.begin(), traces.end(), is_mask)) return;
  const auto rank = static_cast<int64_t>(traces.front().values.at(input).dims.size());
  for (int64_t axis = -1; axis < (rank > 1 ? rank : 0); ++axis) {
    const std::string name =
        axis < 0 ? fmt::format("marked({})", input) : fmt::format("marked({}, any along axis {})", input, axis);
    Variable v{.symbol = scope.symbol(name, dim::SymbolKind::kInputValue),
               .at = {},
               .kind = Variable::Kind::kMarked,
               .input = input,
               .index = axis};
    for (const Trace& trace : traces) v.at.push_back(marked(trace.values.at(input), axis));
    const bool known =
        std::any_of(variables.begin(), variables.end(), [&](const Variable& other) { return other.at == v.at; });
    if (known || !v.varies()) continue;
    scope.assume_range(v.symbol, 1, std::nullopt);
    variables.push_back(std::move(v));
  }
}

// Values of what is no input, or told of some traces only, would be passed over without a word.
void require_usable_values(const std::vector<Trace>& traces, const std::vector<AddedInput>& added) {
  for (const Trace& trace : traces) {
    for (const auto& [name, values] : trace.values) {
      const auto is_it = [&, wanted = name](const ir::Value* input) { return input->name() == wanted; };
      const bool known =
          std::ranges::any_of(trace.model->graph->inputs(), is_it) ||
          std::ranges::any_of(added, [&, wanted = name](const AddedInput& a) { return a.name == wanted; });
      if (!known) {
        throw Error(ErrorCode::kInvalidArgument,
                    {.what = fmt::format("values are given for '{}', which is not an input", name),
                     .where = trace.name,
                     .expected = "values of inputs of the traces",
                     .next = fmt::format("bring it back with --add-input '{}:int64[{}]' where the exporter took it out",
                                         name, fmt::join(values.dims, ","))});
      }
      for (const Trace& other : traces) {
        if (values.values.empty() || other.values.contains(name)) continue;
        throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("values of '{}' are missing", name),
                                                  .where = other.name,
                                                  .expected = "its values in every trace, or in none",
                                                  .next = "add those that this trace was made with"});
      }
    }
  }
}

// Of more, no tensor was ever run, and arithmetic on it leaves the integers.
void require_possible(int64_t size, const ir::Value& input, size_t axis, const Trace& trace) {
  constexpr int64_t kMost = int64_t{1} << 40;
  if (size <= kMost) return;
  throw Error(ErrorCode::kInvalidFile,
              {.what = fmt::format("axis {} of the input '{}' has the size {}", axis, input.name(), size),
               .where = trace.name,
               .expected = "a size that a tensor can have",
               .next = "export the trace again"});
}

}  // namespace

int id_of(const Variable& variable) { return dim::scope_of(variable.symbol)->symbol_id(variable.symbol); }

dim::Assignment assignment_of(std::span<const Variable> variables, const std::function<int64_t(size_t)>& value_of) {
  dim::Assignment at;
  for (size_t i = 0; i < variables.size(); ++i)
    if (const int id = dim::scope_of(variables[i].symbol)->symbol_id(variables[i].symbol); id >= 0)
      at[id] = value_of(i);
  return at;
}

dim::Assignment assignment_at(std::span<const Variable> variables, const std::vector<int64_t>& sizes) {
  return assignment_of(variables, [&](size_t i) { return sizes[i]; });
}

std::vector<dim::Assignment> assignments_in_traces(std::span<const Variable> variables) {
  std::vector<dim::Assignment> all;
  for (size_t k = 0; !variables.empty() && k < variables.front().at.size(); ++k)
    all.push_back(assignment_of(variables, [&](size_t i) { return variables[i].at[k]; }));
  return all;
}

std::optional<int64_t> value_at(dim::Dim size, std::span<const Variable> variables,
                                const std::function<int64_t(size_t)>& value_of) {
  return dim::evaluate(size, assignment_of(variables, value_of));
}

std::vector<int64_t> in_traces(dim::Dim size, std::span<const Variable> variables) {
  std::vector<int64_t> at;
  for (size_t k = 0; !variables.empty() && k < variables.front().at.size(); ++k) {
    const auto value = value_at(size, variables, [&](size_t i) { return variables[i].at[k]; });
    if (!value) return {};
    at.push_back(*value);
  }
  return at;
}

std::vector<dim::Assignment> assignments_at(std::span<const Variable> variables,
                                            std::span<const std::vector<int64_t>> sizes) {
  std::vector<dim::Assignment> all;
  for (const std::vector<int64_t>& each : sizes) all.push_back(assignment_at(variables, each));
  return all;
}

namespace {

// Of any integers, the farthest apart too. What no size has is not divided: 1.
int64_t common_divisor_from(std::span<const int64_t> values, int64_t from) {
  uint64_t divisor = 0;
  for (const int64_t value : values) {
    const auto a = static_cast<uint64_t>(value), b = static_cast<uint64_t>(from);
    divisor = std::gcd(divisor, value > from ? a - b : b - a);
  }
  return std::in_range<int64_t>(divisor) ? static_cast<int64_t>(divisor) : 1;
}

}  // namespace

int64_t common_divisor(std::span<const int64_t> values) { return common_divisor_from(values, 0); }

int64_t common_step(std::span<const int64_t> values) {
  return values.empty() ? 0 : common_divisor_from(values, values.front());
}

std::vector<Variable> find_variables(std::vector<Trace>& traces, const std::vector<AddedInput>& added,
                                     dim::Scope& scope) {
  require_usable_values(traces, added);
  for (Trace& trace : traces) {
    trace.sizes = declared_sizes(trace);
    if (has_unknown_names(trace)) trace.sizes.merge(solved_names(*trace.model));
  }
  std::vector<Variable> dims, values;
  for (const ir::Value* input : traces.front().model->graph->inputs()) {
    if (input->initializer()) continue;
    if (!input->type.shape) {
      throw Error(ErrorCode::kUnsupported,
                  {.what = fmt::format("the rank of the input '{}' is not declared", input->name()),
                   .where = traces.front().name,
                   .expected = "declared shapes",
                   .next = "export again with shapes"});
    }
    for (size_t axis = 0; axis < input->type.shape->size(); ++axis) {
      Variable v{.symbol = {},
                 .at = {},
                 .kind = Variable::Kind::kDim,
                 .input = input->name(),
                 .index = static_cast<int64_t>(axis)};
      std::string name;
      for (size_t k = 0; k < traces.size(); ++k) {
        const ir::DeclaredDim& dim = (*input_of(traces[k], *input)->type.shape)[axis];
        const auto values_of = traces[k].values.find(input->name());
        if (dim.value) {
          v.at.push_back(*dim.value);
        } else if (values_of != traces[k].values.end() && axis < values_of->second.dims.size()) {
          v.at.push_back(values_of->second.dims[axis]);
        } else if (const auto known = traces[k].sizes.find(dim.param); known != traces[k].sizes.end()) {
          v.at.push_back(known->second);
        }
        if (!v.at.empty()) require_possible(v.at.back(), *input, axis, traces[k]);
        if (!dim.param.empty()) name = dim.param;
      }
      if (v.at.size() != traces.size() || (!v.varies() && name.empty())) continue;
      const bool known = std::any_of(dims.begin(), dims.end(), [&](const Variable& other) {
        return name.empty() ? other.at == v.at
                            : scope.symbols()[static_cast<size_t>(scope.symbol_id(other.symbol))].name == name;
      });
      if (known) continue;
      v.symbol = scope.symbol(name.empty() ? fmt::format("{}_dim{}", input->name(), axis) : name);
      scope.assume_range(v.symbol, 1, std::nullopt);
      dims.push_back(std::move(v));
    }
    if (ir::is_integer(input->type.elem_type)) add_values(traces, input->name(), scope, values);
  }
  for (const AddedInput& input : added) add_values(traces, input.name, scope, values);
  for (Variable& v : dims) {
    v.is_batch = v.index == 0 && std::any_of(dims.begin(), dims.end(), [&](const Variable& other) {
                   return other.input == v.input && other.index != 0 && other.varies();
                 });
  }
  dims.insert(dims.end(), values.begin(), values.end());
  for (const ir::Value* input : traces.front().model->graph->inputs()) {
    if (ir::is_integer(input->type.elem_type) || input->type.elem_type == ir::DataType::kBool)
      add_marked(traces, input->name(), scope, dims);
  }
  for (const AddedInput& input : added) add_marked(traces, input.name, scope, dims);
  return dims;
}

std::vector<std::string> values_passed_over(const std::vector<Trace>& traces, std::span<const Variable> variables) {
  std::vector<std::string> names;
  for (const auto& [name, values] : traces.front().values) {
    const auto is_read = [&, input = name](const Variable& v) {
      return v.input == input && v.kind != Variable::Kind::kDim;
    };
    if (!values.values.empty() && std::ranges::none_of(variables, is_read)) names.push_back(name);
  }
  return names;
}

std::vector<dim::Dim> input_dims(const ir::Value& input, const std::vector<Trace>& traces,
                                 std::span<const Variable> variables) {
  std::vector<dim::Dim> dims;
  for (size_t axis = 0; axis < input.type.shape->size(); ++axis) {
    const ir::DeclaredDim& declared = (*input.type.shape)[axis];
    std::vector<int64_t> at;
    for (const Trace& trace : traces) {
      const ir::DeclaredDim& other = (*input_of(trace, input)->type.shape)[axis];
      if (other.value) at.push_back(*other.value);
    }
    // A size that has a name in some of the traces is known by its place.
    const auto here = [&](const Variable& v) {
      return v.kind == Variable::Kind::kDim && v.input == input.name() && v.index == static_cast<int64_t>(axis);
    };
    const auto same = [&](const Variable& v) {
      if (v.kind != Variable::Kind::kDim) return false;
      return declared.param.empty() ? v.at == at : dim::to_string(v.symbol) == declared.param;
    };
    auto variable = std::ranges::find_if(variables, here);
    if (variable == variables.end()) variable = std::ranges::find_if(variables, same);
    dims.push_back(variable != variables.end() ? variable->symbol
                   : declared.value            ? dim::Dim(*declared.value)
                                               : dim::Dim());
  }
  return dims;
}

std::string text_of_sizes(std::span<const Variable> variables, const std::vector<int64_t>& sizes) {
  std::string text;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (variables[i].varies())
      text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", dim::to_string(variables[i].symbol), sizes[i]);
  return text;
}

}  // namespace thaw::lifting
