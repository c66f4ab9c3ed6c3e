#include "thaw/fix/thaw_attempt.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/dim/text/text.h"
#include "thaw/frozen/frozen.h"
#include "thaw/frozen/rows.h"
#include "thaw/infer/facts_view.h"
#include "thaw/ops/rule/frozen_rule.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/rewrite/dim_emitter.h"

namespace thaw::fixing {

using dim::Dim;
using frozen::FrozenRole;
using frozen::FrozenSite;
using ir::Node;
using ir::Value;

namespace {

constexpr int kMostLooks = 4;

std::vector<std::pair<std::string, std::string>> replaced_at(const FrozenSite& site) {
  std::vector<std::pair<std::string, std::string>> replaced{
      {std::to_string(site.value), dim::to_string(site.expression)}};
  for (const frozen::FrozenSize& s : site.more)
    replaced.emplace_back(std::to_string(s.value), dim::to_string(s.expression));
  return replaced;
}

// The sizes that keep a site from being rewritten: those that several of its elements share, where there are such; the
// others may move once these stay.
std::set<std::string> sizes_to_blame(const FrozenSite& site) {
  std::set<std::string> shared;
  if (site.is_doubtful()) shared = sizes_in(site.expression);
  for (const frozen::FrozenSize& more : site.more)
    if (more.is_doubtful()) shared.merge(sizes_in(more.expression));
  return shared.empty() ? sizes_in(site) : shared;
}

// Whether several sizes may be one of its numbers.
bool is_doubtful(const FrozenSite& site) {
  return site.is_doubtful() || std::ranges::any_of(site.more, &frozen::FrozenSize::is_doubtful);
}

// Why such a number is not written.
std::string doubt_of(const FrozenSite& site) {
  std::string numbers, expressions;
  bool is_shared = false, by_chance = false;
  const auto add = [&](const auto& size) {
    if (!size.is_doubtful()) return;
    is_shared |= size.product;
    by_chance |= size.by_chance;
    const std::string text = dim::to_string(size.expression);
    numbers += fmt::format("{}{}", numbers.empty() ? "" : ", ", size.value);
    if (expressions.find(text) == std::string::npos) expressions += (expressions.empty() ? "" : " and ") + text;
  };
  add(site);
  for (const frozen::FrozenSize& more : site.more) add(more);
  if (is_shared)
    return fmt::format(
        "{} is ambiguous: several elements share {}, and one model does not determine which of them grow with it",
        numbers, expressions);
  if (!by_chance)
    return fmt::format(
        "{0} is ambiguous: it is next to a 1, and one model does not determine which of the two grows with {1}",
        numbers, expressions, numbers);
  return fmt::format("{} is ambiguous: it may be {} or another expression, which one model does not determine", numbers,
                     expressions);
}

// A node with its frozen sizes thawed.
class Thawed final : public infer::FactsView<ops::ThawedView> {
 public:
  Thawed(const frozen::FrozenAnalysis& analysis, const ir::Model& model, const Node& node)
      : FactsView(analysis.result, model, node), assumed_sizes_(analysis.assumed_sizes) {}
  const dim::Assignment& assumed_sizes() const override { return assumed_sizes_; }

 private:
  const dim::Assignment& assumed_sizes_;
};

class SizeThawer {
 public:
  SizeThawer(ir::Model& model, const std::set<std::string>& held) : model_(model), graph_(*model.graph), held_(held) {}

  Attempt run() {
    analysis_ = frozen::find_frozen(model_, scope_, held_);
    if (analysis_.sites.empty()) return std::move(out_);
    describe_inputs();
    using rewrite::DimEmitter;
    if (nodes_.opset() >= DimEmitter::kOpsetOfSome)
      emitter_ = std::make_unique<DimEmitter>(nodes_, model_, input_shapes_, DimEmitter::kOpsetOfSome);
    for (const FrozenSite& site : analysis_.sites) visit(site);
    return std::move(out_);
  }

  // Whether what was rewritten has sizes now that the look before it took for numbers.
  bool knows_more() const { return knows_more_; }

