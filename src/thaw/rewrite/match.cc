#include "thaw/rewrite/match.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "thaw/infer/facts_view.h"
#include "thaw/ir/graph/schema.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/rewrite/algebra.h"
#include "thaw/rewrite/stands_for.h"

namespace thaw::rewrite {

struct PatternNode {
  enum class Kind : uint8_t { kAny, kNumber, kAnyNumber, kNode, kEither, kProduct, kSum };
  Kind kind = Kind::kAny;
  std::string name;              // under which the value is captured; may be empty
  double number = 0;             // kNumber; the coefficient of a product, the constant of a sum
  std::string number_name = {};  // of the same, where any number does
  std::vector<std::string> operators;
  std::string domain;
  std::vector<Pattern> operands;
  std::vector<double> weights;  // exponents of a product's operands, coefficients of a sum's
  bool takes_more = false;      // operands of the node that stand after these
  std::vector<std::pair<std::string, int64_t>> attributes;
};

namespace {

using Kind = PatternNode::Kind;

Pattern make(PatternNode node) { return Pattern(std::make_shared<const PatternNode>(std::move(node))); }

bool is_same(const Pattern& a, const Pattern& b) {
  const bool both_any = a.node().kind == Kind::kAny && b.node().kind == Kind::kAny;
  return a.shared() == b.shared() || (both_any && a.node().name == b.node().name);
}

void add_part(PatternNode& to, const Pattern& part, double weight) {
  for (size_t i = 0; i < to.operands.size(); ++i)
    if (is_same(to.operands[i], part)) return void(to.weights[i] += weight);
  to.operands.push_back(part);
  to.weights.push_back(weight);
}

// Multiplies a product by a pattern to a power; a product without a name of its own is opened.
void multiply(PatternNode& to, const Pattern& by, double exponent) {
  const PatternNode& node = by.node();
  if (node.kind == Kind::kNumber) {
    to.number *= std::pow(node.number, exponent);
  } else if (node.kind == Kind::kAnyNumber && exponent == 1) {
    to.number_name = node.name;
  } else if (node.kind == Kind::kProduct && node.name.empty()) {
    to.number *= std::pow(node.number, exponent);
    for (size_t i = 0; i < node.operands.size(); ++i) add_part(to, node.operands[i], node.weights[i] * exponent);
  } else {
    add_part(to, by, exponent);
  }
}

void add(PatternNode& to, const Pattern& by, double coefficient) {
  const PatternNode& node = by.node();
  if (node.kind == Kind::kNumber) {
    to.number += coefficient * node.number;
  } else if (node.kind == Kind::kAnyNumber && coefficient == 1) {
    to.number_name = node.name;
  } else if (node.kind == Kind::kSum && node.name.empty()) {
    to.number += coefficient * node.number;
    for (size_t i = 0; i < node.operands.size(); ++i) add_part(to, node.operands[i], node.weights[i] * coefficient);
  } else {
    add_part(to, by, coefficient);
  }
}

Pattern product(const Pattern& a, double m, const Pattern& b, double n) {
  PatternNode node{.kind = Kind::kProduct, .number = 1};
  multiply(node, a, m);
  multiply(node, b, n);
  return make(std::move(node));
}

Pattern sum(const Pattern& a, const Pattern& b, double n) {
  PatternNode node{.kind = Kind::kSum, .number = 0};
  add(node, a, 1);
  add(node, b, n);
  return make(std::move(node));
}

}  // namespace

Pattern::Pattern(double number)
    : node_(std::make_shared<const PatternNode>(PatternNode{.kind = Kind::kNumber, .number = number})) {}

Pattern Pattern::named(std::string_view name) const {
  PatternNode node = *node_;
  node.name = name;
  return make(std::move(node));
}

Pattern Pattern::with(std::string_view attribute, int64_t value) const {
  PatternNode node = *node_;
  node.attributes.emplace_back(attribute, value);
  return make(std::move(node));
}

Pattern any(std::string_view name) { return make({.kind = Kind::kAny, .name = std::string(name)}); }

Pattern any_number(std::string_view name) { return make({.kind = Kind::kAnyNumber, .name = std::string(name)}); }

Pattern op(std::string_view name, std::vector<Pattern> operands, std::string_view domain) {
  return make({.kind = Kind::kNode,
               .operators = {std::string(name)},
               .domain = std::string(domain),
               .operands = std::move(operands)});
}

Pattern op_of(std::vector<std::string_view> names, std::vector<Pattern> operands) {
  return make({.kind = Kind::kNode,
               .operators = std::vector<std::string>(names.begin(), names.end()),
               .operands = std::move(operands),
               .takes_more = true});
}

Pattern either(std::vector<Pattern> alternatives) {
  return make({.kind = Kind::kEither, .operands = std::move(alternatives)});
}

Pattern operator*(const Pattern& a, const Pattern& b) { return product(a, 1, b, 1); }
Pattern operator/(const Pattern& a, const Pattern& b) { return product(a, 1, b, -1); }
Pattern operator+(const Pattern& a, const Pattern& b) { return sum(a, b, 1); }
Pattern operator-(const Pattern& a, const Pattern& b) { return sum(a, b, -1); }
Pattern power(const Pattern& base, double exponent) { return product(base, exponent, 1.0, 1); }
Pattern sqrt(const Pattern& base) { return power(base, 0.5); }

class Matcher {
 public:
  Matcher(const ir::Model& model, const infer::Result& facts) : model_(model), facts_(facts), found_(model, facts) {}

