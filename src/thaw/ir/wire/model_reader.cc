#include <unordered_set>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/core/folder_of.h"
#include "thaw/core/mapped_file.h"
#include "thaw/core/phase.h"
#include "thaw/core/read_files.h"
#include "thaw/ir/graph/function_calls.h"
#include "thaw/ir/graph/model.h"
#include "thaw/ir/wire/fields.h"
#include "thaw/ir/wire/foreign_file.h"
#include "thaw/ir/wire/reader.h"

namespace thaw::ir {
namespace {

using wire::bytes_tag;
using wire::Field;
using wire::Reader;
using wire::varint_tag;

void read_model(ReadContext& context, std::string_view bytes, Model& model) {
  using namespace field::model;  // NOLINT(google-build-using-namespace): one message's numbers
  MessagePart graph;
  std::vector<std::string_view> functions;
  std::string metadata_wire;
  bool metadata_is_plain = true;
  Field field;
  for (Reader reader(bytes); reader.next(field);) {
    switch (field.tag) {
      case varint_tag(kIrVersion):
        model.ir_version = field.as_int64();
        if (model.ir_version == 0) model.extra.append(field.whole);
        break;
      case bytes_tag(kProducerName):
        read_text(field, model.producer_name, model.extra);
        break;
      case bytes_tag(kProducerVersion):
        read_text(field, model.producer_version, model.extra);
        break;
      case bytes_tag(kGraph):
        graph.add(context, field.bytes);
        break;
      case bytes_tag(kOpsetImport):
        model.opset_imports.push_back(read_opset(field.bytes));
        break;
      case bytes_tag(kFunctions):
        functions.push_back(field.bytes);
        break;
      case bytes_tag(kMetadata): {
        const StringEntry entry = read_entry(field.bytes);
        model.metadata_props.emplace_back(entry.key, entry.value);
        metadata_is_plain = metadata_is_plain && entry.plain;
        metadata_wire.append(field.whole);
        break;
      }
      default:
        model.extra.append(field.whole);
    }
  }
  if (!metadata_is_plain) model.metadata_wire = std::move(metadata_wire);
  if (!graph) {
    throw Error(ErrorCode::kInvalidFile,
                {.what = "has no graph", .expected = "an ONNX model", .next = "check that the file is an ONNX model"});
  }
  model.graph = std::make_unique<Graph>();
  GraphReader graph_reader(context);
  graph_reader.read_graph(graph.bytes(), *model.graph);
  graph_reader.resolve();

  std::unordered_set<std::string> keys;
  for (const std::string_view function : functions) {
    auto& made = model.functions.emplace_back(std::make_unique<Function>());
    GraphReader reader(context);
    reader.read_function(function, *made);
    if (made->name.empty())
      throw Error(ErrorCode::kInvalidFile,
                  {.what = "a function has no name", .expected = "a name", .next = "export the model again"});
    if (!keys.insert(fmt::format("{}\n{}\n{}", made->domain, made->name, made->overload)).second) {
      throw Error(ErrorCode::kInvalidFile,
                  {.what = fmt::format("the function '{}' of domain '{}' is there twice", made->name, made->domain),
                   .expected = "each function once",
                   .next = "export the model again"});
    }
    reader.resolve();
  }
  model.index_functions();
  refuse_recursion(model);
}

// Reads and says of what is wrong in which file it is.
std::unique_ptr<Model> read_named(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                                  const std::filesystem::path& folder, const std::string& file) {
  auto model = std::make_unique<Model>();
  ReadContext context;
  context.owner = std::make_shared<ReadContext::Owner>();
  context.owner->bytes = std::move(owner);
  context.folder = std::make_shared<ExternalFolder>(folder);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  try {
    read_model(context, text, *model);
  } catch (const wire::Malformed& malformed) {
    const bool in_file = malformed.at >= text.data() && malformed.at <= text.data() + text.size();
    throw Error(ErrorCode::kInvalidFile,
                {.what = malformed.what,
                 .where = in_file ? fmt::format("{}, byte {}", file, malformed.at - text.data()) : file,
                 .expected = "an ONNX model (protobuf)",
                 .next = "fetch or export the file again"});
  } catch (const Error& error) {
    ErrorParts parts = error.parts();
    parts.where = parts.where.empty() ? file : file + ", " + parts.where;
    throw Error(error.code(), std::move(parts));
  }
  model->owners.push_back(context.owner);
  for (const auto& [name, makers] : context.repeated) model->repeated.push_back({name, makers});
  begin_run(*model);
  return model;
}

}  // namespace

OpsetImport read_opset(std::string_view bytes) {
  OpsetImport import;
  Field field;
  for (Reader reader(bytes); reader.next(field);) {
    switch (field.tag) {
      case bytes_tag(field::opset::kDomain):
        read_text(field, import.domain, import.extra);
        if (import.domain == "ai.onnx") {
          import.domain.clear();
          import.extra.append(field.whole);
        }
        break;
      case varint_tag(field::opset::kVersion):
        import.version = field.as_int64();
        if (import.version == 0) import.extra.append(field.whole);
        break;
      default:
        import.extra.append(field.whole);
    }
  }
  return import;
}

std::unique_ptr<Model> load(const std::filesystem::path& path) {
  const Phase phase("reading the model");
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) throw Error(ErrorCode::kCannotRead, folder_instead_of_model(path));
  auto file = MappedFile::open(path);
  const std::filesystem::path folder = folder_of(path);
  const std::span<const std::byte> bytes = file->bytes();
  if (bytes.empty()) {
    throw Error(ErrorCode::kInvalidFile, {.what = "is empty",
                                          .where = path.string(),
                                          .expected = "an ONNX model",
                                          .next = "fetch or export the file again"});
  }
  try {
    auto model = read_named(bytes, file, folder, path.string());
    model->path = path;
    for (const std::filesystem::path& data : data_files_of(*model)) ReadFiles::note(data);
    return model;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalidFile) throw;
    if (auto parts = foreign_file(bytes, path)) throw Error(ErrorCode::kInvalidFile, std::move(*parts));
    throw;
  }
}

std::unique_ptr<Model> parse(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                             const std::filesystem::path& folder) {
  return read_named(bytes, std::move(owner), folder, "model");
}

void begin_run(const Model& model) {
  size_t nodes = model.graph ? model.graph->num_nodes() : 0;
  for (const auto& function : model.functions) nodes += function->body->num_nodes();
  model.budget->begin(nodes);
}

void begin_own_run(Model& model) {
  model.budget = std::make_shared<Budget>();
  begin_run(model);
}

std::optional<int64_t> Model::opset(std::string_view domain) const {
  if (domain == "ai.onnx") domain = "";
  for (const OpsetImport& import : opset_imports) {
    if (import.domain == domain) return import.version;
  }
  return std::nullopt;
}

void Model::index_functions() {
  function_index_.clear();
  for (const auto& function : functions)
    function_index_.try_emplace({function->domain, function->name, function->overload}, function.get());
}

const Function* Model::find_function(std::string_view domain, std::string_view name, std::string_view overload) const {
  if (domain == "ai.onnx") domain = "";
  if (function_index_.size() == functions.size()) {
    const auto found = function_index_.find({domain, name, overload});
    return found == function_index_.end() ? nullptr : found->second;
  }
  for (const auto& function : functions) {
    if (function->name == name && function->domain == domain && function->overload == overload) return function.get();
  }
  return nullptr;
}

}  // namespace thaw::ir
