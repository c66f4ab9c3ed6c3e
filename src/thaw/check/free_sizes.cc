// THAW039: sizes that inputs leave free, on a target that takes fixed ones, wants a range of each, or is faster with fixed ones.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/check/rule.h"
#include "thaw/check/target_view.h"
#include "thaw/core/listed_set.h"
#include "thaw/dim/text/text.h"

namespace thaw::checking {
namespace {

// "batch=…,height=…".
std::string each_with(const ListedSet<std::string>& names, std::string_view value) {
  std::string text;
  for (const std::string& name : names) text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, value);
  return text;
}

}  // namespace

void look_for_free_sizes(Evidence& evidence, Findings& findings) {
  const TargetView* view = evidence.target_view();
  if (!view || view->target().free_sizes == ops::FreeSizes::kTaken) return;
  const ops::Target& target = view->target();
  if (target.free_sizes == ops::FreeSizes::kProfiled && evidence.has_profiles()) return;
  ListedSet<std::string> names;
  std::vector<std::string> inputs;
  for (const ir::Value* input : evidence.model().graph->inputs()) {
    const auto& shape = view->shape(*input);
    if (view->is_constant(*input) || !shape) continue;
    bool is_free = false;
    for (const dim::Dim size : *shape) {
      if (size.is_constant()) continue;
      names.insert(dim::to_string(size));
      is_free = true;
    }
    if (is_free) inputs.push_back(fmt::format("'{}'", input->name()));
  }
  if (names.empty()) return;
  const std::string which = fmt::format("free sizes {} of {}", fmt::join(names, ", "), fmt::join(inputs, ", "));
  const std::string pinned = fmt::format("thaw pin {{}} -o pinned.onnx --sizes '{}'", each_with(names, "SIZE"));
  if (target.free_sizes == ops::FreeSizes::kProfiled) {
    Finding& f =
        findings.add(fmt::format("{}; {} wants the least, the best and the largest of each", which, target.title));
    f.severity = Severity::kWarning;
    f.fix = "give it an optimization profile, or fix the sizes";
    f.commands = {fmt::format("thaw check {{}} --target {} --sizes '{}' --opt '{}' --profiles profiles.json",
                              target.name, each_with(names, "LEAST..LARGEST"), each_with(names, "BEST")),
                  pinned};
    return;
  }
  const bool is_refused = target.free_sizes == ops::FreeSizes::kRefused;
  Finding& f = findings.add(
      fmt::format("{}; {} {}", which, target.title,
                  is_refused ? "takes fixed sizes alone" : "is slower with free sizes, and takes fewer operators"));
  f.severity = is_refused ? Severity::kError : Severity::kNote;
  f.fix = "`thaw pin` makes a model for each choice of sizes";
  f.commands = {pinned};
}

}  // namespace thaw::checking
