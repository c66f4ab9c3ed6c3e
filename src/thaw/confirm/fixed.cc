#include "thaw/confirm/fixed.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>

#include <fmt/format.h>

#include "thaw/confirm/cost_of_runs.h"
#include "thaw/confirm/likely_feeds.h"
#include "thaw/confirm/model_inputs.h"
#include "thaw/confirm/original.h"
#include "thaw/confirm/own_sizes.h"
#include "thaw/confirm/reconsider.h"
#include "thaw/core/error.h"
#include "thaw/run/chosen_sizes.h"
#include "thaw/run/relax.h"
#include "thaw/run/session.h"

namespace thaw::confirm {
namespace {

constexpr size_t kOtherSizes = 2;
constexpr int64_t kBatches[] = {2, 3};

// The samples of a batch in one array. Rows of a result that belong to sample k lie together.
Array rows_of_sample(const Array& got, const Array& wanted, int64_t batch, int64_t k) {
  if (got.dims.empty() || wanted.dims.empty() || got.dims[0] != batch * wanted.dims[0]) return got;
  return run::rows(got, k * wanted.dims[0], (k + 1) * wanted.dims[0]);
}

class FixComparison {
 public:
  FixComparison(const ir::Model& fixed, const ir::Model& original, bool rewritten, const FeedOptions& feeds,
                const Closeness& closeness)
      : fixed_(fixed),
        given_(original),
        rewritten_(rewritten),
        feeds_(feeds),
        closeness_(closeness),
        own_(ir::clone(original)),
        original_(*own_),
        known_(look_at_inputs(fixed, scope_)),
        inputs_(known_.inputs),
        conditions_(known_.conditions),
        cost_(cost_of_runs(fixed, known_.facts)),
        feeder_(inputs_, scope_, feeds) {
    add_origin(cost_, original, fixed, scope_);
  }

  FixCheck run() {
    if (!find_own_sizes()) return std::move(check_);
    compare_at(own_point_, own_feeds_, own_results_);
    for (const auto& [symbol, names] : batches()) compare_samples(symbol, names);
    if (rewritten_)
      for (const auto& [symbol, names] : first_axes()) compare_rows(symbol, names);
    compare_at_other_sizes();
    check_.fed = std::move(own_feeds_);
    return std::move(check_);
  }

  bool has_timed_out() const { return has_timed_out_; }

 private:
  void note(std::string text) { check_.not_compared.push_back(std::move(text)); }

  // Sizes that the original runs at, and its outputs there.
  bool find_own_sizes() {
    const std::map<std::string, int64_t> known = own_sizes(given_, inputs_, scope_);
    run::Point base;
    for (const run::FreeSymbol& symbol : feeder_.free_symbols({}))
      if (const auto size = known.find(symbol.name); size != known.end())
        base.sizes.emplace_back(symbol.name, size->second);
    run::ChosenSizes choice(feeder_, scope_, conditions_, cost_, base);
    std::string failure;
    std::optional<run::Point> point = choice.has_choice() ? choice.next() : base;
    while (point) {
      try {
        own_feeds_ = feeder_.make(*point);
        own_results_ = original_.run(own_feeds_);
        own_point_ = std::move(*point);
        return true;
      } catch (const run::RunTimedOut& error) {
        has_timed_out_ = true;
        return none_ran(error.what());
      } catch (const Error& error) {
        if (failure.empty()) failure = error.what();
      }
      choice.tell(false);
      point = choice.has_choice() ? choice.next() : std::nullopt;
    }
    return none_ran(failure.empty() ? choice.too_large() : failure);
  }

  bool none_ran(const std::string& failure) {
    note("the original does not run here: " + failure);
    return false;
  }

  run::Session& session() {
    if (!session_) session_.emplace(fixed_);
    return *session_;
  }

  // As they are written; only where numbers differ.
  run::Session& plain_session() {
    if (!plain_session_) plain_session_.emplace(fixed_, as_it_is_written());
    return *plain_session_;
  }

  Original& plain_original() {
    if (!plain_original_) plain_original_.emplace(*own_, as_it_is_written());
    return *plain_original_;
  }

  RunCheck start(const run::Point& point, const Arrays& feeds) {
    RunCheck check;
    check.name = point.sizes.empty() ? "the model's sizes" : run::describe(point);
    note_inputs(feeds, check);
    return check;
  }

  void compare_at(const run::Point& point, const Arrays& feeds, const Arrays& wanted) {
    RunCheck check = start(point, feeds);
    try {
      compare_outputs(wanted, session().run(feeds), check, closeness_);
    } catch (const Error& error) {
      fail_check(check, error.what());
    }
    reconsider(check, [&](RunCheck& again) {
      compare_outputs(plain_original().run(feeds), plain_session().run(feeds), again, closeness_);
    });
    check_.runs.push_back(std::move(check));
  }

