// A constant tensor: a view on bytes that are mapped from a file, or owned.
//
// The bytes of inline raw_data and of external data stay mapped; nothing is read until asked for. Typed fields
// (float_data, int64_data, …) are kept in their wire form too, and decoded on request.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thaw/ir/types.h"

namespace thaw::ir {

// Where external data lies: the entries of TensorProto.external_data.
struct ExternalLocation {
  std::string location;            // path relative to the model's folder, as written in the file
  uint64_t offset = 0;
  std::optional<uint64_t> length;  // bytes; none: from offset to what the shape needs
  std::vector<std::pair<std::string, std::string>> other;  // checksum and unknown keys, kept
};

class Tensor {
 public:
  enum class Storage : uint8_t { kRaw, kTyped, kExternal };

  std::string name;
  DataType data_type = DataType::kUndefined;
  std::vector<int64_t> dims;
  std::string extra;  // wire bytes of fields Thaw does not touch (doc_string, segment, metadata_props), kept as they are

  // Number of elements; throws thaw::Error when a dim is negative or the product overflows.
  int64_t num_elements() const;
  // Bytes that the elements take packed (4-bit types: two a byte, the last one padded). 0 for strings.
  uint64_t num_bytes() const;

  Storage storage() const { return storage_; }
  const std::optional<ExternalLocation>& external() const { return external_; }

  // Raw little-endian bytes. External data is mapped and checked on first call (see external_data.h); typed fields are
  // decoded into owned bytes on first call. Throws thaw::Error where data is missing or of the wrong length.
  std::span<const std::byte> bytes() const;

  // Elements as int64 (any integer type or bool), as double (any floating or integer type), or strings.
  // Throws thaw::Error for other types.
  std::vector<int64_t> to_int64() const;
  std::vector<double> to_double() const;
  std::vector<std::string> to_strings() const;

  // Makers. `owner` keeps the viewed bytes alive.
  static Tensor from_int64(std::string name, std::vector<int64_t> dims, std::span<const int64_t> values);
  static Tensor from_float(std::string name, std::vector<int64_t> dims, std::span<const float> values);
  static Tensor from_bytes(std::string name, DataType type, std::vector<int64_t> dims, std::vector<std::byte> bytes);
  static Tensor view(std::string name, DataType type, std::vector<int64_t> dims, std::span<const std::byte> bytes,
                     std::shared_ptr<const void> owner);

 private:
  friend class TensorReader;
  friend class TensorWriter;
  friend class ExternalData;
  Storage storage_ = Storage::kRaw;
  mutable std::span<const std::byte> raw_;        // raw bytes when known
  mutable std::shared_ptr<const void> owner_;     // keeps raw_ or typed_ alive
  std::string_view typed_;                        // wire bytes of the typed data fields
  std::optional<ExternalLocation> external_;
  std::shared_ptr<const std::string> folder_;     // the model's folder, for external data
};

}  // namespace thaw::ir
