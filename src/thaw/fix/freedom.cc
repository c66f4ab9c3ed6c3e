#include "thaw/fix/freedom.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "thaw/dim/prove/solve.h"
#include "thaw/dim/text/text.h"

namespace thaw::fixing {

using dim::Assignment;
using dim::Dim;
using ops::Obligation;

namespace {

constexpr int64_t kUnobserved = 48;  // what a size is taken to be that nothing tells: strides and patches divide it

std::string text_of(const Obligation& o) {
  return fmt::format("{} {} {} {}", o.node->describe(), dim::name_of(o.kind), dim::to_string(o.a), dim::to_string(o.b));
}

std::string statement_of(const Obligation& o) {
  std::string_view relation = "{} and {} to agree";
  switch (o.kind) {
    case dim::Relation::kEqual:
    case dim::Relation::kBroadcastable:
      relation = "{} to equal {}";
      break;
    case dim::Relation::kDivisible:
      relation = "{} to be a multiple of {}";
      break;
    case dim::Relation::kAtMost:
      relation = "{} to be at most {}";
      break;
  }
  const std::string a = dim::to_string(o.a), b = dim::to_string(o.b);
  return fmt::format("it needs {}, true at the export's size only", fmt::format(fmt::runtime(relation), a, b));
}

// A statement about sizes, tried at sizes near the model's own.
class Statement {
 public:
  Statement(const Obligation& o, Assignment own) : o_(o), own_(std::move(own)) {
    for (const Dim side : {o.a, o.b})
      for (const int id : dim::symbols_of(side)) symbols_.insert(id);
    for (const int id : symbols_) own_.emplace(id, kUnobserved);
    own_a_ = dim::evaluate(o.a, own_);
    own_b_ = dim::evaluate(o.b, own_);
  }

  const std::set<int>& symbols() const { return symbols_; }

  // Whether it holds at some other value of the symbol: with the others as they were, grown as much as it, or one of
  // them made to fit.
  bool lets_move(int id) const {
    const int64_t now = own_.at(id);
    std::vector<int64_t> others{now * 2, now * 3, now * 4, now / 2};
    // Beside a number, sizes next to the own one only show what is rounded away.
    if (!o_.a.is_constant() && !o_.b.is_constant())
      for (const int64_t step : {1, 2, 4, 8, 16, 32, 64, -1, -2}) others.push_back(now + step);
    for (const int64_t other : others) {
      if (other < 1 || other == now) continue;
      Assignment alone = own_, together = own_;
      alone[id] = other;
      if (holds(alone)) return true;
      for (auto& [symbol, value] : together) value = std::max<int64_t>(1, value * other / now);
      if (holds(together)) return true;
      for (const int third : symbols_)
        if (third != id && fits(alone, third)) return true;
    }
    return false;
  }

 private:
  bool fits(const Assignment& at, int symbol) const {
    const auto solved = dim::solve_for(dim::scope_of(o_.a.is_symbolic() ? o_.a : o_.b)->symbol_at(symbol), o_.a, o_.b);
    const auto value = solved ? dim::evaluate(*solved, at) : std::nullopt;
    if (!value || *value < 1) return false;
    Assignment changed = at;
    changed[symbol] = *value;
    return holds(changed);
  }

  bool holds(const Assignment& at) const {
    const auto a = dim::evaluate(o_.a, at), b = dim::evaluate(o_.b, at);
    if (!a || !b) return false;
    // A size that shrinks to 1 goes with every other, which says nothing.
    if (o_.kind == dim::Relation::kBroadcastable)
      return *a == *b || (*a == 1 && own_a_ == 1) || (*b == 1 && own_b_ == 1);
    return dim::holds(o_.kind, *a, *b);
  }

  const Obligation& o_;
  Assignment own_;
  std::set<int> symbols_;
  std::optional<int64_t> own_a_, own_b_;
};

// The rewritten model, looked at as one that comes from elsewhere.
class Examination {
 public:
  Examination(const ir::Model& model, const Attempt& attempt) : model_(model), attempt_(attempt) {
    result_ = infer::infer(model, scope_);
    for (const auto& [name, size] : attempt.sizes)
      if (const auto symbol = scope_.find(name)) own_[scope_.symbol_id(*symbol)] = size;
  }

  void look_for_frozen() {
    dim::Scope scope;
    for (const frozen::FrozenSite& site : frozen::find_frozen(model_, scope).sites) {
      // A size that an input declares free, and a weight fixes, is the network's; one that a weight fixes by way of a
      // constant that was rewritten was none of the input's.
      const bool is_plain = scope.symbol_id(site.expression) >= 0;
      if (site.role == frozen::FrozenRole::kWeight && attempt_.opened.empty() && is_plain) continue;
      bind(sizes_in(site), attempt_.opened.empty() ? "THAW010" : code_of(site.role), location_of(site),
           fmt::format("it would keep {} fixed at {}", dim::to_string(site.expression), site.value));
    }
  }