  std::optional<Match> run(const Pattern& pattern, ir::Value* root) {
    found_.root_ = root;
    if (!matches(pattern, root) || !reads_only_itself()) return std::nullopt;
    return std::move(found_);
  }

 private:
  bool matches(const Pattern& pattern, ir::Value* value) {
    if (!value) return false;
    const PatternNode& node = pattern.node();
    if (!matches_kind(node, value)) return false;
    if (node.name.empty()) return true;
    return found_.captured_.emplace(node.name, value).first->second == value;
  }

  bool matches_kind(const PatternNode& pattern, ir::Value* value) {
    switch (pattern.kind) {
      case Kind::kAny:
        return true;
      case Kind::kNumber: {
        const auto number = number_of(*look_through(value, facts_, &found_.nodes_));
        return number && stands_for(*number, pattern.number);
      }
      case Kind::kAnyNumber: {
        const auto number = number_of(*look_through(value, facts_, &found_.nodes_));
        return number && holds_number(pattern.name, *number);
      }
      case Kind::kNode:
        return matches_node(pattern, value);
      case Kind::kEither:
        return std::ranges::any_of(pattern.operands,
                                   [&](const Pattern& one) { return attempt([&] { return matches(one, value); }); });
      case Kind::kProduct:
      case Kind::kSum:
        return matches_arithmetic(pattern, value);
    }
    return false;
  }

  bool holds_number(const std::string& name, double number) {
    return stands_for(found_.numbers_.emplace(name, number).first->second, number);
  }

  // Takes back what was captured where it does not match.
  template <typename F>
  bool attempt(F f) {
    Match before = found_;
    if (f()) return true;
    found_ = std::move(before);
    return false;
  }

