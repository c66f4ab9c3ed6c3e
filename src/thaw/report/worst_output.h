// How far outputs are apart, as `thaw verify` says it.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "thaw/report/html_page.h"
#include "thaw/verify.h"

namespace thaw::report {

// How far two outputs are apart, which is beyond any number where an element is NaN or infinite on one side, or is a string.
struct MaxDiff {
  double value = 0;
  std::string_view word;  // in place of the number

  std::string text() const { return word.empty() ? fmt::format("{:.3g}", value) : std::string(word); }
  HtmlCell cell() const { return word.empty() ? HtmlCell::number(value) : HtmlCell::text(word); }
};

inline MaxDiff max_diff_of(const Comparison& figures) {
  constexpr double kBeyond = std::numeric_limits<double>::infinity();
  if (figures.not_finite > 0) return {kBeyond, "not finite"};
  if (figures.max_abs_diff == 0 && !figures.agrees) return {kBeyond, "not equal"};
  return {figures.max_abs_diff, {}};
}

// Of elements that are finite on both sides; none where others are not.
inline std::optional<double> cosine_of(const Comparison& figures) {
  return figures.not_finite > 0 ? std::nullopt : std::optional(figures.cosine);
}
inline std::string cosine_text(std::optional<double> cosine) { return cosine ? fmt::format("{:.6f}", *cosine) : "-"; }
inline HtmlCell cosine_cell(std::optional<double> cosine) {
  return cosine ? HtmlCell::cosine(*cosine) : HtmlCell::text("");
}

// Of a point: the output that is farthest from the reference's, and the lowest cosine of all.
struct Worst {
  const OutputResult* output = nullptr;
  std::optional<double> lowest_cosine = 1;  // none where an output has none

  void add(const OutputResult& other) {
    if (!other.comparison.comparable) return;
    const auto cosine = cosine_of(other.comparison);
    lowest_cosine = lowest_cosine && cosine ? std::optional(std::min(*lowest_cosine, *cosine)) : std::nullopt;
    if (output == nullptr || max_diff_of(other.comparison).value > max_diff().value) output = &other;
  }
  bool is_known() const { return output != nullptr; }
  MaxDiff max_diff() const { return max_diff_of(output->comparison); }
};

}  // namespace thaw::report
