#include "thaw/run/reference.h"

#include <algorithm>

#include "thaw/core/error.h"
#include "thaw/ir/graph/model.h"
#include "thaw/run/relax.h"

namespace thaw::run {
namespace {

bool names_memory_plan(std::string_view message) { return message.find("re-use buffer") != std::string_view::npos; }
bool names_shape_inference(std::string_view message) {
  return message.find("ShapeInferenceError") != std::string_view::npos ||
         message.find("Inferred shape and existing shape differ") != std::string_view::npos;
}

// Keys of an output in the results of a run: itself, or NAME[0], NAME[1], … of a sequence.
std::vector<std::string> keys_of(const Arrays& results, const std::string& name) {
  std::vector<std::string> keys;
  if (results.contains(name)) return {name};
  for (auto at = results.lower_bound(name + "["); at != results.end() && at->first.starts_with(name + "["); ++at) {
    keys.push_back(at->first);
  }
  return keys;
}

}  // namespace

Reference::Reference(ModelSource source, std::span<const InputSpec> model_inputs, ReferenceOptions options,
                     const OpenSession& open)
    : source_(std::move(source)), options_(std::move(options)) {
  if (!options_.providers.empty()) options_.session.providers = options_.providers;
  try {
    session_.emplace(open ? open(source_, options_.session) : source_.open(options_.session));
  } catch (const Error& error) {
    if (!names_shape_inference(error.what())) throw;
    relax(error.what());
  }
  std::map<std::string, std::string> ours;  // the model's name by the reference's
  for (const InputSpec& input : model_inputs) ours.emplace(name_of(input.name), input.name);
  for (const Port& port : session_->inputs()) {
    const auto match = ours.find(port.name);
    if (match == ours.end()) {
      if (port.has_default) continue;
      std::string names;
      for (const InputSpec& input : model_inputs) names += (names.empty() ? "'" : ", '") + input.name + "'";
      throw Error(ErrorCode::kInvalidArgument,
                  {.what = "the reference's input '" + port.name + "' is not an input of the model",
                   .where = source_.path().string(),
                   .expected = "one of " + (names.empty() ? "none" : names),
                   .next = "say which it is with --map MODEL_NAME=" + port.name});
    }
    const auto input = std::find_if(model_inputs.begin(), model_inputs.end(),
                                    [&](const InputSpec& spec) { return spec.name == match->second; });
    if (input->dtype != port.dtype && !options_.cast) {
      throw Error(ErrorCode::kInvalidArgument,
                  {.what = "input '" + input->name + "' is " + std::string(ir::name_of(input->dtype)) +
                           " in the model and " + std::string(ir::name_of(port.dtype)) + " in the reference",
                   .where = source_.path().string(),
                   .expected = "one element type",
                   .next = "pass --cast to convert the feeds"});
    }
    wanted_types_.emplace(input->name, port.dtype);
  }
  if (options_.per_sample) find_batch(model_inputs);
}

void Reference::find_batch(std::span<const InputSpec> model_inputs) {
  // Axis 0 of the first input that has one is the batch; every input with the same size there is cut.
  dim::Dim batch;
  for (const InputSpec& input : model_inputs) {
    if (!input.dims || input.dims->empty() || !wanted_types_.contains(input.name)) continue;
    if (batch.is_unknown()) batch = input.dims->front();
    if (dim::same(input.dims->front(), batch)) batched_.insert(input.name);
  }
  if (batched_.empty()) {
    throw Error(ErrorCode::kInvalidArgument, {.what = "no input has an axis 0 to cut into samples",
                                              .where = source_.path().string(),
                                              .expected = "a batched model"});
  }
  const auto declared = source_.read();
  for (const InputSpec& input : model_inputs) {
    if (!batched_.contains(input.name)) continue;
    const ir::Value* value = declared->graph->find(name_of(input.name));
    if (value != nullptr && value->type.shape && value->type.shape->size() + 1 == input.dims->size()) {
      unbatched_rank_.insert(input.name);
    }
  }
}

const std::string& Reference::name_of(const std::string& model_name) const {
  const auto mapped = options_.names.find(model_name);
  return mapped == options_.names.end() ? model_name : mapped->second;
}

bool Reference::has_output(const std::string& model_name) const {
  return session_->find_output(name_of(model_name)) != nullptr;
}

std::vector<std::string> Reference::output_names() const {
  std::vector<std::string> names;
  for (const Port& port : session_->outputs()) names.push_back(port.name);
  return names;
}

void Reference::equalize(Arrays& feeds) const {
  for (const auto& [name, dtype] : wanted_types_) {
    const auto feed = feeds.find(name);
    if (feed == feeds.end() || feed->second.dtype == dtype || feed->second.is_string()) continue;
    feed->second = cast(cast(feed->second, dtype), feed->second.dtype);
  }
}

void Reference::relax(const std::string& reason) {
  const auto model = source_.read();
  drop_declared_sizes(*model);
  session_.emplace(*model, options_.session);
  relaxed_ = true;
  notes_.push_back(
      "the reference does not run unchanged; it was run without the sizes that it declares of inner tensors, which "
      "changes "
      "no number (" +
      reason + ")");
}

Arrays Reference::run_once(const Arrays& feeds, std::span<const std::string> outputs) {
  Arrays theirs;
  for (const auto& [name, dtype] : wanted_types_) {
    const auto feed = feeds.find(name);
    if (feed != feeds.end()) theirs.emplace(name_of(name), options_.cast ? cast(feed->second, dtype) : feed->second);
  }
  std::vector<std::string> wanted;
  for (const std::string& name : outputs) wanted.push_back(name_of(name));
  Arrays results;
  try {
    results = session_->run(theirs, wanted);
  } catch (const Error& error) {
    if (relaxed_ || !names_memory_plan(error.what())) throw;
    relax(error.what());
    results = session_->run(theirs, wanted);
  }
  Arrays ours;
  for (const std::string& name : outputs) {
    const std::string& their_name = name_of(name);
    for (const std::string& key : keys_of(results, their_name)) {
      ours.insert_or_assign(name + key.substr(their_name.size()), std::move(results.find(key)->second));
    }
  }
  return ours;
}

Arrays Reference::run_rows(const Arrays& feeds, std::span<const std::string> outputs, const Arrays& model_outputs) {
  int64_t batch = -1;
  for (const std::string& name : batched_) {
    const auto feed = feeds.find(name);
    if (feed == feeds.end() || feed->second.dims.empty()) continue;
    if (batch >= 0 && feed->second.dims[0] != batch) {
      throw Error(ErrorCode::kInvalidArgument,
                  {.what = "input '" + name + "' has " + std::to_string(feed->second.dims[0]) + " rows, another has " +
                           std::to_string(batch),
                   .where = source_.path().string(),
                   .expected = "one batch"});
    }
    batch = feed->second.dims[0];
  }
  if (batch < 1)
    throw Error(
        ErrorCode::kInvalidArgument,
        {.what = "there is no sample to run", .where = source_.path().string(), .expected = "a batch of 1 or more"});
  std::map<std::string, std::vector<Array>> collected;
  for (int64_t sample = 0; sample < batch; ++sample) {
    Arrays one;
    for (const auto& [name, array] : feeds) {
      if (!batched_.contains(name)) {
        one.emplace(name, array);
        continue;
      }
      Array row = rows(array, sample, sample + 1);
      if (unbatched_rank_.contains(name)) row.dims.erase(row.dims.begin());
      one.emplace(name, std::move(row));
    }
    for (auto& [key, array] : run_once(one, outputs)) collected[key].push_back(std::move(array));
  }
  Arrays results;
  for (const auto& [key, samples] : collected) {
    const auto like = model_outputs.find(key);
    results.emplace(key, assemble_rows(samples, like == model_outputs.end() ? nullptr : &like->second));
  }
  return results;
}

Arrays Reference::run(const Arrays& feeds, std::span<const std::string> outputs, const Arrays& model_outputs) {
  return options_.per_sample ? run_rows(feeds, outputs, model_outputs) : run_once(feeds, outputs);
}

Array assemble_rows(std::span<const Array> rows, const Array* like) {
  std::vector<int64_t> stacked = rows[0].dims;
  stacked.insert(stacked.begin(), static_cast<int64_t>(rows.size()));
  const bool one_shape =
      std::all_of(rows.begin(), rows.end(), [&](const Array& row) { return row.dims == rows[0].dims; });
  if (rows[0].dims.empty() || (one_shape && like != nullptr && like->dims == stacked)) return stack(rows);
  return concat_rows(rows);
}

}  // namespace thaw::run