  // A model all of whose inputs were numbers: those that the analysis took as sizes are named.
  void open_inputs(Attempt& all) {
    if (!analysis_.all_inputs_static) return;
    for (Value* input : graph_.inputs()) {
      const ops::Fact& fact = analysis_.result.fact(input);
      if (!fact.shape || !input->type.shape || input->initializer()) continue;
      for (size_t axis = 0; axis < fact.shape->size(); ++axis) {
        const Dim size = (*fact.shape)[axis];
        if (scope_.symbol_id(size) < 0) continue;
        const std::string name = dim::to_string(size);
        const ir::DeclaredDim& declared = (*input->type.shape)[axis];
        all.freed.insert(name);
        all.opened.insert(name);
        all.changes.made.push_back({"THAW010",
                                    input->name(),
                                    fmt::format("axis {}", axis),
                                    {{std::to_string(declared.value.value_or(0)), fmt::format("'{}'", name)}}});
        input->set_dim(axis, {{}, name, declared.denotation});
      }
    }
  }

 private:
  void describe_inputs() {
    for (const Value* input : graph_.inputs()) {
      const ops::Fact& fact = analysis_.result.fact(input);
      if (!fact.shape) continue;
      input_shapes_[input] = *fact.shape;
      for (size_t axis = 0; axis < fact.shape->size(); ++axis)
        if (scope_.symbol_id((*fact.shape)[axis]) >= 0)
          out_.axes[dim::to_string((*fact.shape)[axis])].push_back(fmt::format("axis {} of '{}'", axis, input->name()));
    }
    for (const auto& [id, size] : analysis_.assumed_sizes)
      out_.sizes[scope_.symbols()[static_cast<size_t>(id)].name] = size;
  }

  void leave(const FrozenSite& site, const std::set<std::string>& sizes, const std::string& why) {
    Change left{.kind = code_of(site.role), .location = location_of(site), .why = why};
    for (const std::string& size : sizes) out_.bound.push_back({size, left});
    out_.changes.left.push_back(std::move(left));
  }

  // Of sizes that a constant's 1 may stand for as well, those that were 1: where they stay static, the 1 may be known.
  std::set<std::string> first_to_blame(const FrozenSite& site) const {
    std::set<std::string> all = sizes_to_blame(site);
    const auto is_plain = [](const auto& size) { return size.product || size.by_chance; };
    if (is_plain(site) || std::ranges::any_of(site.more, is_plain)) return all;
    std::set<std::string> ones;
    for (const std::string& name : all)
      if (const auto size = out_.sizes.find(name); size != out_.sizes.end() && size->second == 1) ones.insert(name);
    return ones.empty() ? all : ones;
  }

  void visit(const FrozenSite& site) {
    switch (site.role) {
      case FrozenRole::kTable:
        if (const std::set<std::string> stuck = repeat_rows(site); site.by_name || !stuck.empty())
          leave(site, stuck, "a table: one model does not determine how it grows with the size");
        return;
      case FrozenRole::kIndex:
        return leave(site, sizes_in(site), "a table: one model does not determine how it grows with the size");
      case FrozenRole::kWeight:
        // A size that an input declares free, and a weight fixes, is the network's: it holds nothing back.
        return leave(site, analysis_.all_inputs_static ? sizes_in(site) : std::set<std::string>(),
                     "a trained weight fixes this size");
      case FrozenRole::kShape:
      case FrozenRole::kSplit:
      case FrozenRole::kSlice:
      case FrozenRole::kAttribute:
        break;
    }
    const std::set<std::string> sizes = sizes_in(site);
    std::vector<std::string> staying;
    std::ranges::set_intersection(sizes, held_, std::back_inserter(staying));
    if (!staying.empty())
      return leave(site, sizes,
                   fmt::format("it holds a size of '{}', which stays static", fmt::join(staying, "' and '")));
    if (site.by_name)
      return leave(site, {},
                   fmt::format("an output axis is declared '{}' but is {} at every input size: one model does not "
                               "determine how it grows",
                               dim::to_string(site.expression), site.value));
    if (is_doubtful(site)) return leave(site, first_to_blame(site), doubt_of(site));
    if (!site.constant) return leave(site, sizes, "the number is an attribute or is computed");
    thaw(site);
  }

