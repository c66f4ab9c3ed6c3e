// THAW020: Range over floats. ONNX Runtime's CPU kernel adds the step up in the element type, so that element k is not
// start + k * step: 21 steps of 1/28 come out below 0.75 in float32, and a bucket index made from it is one off.
#include <fmt/format.h>

#include "thaw/check/rule.h"

namespace thaw::checking {

namespace {

void look_at_ranges(Evidence& evidence, const ir::Graph& graph, Findings& findings) {
  for (const ir::Node* node : graph.nodes()) {
    for (const ir::Attribute& a : node->attributes()) {
      if (const auto* g = a.as<std::shared_ptr<ir::Graph>>()) look_at_ranges(evidence, **g, findings);
      if (const auto* list = a.as<std::vector<std::shared_ptr<ir::Graph>>>())
        for (const auto& g : *list) look_at_ranges(evidence, *g, findings);
    }
    if (node->op_type() != "Range" || !node->domain().empty() || node->inputs().size() < 3) continue;
    ir::DataType dtype = evidence.inferred().fact(node->output(0)).dtype;
    if (!ir::is_floating(dtype)) continue;
    // Whole steps add up exactly as long as they are small.
    const ir::Tensor* delta = node->input(2) ? node->input(2)->constant() : nullptr;
    const ir::Tensor* start = node->input(0) ? node->input(0)->constant() : nullptr;
    auto whole = [](const ir::Tensor* t) {
      if (!t || t->num_elements() != 1) return false;
      double v = t->to_double().front();
      return v == static_cast<double>(static_cast<int64_t>(v)) && v > -1e6 && v < 1e6;
    };
    if (whole(delta) && whole(start)) continue;
    Finding& f = findings.add(
        fmt::format("{} counts in {}: ONNX Runtime adds the step up, and later elements drift from start + k * step",
                    name_of(*node), ir::name_of(dtype)),
        location_of(*node));
    f.fix = "make an integer Range and multiply it by the step";
  }
}

}  // namespace

void look_for_float_ranges(Evidence& evidence, Findings& findings) {
  look_at_ranges(evidence, *evidence.model().graph, findings);
}

}  // namespace thaw::checking