  void look_at_statements(const std::set<std::string>& before) {
    for (const Obligation& o : result_.obligations()) {
      if (o.only_specified || before.contains(text_of(o)) || dim::is_data_dependent(o.a) || dim::is_data_dependent(o.b))
        continue;
      const Statement statement(o, own_);
      for (const int id : statement.symbols())
        if (!statement.lets_move(id))
          bind(sizes_in(scope_.symbol_at(id)), "THAW010", o.node->describe(), statement_of(o));
    }
  }

  void look_for_problems(size_t before) {
    if (result_.problems().size() <= before) return;
    const infer::Problem& problem = result_.problems().back();
    bind(attempt_.freed, "THAW001", problem.node->describe(), problem.message);
  }

  void look_at_declared_outputs(const std::map<std::string, std::vector<bool>>& were_numbers) {
    for (const ir::Value* output : model_.graph->outputs()) {
      const ops::Fact& fact = result_.fact(output);
      const auto numbers = were_numbers.find(output->name());
      if (!output->type.shape || !fact.shape || numbers == were_numbers.end() || output->is_input()) continue;
      if (fact.shape->size() != output->type.shape->size() || fact.shape->size() != numbers->second.size()) continue;
      for (size_t axis = 0; axis < fact.shape->size(); ++axis) {
        const Dim size = (*fact.shape)[axis];
        const auto meant = scope_.find((*output->type.shape)[axis].param);
        if (!numbers->second[axis] || !meant || !size.is_symbolic() || dim::same(size, *meant)) continue;
        std::set<std::string> sizes = sizes_in(size);
        sizes.merge(sizes_in(*meant));
        bind(sizes, "THAW003", output->name(),
             fmt::format("axis {} is declared '{}', and would be {}", axis, dim::to_string(*meant),
                         dim::to_string(size)));
      }
    }
  }

  void look_for_folded_batch() {
    for (const std::string& name : attempt_.opened) {
      const auto own = attempt_.sizes.find(name);
      if (own == attempt_.sizes.end() || own->second != 1 || !is_batch(name)) continue;
      const Dim batch = *scope_.find(name);
      for (const ir::Value* output : model_.graph->outputs()) {
        const ops::Fact& fact = result_.fact(output);
        if (!fact.shape) continue;
        const auto& dims = *fact.shape;
        const bool is_there = std::ranges::any_of(dims, [&](Dim d) { return sizes_in(d).contains(name); });
        if (is_there && std::ranges::none_of(dims, [&](Dim d) { return dim::same(d, batch); }))
          bind({name}, "THAW018", output->name(), "the batch would be merged into another axis");
      }
    }
  }

  std::vector<Bound> take() { return std::move(bound_); }

 private:
  // The first axis of all inputs that have it.
  bool is_batch(const std::string& name) const {
    for (const ir::Value* input : model_.graph->inputs()) {
      if (!input->type.shape) continue;
      for (size_t axis = 1; axis < input->type.shape->size(); ++axis)
        if ((*input->type.shape)[axis].param == name) return false;
    }
    return true;
  }

  void bind(const std::set<std::string>& sizes, const std::string& kind, const std::string& location,
            const std::string& why) {
    for (const std::string& size : sizes) bound_.push_back({size, {.kind = kind, .location = location, .why = why}});
  }

  const ir::Model& model_;
  const Attempt& attempt_;
  dim::Scope scope_;
  infer::Result result_;
  Assignment own_;
  std::vector<Bound> bound_;
};

}  // namespace

Freedom::Freedom(const ir::Model& before) {
  dim::Scope scope;
  const infer::Result result = infer::infer(before, scope);
  problems_ = result.problems().size();
  for (const Obligation& o : result.obligations()) stated_.insert(text_of(o));
  for (const ir::Value* output : before.graph->outputs()) {
    const ops::Fact& fact = result.fact(output);
    if (!fact.shape) continue;
    std::vector<bool>& numbers = output_numbers_[output->name()];
    for (const Dim d : *fact.shape) numbers.push_back(d.is_constant());
  }
}

std::vector<Bound> Freedom::bound_in(const ir::Model& rewritten, const Attempt& attempt) const {
  Examination examination(rewritten, attempt);
  examination.look_for_frozen();
  examination.look_at_statements(stated_);
  examination.look_for_problems(problems_);
  examination.look_at_declared_outputs(output_numbers_);
  examination.look_for_folded_batch();
  return examination.take();
}

}  // namespace thaw::fixing
