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
                                            .expected = "samples with finite activations",
                                            .next = "--keep leaves its readers unchanged"});
}

void add_array(const ValueLocation& location, const Array& array, const std::string& sample, bool with_products,
               InputStatistics& all) {
  const int64_t width = array.dims.empty() ? 1 : array.dims.back();
  if (location.graph != 0 && array.num_elements() == 0) return;  // its branch was not taken
  auto [at, fresh] = all.try_emplace(location, width, with_products);
  if (at->second.k() != width)
    throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("'{}' is {} wide on one sample and {} on another",
                                                                  location.name, at->second.k(), width),
                                              .where = "calibration",
                                              .expected = "activations of one width"});
  if (width == 0) return;
  for_rows(array, width, [&](std::span<const float> rows) {
    require_finite(location.name, rows, sample);
    at->second.add(rows);
  });
}

// Bytes of products that are remembered; sums alone are small.
constexpr uint64_t kMostRemembered = uint64_t{1} << 29;

InputStatistics statistics_over(const ir::Model& model, const std::vector<ValueLocation>& locations, bool with_products,
                                const Samples& samples) {
  MeasuredModel measured(model);
  std::vector<ValueLocation> computed, fed;
  std::vector<InnerValue> values;
  for (const ValueLocation& location : locations) {
    ir::Value* value = measured.value(location);
    if (location.graph == 0 && measured.is_fed(location.name)) {
      fed.push_back(location);
    } else if (value && (location.graph != 0 || !value->is_input())) {
      computed.push_back(location);
      // Branches output what has as many axes as the others have.
      values.push_back({location.graph == 0 ? value : measured.rows(value), OfRuns::kRows});
    }
  }
  std::vector<std::string> wanted;
  for (ir::Value* value : brought_out(measured, values)) wanted.push_back(measured.output(value));
  InputStatistics all;
  measured.start();
  for (size_t i = 0; i < samples.size(); ++i) {
    const Arrays feeds = samples.read(i, measured.inputs());
    const Arrays results = wanted.empty() ? Arrays() : measured.run(feeds, wanted);
    for (size_t k = 0; k < wanted.size(); ++k)
      add_array(computed[k], results.at(wanted[k]), samples.name(i), with_products, all);
    for (const ValueLocation& location : fed)
      add_array(location, feeds.at(location.name), samples.name(i), with_products, all);
    for (auto& [location, statistics] : all) statistics.end_sample();
  }
  for (auto& [location, statistics] : all) statistics.finish();
  return all;
}

std::string key_of_input(const ValueLocation& location, bool with_products) {
  return fmt::format("{} {} {}", with_products ? "products" : "sums", location.graph, location.name);
}

}  // namespace

InputStatistics input_statistics(const ir::Model& model, const std::vector<ValueLocation>& locations,
                                 bool with_products, const Samples& samples) {
  Remembered* known = samples.remembered();
  if (!known) return statistics_over(model, locations, with_products, samples);
  InputStatistics all;
  std::vector<ValueLocation> open;
  for (const ValueLocation& location : locations) {
    const auto at = known->find(key_of_input(location, with_products));
    if (at == known->end()) {
      open.push_back(location);
    } else if (at->second.has_value()) {
      all.emplace(location, std::any_cast<const blocks::ColumnStatistics&>(at->second));
    }
  }
  if (open.empty()) return all;
  InputStatistics found = statistics_over(model, open, with_products, samples);
  uint64_t bytes = 0;
  for (const auto& [location, statistics] : found) bytes += statistics.products.size() * sizeof(float);
  if (bytes <= kMostRemembered)
    for (const ValueLocation& location : open) {
      const auto at = found.find(location);
      known->emplace(key_of_input(location, with_products), at == found.end() ? std::any() : std::any(at->second));
    }
  all.merge(found);
  return all;
}

}  // namespace thaw::quantizing
