#include "thaw/confirm/as_written.h"

#include <string_view>

#include <fmt/format.h>

#include "thaw/confirm/conversion.h"
#include "thaw/confirm/run_check.h"
#include "thaw/core/error.h"
#include "thaw/run/session.h"

namespace thaw::confirm {
namespace {

constexpr uint64_t kQuickBytes = uint64_t{64} << 20;  // of weights
constexpr size_t kQuickNodes = 2000;
constexpr size_t kQuickConstants = 4000;  // time grows with their square in ONNX Runtime

// As users load it; threads that wait awake would only be in each other's way here.
SessionOptions defaults() { return {.spinning = false}; }

// Of a large model that is not run: the same kernels, without the copies of weights that only a run needs.
SessionOptions options_of(const ToTry& what) {
  SessionOptions options = defaults();
  options.copied_weights = what.fed != nullptr || weight_bytes(*what.written) <= kQuickBytes;
  return options;
}

bool says_no_kernel(const Error& error) {
  return error.parts().what.find("Could not find an implementation for") != std::string_view::npos;
}

struct Parts {
  size_t nodes = 0, constants = 0;

  Parts& operator+=(const Parts& other) {
    nodes += other.nodes;
    constants += other.constants;
    return *this;
  }
};

// With those of its subgraphs.
Parts parts_of(const ir::Graph& graph) {
  Parts found{graph.num_nodes(), graph.initializers().size()};
  for (const ir::Node* node : graph.nodes())
    for (const ir::Graph* inner : node->subgraphs()) found += parts_of(*inner);
  return found;
}

// With the name that the file is to have in the place of the one that it has now.
std::string by_its_name(std::string text, const ToTry& what) {
  const std::string link = what.file.string();
  for (size_t at = link.empty() ? std::string::npos : text.find(link); at != std::string::npos;
       at = text.find(link, at + what.named_as.string().size()))
    text.replace(at, link.size(), what.named_as.string());
  return text;
}

std::string message_of(const Error& error, const ToTry& what) { return by_its_name(error.what(), what); }

bool runs(const ir::Model& model, const Arrays& fed) {
  try {
    run::Session(model, defaults()).run(fed);
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool is_loaded(const ir::Model& model) {
  try {
    const run::Session session(model, defaults());
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

bool loads_quickly(const ir::Model& model) {
  Parts all = parts_of(*model.graph);
  for (const auto& function : model.functions) all += parts_of(*function->body);
  return all.nodes <= kQuickNodes && all.constants <= kQuickConstants && weight_bytes(model) <= kQuickBytes;
}

LoadCheck try_as_written(const ToTry& what) {
  using Status = LoadCheck::Status;
  const SessionOptions options = options_of(what);
  // What is only mapped is given back where memory is short.
  const bool is_mapped = !options.copied_weights && !what.file.empty();
  if (std::string lacking = is_mapped ? std::string() : lacks_memory(*what.written); !lacking.empty())
    return {Status::kSkipped, lacking};
  bool loaded = false;
  try {
    run::Session session = what.file.empty() ? run::Session(*what.written, options) : run::Session(what.file, options);
    loaded = true;
    if (what.fed == nullptr) return {Status::kLoaded};
    session.run(*what.fed);
    return {Status::kRan};
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kRuntimeMissing) return {Status::kSkipped, message_of(error, what)};
    if (error.code() == ErrorCode::kOutOfBudget) return {Status::kSkipped, by_its_name(error.parts().what, what)};
    if (!loaded && says_no_kernel(error))
      return {Status::kSkipped,
              has_type(*what.written, DataType::kBfloat16)
                  ? fmt::format("ONNX Runtime's CPU provider has few bfloat16 kernels ({}): run it on a GPU, or use "
                                "float16 (convert --to f16, build --dtype f16)",
                                by_its_name(error.parts().what, what))
                  : by_its_name(error.parts().what, what)};
    if (error.code() != ErrorCode::kRuntimeFailed) throw;
    if (loaded && what.original != nullptr && !runs(*what.original, *what.fed))
      return {Status::kLoaded, fmt::format("neither the result nor the original runs: {}", message_of(error, what))};
    if (loaded)
      return {Status::kFailed,
              fmt::format("the result loads in ONNX Runtime but does not run: {}", message_of(error, what))};
    if (what.original == nullptr || is_loaded(*what.original))
      return {Status::kFailed, fmt::format("ONNX Runtime does not load the result: {}", message_of(error, what))};
    return {Status::kSkipped, fmt::format("neither the result nor the original loads: {}", message_of(error, what))};
  }
}

}  // namespace thaw::confirm
