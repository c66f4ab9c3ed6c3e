// Patterns: what a rewrite looks for, as data.
//
//   const Pattern x = any("x");
//   const Pattern gelu = 0.5 * x * (1 + op("Erf", {x / std::sqrt(2)}));
//
// A pattern is written as arithmetic. It matches by algebra, not by spelling: products and sums in any order and nesting,
// Div, Reciprocal, Sqrt and Pow as powers, constants as they may be stored (rewrite/stands_for.h), Identity and Casts that
// change nothing left out (rewrite/algebra.h). Operators that are not arithmetic are matched by name, domain, operands and attributes; an
// attribute that a node leaves out has its default.
//
// What is matched besides the root must be read by the match only, so that it can go.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "thaw/infer/infer.h"
#include "thaw/ir/graph/model.h"

namespace thaw::rewrite {

struct PatternNode;

class Pattern {
 public:
  Pattern(double number);  // NOLINT(google-explicit-constructor): so that patterns read as arithmetic
  explicit Pattern(std::shared_ptr<const PatternNode> node) : node_(std::move(node)) {}
  const PatternNode& node() const { return *node_; }
  const std::shared_ptr<const PatternNode>& shared() const { return node_; }

  // The value that it matches is captured under a name.
  Pattern named(std::string_view name) const;
  // An integer attribute that the node must have.
  Pattern with(std::string_view attribute, int64_t value) const;

 private:
  std::shared_ptr<const PatternNode> node_;
};

// Any value; two of one name are one value.
Pattern any(std::string_view name);
// Any constant of one element, on its own or as what is added to a sum or multiplies a product; see Match::number.
Pattern any_number(std::string_view name);
// A node of an operator. Further operands of the node than are given here must be left out.
Pattern op(std::string_view name, std::vector<Pattern> operands, std::string_view domain = "");
// The same, of any of these operators and with any further operands (axes as an operand, say).
Pattern op_of(std::vector<std::string_view> names, std::vector<Pattern> operands);
// Any one of these: the first that matches. What only some of them capture is asked for by Match::has.
Pattern either(std::vector<Pattern> alternatives);
Pattern operator*(const Pattern& a, const Pattern& b);
Pattern operator/(const Pattern& a, const Pattern& b);
Pattern operator+(const Pattern& a, const Pattern& b);
Pattern operator-(const Pattern& a, const Pattern& b);
Pattern power(const Pattern& base, double exponent);
Pattern sqrt(const Pattern& base);

class Match {
 public:
  Match(const ir::Model& model, const infer::Result& facts) : model_(&model), facts_(&facts) {}

  ir::Value* root() const { return root_; }
  ir::Value* operator[](std::string_view name) const;  // what was captured; throws std::out_of_range
  double number(std::string_view name) const;          // of any_number; throws std::out_of_range
  bool has(std::string_view name) const { return captured_.contains(name); }
  bool has_number(std::string_view name) const { return numbers_.contains(name); }
  const ops::Fact& fact(std::string_view name) const { return facts_->fact((*this)[name]); }
  const ops::Fact& fact(const ir::Value* value) const { return facts_->fact(value); }
  const ir::Node& node(std::string_view name) const { return *(*this)[name]->producer(); }
  // The axes that a captured node names, as attribute or operand, counted from the front of its first operand; nullopt
  // where they are not known.
  std::optional<std::vector<int64_t>> axes(std::string_view name) const;
  // Whether they are the last axis alone.
  bool is_over_last_axis(std::string_view name) const;
  const std::vector<const ir::Node*>& nodes() const { return nodes_; }

 private:
  friend class Matcher;
  const ir::Model* model_;
  const infer::Result* facts_;
  ir::Value* root_ = nullptr;
  std::map<std::string, ir::Value*, std::less<>> captured_;
  std::map<std::string, double, std::less<>> numbers_;
  std::vector<const ir::Node*> nodes_;
};

// The match with `root` as the pattern's outermost value; nullopt where there is none.
std::optional<Match> match(const Pattern& pattern, ir::Value* root, const ir::Model& model, const infer::Result& facts);
// The operators that a value matching the pattern may come from.
std::vector<std::string_view> root_operators(const Pattern& pattern);
// Whether a graph with nodes of these operators alone may hold a match: all that the pattern cannot do without are there.
bool may_match(const Pattern& pattern, const std::set<std::string, std::less<>>& operators);

}  // namespace thaw::rewrite
