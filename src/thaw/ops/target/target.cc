#include "thaw/ops/target/target.h"

#include <algorithm>

#include "thaw/ir/graph/schema.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::ops {
namespace {

// What ONNX Runtime 1.31 loads: it promises opset 7 and later, and refuses later ones than these.
constexpr int64_t kOldestOpset = 7;
constexpr int64_t kNewestOpset = 26;
constexpr int64_t kNewestMlOpset = 5;
// DirectML's operators end at opset 20; a few kernels for opset 21 exist, not enough for a model of it.
constexpr int64_t kNewestDirectMlOpset = 20;

// Operators that ONNX Runtime has in ai.onnx beside the standard's: its optimizer writes them, or they came to the
// standard later.
constexpr std::string_view kOrtStandardOperators[] = {"LayerNormalization", "MeanVarianceNormalization",
                                                      "SimplifiedLayerNormalization", "ThresholdedRelu"};

std::span<const TargetDomain> portable_domains() {
  static const TargetDomain domains[] = {{.name = "", .oldest = kOldestOpset, .newest = kNewestOpset}};
  return domains;
}

std::span<const TargetDomain> ort_domains() {
  static const TargetDomain domains[] = {
      {.name = "", .oldest = kOldestOpset, .newest = kNewestOpset, .operators = kOrtStandardOperators},
      {.name = kMl, .newest = kNewestMlOpset},
      {.name = kMicrosoft, .operators = microsoft_operators()},
  };
  return domains;
}

std::span<const TargetDomain> directml_domains() {
  static const TargetDomain domains[] = {
      {.name = "", .oldest = kOldestOpset, .newest = kNewestDirectMlOpset, .kernels = directml_kernels()},
      {.name = kMicrosoft, .kernels = directml_microsoft_kernels()},
      {.name = "com.microsoft.dml", .kernels = directml_fused_kernels()},
  };
  return domains;
}

std::span<const Kernels> entries_of(const TargetDomain& domain, std::string_view op) {
  auto found = std::ranges::equal_range(domain.kernels, op, {}, &Kernels::op);
  return {found.begin(), found.end()};
}

// The version since which an operator is as it is at an opset; 0 where the official schemas do not know it there.
int since(std::string_view domain, std::string_view op, int64_t opset) {
  auto schema = ir::find_schema(domain, op, opset);
  return schema ? schema->since_version : 0;
}

}  // namespace

const TypeSet* Kernels::types(std::string_view parameter) const {
  for (const TypeConstraint& constraint : constraints)
    if (!parameter.empty() && constraint.parameter == parameter) return &constraint.types;
  return nullptr;
}

const TargetDomain* Target::domain(std::string_view domain_name) const {
  auto it = std::ranges::find(domains, domain_name, &TargetDomain::name);
  return it == domains.end() ? nullptr : &*it;
}

std::span<const Target> targets() {
  static const Target all[] = {
      {.name = "portable", .title = "a portable model", .domains = portable_domains()},
      {.name = "ort", .title = "ONNX Runtime", .domains = ort_domains()},
      {.name = "directml",
       .title = "DirectML",
       .domains = directml_domains(),
       .control_flow = false,
       .static_ranks = true,
       .shapes_on_host = true},
  };
  return all;
}

const Target* find_target(std::string_view name) {
  auto it = std::ranges::find(targets(), name, &Target::name);
  return it == targets().end() ? nullptr : &*it;
}

std::optional<KernelMatch> find_kernel(const TargetDomain& domain, std::string_view op, int64_t opset) {
  KernelMatch newest;
  for (const Kernels& entry : entries_of(domain, op)) {
    for (int8_t version : entry.opsets)
      if (version > newest.opset && version <= opset) newest = {&entry, version};
  }
  if (!newest.kernels) return std::nullopt;
  // An operator that no schema knows is taken to be the same at all opsets from the kernel's on.
  if (since(domain.name, op, newest.opset) != since(domain.name, op, opset)) return std::nullopt;
  return newest;
}

std::vector<int> kernel_opsets(const TargetDomain& domain, std::string_view op) {
  std::vector<int> opsets;
  for (const Kernels& entry : entries_of(domain, op))
    for (int8_t version : entry.opsets)
      if (version > 0) opsets.push_back(version);
  std::ranges::sort(opsets);
  return opsets;
}

}  // namespace thaw::ops
