#include "thaw/sensitivity/room.h"

#include <algorithm>
#include <system_error>
#include <unordered_set>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/ir/data/types.h"
#include "thaw/optimize/optimize.h"
#include "thaw/quant/candidates.h"
#include "thaw/quant/precisions.h"
#include "thaw/rewrite/splice.h"

namespace thaw::measuring {

LeastBytes converted_bytes_at_least(const ir::Model& model, const std::vector<std::string>& nodes,
                                    const PrecisionOptions& precision) {
  const auto bits = static_cast<uint64_t>(quantizing::bits_of(precision.to));
  LeastBytes bytes{.all = optimizing::weigh(*model.graph).bytes};
  std::unordered_set<const ir::Value*> counted;
  const auto count = [&](const ir::Value* weight) {
    const ir::Tensor* tensor = weight->initializer();
    if (!tensor || tensor->data_type != ir::DataType::kFloat || !counted.insert(weight).second) return;
    const uint64_t now = static_cast<uint64_t>(tensor->num_elements()) * bits / 8, before = tensor->num_bytes();
    if (now >= before) return;
    bytes.all -= before - now;
    bytes.converted += now;
  };
  // Of 16 bits, what is stored beside the nodes, too.
  if (quantizing::is_half(precision.to)) std::ranges::for_each(model.graph->initializers(), count);
  const std::unordered_set<std::string> names(nodes.begin(), nodes.end());
  for (const ir::Node* node : model.graph->nodes())
    if (names.contains(rewrite::name_of(*node))) std::ranges::for_each(quantizing::weights_of(*node), count);
  return bytes;
}

void require_room(uint64_t bytes, const std::filesystem::path& folder, const std::string& model) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  if (error || bytes <= space.available) return;
  constexpr double kMega = 1 << 20;
  throw Error(
      ErrorCode::kCannotWrite,
      {.what = fmt::format("the converted model takes at least {:.0f} MiB on the disk, which has {:.0f} MiB left",
                           static_cast<double>(bytes) / kMega, static_cast<double>(space.available) / kMega),
       .where = model,
       .expected = fmt::format("room for it in {}, as --max-memory does not hold its weights", folder.string()),
       .next = "TMPDIR names another folder; or allow more with --max-memory"});
}

}  // namespace thaw::measuring
