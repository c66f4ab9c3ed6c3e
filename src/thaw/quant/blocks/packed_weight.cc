#include "thaw/quant/blocks/packed_weight.h"

#include <algorithm>
#include <array>
#include <functional>
#include <mutex>
#include <numeric>
#include <utility>

#include "thaw/ir/data/floats.h"
#include "thaw/quant/blocks/block_pass.h"
#include "thaw/quant/blocks/three_bits.h"

namespace thaw::quantizing::blocks {
namespace {

using ir::DataType;
using Sink = ir::TensorSource::Sink;

constexpr size_t kNumbersAtOnce = size_t{1} << 20;

void write_scales(std::span<const float> scales, DataType type, const Sink& sink) {
  std::vector<std::byte> bytes;
  for (size_t at = 0; at < scales.size(); at += kNumbersAtOnce) {
    const auto some = scales.subspan(at, std::min(kNumbersAtOnce, scales.size() - at));
    if (type == DataType::kFloat) {
      sink(std::as_bytes(some));
      continue;
    }
    bytes.resize(some.size() * 2);
    ir::from_floats(some, type, bytes.data());
    sink(bytes);
  }
}

// The zeros of `row` blocks end with a byte.
void write_zeros(std::span<const uint8_t> zeros, int bits, size_t row, const Sink& sink) {
  const size_t each = 8 / static_cast<size_t>(bits);
  if (row % each == 0) row = zeros.size();
  const size_t row_bytes = (row + each - 1) / each;
  std::vector<std::byte> bytes(row ? zeros.size() / row * row_bytes : 0);
  for (size_t i = 0; row && i < zeros.size() / row; ++i)
    pack_codes(zeros.subspan(i * row, row), bits, 0, bytes.data() + i * row_bytes);
  sink(bytes);
}

enum class Part : uint8_t { kCodes, kScales, kZeros };

// The pass behind the three tensors of a weight, and what waits of it.
class SharedPass {
 public:
  explicit SharedPass(BlockPass pass) : pass_(std::move(pass)) {}

  void expect() const { pass_.expect(); }

  void write(Part part, const Sink& sink) {
    std::lock_guard lock(mutex_);
    bool& is_written = written_[static_cast<size_t>(part)];
    if (part == Part::kCodes) {
      // Whoever has had scales and zeros of this round already does not come back for them.
      const bool keeps = !written_[1] || !written_[2];
      BlockPass::Kept kept;
      if (pass_.format().bits == 3) {
        ThreeBitPacker packer(sink);
        pass_.run([&](std::span<const std::byte> pairs) { packer.add(pairs); }, keeps ? &kept : nullptr);
        packer.finish();
      } else {
        pass_.run(sink, keeps ? &kept : nullptr);
      }
      if (keeps) kept_ = std::move(kept);
    } else {
      if (kept_.scales.empty()) pass_.run({}, &kept_);
      if (part == Part::kScales) {
        write_scales(kept_.scales, pass_.format().scale_type, sink);
      } else if (pass_.format().real_zeros) {
        write_scales(kept_.real_zeros, pass_.format().scale_type, sink);
      } else {
        const auto row = static_cast<size_t>(pass_.layout() == Layout::kAsStored ? kept_.zeros.size() : pass_.blocks());
        write_zeros(kept_.zeros, pass_.format().stored_bits(), row, sink);
      }
    }
    is_written = true;
    if (written_[1] && (written_[2] || pass_.format().symmetric)) {
      kept_ = {};
      if (written_[0]) written_ = {};
    }
    if (pass_.format().symmetric) written_[2] = true;
  }

 private:
  std::mutex mutex_;
  BlockPass pass_;
  BlockPass::Kept kept_;
  std::array<bool, 3> written_ = {};
};

class PartOfPass final : public ir::TensorSource {
 public:
  PartOfPass(std::shared_ptr<SharedPass> pass, Part part) : pass_(std::move(pass)), part_(part) {}
  void write(const Sink& sink) const override { pass_->write(part_, sink); }
  void expect() const override {
    if (part_ == Part::kCodes) pass_->expect();
  }

