#include "thaw/quant/blocks/three_bits.h"

#include <functional>
#include <numeric>
#include <string>
#include <utility>

#include "thaw/ir/data/tensor.h"

namespace thaw::quantizing::blocks {
namespace {

using ir::DataType;

constexpr size_t kPairs = 4;  // bytes of two codes that three bytes hold
constexpr uint8_t kLows = 0x33, kHighs = 0x11;
constexpr uint8_t kMiddle = 4;

int64_t product(const std::vector<int64_t>& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

ir::Value* bytes(const ops::Emit& at, const std::vector<uint8_t>& numbers, std::vector<int64_t> dims) {
  std::vector<std::byte> data;
  for (const uint8_t number : numbers) data.push_back(static_cast<std::byte>(number));
  return at.writer().constant(ir::Tensor::from_bytes({}, DataType::kUint8, std::move(dims), std::move(data)));
}

ir::Value* shifted(const ops::Emit& at, ir::Value* x, const std::vector<uint8_t>& by, const char* direction) {
  return at.emit("BitShift", {x, bytes(at, by, {static_cast<int64_t>(by.size())})},
                 {{"direction", std::string(direction)}});
}

ir::Value* masked(const ops::Emit& at, ir::Value* x, uint8_t mask) {
  return at.emit("BitwiseAnd", {x, bytes(at, {mask}, {})});
}

// Of x with at least so many elements.
ir::Value* shaped(const ops::Emit& at, ir::Value* x, int64_t num_elements, const std::vector<int64_t>& dims) {
  if (num_elements != product(dims)) x = at.slice(at.reshape(x, at.list({-1})), 0, product(dims));
  return at.reshape(x, at.list(dims));
}

// uint8 [rows, 4].
ir::Value* pairs(const ops::Emit& at, ir::Value* packed) {
  ir::Value* lows = at.reshape(at.slice(packed, 0, 2, 1), at.list({-1, 1}));
  lows = at.reshape(masked(at, shifted(at, lows, {0, 2}, "RIGHT"), kLows), at.list({-1, kPairs}));
  ir::Value* highs = masked(at, shifted(at, at.slice(packed, 2, 3, 1), {0, 1, 2, 3}, "RIGHT"), kHighs);
  return at.emit("BitwiseOr", {lows, shifted(at, highs, {2}, "LEFT")});
}

}  // namespace

int64_t rows_of_three(int64_t num_bytes) { return (num_bytes + 3) / 4; }

void ThreeBitPacker::add(std::span<const std::byte> pairs) {
  out_.clear();
  const auto pack = [&](const std::byte* four) {
    const auto lows = [&](size_t i) { return static_cast<unsigned>(four[i]) & kLows; };
    const auto highs = [&](size_t i) { return static_cast<unsigned>(four[i]) >> 2U & kHighs; };
    out_.push_back(static_cast<std::byte>(lows(0) | lows(1) << 2U));
    out_.push_back(static_cast<std::byte>(lows(2) | lows(3) << 2U));
    out_.push_back(static_cast<std::byte>(highs(0) | highs(1) << 1U | highs(2) << 2U | highs(3) << 3U));
  };
  while (!left_.empty() && left_.size() < kPairs && !pairs.empty()) {
    left_.push_back(pairs.front());
    pairs = pairs.subspan(1);
  }
  if (left_.size() == kPairs) {
    pack(left_.data());
    left_.clear();
  }
  const size_t whole = pairs.size() / kPairs * kPairs;
  if (left_.empty()) {
    out_.reserve(out_.size() + whole / kPairs * 3);
    for (size_t i = 0; i < whole; i += kPairs) pack(pairs.data() + i);
    left_.assign(pairs.begin() + static_cast<ptrdiff_t>(whole), pairs.end());
  }
  if (!out_.empty()) sink_(out_);
}

void ThreeBitPacker::finish() {
  if (left_.empty()) return;
  const std::vector<std::byte> fill(kPairs - left_.size());
  add(fill);
}

ir::Value* pairs_of_codes(const ops::Emit& at, ir::Value* packed, const std::vector<int64_t>& dims) {
  return shaped(at, pairs(at, packed), rows_of_three(product(dims)) * 4, dims);
}

ir::Value* single_codes(const ops::Emit& at, ir::Value* packed, const std::vector<int64_t>& dims) {
  ir::Value* codes = at.reshape(pairs(at, packed), at.list({-1, 1}));
  codes = masked(at, shifted(at, codes, {0, 4}, "RIGHT"), 0x7);
  const int64_t num_codes = rows_of_three((product(dims) + 1) / 2) * 8;
  return at.cast(shaped(at, codes, num_codes, dims), DataType::kUint4);
}

bool is_of_three_bits(const ir::Value* codes) {
  constexpr int kMostSteps = 16;
  constexpr int64_t kBytesOfRow = 3;
  for (int step = 0; codes && step < kMostSteps; ++step) {
    if (const ir::Tensor* packed = codes->constant())
      return step > 0 && packed->data_type == DataType::kUint8 && packed->dims.size() == 2 &&
             packed->dims[1] == kBytesOfRow;
    codes = codes->producer() && !codes->producer()->inputs().empty() ? codes->producer()->input(0) : nullptr;
  }
  return false;
}

ir::Value* middle_pairs(const ops::Emit& at, const std::vector<int64_t>& dims) {
  return at.emit("Expand", {bytes(at, {kMiddle << 4U | kMiddle}, {}), at.list(dims)});
}

ir::Value* middle_codes(const ops::Emit& at, const std::vector<int64_t>& dims) {
  return at.cast(at.emit("Expand", {bytes(at, {kMiddle}, {}), at.list(dims)}), DataType::kUint4);
}

}  // namespace thaw::quantizing::blocks
