// THAW030: operators that the target does not take: of another domain, of none of its opsets, without a kernel, or with
// kernels for other versions of the operator.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/check/target_faults.h"
#include "thaw/ir/graph/location.h"
#include "thaw/ir/graph/schema.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::checking {
namespace {

struct Refusal {
  std::string message, fix;
  bool has_other_form = false;
  Support support = Support::kUnsupported;
};

std::string domain_name(std::string_view domain) { return domain.empty() ? "ai.onnx" : std::string(domain); }

// Whether its entry tells what else says the same.
bool has_other_form(const ir::Node& node) {
  const ops::Operator* entry = ops::registry().find(node.domain(), node.op_type());
  return entry && (entry->standard || entry->older);
}

Refusal refuse_domain(const TargetNode& at, const ops::Target& target) {
  if (!target.is_listed(at.node->domain()))
    return {.message = fmt::format("{}: the list of {}'s operators says nothing of {}", name_of(*at.node), target.title,
                                   at.node->domain()),
            .fix = {},
            .support = Support::kUnknown};
  std::vector<std::string> taken;
  for (const ops::TargetDomain& d : target.domains) taken.push_back(domain_name(d.name));
  Refusal r;
  r.message = fmt::format("{} is an operator of {}; {} takes {}", name_of(*at.node), at.node->domain(), target.title,
                          fmt::join(taken, ", "));
  r.has_other_form = has_other_form(*at.node);
  if (at.node->domain() == ops::kMicrosoft)
    r.fix = "export without ONNX Runtime's own operators, or write it as standard ones";
  else if (at.node->domain().starts_with("com.m"))
    r.fix = "use the model as it was before ONNX Runtime optimized and saved it";
  else
    r.fix = "give the model a function of that name, made of operators that the target takes";
  return r;
}

// The first opset after this one that has the operator; 0: none has.
int64_t arrives_at(const ir::Node& node, int64_t opset) {
  for (int64_t later = opset + 1; node.domain().empty() && later <= ir::newest_opset(); ++later)
    if (ir::find_schema(node.domain(), node.op_type(), later)) return later;
  return 0;
}

std::optional<Refusal> refuse_unknown(const TargetNode& at, const ops::Target& target,
                                      const ops::TargetDomain& domain) {
  const ir::Node& node = *at.node;
  auto schema = ir::find_schema(node.domain(), node.op_type(), at.opset);
  if (schema && schema->deprecated) {
    return Refusal{fmt::format("{} is deprecated since opset {}: ONNX Runtime refuses a model with it at opset {}",
                               name_of(node), schema->since_version, at.opset),
                   "convert the model with onnx.version_converter, or export it again"};
  }
  if (schema || !domain.kernels.empty() || std::ranges::binary_search(domain.operators, node.op_type()))
    return std::nullopt;
  Refusal r;
  if (int64_t later = arrives_at(node, at.opset)) {
    r.message = fmt::format("{} is an operator of opset {} and later, not of opset {}", name_of(node), later, at.opset);
    r.fix =
        later <= domain.newest ? fmt::format("convert the model to opset {}", later) : "write it as older operators";
  } else {
    r.message = node.domain() == ops::kMicrosoft
                    ? fmt::format("{}: {} has no operator {}", name_of(node), target.title, ir::operator_name(node))
                    : fmt::format("{}: {} has no operator {} at opset {}", name_of(node), domain_name(node.domain()),
                                  node.op_type(), at.opset);
    r.fix = "give the model a function of that name, or replace the node";
  }
  return r;
}

// The opset nearest to this one at which a kernel serves the operator; 0: there is none.
int64_t nearest_served(const ops::TargetDomain& domain, std::string_view op, int64_t opset) {
  for (int64_t older = opset - 1; older >= domain.oldest; --older)
    if (ops::find_kernel(domain, op, older)) return older;
  for (int64_t newer = opset + 1; newer <= domain.newest; ++newer)
    if (ops::find_kernel(domain, op, newer)) return newer;
  return 0;
}

std::optional<Refusal> refuse_without_kernel(const TargetNode& at, const ops::Target& target,
                                             const ops::TargetDomain& domain) {
  const ir::Node& node = *at.node;
  if (ops::find_kernel(domain, node.op_type(), at.opset)) return std::nullopt;
  if (target.is_tested)
    return Refusal{.message = fmt::format("{}: {}", name_of(node),
                                          what_is_said(Support::kUnknown, target.title,
                                                       fmt::format("no test of {} at opset {} is known to have run",
                                                                   ir::operator_name(node), at.opset))),
                   .fix = {},
                   .support = Support::kUnknown};
  Refusal r;
  std::vector<int> opsets = ops::kernel_opsets(domain, node.op_type());
  auto schema = ir::find_schema(node.domain(), node.op_type(), at.opset);
  if (schema && schema->composed && target.expands_composed)
    return Refusal{.message = fmt::format("{} has no kernel of its own: {} runs it as the operators that ONNX defines "
                                          "it by, if it has kernels for these",
                                          name_of(node), target.title),
                   .fix = {},
                   .support = Support::kPartial};
  int64_t arrives = schema || opsets.empty() ? 0 : arrives_at(node, at.opset);
  if (int64_t served = opsets.empty() ? 0 : nearest_served(domain, node.op_type(), at.opset)) {
    r.message = fmt::format("{} is the operator of opset {}; {} has kernels for opset {}", name_of(node),
                            schema ? schema->since_version : at.opset, target.title, fmt::join(opsets, ", "));
    r.fix = fmt::format("convert the model to opset {}, or write it as other operators", served);
    r.has_other_form = true;
    return r;
  }
  r.message =
      arrives
          ? fmt::format("{} is an operator of opset {}; {} has no kernel for it", name_of(node), arrives, target.title)
          : fmt::format("{}: {} has no kernel for {}", name_of(node), target.title, ir::operator_name(node));
  r.fix = schema && schema->composed ? "write it as the operators that ONNX defines it by"
                                     : "write it as operators that have one";
  r.has_other_form = has_other_form(node);
  return r;
}

std::optional<Refusal> refuse(const TargetNode& at, const ops::Target& target) {
  const ops::TargetDomain* domain = target.domain(at.node->domain());
  if (!domain) return refuse_domain(at, target);
  if (at.opset == 0) return std::nullopt;  // a domain that is not imported: no opset to look at
  if (auto unknown = refuse_unknown(at, target, *domain)) return unknown;
  // What never reaches an execution provider needs no kernel; control flow is THAW033's.
  if (domain->kernels.empty() || at.at_load) return std::nullopt;
  if (at.control_flow && !target.control_flow) return std::nullopt;
  return refuse_without_kernel(at, target, *domain);
}

}  // namespace

void find_operator_faults(const TargetView& view, const TargetNode& at, TargetFaults& faults) {
  auto refusal = refuse(at, view.target());
  if (!refusal) return;
  faults.push_back({.rule = refusal->support == Support::kUnsupported ? kOperatorRule : rule_of(refusal->support),
                    .support = refusal->support,
                    .key = fmt::format("{}@{}", ir::operator_name(*at.node), at.opset),
                    .message = std::move(refusal->message),
                    .fix = std::move(refusal->fix),
                    .has_other_form = refusal->has_other_form});
}

}  // namespace thaw::checking
