// The safetensors format, read: tensors as views on the mapped file.
//
// A file is eight bytes of header length, a JSON header of that length, and the data. The header gives each tensor its
// dtype, shape and range in the data. All of it is checked when the file is opened: the header's size, JSON and types;
// names once each; each range inside the data and as long as shape and dtype say; the ranges together covering the data
// without hole or overlap. What breaks a rule throws thaw::Error. Data is not read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thaw/ir/data/tensor.h"

namespace thaw::ir {

class Safetensors {
 public:
  static Safetensors open(const std::filesystem::path& path);
  // The same from memory; `name` is for messages.
  static Safetensors parse(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, std::string name);

  struct Entry {
    std::string name;
    DataType data_type = DataType::kUndefined;
    std::vector<int64_t> shape;
    uint64_t offset = 0, size = 0;  // bytes in the data
  };
  const std::vector<Entry>& entries() const { return entries_; }  // in the order of the data
  const Entry* find(std::string_view name) const;                 // null if there is none
  // A view that keeps the file mapped.
  Tensor tensor(const Entry& entry) const;

  const std::string& file_name() const { return name_; }

 private:
  std::string name_;
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> data_;
  std::vector<Entry> entries_;
  std::vector<uint32_t> by_name_;  // indices of entries_, sorted by name
};

// The data type of a safetensors dtype ("F32", "BF16", "F8_E4M3", …); nullopt for one that ONNX has no type for.
std::optional<DataType> data_type_from_safetensors(std::string_view dtype);

}  // namespace thaw::ir
