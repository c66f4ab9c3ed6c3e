// convert_blocks MODEL OUT BITS BLOCK rtn|search|hqq [symmetric] [qdq]: the weights of a model in blocks, without
// anything else being done to it. For tests and measurements of quant/blocks/ alone.
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/quant/blocks/block_writer.h"
#include "thaw/quant/blocks/weight_readers.h"
#include "thaw/rewrite/remove_unused.h"

int main(int argc, char** argv) {
  using namespace thaw;
  if (argc < 6) return 2;
  BlockOptions options{.block = std::atoll(argv[4])};
  const std::string_view method = argv[5];
  options.method = method == "rtn" ? BlockMethod::kRtn : method == "hqq" ? BlockMethod::kHqq : BlockMethod::kSearch;
  for (int i = 6; i < argc; ++i) {
    if (argv[i] == std::string_view("symmetric")) options.symmetric = true;
    if (argv[i] == std::string_view("qdq")) options.form = BlockForm::kQdq;
  }
  try {
    const auto model = ir::load(argv[1]);
    rewrite::PassContext context(*model);
    quantizing::blocks::BlockWriter writer(context);
    std::vector<ir::Node*> nodes;
    for (ir::Node* node : model->graph->nodes())
      if (quantizing::blocks::is_candidate(*node)) nodes.push_back(node);
    for (ir::Node* node : nodes) {
      const std::string location = node->describe();
      const std::string why = writer.write(*node, std::atoi(argv[3]), options, nullptr);
      if (!why.empty()) std::printf("left %s: %s\n", location.c_str(), why.c_str());
    }
    rewrite::remove_unused(*model);
    ir::save(*model, argv[2], {.external = ir::ExternalPolicy::kSingle});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
