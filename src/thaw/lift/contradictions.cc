#include "thaw/lift/contradictions.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <unordered_map>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/infer/infer.h"
#include "thaw/lift/table/input_lines.h"
#include "thaw/lift/table/table_sizes.h"

namespace thaw::lifting {
namespace {

constexpr size_t kMostSizes = 16;

// Sizes to try: for each, the value of every variable.
class Probes {
 public:
  explicit Probes(std::span<const Variable> variables) : variables_(variables) {
    // A size that follows from others (patches of grids, a cache and what is new) is no size of its own.
    std::vector<Variable> others;
    for (const Variable& v : variables)
      if (v.kind == Variable::Kind::kValue) others.push_back(v);
    for (const Variable& v : variables) {
      const bool is_dim = v.kind == Variable::Kind::kDim;
      follows_.push_back(is_dim && v.varies() ? out_of(v, others) : dim::Dim());
      if (is_dim) others.push_back(v);
    }
  }

  // Mixtures of the traces' sizes, and others between them. What lies beyond the traces may not exist: a lookup
  // table ends somewhere.
  std::vector<std::vector<int64_t>> draw() const {
    std::mt19937_64 random(1);
    std::vector<std::vector<int64_t>> all;
    for (size_t n = 0; n < kMostSizes; ++n) {
      std::vector<int64_t> sizes;
      for (const Variable& v : variables_) sizes.push_back(n % 2 == 0 ? mixed(v, random) : other(v, random));
      dim::Assignment at;
      for (size_t i = 0; i < sizes.size(); ++i)
        if (const int id = dim::scope_of(variables_[i].symbol)->symbol_id(variables_[i].symbol); id >= 0)
          at[id] = sizes[i];
      for (size_t i = 0; i < sizes.size(); ++i)
        if (follows_[i].is_known()) sizes[i] = dim::evaluate(follows_[i], at).value_or(sizes[i]);
      all.push_back(std::move(sizes));
    }
    return all;
  }

 private:
  static dim::Dim out_of(const Variable& v, const std::vector<Variable>& others) {
    if (const auto found = Solver(others).solve(v.at)) return *found;
    if (const auto found = sum_of_two(v.at, others)) return *found;
    return sum_of_lines(v.at, others).value_or(dim::Dim());
  }

  static int64_t mixed(const Variable& v, std::mt19937_64& random) { return v.at[random() % v.at.size()]; }
  static int64_t other(const Variable& v, std::mt19937_64& random) {
    constexpr int64_t kLargest = int64_t{1} << 31;  // what is beyond it is no size, and its differences overflow
    if (std::ranges::any_of(v.at, [](int64_t at) { return at < -kLargest || at > kLargest; })) return mixed(v, random);
    int64_t unit = 0;
    for (const int64_t at : v.at) unit = std::gcd(unit, at);
    const auto [low, high] = std::minmax_element(v.at.begin(), v.at.end());
    if (unit == 0 || *low == *high) return *low;
    const int64_t steps = (*high - *low) / unit + 1;
    return *low + unit * static_cast<int64_t>(random() % static_cast<uint64_t>(steps));
  }

  std::span<const Variable> variables_;
  std::vector<dim::Dim> follows_;
};

// The inputs of the lifted model as inference sees them at these sizes.
infer::InferOptions at_sizes(const ir::Model& lifted, std::span<const Variable> variables,
                             const std::vector<int64_t>& sizes) {
  std::map<std::string, int64_t> dims;
  std::map<std::string, std::map<int64_t, int64_t>> values;  // by input and element
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (variables[i].kind == Variable::Kind::kDim) dims[dim::to_string(variables[i].symbol)] = sizes[i];
    if (variables[i].kind == Variable::Kind::kValue) values[variables[i].input][variables[i].index] = sizes[i];
  }
  infer::InferOptions options;
  for (const ir::Value* input : lifted.graph->inputs()) {
    if (input->initializer() || !input->type.shape) continue;
    ops::Shape shape;
    for (const ir::DeclaredDim& declared : *input->type.shape) {
      const auto known = dims.find(declared.param);
      if (declared.value) shape.push_back(dim::Dim(*declared.value));
      if (!declared.value && known != dims.end()) shape.push_back(dim::Dim(known->second));
    }
    if (shape.size() != input->type.shape->size()) continue;
    ops::Fact fact = ops::Fact::tensor(input->type.elem_type, std::move(shape));
    const auto given = values.find(input->name());
    if (given != values.end() && fact.num_elements().is_constant(static_cast<int64_t>(given->second.size()))) {
      ops::Elements elements;
      for (const auto& [index, value] : given->second) elements.push_back(ops::Element::integer(dim::Dim(value)));
      fact.elements = std::make_shared<const ops::Elements>(std::move(elements));
    }
    options.inputs[input] = std::move(fact);
  }
  return options;
}

std::string text_of(std::span<const Variable> variables, const std::vector<int64_t>& sizes) {
  std::string text;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (variables[i].varies())
      text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", dim::to_string(variables[i].symbol), sizes[i]);
  return text;
}

}  // namespace

Contradictions find_contradictions(const ir::Model& lifted, std::span<const Variable> variables,
                                   const std::unordered_set<const ir::Node*>& traced) {
  Contradictions out;
  if (std::none_of(variables.begin(), variables.end(), [](const Variable& v) { return v.varies(); })) return out;
  std::unordered_map<const ir::Node*, size_t> places;
  for (const ir::Node* node : lifted.graph->nodes()) places.emplace(node, places.size());
  for (const std::vector<int64_t>& sizes : Probes(variables).draw()) {
    dim::Scope scope;
    const infer::Result inferred = infer::infer(lifted, scope, at_sizes(lifted, variables, sizes));
    if (!inferred.problems().empty() && !traced.contains(inferred.problems().front().node)) continue;
    ++out.sizes;
    out.num_sound_nodes += places.size();
    if (inferred.problems().empty()) continue;
    ++out.broken;
    const infer::Problem& problem = inferred.problems().front();
    const auto place = places.find(problem.node);
    if (place != places.end()) out.num_sound_nodes -= places.size() - place->second;
    if (out.first.empty())
      out.first = fmt::format("{}: {}, at {}", problem.node->describe(), problem.message, text_of(variables, sizes));
  }
  return out;
}

}  // namespace thaw::lifting
