// THAW036, THAW037, THAW038: what a target's kernel asks of a node beside the types of its operands. What the graph tells is
// decided here; what a table says in words alone is reported as it is.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/check/target_faults.h"
#include "thaw/ir/graph/location.h"
#include "thaw/ir/graph/schema.h"

namespace thaw::checking {
namespace {

using ops::KernelCondition;
using Kind = KernelCondition::Kind;

// "input 1 ('shape')".
std::string input_name(const TargetNode& at, size_t number) {
  const auto schema = ir::find_schema(at.node->domain(), at.node->op_type(), at.opset);
  if (schema && number < schema->inputs.size()) return fmt::format("input {} ({})", number, schema->inputs[number]);
  return fmt::format("input {}", number);
}

std::string bounds_text(int least, int most) {
  if (least == most) return fmt::format("{}", least);
  if (most == 0) return fmt::format("{} or more", least);
  return least <= 1 ? fmt::format("{} at most", most) : fmt::format("{} to {}", least, most);
}

bool is_within(int64_t number, const KernelCondition& condition) {
  return number >= condition.least && (condition.most == 0 || number <= condition.most);
}

class LimitLook {
 public:
  LimitLook(const TargetView& view, const TargetNode& at, const ops::KernelMatch& kernel, TargetFaults& faults)
      : view_(view), at_(at), kernel_(kernel), faults_(faults) {}

  void look() {
    for (const KernelCondition& condition : kernel_.kernels->conditions) look_at(condition);
    look_at_ranks();
  }

 private:
  const ir::Node& node() const { return *at_.node; }
  std::string_view title() const { return view_.target().title; }

  // One fault for all nodes of an operator that break the same condition.
  void refuse(std::string_view what, std::string message, std::string fix, const ir::Value* value = nullptr) {
    faults_.push_back({.rule = kLimitRule,
                       .key = fmt::format("{}@{} {}", ir::operator_name(node()), at_.opset, what),
                       .message = fmt::format("{} {}", name_of(node()), message),
                       .fix = std::move(fix),
                       .tensor = value ? value->name() : std::string()});
  }
  void say(Support support, std::string_view why) {
    faults_.push_back({.rule = rule_of(support),
                       .support = support,
                       .key = fmt::format("{}@{} {}", ir::operator_name(node()), at_.opset, why),
                       .message = fmt::format("{}: {}", name_of(node()), what_is_said(support, title(), why))});
  }

  const ir::Value* input(size_t number) const { return node().input(static_cast<int>(number)); }

  void look_at(const KernelCondition& condition) {
    switch (condition.kind) {
      case Kind::kConstant:
        for (const int number : condition.numbers) look_at_constant(static_cast<size_t>(number));
        return;
      case Kind::kAbsent:
        for (const int number : condition.numbers)
          if (const ir::Value* value = input(static_cast<size_t>(number)))
            refuse(fmt::format("absent {}", number),
                   fmt::format("has {}, which {} does not take", input_name(at_, static_cast<size_t>(number)), title()),
                   "leave it out", value);
        return;
      case Kind::kZeros:
        for (const int number : condition.numbers) look_at_zeros(static_cast<size_t>(number));
        return;
      case Kind::kKnown:
        return look_at_known(condition);
      case Kind::kRank:
        return look_at_rank(condition);
      case Kind::kInputs:
        return look_at_count("inputs", std::ranges::count_if(node().inputs(), [](const ir::Value* v) { return v; }),
                             condition);
      case Kind::kOutputs:
        return look_at_count(
            "outputs", std::ranges::count_if(node().outputs(), [](const ir::Value* v) { return v && v->is_used(); }),
            condition);
      case Kind::kAttribute:
        return look_at_attribute(condition);
      case Kind::kSaid:
        return say(condition.support, condition.why);
    }
  }

  void look_at_constant(size_t number) {
    const ir::Value* value = input(number);
    if (!value || view_.is_constant(*value)) return;
    refuse(fmt::format("constant {}", number),
           fmt::format("has a computed {}; {} takes a constant there", input_name(at_, number), title()),
           "where it follows from sizes alone, fix these with `thaw pin`; else make it a constant", value);
  }

  void look_at_zeros(size_t number) {
    const ir::Value* value = input(number);
    if (!value) return;
    const auto zeros = view_.are_zeros(*value);
    if (!zeros) return say(Support::kPartial, fmt::format("with zeros as {}", input_name(at_, number)));
    if (*zeros) return;
    refuse(fmt::format("zeros {}", number),
           fmt::format("has other numbers than 0 in {}; {} takes zeros there", input_name(at_, number), title()),
           "quantize it without zero points: `thaw convert` does with this target", value);
  }

