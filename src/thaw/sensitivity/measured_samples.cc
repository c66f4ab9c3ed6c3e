#include "thaw/sensitivity/measured_samples.h"

#include <algorithm>
#include <mutex>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/core/error.h"
#include "thaw/sensitivity/checked_split.h"

namespace thaw::measuring {

std::unique_ptr<Baseline> MeasuredSamples::keep(size_t sections, size_t count,
                                                const std::vector<std::string>& outputs) {
  std::vector<size_t> others;
  for (size_t i = 1; i < count; ++i) others.push_back(i * samples_.size() / count);
  chosen_ = {0};
  std::unique_ptr<Baseline> base = split_with_check(model_, sections, count, memory_, feeds(0));
  choose_outputs(*base, outputs);
  wanted_ = {outputs_of(*base, 0)};
  keep_chosen(*base, others);
  return base;
}

void MeasuredSamples::keep_others(Baseline& base) {
  std::vector<size_t> others;
  for (size_t i = 0; i < samples_.size(); ++i)
    if (std::ranges::find(chosen_, i) == chosen_.end()) others.push_back(i);
  keep_chosen(base, others);
}

void MeasuredSamples::keep_chosen(Baseline& base, const std::vector<size_t>& chosen) {
  const size_t first = chosen_.size();
  chosen_.insert(chosen_.end(), chosen.begin(), chosen.end());
  wanted_.resize(chosen_.size());
  keep_in(base, first, [&](size_t i) { wanted_[i] = outputs_of(base, i); });
}

void MeasuredSamples::keep_in(Baseline& model, size_t first, const std::function<void(size_t)>& then) const {
  std::mutex reading;
  const auto read = [&](size_t i) {
    const std::lock_guard lock(reading);
    return feeds(i);
  };
  model.slots().each(chosen_.size() - first, [&](size_t position) {
    const size_t i = first + position;
    model.keep(i, read(i));
    then(i);
  });
}

Arrays MeasuredSamples::feeds(size_t i) const { return samples_.read(chosen_[i], quantizing::inputs_to_feed(model_)); }

std::vector<std::string> MeasuredSamples::names() const {
  std::vector<std::string> names;
  for (const size_t i : chosen_) names.push_back(samples_.name(i));
  return names;
}

Arrays MeasuredSamples::outputs_of(const Baseline& base, size_t i) const {
  Arrays outputs = base.outputs(i, outputs_);
  if (std::ranges::all_of(outputs, [](const auto& named) { return named.second.num_elements() == 0; }))
    throw Error(ErrorCode::kInvalidArgument,
                {.what = fmt::format("the outputs have no element on sample '{}': there is nothing to compare",
                                     samples_.name(chosen_[i])),
                 .where = data_,
                 .expected = "samples that have something in them",
                 .next = "leave that one out"});
  return outputs;
}

void MeasuredSamples::choose_outputs(const Baseline& base, const std::vector<std::string>& asked) {
  std::vector<std::string> names;
  for (const ir::Value* output : model_.graph->outputs()) names.push_back(output->name());
  for (const std::string& name : asked)
    if (std::ranges::find(names, name) == names.end())
      throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("the model has no output '{}'", name),
                                                .where = "sensitivity",
                                                .expected = fmt::format("one of {}", fmt::join(names, ", "))});
  for (const auto& [name, array] : base.outputs(0, asked.empty() ? names : asked))
    if (ir::is_floating(array.dtype)) outputs_.push_back(name);
  if (outputs_.empty())
    throw Error(ErrorCode::kInvalidArgument, {.what = "there is no output of floats to compare",
                                              .where = model_.path.string(),
                                              .expected = "one that depends on the inputs"});
}

}  // namespace thaw::measuring
