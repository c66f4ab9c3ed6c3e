#include "thaw/ops/rule/axes.h"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "thaw/ops/rule/node_view.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::ops {

std::optional<int> AxisLink::axis_of(const std::vector<OperandAxis>& positions, int operand) {
  const auto at = std::ranges::find(positions, operand, &OperandAxis::operand);
  return at == positions.end() ? std::nullopt : std::optional(at->axis);
}

namespace {

const AxisLink* find(const std::vector<AxisLink>& links, std::vector<OperandAxis> AxisLink::* positions,
                     OperandAxis wanted) {
  const auto has = [&](const AxisLink& link) {
    return std::ranges::find(link.*positions, wanted) != (link.*positions).end();
  };
  const auto at = std::ranges::find_if(links, has);
  return at == links.end() ? nullptr : &*at;
}

struct Token {
  std::string_view name;  // "_": linked with nothing
  bool is_mixed = false, is_group = false, may_lack = false;
};

struct Term {
  std::vector<Token> tokens;
  bool repeats = false;
};

struct PatternForm {
  std::vector<Term> inputs, outputs;
};

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  return begin == std::string_view::npos ? std::string_view()
                                         : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

// Calls f with each part of the text between separators.
template <typename F>
void for_each_part(std::string_view text, std::string_view separator, F f) {
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    f(trimmed(text.substr(begin, end - begin)));
    begin = end + separator.size();
  }
}

bool remove_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

Token parse_token(std::string_view text) {
  Token token;
  token.is_group = remove_suffix(text, "...");
  token.is_mixed = remove_suffix(text, "~");
  token.may_lack = text.starts_with('[') && text.ends_with(']');
  token.name = token.may_lack ? text.substr(1, text.size() - 2) : text;
  return token;
}

Term parse_term(std::string_view text) {
  Term term;
  term.repeats = remove_suffix(text, "*");
  for_each_part(trimmed(text), " ", [&](std::string_view token) {
    if (!token.empty()) term.tokens.push_back(parse_token(token));
  });
  return term;
}

PatternForm parse_form(std::string_view text) {
  const size_t arrow = text.find("->");
  if (arrow == std::string_view::npos) throw std::logic_error("an axes pattern without an arrow: " + std::string(text));
  PatternForm form;
  for_each_part(text.substr(0, arrow), ",", [&](std::string_view term) { form.inputs.push_back(parse_term(term)); });
  for_each_part(text.substr(arrow + 2), ",", [&](std::string_view term) { form.outputs.push_back(parse_term(term)); });
  return form;
}

class Matching {
 public:
  Matching(const PatternForm& form, NodeView& view) : form_(form), view_(view) {}

  std::optional<AxesMap> run() {
    for (int i = 0; i < view_.num_inputs(); ++i)
      if (view_.has_input(i) && !link_input(i)) return std::nullopt;
    for (int i = 0; i < view_.num_outputs() && i < static_cast<int>(form_.outputs.size()); ++i)
      if (view_.wants_output(i)) link_output(i);
    for (AxisLink& link : map_.links) {
      if (link.inputs.empty()) {
        link.kind = AxisKind::kNew;
      } else if (link.outputs.empty()) {
        link.combine = link.kind == AxisKind::kMixed ? Combine::kOther : Combine::kSum;
        link.kind = AxisKind::kContracted;
      }
    }
    return std::move(map_);
  }

 private:
  AxisLink& link_of(const Token& token, int from_right) {
    const auto [at, is_new] = index_.emplace(std::pair(token.name, from_right), map_.links.size());
    if (is_new) map_.links.emplace_back();
    AxisLink& link = map_.links[at->second];
    if (token.is_mixed) link.kind = AxisKind::kMixed;
    return link;
  }

  // Walks the tokens over as many axes; a group takes `group` of them.
  template <typename F>
  void walk(std::span<const Token> tokens, int group, F at) {
    int axis = 0;
    for (const Token& token : tokens)
      for (int k = 0, count = token.is_group ? group : 1; k < count; ++k, ++axis)
        if (token.name != "_") at(link_of(token, token.is_group ? count - 1 - k : -1), axis);
  }

