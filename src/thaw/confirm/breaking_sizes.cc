#include "thaw/confirm/breaking_sizes.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "thaw/confirm/model_inputs.h"
#include "thaw/core/error.h"
#include "thaw/infer/size_names.h"
#include "thaw/run/relax.h"
#include "thaw/run/session.h"

namespace thaw::confirm {
namespace {

constexpr uint64_t kMostBytes = 4 * (uint64_t{1} << 28);  // of one input: a gigabyte of float32

// Frees the input dims that the ranges name but the file declares as a number.
void free_named_dims(ir::Model& model, const dim::SpecGroup& dims) {
  for (ir::Value* input : model.graph->inputs()) {
    if (!input->type.shape || input->initializer() != nullptr) continue;
    for (size_t axis = 0; axis < input->type.shape->size(); ++axis) {
      const std::string name = fmt::format("{}_dim{}", input->name(), axis);
      if (std::ranges::find(dims, name, &dim::SpecEntry::name) == dims.end()) continue;
      input->set_dim(axis, {{}, {}, (*input->type.shape)[axis].denotation});
    }
  }
}

// The sizes of a finding, with those of --sizes that are expressions of others.
run::Point point_of(const NamedSizes& sizes, const dim::SpecGroup& dims) {
  dim::SpecGroup group;
  for (const auto& [name, size] : sizes)
    group.push_back({.name = name, .ranges = {{.first = size, .last = size}}, .expression = {}});
  // Those that the finding names have their values there.
  for (const dim::SpecEntry& entry : dims) {
    const auto is_named = [&](const auto& size) { return size.first == entry.name; };
    if (entry.is_expression() && std::ranges::none_of(sizes, is_named)) group.push_back(entry);
  }
  if (group.empty()) return {};
  return run::choose_points(std::span(&group, 1)).front();
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

Confirmation run_at_breaking_sizes(ir::Model& model, std::span<Finding> findings, const dim::SpecGroup& given,
                                   const FeedOptions& feeds) {
  Confirmation result;
  dim::Scope declared;
  const infer::Result facts = infer::infer(model, declared);
  const dim::SpecGroup dims = infer::size_names(model, facts, declared).resolve(given);
  free_named_dims(model, dims);
  dim::Scope scope;
  const run::Feeder feeder(model_inputs(model, scope), scope, feeds);
  run::drop_declared_sizes(model);
  std::optional<run::Session> session;
  bool timed_out = false;
  for (Finding& finding : findings) {
    if (!finding.breaking_sizes) continue;
    std::string outcome;
    try {
      const run::Point point = point_of(*finding.breaking_sizes, dims);
      if (timed_out) {
        ++result.skipped;
        outcome = "not run: it took too long at other sizes";
      } else if (feeder.drawn_bytes(point) > kMostBytes) {
        ++result.skipped;
        outcome = "not run: the inputs would be too large";
      } else {
        const Arrays inputs = feeder.make(point);
        try {
          if (!session) session.emplace(model);
          session->run(inputs);
          ++result.ran;
          outcome = "runs in ONNX Runtime all the same";
          finding.severity = Severity::kNote;
        } catch (const run::RunTimedOut& error) {
          timed_out = true;
          ++result.skipped;
          outcome = "not known: " + error.parts().what;
        } catch (const Error& error) {
          ++result.failed;
          outcome = "fails in ONNX Runtime: " + first_line(error.parts().what);
        }
      }
    } catch (const Error& error) {
      ++result.skipped;
      outcome = "not run: " + first_line(error.what());
    }
    finding.details.emplace_back("when run", outcome);
  }
  return result;
}

}  // namespace thaw::confirm