  void look_at_count(std::string_view what, int64_t count, const KernelCondition& condition) {
    if (is_within(count, condition)) return;
    const std::string bounds = condition.most >= 99 ? fmt::format("{} or more", condition.least)
                                                    : bounds_text(condition.least, condition.most);
    refuse(what, fmt::format("has {} {}; {} takes {}", count, what, title(), bounds),
           "write it as operators that the target takes");
  }

  void look_at_known(const KernelCondition& condition) {
    const ir::Value* value = input(static_cast<size_t>(condition.numbers.front()));
    if (!value) return;
    const auto& shape = view_.shape(*value);
    const auto refuse_it = [&](std::string_view sizes) {
      refuse(
          "known",
          fmt::format("reads '{}' of {} {}; {} takes fixed ones there", value->name(), sizes, text_of(shape), title()),
          "fix the sizes with `thaw pin`", value);
    };
    if (!shape) return refuse_it("the sizes");
    if (condition.numbers.size() == 1) {
      if (!std::ranges::all_of(*shape, [](dim::Dim d) { return d.is_constant(); })) refuse_it("the sizes");
      return;
    }
    const auto axis = static_cast<size_t>(condition.numbers[1]);
    if (axis < shape->size() && !(*shape)[axis].is_constant()) refuse_it(fmt::format("axis {} of", axis));
  }

  void look_at_rank(const KernelCondition& condition) {
    const int number = condition.numbers.front();
    const ir::Value* value = number < 0 ? node().output(0) : input(static_cast<size_t>(number));
    if (!value) return;
    const auto& shape = view_.shape(*value);
    if (!shape) return say(Support::kUnknown, fmt::format("the rank of '{}' does not follow", value->name()));
    const auto rank = static_cast<int64_t>(shape->size());
    if (is_within(rank, condition) || (condition.least == 0 && condition.most == 0)) return;
    if (view_.target().is_tested)
      return say(Support::kUnknown, fmt::format("'{}' has rank {}, and tests that ran had rank {}", value->name(), rank,
                                                bounds_text(condition.least, condition.most)));
    refuse(fmt::format("rank {} {}", number, rank),
           fmt::format("has '{}' of rank {}; {} takes rank {} there", value->name(), rank, title(),
                       bounds_text(condition.least, condition.most)),
           "reshape around it to a rank that the target takes", value);
  }

  // The limit on all tensors, once for each rank.
  void look_at_ranks() {
    const int most = view_.target().max_rank;
    if (most == 0) return;
    for (const auto& list : {node().inputs(), node().outputs()}) {
      for (const ir::Value* value : list) {
        if (!value) continue;
        const auto& shape = view_.shape(*value);
        if (!shape || shape->size() <= static_cast<size_t>(most)) continue;
        return refuse(
            "rank",
            fmt::format("has '{}' of rank {}; {} takes rank {} at most", value->name(), shape->size(), title(), most),
            "reshape around it to a rank that the target takes", value);
      }
    }
  }

  void look_at_attribute(const KernelCondition& condition) {
    const std::string name(condition.name);
    const ir::Attribute* given = node().attribute(name);
    const auto refuse_value = [&](const std::string& value) {
      const std::string taken =
          condition.values.empty() ? "none" : fmt::format("{}", fmt::join(condition.values, ", "));
      refuse(fmt::format("attribute {}={}", name, value),
             fmt::format("has {}={}; {} takes {}", name, value, title(), taken),
             "write it as operators that the target takes");
    };
    if (!given) {
      if (condition.is_required) refuse_value("its default");
      return;
    }
    for (const std::string& value : values_of(*given))
      if (std::ranges::find(condition.values, value) == condition.values.end()) return refuse_value(value);
  }

  static std::vector<std::string> values_of(const ir::Attribute& attribute) {
    std::vector<std::string> values;
    const auto add = [&](const auto& value) { values.push_back(fmt::format("{}", value)); };
    if (const auto* one = attribute.as<int64_t>()) add(*one);
    if (const auto* one = attribute.as<float>()) add(*one);
    if (const auto* one = attribute.as<std::string>()) add(*one);
    if (const auto* many = attribute.as<std::vector<int64_t>>()) std::ranges::for_each(*many, add);
    return values;
  }

  const TargetView& view_;
  const TargetNode& at_;
  const ops::KernelMatch& kernel_;
  TargetFaults& faults_;
};

}  // namespace

void find_limit_faults(const TargetView& view, const TargetNode& at, const ops::KernelMatch& kernel,
                       TargetFaults& faults) {
  LimitLook(view, at, kernel, faults).look();
}

}  // namespace thaw::checking