  // A table that repeats its rows for each of what a size counts: they are repeated by that size, or broadcast. The sizes that it
  // does not do so for, where there are such.
  std::set<std::string> repeat_rows(const FrozenSite& site) {
    std::set<std::string> sizes = sizes_in(site);
    if (!site.constant || !emitter_ || site.locations.empty() || is_doubtful(site)) return sizes;
    std::map<const Node*, Rows> readers;
    std::set<std::string> stuck;
    for (const frozen::FrozenElement& location : site.locations)
      if (!readers[location.reader].add(location.at, location.expression)) return sizes;
    // any order: sets of names are joined
    for (auto& [reader, rows] : readers) stuck.merge(rows.find(*site.constant->constant()));
    const auto is_held = [&](const std::string& size) { return held_.contains(size); };
    if (!stuck.empty()) return stuck;
    if (std::ranges::any_of(sizes, is_held)) return sizes;
    int done = 0;
    const std::vector<ir::Use> uses(site.constant->uses().begin(), site.constant->uses().end());
    for (const ir::Use& use : uses) {
      const auto rows = readers.find(use.node);
      if (rows == readers.end()) continue;
      if (!std::ranges::all_of(rows->second.repeats(), [&](Dim d) { return emitter_->can_emit(d); })) return sizes;
      use.node->set_input(use.index, rows_for(use, rows->second, site.constant->name()));
      ++done;
    }
    if (done == 0) return sizes;
    out_.freed.merge(sizes_in(site));
    knows_more_ = true;
    out_.changes.made.push_back({code_of(site.role),
                                 site.constant->name(),
                                 {},
                                 {{fmt::format("{} repeated positions", site.value),
                                   fmt::format("what repeats by {}", dim::to_string(site.expression))}},
                                 done});
    return {};
  }

  // What a reader takes of a table: the axes that sizes count, and the rows that are the same along them.
  class Rows {
   public:
    // False where one axis would be two sizes.
    bool add(int axis, Dim size) {
      const auto [at, is_new] = sizes_.try_emplace(axis, size);
      return is_new || dim::same(at->second, size);
    }
    // The sizes along which they are not the same.
    std::set<std::string> find(const ir::Tensor& table) {
      std::set<std::string> stuck;
      repeats_.assign(table.dims.size(), Dim(1));
      rows_ = table;
      for (const auto& [axis, size] : sizes_) {
        if (const auto repeated = frozen::repeated_along(rows_, axis, size)) {
          rows_ = frozen::first_along(rows_, axis, repeated->count);
          repeats_[static_cast<size_t>(axis)] = repeated->times;
        } else {
          stuck.merge(sizes_in(size));
        }
      }
      return stuck;
    }
    const std::map<int, Dim>& sizes() const { return sizes_; }
    const ir::Tensor& rows() const { return rows_; }
    const std::vector<Dim>& repeats() const { return repeats_; }

   private:
    std::map<int, Dim> sizes_;
    ir::Tensor rows_;
    std::vector<Dim> repeats_;
  };

  Value* rows_for(const ir::Use& use, const Rows& rows, const std::string& name) {
    ir::Tensor kept = rows.rows();
    kept.name = graph_.unique_name(name + "_rows");
    Value* table = graph_.add_initializer(std::move(kept));
    return broadcasts(use, rows) ? table : emitter_->at().emit("Tile", {table, emitter_->emit_shape(rows.repeats())});
  }

  // Whether another operand of an elementwise node has all the sizes, so that single rows are repeated by the node itself.
  bool broadcasts(const ir::Use& use, const Rows& rows) const {
    const ops::Operator* op = ops::registry().find(*use.node);
    if (!op || !op->is_elementwise()) return false;
    const int rank = static_cast<int>(rows.rows().dims.size());
    return std::ranges::all_of(rows.sizes(), [&](const auto& size) {
      const auto& [axis, expression] = size;
      if (rows.rows().dims[static_cast<size_t>(axis)] != 1) return false;
      for (int k = 0; k < std::ssize(use.node->inputs()); ++k) {
        const Value* other = use.node->input(k);
        if (k == use.index || !other || other->constant()) continue;
        const ops::Fact& fact = analysis_.result.fact(other);
        const int at = fact.rank() - rank + axis;
        if (at >= 0 && fact.rank() > at && dim::same(fact.dim(at), expression)) return true;
      }
      return false;
    });
  }

