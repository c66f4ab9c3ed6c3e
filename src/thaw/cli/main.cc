// The command: what it can do, a line each. A verb lives in the file of its name.
#include <csignal>

#include "thaw/cli/large_pages.h"
#include "thaw/cli/shrunk_files.h"
#include "thaw/cli/verb.h"
#include "thaw/verbs/worker.h"

namespace {

constexpr thaw::cli::Verb kVerbs[] = {
    {"Inspect", "inspect", "every tensor's dims as expressions of the inputs", thaw::cli::define_inspect},
    {"Inspect", "check", "says what is wrong with a model's sizes, and what fixes it", thaw::cli::define_check},
    {"Inspect", "diff", "what differs between two models", thaw::cli::define_diff},
    {"Inspect", "rule", "explains a rule of check, or lists them all", thaw::cli::define_rule},
    {"Make dynamic", "fix", "applies the rewrites that are safe, or that a reference confirms", thaw::cli::define_fix},
    {"Make dynamic", "lift", "makes one model for every size of several static traces", thaw::cli::define_lift},
    {"Make dynamic", "batch", "makes a model for one sample the same model over a batch", thaw::cli::define_batch},
    {"Optimize and quantize", "optimize", "makes a model smaller and faster, with the same numbers at every size",
     thaw::cli::define_optimize},
    {"Optimize and quantize", "convert", "makes a model in fewer bits, and measures what that costs",
     thaw::cli::define_convert},
    {"Optimize and quantize", "sensitivity", "measures which nodes may lose precision", thaw::cli::define_sensitivity},
    {"Optimize and quantize", "plan", "chooses each node's precision, within so many bytes or so much error",
     thaw::cli::define_plan},
    {"Deploy", "pin", "makes a model for chosen sizes, every size a number", thaw::cli::define_pin},
    {"Deploy", "split", "cuts a model into parts that run one after the other", thaw::cli::define_split},
    {"Deploy", "build", "writes ONNX from a checkpoint's config.json and safetensors", thaw::cli::define_build},
    {"Run and compare", "run", "feeds a model from arrays and says what comes out", thaw::cli::define_run},
    {"Run and compare", "verify", "runs a model and a reference at several sizes and compares the numbers",
     thaw::cli::define_verify},
    {"Run and compare", "inputs", "makes what a model is fed of images, clips and recordings",
     thaw::cli::define_inputs},
    {"Shell", "completion", "prints a completion script for bash, zsh or fish", thaw::cli::define_completion},
};

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a write past `ulimit -f` fails then, as one to a full disk does
  thaw::verbs::serve_if_worker(argc, argv);
  thaw::cli::prefer_large_pages();
  thaw::cli::refuse_shrunk_files();
  return thaw::cli::run_command(kVerbs, argc, argv);
}
