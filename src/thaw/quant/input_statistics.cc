#include "thaw/quant/input_statistics.h"

#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/quant/samples/measured_model.h"

namespace thaw::quantizing {
namespace {

void require_finite(const std::string& name, std::span<const float> numbers, const std::string& sample) {
  if (std::ranges::all_of(numbers, [](float number) { return std::isfinite(number); })) return;
  throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("'{}' has a NaN or an infinity on {}", name, sample),
                                            .where = "calibration",
                                            .expected = "samples on which what a weight multiplies is finite",
                                            .next = "--keep leaves the nodes that read it as they are"});
}

void add(const std::string& name, const Array& array, const std::string& sample, bool with_products,
         InputStatistics& all) {
  const int64_t width = array.dims.empty() ? 1 : array.dims.back();
  auto [at, fresh] = all.try_emplace(name, width, with_products);
  if (at->second.k() != width)
    throw Error(ErrorCode::kInvalidArgument,
                {.what = fmt::format("'{}' is {} wide on one sample and {} on another", name, at->second.k(), width),
                 .where = "calibration",
                 .expected = "what a weight multiplies, of one width"});
  if (width == 0) return;
  for_rows(array, width, [&](std::span<const float> rows) {
    require_finite(name, rows, sample);
    at->second.add(rows);
  });
}

// Bytes of products that are remembered; sums alone are small.
constexpr uint64_t kMostRemembered = uint64_t{1} << 29;

InputStatistics statistics_over(const ir::Model& model, const std::vector<std::string>& names, bool with_products,
                                const Samples& samples) {
  MeasuredModel measured(model);
  std::vector<std::string> wanted, fed;
  for (const std::string& name : names) {
    if (measured.is_fed(name)) {
      fed.push_back(name);
    } else if (ir::Value* value = measured.value(name); value && !value->is_input()) {
      wanted.push_back(measured.output(value));
    }
  }
  InputStatistics all;
  measured.start();
  for (size_t i = 0; i < samples.size(); ++i) {
    const Arrays feeds = samples.read(i, measured.inputs());
    for (const auto& [name, array] : wanted.empty() ? Arrays() : measured.run(feeds, wanted))
      add(name, array, samples.name(i), with_products, all);
    for (const std::string& name : fed) add(name, feeds.at(name), samples.name(i), with_products, all);
    for (auto& [name, statistics] : all) statistics.end_sample();
  }
  for (auto& [name, statistics] : all) statistics.finish();
  return all;
}

std::string key_of_input(const std::string& name, bool with_products) {
  return (with_products ? "products " : "sums ") + name;
}

}  // namespace

InputStatistics input_statistics(const ir::Model& model, const std::vector<std::string>& names, bool with_products,
                                 const Samples& samples) {
  Remembered* known = samples.remembered();
  if (!known) return statistics_over(model, names, with_products, samples);
  InputStatistics all;
  std::vector<std::string> open;
  for (const std::string& name : names) {
    const auto at = known->find(key_of_input(name, with_products));
    if (at == known->end()) {
      open.push_back(name);
    } else if (at->second.has_value()) {
      all.emplace(name, std::any_cast<const blocks::ColumnStatistics&>(at->second));
    }
  }
  if (open.empty()) return all;
  InputStatistics found = statistics_over(model, open, with_products, samples);
  uint64_t bytes = 0;
  for (const auto& [name, statistics] : found) bytes += statistics.products.size() * sizeof(float);
  if (bytes <= kMostRemembered)
    for (const std::string& name : open) {
      const auto at = found.find(name);
      known->emplace(key_of_input(name, with_products), at == found.end() ? std::any() : std::any(at->second));
    }
  all.merge(found);
  return all;
}

}  // namespace thaw::quantizing
