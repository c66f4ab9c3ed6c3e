// The command: what it can do, a line each. A verb lives in the file of its name.
#include <csignal>

#include "thaw/cli/large_pages.h"
#include "thaw/cli/shrunk_files.h"
#include "thaw/cli/verb.h"
#include "thaw/verbs/worker.h"

namespace {

constexpr thaw::cli::Verb kVerbs[] = {
    {"Look", "inspect", "every tensor's dims as expressions of the inputs", thaw::cli::define_inspect},
    {"Look", "diff", "what differs between two models", thaw::cli::define_diff},
    {"Mend", "check", "says what is wrong with a model's sizes, and what mends it", thaw::cli::define_check},
    {"Mend", "rule", "explains a rule of check, or lists them all", thaw::cli::define_rule},
    {"Mend", "lift", "makes one model for every size of several static traces", thaw::cli::define_lift},
    {"Mend", "batch", "makes a model for one sample the same model over a batch", thaw::cli::define_batch},
    {"Mend", "fix", "applies the rewrites that are safe, or that a reference confirms", thaw::cli::define_fix},
    {"Make", "optimize", "makes a model smaller and faster, with the same numbers at every size",
     thaw::cli::define_optimize},
    {"Make", "convert", "makes a model in fewer bits, and measures what that costs", thaw::cli::define_convert},
    {"Make", "sensitivity", "measures which nodes may lose precision", thaw::cli::define_sensitivity},
    {"Make", "plan", "chooses each node's precision, within so many bytes or so much error", thaw::cli::define_plan},
    {"Make", "pin", "makes a model for chosen sizes, every size a number", thaw::cli::define_pin},
    {"Make", "split", "cuts a model into parts that run one after the other", thaw::cli::define_split},
    {"Make", "build", "writes ONNX from a checkpoint's config.json and safetensors", thaw::cli::define_build},
    {"Prove it", "verify", "runs a model and a reference at several sizes and compares the numbers",
     thaw::cli::define_verify},
    {"Prove it", "inputs", "makes what a model is fed of images, clips and recordings", thaw::cli::define_inputs},
    {"Prove it", "run", "feeds a model from arrays and says what comes out", thaw::cli::define_run},
    {"The shell", "completion", "prints a completion script for bash, zsh or fish", thaw::cli::define_completion},
};

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a write past `ulimit -f` fails then, as one to a full disk does
  thaw::verbs::serve_if_worker(argc, argv);
  thaw::cli::prefer_large_pages();
  thaw::cli::refuse_shrunk_files();
  return thaw::cli::run_command(kVerbs, argc, argv);
}
