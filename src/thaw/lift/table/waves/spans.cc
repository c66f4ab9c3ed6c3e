#include "thaw/lift/table/waves/spans.h"

#include <algorithm>

namespace thaw::lifting {
namespace {

constexpr double kAlmostNone = 1e-6;  // of DETR and its kin
constexpr Span kSpans[] = {{"centres from -1 to 1", 2, 1, false, -1},
                           {"ends from -1 to 1", 2, 0, true, -1},
                           {"centres from 0 to 1, doubled", 2, 1, false, 0},
                           {"ends from 0 to 1", 1, 0, true, 0},
                           {"starts from 0 to 1", 1, 0, false, 0},
                           {"counts from 0 to 1", 1, 1, false, 0},
                           {"centres from 0 to almost 1, doubled", 2, 1, false, 0, kAlmostNone},
                           {"counts from 0 to almost 1", 1, 1, false, 0, kAlmostNone}};

}  // namespace

double Span::under(int64_t length) const {
  return static_cast<float>(ends ? std::max<int64_t>(length - 1, 1) : length) + static_cast<float>(more);
}

double Span::at(int64_t index, int64_t length) const {
  return static_cast<double>(of * index + from) / under(length) + start;
}

std::span<const Span> all_spans() { return kSpans; }

Formula place_in(const Span& span, const Formula& index, const Size& length) {
  const Size steps = span.ends ? length - constant_size(1, length.at.size()) : length;
  Formula under = as_real(span.ends ? larger(steps, Formula(1)) : Formula(steps));
  if (span.more != 0) under = in_single(under + real_number(span.more));
  return as_real(index * Formula(span.of) + Formula(span.from)) / under + real_number(span.start);
}

}  // namespace thaw::lifting