 private:
  std::shared_ptr<SharedPass> pass_;
  Part part_;
};

// Of codes and zeros, as nodes read them.
DataType codes_type(const BlockFormat& format, Layout layout) {
  if (layout != Layout::kAsStored) return DataType::kUint8;
  switch (format.bits) {
    case 2:
      return format.symmetric ? DataType::kInt2 : DataType::kUint2;
    case 3:
      return DataType::kUint4;
    case 4:
      return format.symmetric ? DataType::kInt4 : DataType::kUint4;
    default:
      return format.symmetric ? DataType::kInt8 : DataType::kUint8;
  }
}

// What is stored: codes of 3 bits by themselves.
struct StoredCodes {
  DataType type;
  std::vector<int64_t> dims;
};

StoredCodes stored_codes(const std::vector<int64_t>& dims, const BlockFormat& format, Layout layout) {
  if (format.bits != 3) return {codes_type(format, layout), dims};
  const int64_t count = std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
  return {DataType::kUint8, {rows_of_three(layout == Layout::kAsStored ? (count + 1) / 2 : count), 3}};
}

}  // namespace

bool signed_codes(const BlockFormat& format, Layout layout) {
  return layout == Layout::kAsStored && format.symmetric && format.bits != 3;
}

AllDims dims_of(int64_t k, int64_t n, bool transposed, const BlockFormat& format, Layout layout) {
  const int64_t blocks = (k + format.block - 1) / format.block, zero_bytes = (blocks * format.stored_bits() + 7) / 8;
  switch (layout) {
    case Layout::kColumns:
      return {{n, blocks, format.block * format.stored_bits() / 8},
              {n * blocks},
              {n * (format.real_zeros ? blocks : zero_bytes)}};
    case Layout::kTable:
      return {{n, k * format.stored_bits() / 8}, {n, blocks}, {n, zero_bytes}};
    default:
      if (transposed) return {{n, k}, {n, blocks}, {n, blocks}};
      return {{k, n}, {blocks, n}, {blocks, n}};
  }
}

BlockTensors in_blocks(WeightMatrix weight, const BlockFormat& format, Layout layout, Method method,
                       Importance importance) {
  if (layout != Layout::kColumns && !weight.is_mapped_turned()) weight = weight.as_declared();
  const AllDims dims = dims_of(weight.k(), weight.n(), weight.declared_transposed(), format, layout);
  const auto pass =
      std::make_shared<SharedPass>(BlockPass(std::move(weight), format, layout, method, std::move(importance)));
  const DataType type = codes_type(format, layout);
  const auto made = [&](Part part, DataType of, const std::vector<int64_t>& size) {
    return ir::Tensor::made({}, of, size, std::make_shared<PartOfPass>(pass, part));
  };
  const StoredCodes codes = stored_codes(dims.codes, format, layout);
  BlockTensors result{
      made(Part::kCodes, codes.type, codes.dims), made(Part::kScales, format.scale_type, dims.scales), {}};
  if (!format.symmetric) result.zeros = made(Part::kZeros, format.real_zeros ? format.scale_type : type, dims.zeros);
  return result;
}

BlockTensors in_blocks(ChosenCodes chosen, int64_t k, int64_t n, bool transposed, const BlockFormat& format,
                       Layout layout) {
  const AllDims dims = dims_of(k, n, transposed, format, layout);
  const int64_t blocks = (k + format.block - 1) / format.block, filled = blocks * format.block;
  const bool by_blocks = layout == Layout::kAsStored && !transposed;
  if (layout != Layout::kColumns) {
    std::vector<uint8_t> codes(static_cast<size_t>(k * n));
    for (int64_t column = 0; column < n; ++column)
      for (int64_t i = 0; i < k; ++i)
        codes[static_cast<size_t>(by_blocks ? i * n + column : column * k + i)] =
            chosen.codes[static_cast<size_t>(column * filled + i)];
    chosen.codes = std::move(codes);
  }
  if (by_blocks) {
    ChosenCodes moved{.codes = {}, .scales = chosen.scales, .zeros = chosen.zeros};
    for (int64_t column = 0; column < n; ++column) {
      for (int64_t b = 0; b < blocks; ++b) {
        chosen.scales[static_cast<size_t>(b * n + column)] = moved.scales[static_cast<size_t>(column * blocks + b)];
        chosen.zeros[static_cast<size_t>(b * n + column)] = moved.zeros[static_cast<size_t>(column * blocks + b)];
      }
    }
  }
  const bool is_signed = signed_codes(format, layout);
  const int bits = format.stored_bits();
  std::vector<std::byte> codes((chosen.codes.size() * static_cast<size_t>(bits) + 7) / 8), scales, zeros;
  pack_codes(chosen.codes, bits, static_cast<uint8_t>(is_signed ? format.middle() : 0), codes.data());
  const auto append_to = [](std::vector<std::byte>& all) {
    return [&all](std::span<const std::byte> chunk) { all.insert(all.end(), chunk.begin(), chunk.end()); };
  };
  if (format.bits == 3) {
    std::vector<std::byte> packed;
    ThreeBitPacker packer(append_to(packed));
    packer.add(codes);
    packer.finish();
    codes = std::move(packed);
  }
  write_scales(chosen.scales, format.scale_type, append_to(scales));
  const auto row = layout == Layout::kAsStored ? chosen.zeros.size() : static_cast<size_t>(blocks);
  write_zeros(chosen.zeros, bits, row, append_to(zeros));
  const DataType type = codes_type(format, layout);
  const StoredCodes stored = stored_codes(dims.codes, format, layout);
  BlockTensors result{ir::Tensor::from_bytes({}, stored.type, stored.dims, std::move(codes)),
                      ir::Tensor::from_bytes({}, format.scale_type, dims.scales, std::move(scales)),
                      {}};
  if (!format.symmetric) result.zeros = ir::Tensor::from_bytes({}, type, dims.zeros, std::move(zeros));
  return result;
}

}  // namespace thaw::quantizing::blocks
