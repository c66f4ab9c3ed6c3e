#include "thaw/check/size_ranges.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/dim/text/text.h"
#include "thaw/infer/size_names.h"
#include "thaw/infer/stated_sizes.h"

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

// All values of an entry as one arithmetic sequence: its hull. A list of values (n=1|2|7) widens to what lies between,
// so that a proof over it covers the list.
Hull hull_of(const dim::SpecEntry& entry) {
  const dim::Range& only = entry.ranges[0];
  if (entry.ranges.size() == 1) return {only.first, only.step, only.last};
  Hull h{only.first, 1, only.last};
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

// What is assumed of the sizes, an entry after the other: ranges first, so that expressions are made over them.
class Assumptions {
 public:
  Assumptions(const ir::Model& model, const dim::SpecGroup& given, SizeRanges& out)
      : model_(model), seen_(infer::infer(model, plain_)), names_(infer::size_names(model, seen_, plain_)), out_(out) {
    for (const dim::SpecEntry& entry : names_.resolve(given)) entries_.push_back({entry, true});
    // Of what the model states, that which speaks of sizes it has: verbs may have taken some of them out since.
    for (const dim::SpecEntry& entry : infer::stated_sizes(model))
      if (speaks_of_model(entry)) entries_.push_back({entry, false});
    for (Entry& entry : entries_)
      if (const auto found = entry.what.is_relation() ? std::nullopt : names_.find(entry.what.name))
        entry.what.name = found->text;
  }

  infer::InferOptions take() {
    each(&dim::SpecEntry::is_range, &Assumptions::limit);
    // What the spec leaves open is at least 1: empty tensors are seldom meant, and can be asked for (n=0..8).
    for (const dim::SymbolInfo& s : plain_.symbols())
      if (s.kind == dim::SymbolKind::kInputDim && !is_given(s.name))
        out_.scope.assume_range(out_.scope.symbol(s.name), 1, std::nullopt);
    for (const ir::Value* input : model_.graph->inputs())
      if (const ops::Fact& fact = seen_.fact(input); fact.rank() > 0) rows_[input] = in_scope(fact.dim(0));
    each(&dim::SpecEntry::is_expression, &Assumptions::equate);
    each(&dim::SpecEntry::is_relation, &Assumptions::hold);
    for (const Entry& entry : entries_)
      if (!entry.is_given) out_.assumed.push_back(dim::to_string(entry.what));
    return options();
  }

 private:
  struct Entry {
    dim::SpecEntry what;
    bool is_given;  // by the caller; else stated by the model
  };

  // Of several expressions for one size the caller's, which come first, stand in its place.
  void each(bool (dim::SpecEntry::*is_one)() const, void (Assumptions::*take_in)(const dim::SpecEntry&)) {
    for (const Entry& entry : entries_) {
      if (!(entry.what.*is_one)()) continue;
      try {
        (this->*take_in)(entry.what);
      } catch (const Error& error) {
        if (entry.is_given) throw;
        throw Error(ErrorCode::kInvalidArgument,
                    {.what = error.parts().what,
                     .where = fmt::format("'{}', which the model states of its inputs", dim::to_string(entry.what)),
                     .expected = "sizes that the model is for",
                     .next = "change the ranges, or take the entry out of the model's metadata"});
      }
    }
  }

  // The model's size in the scope of the proof.
  dim::Dim in_scope(dim::Dim size) { return size.is_known() ? dim::parse(dim::to_string(size), out_.scope) : size; }

  bool is_known(std::string_view name) const { return names_.find(name).has_value(); }

  bool speaks_of_model(const dim::SpecEntry& entry) {
    if (!entry.is_relation() && !is_known(entry.name) && !input_column(model_, entry.name)) return false;
    dim::Scope scratch;
    const auto known = [&](std::string_view name) { return is_known(name); };
    RowSums sums(model_, scratch);
    const dim::SumOverRows sum = [&](std::string_view body) { return sums.sum(body, {}, scratch.symbol("total")); };
    const auto reads = [&](const std::string& text) {
      try {
        dim::parse(text, scratch, known, sum);
        return true;
      } catch (const Error&) {
        return false;
      }
    };
    return (entry.expression.empty() || reads(entry.expression)) && (!entry.is_relation() || reads(entry.left));
  }

  bool is_given(const std::string& name) const {
    return std::ranges::any_of(entries_, [&](const Entry& e) { return e.is_given && e.what.name == name; });
  }

  dim::Dim symbol_of(const std::string& name) {
    const dim::SizeName found = names_.require(name, "--sizes");
    if (found.kind == dim::SizeName::Kind::kElement)
      return out_.scope.input_value(model_.graph->inputs()[found.input]->name(), found.index);
    const dim::Dim symbol = out_.scope.symbol(name);
    if (found.kind == dim::SizeName::Kind::kNumber)
      replaced_[model_.graph->inputs()[found.input]][static_cast<size_t>(found.index)] = symbol;
    return symbol;
  }

  void limit(const dim::SpecEntry& entry) {
    if (const auto column = input_column(model_, entry.name)) return out_.sums.limit(*column, hull_of(entry));
    assume(out_.scope, symbol_of(entry.name), hull_of(entry));
  }

  dim::Dim parse(const std::string& text, dim::Dim total = {}) {
    const dim::SumOverRows sum = [&](std::string_view body) {
      return out_.sums.sum(body, rows_, total.is_known() ? total : fresh_total());
    };
    return dim::parse(text, out_.scope, {}, sum);
  }

  dim::Dim fresh_total() { return out_.scope.fresh("sum_of_rows", dim::SymbolKind::kInputValue); }

  // A sum of rows that cannot be told apart stays the size itself; anything else stands in its place.
  void equate(const dim::SpecEntry& entry) {
    const dim::Dim symbol = symbol_of(entry.name);
    const bool is_sum =
        entry.expression.starts_with("sum(") && entry.expression.find(')') + 1 == entry.expression.size();
    const dim::Dim expression = parse(entry.expression, is_sum ? symbol : dim::Dim());
    if (dim::same(expression, symbol)) return;
    if (const auto before = out_.given.find(entry.name); before != out_.given.end()) {
      hold_equal(before->second, expression);
      return;
    }
    const int id = out_.scope.symbol_id(symbol);
    if (id < 0 || names_.require(entry.name, "--sizes").kind == dim::SizeName::Kind::kElement) {
      hold_equal(symbol, expression);
      return;
    }
    out_.given.emplace(entry.name, expression);
    relate(model_, plain_, seen_, entry.name, expression, replaced_);
    // Its own range holds of the expression.
    const dim::SymbolInfo info = out_.scope.symbols()[static_cast<size_t>(id)];
    if (info.lower != dim::SymbolInfo::kNoLower) hold_not_negative(expression - info.lower);
    if (info.upper) hold_not_negative(*info.upper - expression);
    if (info.modulus > 1)
      hold_equal(expression, info.modulus * dim::floor_div(expression - info.remainder, info.modulus) + info.remainder);
  }

  void hold(const dim::SpecEntry& entry) {
    // "num_patches==t*h*w": the expression stands in the place of the size, as with "=".
    if (const auto found = entry.is_equal ? names_.find(entry.left) : std::nullopt)
      return equate({.name = found->text, .ranges = {}, .expression = entry.expression});
    const dim::Dim left = with_given(parse(entry.left)), right = with_given(parse(entry.expression));
    hold_not_negative(right - left);
    if (entry.is_equal) hold_not_negative(left - right);
  }

  void hold_equal(dim::Dim a, dim::Dim b) {
    hold_not_negative(a - b);
    hold_not_negative(b - a);
  }

  void hold_not_negative(dim::Dim d) { out_.scope.assume_not_negative(d); }

  // With expressions in the place of the sizes that they stand for.
  dim::Dim with_given(dim::Dim d) {
    std::unordered_map<int, dim::Dim> replacements;
    for (const int id : dim::symbols_of(d)) {
      const auto at = out_.given.find(out_.scope.symbols()[static_cast<size_t>(id)].name);
      replacements[id] = at == out_.given.end() ? out_.scope.symbol_at(id) : at->second;
    }
    return dim::substitute(d, replacements);
  }

  infer::InferOptions options() {
    infer::InferOptions options;
    options.sizes_as_run = true;
    options.states_values = true;
    // any order: an entry for each input
    for (const auto& [input, axes] : replaced_) {
      ops::Shape shape;
      for (size_t axis = 0; axis < input->type.shape->size(); ++axis) {
        auto it = axes.find(axis);
        const ir::DeclaredDim& d = (*input->type.shape)[axis];
        if (it != axes.end())
          shape.push_back(it->second);
        else if (d.value && *d.value > 0)
          shape.push_back(*d.value);
        else if (const ops::Fact& fact = seen_.fact(input); fact.shape)
          shape.push_back(in_scope(fact.dim(static_cast<int>(axis))));
      }
      options.inputs[input] = ops::Fact::tensor(input->type.elem_type, std::move(shape));
    }
    return options;
  }

  const ir::Model& model_;
  dim::Scope plain_;  // of a first inference, which tells what symbols there are
  infer::Result seen_;
  dim::SizeNames names_;
  SizeRanges& out_;
  std::vector<Entry> entries_;
  std::map<const ir::Value*, dim::Dim> rows_;
  Replacements replaced_;
};

}  // namespace

SizeRanges::SizeRanges(const ir::Model& model) : sums(model, scope) {}

void infer_over(const ir::Model& model, const dim::SpecGroup& given, SizeRanges& out) {
  Assumptions assumptions(model, given, out);
  out.result = infer::infer(model, out.scope, assumptions.take());
}

dim::SpecGroup parse_dims(const std::string& text) {
  if (text.empty()) return {};
  auto groups = dim::parse_range_spec(text);
  if (groups.size() == 1) return groups.front();
  throw Error(ErrorCode::kInvalidArgument, {.what = "several groups of sizes are given",
                                            .where = "--sizes '" + text + "'",
                                            .expected = "one range for each size, such as n=1..8,h=64..1024:32",
                                            .next = "prove each group in a call of its own"});
}

}  // namespace thaw::checking
