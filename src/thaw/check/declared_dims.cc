// THAW003, THAW004, THAW005: what the file declares of its tensors, against what follows from the graph.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "thaw/check/causes.h"
#include "thaw/check/rule.h"
#include "thaw/dim/text/text.h"

namespace thaw::checking {

namespace {

struct Declaration {
  const ir::Value* value;
  size_t axis;
  dim::Dim size;           // as inferred
  bool is_output = false;  // nothing but outputs that no node reads has the name with that size
};

// Calls f for every value of the main graph that has a declared shape, inputs first.
template <typename F>
void for_each_declared(const ir::Model& model, F f) {
  const ir::Graph& graph = *model.graph;
  for (const ir::Value* v : graph.inputs()) f(*v);
  for (const ir::Value* v : graph.value_infos()) f(*v);
  for (const ir::Value* v : graph.outputs())
    if (!v->is_input()) f(*v);
}

bool is_question(std::string_view param) { return param == "?" || param == "-1" || param == "None"; }

std::string declared_text(const ir::Type& type) {
  if (!type.shape) return "[no shape]";
  std::string out = "[";
  for (const ir::DeclaredDim& d : *type.shape) {
    if (out.size() > 1) out += ", ";
    out += d.value ? std::to_string(*d.value) : d.param.empty() ? "" : d.param;
  }
  return out + "]";
}

bool is_frozen_number(Evidence& evidence, dim::Dim size) {
  if (!size.is_constant()) return false;
  const auto is_it = [&](const auto& frozen) { return frozen.value == *size.constant(); };
  return std::ranges::any_of(evidence.frozen().sites, [&](const frozen::FrozenSite& site) {
    return is_it(site) || std::ranges::any_of(site.more, is_it);
  });
}

}  // namespace

// Equal names let ONNX Runtime put one tensor into another's buffer; unequal sizes then fail ("Shape mismatch
// attempting to re-use buffer"). It does so with tensors between the model's inputs and outputs, which have buffers of their
// own; but what an input is called, tensors computed from it are called too. So two sizes clash when it runs where neither
// is an output's alone; a name that is not true of an output only misleads whoever reads it. Where the output's size is a number
// that a rule of frozen sizes tells of, the name is right and the graph is wrong.
void look_for_name_clashes(Evidence& evidence, Findings& findings) {
  const infer::Result& result = evidence.inferred();
  std::map<std::string, std::vector<Declaration>> by_name;
  for_each_declared(evidence.model(), [&](const ir::Value& v) {
    const ops::Fact& fact = result.fact(&v);
    if (!v.type.shape || !fact.shape || v.type.shape->size() != fact.shape->size()) return;
    for (size_t axis = 0; axis < fact.shape->size(); ++axis) {
      const std::string& param = (*v.type.shape)[axis].param;
      if (param.empty() || (*fact.shape)[axis].is_unknown()) continue;
      // One declaration for each size will do; outputs come last.
      auto& list = by_name[param];
      bool known = std::any_of(list.begin(), list.end(),
                               [&](const Declaration& d) { return dim::same(d.size, (*fact.shape)[axis]); });
      if (!known) list.push_back({&v, axis, (*fact.shape)[axis], v.is_output() && !v.is_input() && v.uses().empty()});
    }
  });
  for (const auto& [name, list] : by_name) {
    // Two sizes of one tensor share no buffer: the clash is between two tensors.
    for (size_t i = 1; i < list.size(); ++i) {
      const Declaration &a = list[0], &b = list[i];
      if (a.value == b.value || !evidence.can_differ(a.size, b.size)) continue;
      if (b.is_output && is_frozen_number(evidence, b.size)) continue;
      Finding& f = findings.add(
          fmt::format("dim_param '{}' is {} in '{}' (axis {}) and {} in '{}' (axis {}){}", name, dim::to_string(a.size),
                      a.value->name(), a.axis, dim::to_string(b.size), b.value->name(), b.axis,
                      list.size() > 2 ? fmt::format(", {} different sizes in all", list.size()) : ""),
          location_of(*b.value));
      f.fix = "`thaw fix` gives each size its own name";
      if (is_question(name)) f.details.emplace_back(kCause, fmt::format("the placeholder dim_param '{}'", name));
      if (b.is_output) {
        f.severity = Severity::kWarning;
        f.consequence = "the model runs, but tools that read the declaration assume equal sizes";
      }
      for (size_t k = 0; k < list.size() && k < 16; ++k)
        f.related.push_back(
            {location_of(*list[k].value), fmt::format("axis {} is {}", list[k].axis, dim::to_string(list[k].size))});
      break;
    }
  }
}

// One finding for each text: a model that says "?" once says it everywhere.
void look_for_meaningless_dims(Evidence& evidence, Findings& findings) {
  std::map<std::string, std::vector<std::pair<const ir::Value*, size_t>>> by_text;
  for_each_declared(evidence.model(), [&](const ir::Value& v) {
    if (!v.type.shape) return;
    const ops::Fact& fact = evidence.inferred().fact(&v);
    for (size_t axis = 0; axis < v.type.shape->size(); ++axis) {
      const ir::DeclaredDim& d = (*v.type.shape)[axis];
      bool is_empty = d.value == 0 && !v.is_input() && fact.rank() > static_cast<int>(axis) &&
                      fact.dim(static_cast<int>(axis)).is_constant(0);
      if (d.value && *d.value <= 0 && !is_empty)
        by_text[std::to_string(*d.value)].emplace_back(&v, axis);
      else if (is_question(d.param))
        by_text["'" + d.param + "'"].emplace_back(&v, axis);
    }
  });
  for (const auto& [text, locations] : by_text) {
    const auto& [first, axis] = locations.front();
    Finding& f =
        findings.add(fmt::format("axis {} of '{}'{} has the placeholder {} {}", axis, first->name(),
                                 locations.size() > 1 ? fmt::format(" (and {} more)", locations.size() - 1) : "",
                                 text[0] == '\'' ? "dim_param" : "size", text),
                     location_of(*first));
    f.fix = "`thaw fix` declares the inferred size, or none";
    if (text[0] == '\'') f.details.emplace_back(kCause, "the placeholder dim_param " + text);
    // On the model's inputs and outputs alone it is only unhelpful; between them the runtime plans memory by it.
    if (std::all_of(locations.begin(), locations.end(),
                    [](const auto& p) { return p.first->is_input() || p.first->is_output(); }))
      f.severity = Severity::kNote;
    for (size_t i = 1; i < locations.size() && i < 16; ++i)
      f.related.push_back({location_of(*locations[i].first), fmt::format("axis {}", locations[i].second)});
  }
}

void look_for_stale_declarations(Evidence& evidence, Findings& findings) {
  const infer::Result& result = evidence.inferred();
  for_each_declared(evidence.model(), [&](const ir::Value& v) {
    const ops::Fact& fact = result.fact(&v);
    if (v.is_input() || !fact.is_tensor() || v.type.kind != ir::Type::Kind::kTensor) return;
    auto report = [&](const std::string& what) {
      Finding& f = findings.add(fmt::format("'{}' is declared {}, but {}", v.name(), declared_text(v.type), what),
                                location_of(v));
      f.fix = "`thaw fix` replaces the declaration by the inferred one";
    };
    if (fact.dtype != ir::DataType::kUndefined && v.type.elem_type != ir::DataType::kUndefined &&
        fact.dtype != v.type.elem_type) {
      Finding& f = findings.add(fmt::format("'{}' is declared {}, but inferred {}", v.name(),
                                            ir::name_of(v.type.elem_type), ir::name_of(fact.dtype)),
                                location_of(v));
      f.fix = "`thaw fix` declares the inferred type";
      return;
    }
    if (!v.type.shape || !fact.shape) return;
    if (v.type.shape->size() != fact.shape->size()) {
      report(fmt::format("it has {} axes: {}", fact.shape->size(), text_of(fact.shape)));
      return;
    }
    for (size_t axis = 0; axis < fact.shape->size(); ++axis) {
      auto declared = (*v.type.shape)[axis].value;
      dim::Dim size = (*fact.shape)[axis];
      if (!declared || *declared <= 0 || !evidence.can_differ(size, *declared)) continue;
      report(fmt::format("axis {} is {}", axis, dim::to_string(size)));
      return;
    }
  });
}

}  // namespace thaw::checking
