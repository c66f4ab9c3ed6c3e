// Elements in the typed fields of a TensorProto: what Tensor and tensor_decode.h ask of the wire format.
#include <cstring>
#include <memory>

#include "thaw/core/error.h"
#include "thaw/ir/data/tensor_decode.h"
#include "thaw/ir/wire/fields.h"
#include "thaw/ir/wire/wire_encoder.h"

namespace thaw::ir {
namespace {

// Which field a type's elements stand in, and how many bytes of an entry are kept.
struct Layout {
  uint32_t field;
  wire::WireType entry;  // when not packed
  size_t bytes;          // of an entry; sub-byte types: 1
};

Layout layout_of(DataType type) {
  using namespace field::tensor;  // NOLINT(google-build-using-namespace): one message's numbers
  switch (type) {
    case DataType::kFloat:
    case DataType::kComplex64:
      return {kFloatData, wire::kFixed32, 4};
    case DataType::kDouble:
    case DataType::kComplex128:
      return {kDoubleData, wire::kFixed64, 8};
    case DataType::kInt64:
      return {kInt64Data, wire::kVarint, 8};
    case DataType::kUint64:
      return {kUint64Data, wire::kVarint, 8};
    case DataType::kUint32:
      return {kUint64Data, wire::kVarint, 4};
    case DataType::kInt32:
      return {kInt32Data, wire::kVarint, 4};
    default:
      return {kInt32Data, wire::kVarint, bits_of(type) == 16 ? size_t{2} : size_t{1}};
  }
}

void append(std::vector<std::byte>& bytes, uint64_t value, size_t size) {
  const size_t at = bytes.size();
  bytes.resize(at + size);
  std::memcpy(bytes.data() + at, &value, size);  // little-endian, as the machines that Thaw runs on
}

// 6-bit elements come one an entry and are kept four in three bytes.
std::vector<std::byte> pack_six_bits(const std::vector<std::byte>& entries) {
  std::vector<std::byte> packed((entries.size() * 6 + 7) / 8);
  for (size_t i = 0; i < entries.size(); ++i) {
    const auto bits = static_cast<uint32_t>(entries[i]) & 0x3f;
    const size_t bit = i * 6;
    packed[bit / 8] |= static_cast<std::byte>(bits << bit % 8);
    if (bit % 8 > 2) packed[bit / 8 + 1] |= static_cast<std::byte>(bits >> (8 - bit % 8));
  }
  return packed;
}

class StringSink : public wire::Sink {
 public:
  explicit StringSink(std::string& text) : text_(text) {}

 private:
  void pass_on(std::string_view bytes) override { text_.append(bytes); }
  std::string& text_;
};

}  // namespace

std::vector<std::byte> decode_typed(const Tensor& tensor, std::string_view wire) {
  const Layout layout = layout_of(tensor.data_type);
  std::vector<std::byte> bytes;
  const auto add = [&](uint64_t value) { append(bytes, value, layout.bytes); };
  try {
    wire::Reader reader(wire);
    wire::Field field;
    while (reader.next(field)) {
      if (field.tag == wire::tag(layout.field, layout.entry)) {
        add(field.number_value);
      } else if (field.tag == wire::bytes_tag(layout.field)) {
        if (layout.entry == wire::kVarint) {
          wire::Reader packed(field.bytes);
          while (!packed.done()) add(packed.varint());
        } else if (field.bytes.size() % layout.bytes == 0) {
          const auto* begin = reinterpret_cast<const std::byte*>(field.bytes.data());
          bytes.insert(bytes.end(), begin, begin + field.bytes.size());
        } else {
          throw wire::Malformed{"truncated inside a list of numbers", field.bytes.data()};
        }
      }
    }
  } catch (const wire::Malformed& malformed) {
    throw Error(ErrorCode::kInvalidFile,
                {.what = malformed.what, .where = describe(tensor), .next = "export the model again"});
  }
  return bits_of(tensor.data_type) == 6 ? pack_six_bits(bytes) : bytes;
}

std::vector<std::string> decode_strings(std::string_view wire) {
  std::vector<std::string> strings;
  wire::Reader reader(wire);
  wire::Field field;
  while (reader.next(field)) {
    if (field.tag == wire::bytes_tag(field::tensor::kStringData)) strings.emplace_back(field.bytes);
  }
  return strings;
}

Tensor Tensor::from_strings(std::string name, std::vector<int64_t> dims, std::span<const std::string> values) {
  auto text = std::make_shared<std::string>();
  StringSink sink(*text);
  wire::Encoder encoder;
  encoder.write_to(sink);
  for (const std::string& value : values) encoder.bytes(field::tensor::kStringData, value);
  sink.flush();
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.data_type = DataType::kString;
  tensor.dims = std::move(dims);
  tensor.storage_ = Storage::kTyped;
  tensor.wire_ = *text;
  tensor.wire_owner_ = std::move(text);
  return tensor;
}

}  // namespace thaw::ir
