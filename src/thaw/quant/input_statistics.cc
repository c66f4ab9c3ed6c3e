#include "thaw/quant/input_statistics.h"

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/quant/samples/measured_model.h"

namespace thaw::quantizing {
namespace {

void add(const std::string& name, const Array& array, bool with_products, InputStatistics& all) {
  const int64_t width = array.dims.empty() ? 1 : array.dims.back();
  auto [at, fresh] = all.try_emplace(name, width, with_products);
  if (at->second.k() != width)
    throw Error(ErrorCode::kInvalidArgument,
                {.what = fmt::format("'{}' is {} wide on one sample and {} on another", name, at->second.k(), width),
                 .where = "calibration",
                 .expected = "what a weight multiplies, of one width"});
  if (width > 0) for_rows(array, width, [&](std::span<const float> rows) { at->second.add(rows); });
}

}  // namespace

InputStatistics input_statistics(const ir::Model& model, const std::vector<std::string>& names, bool with_products,
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
      add(name, array, with_products, all);
    for (const std::string& name : fed) add(name, feeds.at(name), with_products, all);
  }
  for (auto& [name, statistics] : all) statistics.finish();
  return all;
}

}  // namespace thaw::quantizing
