#include "thaw/quant/input_statistics.h"

#include <memory>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/run/elements.h"
#include "thaw/run/relax.h"
#include "thaw/run/session.h"

namespace thaw::quantizing {
namespace {

constexpr int64_t kPiece = int64_t{1} << 20;  // elements

void add(const std::string& name, const Array& array, bool with_products, InputStatistics& all) {
  const int64_t width = array.dims.empty() ? 1 : array.dims.back();
  auto [at, fresh] = all.try_emplace(name, width, with_products);
  if (at->second.k() != width)
    throw Error(ErrorCode::kInvalidArgument,
                {.what = fmt::format("'{}' is {} wide on one sample and {} on another", name, at->second.k(), width),
                 .where = "calibration",
                 .expected = "what a weight multiplies, of one width"});
  if (width == 0) return;
  const int64_t step = std::max<int64_t>(1, kPiece / width) * width, count = array.num_elements();
  std::vector<double> numbers;
  std::vector<float> rows;
  for (int64_t first = 0; first < count; first += step) {
    numbers.resize(static_cast<size_t>(std::min(step, count - first)));
    run::decode(array.dtype, array.bytes.data(), first, numbers);
    rows.assign(numbers.begin(), numbers.end());
    at->second.add(rows);
  }
}

}  // namespace

InputStatistics input_statistics(const ir::Model& model, const std::vector<std::string>& names, bool with_products,
                                 const Samples& samples) {
  const std::unique_ptr<ir::Model> own = ir::clone(model);
  run::drop_declared_sizes(*own);
  std::vector<std::string> inputs, wanted, fed;
  for (const ir::Value* input : own->graph->inputs())
    if (!input->constant()) inputs.push_back(input->name());
  for (const std::string& name : names) {
    ir::Value* value = own->graph->find(name);
    if (!value || value->is_input()) {
      fed.push_back(name);
      continue;
    }
    if (!value->is_output()) own->graph->add_output(value);
    wanted.push_back(name);
  }
  InputStatistics all;
  run::Session session(*own, {});
  for (size_t i = 0; i < samples.size(); ++i) {
    const Arrays feeds = samples.read(i, inputs);
    for (const auto& [name, array] : wanted.empty() ? Arrays() : session.run(feeds, wanted))
      add(name, array, with_products, all);
    for (const std::string& name : fed)
      if (const auto array = feeds.find(name); array != feeds.end()) add(name, array->second, with_products, all);
  }
  for (auto& [name, statistics] : all) statistics.finish();
  return all;
}

}  // namespace thaw::quantizing
