#include "thaw/check/profiles.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/dim/text/text.h"

namespace thaw::checking {
namespace {

class ProfileSizes {
 public:
  ProfileSizes(const dim::Scope& scope, const dim::SpecGroup& sizes, const NamedSizes& opt) : scope_(scope) {
    for (const auto& [name, value] : opt)
      if (std::ranges::find(sizes, name, &dim::SpecEntry::name) == sizes.end())
        refuse(fmt::format("there is no range of '{}'", name), "--opt", "names that --sizes has too");
    for (const dim::SpecEntry& entry : sizes) {
      const int id = number_of(entry.name);
      if (id < 0) continue;
      const std::string whole = dim::to_string(entry);
      if (!entry.is_range() || std::ranges::any_of(entry.ranges, [](const dim::Range& r) { return !r.last; }))
        refuse(fmt::format("'{}' has no least and largest size", whole), "--sizes", "a range, such as batch=1..32");
      least[id] = std::ranges::min(entry.ranges, {}, &dim::Range::first).first;
      largest[id] = *std::ranges::max(entry.ranges, {}, [](const dim::Range& r) { return *r.last; }).last;
      best[id] = least[id] == largest[id] ? least[id] : best_of(entry, opt);
    }
  }

  dim::Assignment least, best, largest;

 private:
  [[noreturn]] static void refuse(std::string what, std::string where, std::string expected) {
    throw Error(ErrorCode::kInvalidArgument,
                {.what = std::move(what), .where = std::move(where), .expected = std::move(expected)});
  }

  int number_of(std::string_view name) const {
    const auto& symbols = scope_.symbols();
    const auto found = std::ranges::find(symbols, name, &dim::SymbolInfo::name);
    return found == symbols.end() ? -1 : static_cast<int>(found - symbols.begin());
  }

  static int64_t best_of(const dim::SpecEntry& entry, const NamedSizes& opt) {
    const auto found = std::ranges::find(opt, entry.name, &std::pair<std::string, int64_t>::first);
    if (found == opt.end())
      refuse(fmt::format("there is no best size of '{}'", entry.name), "--opt",
             fmt::format("--opt with {}=SIZE, the size that is used most", entry.name));
    const bool is_in = std::ranges::any_of(entry.ranges, [&](const dim::Range& range) {
      return found->second >= range.first && found->second <= *range.last &&
             (found->second - range.first) % range.step == 0;
    });
    if (!is_in)
      refuse(fmt::format("{}={} is not among {}", entry.name, found->second, dim::to_string(entry)), "--opt",
             "a size of the range");
    return found->second;
  }

  const dim::Scope& scope_;
};

}  // namespace

std::vector<ShapeProfile> profiles_of(const ir::Model& model, const infer::Result& inferred, const dim::Scope& scope,
                                      const dim::SpecGroup& sizes, const NamedSizes& opt) {
  const ProfileSizes at(scope, sizes, opt);
  std::vector<ShapeProfile> profiles;
  for (const ir::Value* input : model.graph->inputs()) {
    if (input->fixed_constant()) continue;
    const auto& shape = inferred.fact(input).shape;
    if (!shape)
      throw Error(ErrorCode::kUnsupported, {.what = fmt::format("input '{}' is declared without a rank", input->name()),
                                            .where = model.path.string(),
                                            .expected = "dims of every input, by names where they vary"});
    if (std::ranges::all_of(*shape, [](dim::Dim d) { return d.is_constant(); })) continue;
    ShapeProfile profile{.input = input->name(), .least = {}, .opt = {}, .largest = {}};
    for (const dim::Dim size : *shape) {
      const auto least = dim::evaluate(size, at.least), best = dim::evaluate(size, at.best),
                 largest = dim::evaluate(size, at.largest);
      if (!least || !best || !largest)
        throw Error(
            ErrorCode::kInvalidArgument,
            {.what = fmt::format("there is no range of '{}', of input '{}'", dim::to_string(size), input->name()),
             .where = "--sizes",
             .expected = fmt::format("a range of each free size, such as {}=1..32", dim::to_string(size))});
      profile.least.push_back(*least);
      profile.opt.push_back(*best);
      profile.largest.push_back(*largest);
    }
    profiles.push_back(std::move(profile));
  }
  return profiles;
}

}  // namespace thaw::checking
