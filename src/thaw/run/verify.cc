#include "thaw/run/verify.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "thaw/core/error.h"
#include "thaw/core/suggest.h"
#include "thaw/run/verifier.h"

namespace thaw::run {

Padding::Padding(const Array& mask) {
  if (mask.is_string() || mask.dims.size() != 2)
    throw Error(ErrorCode::kInvalidArgument,
                {.what = "is " + describe(mask), .where = "the mask", .expected = "ones and zeros of [batch, length]"});
  batch_ = mask.dims[0];
  length_ = mask.dims[1];
  const std::vector<double> values = to_doubles(mask);
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] != 0) kept_.push_back(static_cast<int64_t>(i));
}

bool Padding::covers(const Array& array) const {
  return !array.is_string() && array.dims.size() >= 2 && array.dims[0] == batch_ && array.dims[1] == length_ &&
         ir::bits_of(array.dtype) % 8 == 0;
}

Array Padding::without(const Array& array) const {
  std::vector<int64_t> dims(array.dims.begin() + 1, array.dims.end());
  dims[0] = static_cast<int64_t>(kept_.size());
  Array rows = Array::zeros(array.dtype, std::move(dims));
  const auto positions = static_cast<size_t>(batch_ * length_);
  const size_t row = positions == 0 ? 0 : array.bytes.size() / positions;
  for (size_t i = 0; i < kept_.size(); ++i)
    std::memcpy(rows.bytes.data() + i * row, array.bytes.data() + static_cast<size_t>(kept_[i]) * row, row);
  return rows;
}

std::vector<int64_t> Padding::index_of(std::vector<int64_t> index) const {
  if (index.empty()) return index;
  const int64_t at = kept_[static_cast<size_t>(index.front())];
  index.front() = at % length_;
  index.insert(index.begin(), at / length_);
  return index;
}

std::string Verifier::quoted_list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "'" : ", '") + name + "'";
  return text.empty() ? "none" : text;
}

void Verifier::add_once(std::vector<std::string>& texts, std::string text) {
  if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(std::move(text));
}

Verifier::Verifier(const VerifyOptions& options, const VerifiedModel& model, const dim::Scope& scope)
    : options_(options),
      model_(model),
      inputs_(model.inputs),
      scope_(scope),
      conditions_(model.conditions),
      session_(model.open ? model.open(model.source, options.how.session) : model.source.open(options.how.session)) {
  require_tolerance(options.tolerance);
  if (!options.sweep.empty()) sweep_ = dim::parse_range_spec(options.sweep);
  for (const InputSpec& input : inputs_) input_names_.push_back(input.name);
  if (!options.mask.empty() && std::ranges::find(input_names_, options.mask) == input_names_.end()) {
    const std::vector<std::string_view> known(input_names_.begin(), input_names_.end());
    throw Error(ErrorCode::kInvalidArgument,
                {.what = "has no input '" + options.mask + "'" + did_you_mean(options.mask, known),
                 .where = "--mask, " + options.model.string(),
                 .expected = "one of " + quoted_list(input_names_)});
  }
  for (const std::string& name : options.outputs) {
    if (session_.find_output(name) == nullptr) {
      throw Error(ErrorCode::kInvalidArgument, {.what = "has no output '" + name + "'",
                                                .where = options.model.string(),
                                                .expected = "one of " + quoted_list(model_outputs())});
    }
  }
}

VerifyReport Verifier::run() {
  if (model_.reference) {
    run_against_model();
  } else if (options_.reference.extension() == ".npz") {
    run_against_file(options_.reference, {});
  } else {
    run_against_folder();
  }
  report_.runtime = session_.runtime();
  if (reference_) report_.reference_runtime = reference_->runtime();
  for (std::string& warning : session_.take_warnings()) add_once(report_.warnings, std::move(warning));
  return std::move(report_);
}

std::vector<std::string> Verifier::model_outputs() const {
  std::vector<std::string> names;
  for (const Port& port : session_.outputs()) names.push_back(port.name);
  return names;
}

void Verifier::show_progress(size_t done, size_t total) const {
  if (options_.progress) options_.progress(done, total);
}

void Verifier::choose_outputs(const std::function<bool(const std::string&)>& in_reference,
                              const std::vector<std::string>& theirs) {
  std::vector<std::string> missing;
  for (const std::string& name : options_.outputs.empty() ? model_outputs() : options_.outputs) {
    // A model may list an output twice.
    add_once(in_reference(name) ? outputs_ : missing, name);
  }
  if (outputs_.empty() || (!options_.outputs.empty() && !missing.empty())) {
    throw Error(ErrorCode::kInvalidFile, {.what = "has none of the outputs " + quoted_list(missing),
                                          .where = options_.reference.string(),
                                          .expected = "the model's names; it has " + quoted_list(theirs),
                                          .next = "say which is which with --map MODEL_NAME=REFERENCE_NAME"});
  }
  if (!missing.empty())
    add_once(report_.notes, "outputs that the reference lacks were not compared: " + quoted_list(missing));
}

