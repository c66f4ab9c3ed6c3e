// The one protocol for what changes a model: a pass has a name, says in a line what it ensures, and runs on a context.
//
// A pipeline is a list of passes that reads like a table of contents: optimize/optimize.cc has the longest. A table of patterns is a
// kind of pass (rewrite/fuse.h; optimize/simplify.h for patterns of a node or two). In tests each pass is held to more than it
// says (rewrite/pass_testing.h): the result is valid, every symbol is alive, no size is frozen that was free, and a second
// run changes nothing.
#pragma once

#include <algorithm>
#include <concepts>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "thaw/core/cancel.h"
#include "thaw/core/error.h"
#include "thaw/finding.h"
#include "thaw/infer/inference.h"
#include "thaw/ir/graph/model.h"

namespace thaw::rewrite {

using thaw::Change;

struct Changes {
  std::vector<Change> made;
  std::vector<Change> left;              // what a rule finds and no rewrite answers
  std::vector<std::string> passes = {};  // of a pipeline, that did something
  bool modified() const { return !made.empty(); }
};

// What a pass works on: the model, what is known of it, and what has been done so far. Pipelines whose passes need more have a
// context of their own that derives from it.
class PassContext {
 public:
  // The model must outlive it.
  explicit PassContext(ir::Model& changed, infer::UnknownSizes unknown = infer::UnknownSizes::kUnknown);
  PassContext(const PassContext&) = delete;
  PassContext& operator=(const PassContext&) = delete;

  ir::Model& model;
  Changes changes;
  int done = 0;  // by the passes before, in this run of a pipeline

  // What is known of the model: inferred when it is first asked for, and from then on kept along with edits (edit_as_one and
  // Patch::apply of rewrite/patch.h tell it of them).
  infer::Inference& facts();
  const dim::Scope& scope();  // of the facts
  bool has_facts() const { return facts_ != nullptr; }
  // After an edit that it did not see, as of what inputs declare.
  void forget_facts() { facts_.reset(); }

  // The end of a pipeline: where the file's IR version asks for it, new constants are listed as it lists them, and inputs whose
  // defaults went into what was made are gone. Returns what was done.
  Changes finish();

 private:
  struct Facts {
    Facts(const ir::Model& model, infer::UnknownSizes unknown) : inference(model, scope, unknown) {}

    dim::Scope scope;
    infer::Inference inference;
  };

  infer::UnknownSizes unknown_;
  std::unordered_set<const ir::Value*> listed_;         // the constants that the model came with
  std::unordered_set<const ir::Value*> read_defaults_;  // of inputs, as the model came
  std::unique_ptr<Facts> facts_;
};

template <std::derived_from<PassContext> Context>
struct PassOn {
  std::string_view name;
  std::string_view summary;          // what it ensures, in a line
  std::function<int(Context&)> run;  // how much it did; 0: the model is as it was, byte for byte
};

using Pass = PassOn<PassContext>;

// An edit that a graph refuses, or another fault of the pass itself: what it was doing is taken back, and who runs the passes may
// leave this one out.
struct PassFailed : Error {
  PassFailed(std::string_view failed, const Error& error)
      : Error(error.code(), {.what = "the pass '" + std::string(failed) + "' failed: " + error.parts().what,
                             .where = error.parts().where,
                             .expected = error.parts().expected,
                             .next = "leave it out with --skip " + std::string(failed)}),
        pass(failed) {}
  std::string pass;
};

// Runs the passes in order, once, and notes those that did something. Returns how much they did.
template <typename Passes, std::derived_from<PassContext> Context>
int run(const Passes& passes, Context& context) {
  context.done = 0;
  for (const auto& pass : passes) {
    throw_if_cancelled();
    int count = 0;
    try {
      count = pass.run(context);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kInternal) throw;
      throw PassFailed(pass.name, error);
    }
    if (count > 0 && std::ranges::count(context.changes.passes, pass.name) == 0)
      context.changes.passes.emplace_back(pass.name);
    context.done += count;
  }
  return context.done;
}

// The same of passes that need nothing but a model.
Changes run(std::span<const Pass> passes, ir::Model& model);

// Several as one pass, in order.
template <typename... Runs>
auto in_sequence(Runs... runs) {
  return [... runs = std::move(runs)](auto& context) {
    int count = 0;
    ((count += runs(context)), ...);
    return count;
  };
}

// A pass that waits for a run of the pipeline in which nothing before it was done.
template <typename Run>
auto once_settled(Run run) {
  return [run = std::move(run)](auto& context) { return context.done > 0 ? 0 : run(context); };
}

}  // namespace thaw::rewrite
