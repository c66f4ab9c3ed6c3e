// roundtrip POLICY IN OUT [IN OUT ...]: loads each model and saves it; POLICY is keep, single, inline or load.
//
// A model that cannot be loaded or saved is named on standard error and the exit code is 2. Prints the milliseconds
// that loading and saving took, and at the end the peak of the memory (KiB).
#include <chrono>
#include <cstdio>
#include <cstring>

#include <sys/resource.h>

#include "thaw/core/error.h"
#include "thaw/ir/graph/model.h"

namespace {

// Touches every value, as an inspection does.
size_t walk(const thaw::ir::Graph& graph) {
  size_t seen = 0;
  for (const thaw::ir::Value* value : graph.initializers()) seen += value->initializer()->dims.size();
  for (const thaw::ir::Node* node : graph.nodes()) {
    for (const thaw::ir::Value* value : node->inputs()) seen += value ? value->name().size() : 0;
    for (const thaw::ir::Value* value : node->outputs()) seen += value ? value->uses().size() : 0;
    for (const thaw::ir::Graph* subgraph : node->subgraphs()) seen += walk(*subgraph);
  }
  return seen;
}

double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || argc % 2 != 0) {
    std::fprintf(stderr, "usage: roundtrip keep|single|inline|load IN OUT [IN OUT ...]\n");
    return 2;
  }
  const char* policy = argv[1];
  int code = 0;
  for (int i = 2; i + 1 < argc; i += 2) {
    try {
      auto start = std::chrono::steady_clock::now();
      const auto model = thaw::ir::load(argv[i]);
      const double loading = ms_since(start);
      const size_t seen = walk(*model->graph);
      start = std::chrono::steady_clock::now();
      thaw::SaveOptions options;
      if (std::strcmp(policy, "single") == 0) options.external = thaw::ExternalPolicy::kSingle;
      if (std::strcmp(policy, "inline") == 0) options.external = thaw::ExternalPolicy::kInline;
      if (std::strcmp(policy, "load") != 0) thaw::ir::save(*model, argv[i + 1], options);
      std::printf("%s: load %.2f ms, save %.2f ms, %zu nodes, %zu\n", argv[i], loading, ms_since(start),
                  model->graph->nodes().size(), seen);
    } catch (const thaw::Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
      code = 2;
    }
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("peak %ld KiB\n", usage.ru_maxrss);
  return code;
}
