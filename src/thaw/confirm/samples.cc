#include "thaw/confirm/samples.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "thaw/confirm/model_inputs.h"
#include "thaw/confirm/original.h"
#include "thaw/core/error.h"
#include "thaw/frozen/frozen.h"
#include "thaw/run/session.h"
#include "thaw/run/sweep.h"

namespace thaw::confirm {
namespace {

constexpr size_t kRuns = 2;                             // sizes to compare at, where there is a choice
constexpr size_t kRounds = 4;                           // sizes tried at one scale; two of them at least have no 3
constexpr size_t kFailures = 2;                         // that end a scale
constexpr uint64_t kMaxDrawnBytes = uint64_t{1} << 26;  // of one sample at sizes that nobody asked for

enum class Form : uint8_t { kShared, kMerged, kLeading };

// The model for one sample: its inputs declared as they are in one sample, and how each stands in the batched model.
struct Sample {
  std::unique_ptr<ir::Model> model;
  std::map<std::string, Form> forms;
};

template <typename Matches>
void fix_dims(ir::Model& model, int64_t size, const Matches& matches) {
  for (ir::Value* input : model.graph->inputs()) {
    if (!input->type.shape) continue;
    for (size_t axis = 0; axis < input->type.shape->size(); ++axis) {
      const ir::DeclaredDim& dim = (*input->type.shape)[axis];
      if (!(dim.value && *dim.value > 0) && matches(*input, axis, dim)) input->set_dim(axis, {size, {}, {}});
    }
  }
}

Sample one_sample(const ir::Model& batched, const ir::Model& original, const BatchOptions& options) {
  Sample sample{ir::clone(original), {}};
  for (const auto& [name, size] : options.sample) {
    fix_dims(*sample.model, size, [&, wanted = name](const ir::Value& input, size_t axis, const ir::DeclaredDim& dim) {
      return dim.param == wanted || wanted == fmt::format("{}_dim{}", input.name(), axis);
    });
  }
  for (ir::Value* input : sample.model->graph->inputs()) {
    Form& form = sample.forms[input->name()];
    form = Form::kShared;
    const bool chosen = options.inputs.empty() ||
                        std::find(options.inputs.begin(), options.inputs.end(), input->name()) != options.inputs.end();
    const ir::Value* many = batched.graph->find(input->name());
    if (!chosen || input->initializer() || many == nullptr || !many->type.shape || !input->type.shape) continue;
    form = many->type.shape->size() > input->type.shape->size() ? Form::kLeading : Form::kMerged;
    if (form == Form::kLeading) continue;
    if (const std::string name = input->type.shape->front().param; !name.empty())
      fix_dims(*sample.model, 1,
               [&](const ir::Value&, size_t, const ir::DeclaredDim& dim) { return dim.param == name; });
    input->set_dim(0, {1, {}, {}});
  }
  return sample;
}

class Comparison {
 public:
  Comparison(const ir::Model& batched, const ir::Model& original, const BatchOptions& options, const FeedOptions& feeds)
      : batched_(batched), given_(original), options_(options), sample_(one_sample(batched, original, options)) {
    const std::vector<run::InputSpec> inputs = model_inputs(*sample_.model, scope_);
    for (uint64_t k = 0; k < kCheckedSamples; ++k) {
      FeedOptions drawn = feeds;
      drawn.seed += k;
      feeders_.emplace_back(inputs, scope_, std::move(drawn));
    }
    original_.emplace(*sample_.model);
  }

  BatchCheck run() {
    BatchCheck check;
    run_samples();
    original_.reset();  // one of the two in memory at a time
    for (const Trial& trial : trials_) check.runs.push_back(compare(trial));
    if (check.runs.empty()) {
      check.reason = failure_.empty() ? "no sizes were found that are small enough to try"
                                      : "the model itself does not run here: " + failure_;
    }
    return check;
  }

 private:
  // What the model itself gives at one choice of sizes.
  struct Trial {
    run::Point point;
    std::vector<Arrays> samples, wanted;
  };

