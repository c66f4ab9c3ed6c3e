// What a target says of each node: why it does not take one, or takes it in part. Internal to check/.
//
// The rules of targets report these, and target_support.h counts them.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "thaw/check/rule.h"
#include "thaw/check/target_view.h"

namespace thaw::checking {

struct TargetFault {
  std::string_view rule;  // its code
  Support support = Support::kUnsupported;
  std::string key;  // the same for the same fault of another node
  std::string message, fix, tensor;
  bool has_other_form = false;  // which `optimize --target` may write
  std::vector<std::pair<std::string, std::string>> details;
};
using TargetFaults = std::vector<TargetFault>;

inline constexpr std::string_view kOperatorRule = "THAW030", kTypeRule = "THAW032", kControlFlowRule = "THAW033",
                                  kLimitRule = "THAW036", kPartRule = "THAW037", kUnknownRule = "THAW038";

// The rule that reports how far a kernel is known to take a node.
constexpr std::string_view rule_of(Support support) { return support == Support::kUnknown ? kUnknownRule : kPartRule; }
// "whether TITLE takes it is not known, WHY".
std::string what_is_said(Support support, std::string_view title, std::string_view why);

// A function a file. Each adds what it finds of a node that the target has to take.
void find_operator_faults(const TargetView& view, const TargetNode& at, TargetFaults& faults);  // target_operators.cc
// What the operator's kernel says; nothing where there is no kernel.
void find_type_faults(const TargetView& view, const TargetNode& at, const ops::KernelMatch& kernel,
                      TargetFaults& faults);  // target_types.cc
void find_limit_faults(const TargetView& view, const TargetNode& at, const ops::KernelMatch& kernel,
                       TargetFaults& faults);  // target_limits.cc

// All of one node. None for what the target never sees.
TargetFaults find_target_faults(const TargetView& view, const TargetNode& at);

}  // namespace thaw::checking
