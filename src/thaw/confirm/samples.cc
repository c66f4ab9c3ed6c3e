#include "thaw/confirm/samples.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "thaw/confirm/cost_of_runs.h"
#include "thaw/confirm/model_inputs.h"
#include "thaw/confirm/original.h"
#include "thaw/confirm/reconsider.h"
#include "thaw/core/error.h"
#include "thaw/core/memory.h"
#include "thaw/frozen/frozen.h"
#include "thaw/infer/infer.h"
#include "thaw/infer/size_names.h"
#include "thaw/run/chosen_sizes.h"
#include "thaw/run/session.h"

namespace thaw::confirm {
namespace {

constexpr size_t kRuns = 2;         // sizes to compare at, where there is a choice
constexpr int64_t kFewSamples = 2;  // where one takes much

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
  dim::Scope scope;
  const NamedSizes determined =
      options.sample.empty()
          ? NamedSizes()
          : infer::size_names(original, infer::infer(original, scope), scope).resolve(options.sample, "--sizes");
  for (const auto& [name, size] : determined) {
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

class SampleComparison {
 public:
  SampleComparison(const ir::Model& batched, const ir::Model& original, const BatchOptions& options,
                   const FeedOptions& feeds)
      : batched_(batched),
        given_(original),
        options_(options),
        sample_(one_sample(batched, original, options)),
        own_(ir::clone(original)),
        known_(look_at_inputs(*sample_.model, scope_)),
        conditions_(known_.conditions),
        cost_(cost_of_runs(*sample_.model, known_.facts)) {
    // A setting that the model compares with numbers is another of them for each seed.
    for (uint64_t round = 0; round < kRuns; ++round) {
      for (uint64_t k = 0; k < kCheckedSamples; ++k) {
        FeedOptions drawn = feeds;
        drawn.seed += (has_settings() ? round * kCheckedSamples : 0) + k;
        feeders_[round].emplace_back(known_.inputs, scope_, std::move(drawn));
      }
    }
    original_.emplace(*own_, check_session());
  }

  BatchCheck run() {
    BatchCheck check;
    run_samples();
    // The same sizes, with settings of another kind.
    if (trials_.size() == 1 && has_settings()) try_point(run::Point(trials_.front().point));
    original_.reset();  // one of the two in memory at a time
    check.samples = count_;
    for (Trial& trial : trials_) check.runs.push_back(compare(std::exchange(trial, {})));
    check.reason = reason(check);
    return check;
  }

 private:
  // What the model itself gives at one choice of sizes.
  struct Trial {
    run::Point point;
    std::vector<Arrays> samples, wanted;

    bool has_elements() const {
      return std::ranges::any_of(wanted.front(), [](const auto& result) { return result.second.num_elements() > 0; });
    }
  };

  // Whether numbers were compared, and of every output.
  std::string reason(const BatchCheck& check) const {
    if (check.runs.empty() && !failure_.empty()) return "the original does not run here: " + failure_;
    if (check.runs.empty()) return too_large_.empty() ? "no sizes were found that are small enough to try" : too_large_;
    std::string bare;
    for (const std::string& name : without_elements_)
      if (!known_.empty_outputs.contains(name)) bare += fmt::format("{}'{}'", bare.empty() ? "" : ", ", name);
    if (bare.empty()) return {};
    return fmt::format("{} had no elements at any size tried", bare);
  }

  void run_samples() {
    run::ChosenSizes choice(feeders_[0].front(), scope_, conditions_, cost_, {});
    if (!choice.has_choice()) {
      if (const auto point = choice.with({})) try_point(*point);
      return;
    }
    while (trials_.size() < kRuns || lacks_elements()) {
      const auto point = choice.next();
      if (!point) break;
      // A size that is the number of samples would hide an axis taken for another.
      if (!has_size(*point, count_)) choice.tell(try_point(*point));
    }
    if (trials_.empty()) try_frozen(choice);
  }

  // A model whose sizes are frozen inside runs where it was frozen, if anywhere.
  void try_frozen(const run::ChosenSizes& choice) {
    dim::Scope scope;
    const Sample fresh = one_sample(batched_, given_, options_);
    run::Point known;
    for (const auto& [id, size] : frozen::find_frozen(*fresh.model, scope).assumed_sizes)
      known.sizes.emplace_back(scope.symbols()[static_cast<size_t>(id)].name, size);
    std::ranges::sort(known.sizes);
    if (const auto point = choice.with(known)) try_point(*point);
  }

  // An output that no trial has elements of, though it may have some.
  bool lacks_elements() const {
    return std::ranges::any_of(without_elements_,
                               [&](const std::string& name) { return !known_.empty_outputs.contains(name); });
  }

  // Adds a trial. False where the model itself does not run at these sizes, or where nothing is gained by it.
  bool try_point(const run::Point& point) {
    const size_t round = trials_.size() % kRuns;
    std::optional<Trial> trial = run_at(point, feeders_[round]);
    if (!trial && has_settings()) trial = run_at(point, feeders_[(round + 1) % kRuns]);
    return trial && keep(std::move(*trial));
  }

  bool has_settings() const {
    return std::ranges::any_of(known_.inputs, [](const run::InputSpec& input) { return !input.choices.empty(); });
  }

  std::optional<Trial> run_at(const run::Point& point, const std::vector<run::Feeder>& feeders) {
    if (!fits_memory(point)) return std::nullopt;
    Trial trial{point, {}, {}};
    try {
      for (int64_t k = 0; k < count_; ++k) {
        Arrays& sample = trial.samples.emplace_back(feeders[static_cast<size_t>(k)].make(point));
        for (auto& [name, array] : sample)
          if (sample_.forms.at(name) == Form::kShared) array = trial.samples.front().at(name);
        trial.wanted.push_back(original_->run(sample));
      }
    } catch (const run::RunTimedOut&) {
      throw;  // it would at other sizes too
    } catch (const Error& error) {
      if (failure_.empty()) failure_ = error.what();
      return std::nullopt;
    }
    return trial;
  }

  // Whether memory holds all samples at once. Fewer are taken where it holds those, or where one takes long.
  bool fits_memory(const run::Point& point) {
    dim::Assignment sizes;
    for (const auto& [name, size] : point.sizes)
      if (const auto symbol = scope_.find(name)) sizes[scope_.symbol_id(*symbol)] = size;
    const run::RunCost::Taken taken = cost_.at(sizes);
    if (trials_.empty() && !taken.is_small() && !has_size(point, kFewSamples)) count_ = kFewSamples;
    const double one = taken.working_bytes();
    const auto left = static_cast<double>(available_memory().value_or(UINT64_MAX));
    const auto fits = [&](int64_t count) { return one * static_cast<double>(count) <= left; };
    if (fits(count_)) return true;
    if (trials_.empty() && fits(kFewSamples) && !has_size(point, kFewSamples)) {
      count_ = kFewSamples;
      return true;
    }
    if (too_large_.empty()) {
      constexpr double kGigabyte = 1e9;
      too_large_ = fmt::format("running {} samples at once takes about {:.1f} GB, and {:.1f} GB of memory are left",
                               count_, one * static_cast<double>(count_) / kGigabyte, left / kGigabyte);
    }
    return false;
  }

  static bool has_size(const run::Point& point, int64_t size) {
    return std::ranges::any_of(point.sizes, [&](const auto& named) { return named.second == size; });
  }

  // Keeps a trial that adds to what is known: one of the first, or one with elements where there were none.
  bool keep(Trial trial) {
    std::set<std::string> bare;
    for (const ir::Value* output : sample_.model->graph->outputs()) {
      // An item of a sequence is NAME[i].
      const std::string& name = output->name();
      const bool any = std::ranges::any_of(trial.wanted.front(), [&](const auto& result) {
        return result.second.num_elements() > 0 && (result.first == name || result.first.starts_with(name + "["));
      });
      if (!any) bare.insert(name);
    }
    if (trials_.empty()) {
      without_elements_ = std::move(bare);
      trials_.push_back(std::move(trial));
      return !lacks_elements();
    }
    const size_t before = without_elements_.size();
    std::erase_if(without_elements_, [&](const std::string& name) { return !bare.contains(name); });
    const bool gains = without_elements_.size() < before;
    // Those that say nothing go, and the last one left is replaced by one that has elements where the others have none.
    if (gains) std::erase_if(trials_, [](const Trial& other) { return !other.has_elements(); });
    if (gains && trials_.size() == kRuns) trials_.pop_back();
    if (gains || (trials_.size() < kRuns && !lacks_elements())) trials_.push_back(std::move(trial));
    return !lacks_elements();
  }

  RunCheck compare(const Trial& trial) {
    const Arrays feeds = merged(trial.samples);
    RunCheck check;
    check.name = trial.point.sizes.empty() ? "the model's sizes" : run::describe(trial.point);
    for (const run::InputSpec& input : known_.inputs)
      if (const auto fed = trial.samples.front().find(input.name);
          !input.choices.empty() && fed != trial.samples.front().end())
        check.name += fmt::format(", {}={}", input.name, to_int64s(fed->second).front());
    note_inputs(feeds, check);
    try {
      if (!result_) result_.emplace(batched_, check_session());
      compare_samples(trial.wanted, result_->run(feeds), check);
    } catch (const Error& error) {
      fail_check(check, error.what());
    }
    reconsider(check, [&](RunCheck& again) {
      Original original(*own_, as_it_is_written());
      std::vector<Arrays> wanted;
      for (const Arrays& sample : trial.samples) wanted.push_back(original.run(sample));
      compare_samples(wanted, run::Session(batched_, as_it_is_written()).run(feeds), again);
    });
    return check;
  }

  void compare_samples(const std::vector<Arrays>& wanted, const Arrays& got, RunCheck& check) const {
    for (const auto& [name, array] : got)
      if (!wanted.front().contains(name)) fail_check(check, fmt::format("the original has no output '{}'", name));
    for (size_t k = 0; k < wanted.size(); ++k) compare_outputs(wanted[k], of_sample(got, wanted[k], k), check);
  }

  Arrays merged(const std::vector<Arrays>& samples) const {
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
  Arrays of_sample(const Arrays& got, const Arrays& wanted, size_t k) const {
    Arrays one;
    for (const auto& [name, array] : got) {
      const auto own = wanted.find(name);
      if (own == wanted.end() || array.dims.empty() || array.dims[0] != count_) {
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
  std::unique_ptr<ir::Model> own_;  // as it is given: what it is fed says the sizes of a sample
  dim::Scope scope_;
  const ModelInputs known_;
  const run::SizeConditions conditions_;
  const run::RunCost cost_;
  std::array<std::vector<run::Feeder>, kRuns> feeders_;  // by run and sample
  int64_t count_ = kCheckedSamples;
  std::optional<Original> original_;
  std::vector<Trial> trials_;
  std::set<std::string> without_elements_;  // outputs, in every trial
  std::string failure_, too_large_;         // the first
  std::optional<run::Session> result_;
};

}  // namespace

BatchCheck compare_with_samples(const ir::Model& batched, const ir::Model& original, const BatchOptions& options,
                                const FeedOptions& feeds) {
  if (std::string reason = lacks_memory(batched); !reason.empty()) return {.runs = {}, .reason = std::move(reason)};
  return SampleComparison(batched, original, options, feeds).run();
}

}  // namespace thaw::confirm
