#include "thaw/generate/decoder.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/ir/graph/model.h"
#include "thaw/run/elements.h"

namespace thaw::generating {
namespace {

constexpr std::string_view kPast = "past_key_values.", kPresent = "present.";
constexpr const char *kMask = "attention_mask", *kPositions = "position_ids", *kLogits = "logits";
// Tokens of a prompt in one call: logits of all of them are made, [seq, vocabulary].
constexpr int64_t kMostAtOnce = 512;

Array integers(std::vector<int64_t> dims, const std::vector<int64_t>& numbers) {
  return Array::from_int64(ir::DataType::kInt64, std::move(dims), numbers);
}

// Rows [begin, end) of [1, seq, …].
Array tokens_of(const Array& array, int64_t begin, int64_t end) {
  Array part{.dtype = array.dtype, .dims = array.dims};
  const size_t row = array.bytes.size() / static_cast<size_t>(std::max<int64_t>(1, array.dims.at(1)));
  const auto first = array.bytes.begin() + static_cast<ptrdiff_t>(row) * begin;
  part.dims[1] = end - begin;
  part.bytes.assign(first, first + static_cast<ptrdiff_t>(row) * (end - begin));
  return part;
}

int64_t largest_of_last_row(const Array& logits, const std::string& where) {
  const int64_t width = logits.dims.empty() ? 0 : logits.dims.back();
  const int64_t count = logits.num_elements();
  if (width == 0 || count < width)
    throw Error(ErrorCode::kUnsupported, {.what = "the decoder gave no logits", .where = where});
  std::vector<double> row(static_cast<size_t>(width));
  run::decode(logits.dtype, logits.bytes.data(), count - width, row);
  const auto broken = std::ranges::find_if(row, [](double logit) { return std::isnan(logit); });
  if (broken != row.end())
    throw Error(ErrorCode::kRuntimeFailed, {.what = "a logit is NaN",
                                            .where = where,
                                            .expected = "numbers",
                                            .next = "build it in float32, or see `thaw verify`"});
  return std::ranges::max_element(row) - row.begin();
}

}  // namespace

Decoder::Decoder(const std::filesystem::path& model, bool splits_prompts, const SessionOptions& options)
    : path_(model), splits_prompts_(splits_prompts), session_(model, options) {
  const auto loaded = ir::load(model);
  for (const ir::Value* input : loaded->graph->inputs()) {
    const size_t rank = input->type.shape ? input->type.shape->size() : 0;
    if (input->name() == kPositions) position_axes_ = rank == 3 ? 3 : 1;
    if (!input->name().starts_with(kPast)) continue;
    std::vector<int64_t> dims;  // [batch, kv_heads, past, head_dim]
    for (size_t axis = 0; axis < rank; ++axis)
      dims.push_back(axis == 0 ? 1 : axis == 2 ? 0 : (*input->type.shape)[axis].value.value_or(0));
    empty_.emplace(input->name(), Array::zeros(input->type.elem_type, std::move(dims)));
    past_of_.emplace(std::string(kPresent) + input->name().substr(kPast.size()), input->name());
  }
  for (const ir::Value* output : loaded->graph->outputs())
    if (output->name() == kLogits && output->type.shape && !output->type.shape->empty())
      vocabulary_ = output->type.shape->back().value;
  if (past_of_.empty())
    throw Error(ErrorCode::kUnsupported, {.what = "the decoder has no cache",
                                          .where = model.string(),
                                          .expected = "past_key_values among its inputs",
                                          .next = "build it with `thaw build --kv-cache`"});
}

Arrays Decoder::feeds_of(const Arrays& tokens, const RopePositions& positions, int64_t begin, int64_t end) const {
  Arrays feeds;
  for (const auto& [name, array] : tokens)
    if (session_.find_input(name) != nullptr) feeds.emplace(name, tokens_of(array, begin, end));
  const int64_t total = past_ + end - begin;
  feeds.emplace(kMask, integers({1, total}, std::vector<int64_t>(static_cast<size_t>(total), 1)));
  std::vector<int64_t> numbers;
  for (int64_t axis = 0; axis < position_axes_; ++axis) {
    const std::vector<int64_t>& all = positions.axes[static_cast<size_t>(axis)];
    numbers.insert(numbers.end(), all.begin() + begin, all.begin() + end);
  }
  if (position_axes_ == 1) feeds.emplace(kPositions, integers({1, end - begin}, numbers));
  if (position_axes_ == 3) feeds.emplace(kPositions, integers({3, 1, end - begin}, numbers));
  if (past_ == 0) feeds.insert(empty_.begin(), empty_.end());
  return feeds;
}

int64_t Decoder::next(const Arrays& tokens, const RopePositions& positions) {
  const auto count = static_cast<int64_t>(positions.axes[0].size());
  const int64_t step = splits_prompts_ ? kMostAtOnce : count;
  static const std::vector<std::string> wanted{kLogits};
  std::vector<std::string> presents;
  for (const auto& [output, input] : past_of_) presents.push_back(output);
  int64_t chosen = 0;
  for (int64_t begin = 0; begin < count; begin += step) {
    const int64_t end = std::min(begin + step, count);
    const bool is_last = end == count;
    run::Values results = session_.run(feeds_of(tokens, positions, begin, end), cache_,
                                       is_last ? std::span(wanted) : std::span<const std::string>(), presents);
    cache_.clear();
    for (auto& [output, array] : results.held) cache_.emplace(past_of_.at(output), std::move(array));
    past_ += end - begin;
    if (is_last) chosen = largest_of_last_row(results.arrays.at(kLogits), path_.string());
  }
  return chosen;
}

}  // namespace thaw::generating
