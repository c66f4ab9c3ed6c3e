#include "thaw/prove/term_text.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "thaw/dim/text/text.h"

namespace thaw::proving {
namespace {

std::string hash_text(const void* bytes, size_t size) {
  const XXH128_hash_t hash = XXH3_128bits(bytes, size);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string list_text(const std::vector<int64_t>& ints) { return fmt::format("[{}]", fmt::join(ints, ",")); }

std::string dims_text(const std::vector<dim::Dim>& dims) {
  std::vector<std::string> texts;
  for (const dim::Dim d : dims) texts.push_back(dim::to_string(d));
  return fmt::format("[{}]", fmt::join(texts, ","));
}

std::string head_of(const Term& term) {
  const std::string type(ir::name_of(term.dtype));
  switch (term.kind) {
    case Term::Kind::kInput:
      return term.op.empty() ? "parameter " + hash_text(term.settings.data(), term.settings.size())
                             : "input " + term.op;
    case Term::Kind::kConstant:
      if (term.computed) {
        const Computed& numbers = *term.computed;
        return fmt::format("constant {} {} {} +-{}", type, list_text(term.ints),
                           hash_text(numbers.values.data(), numbers.values.size() * sizeof(double)), numbers.roundings);
      }
      return fmt::format("constant {} {} {}", type, list_text(term.ints),
                         hash_text(term.settings.data(), term.settings.size()));
    case Term::Kind::kSizes:
      return fmt::format("integers {} {} {}", type, list_text(term.ints), dims_text(term.dims));
    case Term::Kind::kSum:
      return "sum " + type;
    case Term::Kind::kProduct:
      return "product " + type;
    case Term::Kind::kOperator:
      break;
  }
  std::string text = term.op + " " + type;
  if (!term.settings.empty()) text += " " + hash_text(term.settings.data(), term.settings.size());
  if (!term.ints.empty()) text += " " + list_text(term.ints);
  if (!term.dims.empty()) text += " " + dims_text(term.dims);
  return text;
}

}  // namespace

std::vector<std::string> text_of(const Terms& terms, TermId id, const std::unordered_map<TermId, std::string>& names) {
  std::vector<std::string> lines;
  std::unordered_map<TermId, size_t> line_of;
  std::vector<std::pair<TermId, bool>> left{{id, false}};  // whether its arguments have their lines
  while (!left.empty()) {
    const auto [at, is_ready] = left.back();
    left.pop_back();
    if (line_of.contains(at)) continue;
    const Term& term = terms[at];
    if (const auto name = names.find(at); name != names.end()) {
      line_of[at] = lines.size();
      lines.push_back(name->second);
      continue;
    }
    if (!is_ready) {
      left.emplace_back(at, true);
      for (size_t i = term.arguments.size(); i-- > 0;)
        if (term.arguments[i] != kNoTerm) left.emplace_back(term.arguments[i], false);
      continue;
    }
    std::string text = head_of(term);
    for (size_t i = 0; i < term.arguments.size(); ++i) {
      text += term.arguments[i] == kNoTerm ? " none" : fmt::format(" %{}", line_of.at(term.arguments[i]));
      if (!term.numbers.empty())
        text += fmt::format("{}{}", term.kind == Term::Kind::kSum ? "*" : "^", term.numbers[i]);
    }
    line_of[at] = lines.size();
    lines.push_back(std::move(text));
  }
  return lines;
}

}  // namespace thaw::proving
