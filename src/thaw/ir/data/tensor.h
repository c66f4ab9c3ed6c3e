// A constant tensor: a view on bytes that are mapped from a file, or owned.
//
// The bytes of inline raw_data and of external data stay mapped; nothing is read until asked for. Typed fields
// (float_data, int64_data, …) are kept in their wire form too, and decoded on request. A tensor of a model under
// construction may have a source instead, which makes its bytes when the model is written.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thaw/ir/data/types.h"

namespace thaw::ir {

// Where external data lies: the entries of TensorProto.external_data.
struct ExternalLocation {
  std::string location;  // path relative to the model's folder, as written in the file
  uint64_t offset = 0;
  std::optional<uint64_t> length;                          // bytes; none: from offset to what the shape needs
  std::vector<std::pair<std::string, std::string>> other;  // checksum and unknown keys, kept
};

class ExternalFolder;  // see external_data.h
class TensorSource;    // see tensor_source.h

class Tensor {
 public:
  enum class Storage : uint8_t { kRaw, kTyped, kExternal, kMade };

  std::string name;
  DataType data_type = DataType::kUndefined;
  std::vector<int64_t> dims;
  std::string
      extra;  // wire bytes of fields Thaw does not touch (doc_string, segment, metadata_props), kept as they are

  // Number of elements; throws thaw::Error when a dim is negative or the product overflows.
  int64_t num_elements() const;
  // Bytes that the elements take packed (elements below 8 bits follow each other from the lowest bit up, the last byte
  // is padded). 0 for strings and undefined or unknown types.
  uint64_t num_bytes() const;

  Storage storage() const { return storage_; }
  const ExternalLocation* external() const { return external_.get(); }  // null unless kExternal
  const TensorSource* source() const { return source_.get(); }          // null unless kMade

  // Raw little-endian bytes. External data is mapped and checked on first call (see external_data.h); typed fields are
  // decoded, and a source asked, into owned bytes on first call; may be called from several threads. Throws thaw::Error
  // where data is missing or of the wrong length, and for strings. The bytes live as long as this tensor or a copy of
  // it.
  std::span<const std::byte> bytes() const;

  // Elements as int64 (any integer type or bool; uint64 above the range of int64 throws), as double (any floating or
  // integer type or bool), or strings. Throws thaw::Error for other types.
  std::vector<int64_t> to_int64() const;
  std::vector<double> to_double() const;
  std::vector<std::string> to_strings() const;

  // Makers. `owner` keeps the viewed bytes alive.
  static Tensor from_int64(std::string name, std::vector<int64_t> dims, std::span<const int64_t> values);
  static Tensor from_strings(std::string name, std::vector<int64_t> dims, std::span<const std::string> values);
  static Tensor from_float(std::string name, std::vector<int64_t> dims, std::span<const float> values);
  static Tensor from_bytes(std::string name, DataType type, std::vector<int64_t> dims, std::vector<std::byte> bytes);
  static Tensor view(std::string name, DataType type, std::vector<int64_t> dims, std::span<const std::byte> bytes,
                     std::shared_ptr<const void> owner);
  static Tensor made(std::string name, DataType type, std::vector<int64_t> dims,
                     std::shared_ptr<const TensorSource> source);

 private:
  std::span<const std::byte> made_bytes() const;

  friend class TensorReader;
  friend class TensorWriter;
  Storage storage_ = Storage::kRaw;
  bool has_raw_ = false;                           // raw_data is set, though perhaps empty
  mutable std::span<const std::byte> raw_;         // the bytes; for kTyped and kExternal once they were asked for
  mutable std::shared_ptr<const void> raw_owner_;  // keeps raw_ alive; null until raw_ is known
  std::string_view wire_;  // kTyped: the typed data fields; kExternal: the external_data entries
  std::shared_ptr<const void> wire_owner_;
  std::shared_ptr<const ExternalLocation> external_;
  std::shared_ptr<ExternalFolder> folder_;      // where external data lies
  std::shared_ptr<const TensorSource> source_;  // kMade
};

}  // namespace thaw::ir
