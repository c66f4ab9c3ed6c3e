#include "thaw/quant/int8/weight_chooser.h"

#include <algorithm>
#include <climits>
#include <cmath>

namespace thaw::quantizing::int8 {
namespace {

// Codes of biases are kept this far from the end of 32 bits: what is summed over stands beside them.
constexpr double kMostBiasCode = 1 << 30;

}  // namespace

WeightChooser::Key WeightChooser::key_of(const WeightOperand& weight, const Int8Options& options) {
  const Codes codes = weight_codes(options);
  return {weight.value, options.per_channel ? weight.axis : -1, static_cast<int>(codes.type), codes.lowest,
          options.symmetric_weights};
}

void WeightChooser::require_for_bias(const ChosenNode& node, float data_scale) {
  const WeightOperand& weight = node.weighted.weights.front();
  const bool per_channel = node.options->per_channel && weight.axis >= 0;
  std::vector<double>& least = least_[key_of(weight, *node.options)];
  for_chunks(*node.weighted.bias_value->constant(), [&](int64_t first, std::span<const float> numbers) {
    for (size_t i = 0; i < numbers.size(); ++i) {
      const size_t channel = per_channel ? static_cast<size_t>(first) + i : 0;
      if (least.size() <= channel) least.resize(channel + 1, 0);
      const double needed =
          std::fabs(static_cast<double>(numbers[i])) / (static_cast<double>(data_scale) * kMostBiasCode);
      if (std::isfinite(needed)) least[channel] = std::max(least[channel], needed);
    }
  });
}

const WeightScales& WeightChooser::of(const WeightOperand& weight, const Int8Options& options) {
  const Key key = key_of(weight, options);
  const auto found = scales_.find(key);
  if (found != scales_.end()) return found->second;
  WeightScales scales =
      weight_scales(*weight.tensor, std::get<1>(key), weight_codes(options), options.symmetric_weights, least_[key]);
  return scales_.emplace(key, std::move(scales)).first->second;
}

const WeightScales& WeightChooser::of_rows(const Lookup& lookup) {
  Int8Options rows = *lookup.options;
  rows.symmetric_weights = rows.per_channel = true;
  const WeightOperand table{.input = 0, .value = lookup.table.value, .tensor = lookup.table.tensor, .axis = 0};
  if (const auto own = scales_.find(key_of(table, rows)); own != scales_.end()) return own->second;
  // Rows can be looked up in codes of any scales: those that a product reads are there already.
  const auto product = scales_.lower_bound({table.value, INT_MIN, INT_MIN, INT_MIN, false});
  const bool is_read = product != scales_.end() && std::get<0>(product->first) == table.value;
  return is_read ? product->second : of(table, rows);
}

}  // namespace thaw::quantizing::int8
