#include "thaw/frozen/explain.h"

#include <algorithm>
#include <iterator>

#include "thaw/frozen/grouping.h"

namespace thaw::frozen {

using dim::Dim;
using ops::Fact;
using ops::Shape;

namespace {

// The dims as numbers, to group axes by. A symbol that the model was frozen at no value of, so far as is known, is
// given a prime of its own: it stands on both sides of a Reshape, and no product of other sizes comes to it.
std::optional<std::vector<int64_t>> evaluate_all(const std::vector<Dim>& dims, const dim::Assignment& hints) {
  constexpr int64_t kPrimes[] = {1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049,
                                 1051, 1061, 1063, 1069, 1087, 1091, 1093, 1097};
  std::vector<int64_t> out;
  out.reserve(dims.size());
  for (Dim d : dims) {
    auto v = dim::evaluate(d, hints);
    if (!v && d.is_symbolic()) {
      dim::Assignment with_primes = hints;
      for (int id : dim::symbols_of(d)) with_primes.emplace(id, kPrimes[static_cast<size_t>(id) % std::size(kPrimes)]);
      v = dim::evaluate(d, with_primes);
    }
    if (!v || *v <= 0) return std::nullopt;
    out.push_back(*v);
  }
  return out;
}

bool any_symbolic(const std::vector<Dim>& dims) {
  return std::any_of(dims.begin(), dims.end(), [](Dim d) { return d.is_symbolic(); });
}

class ReshapeExplainer {
 public:
  ReshapeExplainer(const infer::NodeVisit& visit, const dim::Assignment& hints) : visit_(visit), hints_(hints) {}

  std::vector<Meeting> run() {
    const Fact& data = visit_.input(0);
    if (!data.shape || visit_.outputs.empty() || !visit_.outputs[0].is_tensor()) return {};
    auto target = operand_elements(visit_, 1);
    if (!target || !(any_symbolic(*data.shape) || any_symbolic(*target))) return {};
    in_ = *data.shape;
    target_ = *target;
    auto in_values = evaluate_all(in_, hints_);
    if (!in_values || !resolve_target(*in_values)) return {};
    auto out_values = evaluate_all(out_, hints_);
    if (!out_values) return {};
    auto groups = group_by_product(*in_values, *out_values);
    if (!groups) return {};
    for (const Group& g : *groups) explain_group(g, *in_values, *out_values);
    Fact& out = visit_.outputs[0];
    if (out.shape && out.shape->size() == out_.size()) out.shape = out_;
    return std::move(meetings_);
  }

 private:
  // out_: the target with 0 and -1 replaced; false where that cannot be done at the frozen sizes.
  bool resolve_target(const std::vector<int64_t>& in_values) {
    int64_t total = 1, known = 1;
    for (int64_t v : in_values)
      if (__builtin_mul_overflow(total, v, &total)) return false;
    bool keep_zero = visit_.node.attribute_int("allowzero", 0) != 0;
    out_ = target_;
    for (size_t j = 0; j < out_.size(); ++j) {
      if (out_[j].is_constant(0) && !keep_zero) {
        if (j >= in_.size()) return false;
        out_[j] = in_[j];
      }
      if (out_[j].is_constant(-1)) {
        if (free_ >= 0) return false;
        free_ = static_cast<int>(j);
        continue;
      }
      auto v = evaluate_all({out_[j]}, hints_);
      if (!v || __builtin_mul_overflow(known, v->front(), &known)) return false;
    }
    if (free_ >= 0) {
      if (total % known != 0) return false;
      out_[static_cast<size_t>(free_)] = total / known;
    }
    return true;
  }

  bool is_frozen_element(size_t j) const { return target_[j].is_constant() && *target_[j].constant() > 0; }

  void meet_shape(size_t j, Dim expression, bool product) {
    Meeting m;
    m.input = 1;
    m.element = static_cast<int>(j);
    m.value = *target_[j].constant();
    m.expression = expression;
    m.is_shape = true;
    m.silent = free_ >= 0;
    m.product = product;
    meetings_.push_back(m);
  }