  // Sizes that were declared as 1 on axis 0 and are free now, and the inputs that they are of. An axis that the model
  // declares as free may hold its samples in any order (THAW018).
  std::map<std::string, std::set<std::string>> batches() const {
    std::map<std::string, std::set<std::string>> found;
    for (const run::InputSpec& input : inputs_) {
      const ir::Value* value = given_.graph->find(input.name);
      if (!input.dims || input.dims->empty() || value == nullptr || !value->type.shape || value->type.shape->empty())
        continue;
      const int id = scope_.symbol_id(input.dims->front());
      if (id >= 0 && value->type.shape->front().value == 1)
        found[scope_.symbols()[static_cast<size_t>(id)].name].insert(input.name);
    }
    return found;
  }

  // A point without the size of `symbol`, which each sample has as 1.
  run::Point with(const std::string& symbol, int64_t size) const {
    run::Point point = own_point_;
    for (auto& [name, value] : point.sizes)
      if (name == symbol) value = size;
    return point;
  }

  void compare_samples(const std::string& symbol, const std::set<std::string>& names) {
    std::vector<Arrays> samples, wanted;
    for (const int64_t batch : kBatches) {
      Arrays merged;
      RunCheck check;
      try {
        while (static_cast<int64_t>(samples.size()) < batch) add_sample(names, samples, wanted);
        merged = samples.front();
        for (const std::string& name : names) {
          std::vector<Array> parts;
          for (int64_t k = 0; k < batch; ++k) parts.push_back(samples[static_cast<size_t>(k)].at(name));
          merged[name] = run::concat_rows(parts);
        }
      } catch (const Error& error) {
        return note(fmt::format("samples along {} were not compared: {}", symbol, error.what()));
      }
      check = start(with(symbol, batch), merged);
      check.name += ", sample by sample";
      const auto compare = [&](const Arrays& got, std::span<const Arrays> own, RunCheck& to) {
        for (int64_t k = 0; k < batch; ++k)
          for (const auto& [name, array] : own[static_cast<size_t>(k)])
            compare_output(name, array, rows_of_sample(got.at(name), array, batch, k), to, closeness_);
      };
      try {
        compare(session().run(merged), wanted, check);
      } catch (const Error& error) {
        fail_check(check, error.what());
      }
      reconsider(check, [&](RunCheck& again) {
        std::vector<Arrays> own;
        for (const Arrays& sample : samples) own.push_back(plain_original().run(sample));
        compare(plain_session().run(merged), own, again);
      });
      check_.runs.push_back(std::move(check));
    }
  }

  // Another sample, of other numbers; what is no part of it stays that of the first.
  void add_sample(const std::set<std::string>& names, std::vector<Arrays>& samples, std::vector<Arrays>& wanted) {
    FeedOptions drawn = feeds_;
    drawn.seed += samples.size();
    Arrays sample = run::Feeder(inputs_, scope_, std::move(drawn)).make(own_point_);
    if (!samples.empty())
      for (auto& [name, array] : sample)
        if (!names.contains(name)) array = samples.front().at(name);
    wanted.push_back(original_.run(sample));
    samples.push_back(std::move(sample));
  }

  // Sizes of inputs' first axes alone that the original runs at as more than one: a batch that was frozen at what it is.
  std::map<std::string, std::set<std::string>> first_axes() const {
    std::map<std::string, std::set<std::string>> found;
    std::set<std::string> others;
    for (const run::InputSpec& input : inputs_) {
      for (size_t axis = 0; input.dims && axis < input.dims->size(); ++axis) {
        for (const int id : dim::symbols_of((*input.dims)[axis])) {
          const std::string& name = scope_.symbols()[static_cast<size_t>(id)].name;
          if (axis == 0 && scope_.symbol_id(input.dims->front()) == id) {
            found[name].insert(input.name);
          } else {
            others.insert(name);
          }
        }
      }
    }
    std::erase_if(found, [&](const auto& one) { return others.contains(one.first) || own_size(one.first) < 2; });
    return found;
  }

  int64_t own_size(const std::string& symbol) const {
    for (const auto& [name, value] : own_point_.sizes)
      if (name == symbol) return value;
    return 0;
  }

