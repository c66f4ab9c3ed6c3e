#include "thaw/dim/text/size_names.h"

#include <algorithm>
#include <charconv>
#include <unordered_set>

#include "thaw/core/ascii.h"
#include "thaw/core/error.h"
#include "thaw/core/suggest.h"
#include "thaw/dim/text/text.h"

namespace thaw::dim {
namespace {

std::optional<int64_t> index_of(std::string_view digits) {
  int64_t index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size() || index < 0) return std::nullopt;
  return index;
}

std::string list_of(const std::vector<std::string>& names) {
  constexpr size_t kMostShown = 200;  // characters
  std::string text;
  for (const std::string& name : names) {
    if (text.size() > kMostShown) return text + ", …";
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

[[noreturn]] void refuse_twice(const std::string& name, std::string_view where, int64_t first, int64_t second) {
  throw Error(ErrorCode::kInvalidArgument,
              {.what = "'" + name + "' is given as " + std::to_string(first) + " and as " + std::to_string(second),
               .where = std::string(where),
               .expected = "one number for each size"});
}

}  // namespace

bool is_size_name(std::string_view text) {
  const auto is_letter = [](unsigned char c) { return ascii::is_letter(c) || c == '_'; };
  const auto may_follow = [&](unsigned char c) { return is_letter(c) || ascii::is_digit(c) || c == '.' || c == ':'; };
  return !text.empty() && is_letter(static_cast<unsigned char>(text.front())) && std::ranges::all_of(text, may_follow);
}

std::optional<std::pair<std::string_view, int64_t>> split_index(std::string_view name) {
  const size_t open = name.rfind('[');
  if (open == std::string_view::npos || open == 0 || !name.ends_with(']')) return std::nullopt;
  const auto index = index_of(name.substr(open + 1, name.size() - open - 2));
  if (!index) return std::nullopt;
  return std::pair(name.substr(0, open), *index);
}

SizeNames::SizeNames(const Scope& scope, std::vector<InputSizes> inputs) : scope_(scope), inputs_(std::move(inputs)) {
  std::unordered_set<int> seen;
  for (const InputSizes& input : inputs_) {
    if (!input.dims) continue;
    for (const Dim dim : *input.dims) {
      for (const int id : symbols_of(dim))
        if (seen.insert(id).second) known_.push_back(scope.symbols()[static_cast<size_t>(id)].name);
    }
  }
  for (const InputSizes& input : inputs_)
    if (input.holds_integers) known_.push_back(input.name + "[i]");
}

std::optional<SizeName> SizeNames::of_axis(size_t input, int64_t axis) const {
  const InputSizes& of = inputs_[input];
  if (!of.dims || axis >= static_cast<int64_t>(of.dims->size())) return std::nullopt;
  const Dim dim = (*of.dims)[static_cast<size_t>(axis)];
  SizeName found{.text = of.name + "_dim" + std::to_string(axis), .input = input, .index = axis};
  if (const int id = scope_.symbol_id(dim); id >= 0) {
    found.text = scope_.symbols()[static_cast<size_t>(id)].name;
    found.symbol = id;
    return found;
  }
  if (!dim.constant()) return std::nullopt;
  found.kind = SizeName::Kind::kNumber;
  found.number = *dim.constant();
  return found;
}

std::optional<SizeName> SizeNames::find(std::string_view name) const {
  if (const auto symbol = scope_.find(name)) {
    const int id = scope_.symbol_id(*symbol);
    const SymbolInfo& info = scope_.symbols()[static_cast<size_t>(id)];
    if (info.kind == SymbolKind::kInputDim && std::ranges::find(known_, info.name) != known_.end())
      return SizeName{.text = info.name, .symbol = id};
  }
  if (const auto indexed = split_index(name)) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].name != indexed->first) continue;
      if (!inputs_[i].holds_integers) return of_axis(i, indexed->second);
      const std::string text = inputs_[i].name + "[" + std::to_string(indexed->second) + "]";
      const auto symbol = scope_.find(text);
      return SizeName{.kind = SizeName::Kind::kElement,
                      .text = text,
                      .symbol = symbol ? scope_.symbol_id(*symbol) : -1,
                      .input = i,
                      .index = indexed->second};
    }
  }
  constexpr std::string_view kAxis = "_dim";
  const size_t at = name.rfind(kAxis);
  const auto axis = at == std::string_view::npos ? std::nullopt : index_of(name.substr(at + kAxis.size()));
  for (size_t i = 0; axis && i < inputs_.size(); ++i)
    if (inputs_[i].name == name.substr(0, at)) return of_axis(i, *axis);
  return std::nullopt;
}

void SizeNames::refuse(std::string_view name, std::string_view where) const {
  const std::vector<std::string_view> known(known_.begin(), known_.end());
  throw Error(ErrorCode::kInvalidArgument,
              {.what = "there is no size '" + std::string(name) + "'" + did_you_mean(name, known),
               .where = std::string(where),
               .expected = known_.empty() ? "no sizes: every dim of the model's inputs is a number"
                                          : "one of " + list_of(known_) + ", or INPUT[axis]",
               .next = "`thaw inspect` lists the inputs and their sizes"});
}

SizeName SizeNames::require(std::string_view name, std::string_view where) const {
  if (auto found = find(name)) return std::move(*found);
  refuse(name, where);
}

std::vector<std::pair<std::string, int64_t>> SizeNames::resolve(
    const std::vector<std::pair<std::string, int64_t>>& sizes, std::string_view where) const {
  std::vector<std::pair<std::string, int64_t>> result;
  for (const auto& [name, size] : sizes) {
    const SizeName found = require(name, where);
    if (found.kind == SizeName::Kind::kNumber) {
      if (found.number == size) continue;
      throw Error(ErrorCode::kInvalidArgument, {.what = "'" + name + "' is " + std::to_string(found.number) +
                                                        " in the model, not " + std::to_string(size),
                                                .where = std::string(where),
                                                .expected = "a size that is free, or that very number",
                                                .next = "`thaw fix` and `thaw lift` free sizes"});
    }
    const auto same = [&](const auto& other) { return other.first == found.text; };
    const auto before = std::ranges::find_if(result, same);
    if (before == result.end()) {
      result.emplace_back(found.text, size);
    } else if (before->second != size) {
      refuse_twice(found.text, where, before->second, size);
    }
  }
  return result;
}

SpecGroup SizeNames::resolve(SpecGroup group) const {
  for (SpecEntry& entry : group)
    if (const auto found = entry.is_relation() ? std::nullopt : find(entry.name)) entry.name = found->text;
  for (size_t i = 0; i < group.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (group[i].is_relation() || group[i].name != group[j].name) continue;
      throw Error(
          ErrorCode::kInvalidArgument,
          {.what = "'" + group[i].name + "' is given twice", .where = "sizes", .expected = "one entry for each size"});
    }
  }
  return group;
}

}  // namespace thaw::dim
