#include "thaw/check/size_ranges.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/dim/text/text.h"
#include "thaw/infer/size_names.h"

namespace thaw::checking {

namespace {

// "<input>_dim<axis>" for an axis of a model input; nullopt for other names.
std::optional<std::pair<const ir::Value*, size_t>> input_axis(const ir::Model& model, std::string_view name) {
  for (const ir::Value* input : model.graph->inputs()) {
    if (input->initializer() || !input->type.shape) continue;
    for (size_t axis = 0; axis < input->type.shape->size(); ++axis)
      if (name == fmt::format("{}_dim{}", input->name(), axis)) return std::pair{input, axis};
  }
  return std::nullopt;
}

// "NAME[:,j]": column j of an integer input [rows, columns], which is element j of every row.
struct InputColumn {
  const ir::Value* input;
  int64_t index, columns;
};

std::optional<InputColumn> input_column(const ir::Model& model, const dim::SizeNames& names, std::string_view name) {
  const size_t open = name.find("[:,");
  if (open == std::string_view::npos || name.back() != ']') return std::nullopt;
  const auto found = names.find(fmt::format("{}[{}", name.substr(0, open), name.substr(open + 3)));
  if (!found || found->kind != dim::SizeName::Kind::kElement) return std::nullopt;
  const ir::Value* input = model.graph->inputs()[found->input];
  if (!input->type.shape || input->type.shape->size() != 2) return std::nullopt;
  const auto columns = (*input->type.shape)[1].value;
  if (!columns || found->index >= *columns) return std::nullopt;
  return InputColumn{input, found->index, *columns};
}

// Rows of an input whose elements are followed one by one; with more of them, or an open number, none are.
constexpr int64_t kMostRows = 64;

// All values of an entry as one arithmetic sequence: its hull. A list of values (n=1|2|7) widens to what lies between,
// so that a proof over it covers the list.
struct Hull {
  int64_t first, step;
  std::optional<int64_t> last;
};

Hull hull_of(const dim::SpecEntry& entry) {
  if (entry.ranges.size() == 1) return {entry.ranges[0].first, entry.ranges[0].step, entry.ranges[0].last};
  Hull h{entry.ranges[0].first, 1, entry.ranges[0].last};
  for (const dim::Range& r : entry.ranges) {
    h.first = std::min(h.first, r.first);
    if (!h.last || !r.last)
      h.last = std::nullopt;
    else
      h.last = std::max(*h.last, *r.last);
  }
  return h;
}

using Replacements = std::map<const ir::Value*, std::map<size_t, dim::Dim>>;

// Puts the expression wherever an input axis is the size of that name ("patches=t*h*w").
void relate(const ir::Model& model, const dim::Scope& plain, const infer::Result& seen, const std::string& name,
            dim::Dim expression, Replacements& replaced) {
  auto known = plain.find(name);
  for (const ir::Value* input : model.graph->inputs()) {
    const ops::Fact& fact = seen.fact(input);
    for (int axis = 0; axis < fact.rank(); ++axis)
      if (known && dim::same(fact.dim(axis), *known)) replaced[input][static_cast<size_t>(axis)] = expression;
  }
  if (auto axis = input_axis(model, name)) replaced[axis->first][axis->second] = expression;
}

}  // namespace

void infer_over(const ir::Model& model, const dim::SpecGroup& given, SizeRanges& out) {
  // A first inference tells which symbols there are.
  dim::Scope plain;
  infer::Result seen = infer::infer(model, plain);
  infer::InferOptions options;
  options.sizes_as_run = true;
  Replacements replaced;
  const auto assume = [&](dim::Dim symbol, const Hull& hull) {
    out.scope.assume_range(symbol, hull.first, hull.last);
    if (hull.step > 1)
      out.scope.assume_divisible(symbol, hull.step, dim::mod(hull.first, hull.step).constant().value_or(0));
  };
  const dim::SizeNames names = infer::size_names(model, seen, plain);
  const dim::SpecGroup spec = names.resolve(given);
  for (const dim::SpecEntry& entry : spec) {
    dim::Dim symbol;
    if (const auto column = input_column(model, names, entry.name); column && entry.expression.empty()) {
      for (int64_t row = 0; row < kMostRows; ++row) {
        const int64_t element = row * column->columns + column->index;
        assume(out.scope.input_value(column->input->name(), element), hull_of(entry));
      }
      continue;
    }
    const dim::SizeName found = names.require(entry.name, "--dims");
    switch (found.kind) {
      case dim::SizeName::Kind::kElement:
        symbol = out.scope.input_value(model.graph->inputs()[found.input]->name(), found.index);
        break;
      case dim::SizeName::Kind::kSymbol:
        symbol = out.scope.symbol(entry.name);
        break;
      case dim::SizeName::Kind::kNumber:
        symbol = out.scope.symbol(entry.name);
        replaced[model.graph->inputs()[found.input]][static_cast<size_t>(found.index)] = symbol;
        break;
    }
    if (!entry.expression.empty()) {
      auto expression = dim::parse(entry.expression, out.scope);
      relate(model, plain, seen, entry.name, expression, replaced);
      continue;
    }
    assume(symbol, hull_of(entry));
  }
  // What the spec leaves open is at least 1: empty tensors are seldom meant, and can be asked for (n=0..8).
  for (const dim::SymbolInfo& s : plain.symbols()) {
    if (s.kind != dim::SymbolKind::kInputDim) continue;
    bool named = std::any_of(spec.begin(), spec.end(), [&](const dim::SpecEntry& e) { return e.name == s.name; });
    if (!named) out.scope.assume_range(out.scope.symbol(s.name), 1, std::nullopt);
  }
  for (const auto& [input, axes] : replaced) {
    ops::Shape shape;
    for (size_t axis = 0; axis < input->type.shape->size(); ++axis) {
      auto it = axes.find(axis);
      const ir::DeclaredDim& d = (*input->type.shape)[axis];
      if (it != axes.end())
        shape.push_back(it->second);
      else if (d.value && *d.value > 0)
        shape.push_back(*d.value);
      else if (const ops::Fact& fact = seen.fact(input); fact.shape)
        shape.push_back(dim::parse(dim::to_string(fact.dim(static_cast<int>(axis))), out.scope));
    }
    options.inputs[input] = ops::Fact::tensor(input->type.elem_type, std::move(shape));
  }
  out.result = infer::infer(model, out.scope, options);
}

dim::SpecGroup parse_dims(const std::string& text) {
  if (text.empty()) return {};
  auto groups = dim::parse_range_spec(text);
  if (groups.size() == 1) return groups.front();
  throw Error(ErrorCode::kInvalidArgument, {.what = "several groups of sizes are given",
                                            .where = "--dims '" + text + "'",
                                            .expected = "one range for each size, such as n=1..8,h=64..1024:32",
                                            .next = "prove each group in a call of its own"});
}

}  // namespace thaw::checking
