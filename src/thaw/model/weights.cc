#include "thaw/model/weights.h"

#include <fmt/format.h>

#include "thaw/core/error.h"

namespace thaw::model {

Weight Weights::get(std::string_view name, const std::vector<int64_t>& shape) const {
  Weight weight = Weight::of(checkpoint_.get(name, shape));
  constexpr std::string_view kWeight = ".weight";
  if (!adapter_ || shape.size() != 2 || !name.ends_with(kWeight)) return weight;
  const std::string_view stem = name.substr(0, name.size() - kWeight.size());
  const std::string down = fmt::format("{}.lora_A.{}.weight", stem, adapter_->name);
  const std::string up = fmt::format("{}.lora_B.{}.weight", stem, adapter_->name);
  const auto a = checkpoint_.find(down);
  if (!a) return weight;
  if (a->dims.size() != 2) {
    throw Error(ErrorCode::kInvalidFile, {.what = fmt::format("the adapter '{}' has {} axes", down, a->dims.size()),
                                          .where = checkpoint_.where(),
                                          .expected = "2",
                                          .next = "fetch the checkpoint again"});
  }
  const int64_t rank = a->dims[0];
  return weight.plus_low_rank(checkpoint_.get(down, {rank, shape[1]}), checkpoint_.get(up, {shape[0], rank}),
                              adapter_->scale);
}

}  // namespace thaw::model