  // Rows of the inputs that the original treats apart: whatever stands beside them, and wherever they stand, their outputs are the same.
  // However many there are, so must they in the fixed model.
  void compare_rows(const std::string& symbol, const std::set<std::string>& names) {
    const int64_t own = own_size(symbol);
    std::vector<Arrays> fed{own_feeds_}, gave{own_results_};
    try {
      add_sample(names, fed, gave);
      const std::vector<std::pair<size_t, int64_t>> mixed = mixed_rows(own);
      const Arrays mix = original_.run(rows_of(names, fed, mixed));
      RunCheck apart;
      compare_rows_of(mix, gave, mixed, own, apart);
      if (!apart.agrees) return;
    } catch (const Error& error) {
      return note(fmt::format("rows along {} were not compared: {}", symbol, error.what()));
    }
    for (const int64_t count : std::set<int64_t>{own == 2 ? 3 : 2, own + 1}) {
      std::vector<std::pair<size_t, int64_t>> chosen;
      for (int64_t k = 0; k < count; ++k) chosen.emplace_back(k < own ? 0 : 1, k % own);
      const Arrays merged = rows_of(names, fed, chosen);
      RunCheck check = start(with(symbol, count), merged);
      check.name += ", row by row";
      try {
        compare_rows_of(session().run(merged), gave, chosen, own, check);
      } catch (const Error& error) {
        fail_check(check, error.what());
      }
      reconsider(check, [&](RunCheck& again) {
        std::vector<Arrays> plain;
        for (const Arrays& feeds : fed) plain.push_back(plain_original().run(feeds));
        compare_rows_of(plain_session().run(merged), plain, chosen, own, again);
      });
      check_.runs.push_back(std::move(check));
    }
  }

  // Rows of both, none in its place or beside one of its own.
  static std::vector<std::pair<size_t, int64_t>> mixed_rows(int64_t count) {
    std::vector<std::pair<size_t, int64_t>> rows;
    for (int64_t k = 0; k < count; ++k) rows.emplace_back(static_cast<size_t>(k % 2), (k + 1) % count);
    return rows;
  }

  static Arrays rows_of(const std::set<std::string>& names, const std::vector<Arrays>& fed,
                        const std::vector<std::pair<size_t, int64_t>>& chosen) {
    Arrays merged = fed.front();
    for (const std::string& name : names) {
      std::vector<Array> parts;
      for (const auto& [which, row] : chosen) parts.push_back(run::rows(fed[which].at(name), row, row + 1));
      merged[name] = run::concat_rows(parts);
    }
    return merged;
  }

  // What was given for `chosen` rows beside what the original gave for them among `own` others.
  void compare_rows_of(const Arrays& got, const std::vector<Arrays>& gave,
                       const std::vector<std::pair<size_t, int64_t>>& chosen, int64_t own, RunCheck& to) const {
    const auto count = static_cast<int64_t>(chosen.size());
    for (const auto& [name, all] : gave.front()) {
      const Array& array = got.at(name);
      const bool has_rows = !all.dims.empty() && all.dims[0] > 0 && all.dims[0] % own == 0;
      if (!has_rows) {
        compare_output(name, all, array, to, closeness_);
        continue;
      }
      const int64_t each = all.dims[0] / own;
      if (array.dims.empty() || array.dims[0] != count * each) {
        fail_check(to, fmt::format("'{}' has {} rows for {}", name, array.dims.empty() ? 0 : array.dims[0], count));
        continue;
      }
      for (int64_t k = 0; k < count; ++k) {
        const auto& [which, row] = chosen[static_cast<size_t>(k)];
        compare_output(name, run::rows(gave[which].at(name), row * each, (row + 1) * each),
                       run::rows(array, k * each, (k + 1) * each), to, closeness_);
      }
    }
  }

  // The original with the inputs of the fixed model and without the sizes that it declares inside.
  std::unique_ptr<ir::Model> opened() const {
    std::unique_ptr<ir::Model> model = ir::clone(given_);
    run::drop_declared_sizes(*model);
    for (ir::Value* input : model->graph->inputs()) {
      const ir::Value* fixed = fixed_.graph->find(input->name());
      if (fixed == nullptr || !fixed->type.shape || !input->type.shape) continue;
      for (size_t axis = 0; axis < input->type.shape->size(); ++axis)
        if (!(*fixed->type.shape)[axis].value) input->set_dim(axis, {});
    }
    return model;
  }

  bool opened_inputs() const {
    return std::any_of(inputs_.begin(), inputs_.end(), [&](const run::InputSpec& input) {
      const ir::Value* value = given_.graph->find(input.name);
      const ir::Value* fixed = fixed_.graph->find(input.name);
      if (value == nullptr || fixed == nullptr || !value->type.shape || !fixed->type.shape) return false;
      for (size_t axis = 0; axis < value->type.shape->size(); ++axis)
        if ((*value->type.shape)[axis].value && !(*fixed->type.shape)[axis].value) return true;
      return false;
    });
  }

