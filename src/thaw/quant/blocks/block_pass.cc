#include "thaw/quant/blocks/block_pass.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include "thaw/core/cancel.h"
#include "thaw/core/error.h"

namespace thaw::quantizing::blocks {
namespace {

constexpr int64_t kChunkWeights = int64_t{4} << 20;  // that are read before their memory is given back, about
constexpr int64_t kStripBytes = int64_t{32} << 20;   // of codes that columns of a weight stored by rows are gathered in
constexpr size_t kExpected = size_t{8} << 20;        // bytes of a weight that are read ahead before its turn
constexpr size_t kExpectedTurned = size_t{256} << 20;  // the same of one that is stored the other way
constexpr int64_t kTilesOfTask = 64;

int64_t rounded_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// Memory that is written before it is read.
template <typename T>
std::unique_ptr<T[]> room_for(int64_t count) {
  return std::unique_ptr<T[]>(new T[static_cast<size_t>(count)]);
}

// Codes [block, kLanes] as words [block * stored_bits / 32, kLanes].
void as_words(const uint8_t* codes, const BlockFormat& format, uint32_t* words) {
  const int each = 32 / format.stored_bits(), count = static_cast<int>(format.block) / each;
  for (int word = 0; word < count; ++word) {
    for (int lane = 0; lane < kLanes; ++lane) {
      uint32_t made = 0;
      for (int i = 0; i < each; ++i)
        made |= static_cast<uint32_t>(codes[(word * each + i) * kLanes + lane])
                << static_cast<uint32_t>(i * format.stored_bits());
      words[word * kLanes + lane] = made;
    }
  }
}

// One row of a tile.
void pack_lanes(const uint8_t* codes, int lanes, int bits, uint8_t flip, std::byte* to) {
  if (lanes < kLanes || bits != 4) return pack_codes({codes, static_cast<size_t>(lanes)}, bits, flip, to);
  const auto both = static_cast<unsigned>(flip) * 0x11U;
  for (int64_t i = 0; i < kLanes / 2; ++i)
    to[i] = static_cast<std::byte>((codes[2 * i] | codes[2 * i + 1] << 4) ^ both);
}

}  // namespace

void pack_codes(std::span<const uint8_t> codes, int bits, uint8_t flip, std::byte* to) {
  const size_t each = 8 / static_cast<size_t>(bits), whole = codes.size() / each;
  const auto flipped = [&](size_t i) { return static_cast<unsigned>(codes[i] ^ flip); };
  if (bits == 4) {
    for (size_t i = 0; i < whole; ++i) to[i] = static_cast<std::byte>(flipped(2 * i) | flipped(2 * i + 1) << 4U);
  } else if (bits == 2) {
    for (size_t i = 0; i < whole; ++i)
      to[i] = static_cast<std::byte>(flipped(4 * i) | flipped(4 * i + 1) << 2U | flipped(4 * i + 2) << 4U |
                                     flipped(4 * i + 3) << 6U);
  } else {
    for (size_t i = 0; i < whole; ++i) to[i] = static_cast<std::byte>(flipped(i));
  }
  if (whole * each == codes.size()) return;
  unsigned last = 0;
  for (size_t i = whole * each; i < codes.size(); ++i)
    last |= flipped(i) << (static_cast<unsigned>(i - whole * each) * static_cast<unsigned>(bits));
  to[whole] = static_cast<std::byte>(last);
}

BlockPass::BlockPass(WeightMatrix weight, const BlockFormat& format, Layout layout, Method method,
                     Importance importance)
    : weight_(std::move(weight)),
      format_(format),
      layout_(layout),
      method_(method),
      importance_(std::move(importance)),
      transposed_(layout == Layout::kColumns ? weight_.transposed() : weight_.declared_transposed()),
      blocks_((weight_.k() + format.block - 1) / format.block) {}

bool BlockPass::has_whole_blocks() const {
  if (layout_ == Layout::kColumns) return true;
  return transposed_ && weight_.k() % format_.block == 0 && (layout_ == Layout::kTable || !format_.symmetric);
}

// Of a weight that is stored the other way every row of the tensor reads all pages.
void BlockPass::expect() const { weight_.expect(transposed_ == weight_.transposed() ? kExpected : kExpectedTurned); }

void BlockPass::run(const ir::TensorSource::Sink& sink, Kept* kept) const {
  const int64_t count = weight_.n() * blocks_;
  if (kept) {
    kept->scales.resize(static_cast<size_t>(count));
    if (format_.real_zeros) {
      kept->real_zeros.resize(static_cast<size_t>(count));
    } else {
      kept->zeros.resize(static_cast<size_t>(count));
    }
  }
  if (count == 0) return;
  if (!has_whole_blocks()) return run_as_stored(sink, kept);
  const auto mapped = weight_.mapped();
  if (mapped && !weight_.transposed()) return run_strips(*mapped, sink, kept);
  run_columns(sink, kept);
}

// Calls emit(first column, columns, block, codes) for each tile of a range: codes as words where `words`, else as bytes.
template <typename Emit>
void BlockPass::quantize(const WeightMatrix::StoredRows& rows, Range range, bool words, Kept* kept, Emit emit) const {
  std::atomic<bool> finite = true;
  const bool by_blocks = layout_ == Layout::kAsStored && !transposed_;
  const auto lanes_from = [&](int64_t first_n) { return static_cast<int>(std::min(kLanes, range.last_n - first_n)); };
  const auto length_of = [&](int64_t block) {
    return static_cast<int>(std::min(format_.block, weight_.k() - block * format_.block));
  };
  const auto one = [&](int64_t group, int64_t block, Tile& tile, TileScales& scales, uint32_t* codes) {
    const int64_t first_n = range.first_n + group * kLanes;
    const int lanes = lanes_from(first_n);
    const int64_t first_k = block * format_.block;
    tile.count = length_of(block);
    weight_.read(rows, first_k, tile.count, first_n, lanes, tile.weights);
    tile.weighted = !importance_.empty();
    if (tile.weighted) {
      std::copy_n(importance_.squares.begin() + first_k, tile.count, tile.importance);
      std::copy_n(importance_.means.begin() + first_k, tile.count, tile.means);
    }
    method_(tile, format_, scales);
    bool good = false;
    if (!words) {
      good = encode_about_means(tile, format_, scales, reinterpret_cast<uint8_t*>(codes));
    } else if (!tile.weighted) {
      good = encode_packed(tile, format_, scales, codes);
    } else {
      alignas(64) uint8_t bytes[kLargestBlock * kLanes];
      good = encode_about_means(tile, format_, scales, bytes);
      as_words(bytes, format_, codes);
    }
    if (!good) return finite.store(false, std::memory_order_relaxed);
    if (kept) {
      for (int lane = 0; lane < lanes; ++lane) {
        const int64_t n = first_n + lane;
        const auto at = static_cast<size_t>(by_blocks ? block * weight_.n() + n : n * blocks_ + block);
        kept->scales[at] = scales.scale[lane];
        if (format_.real_zeros) {
          kept->real_zeros[at] = scales.zero[lane];
        } else {
          kept->zeros[at] = static_cast<uint8_t>(scales.zero[lane]);
        }
      }
    }
    emit(first_n, lanes, block, codes);
  };
  // What lies together is read together: rows of a block beside each other, or blocks of the same columns.
  const int64_t groups = (range.last_n - range.first_n + kLanes - 1) / kLanes;
  const int64_t num_blocks = range.last_block - range.first_block;
  const int64_t along = weight_.transposed() ? num_blocks : groups, across = weight_.transposed() ? groups : num_blocks;
  const int64_t parts = (along + kTilesOfTask - 1) / kTilesOfTask;
  tbb::parallel_for(int64_t{0}, across * parts, [&](int64_t task) {
    throw_if_cancelled();
    const auto tile = std::make_unique_for_overwrite<Tile>();
    TileScales scales;
    alignas(64) uint32_t codes[kLargestBlock * kLanes / 4];
    const int64_t first = task % parts * kTilesOfTask, last = std::min(along, first + kTilesOfTask);
    const auto group_of = [&](int64_t i) { return weight_.transposed() ? task / parts : i; };
    const auto block_of = [&](int64_t i) { return range.first_block + (weight_.transposed() ? i : task / parts); };
    for (int64_t i = first; i < last; ++i) {
      if (i + 1 < last) {
        const int64_t first_n = range.first_n + group_of(i + 1) * kLanes, block = block_of(i + 1);
        weight_.prefetch(rows, block * format_.block, length_of(block), first_n, lanes_from(first_n));
      }
      one(group_of(i), block_of(i), *tile, scales, codes);
    }
  });
  if (finite.load()) return;
  throw Error(ErrorCode::kInvalidFile, {.what = "holds a NaN or an infinity, which cannot be quantized",
                                        .where = fmt::format("tensor '{}'", weight_.tensor().name),
                                        .expected = "finite weights",
                                        .next = "exclude its readers with --keep, or export the model again"});
}

// Blocks of whole columns at `out`, which begins with the range's first column.
void BlockPass::quantize_columns(const WeightMatrix::StoredRows& rows, Range range, Kept* kept, std::byte* out) const {
  const int64_t block_bytes = format_.block * format_.stored_bits() / 8, column_bytes = blocks_ * block_bytes;
  quantize(rows, range, true, kept, [&](int64_t column, int lanes, int64_t block, const uint32_t* words) {
    for (int lane = 0; lane < lanes; ++lane) {
      std::byte* to = out + (column + lane - range.first_n) * column_bytes + block * block_bytes;
      for (int64_t i = 0; i < block_bytes / 4; ++i) std::memcpy(to + i * 4, words + i * kLanes + lane, 4);
    }
  });
}

// As the rows come. Those of a transposed weight are columns; of another one all columns wait for their last block.
void BlockPass::run_columns(const ir::TensorSource::Sink& sink, Kept* kept) const {
  const int64_t n = weight_.n(), column_bytes = blocks_ * format_.block * format_.stored_bits() / 8;
  const bool transposed = weight_.transposed();
  const int64_t step = transposed ? rounded_up(std::max<int64_t>(1, kChunkWeights / weight_.k()), kLanes)
                                  : rounded_up(std::max<int64_t>(1, kChunkWeights / n), format_.block);
  const auto out = room_for<std::byte>((transposed ? std::min(step, n) : n) * column_bytes);
  weight_.for_rows(step, [&](int64_t first, int64_t last, const WeightMatrix::StoredRows& rows) {
    if (!transposed) {
      const int64_t end = (last + format_.block - 1) / format_.block;
      return quantize_columns(rows, {0, n, first / format_.block, end}, kept, out.get());
    }
    quantize_columns(rows, {first, last, 0, blocks_}, kept, out.get());
    if (sink) sink({out.get(), static_cast<size_t>((last - first) * column_bytes)});
  });
  if (!transposed && sink) sink({out.get(), static_cast<size_t>(n * column_bytes)});
}

// Columns of a mapped weight that is stored by rows: as many at once as leaves long chunks of each row to read.
void BlockPass::run_strips(const WeightMatrix::StoredRows& rows, const ir::TensorSource::Sink& sink, Kept* kept) const {
  const int64_t k = weight_.k(), n = weight_.n(), column_bytes = blocks_ * format_.block * format_.stored_bits() / 8;
  const int64_t strip = std::min(n, rounded_up(std::max<int64_t>(1, kStripBytes / column_bytes), kLanes));
  const int64_t band = std::max<int64_t>(1, kChunkWeights / (strip * format_.block));
  const auto out = room_for<std::byte>(strip * column_bytes);
  for (int64_t first = 0; first < n; first += strip) {
    const int64_t last = std::min(n, first + strip);
    for (int64_t block = 0; block < blocks_; block += band) {
      const int64_t end = std::min(blocks_, block + band), first_k = block * format_.block;
      quantize_columns(rows, {first, last, block, end}, kept, out.get());
      weight_.release(first_k, std::min(k, end * format_.block) - first_k, first, last - first);
    }
    if (sink) sink({out.get(), static_cast<size_t>((last - first) * column_bytes)});
  }
  // The last strip may have less than a page of each row, of which nothing is given back; and a page brings those around it.
  weight_.release(0, k, 0, n);
}

// Calls each(first, last, range, stored) for some rows of the tensor at a time. Of a mapped weight that is stored the other way
// these are of several places, which follow each other.
template <typename Each>
void BlockPass::for_ranges(int64_t step, Each each) const {
  const auto end_of = [&](int64_t last) { return (last + format_.block - 1) / format_.block; };
  if (transposed_ == weight_.transposed()) {
    return weight_.for_rows(step, [&](int64_t first, int64_t last, const WeightMatrix::StoredRows& stored) {
      each(first, last,
           transposed_ ? Range{first, last, 0, blocks_} : Range{0, weight_.n(), first / format_.block, end_of(last)},
           stored);
    });
  }
  expect();
  for (int64_t first = 0; first < weight_.k(); first += step) {
    const int64_t last = std::min(weight_.k(), first + step);
    weight_.for_places([&](int64_t from, int64_t to, const WeightMatrix::StoredRows& stored) {
      each(first, last, Range{from, to, first / format_.block, end_of(last)}, stored);
    });
  }
  weight_.release();
}

bool BlockPass::begins_with_a_byte(int64_t column) const { return column * format_.stored_bits() % 8 == 0; }

bool BlockPass::packs_by_tile() const {
  bool all = !transposed_ && begins_with_a_byte(weight_.n());
  weight_.for_places([&](int64_t from, int64_t, const auto&) { all = all && begins_with_a_byte(from); });
  return all;
}

void BlockPass::run_as_stored(const ir::TensorSource::Sink& sink, Kept* kept) const {
  const int64_t k = weight_.k(), n = weight_.n();
  const bool by_tile = packs_by_tile();
  const int bits = format_.stored_bits();
  const auto flip = static_cast<uint8_t>(signed_codes(format_, layout_) ? format_.middle() : 0);
  // Rows of the tensor that a chunk has; a chunk of 16 rows or whole blocks ends at the end of a byte.
  const int64_t rows = transposed_ ? n : k, width = transposed_ ? k : n, unit = transposed_ ? kLanes : format_.block;
  const int64_t step = rounded_up(std::max<int64_t>(1, kChunkWeights / width), unit),
                most = std::min(step, rows) * width;
  const auto codes = room_for<uint8_t>(by_tile ? 0 : most);  // one a byte
  const auto out = room_for<std::byte>((most * bits + 7) / 8);
  for_ranges(step, [&](int64_t first, int64_t last, Range range, const WeightMatrix::StoredRows& stored) {
    quantize(stored, range, false, kept, [&](int64_t column, int lanes, int64_t block, const uint32_t* made) {
      const auto* from = reinterpret_cast<const uint8_t*>(made);
      const int64_t first_k = block * format_.block, count = std::min(format_.block, k - first_k);
      for (int64_t i = 0; i < count; ++i, from += kLanes) {
        const int64_t at = (first_k + i - first) * n + column;
        if (by_tile) {
          pack_lanes(from, lanes, bits, flip, out.get() + at * bits / 8);
        } else if (!transposed_) {
          std::memcpy(codes.get() + at, from, static_cast<size_t>(lanes));
        } else {
          for (int lane = 0; lane < lanes; ++lane)
            codes[static_cast<size_t>((column + lane - first) * k + first_k + i)] = from[lane];
        }
      }
    });
    const bool are_whole = transposed_ || range.last_n == n;
    if (!sink || !are_whole) return;
    const int64_t count = (last - first) * width;
    if (!by_tile) pack_codes({codes.get(), static_cast<size_t>(count)}, bits, flip, out.get());
    sink({out.get(), static_cast<size_t>((count * bits + 7) / 8)});
  });
}

}  // namespace thaw::quantizing::blocks
