#include "thaw/quant/blocks/weight_matrix.h"

#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "thaw/ir/data/floats.h"
#include "thaw/ir/data/widened_source.h"
#include "thaw/quant/blocks/packed_weight.h"

namespace thaw::quantizing::blocks {
namespace {

using ir::DataType;

// bfloat16 [rows, columns] in parts of whole rows, as float32 of the same dims, or turned.
class InParts : public ir::WidenedSource {
 public:
  InParts(int64_t rows, int64_t columns, const std::vector<int64_t>& parts, bool turned)
      : rows_(rows), columns_(columns), turned_(turned), floats_(static_cast<size_t>(rows * columns)) {
    std::mt19937 random(static_cast<uint32_t>(rows * 131 + columns));
    std::normal_distribution<float> normal;
    for (float& number : floats_) number = normal(random);
    bytes_.resize(floats_.size() * 2);
    ir::from_floats(floats_, DataType::kBfloat16, bytes_.data());
    ir::to_floats(DataType::kBfloat16, bytes_.data(), floats_);
    size_t at = 0;
    for (const int64_t count : parts) {
      const auto size = static_cast<size_t>(count * columns * 2);
      parts_.push_back(std::span(bytes_).subspan(at, size));
      at += size;
    }
  }

  std::vector<float> numbers() const {
    if (!turned_) return floats_;
    std::vector<float> turned(floats_.size());
    for (int64_t i = 0; i < rows_; ++i)
      for (int64_t j = 0; j < columns_; ++j)
        turned[static_cast<size_t>(j * rows_ + i)] = floats_[static_cast<size_t>(i * columns_ + j)];
    return turned;
  }
  std::vector<int64_t> dims() const { return turned_ ? std::vector{columns_, rows_} : std::vector{rows_, columns_}; }

  void write(const Sink& sink) const override { sink(std::as_bytes(std::span<const float>(numbers()))); }
  std::optional<Narrow> narrow() const override {
    return Narrow{.parts = parts_, .type = DataType::kBfloat16, .turned = turned_};
  }

 private:
  int64_t rows_, columns_;
  bool turned_;
  std::vector<float> floats_;
  std::vector<std::byte> bytes_;
  std::vector<std::span<const std::byte>> parts_;
};

void expect_same(const ir::Tensor& a, const ir::Tensor& b, const std::string& what) {
  EXPECT_EQ(a.dims, b.dims) << what;
  const auto left = a.bytes(), right = b.bytes();
  ASSERT_EQ(left.size(), right.size()) << what;
  EXPECT_TRUE(std::equal(left.begin(), left.end(), right.begin())) << what;
}

// Whoever reads a checkpoint's own numbers makes the same bytes as who reads the tensor that they become.
TEST(WeightMatrix, ReadsNumbersWhereTheyLieAsIfTheTensorWereMade) {
  for (const auto& parts : {std::vector<int64_t>{50}, std::vector<int64_t>{16, 33, 1}})
    for (const bool turned : {false, true})
      for (const bool transposed : {false, true})
        for (const Layout layout : {Layout::kColumns, Layout::kTable, Layout::kAsStored})
          for (const int64_t columns : {64, 71}) {
            const auto source = std::make_shared<InParts>(50, columns, parts, turned);
            // Of lookups alone, whose rows are whole blocks.
            if (layout == Layout::kTable && (!transposed || source->dims()[1] % 32 != 0)) continue;
            const auto numbers = source->numbers();
            const std::span<const std::byte> bytes = std::as_bytes(std::span(numbers));
            const ir::Tensor made = ir::Tensor::made("w", DataType::kFloat, source->dims(), source);
            const ir::Tensor plain =
                ir::Tensor::from_bytes("w", DataType::kFloat, source->dims(), {bytes.begin(), bytes.end()});
            const BlockFormat format{.bits = 4, .block = 32};
            const auto in_blocks_of = [&](const ir::Tensor& tensor) {
              return in_blocks(WeightMatrix(tensor, transposed, 1.5F), format, layout, search);
            };
            const BlockTensors got = in_blocks_of(made), wanted = in_blocks_of(plain);
            const std::string what = testing::PrintToString(std::tuple(parts, turned, transposed, layout, columns));
            expect_same(got.codes, wanted.codes, what);
            expect_same(got.scales, wanted.scales, what);
            expect_same(*got.zeros, *wanted.zeros, what);
            // What reads here and there finds the same numbers.
            const WeightMatrix one(made, transposed), other(plain, transposed);
            const WeightMatrix::All all(one), others(other);
            std::vector<float> a(32 * kLanes), b(32 * kLanes);
            one.read(all.rows(), 3, 32, 7, kLanes, a.data());
            other.read(others.rows(), 3, 32, 7, kLanes, b.data());
            EXPECT_EQ(a, b) << what;
          }
}

// Codes of any width, whether a tile of them ends with a byte of the tensor or within one.
TEST(WeightMatrix, PacksCodesOfEveryWidthOfNumbersThatLieTurned) {
  const std::vector<std::vector<int64_t>> all_parts{{48}, {50}, {51}, {16, 34}, {17, 33}, {3, 20, 25}};
  for (const auto& parts : all_parts)
    for (const int bits : {2, 3, 4, 8})
      for (const bool symmetric : {false, true}) {
        const auto source = std::make_shared<InParts>(std::reduce(parts.begin(), parts.end()), 71, parts, true);
        const auto numbers = source->numbers();
        const std::span<const std::byte> bytes = std::as_bytes(std::span(numbers));
        const BlockFormat format{.bits = bits, .block = 16, .symmetric = symmetric};
        const auto in_blocks_of = [&](const ir::Tensor& tensor) {
          return in_blocks(WeightMatrix(tensor, false), format, Layout::kAsStored, rtn);
        };
        const BlockTensors got = in_blocks_of(ir::Tensor::made("w", DataType::kFloat, source->dims(), source));
        const BlockTensors wanted =
            in_blocks_of(ir::Tensor::from_bytes("w", DataType::kFloat, source->dims(), {bytes.begin(), bytes.end()}));
        const std::string what = testing::PrintToString(std::tuple(parts, bits, symmetric));
        expect_same(got.codes, wanted.codes, what);
        expect_same(got.scales, wanted.scales, what);
        if (!symmetric) expect_same(*got.zeros, *wanted.zeros, what);
      }
}

}  // namespace
}  // namespace thaw::quantizing::blocks