  void explain_group(const Group& g, const std::vector<int64_t>& in_values, const std::vector<int64_t>& out_values) {
    Dim e = dim::product(std::span(in_).subspan(g.in_begin, g.in_end - g.in_begin));
    bool in_symbolic = e.is_symbolic();
    bool out_symbolic = false, has_free = false;
    std::vector<size_t> frozen;  // constants of the target, ones apart
    for (size_t j = g.out_begin; j < g.out_end; ++j) {
      out_symbolic |= target_[j].is_symbolic() || (target_[j].is_constant(0) && out_[j].is_symbolic());
      has_free |= static_cast<int>(j) == free_;
      if (is_frozen_element(j) && out_values[j] != 1) frozen.push_back(j);
    }
    if (!in_symbolic) {
      if (out_symbolic) meet_data(g, in_values);
      return;
    }
    // A dim of 1 that stands for a symbol of that value (a batch of one) keeps it.
    if (g.in_end - g.in_begin == 1 && g.out_end - g.out_begin == 1) {
      if (is_frozen_element(g.out_begin)) meet_shape(g.out_begin, e, false);
      out_[g.out_begin] = e;
      return;
    }
    Dim others = 1;
    for (size_t j = g.out_begin; j < g.out_end; ++j)
      if (static_cast<int>(j) != free_ && !(frozen.size() == 1 && !has_free && j == frozen[0]))
        others = others * out_[j];
    if (has_free) {
      // [-1, 4] of N: a structural factor, unless the group's constants leave nothing for the symbol.
      if (out_values[static_cast<size_t>(free_)] == 1 && !frozen.empty()) {
        for (size_t j : frozen) meet_shape(j, e, frozen.size() > 1);
        if (frozen.size() == 1) {
          out_[frozen[0]] = e;
          out_[static_cast<size_t>(free_)] = 1;
        }
        return;
      }
      out_[static_cast<size_t>(free_)] = quotient(e, others);
      return;
    }
    if (out_symbolic) return;  // what is a constant beside a computed size is a structural factor: [h/2, 2] of h
    if (frozen.size() == 1) {
      meet_shape(frozen[0], quotient(e, others), false);
      out_[frozen[0]] = quotient(e, others);
      return;
    }
    if (frozen.empty()) return;
    // Several constants share the size: which of them move with it, one model cannot tell. The largest is taken to
    // where there are two (165 * 4 = patches); more are left as they are.
    for (size_t j : frozen) meet_shape(j, e, true);
    if (frozen.size() == 2) {
      size_t largest = out_values[frozen[0]] >= out_values[frozen[1]] ? frozen[0] : frozen[1];
      size_t rest = largest == frozen[0] ? frozen[1] : frozen[0];
      out_[largest] = quotient(e, out_[rest]);
    }
  }

  // A constant operand (a table) that is given a symbolic shape: its own size is frozen.
  void meet_data(const Group& g, const std::vector<int64_t>& in_values) {
    Dim e = dim::product(std::span(out_).subspan(g.out_begin, g.out_end - g.out_begin));
    std::vector<size_t> sized;
    for (size_t i = g.in_begin; i < g.in_end; ++i)
      if (in_values[i] != 1) sized.push_back(i);
    for (size_t i : sized) {
      Meeting m;
      m.input = 0;
      m.element = static_cast<int>(i);
      m.value = in_values[i];
      m.expression = e;
      m.product = sized.size() > 1;
      meetings_.push_back(m);
    }
  }

  static Dim quotient(Dim e, Dim by) {
    if (auto exact = dim::exact_div(e, by)) return *exact;
    return dim::floor_div(e, by);
  }