  void compare_at_other_sizes() {
    const std::vector<run::FreeSymbol> free = feeder_.free_symbols({});
    const std::map<std::string, std::set<std::string>> compared = batches();
    if (std::ranges::all_of(free, [&](const run::FreeSymbol& symbol) { return compared.contains(symbol.name); }))
      return;
    const std::unique_ptr<ir::Model> model = opened();
    std::optional<run::Session> other;
    size_t found = 0;
    std::string failure;
    run::ChosenSizes choice(feeder_, scope_, conditions_, cost_, {});
    while (found < kOtherSizes) {
      const auto point = choice.next();
      if (!point) break;
      if (*point == own_point_) continue;
      Arrays feeds, got;
      try {
        feeds = feeder_.make(*point);
        got = session().run(feeds);
      } catch (const run::RunTimedOut& error) {
        return note(fmt::format("no other sizes were tried after {}: {}", run::describe(*point), error.what()));
      } catch (const Error& error) {
        if (failure.empty()) failure = run::describe(*point) + ": " + error.what();
        choice.tell(false);
        continue;
      }
      choice.tell(true);
      ++found;
      compare_with_opened(*point, feeds, got, *model, other);
    }
    if (found > 0) return;
    if (!opened_inputs())
      return note("no other size was found at which it runs" + (failure.empty() ? "" : "; " + failure));
    RunCheck check = start({}, {});
    check.name = "other sizes";
    fail_check(check, "sizes were made dynamic, and it runs at none of the sizes tried" +
                          (failure.empty() ? "" : "; " + failure));
    check_.runs.push_back(std::move(check));
  }

  void compare_with_opened(const run::Point& point, const Arrays& feeds, const Arrays& got, const ir::Model& model,
                           std::optional<run::Session>& other) {
    if (rewritten_)
      return note(fmt::format("it runs at {}; the original does not accept other sizes", run::describe(point)));
    RunCheck check = start(point, feeds);
    try {
      if (!other) other.emplace(model);
      compare_outputs(other->run(feeds), got, check, closeness_);
      reconsider(check, [&](RunCheck& again) {
        compare_outputs(run::Session(model, as_it_is_written()).run(feeds), plain_session().run(feeds), again,
                        closeness_);
      });
      check_.runs.push_back(std::move(check));
    } catch (const Error&) {
      note(fmt::format("it runs at {}, where the original does not", run::describe(point)));
    }
  }

  const ir::Model& fixed_;
  const ir::Model& given_;
  bool rewritten_;
  const FeedOptions& feeds_;
  const Closeness closeness_;
  std::unique_ptr<ir::Model> own_;
  Original original_;
  dim::Scope scope_;
  const ModelInputs known_;
  const std::vector<run::InputSpec>& inputs_;
  const run::SizeConditions conditions_;
  run::RunCost cost_;
  run::Feeder feeder_;
  std::optional<run::Session> session_, plain_session_;
  std::optional<Original> plain_original_;
  run::Point own_point_;
  Arrays own_feeds_, own_results_;
  FixCheck check_;
  bool has_timed_out_ = false;
};

}  // namespace

FixCheck compare_with_original(const ir::Model& fixed, const ir::Model& original, bool rewritten,
                               const FeedOptions& feeds, const Closeness& closeness) {
  if (std::string reason = lacks_memory(fixed); !reason.empty())
    return {.runs = {}, .not_compared = {"nothing was compared: " + reason}, .fed = {}};
  const auto compare_with = [&](const std::vector<FeedOptions>& group) {
    FixCheck together;
    for (const FeedOptions& plain : group) {
      FixCheck again = FixComparison(fixed, original, rewritten, plain, closeness).run();
      std::ranges::move(again.runs, std::back_inserter(together.runs));
      if (!together.fed) together.fed = std::move(again.fed);
      if (!again.runs.empty()) together.not_compared = std::move(again.not_compared);
    }
    if (together.runs.size() > 1 && group.size() > 1) together.not_compared.clear();
    return together;
  };
  const std::vector<FeedOptions> grids = grid_feeds(original, feeds);
  if (FixCheck check = compare_with(grids); check.runs.size() > 1) return check;
  FixComparison comparison(fixed, original, rewritten, feeds, closeness);
  FixCheck check = comparison.run();
  if (!check.runs.empty() || comparison.has_timed_out()) return check;
  for (const std::vector<FeedOptions>& group : likely_feeds(original, feeds))
    if (FixCheck likely = compare_with(group); !likely.runs.empty()) return likely;
  return check;
}

}  // namespace thaw::confirm
