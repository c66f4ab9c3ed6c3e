// Evidence checked: what is trusted are the readers of files, inference, the comparison of nodes and, of steps that use laws, the
// laws of the nodes that they name.
#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/core/phase.h"
#include "thaw/ir/wire/model_hash.h"
#include "thaw/prove/evidence.h"
#include "thaw/prove/step.h"

namespace thaw::proving {
namespace {

class Replay {
 public:
  Replay(const Sides& sides, const Evidence& evidence, const std::string& where)
      : sides_(sides), evidence_(evidence), where_(where) {}

  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorCode::kInvalidFile,
                {.what = what,
                 .where = where_,
                 .expected = "evidence that `thaw verify --prove --evidence` wrote for these two models",
                 .next = "write it anew with --evidence"});
  }

  void require_hash(const ir::Model& model, const std::string& hash, std::string_view which) const {
    if (ir::hash_of(model) != hash) refuse(fmt::format("the evidence is of another {}", which));
  }

  void require_sizes() const {
    const auto& ours = sides_.aligned().sizes;
    const auto is_same = [](const AlignedSize& a, const AlignedSize& b) {
      return a.name == b.name && a.axes == b.axes && a.number == b.number &&
             a.bound.has_value() == b.bound.has_value() &&
             (!a.bound || (a.bound->first == b.bound->first && a.bound->last == b.bound->last &&
                           a.bound->step == b.bound->step && a.bound->is_needed == b.bound->is_needed));
    };
    if (!std::ranges::equal(ours, evidence_.sizes, is_same))
      refuse("the evidence takes other sizes for equal than the models do");
  }

  void require_step(size_t i) {
    const Step& step = evidence_.steps[i];
    const Equal pair{sides_.find(step.model, 0), sides_.find(step.reference, 1)};
    const auto fail = [&](const std::string& why) {
      refuse(fmt::format("step {} does not follow: '{}' and '{}' {}", i, step.model, step.reference, why));
    };
    if (!pair.model || !pair.reference) fail("are not values of the models");
    std::vector<std::optional<Equal>> operands;
    std::vector<Given> given;
    for (const int64_t number : step.given) {
      if (number == -1 && step.by == Step::By::kNode) {
        operands.emplace_back();
        continue;
      }
      if (number < 0 || number >= static_cast<int64_t>(i)) fail("rest on a step that is not before them");
      const Step& before = evidence_.steps[static_cast<size_t>(number)];
      is_used_[static_cast<size_t>(number)] = true;
      const Equal known{sides_.find(before.model, 0), sides_.find(before.reference, 1)};
      operands.emplace_back(known);
      given.push_back({known, number, certainties_[static_cast<size_t>(number)]});
    }
    Step made{.model = step.model,
              .reference = step.reference,
              .by = step.by,
              .given = {},
              .model_nodes = {},
              .reference_nodes = {},
              .term = {},
              .has_scaled_weights = false,
              .rounded = {},
              .assumed = {}};
    Certainty& certainty = certainties_[i];
    switch (step.by) {
      case Step::By::kInput:
        certainty.has_input = true;
        if (!are_one_input(sides_, pair)) fail("are not one input");
        break;
      case Step::By::kConstant:
        if (!are_one_constant(pair)) fail("are not constants of the same bytes");
        break;
      case Step::By::kSizes: {
        auto sizes = common_sizes(sides_, pair);
        if (!sizes) fail("are not the same expressions of the sizes");
        made = std::move(*sizes);
        made.model = step.model;
        made.reference = step.reference;
        break;
      }
      case Step::By::kNode:
        if (!do_the_same(sides_, pair, operands)) fail("are not outputs of nodes that do the same with equal operands");
        certainty = certainty_of(sides_, pair, certainties_of(given));
        if (certainty.is_uncertain) fail("are whole numbers or truths of constants that are the same but for rounding");
        made.given = step.given;
        break;
      case Step::By::kLaws: {
        if (std::ranges::adjacent_find(step.given, std::ranges::greater_equal()) != step.given.end())
          fail("rest on steps out of order");
        auto shown = by_laws(sides_, pair, given, step.has_scaled_weights ? Weights::kScaled : Weights::kAsRead);
        if (!shown) fail("do not come to one term by the laws of the nodes between");
        made = std::move(shown->step);
        certainty = shown->certainty;
        made.model = step.model;
        made.reference = step.reference;
        made.given = step.given;
        break;
      }
    }
    if (made != step) fail("come to another term, by other nodes or constants than the step says");
  }

