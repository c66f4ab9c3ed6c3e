#include "thaw/ops/target/block_kernels.h"

#include <fmt/format.h>

#include "thaw/ops/onnx/constant_operand.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::ops {

std::string why_no_block_kernel(const Target& target, std::string_view op, int bits, bool real_zeros) {
  const TargetDomain* domain = target.domain(kMicrosoft);
  if (!domain) return fmt::format("{} takes no operators of {}", target.title, kMicrosoft);
  if (domain->kernels.empty()) return {};
  if (!find_kernel(*domain, op, 1)) return fmt::format("{} has no kernel of {}", target.title, op);
  if (op != kBlockProduct) return {};
  // DmlOperatorMatMulNBits.cpp of ONNX Runtime 1.31: other bits are not supported, and zero points are read as codes are.
  if (bits != 4 && bits != 8) return fmt::format("{}'s kernel of {} reads 4 or 8 bits", target.title, op);
  if (real_zeros) return fmt::format("{}'s kernel of {} reads zero points as it reads codes", target.title, op);
  return {};
}

}  // namespace thaw::ops