  bool matches_node(const PatternNode& pattern, ir::Value* value) {
    value = look_through(value, facts_, &found_.nodes_);
    const ir::Node* node = value->producer();
    if (!node || value->producer_index() != 0 || node->domain() != pattern.domain) return false;
    if (std::ranges::find(pattern.operators, node->op_type()) == pattern.operators.end()) return false;
    for (const auto& [name, wanted] : pattern.attributes)
      if (attribute_of(*node, name) != wanted) return false;
    const size_t count = pattern.operands.size();
    for (size_t i = count; i < node->inputs().size(); ++i)
      if (node->inputs()[i] && !pattern.takes_more) return false;
    found_.nodes_.push_back(node);
    const auto in_order = [&](bool reversed) {
      for (size_t i = 0; i < count; ++i)
        if (!matches(pattern.operands[i], node->input(static_cast<int>(reversed ? count - 1 - i : i)))) return false;
      return true;
    };
    const ops::Operator* known = ops::registry().find(*node);
    const bool turns = count == 2 && known && known->commutes;
    return attempt([&] { return in_order(false); }) || (turns && attempt([&] { return in_order(true); }));
  }

  std::optional<int64_t> attribute_of(const ir::Node& node, const std::string& name) const {
    if (const ir::Attribute* given = node.attribute(name)) {
      const auto* value = given->as<int64_t>();
      return value ? std::optional(*value) : std::nullopt;
    }
    const auto schema = ir::find_schema(node.domain(), node.op_type(), model_.opset(node.domain()).value_or(1));
    if (!schema) return std::nullopt;
    const auto at = std::ranges::find(schema->integer_defaults, name, &std::pair<std::string, int64_t>::first);
    return at == schema->integer_defaults.end() ? std::nullopt : std::optional(at->second);
  }

  // All that it is made of; else less of it, where a part is arithmetic of its own.
  bool matches_arithmetic(const PatternNode& pattern, ir::Value* value) {
    size_t opened = 0, all = 0;
    if (attempt([&] { return matches_parts(pattern, value, 16, all); })) return true;
    for (const int depth : {1, 2, 3}) {
      if (static_cast<size_t>(depth) >= all) return false;  // all of it again
      if (attempt([&] { return matches_parts(pattern, value, depth, opened); })) return true;
    }
    return false;
  }

  // `opened`: how many nodes were taken apart.
  bool matches_parts(const PatternNode& pattern, ir::Value* value, int depth, size_t& opened) {
    std::vector<std::pair<ir::Value*, double>> parts;
    double number = 0;
    if (pattern.kind == Kind::kProduct) {
      const Product product = product_of(value, facts_, depth);
      number = product.coefficient;
      opened = product.nodes.size();
      for (const Factor& factor : product.factors) parts.emplace_back(factor.value, factor.exponent);
      found_.nodes_.insert(found_.nodes_.end(), product.nodes.begin(), product.nodes.end());
    } else {
      const Sum sum = sum_of(value, facts_, depth);
      number = sum.constant;
      opened = sum.nodes.size();
      for (const Summand& term : sum.terms) parts.emplace_back(term.value, term.coefficient);
      found_.nodes_.insert(found_.nodes_.end(), sum.nodes.begin(), sum.nodes.end());
    }
    const bool is_number =
        pattern.number_name.empty() ? stands_for(number, pattern.number) : holds_number(pattern.number_name, number);
    if (parts.size() != pattern.operands.size() || !is_number) return false;
    std::vector<bool> taken(parts.size());
    return assign(pattern, parts, taken, 0);
  }

  // Gives each operand of the pattern from i on a part of its own.
  bool assign(const PatternNode& pattern, const std::vector<std::pair<ir::Value*, double>>& parts,
              std::vector<bool>& taken, size_t i) {
    if (i == pattern.operands.size()) return true;
    for (size_t k = 0; k < parts.size(); ++k) {
      if (taken[k] || !stands_for(parts[k].second, pattern.weights[i])) continue;
      taken[k] = true;
      if (attempt([&] { return matches(pattern.operands[i], parts[k].first) && assign(pattern, parts, taken, i + 1); }))
        return true;
      taken[k] = false;
    }
    return false;
  }

