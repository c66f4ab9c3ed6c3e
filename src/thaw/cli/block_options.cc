#include "thaw/cli/block_options.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thaw/cli/options.h"

namespace thaw::cli {

void add_blocks(CLI::App& app, BlockOptions& blocks, bool with_samples) {
  std::vector<std::pair<std::string_view, BlockMethod>> methods = {
      {"rtn", BlockMethod::kRtn}, {"search", BlockMethod::kSearch}, {"hqq", BlockMethod::kHqq}};
  std::string help = "how the scales of blocks are chosen (search)";
  if (with_samples) {
    methods.emplace_back("gptq", BlockMethod::kGptq);
    methods.emplace_back("awq", BlockMethod::kAwq);
    help += "; gptq and awq need --data";
  }
  add_choice<BlockMethod>(app, "--method", blocks.method, std::move(methods), help);
  app.add_option("--block", blocks.block, "weights that share a scale: 16, 32, 64, 128 or 256 (32)")->type_name("N");
  app.add_flag("--symmetric", blocks.symmetric, "blocks without zero points");
  app.add_flag("--real-zeros", blocks.real_zeros,
               "zero points of the scales' type, which MatMulNBits takes of 2, 3 and 4 bits");
  app.add_option("--accuracy-level", blocks.accuracy_level,
                 "MatMulNBits': 0 as the kernel likes, 1 f32, 2 f16, 3 bf16, 4 INT8 activations (0)")
      ->type_name("0|1|2|3|4")
      ->check(CLI::Range(0, 4));
}

}  // namespace thaw::cli
