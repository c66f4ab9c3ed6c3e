// Einsum: letters are sizes, "..." stands for axes that broadcast. A letter's size of 1 broadcasts to another
// operand's.
#include "thaw/ops/onnx/einsum.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/broadcast.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/magnitude.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::ops {

using dim::Dim;

namespace {

// One term.
std::optional<std::string> parse_term(std::string_view text) {
  std::string term;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == ' ') continue;
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      term += c;
    } else if (text.substr(i, 3) == "..." && term.find(kEllipsis) == std::string::npos) {
      term += kEllipsis;
      i += 2;
    } else {
      return std::nullopt;
    }
  }
  return term;
}

struct Size {
  Dim dim;
  At from;
};

void einsum_rule(Context& ctx) {
  ctx.set_tensor(0, first_dtype(ctx), std::nullopt);
  auto equation = parse_equation(ctx.attr_string("equation", ""));
  if (!equation || static_cast<int>(equation->terms.size()) != ctx.num_inputs())
    return ctx.invalid("Einsum's equation does not name each of the " + std::to_string(ctx.num_inputs()) + " operands");
  std::map<char, Size> sizes;
  std::optional<Shape> ellipsis;
  bool ellipsis_known = true;
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    const std::string& term = equation->terms[i];
    const Fact& x = ctx.input(i);
    bool has_ellipsis = term.find(kEllipsis) != std::string::npos;
    int letters = static_cast<int>(term.size()) - (has_ellipsis ? 1 : 0);
    if (!x.has_rank()) {
      // Its letters are named, but not sized by it; its ellipsis may stand for any number of axes.
      if (has_ellipsis) ellipsis_known = false;
      for (char c : term)
        if (c != kEllipsis) sizes[c].dim = Dim();
      continue;
    }
    if (has_ellipsis ? x.rank() < letters : x.rank() != letters)
      return ctx.invalid("Einsum's term '" + term + "' does not fit operand " + std::to_string(i) + " of rank " +
                         std::to_string(x.rank()));
    int axis = 0;
    for (char c : term) {
      if (c == kEllipsis) {
        int width = x.rank() - letters;
        Shape here(x.shape->begin() + axis, x.shape->begin() + axis + width);
        ellipsis = ellipsis ? broadcast_shapes(ctx, *ellipsis, here, "Einsum's '...'", {}, {i, axis}) : here;
        axis += width;
        continue;
      }
      At from{i, axis};
      Dim d = x.dim(axis++);
      auto [entry, fresh] = sizes.try_emplace(c, Size{d, from});
      if (!fresh)
        entry->second.dim =
            ctx.require_broadcast(entry->second.dim, d, "Einsum's sizes of one letter", entry->second.from, from);
    }
  }
  Shape out;
  for (char c : equation->result()) {
    if (c == kEllipsis) {
      if (!ellipsis_known) return;
      if (ellipsis) out.insert(out.end(), ellipsis->begin(), ellipsis->end());
      continue;
    }
    auto it = sizes.find(c);
    if (it == sizes.end()) return ctx.invalid(std::string("Einsum's output names '") + c + "', which no operand has");
    out.push_back(it->second.dim);
  }
  ctx.set_tensor(0, first_dtype(ctx), std::move(out));
}

// "i j, ... j k -> ... i k": a term's letters one by one.
std::string pattern_of(const std::string& term) {
  std::string text;
  for (const char c : term) text += c == kEllipsis ? " ..." : std::string{' ', c};
  return text;
}

std::optional<AxesMap> einsum_axes(NodeView& view) {
  const auto equation = parse_equation(view.attr_string("equation", ""));
  if (!equation) return std::nullopt;
  std::string pattern;
  for (const std::string& term : equation->terms) pattern += (pattern.empty() ? "" : ",") + pattern_of(term);
  return match_axes(pattern + " ->" + pattern_of(equation->result()), view);
}

std::string text_of(const std::string& term) {
  std::string text;
  for (const char c : term) text += c == kEllipsis ? std::string("...") : std::string{c};
  return text;
}

// The samples get a letter of their own.
void batch_einsum(BatchContext& n) {
  const auto equation = parse_equation(n.attr_string("equation", ""));
  if (!equation || static_cast<int>(equation->terms.size()) != n.num_inputs())
    BatchContext::refuse("its equation does not fit its operands");
  std::string all;
  for (const std::string& term : equation->terms) all += term;
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const size_t free = kLetters.find_first_not_of(all);
  if (free == std::string_view::npos) BatchContext::refuse("its equation uses every letter");
  const std::string samples{kLetters[free]};
  std::string terms;
  for (int i = 0; i < n.num_inputs(); ++i) {
    if (i > 0) terms += ',';
    if (n.is_batched(i)) terms += samples;
    terms += text_of(equation->terms[static_cast<size_t>(i)]);
  }
  for (int i = 0; i < n.num_inputs(); ++i)
    if (n.is_batched(i)) n.set_operand(i, n.leading(i));
  const std::string output = equation->result();
  n.set_attribute({"equation", terms + "->" + samples + text_of(output)});
  n.note_change();
  n.keep(Form::kLeading);
}

// Every combination of the letters' values takes one operation an operand.
Dim einsum_flops(NodeView& view) {
  const auto equation = parse_equation(view.attr_string("equation", ""));
  if (!equation || static_cast<int>(equation->terms.size()) != view.num_inputs()) return {};
  Dim combinations = 1;
  std::string seen;
  for (int i = 0; i < view.num_inputs(); ++i) {
    const Fact& x = view.input(i);
    const std::string& term = equation->terms[static_cast<size_t>(i)];
    if (!x.has_rank()) return {};
    const int spread = x.rank() - static_cast<int>(term.size()) + 1;
    int axis = 0;
    for (const char letter : term) {
      const int axes = letter == kEllipsis ? spread : 1;
      const bool fresh = seen.find(letter) == std::string::npos;
      if (fresh) seen += letter;
      for (int k = 0; k < axes && axis < x.rank(); ++k, ++axis)
        if (fresh) combinations = combinations * x.dim(axis);
    }
  }
  return combinations * view.num_inputs();
}

}  // namespace

std::optional<EinsumEquation> parse_equation(std::string_view text) {
  EinsumEquation equation;
  std::string_view left = text;
  if (size_t arrow = text.find("->"); arrow != std::string_view::npos) {
    left = text.substr(0, arrow);
    equation.output = parse_term(text.substr(arrow + 2));
    if (!equation.output) return std::nullopt;
  }
  while (true) {
    size_t comma = left.find(',');
    auto term = parse_term(left.substr(0, comma));
    if (!term) return std::nullopt;
    equation.terms.push_back(std::move(*term));
    if (comma == std::string_view::npos) return equation;
    left.remove_prefix(comma + 1);
  }
}

std::string EinsumEquation::result() const {
  if (output) return *output;
  std::map<char, int> count;
  bool ellipsis = false;
  for (const std::string& term : terms)
    for (char c : term) {
      if (c == kEllipsis)
        ellipsis = true;
      else
        ++count[c];
    }
  std::string out;
  if (ellipsis) out += kEllipsis;
  for (auto [letter, n] : count)
    if (n == 1) out += letter;
  return out;
}

void add_einsum_ops(Registry& r) {
  r.add({.name = "Einsum",
         .shape = einsum_rule,
         .op_class = OpClass::kContraction,
         .axes = axes_by(einsum_axes),
         .batch = batch_with(batch_einsum),
         .flops = einsum_flops,
         .magnitude = magnitude_of_layer});
}

}  // namespace thaw::ops