  // Where a constant's numbers are read as sizes, by the constant itself or by way of nodes that pass them on (an element of a
  // Concat), and how many read them as something else.
  struct Readers {
    std::vector<ir::Use> of_sizes;
    int others = 0;
  };
  Readers readers_of(const Value& constant) const {
    Readers readers;
    std::vector<const Value*> open{&constant};
    std::set<std::pair<const Node*, int>> seen;
    while (!open.empty()) {
      const Value* value = open.back();
      open.pop_back();
      for (const ir::Use& use : value->uses()) {
        if (!seen.emplace(use.node, use.index).second) continue;
        const ops::Operator* op = ops::registry().find(*use.node);
        const ops::Role role = ops::role_of(*use.node, use.index);
        if (use.node->graph() != &graph_) {
          ++readers.others;
        } else if (ops::holds_size(role)) {
          readers.of_sizes.push_back(use);
        } else if (op && op->passes_numbers() && role == ops::Role::kData && use.node->output(0)) {
          open.push_back(use.node->output(0));
        } else {
          ++readers.others;
        }
      }
      if (value->is_output()) ++readers.others;
    }
    return readers;
  }

  static bool has_free_size(const ops::Fact& fact) {
    return fact.shape && std::ranges::any_of(*fact.shape, [](Dim d) { return !d.is_constant(); });
  }

  // One constant may serve many nodes: each gets the target that its own operands demand.
  void thaw(const FrozenSite& site) {
    const Readers readers = readers_of(*site.constant);
    int done = 0, open = readers.others;
    for (const ir::Use& use : readers.of_sizes) {
      const bool is_done = thaw_operand(*use.node, use.index, site);
      is_done ? ++done : ++open;
      knows_more_ |= is_done && !has_free_size(analysis_.result.fact(use.node->output(0)));
    }
    if (done > 0) {
      out_.freed.merge(sizes_in(site));
      out_.changes.made.push_back({code_of(site.role), site.constant->name(), {}, replaced_at(site), /*nodes=*/done});
    }
    if (open == 0) return;
    const std::string who = fmt::format("{} of its readers {}", open, open == 1 ? "has" : "have");
    leave(site, sizes_in(site),
          nodes_.opset() >= rewrite::DimEmitter::kOpsetOfAll
              ? who + " no shape that the graph proves"
              : fmt::format("{} no shape that the graph proves and opset {} computes", who, nodes_.opset()));
  }

  // The operand becomes what its operator's size rule says: plain numbers where they do, else computed.
  bool thaw_operand(Node& node, int input, const FrozenSite& site) {
    Thawed view(analysis_, model_, node);
    const ops::Operator& op = *ops::registry().find(node);
    auto sizes = op.sizes ? op.sizes(view, input) : thawed_shape(op, view, input, site);
    const auto now = view.dims_from(input);
    if (!sizes || !now || now->size() != sizes->size()) return false;
    bool changes = false;
    for (size_t k = 0; k < sizes->size(); ++k) {
      Dim& size = (*sizes)[k];
      if (size.is_unknown()) size = (*now)[k];
      if (size.is_unknown()) return false;
      changes |= !dim::same(size, (*now)[k]);
    }
    if (!changes) return false;
    const std::string name = graph_.unique_name(node.output(0)->name() + "_sizes");
    if (std::ranges::all_of(*sizes, [](Dim d) { return d.is_constant(); })) {
      std::vector<int64_t> numbers;
      for (const Dim d : *sizes) numbers.push_back(*d.constant());
      node.set_input(
          input, graph_.add_initializer(ir::Tensor::from_int64(name, {static_cast<int64_t>(numbers.size())}, numbers)));
      return true;
    }
    if (!emitter_ || !std::ranges::all_of(*sizes, [&](Dim d) { return emitter_->can_emit(d); })) return false;
    node.set_input(input, emitter_->emit_shape(*sizes));
    return true;
  }

