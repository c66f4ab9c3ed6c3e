#include "thaw/frozen/equations.h"

#include <algorithm>

#include "thaw/core/error.h"
#include "thaw/frozen/explain.h"

namespace thaw::frozen {

using dim::Dim;
using ops::Fact;

namespace {

// Drops constants at the end of both lists as long as they make up equal products: [n, s, 8] and [-1, 7, 2, 4] are left
// as [n, s] and [-1, 7].
void drop_constant_tail(std::vector<Dim>& in, std::vector<Dim>& out) {
  while (!in.empty() && in.back().is_constant()) {
    int64_t wanted = *in.back().constant(), product = 1;
    size_t keep = out.size();
    while (product < wanted && keep > 0 && out[keep - 1].is_constant() && *out[keep - 1].constant() > 0)
      product *= *out[--keep].constant();
    if (product != wanted) return;
    in.pop_back();
    out.resize(keep);
  }
}

std::vector<ops::Obligation> aligned_axes(const infer::NodeVisit& visit) {
  auto target = operand_elements(visit, 1);
  // A Reshape that goes through at every size (chunks of 10 of what was padded to a multiple of 10) fixes none.
  bool may_fail = std::any_of(visit.stated.begin(), visit.stated.end(), [](const ops::Obligation& o) {
    return o.kind == ops::ObligationKind::kEqual || o.kind == ops::ObligationKind::kDivisible;
  });
  if (!target || !may_fail || !visit.input(0).shape) return {};
  std::vector<Dim> in, out;
  for (Dim d : *visit.input(0).shape)
    if (!d.is_constant(1)) in.push_back(d);
  for (Dim d : *target)
    if (!d.is_constant(1)) out.push_back(d);
  drop_constant_tail(in, out);
  std::reverse(in.begin(), in.end());
  std::reverse(out.begin(), out.end());
  drop_constant_tail(in, out);
  if (in.size() != out.size()) return {};
  std::vector<ops::Obligation> equations;
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i].is_constant() && out[i].is_constant() && !dim::same(in[i], out[i]) && !out[i].is_constant(-1)) return {};
    bool meets = in[i].is_symbolic() && out[i].is_constant() && *out[i].constant() > 0;
    if (meets) equations.push_back({&visit.node, ops::ObligationKind::kEqual, in[i], out[i], "axes of a Reshape"});
  }
  return equations;
}

// An index that names every place from 0 to its length once, in whatever order, was made for an axis of that length.
std::vector<ops::Obligation> permuted_axis(const infer::NodeVisit& visit) {
  const Fact& data = visit.input(0);
  const ir::Value* indices = visit.node.input(1);
  const ir::Tensor* table = indices ? indices->constant() : nullptr;
  if (!data.shape || !table || table->dims.size() != 1 || table->dims[0] < 3 || !ir::is_integer(table->data_type))
    return {};
  int64_t axis = visit.node.attribute_int("axis", 0);
  if (axis < 0) axis += data.rank();
  if (axis < 0 || axis >= data.rank() || !data.dim(static_cast<int>(axis)).is_symbolic()) return {};
  std::vector<int64_t> places;
  try {
    places = table->to_int64();
  } catch (const Error&) {
    return {};  // its data cannot be read
  }
  std::sort(places.begin(), places.end());
  for (size_t i = 0; i < places.size(); ++i)
    if (places[i] != static_cast<int64_t>(i)) return {};
  return {{&visit.node, ops::ObligationKind::kEqual, data.dim(static_cast<int>(axis)), table->dims[0],
           "an index and its axis"}};
}

}  // namespace

std::vector<ops::Obligation> suggested_equations(const infer::NodeVisit& visit) {
  if (!visit.node.domain().empty()) return {};
  if (visit.node.op_type() == "Reshape") return aligned_axes(visit);
  if (visit.node.op_type() == "Gather") return permuted_axis(visit);
  return {};
}

}  // namespace thaw::frozen
