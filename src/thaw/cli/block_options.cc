#include "thaw/cli/block_options.h"

#include "thaw/cli/options.h"

namespace thaw::cli {

void add_blocks(CLI::App& app, BlockOptions& blocks) {
  add_choice<BlockMethod>(app, "--method", blocks.method,
                          {{"rtn", BlockMethod::kRtn},
                           {"search", BlockMethod::kSearch},
                           {"hqq", BlockMethod::kHqq},
                           {"gptq", BlockMethod::kGptq},
                           {"awq", BlockMethod::kAwq}},
                          "how the scales of blocks are chosen (search); gptq and awq need --data");
  app.add_option("--block", blocks.block, "weights that share a scale: 16, 32, 64, 128 or 256 (32)")->type_name("N");
  app.add_flag("--symmetric", blocks.symmetric, "blocks without zero points");
  app.add_option("--accuracy-level", blocks.accuracy_level,
                 "MatMulNBits': 0 the kernel's choice, 1 float32, 2 float16, 3 bfloat16, 4 INT8 activations (0)")
      ->type_name("0|1|2|3|4")
      ->check(CLI::Range(0, 4));
}

}  // namespace thaw::cli
