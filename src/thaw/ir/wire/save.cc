// Saving: where each tensor's data goes, then one measuring and one writing walk.
#include <algorithm>

#include <fmt/format.h>

#include "thaw/core/atomic_file.h"
#include "thaw/core/error.h"
#include "thaw/core/hold_signals.h"
#include "thaw/ir/graph/graph_storage.h"
#include "thaw/ir/graph/model.h"
#include "thaw/ir/wire/data_files.h"
#include "thaw/ir/wire/writer.h"

namespace thaw::ir {
namespace {

constexpr uint64_t kMaxModelBytes = INT32_MAX;  // what protobuf readers take

class StringSink : public wire::Sink {
 public:
  explicit StringSink(std::string& text) : text_(text) {}

 private:
  void pass_on(std::string_view bytes) override { text_.append(bytes); }
  std::string& text_;
};

class FileSink : public wire::Sink {
 public:
  explicit FileSink(AtomicFile& file) : file_(file) {}

 private:
  void pass_on(std::string_view bytes) override { file_.write(std::as_bytes(std::span(bytes))); }
  AtomicFile& file_;
};

void require_writable(const Model& model) {
  if (model.graph) check_writable(*model.graph);
  for (const auto& function : model.functions) check_writable(*function->body);
}

wire::Encoder measure(const Model& model, const TensorPlan& plan) {
  wire::Encoder encoder;
  GraphWriter(encoder, plan).write_model(model);
  return encoder;
}

void write(const Model& model, const TensorPlan& plan, wire::Encoder& encoder, wire::Sink& sink) {
  encoder.write_to(sink);
  GraphWriter(encoder, plan).write_model(model);
  sink.flush();
}

}  // namespace

std::string serialize(const Model& model, const TensorPlan& plan) {
  require_writable(model);
  wire::Encoder encoder = measure(model, plan);
  std::string text;
  text.reserve(encoder.size());
  StringSink sink(text);
  write(model, plan, encoder, sink);
  return text;
}

std::string serialize(const Model& model) { return serialize(model, TensorPlan()); }

namespace {

// The data of the model that is there already; none where it cannot be read.
std::vector<std::filesystem::path> data_before(const std::filesystem::path& path) {
  if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(path))) return {};
  try {
    return data_files_of(*load(path));
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

std::vector<std::filesystem::path> save(const Model& model, const std::filesystem::path& path,
                                        const SaveOptions& options) {
  require_output(model, path);
  require_writable(model);
  TensorPlan plan;
  DataFiles data(path, options.external == ExternalPolicy::kSingle ? options.location : std::string());
  switch (options.external) {
    case ExternalPolicy::kKeep:
      data.keep(model, plan);
      break;
    case ExternalPolicy::kSingle:
      data.gather(model, options.threshold, plan);
      break;
    case ExternalPolicy::kInline:
      plan.inline_external = true;
      break;
  }
  wire::Encoder encoder = measure(model, plan);
  if (encoder.size() > kMaxModelBytes) {
    throw Error(ErrorCode::kCannotWrite,
                {.what = fmt::format("the model would take {} bytes in one file", encoder.size()),
                 .where = path.string(),
                 .expected = "at most 2 GiB, which is what readers of ONNX files take",
                 .next = "save its weights to a data file beside it (external data)"});
  }
  AtomicFile file(path);
  FileSink sink(file);
  write(model, plan, encoder, sink);
  file.flush();
  data.write();
  const std::vector<std::filesystem::path> before = data_before(path);
  {
    // Data under new names, then the model that refers to it: wherever this ends, the path holds one whole model.
    const HoldSignals hold;
    data.publish();
    file.publish();
    data.settle(before);
  }
  std::vector<std::filesystem::path> written = data.written();
  written.insert(written.begin(), path);
  return written;
}

}  // namespace thaw::ir