  // Whether all that was matched, but the root, is read by what was matched alone.
  bool reads_only_itself() const {
    const std::unordered_set<const ir::Node*> matched(found_.nodes_.begin(), found_.nodes_.end());
    // any order: it holds of all or not
    for (const ir::Node* node : matched) {
      for (const ir::Value* output : node->outputs()) {
        if (!output || output == found_.root_) continue;
        if (output->is_output() || (output->is_used() && output->uses().empty())) return false;
        if (!std::ranges::all_of(output->uses(), [&](const ir::Use& use) { return matched.contains(use.node); }))
          return false;
      }
    }
    return true;
  }

  const ir::Model& model_;
  const infer::Result& facts_;
  Match found_;
};

ir::Value* Match::operator[](std::string_view name) const {
  const auto at = captured_.find(name);
  if (at == captured_.end()) throw std::out_of_range("a pattern captures nothing as " + std::string(name));
  return at->second;
}

double Match::number(std::string_view name) const {
  const auto at = numbers_.find(name);
  if (at == numbers_.end()) throw std::out_of_range("a pattern captures no number as " + std::string(name));
  return at->second;
}

std::optional<std::vector<int64_t>> Match::axes(std::string_view name) const {
  const ir::Node& of = node(name);
  infer::NodeFacts view(*facts_, *model_, of);
  const int rank = view.input(0).rank();
  const ops::Operator* known = ops::registry().find(of);
  if (!known || rank < 0) return std::nullopt;
  std::optional<std::vector<int64_t>> axes;
  for (const ops::AttributeRole& role : known->attributes) {
    if (role.role != ops::Role::kAxes || view.opset() < role.first || view.opset() > role.last) continue;
    const std::string attribute(role.name);
    if (auto list = view.attr_ints(attribute)) axes = std::move(list);
    if (const auto axis = view.attr_int(attribute)) axes.emplace({*axis});
    if (!axes && role.otherwise != ops::AttributeRole::kRequired) axes.emplace({role.otherwise});
  }
  const int operand = known->operands.find(ops::Role::kAxes);
  if (operand >= 0 && view.has_input(operand)) {
    axes = view.ints(operand);
    if (!axes) return std::nullopt;
  }
  if (!axes) axes.emplace();
  for (int64_t& axis : *axes) axis += axis < 0 ? rank : 0;
  return axes;
}

bool Match::is_over_last_axis(std::string_view name) const {
  const auto axes = this->axes(name);
  return axes && *axes == std::vector<int64_t>{fact(node(name).input(0)).rank() - 1};
}

std::optional<Match> match(const Pattern& pattern, ir::Value* root, const ir::Model& model,
                           const infer::Result& facts) {
  return Matcher(model, facts).run(pattern, root);
}

std::vector<std::string_view> root_operators(const Pattern& pattern) {
  const PatternNode& node = pattern.node();
  switch (node.kind) {
    case Kind::kProduct:
      return {"Mul", "Div", "Neg", "Reciprocal", "Sqrt", "Pow"};
    case Kind::kSum:
      return {"Add", "Sub", "Sum", "Neg"};
    case Kind::kNode:
      return {node.operators.begin(), node.operators.end()};
    case Kind::kEither: {
      std::vector<std::string_view> names;
      for (const Pattern& one : node.operands)
        for (const std::string_view name : root_operators(one))
          if (std::ranges::find(names, name) == names.end()) names.push_back(name);
      return names;
    }
    case Kind::kAny:
    case Kind::kNumber:
    case Kind::kAnyNumber:
      return {};
  }
  return {};
}

bool may_match(const Pattern& pattern, const std::set<std::string, std::less<>>& operators) {
  const PatternNode& node = pattern.node();
  const auto fits = [&](const Pattern& part) { return may_match(part, operators); };
  if (node.kind == Kind::kEither) return std::ranges::any_of(node.operands, fits);
  const auto is_there = [&](const std::string& name) { return operators.contains(name); };
  if (node.kind == Kind::kNode && std::ranges::none_of(node.operators, is_there)) return false;
  return std::ranges::all_of(node.operands, fits);
}

}  // namespace thaw::rewrite
