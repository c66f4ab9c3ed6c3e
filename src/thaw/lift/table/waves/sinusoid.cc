// Cosines and sines of places between two ends, whatever the length.
#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <numbers>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/generators.h"
#include "thaw/lift/table/waves/spans.h"
#include "thaw/lift/table/waves/wave.h"

namespace thaw::lifting {
namespace {

// By places, rising from above 0.
std::vector<Sample> samples_at(const View& column, const Span& span) {
  std::vector<Sample> samples;
  const Size& n = column.length();
  for (size_t k = 0; k < column.traces(); ++k) {
    for (int64_t i = 0; i < n.at[k]; ++i) {
      const double x = span.at(i, n.at[k]);
      if (x > 0) samples.push_back({x, column.at(k, i, 0)});
    }
  }
  std::ranges::sort(samples, {}, [](const Sample& sample) { return std::pair(sample.x, sample.entry); });
  return samples;
}

Formula place_formula(const Span& span, const Size& n) { return place_in(span, position(0), n); }

Formula wave_formula(const Wave& wave, bool is_sine, const Formula& place) {
  const Formula turned = real_number(wave.step) * place;
  return is_sine ? sine(turned) : cosine(turned);
}

// A wave over the places of a span that is near all entries.
struct Turning {
  const Span* span;
  Wave wave;
  bool is_sine;
  double turns() const { return std::abs(wave.step) * static_cast<double>(span->of) / (2 * std::numbers::pi); }
  double at(int64_t i, int64_t n) const { return wave.at(span->at(i, n)); }
};

bool turn_alike(double a, double b) { return std::abs(a - b) <= 1e-4 * std::max(a, b); }

// Times the turns of a wave: what turns no more often is about as likely, of two places a turn in some trace, and of fewer in each.
constexpr double kAsPlain = 4, kOfFew = 12;

using SamplesBySpan = std::vector<std::vector<Sample>>;
SamplesBySpan samples_by_span(const View& column) {
  SamplesBySpan all;
  for (const Span& span : all_spans()) all.push_back(samples_at(column, span));
  return all;
}

// All of so many turns, and some that turn more often. The slowest first, and of those that turn alike the spans as they are listed above.
std::vector<Turning> waves_near(const SamplesBySpan& all, double turns) {
  constexpr int kFirst = 4, kMost = 256;
  std::vector<Turning> near;
  for (size_t i = 0; i < all.size(); ++i) {
    const Span& span = all_spans()[i];
    const std::vector<Sample>& samples = all[i];
    if (samples.empty()) continue;
    const double of_first = turns / static_cast<double>(span.of) * samples.front().x;
    const int most = std::clamp(static_cast<int>(std::min<double>(of_first, kMost)) + 1, kFirst, kMost);
    for (const bool is_sine : {false, true})
      for (const Angle& angle : angles_near(samples, is_sine, most))
        near.push_back({&span, wave_of(is_sine, angle.step), is_sine});
  }
  std::ranges::stable_sort(near, {}, &Turning::turns);
  for (auto first = near.begin(); first != near.end();) {
    const auto end =
        std::find_if(first, near.end(), [&](const Turning& wave) { return !turn_alike(wave.turns(), first->turns()); });
    std::stable_sort(first, end, [](const Turning& a, const Turning& b) { return std::less()(a.span, b.span); });
    first = end;
  }
  return near;
}

// In some trace that shows it turn, and in each such trace: whether it turns more than half a turn from place to place.
struct Sampled {
  bool few_in_one = false, few_in_each = true;
};
Sampled sampled(const View& column, const Turning& wave) {
  constexpr double kHalf = 0.5 + 1e-4;
  Sampled out;
  for (size_t k = 0; k < column.traces(); ++k) {
    const std::vector<double>& entries = column.entries[k];
    const auto differs = [&](double entry) { return !column.close(entry, entries.front()); };
    if (std::ranges::none_of(entries, differs)) continue;
    const bool is_few = wave.turns() / wave.span->under(column.length().at[k]) > kHalf;
    out.few_in_one |= is_few;
    out.few_in_each &= is_few;
  }
  return out;
}

// Whether they are one function, told by lengths around those of the traces.
bool are_same(const Turning& a, const Turning& b, const Size& n) {
  constexpr double kNear = 1e-3;
  constexpr int64_t kLengths = 8;
  const int64_t longest = std::ranges::max(n.at);
  for (int64_t length = longest + 1; length <= longest + kLengths; ++length)
    for (int64_t i = 0; i < length; ++i)
      if (std::abs(a.at(i, length) - b.at(i, length)) > kNear) return false;
  return true;
}

std::optional<Generated> fit_wave(const View& column, const Turning& wave) {
  const Size& n = column.length();
  return checked(column, wave_formula(wave.wave, wave.is_sine, place_formula(*wave.span, n)),
                 fmt::format("{} of {:.6g} times {} of {}", wave.is_sine ? "sin" : "cos", wave.wave.step,
                             wave.span->name, dim::to_string(n.dim)));
}

}  // namespace

std::optional<Generated> fit_sinusoid_of_place(const Given& given) {
  const View& column = given.view;
  const Size& n = column.length();
  if (!are_waves(column) || !may_be_raised_wave(column)) return std::nullopt;
  const SamplesBySpan samples = samples_by_span(column);
  for (const Turning& each : waves_near(samples, 0)) {
    auto fit = fit_wave(column, each);
    if (!fit) continue;
    // Of places that are few in every trace, others that turn about as often may give the same entries. Nothing tells then, but for another
    // column of the table that turns as often: its frequencies are those of sines and cosines alike. Nor does it where two frequencies of the
    // table give them.
    const std::vector<double>& known = given.context.turns;
    const auto is_known = [&](const Turning& wave) {
      return std::ranges::any_of(known, [&](double turns) { return turn_alike(turns, wave.turns()); });
    };
    const Sampled how = sampled(column, each);
    const double as_plain = (how.few_in_each ? kOfFew : kAsPlain) * each.turns();
    const bool is_told = is_known(each);
    const auto is_open = [&](const Turning& other) {
      const bool may_be = is_known(other) || (!is_told && other.turns() <= as_plain);
      return may_be && !are_same(each, other, n) && fit_wave(column, other);
    };
    const double most = std::max(as_plain, known.empty() ? 0 : std::ranges::max(known));
    if (std::ranges::any_of(waves_near(samples, most), is_open)) {
      std::optional<double>& fewest = given.context.open_turns;
      fewest = std::min(fewest.value_or(each.turns()), each.turns());
      return std::nullopt;
    }
    fit->turns = each.turns();
    fit->may_be_slower = how.few_in_one;
    return fit;
  }
  return std::nullopt;
}

std::optional<Generated> fit_raised_sinusoid_of_place(const Given& given) {
  constexpr size_t kFewest = 6, kMost = 24;  // entries that are looked at
  constexpr double kNear = 1e-5;
  const View& column = given.view;
  const Size& n = column.length();
  if (!may_be_raised_wave(column)) return std::nullopt;
  for (const Span& span : all_spans()) {
    const std::vector<Sample> all = samples_at(column, span);
    std::vector<Sample> some;
    for (size_t i = 0; i < all.size(); i += all.size() / kMost + 1) some.push_back(all[i]);
    if (some.size() < kFewest) continue;
    for (const bool is_sine : {true, false}) {
      const auto wave = raised_wave_of(some, is_sine);
      if (!wave || mean_square_of(*wave, some) > kNear * kNear) continue;
      if (auto fit = checked(column, wave_formula(*wave, is_sine, place_formula(span, n)) + real_number(wave->raised),
                             fmt::format("{:.6g} + {} of {:.6g} times {} of {}", wave->raised, is_sine ? "sin" : "cos",
                                         wave->step, span.name, dim::to_string(n.dim))))
        return fit;
    }
  }
  return std::nullopt;
}

}  // namespace thaw::lifting
