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

// Tokens of a prompt in one call: logits of all of them are made, [seq, vocabulary].
constexpr int64_t kMostAtOnce = 512;

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
    : path_(model), splits_prompts_(splits_prompts), inputs_(*ir::load(model)), session_(model, options) {}

void Decoder::forget() {
  cache_.clear();
  past_ = 0;
}

int64_t Decoder::next(const Arrays& tokens, const RopePositions& positions) {
  const auto count = static_cast<int64_t>(positions.axes[0].size());
  const int64_t step = splits_prompts_ ? kMostAtOnce : count;
  static const std::vector<std::string> wanted{kLogits};
  std::vector<std::string> presents;
  for (const auto& [output, input] : inputs_.past_of()) presents.push_back(output);
  int64_t chosen = 0;
  for (int64_t begin = 0; begin < count; begin += step) {
    const int64_t end = std::min(begin + step, count);
    const bool is_last = end == count;
    run::Values results = session_.run(inputs_.feeds(tokens, positions, begin, end, past_), cache_,
                                       is_last ? std::span(wanted) : std::span<const std::string>(), presents);
    cache_.clear();
    for (auto& [output, array] : results.held) cache_.emplace(inputs_.past_of().at(output), std::move(array));
    past_ += end - begin;
    if (is_last) chosen = largest_of_last_row(results.arrays.at(kLogits), path_.string());
  }
  return chosen;
}

}  // namespace thaw::generating
