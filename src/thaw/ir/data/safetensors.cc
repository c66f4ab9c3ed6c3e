#include "thaw/ir/data/safetensors.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/core/mapped_file.h"
#include "thaw/ir/data/safetensors_header.h"

namespace thaw::ir {
namespace {

constexpr uint64_t kMaxHeader = 100'000'000;  // bytes; the format's own limit

[[noreturn]] void fail(const std::string& file, std::string what, std::string expected) {
  throw Error(
      ErrorCode::kInvalidFile,
      {.what = std::move(what), .where = file, .expected = std::move(expected), .next = "fetch the file again"});
}

// The bytes that an entry's shape and type need; also checks them.
uint64_t needed_bytes(const std::string& file, const Safetensors::Entry& entry) {
  Tensor tensor;
  tensor.name = entry.name;
  tensor.data_type = entry.data_type;
  tensor.dims = entry.shape;
  try {
    return tensor.num_bytes();
  } catch (const Error& error) {
    fail(file, fmt::format("tensor '{}' {}", entry.name, error.parts().what), "a shape whose bytes can be counted");
  }
}

void check_ranges(const std::string& file, const std::vector<Safetensors::Entry>& entries, uint64_t data_size) {
  uint64_t end = 0;
  for (const Safetensors::Entry& entry : entries) {
    if (const uint64_t needed = needed_bytes(file, entry); needed != entry.size) {
      fail(file, fmt::format("tensor '{}' has {} bytes", entry.name, entry.size),
           fmt::format("{} for its shape of {}", needed, name_of(entry.data_type)));
    }
    if (entry.offset != end) {
      fail(file, fmt::format("tensor '{}' begins at byte {} of the data", entry.name, entry.offset),
           fmt::format("{}, where the one before it ends", end));
    }
    end = entry.offset + entry.size;  // the header's reader keeps offset + size in 64 bits
    if (end > data_size) {
      fail(file, fmt::format("tensor '{}' ends at byte {} of the data, which has {}", entry.name, end, data_size),
           "data as long as the header says");
    }
  }
  if (end != data_size) {
    fail(file, fmt::format("the data has {} bytes, of which the header describes {}", data_size, end),
         "tensors that cover the data");
  }
}

}  // namespace

Safetensors Safetensors::open(const std::filesystem::path& path) {
  auto file = MappedFile::open(path);
  const std::span<const std::byte> bytes = file->bytes();
  return parse(bytes, std::move(file), path.string());
}

Safetensors Safetensors::parse(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, std::string name) {
  Safetensors made;
  made.name_ = std::move(name);
  made.owner_ = std::move(owner);
  uint64_t header_size = 0;
  if (bytes.size() < sizeof header_size)
    fail(made.name_, fmt::format("has {} bytes", bytes.size()), "a safetensors file");
  std::memcpy(&header_size, bytes.data(), sizeof header_size);
  bytes = bytes.subspan(sizeof header_size);
  if (header_size > kMaxHeader || header_size > bytes.size()) {
    fail(made.name_, fmt::format("says that its header has {} bytes, and has {} after that", header_size, bytes.size()),
         fmt::format("a header inside the file, of at most {} bytes", kMaxHeader));
  }
  const std::string_view header(reinterpret_cast<const char*>(bytes.data()), header_size);
  made.data_ = bytes.subspan(header_size);

  made.entries_ = read_safetensors_header(header, made.name_);
  // Empty tensors stand before the one that begins where they do.
  std::sort(made.entries_.begin(), made.entries_.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.offset, a.size, a.name) < std::tie(b.offset, b.size, b.name);
  });
  check_ranges(made.name_, made.entries_, made.data_.size());

  made.by_name_.resize(made.entries_.size());
  for (uint32_t i = 0; i < made.by_name_.size(); ++i) made.by_name_[i] = i;
  std::sort(made.by_name_.begin(), made.by_name_.end(),
            [&](uint32_t a, uint32_t b) { return made.entries_[a].name < made.entries_[b].name; });
  for (size_t i = 1; i < made.by_name_.size(); ++i) {
    const std::string& tensor = made.entries_[made.by_name_[i]].name;
    if (made.entries_[made.by_name_[i - 1]].name == tensor) {
      fail(made.name_, fmt::format("tensor '{}' is there twice", tensor), "each name once");
    }
  }
  return made;
}

const Safetensors::Entry* Safetensors::find(std::string_view name) const {
  const auto found = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                      [&](uint32_t i, std::string_view wanted) { return entries_[i].name < wanted; });
  return found != by_name_.end() && entries_[*found].name == name ? &entries_[*found] : nullptr;
}

Tensor Safetensors::tensor(const Entry& entry) const {
  return Tensor::view(entry.name, entry.data_type, entry.shape, data_.subspan(entry.offset, entry.size), owner_);
}

std::optional<DataType> data_type_from_safetensors(std::string_view dtype) {
  static constexpr std::pair<std::string_view, DataType> kTypes[] = {
      {"F32", DataType::kFloat},
      {"F16", DataType::kFloat16},
      {"BF16", DataType::kBfloat16},
      {"I64", DataType::kInt64},
      {"I32", DataType::kInt32},
      {"I16", DataType::kInt16},
      {"I8", DataType::kInt8},
      {"U64", DataType::kUint64},
      {"U32", DataType::kUint32},
      {"U16", DataType::kUint16},
      {"U8", DataType::kUint8},
      {"BOOL", DataType::kBool},
      {"F64", DataType::kDouble},
      {"C64", DataType::kComplex64},
      {"F8_E4M3", DataType::kFloat8E4M3FN},
      {"F8_E5M2", DataType::kFloat8E5M2},
      {"F8_E4M3FNUZ", DataType::kFloat8E4M3FNUZ},
      {"F8_E5M2FNUZ", DataType::kFloat8E5M2FNUZ},
      {"F8_E8M0", DataType::kFloat8E8M0},
      {"F4", DataType::kFloat4E2M1},
      {"F6_E2M3", DataType::kFloat6E2M3},
      {"F6_E3M2", DataType::kFloat6E3M2},
  };
  for (const auto& [name, type] : kTypes) {
    if (name == dtype) return type;
  }
  return std::nullopt;
}

}  // namespace thaw::ir
