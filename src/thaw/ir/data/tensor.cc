#include "thaw/ir/data/tensor.h"

#include <array>
#include <cstring>
#include <mutex>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/core/fork_mutex.h"
#include "thaw/ir/data/external_data.h"
#include "thaw/ir/data/tensor_decode.h"
#include "thaw/ir/data/tensor_source.h"

namespace thaw::ir {
namespace {

// Guards what bytes() finds out; tensors share a few mutexes.
ForkMutex& mutex_of(const void* tensor) {
  struct Outer : ForkMutex {
    Outer() : ForkMutex(ForkRank::kOuter) {}  // files are opened meanwhile
  };
  static auto& mutexes = *new std::array<Outer, 16>;
  return mutexes[reinterpret_cast<uintptr_t>(tensor) / 64 % mutexes.size()];
}

Tensor from_memory(std::string name, DataType type, std::vector<int64_t> dims, const void* data, size_t size) {
  const auto* begin = static_cast<const std::byte*>(data);
  return Tensor::from_bytes(std::move(name), type, std::move(dims), std::vector<std::byte>(begin, begin + size));
}

void require_size(const Tensor& tensor, uint64_t size) {
  if (bits_of(tensor.data_type) == 0) return;
  const uint64_t expected = tensor.num_bytes();
  if (size == expected) return;
  throw Error(ErrorCode::kInvalidFile, {.what = size == 0 ? "has no data" : fmt::format("has {} bytes of data", size),
                                        .where = describe(tensor),
                                        .expected = fmt::format("{} bytes for {} elements of {}", expected,
                                                                tensor.num_elements(), name_of(tensor.data_type)),
                                        .next = "export the model again"});
}

}  // namespace

std::string describe(const Tensor& tensor) {
  return tensor.name.empty() ? "a tensor without name" : fmt::format("tensor '{}'", tensor.name);
}

int64_t Tensor::num_elements() const {
  // A zero dim makes the product zero, whatever the others would overflow to.
  bool zero = false;
  for (const int64_t dim : dims) {
    if (dim < 0) {
      throw Error(ErrorCode::kInvalidFile, {.what = fmt::format("has the negative dim {}", dim),
                                            .where = describe(*this),
                                            .expected = "dims of 0 or more",
                                            .next = "export the model again"});
    }
    zero |= dim == 0;
  }
  if (zero) return 0;
  int64_t product = 1;
  for (const int64_t dim : dims) {
    if (__builtin_mul_overflow(product, dim, &product)) {
      throw Error(ErrorCode::kInvalidFile, {.what = "has dims whose product overflows",
                                            .where = describe(*this),
                                            .expected = "fewer than 2^63 elements",
                                            .next = "export the model again"});
    }
  }
  return product;
}

uint64_t Tensor::num_bytes() const {
  const auto bits = static_cast<uint64_t>(bits_of(data_type));
  const auto elements = static_cast<uint64_t>(num_elements());
  if (bits == 0 || elements == 0) return 0;
  if (bits % 8 != 0) return elements / 8 * bits + (elements % 8 * bits + 7) / 8;
  uint64_t bytes;
  if (__builtin_mul_overflow(elements, bits / 8, &bytes) || bytes > static_cast<uint64_t>(INT64_MAX)) {
    throw Error(ErrorCode::kInvalidFile, {.what = "has dims whose bytes overflow",
                                          .where = describe(*this),
                                          .expected = "fewer than 2^63 bytes",
                                          .next = "export the model again"});
  }
  return bytes;
}

std::span<const std::byte> Tensor::bytes() const {
  if (data_type == DataType::kString) {
    throw Error(
        ErrorCode::kInvalidFile,
        {.what = "holds strings, which have no raw bytes", .where = describe(*this), .expected = "a type of numbers"});
  }
  if (storage_ == Storage::kRaw) {
    require_size(*this, raw_.size());
    return raw_;
  }
  // A source asks other tensors for their bytes, on any thread: no lock is held while it does.
  if (storage_ == Storage::kMade) return made_bytes();
  std::lock_guard lock(mutex_of(this));
  if (!raw_owner_) {
    if (storage_ == Storage::kExternal) {
      const uint64_t size = bits_of(data_type) ? num_bytes() : external_->length.value_or(0);
      raw_ = folder_->view(*external_, size, describe(*this), raw_owner_);
    } else {
      auto decoded = std::make_shared<const std::vector<std::byte>>(decode_typed(*this, wire_));
      require_size(*this, decoded->size());
      raw_ = *decoded;
      raw_owner_ = std::move(decoded);
    }
  }
  return raw_;
}

std::span<const std::byte> Tensor::made_bytes() const {
  const auto known = [this] {
    std::lock_guard lock(mutex_of(this));
    return raw_owner_ != nullptr;
  };
  if (known()) return raw_;
  auto made = std::make_shared<std::vector<std::byte>>();
  made->reserve(num_bytes());
  source_->write([&](std::span<const std::byte> chunk) { made->insert(made->end(), chunk.begin(), chunk.end()); });
  require_size(*this, made->size());
  std::lock_guard lock(mutex_of(this));
  if (!raw_owner_) {
    raw_ = *made;
    raw_owner_ = std::move(made);
  }
  return raw_;
}

std::vector<std::string> Tensor::to_strings() const {
  if (data_type != DataType::kString) {
    throw Error(ErrorCode::kInvalidFile,
                {.what = fmt::format("holds {}", name_of(data_type)), .where = describe(*this), .expected = "strings"});
  }
  std::vector<std::string> strings = storage_ == Storage::kTyped ? decode_strings(wire_) : std::vector<std::string>();
  const int64_t expected = num_elements();
  if (static_cast<int64_t>(strings.size()) != expected) {
    throw Error(ErrorCode::kInvalidFile, {.what = fmt::format("has {} strings", strings.size()),
                                          .where = describe(*this),
                                          .expected = fmt::format("{} for its dims", expected),
                                          .next = "export the model again"});
  }
  return strings;
}

std::vector<int64_t> Tensor::to_int64() const {
  if (!is_integer(data_type) && data_type != DataType::kBool) {
    throw Error(
        ErrorCode::kInvalidFile,
        {.what = fmt::format("holds {}", name_of(data_type)), .where = describe(*this), .expected = "integers"});
  }
  std::vector<int64_t> values;
  decode_integers(*this, bytes(), values);
  return values;
}

std::vector<double> Tensor::to_double() const {
  if (!is_integer(data_type) && !is_floating(data_type) && data_type != DataType::kBool) {
    throw Error(ErrorCode::kInvalidFile,
                {.what = fmt::format("holds {}", name_of(data_type)), .where = describe(*this), .expected = "numbers"});
  }
  std::vector<double> values;
  decode_reals(*this, bytes(), values);
  return values;
}

Tensor Tensor::from_int64(std::string name, std::vector<int64_t> dims, std::span<const int64_t> values) {
  return from_memory(std::move(name), DataType::kInt64, std::move(dims), values.data(), values.size_bytes());
}

Tensor Tensor::from_float(std::string name, std::vector<int64_t> dims, std::span<const float> values) {
  return from_memory(std::move(name), DataType::kFloat, std::move(dims), values.data(), values.size_bytes());
}

Tensor Tensor::from_bytes(std::string name, DataType type, std::vector<int64_t> dims, std::vector<std::byte> bytes) {
  auto owned = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return view(std::move(name), type, std::move(dims), *owned, owned);
}

Tensor Tensor::made(std::string name, DataType type, std::vector<int64_t> dims,
                    std::shared_ptr<const TensorSource> source) {
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.data_type = type;
  tensor.dims = std::move(dims);
  tensor.storage_ = Storage::kMade;
  tensor.source_ = std::move(source);
  return tensor;
}

Tensor Tensor::view(std::string name, DataType type, std::vector<int64_t> dims, std::span<const std::byte> bytes,
                    std::shared_ptr<const void> owner) {
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.data_type = type;
  tensor.dims = std::move(dims);
  tensor.has_raw_ = true;
  tensor.raw_ = bytes;
  tensor.raw_owner_ = std::move(owner);
  require_size(tensor, bytes.size());
  return tensor;
}

}  // namespace thaw::ir
