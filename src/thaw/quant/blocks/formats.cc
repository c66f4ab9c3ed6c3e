#include "thaw/quant/blocks/formats.h"

#include <bit>

#include <fmt/format.h>

#include "thaw/quant/blocks/tile.h"

namespace thaw::quantizing::blocks {
namespace {

constexpr int64_t kSmallestBlock = 16;
constexpr int64_t kOpsetOfBlocks = 21;   // DequantizeLinear's block_size and types of 4 bits
constexpr int64_t kOpsetOfBitwise = 18;  // BitwiseAnd and BitwiseOr
constexpr int64_t kOpsetOfTwoBits = 25;

std::string why_no_real_zeros(int bits, const BlockOptions& options) {
  if (options.symmetric) return "real zero points need zero points";
  if (options.form == BlockForm::kQdq) return "DequantizeLinear has zero points of the quantized type";
  if (bits == 8) return "ONNX Runtime's MatMulNBits has no kernel for 8 bits with real zero points";
  const bool has_method = options.method == BlockMethod::kSearch || options.method == BlockMethod::kAwq;
  return has_method ? "" : "real zero points are supported by search and awq only";
}

}  // namespace

std::string why_not(int bits, const BlockOptions& options) {
  if (bits != 2 && bits != 3 && bits != 4 && bits != 8)
    return fmt::format("block-wise quantization to {} bits is not supported", bits);
  if (options.block < kSmallestBlock || options.block > kLargestBlock ||
      !std::has_single_bit(static_cast<uint64_t>(options.block)))
    return fmt::format("a block has 16, 32, 64, 128 or 256 weights, not {}", options.block);
  if (options.form == BlockForm::kQdq && options.accuracy_level != 0)
    return "an accuracy level is MatMulNBits'; of DequantizeLinear ONNX Runtime's session option "
           "session.qdq_matmulnbits_accuracy_level has it";
  return options.real_zeros ? why_no_real_zeros(bits, options) : "";
}

int64_t opset_needed(int bits, const BlockOptions& options) {
  if (options.form != BlockForm::kQdq) return bits == 3 ? kOpsetOfBitwise : 1;
  return bits == 2 ? kOpsetOfTwoBits : kOpsetOfBlocks;
}

}  // namespace thaw::quantizing::blocks
