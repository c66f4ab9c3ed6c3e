#include <charconv>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/ir/data/tensor_decode.h"
#include "thaw/ir/wire/fields.h"
#include "thaw/ir/wire/reader.h"

namespace thaw::ir {
namespace {

using wire::bytes_tag;
using wire::Field;
using wire::Reader;
using wire::tag;
using wire::varint_tag;

constexpr uint32_t kSegment = 3;

uint64_t parse_number(std::string_view key, std::string_view text, const Tensor& tensor) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw Error(ErrorCode::kInvalidFile, {.what = fmt::format("external data has the {} '{}'", key, text),
                                          .where = describe(tensor),
                                          .expected = "a number of bytes, 0 or more, below 2^64",
                                          .next = "export the model again"});
  }
  return value;
}

// Readers differ in which of two entries they take: what one has checked, another would not read.
void require_first(bool& seen, std::string_view key, const Tensor& tensor) {
  if (seen) {
    throw Error(ErrorCode::kInvalidFile, {.what = fmt::format("external data has two entries '{}'", key),
                                          .where = describe(tensor),
                                          .expected = "one",
                                          .next = "export the model again"});
  }
  seen = true;
}

struct SeenEntries {
  bool location = false, offset = false, length = false;
};

void add_entry(std::string_view bytes, ExternalLocation& location, SeenEntries& seen, const Tensor& tensor) {
  const StringEntry entry = read_entry(bytes);
  if (entry.key == "location") {
    require_first(seen.location, entry.key, tensor);
    location.location = entry.value;
  } else if (entry.key == "offset") {
    require_first(seen.offset, entry.key, tensor);
    location.offset = parse_number(entry.key, entry.value, tensor);
  } else if (entry.key == "length") {
    require_first(seen.length, entry.key, tensor);
    location.length = parse_number(entry.key, entry.value, tensor);
  } else {
    location.other.emplace_back(entry.key, entry.value);
  }
}

// Fields that should lie side by side, and nearly always do.
class Run {
 public:
  void add(ReadContext& context, std::string_view whole) {
    if (bytes_.empty()) {
      bytes_ = whole;
    } else if (bytes_.data() + bytes_.size() == whole.data()) {
      bytes_ = {bytes_.data(), bytes_.size() + whole.size()};
    } else {
      bytes_ = context.join(concatenated_, bytes_, whole);
    }
  }
  std::string_view bytes() const { return bytes_; }

 private:
  std::string_view bytes_;
  std::string* concatenated_ = nullptr;
};

}  // namespace

StringEntry read_entry(std::string_view bytes) {
  StringEntry entry;
  bool has_key = false, has_value = false;
  Field field;
  for (Reader reader(bytes); reader.next(field);) {
    switch (field.tag) {
      case bytes_tag(field::entry::kKey):
        entry.key = field.bytes;
        has_key = true;
        break;
      case bytes_tag(field::entry::kValue):
        entry.value = field.bytes;
        has_value = true;
        break;
      default:
        entry.plain = false;
    }
  }
  entry.plain = entry.plain && has_key && has_value;
  return entry;
}

