#include <algorithm>
#include <string>

#include "thaw/core/mapped_file.h"
#include "thaw/ir/wire/fields.h"
#include "thaw/ir/wire/writer.h"

namespace thaw::ir {
namespace {

// Large data goes out chunk by chunk, and the pages behind it are given back, so that they don't add up.
void write_content(wire::Encoder& out, std::span<const std::byte> bytes) {
  if (out.measuring()) return out.add_size(bytes.size());
  for (size_t at = 0; at < bytes.size(); at += kChunk) {
    const auto chunk = bytes.subspan(at, std::min(kChunk, bytes.size() - at));
    out.raw({reinterpret_cast<const char*>(chunk.data()), chunk.size()});
    if (chunk.size() >= kChunk / 4) release_pages(chunk);
  }
}

void write_entry(wire::Encoder& out, std::string_view key, std::string_view value) {
  out.message(field::tensor::kExternalData, [&] {
    out.bytes(field::entry::kKey, key);
    out.bytes(field::entry::kValue, value);
  });
}

}  // namespace

void TensorWriter::write(wire::Encoder& out, const Tensor& tensor, const TensorPlan& plan) {
  using namespace field::tensor;  // NOLINT(google-build-using-namespace): one message's numbers
  out.raw(tensor.extra);
  for (const int64_t dim : tensor.dims) out.integer(kDims, dim);
  if (tensor.data_type != DataType::kUndefined) out.integer(kDataType, static_cast<int32_t>(tensor.data_type));
  out.text(kName, tensor.name);
  if (const auto planned = plan.external.find(&tensor); planned != plan.external.end()) {
    const ExternalLocation& location = planned->second;
    write_entry(out, "location", location.location);
    write_entry(out, "offset", std::to_string(location.offset));
    if (location.length) write_entry(out, "length", std::to_string(*location.length));
    for (const auto& [key, value] : location.other) write_entry(out, key, value);
    out.integer(kDataLocation, 1);
    return;
  }
  switch (tensor.storage_) {
    case Tensor::Storage::kTyped:
      out.raw(tensor.wire_);
      break;
    case Tensor::Storage::kExternal:
      if (plan.inline_external) {
        const std::span<const std::byte> bytes = tensor.bytes();
        out.header(kRawData, bytes.size());
        write_content(out, bytes);
      } else {
        out.raw(tensor.wire_);
        out.integer(kDataLocation, 1);
      }
      break;
    case Tensor::Storage::kMade:
      out.header(kRawData, tensor.num_bytes());
      if (out.measuring()) {
        out.add_size(tensor.num_bytes());
      } else {
        write_content(out, tensor.bytes());
      }
      break;
    case Tensor::Storage::kRaw:
      if (tensor.has_raw_) {
        out.header(kRawData, tensor.raw_.size());
        write_content(out, tensor.raw_);
      }
      break;
  }
}

TensorWriter::Identity TensorWriter::identity(const Tensor& tensor) {
  const void* from = nullptr;
  switch (tensor.storage_) {
    case Tensor::Storage::kTyped:
      from = tensor.wire_.data();
      break;
    case Tensor::Storage::kExternal:
      from = tensor.bytes().data();  // mapped, not read
      break;
    case Tensor::Storage::kMade:
      from = tensor.source_.get();
      break;
    case Tensor::Storage::kRaw:
      from = tensor.raw_.data();
      break;
  }
  return {from, tensor.num_bytes()};
}

void TensorWriter::write_sparse(wire::Encoder& out, const SparseTensor& sparse, const TensorPlan& plan) {
  out.raw(sparse.extra);
  if (sparse.has_values) out.message(field::sparse_tensor::kValues, [&] { write(out, sparse.values, plan); });
  if (sparse.has_indices) out.message(field::sparse_tensor::kIndices, [&] { write(out, sparse.indices, plan); });
  for (const int64_t dim : sparse.dims) out.integer(field::sparse_tensor::kDims, dim);
}

}  // namespace thaw::ir
