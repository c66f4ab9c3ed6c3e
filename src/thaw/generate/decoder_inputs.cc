#include "thaw/generate/decoder_inputs.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "thaw/core/error.h"

namespace thaw::generating {
namespace {

constexpr std::string_view kPast = "past_key_values.", kPresent = "present.";
constexpr const char *kMask = "attention_mask", *kPositions = "position_ids";

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

}  // namespace

DecoderInputs::DecoderInputs(const ir::Model& decoder) {
  for (const ir::Value* input : decoder.graph->inputs()) {
    names_.insert(input->name());
    const size_t rank = input->type.shape ? input->type.shape->size() : 0;
    if (input->name() == kPositions) position_axes_ = rank == 3 ? 3 : 1;
    if (!input->name().starts_with(kPast)) continue;
    std::vector<int64_t> dims;  // [batch, kv_heads, past, head_dim]
    for (size_t axis = 0; axis < rank; ++axis)
      dims.push_back(axis == 0 ? 1 : axis == 2 ? 0 : (*input->type.shape)[axis].value.value_or(0));
    empty_.emplace(input->name(), Array::zeros(input->type.elem_type, std::move(dims)));
    past_of_.emplace(std::string(kPresent) + input->name().substr(kPast.size()), input->name());
  }
  for (const ir::Value* output : decoder.graph->outputs())
    if (output->name() == kLogits && output->type.shape && !output->type.shape->empty())
      vocabulary_ = output->type.shape->back().value;
  if (past_of_.empty())
    throw Error(ErrorCode::kUnsupported, {.what = "the decoder has no cache",
                                          .where = decoder.path.string(),
                                          .expected = "past_key_values among its inputs",
                                          .next = "build it with `thaw build --kv-cache`"});
}

Arrays DecoderInputs::feeds(const Arrays& tokens, const RopePositions& positions, int64_t begin, int64_t end,
                            int64_t past) const {
  Arrays feeds;
  for (const auto& [name, array] : tokens)
    if (names_.contains(name)) feeds.emplace(name, tokens_of(array, begin, end));
  const int64_t total = past + end - begin;
  feeds.emplace(kMask, integers({1, total}, std::vector<int64_t>(static_cast<size_t>(total), 1)));
  std::vector<int64_t> numbers;
  for (int64_t axis = 0; axis < position_axes_; ++axis) {
    const std::vector<int64_t>& all = positions.axes[static_cast<size_t>(axis)];
    numbers.insert(numbers.end(), all.begin() + begin, all.begin() + end);
  }
  if (position_axes_ == 1) feeds.emplace(kPositions, integers({1, end - begin}, numbers));
  if (position_axes_ == 3) feeds.emplace(kPositions, integers({3, 1, end - begin}, numbers));
  if (past == 0) feeds.insert(empty_.begin(), empty_.end());
  return feeds;
}

}  // namespace thaw::generating