  void run_samples() {
    const std::vector<run::FreeSymbol> free = feeders_.front().free_symbols({});
    if (free.empty()) {
      try_point({});
      return;
    }
    for (const run::Scale& scale : run::default_scales()) {
      size_t failed = 0;
      for (size_t round = 0; round < kRounds && trials_.size() < kRuns && failed < kFailures; ++round) {
        run::Point point;
        run::add_default_sizes(point, free, round, scale);
        // A size that is the number of samples would hide an axis taken for another.
        const bool distinct = std::none_of(point.sizes.begin(), point.sizes.end(),
                                           [](const auto& size) { return size.second == kCheckedSamples; });
        if (distinct && feeders_.front().drawn_bytes(point) <= kMaxDrawnBytes && !try_point(point)) ++failed;
      }
    }
    if (trials_.empty()) try_frozen(free);
  }

  // A model whose sizes are frozen inside runs where it was frozen, if anywhere.
  void try_frozen(const std::vector<run::FreeSymbol>& free) {
    dim::Scope scope;
    const Sample fresh = one_sample(batched_, given_, options_);
    run::Point point;
    for (const auto& [id, size] : frozen::find_frozen(*fresh.model, scope).hints) {
      const std::string& name = scope.symbols()[static_cast<size_t>(id)].name;
      if (std::any_of(free.begin(), free.end(), [&](const run::FreeSymbol& symbol) { return symbol.name == name; }))
        point.sizes.emplace_back(name, size);
    }
    if (point.sizes.size() == free.size()) try_point(point);
  }

  // Adds a trial; false where the model itself does not run at these sizes.
  bool try_point(const run::Point& point) {
    Trial trial{point, {}, {}};
    try {
      for (const run::Feeder& feeder : feeders_) {
        Arrays& sample = trial.samples.emplace_back(feeder.make(point));
        for (auto& [name, array] : sample)
          if (sample_.forms.at(name) == Form::kShared) array = trial.samples.front().at(name);
        trial.wanted.push_back(original_->run(sample));
      }
    } catch (const run::RunTimedOut&) {
      throw;  // it would at other sizes too
    } catch (const Error& error) {
      if (failure_.empty()) failure_ = error.what();
      return false;
    }
    trials_.push_back(std::move(trial));
    return true;
  }

  RunCheck compare(const Trial& trial) {
    const Arrays feeds = joined(trial.samples);
    RunCheck check;
    check.name = trial.point.sizes.empty() ? "the model's sizes" : run::describe(trial.point);
    note_inputs(feeds, check);
    try {
      if (!result_) result_.emplace(batched_);
      const Arrays got = result_->run(feeds);
      for (size_t k = 0; k < trial.wanted.size(); ++k)
        compare_outputs(trial.wanted[k], of_sample(got, trial.wanted[k], k), check);
    } catch (const Error& error) {
      fail_check(check, error.what());
    }
    return check;
  }

  Arrays joined(const std::vector<Arrays>& samples) const {
    Arrays feeds = samples.front();
    for (auto& [name, array] : feeds) {
      const Form form = sample_.forms.at(name);
      if (form == Form::kShared) continue;
      std::vector<Array> parts;
      for (const Arrays& sample : samples) parts.push_back(sample.at(name));
      array = form == Form::kMerged ? run::concat_rows(parts) : run::stack(parts);
    }
    return feeds;
  }

  // Sample k of the batched model's results.
  static Arrays of_sample(const Arrays& got, const Arrays& wanted, size_t k) {
    Arrays one;
    for (const auto& [name, array] : got) {
      const auto own = wanted.find(name);
      if (own == wanted.end() || array.dims.empty() || array.dims[0] != kCheckedSamples) {
        one.emplace(name, array);
        continue;
      }
      Array row = run::rows(array, static_cast<int64_t>(k), static_cast<int64_t>(k) + 1);
      if (row.dims.size() == own->second.dims.size() + 1) row.dims.erase(row.dims.begin());
      one.emplace(name, std::move(row));
    }
    return one;
  }

  const ir::Model& batched_;
  const ir::Model& given_;
  const BatchOptions& options_;
  Sample sample_;
  dim::Scope scope_;
  std::vector<run::Feeder> feeders_;
  std::optional<Original> original_;
  std::vector<Trial> trials_;
  std::string failure_;  // the first
  std::optional<run::Session> result_;
};

}  // namespace

BatchCheck compare_with_samples(const ir::Model& batched, const ir::Model& original, const BatchOptions& options,
                                const FeedOptions& feeds) {
  if (std::string reason = lacks_memory(batched); !reason.empty()) return {{}, std::move(reason)};
  return Comparison(batched, original, options, feeds).run();
}

}  // namespace thaw::confirm
