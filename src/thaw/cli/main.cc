// The command: what it can do, a line each. A verb lives in the file of its name.
#include "thaw/cli/verb.h"

namespace {

constexpr thaw::cli::Verb kVerbs[] = {
    {"The shell", "completion", "prints a completion script for bash or zsh", thaw::cli::define_completion},
};

}  // namespace

int main(int argc, char** argv) { return thaw::cli::run_command(kVerbs, argc, argv); }