  const infer::NodeVisit& visit_;
  const dim::Assignment& hints_;
  std::vector<Dim> in_, target_, out_;
  int free_ = -1;  // where the target has its -1
  std::vector<Meeting> meetings_;
};

// Gather by a constant table along an axis that the inputs size.
std::vector<Meeting> explain_gather(const infer::NodeVisit& visit, const dim::Assignment& hints) {
  const Fact& data = visit.input(0);
  const Fact& indices = visit.input(1);
  if (!data.shape || !indices.shape || visit.outputs.empty() || indices.rank() == 0) return {};
  int64_t axis = visit.node.attribute_int("axis", 0);
  if (axis < 0) axis += data.rank();
  if (axis < 0 || axis >= data.rank()) return {};
  Dim size = data.dim(static_cast<int>(axis));
  auto count = indices.num_elements().constant();
  auto hinted = dim::evaluate(size, hints);
  if (!size.is_symbolic() || !count || *count <= 1 || !hinted || *count != *hinted) return {};
  Meeting m;
  m.input = 1;
  m.value = *count;
  m.expression = size;
  m.is_index = m.silent = true;
  // A table of rank one is the axis anew; one of higher rank spreads it over several axes, which stay as they are.
  Fact& out = visit.outputs[0];
  if (indices.rank() == 1 && out.shape && out.rank() == data.rank()) (*out.shape)[static_cast<size_t>(axis)] = size;
  return {m};
}

std::vector<Meeting> explain_split(const infer::NodeVisit& visit) {
  // A list of one length is the whole axis: the rule has stated the sum, the size carries over.
  if (visit.outputs.size() == 1 && visit.outputs[0].shape && visit.input(0).shape)
    visit.outputs[0].shape = visit.input(0).shape;
  return {};
}

// Constant ends that cut an axis sized by the inputs.
std::vector<Meeting> explain_slice(const infer::NodeVisit& visit, const dim::Assignment& hints) {
  const Fact& data = visit.input(0);
  auto starts = operand_elements(visit, 1), ends = operand_elements(visit, 2);
  if (!data.shape || !starts || !ends || starts->size() != ends->size() || visit.outputs.empty()) return {};
  auto axes = operand_elements(visit, 3), steps = operand_elements(visit, 4);
  std::vector<Meeting> meetings;
  for (size_t k = 0; k < ends->size(); ++k) {
    int64_t axis = static_cast<int64_t>(k);
    if (visit.node.input(3)) {
      if (!axes || k >= axes->size() || !(*axes)[k].is_constant()) return meetings;
      axis = *(*axes)[k].constant();
      if (axis < 0) axis += data.rank();
    }
    if (axis < 0 || axis >= data.rank()) return meetings;
    bool plain_step = !visit.node.input(4) || (steps && k < steps->size() && (*steps)[k].is_constant(1));
    Dim size = data.dim(static_cast<int>(axis));
    auto end = (*ends)[k].constant();
    if (auto rows = size.constant(); rows && (*ends)[k].is_symbolic()) {
      // Something of constant size cut to a computed one: frozen when that is all of it.
      if (dim::evaluate((*ends)[k], hints) != *rows) continue;
      Meeting m;
      m.input = 0;
      m.element = static_cast<int>(axis);
      m.value = *rows;
      m.expression = (*ends)[k];
      m.silent = true;
      meetings.push_back(m);
      continue;
    }
    if (!size.is_symbolic() || !end || *end <= 1 || *end > (int64_t{1} << 31) - 2 || !plain_step) continue;
    auto hinted = dim::evaluate(size, hints);
    // Cut back to a size that the axis was padded from.
    if (!hinted || *hinted != *end) {
      for (int id : dim::symbols_of(size)) {
        auto value = hints.find(id);
        if (value == hints.end() || value->second != *end) continue;
        size = dim::scope_of(size)->symbol_at(id);
        hinted = end;
        break;
      }
    }
    Meeting m;
    m.input = 2;
    m.element = static_cast<int>(k);
    m.value = *end;
    m.expression = size;
    m.is_shape = m.silent = true;
    m.weak = !hinted || *hinted != *end;
    Fact& out = visit.outputs[0];
    if (!m.weak && (*starts)[k].is_constant(0) && out.shape && axis < out.rank())
      (*out.shape)[static_cast<size_t>(axis)] = size;
    meetings.push_back(m);
  }
  return meetings;
}

// Resize to constant sizes of axes that the inputs size.
std::vector<Meeting> explain_resize(const infer::NodeVisit& visit, const dim::Assignment& hints) {
  const Fact& data = visit.input(0);
  auto sizes = operand_elements(visit, 3);
  if (!data.shape || !sizes || visit.outputs.empty() || !visit.outputs[0].shape) return {};
  if (sizes->size() != data.shape->size() || visit.node.attribute("axes")) return {};
  std::vector<Meeting> meetings;
  for (size_t k = 0; k < sizes->size(); ++k) {
    Dim size = (*data.shape)[k];
    auto target = (*sizes)[k].constant();
    auto hinted = dim::evaluate(size, hints);
    if (!size.is_symbolic() || !target || !hinted || *hinted <= 0 || *target <= 0) continue;
    Dim e;
    if (*target % *hinted == 0)
      e = size * Dim(*target / *hinted);
    else if (*hinted % *target == 0)
      e = dim::floor_div(size, *hinted / *target);
    else
      continue;
    Meeting m;
    m.input = 3;
    m.element = static_cast<int>(k);
    m.value = *target;
    m.expression = e;
    m.is_shape = m.silent = true;
    meetings.push_back(m);
    (*visit.outputs[0].shape)[k] = e;
  }
  return meetings;
}

// A constant amount of padding at one end of an axis that the inputs size: up to a length that was fixed. (Padding for
// a window is the same at both ends.)
std::vector<Meeting> explain_pad(const infer::NodeVisit& visit) {
  const Fact& data = visit.input(0);
  auto pads = operand_elements(visit, 1);
  if (!data.shape || !pads || visit.node.input(3)) return {};
  size_t rank = data.shape->size();
  if (pads->size() != 2 * rank) return {};
  std::vector<Meeting> meetings;
  for (size_t k = 0; k < rank; ++k) {
    auto begin = (*pads)[k].constant(), end = (*pads)[rank + k].constant();
    if (!(*data.shape)[k].is_symbolic() || !begin || !end || *begin == *end) continue;
    Meeting m;
    m.input = 1;
    m.element = static_cast<int>(rank + k);
    m.value = *end != 0 ? *end : *begin;
    m.expression = (*data.shape)[k];
    m.is_shape = m.silent = m.weak = true;
    meetings.push_back(m);
  }
  return meetings;
}

}  // namespace

std::optional<std::vector<Dim>> operand_elements(const infer::NodeVisit& visit, int i) {
  const Fact& fact = visit.input(i);
  if (!fact.elements) return std::nullopt;
  std::vector<Dim> out;
  for (const ops::Element& e : *fact.elements) out.push_back(e.as_dim());
  return out;
}

std::vector<Meeting> explain(const infer::NodeVisit& visit, const dim::Assignment& hints) {
  if (!visit.node.domain().empty()) return {};
  const std::string& op = visit.node.op_type();
  if (op == "Reshape") return ReshapeExplainer(visit, hints).run();
  if (op == "Gather") return explain_gather(visit, hints);
  if (op == "Split") return explain_split(visit);
  if (op == "Slice") return explain_slice(visit, hints);
  if (op == "Pad") return explain_pad(visit);
  if (op == "Resize") return explain_resize(visit, hints);
  return {};
}

}  // namespace thaw::frozen
