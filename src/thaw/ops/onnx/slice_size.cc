#include "thaw/ops/onnx/slice_size.h"

#include <cstdint>

#include "thaw/dim/prove/prove.h"
#include "thaw/ops/rule/axis_select.h"
#include "thaw/ops/rule/size_help.h"

namespace thaw::ops {

using dim::Dim;

namespace {

bool is_infinite(Dim end) { return at_least(end, INT32_MAX); }        // "to the end"
bool is_minus_infinite(Dim end) { return at_most(end, -INT32_MAX); }  // "to the beginning", stepping back

// min(a, b), without the min where one of them is provably the smaller.
Dim smaller(Dim a, Dim b) {
  Dim m = dim::min(a, b);
  if (a.is_symbolic() && b.is_symbolic() && m.is_symbolic() && !dim::same(m, a) && !dim::same(m, b)) {
    if (dim::prove_at_most(a, b)) return a;
    if (dim::prove_at_most(b, a)) return b;
  }
  return m;
}

// 1 where d < 0, else 0.
Dim is_negative(Dim d) { return at_least(d, 0) ? Dim(int64_t{0}) : at_most(d, -1) ? Dim(int64_t{1}) : is_less(d, 0); }

// position, or n + position where it is negative.
Dim from_front(Dim position, Dim n) { return position + n * is_negative(position); }

// Elements between start and end going forward; at least 0.
Dim forward_span(Dim n, Dim start, Dim end) {
  if (is_infinite(start)) return 0;
  if (is_minus_infinite(start)) start = 0;
  Dim to = is_infinite(end) ? n : at_least(end, 0) ? smaller(end, n) : smaller(from_front(end, n), n);
  if (at_least(start, 0)) {
    // A start past the end needs no clamp: the span is not positive then.
    if (start.is_constant(0)) return dim::max(to, 0);
    return dim::max(to - start, 0);
  }
  if (at_most(start, -1)) return dim::max(smaller(to - n - start, to), 0);
  return dim::max(to - dim::max(from_front(start, n), 0), 0);
}

// Elements between start and end going backward; at least 0.
Dim backward_span(Dim n, Dim start, Dim end) {
  // "To the end" has no meaning going backward; ONNX and its runtimes do not agree on it.
  if (end.is_constant() && is_infinite(end)) return {};
  Dim last = n - 1;
  Dim from;
  if (is_infinite(start) || start.is_constant(-1))
    from = last;
  else if (at_least(start, 0))
    from = smaller(start, last);
  else
    from = smaller(dim::max(from_front(start, n), 0), last);
  Dim to;
  if (is_minus_infinite(end))
    to = -1;
  else if (at_least(end, 0))
    to = end;
  else
    to = dim::max(from_front(end, n), -1);
  return dim::max(from - to, 0);
}

}  // namespace

Dim slice_size(Dim n, Dim start, Dim end, Dim step) {
  if (n.is_unknown() || start.is_unknown() || end.is_unknown() || step.is_unknown() || step.is_constant(0)) return {};
  if (at_least(step, 1)) return dim::ceil_div(forward_span(n, start, end), step);
  if (at_most(step, -1)) return dim::ceil_div(backward_span(n, start, end), -step);
  Dim forward = dim::ceil_div(forward_span(n, start, end), dim::max(step, 1));
  Dim backward = dim::ceil_div(backward_span(n, start, end), dim::max(-step, 1));
  Dim back = is_negative(step);
  return forward + back * (backward - forward);
}

}  // namespace thaw::ops
