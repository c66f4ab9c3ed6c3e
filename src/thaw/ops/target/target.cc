#include "thaw/ops/target/target.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "thaw/ir/graph/schema.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/target/table.h"

namespace thaw::ops {
namespace {

// What ONNX Runtime 1.31 loads: it promises opset 7 and later, and refuses later ones than these.
constexpr int64_t kOldestOpset = 7;
constexpr int64_t kNewestOpset = 26;
constexpr int64_t kNewestMlOpset = 5;

// Operators that ONNX Runtime has in ai.onnx beside the standard's: its optimizer writes them, or they came to the
// standard later.
constexpr std::string_view kOrtStandardOperators[] = {"LayerNormalization", "MeanVarianceNormalization",
                                                      "SimplifiedLayerNormalization", "ThresholdedRelu"};

Target portable() {
  return {.name = "portable",
          .title = "a portable model",
          .domains = {{.name = "", .oldest = kOldestOpset, .newest = kNewestOpset}}};
}

Target ort() {
  return {.name = "ort",
          .title = "ONNX Runtime",
          .domains = {
              {.name = "", .oldest = kOldestOpset, .newest = kNewestOpset, .operators = kOrtStandardOperators},
              {.name = kMl, .newest = kNewestMlOpset},
              {.name = kMicrosoft, .operators = microsoft_operators()},
          }};
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

const TypeSet* Kernels::types_of(std::string_view parameter) const {
  for (const TypeConstraint& constraint : types)
    if (!parameter.empty() && constraint.operands == parameter && constraint.support == Support::kSupported)
      return &constraint.types;
  return nullptr;
}

const TargetDomain* Target::domain(std::string_view domain_name) const {
  auto it = std::ranges::find(domains, domain_name, &TargetDomain::name);
  return it == domains.end() ? nullptr : &*it;
}

bool Target::is_listed(std::string_view domain_name) const {
  return std::ranges::find(unlisted, domain_name) == unlisted.end();
}

std::span<const std::string_view> target_names() {
  static const std::vector<std::string_view> kNames = [] {
    std::vector<std::string_view> names{"portable", "ort"};
    for (const TargetTable& table : target_tables()) names.push_back(table.name);
    std::ranges::sort(names.begin() + 2, names.end());
    return names;
  }();
  return kNames;
}

// A table is read when it is first asked for.
const Target* find_target(std::string_view name) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<const Target>, std::less<>> known;
  const std::scoped_lock lock(mutex);
  if (const auto found = known.find(name); found != known.end()) return found->second.get();
  const auto keep = [&](Target target) {
    return known.emplace(name, std::make_unique<const Target>(std::move(target))).first->second.get();
  };
  if (name == "portable") return keep(portable());
  if (name == "ort") return keep(ort());
  const auto tables = target_tables();
  const auto table = std::ranges::find(tables, name, &TargetTable::name);
  return table == tables.end() ? nullptr : keep(read_table(*table));
}

std::optional<KernelMatch> find_kernel(const TargetDomain& domain, std::string_view op, int64_t opset) {
  KernelMatch newest;
  int last = 0;
  for (const Kernels& entry : entries_of(domain, op)) {
    for (const OpsetRange& range : entry.opsets) {
      if (range.first <= newest.opset || range.first > opset) continue;
      newest = {&entry, range.first};
      last = range.last;
    }
  }
  if (!newest.kernels) return std::nullopt;
  if (last != 0 && opset <= last) return newest;
  if (domain.by_range) return last == 0 ? std::optional(newest) : std::nullopt;
  // An operator that no schema knows is taken to be the same at all opsets from the kernel's on.
  if (since(domain.name, op, newest.opset) != since(domain.name, op, opset)) return std::nullopt;
  return newest;
}

std::vector<int> kernel_opsets(const TargetDomain& domain, std::string_view op) {
  std::vector<int> opsets;
  for (const Kernels& entry : entries_of(domain, op))
    for (const OpsetRange& range : entry.opsets) opsets.push_back(range.first);
  std::ranges::sort(opsets);
  return opsets;
}

}  // namespace thaw::ops