  // The shape of an output, with the sizes of the site in place of their numbers; a number that stands there twice may be
  // either's, where it was not followed to one of them.
  std::optional<std::vector<Dim>> thawed_shape(const ops::Operator& op, ops::ThawedView& view, int input,
                                               const FrozenSite& site) const {
    const auto now = view.ints(input);
    const bool repeats = op.operands[input] == ops::Role::kRepeats;
    if ((op.operands[input] != ops::Role::kShape && !repeats) || !now) return std::nullopt;
    std::vector<Dim> sizes(now->begin(), now->end());
    const ops::Fact& data = view.input(0);
    // What the data has at that position of the result, from the last on: what it has itself, it is not given.
    const auto of_data = [&](size_t k) {
      const size_t from_end = now->size() - k;
      return op.operands[0] == ops::Role::kData && data.has_rank() && from_end <= data.shape->size()
                 ? data.dim(static_cast<int>(data.shape->size() - from_end))
                 : Dim(1);
    };
    // Whether the result has that size from the element.
    const auto gives = [&](size_t k, int64_t value) {
      const Dim own = of_data(k);
      return repeats ? (*now)[k] > 1 && dim::same(own * Dim((*now)[k]), value)
                     : (*now)[k] == value && !own.is_constant(value);
    };
    const auto put = [&](size_t k, Dim expression) {
      const auto size = repeats ? dim::exact_div(expression, of_data(k)) : expression;
      if (!size) return true;
      const bool is_free = !sizes[k].is_constant();
      if (is_free && !dim::same(sizes[k], *size)) return false;
      sizes[k] = *size;
      return true;
    };
    std::set<int64_t> values;
    for (const frozen::FrozenElement& location : site.locations) {
      const auto k = static_cast<size_t>(location.at);
      const auto value = dim::evaluate(location.expression, view.assumed_sizes());
      if (location.reader != &view.node() || k >= now->size() || !value || !gives(k, *value)) continue;
      if (!put(k, location.expression)) return std::nullopt;
      values.insert(*value);
    }
    const auto put_by_number = [&](int64_t value, Dim expression) {
      if (values.contains(value)) return;
      std::vector<size_t> locations;
      for (size_t k = 0; k < now->size(); ++k)
        if (gives(k, value)) locations.push_back(k);
      if (locations.size() == 1) put(locations.front(), expression);
    };
    put_by_number(site.value, site.expression);
    for (const frozen::FrozenSize& more : site.more) put_by_number(more.value, more.expression);
    return sizes;
  }

  ir::Model& model_;
  ir::Graph& graph_;
  const std::set<std::string>& held_;
  Attempt out_;
  bool knows_more_ = false;
  dim::Scope scope_;
  frozen::FrozenAnalysis analysis_;
  std::unordered_map<const Value*, ops::Shape> input_shapes_;
  rewrite::Emitter nodes_{model_, "thaw"};
  std::unique_ptr<rewrite::DimEmitter> emitter_;
};

// What an earlier look made, and what it left that the later one did not fix: what showed it may show nothing now.
void add_before(const Attempt& earlier, Attempt& later) {
  const auto is_fixed = [&](const Change& left) {
    return std::ranges::find(later.changes.made, left.location, &Change::location) != later.changes.made.end();
  };
  const auto is_said = [&](const Change& left) {
    return std::ranges::find(later.changes.left, left.location, &Change::location) != later.changes.left.end();
  };
  for (const Bound& bound : earlier.bound)
    if (!is_fixed(bound.left)) later.bound.push_back(bound);
  for (const Change& left : earlier.changes.left)
    if (!is_fixed(left) && !is_said(left)) later.changes.left.push_back(left);
  later.changes.made.insert(later.changes.made.begin(), earlier.changes.made.begin(), earlier.changes.made.end());
  later.freed.insert(earlier.freed.begin(), earlier.freed.end());
}

}  // namespace

Attempt attempt_to_thaw(ir::Model& model, const std::set<std::string>& held) {
  Attempt all;
  // What was rewritten may tell what stands behind it: the target that a batch of tables is given follows from their sizes.
  for (int round = 1; round <= kMostLooks; ++round) {
    SizeThawer thawer(model, held);
    Attempt found = thawer.run();
    const bool is_last = round == kMostLooks || !thawer.knows_more() || found.bound.empty();
    add_before(all, found);
    all = std::move(found);
    if (!is_last) continue;
    if (all.changes.modified()) thawer.open_inputs(all);
    break;
  }
  return all;
}

}  // namespace thaw::fixing