void TensorReader::read(ReadContext& context, std::string_view bytes, Tensor& tensor) {
  using namespace field::tensor;  // NOLINT(google-build-using-namespace): one message's numbers
  Run typed, entries;
  bool is_external = false, is_segment = false;
  std::string_view raw, raw_field;
  Field field;
  for (Reader reader(bytes); reader.next(field);) {
    switch (field.tag) {
      case varint_tag(kDims):
        if (tensor.dims.empty()) tensor.dims.reserve(4);  // most have no more
        tensor.dims.push_back(field.as_int64());
        break;
      case bytes_tag(kDims):
        for (Reader packed(field.bytes); !packed.done();) tensor.dims.push_back(static_cast<int64_t>(packed.varint()));
        break;
      case varint_tag(kDataType):
        tensor.data_type = static_cast<DataType>(field.as_int32());
        if (tensor.data_type == DataType::kUndefined) tensor.extra.append(field.whole);
        break;
      case bytes_tag(kName):
        read_text(field, tensor.name, tensor.extra);
        break;
      case bytes_tag(kRawData):
        tensor.has_raw_ = true;
        raw = field.bytes;
        raw_field = field.whole;
        break;
      case bytes_tag(kFloatData):
      case tag(kFloatData, wire::kFixed32):
      case bytes_tag(kInt32Data):
      case varint_tag(kInt32Data):
      case bytes_tag(kStringData):
      case bytes_tag(kInt64Data):
      case varint_tag(kInt64Data):
      case bytes_tag(kDoubleData):
      case tag(kDoubleData, wire::kFixed64):
      case bytes_tag(kUint64Data):
      case varint_tag(kUint64Data):
        typed.add(context, field.whole);
        break;
      case bytes_tag(kExternalData):
        entries.add(context, field.whole);
        break;
      case varint_tag(kDataLocation):
        is_external = field.as_int32() == 1;
        if (!is_external) tensor.extra.append(field.whole);
        break;
      default:
        if (field.tag == bytes_tag(kSegment)) is_segment = true;
        tensor.extra.append(field.whole);
    }
  }

  if (is_external) {
    tensor.storage_ = Tensor::Storage::kExternal;
    tensor.wire_ = entries.bytes();
    tensor.extra.append(typed.bytes());
    tensor.extra.append(raw_field);
    tensor.has_raw_ = false;
    ExternalLocation location;
    SeenEntries seen;
    for (Reader reader(entries.bytes()); reader.next(field);) add_entry(field.bytes, location, seen, tensor);
    const uint64_t length = location.length.value_or(0);
    const uint64_t needed = bits_of(tensor.data_type) && !is_segment ? tensor.num_bytes() : length;
    if (location.length && length != needed) {
      throw Error(ErrorCode::kInvalidFile, {.what = fmt::format("external data has {} bytes", length),
                                            .where = describe(tensor),
                                            .expected = fmt::format("{} for {} elements of {}", needed,
                                                                    tensor.num_elements(), name_of(tensor.data_type)),
                                            .next = "export the model again"});
    }
    context.folder->check(location, needed, describe(tensor));
    tensor.external_ = std::make_shared<const ExternalLocation>(std::move(location));
    tensor.folder_ = context.folder;
    tensor.wire_owner_ = context.owner;
    return;
  }

  tensor.extra.append(entries.bytes());
  if (!typed.bytes().empty() && !tensor.has_raw_) {
    tensor.storage_ = Tensor::Storage::kTyped;
    tensor.wire_ = typed.bytes();
    tensor.wire_owner_ = context.owner;
    if (bits_of(tensor.data_type) && !is_segment) static_cast<void>(tensor.num_bytes());  // dims that make sense
    return;
  }
  tensor.extra.append(typed.bytes());
  tensor.raw_ = std::as_bytes(std::span(raw));
  tensor.raw_owner_ = context.owner;
  if (bits_of(tensor.data_type) && !is_segment) {
    const uint64_t needed = tensor.num_bytes();
    if (tensor.has_raw_ && raw.size() != needed) {
      throw Error(ErrorCode::kInvalidFile, {.what = fmt::format("has {} bytes of data", raw.size()),
                                            .where = describe(tensor),
                                            .expected = fmt::format("{} for {} elements of {}", needed,
                                                                    tensor.num_elements(), name_of(tensor.data_type)),
                                            .next = "export the model again"});
    }
  }
}

SparseTensor TensorReader::read_sparse(ReadContext& context, std::string_view bytes) {
  SparseTensor sparse;
  MessagePart values, indices;
  Field field;
  for (Reader reader(bytes); reader.next(field);) {
    switch (field.tag) {
      case bytes_tag(field::sparse_tensor::kValues):
        values.add(context, field.bytes);
        break;
      case bytes_tag(field::sparse_tensor::kIndices):
        indices.add(context, field.bytes);
        break;
      case varint_tag(field::sparse_tensor::kDims):
        sparse.dims.push_back(field.as_int64());
        break;
      case bytes_tag(field::sparse_tensor::kDims):
        for (Reader packed(field.bytes); !packed.done();) sparse.dims.push_back(static_cast<int64_t>(packed.varint()));
        break;
      default:
        sparse.extra.append(field.whole);
    }
  }
  sparse.has_values = static_cast<bool>(values);
  sparse.has_indices = static_cast<bool>(indices);
  sparse.values = read(context, values.bytes());
  sparse.indices = read(context, indices.bytes());
  return sparse;
}

}  // namespace thaw::ir