void Verifier::open_inputs(std::vector<CaseFile>& files, std::vector<std::string>& cases) const {
  CaseNames all;
  for (const std::filesystem::path& path : options_.input_files) {
    const CaseFile& file = files.emplace_back(path, input_names_);
    if (file.grouped().cases.empty()) {
      throw Error(ErrorCode::kInvalidFile, {.what = "has no array that is an input of the model",
                                            .where = path.string(),
                                            .expected = "arrays called " + quoted_list(input_names_)});
    }
    all.insert(file.grouped().cases.begin(), file.grouped().cases.end());
  }
  cases = case_order(all);
}

void Verifier::add_arrays(FeedOptions& feeds, Arrays arrays) {
  for (auto& [name, array] : arrays) feeds.arrays.insert_or_assign(name, std::move(array));
}

// Feeds in the types that the model takes. What the user gave in another type is an error of the call, not of a size.
Arrays Verifier::make_feeds(const Feeder& feeder, const Point& point) {
  Arrays feeds = feeder.make(point);
  for (auto& [name, array] : feeds) {
    const Port* port = session_.find_input(name);
    if (port == nullptr || port->dtype == array.dtype) continue;
    if (!options_.how.cast) {
      throw Error(ErrorCode::kInvalidArgument, {.what = "input '" + name + "' is given " + describe(array),
                                                .where = options_.model.string(),
                                                .expected = std::string(ir::name_of(port->dtype)),
                                                .next = "pass --cast to convert it"});
    }
    array = cast(array, port->dtype);
  }
  if (options_.how.cast && reference_) reference_->equalize(feeds);
  if (const auto mask = feeds.find(options_.mask); mask != feeds.end()) padding_.emplace(mask->second);
  return feeds;
}

bool Verifier::run_model(const Arrays& feeds, PointResult& result, Arrays& actual) {
  note_inputs(feeds, result);
  const Timer timer;
  try {
    actual = session_.run(feeds, outputs_);
  } catch (const Error& error) {
    timed_out_ |= dynamic_cast<const RunTimedOut*>(&error) != nullptr;
    result.status = VerifyStatus::kModelFails;
    result.message = error.what();
    return false;
  }
  result.model_seconds = timer.seconds();
  return true;
}

void Verifier::note_inputs(const Arrays& feeds, PointResult& result) {
  result.inputs.clear();
  for (const auto& [name, array] : feeds) result.inputs.emplace_back(name, describe(array));
}

// Without what is padding, where a mask says so and both sides have the positions.
Comparison Verifier::compare_unmasked(const Array& actual, const Array& expected) const {
  const bool is_masked = padding_ && padding_->covers(actual) && padding_->covers(expected);
  if (!is_masked) return compare(actual, expected, options_.tolerance, options_.how.cast);
  Comparison result =
      compare(padding_->without(actual), padding_->without(expected), options_.tolerance, options_.how.cast);
  result.worst_index = padding_->index_of(std::move(result.worst_index));
  return result;
}

// `all`: what the reference lacks is a failure, not left out.
void Verifier::compare_outputs(const Arrays& actual, const Arrays& expected, bool all, PointResult& result) {
  std::set<std::string> keys;
  for (const auto& [key, array] : expected) keys.insert(key);
  if (all) {
    for (const auto& [key, array] : actual) keys.insert(key);
  }
  const auto rank_of = [&](const std::string& key) {
    const auto at = std::find_if(outputs_.begin(), outputs_.end(),
                                 [&](const std::string& name) { return key == name || key.starts_with(name + "["); });
    return at - outputs_.begin();
  };
  std::vector<std::string> ordered(keys.begin(), keys.end());
  std::ranges::stable_sort(ordered, {}, rank_of);
  for (const std::string& key : ordered) {
    OutputResult output;
    output.name = key;
    const auto ours = actual.find(key), theirs = expected.find(key);
    if (ours != actual.end()) output.actual = describe(ours->second);
    if (theirs != expected.end()) output.expected = describe(theirs->second);
    if (ours == actual.end() || theirs == expected.end()) {
      output.comparison.reason = ours == actual.end() ? "the model did not give it" : "the reference did not give it";
    } else {
      output.comparison = compare_unmasked(ours->second, theirs->second);
    }
    if (!output.comparison.agrees) result.status = VerifyStatus::kDiffers;
    result.outputs.push_back(std::move(output));
  }
  if (result.outputs.empty()) {
    result.status = VerifyStatus::kReferenceFails;
    result.message = "the reference has no output for this case";
  }
}

VerifyReport verify(const VerifyOptions& options, const VerifiedModel& model, const dim::Scope& scope) {
  return Verifier(options, model, scope).run();
}

}  // namespace thaw::run

namespace thaw {

bool VerifyReport::accepted() const {
  if (points.empty()) return proof.evidence && proof.evidence->outputs > 0;
  return std::all_of(points.begin(), points.end(),
                     [](const PointResult& point) { return point.status == VerifyStatus::kAgrees; });
}

}  // namespace thaw
