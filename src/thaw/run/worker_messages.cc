#include "thaw/run/worker_messages.h"

#include <algorithm>
#include <map>

#include "thaw/run/elements.h"
#include "thaw/run/message.h"

namespace thaw::run {
namespace {

constexpr uint64_t kAlignment = 64;
constexpr size_t kMostDims = 1024;
constexpr size_t kLeastArray = 5 * sizeof(uint64_t) + sizeof(int32_t);  // bytes of one without a name, dims and strings

uint64_t position_after(uint64_t offset, uint64_t size) {
  return (offset + size + kAlignment - 1) / kAlignment * kAlignment;
}

void write_texts(MessageWriter& writer, const std::vector<std::string>& texts) {
  writer.put<uint64_t>(texts.size());
  for (const std::string& text : texts) writer.text(text);
}

std::vector<std::string> read_texts(MessageReader& reader) {
  std::vector<std::string> texts(reader.count(sizeof(uint64_t)));
  for (std::string& text : texts) text = reader.text();
  return texts;
}

void write_ports(MessageWriter& writer, const std::vector<Port>& ports) {
  writer.put<uint64_t>(ports.size());
  for (const Port& port : ports) {
    writer.text(port.name);
    writer.put(port.kind);
    writer.put(port.dtype);
    writer.put<uint8_t>(port.has_default);
  }
}

std::vector<Port> read_ports(MessageReader& reader) {
  std::vector<Port> ports(reader.count(sizeof(uint64_t)));
  for (Port& port : ports) {
    port.name = reader.text();
    port.kind = reader.take<TypeKind>();
    port.dtype = reader.take<ir::DataType>();
    port.has_default = reader.flag();
    if (port.kind > TypeKind::kOpaque) throw BadMessage("a port has an unknown kind");
  }
  return ports;
}

void write_arrays(MessageWriter& writer, std::span<const ArrayView> arrays) {
  writer.put<uint64_t>(arrays.size());
  uint64_t offset = 0;
  for (const ArrayView& array : arrays) {
    writer.text(array.name);
    writer.put(array.dtype);
    writer.numbers(std::span<const int64_t>(array.dims));
    writer.put(offset);
    writer.put<uint64_t>(array.bytes.size());
    write_texts(writer, array.strings);
    offset = position_after(offset, array.bytes.size());
  }
}

std::vector<ArrayView> read_arrays(MessageReader& reader, std::span<const std::byte> memory) {
  std::vector<ArrayView> arrays(reader.count(kLeastArray));
  for (ArrayView& array : arrays) {
    array.name = reader.text();
    array.dtype = reader.take<ir::DataType>();
    array.dims = reader.numbers<int64_t>();
    const auto offset = reader.take<uint64_t>(), size = reader.take<uint64_t>();
    array.strings = read_texts(reader);
    if (array.dims.size() > kMostDims) throw BadMessage("an array has more dims than there can be");
    const int64_t count = element_count(array.dims);
    const bool texts = array.dtype == ir::DataType::kString;
    if (size != packed_bytes(array.dtype, count) || array.strings.size() != (texts ? static_cast<size_t>(count) : 0))
      throw BadMessage("an array is not as large as its dims say");
    if (offset > memory.size() || size > memory.size() - offset) throw BadMessage("an array lies outside its memory");
    array.bytes = memory.subspan(offset, size);
  }
  return arrays;
}

void write_options(MessageWriter& writer, const std::map<std::string, std::string>& options) {
  writer.put<uint64_t>(options.size());
  for (const auto& [name, value] : options) {
    writer.text(name);
    writer.text(value);
  }
}

std::map<std::string, std::string> read_options(MessageReader& reader) {
  std::map<std::string, std::string> options;
  for (size_t left = reader.count(2 * sizeof(uint64_t)); left > 0; --left) {
    std::string name = reader.text();
    options.insert_or_assign(std::move(name), reader.text());
  }
  return options;
}

void write_providers(MessageWriter& writer, const std::vector<Provider>& providers) {
  writer.put<uint64_t>(providers.size());
  for (const Provider& provider : providers) {
    writer.text(provider.name);
    write_options(writer, provider.options);
  }
}

std::vector<Provider> read_providers(MessageReader& reader) {
  std::vector<Provider> providers(reader.count(2 * sizeof(uint64_t)));
  for (Provider& provider : providers) {
    provider.name = reader.text();
    provider.options = read_options(reader);
  }
  return providers;
}

void write_held(MessageWriter& writer, const std::vector<HeldName>& names) {
  writer.put<uint64_t>(names.size());
  for (const HeldName& one : names) {
    writer.text(one.name);
    writer.put(one.number);
  }
}

std::vector<HeldName> read_held(MessageReader& reader) {
  std::vector<HeldName> names(reader.count(2 * sizeof(uint64_t)));
  for (HeldName& one : names) {
    one.name = reader.text();
    one.number = reader.take<uint64_t>();
  }
  return names;
}

// What PlacedNode and TimedNode share.
template <typename Node>
void write_node(MessageWriter& writer, const Node& node) {
  writer.text(node.name);
  writer.text(node.op_type);
  writer.text(node.provider);
}

template <typename Node>
void read_node(MessageReader& reader, Node& node) {
  node.name = reader.text();
  node.op_type = reader.text();
  node.provider = reader.text();
}

}  // namespace

uint64_t shared_bytes(std::span<const ArrayView> arrays) {
  uint64_t offset = 0;
  for (const ArrayView& array : arrays) offset = position_after(offset, array.bytes.size());
  return offset;
}

void write_shared(std::span<const ArrayView> arrays, SharedFile& file) {
  uint64_t offset = 0;
  for (const ArrayView& array : arrays) {
    file.write(offset, array.bytes);
    offset = position_after(offset, array.bytes.size());
  }
}

std::string encode(const LoadRequest& request) {
  MessageWriter writer;
  writer.put(request.session);
  writer.put(request.max_memory);
  writer.text(request.path);
  writer.put(request.bytes);
  writer.text(request.folder);
  writer.text(request.where);
  writer.put(request.data);
  writer.put<int32_t>(request.options.threads);
  writer.put(request.options.optimization);
  writer.put<uint8_t>(request.options.memory_pattern);
  writer.put<uint8_t>(request.options.memory_arena);
  writer.put<uint8_t>(request.options.copied_weights);
  writer.put<uint8_t>(request.options.spinning);
  writer.put<uint8_t>(request.options.profile);
  write_providers(writer, request.options.providers);
  write_arrays(writer, request.weights);
  return writer.take();
}

LoadRequest decode_load(std::string_view body, std::span<const std::byte> memory) {
  MessageReader reader(body);
  LoadRequest request;
  request.session = reader.take<uint64_t>();
  request.max_memory = reader.take<uint64_t>();
  request.path = reader.text();
  request.bytes = reader.take<uint64_t>();
  request.folder = reader.text();
  request.where = reader.text();
  request.data = reader.take<uint64_t>();
  request.options.threads = reader.take<int32_t>();
  request.options.optimization = reader.take<Optimization>();
  request.options.memory_pattern = reader.flag();
  request.options.memory_arena = reader.flag();
  request.options.copied_weights = reader.flag();
  request.options.spinning = reader.flag();
  request.options.profile = reader.flag();
  request.options.providers = read_providers(reader);
  request.weights = read_arrays(reader, memory);
  reader.end();
  return request;
}

std::string encode(const Ports& ports) {
  MessageWriter writer;
  write_ports(writer, ports.inputs);
  write_ports(writer, ports.outputs);
  writer.text(ports.runtime.version);
  writer.put<uint64_t>(ports.runtime.providers.size());
  for (const UsedProvider& provider : ports.runtime.providers) {
    writer.text(provider.name);
    writer.text(provider.device);
    write_options(writer, provider.options);
  }
  write_texts(writer, ports.warnings);
  return writer.take();
}

Ports decode_ports(std::string_view body) {
  MessageReader reader(body);
  Ports ports;
  ports.inputs = read_ports(reader);
  ports.outputs = read_ports(reader);
  ports.runtime.version = reader.text();
  ports.runtime.providers.resize(reader.count(3 * sizeof(uint64_t)));
  for (UsedProvider& provider : ports.runtime.providers) {
    provider.name = reader.text();
    provider.device = reader.text();
    provider.options = read_options(reader);
  }
  ports.warnings = read_texts(reader);
  reader.end();
  return ports;
}

std::string encode(const RunRequest& request) {
  MessageWriter writer;
  writer.put(request.session);
  writer.put(request.max_memory);
  write_texts(writer, request.wanted);
  write_arrays(writer, request.feeds);
  write_held(writer, request.fed);
  write_held(writer, request.held);
  writer.numbers(std::span<const uint64_t>(request.let_go));
  return writer.take();
}

RunRequest decode_run(std::string_view body, std::span<const std::byte> memory) {
  MessageReader reader(body);
  RunRequest request;
  request.session = reader.take<uint64_t>();
  request.max_memory = reader.take<uint64_t>();
  request.wanted = read_texts(reader);
  request.feeds = read_arrays(reader, memory);
  request.fed = read_held(reader);
  request.held = read_held(reader);
  request.let_go = reader.numbers<uint64_t>();
  reader.end();
  return request;
}

std::string encode(const Results& results) {
  MessageWriter writer;
  write_arrays(writer, results.arrays);
  write_texts(writer, results.warnings);
  return writer.take();
}

Results decode_results(std::string_view body, std::span<const std::byte> memory) {
  MessageReader reader(body);
  Results results;
  results.arrays = read_arrays(reader, memory);
  results.warnings = read_texts(reader);
  reader.end();
  return results;
}

std::string encode(const Placement& placement) {
  MessageWriter writer;
  writer.put<uint64_t>(placement.nodes.size());
  for (const PlacedNode& node : placement.nodes) write_node(writer, node);
  writer.put<uint64_t>(placement.timed.size());
  for (const TimedNode& node : placement.timed) {
    write_node(writer, node);
    writer.put(node.seconds);
    writer.put<uint8_t>(node.is_copy);
  }
  writer.put(placement.runs);
  writer.put(placement.seconds);
  return writer.take();
}

Placement decode_placement(std::string_view body) {
  MessageReader reader(body);
  Placement placement;
  placement.nodes.resize(reader.count(3 * sizeof(uint64_t)));
  for (PlacedNode& node : placement.nodes) read_node(reader, node);
  placement.timed.resize(reader.count(4 * sizeof(uint64_t)));
  for (TimedNode& node : placement.timed) {
    read_node(reader, node);
    node.seconds = reader.take<double>();
    node.is_copy = reader.flag();
  }
  placement.runs = reader.take<uint64_t>();
  placement.seconds = reader.take<double>();
  reader.end();
  return placement;
}

std::string encode(const TokenizeRequest& request) {
  MessageWriter writer;
  writer.put(request.max_memory);
  writer.put(request.work);
  writer.text(request.folder);
  writer.text(request.text);
  writer.text(request.chat_template);
  writer.numbers(std::span<const int32_t>(request.ids));
  return writer.take();
}

TokenizeRequest decode_tokenize(std::string_view body) {
  MessageReader reader(body);
  TokenizeRequest request;
  request.max_memory = reader.take<uint64_t>();
  request.work = reader.take<TokenizerWork>();
  request.folder = reader.text();
  request.text = reader.text();
  request.chat_template = reader.text();
  request.ids = reader.numbers<int32_t>();
  reader.end();
  return request;
}

std::string encode(const Tokenized& answer) {
  MessageWriter writer;
  writer.numbers(std::span<const int32_t>(answer.ids));
  writer.text(answer.text);
  return writer.take();
}

Tokenized decode_tokenized(std::string_view body) {
  MessageReader reader(body);
  Tokenized answer;
  answer.ids = reader.numbers<int32_t>();
  answer.text = reader.text();
  reader.end();
  return answer;
}

std::string encode(const Error& error) {
  MessageWriter writer;
  writer.put(error.code());
  writer.text(error.parts().what);
  writer.text(error.parts().where);
  writer.text(error.parts().expected);
  writer.text(error.parts().next);
  return writer.take();
}

Error decode_error(std::string_view body) {
  MessageReader reader(body);
  const auto code = reader.take<ErrorCode>();
  ErrorParts parts;
  parts.what = reader.text();
  parts.where = reader.text();
  parts.expected = reader.text();
  parts.next = reader.text();
  reader.end();
  if (code < ErrorCode::kInvalidArgument || code > ErrorCode::kInternal)
    throw BadMessage("an error has an unknown code");
  return Error(code, std::move(parts));
}

}  // namespace thaw::run
