// The command: what it can do, a line each. A verb lives in the file of its name.
#include <csignal>

#include "thaw/cli/large_pages.h"
#include "thaw/cli/shrunk_files.h"
#include "thaw/cli/verb.h"
#include "thaw/verbs/worker.h"

namespace {

constexpr thaw::cli::Verb kVerbs[] = {
    {"Inspect", "inspect", "print every tensor's shape as expressions of the inputs' sizes", thaw::cli::define_inspect},
    {"Inspect", "check", "find what is wrong with a model's sizes, and what fixes it", thaw::cli::define_check},
    {"Inspect", "diff", "compare two models: graph, weights, shapes", thaw::cli::define_diff},
    {"Inspect", "rule", "explain a rule of check, or list them all", thaw::cli::define_rule},
    {"Make dynamic", "fix", "apply the rewrites that are safe, or that a reference confirms", thaw::cli::define_fix},
    {"Make dynamic", "lift", "make one dynamic model from several static traces", thaw::cli::define_lift},
    {"Make dynamic", "batch", "make a model of one sample the same model over a batch", thaw::cli::define_batch},
    {"Optimize and quantize", "optimize", "fold and fuse, with the same numbers at every size",
     thaw::cli::define_optimize},
    {"Optimize and quantize", "convert", "convert to fewer bits, and measure the accuracy loss",
     thaw::cli::define_convert},
    {"Optimize and quantize", "sensitivity", "measure which nodes lose accuracy in fewer bits",
     thaw::cli::define_sensitivity},
    {"Optimize and quantize", "plan", "choose each node's precision within a budget of bytes or error",
     thaw::cli::define_plan},
    {"Deploy", "pin", "make a static model for the sizes that you give", thaw::cli::define_pin},
    {"Deploy", "split", "cut a model into parts, or keep the part before given tensors", thaw::cli::define_split},
    {"Deploy", "build", "write ONNX from a checkpoint's config.json and safetensors", thaw::cli::define_build},
    {"Run and compare", "run", "run a model on arrays, images, recordings or a prompt", thaw::cli::define_run},
    {"Run and compare", "verify", "run a model and a reference at several sizes, and compare the outputs",
     thaw::cli::define_verify},
    {"Run and compare", "inputs", "make a model's inputs from images, clips and recordings", thaw::cli::define_inputs},
    {"Integrate", "mcp", "serve the verbs as tools to assistants, by the Model Context Protocol",
     thaw::cli::define_mcp},
    {"Shell", "completion", "print a completion script, the man page or the table of options",
     thaw::cli::define_completion},
};

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a write past `ulimit -f` fails then, as one to a full disk does
  thaw::verbs::serve_if_worker(argc, argv);
  thaw::cli::prefer_large_pages();
  thaw::cli::refuse_shrunk_files();
  return thaw::cli::run_command(kVerbs, argc, argv);
}