  // All steps, and that outputs rest on each.
  void check() {
    is_used_.assign(evidence_.steps.size(), false);
    certainties_.assign(evidence_.steps.size(), {});
    for (size_t i = 0; i < evidence_.steps.size(); ++i) require_step(i);
    std::vector<std::string> names;
    for (const ShownOutput& output : evidence_.outputs) {
      if (output.step >= evidence_.steps.size())
        refuse(fmt::format("output '{}' rests on a step that is not there", output.name));
      const Step& step = evidence_.steps[output.step];
      const ir::Value *ours = sides_.output(0, output.name), *theirs = sides_.output(1, output.name);
      if (!ours || !theirs || sides_.find(step.model, 0) != ours || sides_.find(step.reference, 1) != theirs)
        refuse(fmt::format("output '{}' is not what step {} says", output.name, output.step));
      if (std::ranges::find(names, output.name) != names.end())
        refuse(fmt::format("output '{}' is named twice", output.name));
      names.push_back(output.name);
      is_used_[output.step] = true;
    }
    const auto unused = std::ranges::find(is_used_, false);
    if (unused != is_used_.end()) refuse(fmt::format("nothing rests on step {}", unused - is_used_.begin()));
  }

 private:
  static std::vector<Certainty> certainties_of(std::span<const Given> given) {
    std::vector<Certainty> all;
    for (const Given& one : given) all.push_back(one.certainty);
    return all;
  }

  const Sides& sides_;
  const Evidence& evidence_;
  const std::string& where_;
  std::vector<bool> is_used_;
  std::vector<Certainty> certainties_;  // by step
};

std::vector<SizeBound> given_of(const Evidence& evidence) {
  std::vector<SizeBound> bounds;
  for (const AlignedSize& size : evidence.sizes)
    if (size.bound && !size.bound->is_needed) bounds.push_back(*size.bound);
  return bounds;
}

// What is equal but for constants: each stands for the one that it is said to, and with those in their places the steps follow.
void replay(const ir::Model& model, const ir::Model& reference, const EvidenceFile& file, const Replay& whole,
            const std::string& where) {
  const ButForConstants& quantized = *file.quantized;
  const WithoutQuantization without = with_constants_of(model, reference);
  const auto [said, found] = std::ranges::mismatch(quantized.constants, without.constants);
  if (said != quantized.constants.end())
    whole.refuse(fmt::format("constant '{}' does not stand for '{}' of the reference as the evidence says", said->name,
                             said->origin));
  if (found != without.constants.end())
    whole.refuse(fmt::format("the evidence does not name constant '{}', which was quantized", found->name));
  const std::vector<SizeBound> bounds = given_of(quantized.evidence);
  if (bounds != given_of(file.proven)) whole.refuse("what is equal but for constants is so for other sizes");
  for (const ShownOutput& output : quantized.evidence.outputs)
    if (is_shown(file.proven, output.name)) whole.refuse(fmt::format("output '{}' is named twice", output.name));
  const Sides sides(*without.model, reference, bounds);
  Replay replay(sides, quantized.evidence, where);
  replay.require_sizes();
  replay.check();
}

}  // namespace

void replay(const ir::Model& model, const ir::Model& reference, const EvidenceFile& file, const std::string& where) {
  const Phase phase("checking the evidence");
  const Sides sides(model, reference, given_of(file.proven));
  Replay proven(sides, file.proven, where);
  proven.require_hash(model, file.proven.model_hash, "model");
  proven.require_hash(reference, file.proven.reference_hash, "reference");
  proven.require_sizes();
  proven.check();
  if (file.quantized ? file.quantized->evidence.outputs.empty() : file.proven.outputs.empty())
    proven.refuse("the evidence is of no output");
  if (file.quantized) replay(model, reference, file, proven, where);
}

}  // namespace thaw::proving