  bool link_input(int i) {
    const auto last = static_cast<int>(form_.inputs.size()) - 1;
    if (i > last && !form_.inputs.back().repeats) return true;
    const Term& term = form_.inputs[static_cast<size_t>(std::min(i, last))];
    if (term.tokens.empty()) return true;
    const int rank = view_.input(i).rank();
    std::vector<Token> tokens = term.tokens;
    const bool has_group = std::ranges::any_of(tokens, &Token::is_group);
    if (rank < 0 && has_group) return false;
    const auto fixed = [&] { return static_cast<int>(std::ranges::count(tokens, false, &Token::is_group)); };
    while (rank >= 0 && fixed() > rank) {
      const auto lacking = std::ranges::find(tokens, true, &Token::may_lack);
      if (lacking == tokens.end()) return rank == 0 && i > 0;
      tokens.erase(lacking);
    }
    if (!has_group && rank > fixed()) return false;
    const int group = has_group ? rank - fixed() : 0;
    if (!tokens.empty() && tokens.front().is_group && tokens.front().name.empty()) {
      map_.leading.resize(static_cast<size_t>(view_.num_inputs()), -1);
      map_.leading[static_cast<size_t>(i)] = group;
    }
    if (has_group) {
      int& most = groups_[std::ranges::find(tokens, true, &Token::is_group)->name];
      most = std::max(most, group);
    }
    walk(tokens, group, [&](AxisLink& link, int axis) { link.inputs.push_back({i, axis}); });
    return true;
  }

  void link_output(int i) {
    const std::vector<Token>& tokens = form_.outputs[static_cast<size_t>(i)].tokens;
    const auto group = std::ranges::find(tokens, true, &Token::is_group);
    const auto known = group == tokens.end() ? groups_.end() : groups_.find(group->name);
    walk(tokens, known == groups_.end() ? 0 : known->second,
         [&](AxisLink& link, int axis) { link.outputs.push_back({i, axis}); });
  }

  const PatternForm& form_;
  NodeView& view_;
  AxesMap map_;
  std::map<std::pair<std::string_view, int>, size_t> index_;
  std::map<std::string_view, int> groups_;  // axes of each, in the operand that has the most
};

}  // namespace

const AxisLink* AxesMap::of_input(int operand, int axis) const {
  return find(links, &AxisLink::inputs, {operand, axis});
}
const AxisLink* AxesMap::of_output(int operand, int axis) const {
  return find(links, &AxisLink::outputs, {operand, axis});
}

void AxesMap::keep_in_place(int rank, std::span<const int> but, int num_inputs, int num_outputs) {
  for (int axis = 0; axis < rank; ++axis) {
    if (std::ranges::find(but, axis) != but.end()) continue;
    AxisLink& link = links.emplace_back();
    for (int i = 0; i < num_inputs; ++i) link.inputs.push_back({i, axis});
    for (int i = 0; i < num_outputs; ++i) link.outputs.push_back({i, axis});
  }
}

std::optional<AxesMap> match_axes(std::string_view pattern, NodeView& view) {
  std::optional<AxesMap> map;
  for_each_part(pattern, "|", [&](std::string_view text) {
    if (map) return;
    const PatternForm form = parse_form(text);
    map = Matching(form, view).run();
  });
  return map;
}

namespace {

// Of the operands, the most axes; -1 where no rank is known.
int most_axes(const NodeView& view) {
  int most = -1;
  for (int i = 0; i < view.num_inputs(); ++i) most = std::max(most, view.input(i).rank());
  for (int i = 0; i < view.num_outputs(); ++i) most = std::max(most, view.output(i).rank());
  return most;
}

// Whether an attribute names an axis that no operand has: a rule would walk up to it.
bool names_an_axis_of_none(const NodeView& view, const Operator& op) {
  const int64_t most = most_axes(view);
  const auto is_beyond = [&](int64_t axis) { return axis > most || axis < -most - 1; };
  return std::ranges::any_of(op.attributes, [&](const AttributeRole& attribute) {
    if (attribute.role != Role::kAxes) return false;
    if (const auto axis = view.attr_int(attribute.name)) return is_beyond(*axis);
    const auto axes = view.attr_ints(attribute.name);
    return axes && std::ranges::any_of(*axes, is_beyond);
  });
}

// Whether each axis that is linked is one of its operand, where its rank is known.
bool links_axes_of_operands(const AxesMap& map, const NodeView& view) {
  const auto are_in = [](const std::vector<OperandAxis>& positions, auto fact_of) {
    return std::ranges::all_of(positions, [&](const OperandAxis& at) {
      const Fact& fact = fact_of(at.operand);
      return at.axis >= 0 && (!fact.has_rank() || at.axis < fact.rank());
    });
  };
  return std::ranges::all_of(map.links, [&](const AxisLink& link) {
    return are_in(link.inputs, [&](int i) -> const Fact& { return view.input(i); }) &&
           are_in(link.outputs, [&](int i) -> const Fact& { return view.output(i); });
  });
}

}  // namespace

std::optional<AxesMap> axes_of(NodeView& view) {
  const Operator* op = registry().find(view.node());
  if (!op || names_an_axis_of_none(view, *op)) return std::nullopt;
  std::optional<AxesMap> map;
  if (op->axes.rule) {
    map = op->axes.rule(view);
  } else if (!op->axes.pattern.empty()) {
    map = match_axes(op->axes.pattern, view);
  }
  return map && links_axes_of_operands(*map, view) ? std::move(map) : std::nullopt;
}

}  // namespace thaw::ops
