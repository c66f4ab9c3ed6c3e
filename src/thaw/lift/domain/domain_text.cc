// What a domain says: to a reader of the report, and to `check` (domain.h).
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/domain/domain.h"

namespace thaw::lifting {

std::vector<Note> Domain::notes() const {
  constexpr std::string_view kTells = "a trace at another size extends this";
  std::vector<Note> notes;
  for (const Congruence& c : congruences)
    notes.push_back({dim::to_string(c.size),
                     c.remainder == 0
                         ? fmt::format("valid for multiples of {}; {}", c.modulus, kTells)
                         : fmt::format("valid for multiples of {} plus {}; {}", c.modulus, c.remainder, kTells),
                     {}});
  for (const auto& [size, of] : multiples)
    notes.push_back(
        {dim::to_string(size), fmt::format("valid for multiples of {}; {}", dim::to_string(of), kTells), {}});
  for (const Limit& limit : limits) {
    if (limit.of == Limit::Of::kSign) {
      notes.push_back({dim::to_string(limit.most),
                       "valid from 0, as no trace has it below; a trace at sizes where it is extends this",
                       {}});
      continue;
    }
    if (limit.size.is_constant(0)) {
      notes.push_back({dim::to_string(limit.most), "valid from 0, as a table has so many entries", {}});
      continue;
    }
    if (limit.of == Limit::Of::kWindow) {
      notes.push_back({dim::to_string(limit.most),
                       fmt::format("valid from {}, as no trace is shorter than a window; a smaller trace extends this",
                                   dim::to_string(limit.size)),
                       {}});
      continue;
    }
    if (limit.of == Limit::Of::kMask) {
      notes.push_back(
          {dim::to_string(limit.size),
           fmt::format("valid up to {}, as a mask leaves nothing out in any trace; a larger trace extends this",
                       dim::to_string(limit.most)),
           {}});
      continue;
    }
    const bool is_most = limit.most.is_constant();
    notes.push_back({dim::to_string(is_most ? limit.size : limit.most),
                     fmt::format("valid {} {}, where a table of the traces ends; a {} trace extends this",
                                 is_most ? "up to" : "from", dim::to_string(is_most ? limit.most : limit.size),
                                 is_most ? "larger" : "smaller"),
                     {}});
  }
  for (const EqualSides& s : squares)
    notes.push_back(
        {dim::to_string(s.symbol),
         fmt::format(
             "valid where axes {} and {} of '{}' are equal, as in every trace; a trace where they differ extends this",
             s.axis, s.other, s.input->name()),
         {}});
  for (const Variable* v : fixed)
    notes.push_back({dim::to_string(v->symbol),
                     fmt::format("valid for {}; a trace at another value extends this", v->at.front()),
                     {}});
  for (const Undecided& u : undecided) {
    const std::string other = dim::to_string(u.other);
    const std::string telling = u.telling.empty() ? "where it is not" : fmt::format("at {}", u.telling);
    notes.push_back(
        {dim::to_string(u.chosen),
         u.needed_by.empty()
             ? fmt::format("valid where it is {}, which explains the traces as well; a trace {} tells", other, telling)
             : fmt::format("valid where it is {}, as elsewhere {} does not run", other, u.needed_by),
         {}});
  }
  return notes;
}

std::vector<std::string> Domain::relations() const {
  std::vector<std::string> entries;
  for (const Congruence& c : congruences)
    if (!c.is_of_one_size())
      entries.push_back(fmt::format("({})%{}=={}", dim::to_string(c.size), c.modulus, c.remainder));
  for (const auto& [size, of] : multiples)
    entries.push_back(fmt::format("({})%max({},1)==0", dim::to_string(size), dim::to_string(of)));
  for (const Limit& limit : limits)
    entries.push_back(fmt::format("{}<={}", dim::to_string(limit.size), dim::to_string(limit.most)));
  for (const Undecided& u : undecided)
    entries.push_back(fmt::format("{}=={}", dim::to_string(u.chosen), dim::to_string(u.other)));
  return entries;
}

std::string Domain::text() const {
  std::vector<std::string> entries;
  for (const Congruence& c : congruences)
    if (c.is_of_one_size())
      entries.push_back(
          fmt::format("{}={}..:{}", dim::to_string(c.size), c.remainder == 0 ? c.modulus : c.remainder, c.modulus));
  for (std::string& relation : relations()) entries.push_back(std::move(relation));
  for (const Variable* v : fixed) entries.push_back(fmt::format("{}={}", dim::to_string(v->symbol), v->at.front()));
  return fmt::format("{}", fmt::join(entries, ", "));
}

}  // namespace thaw::lifting
