#include "thaw/prove/terms_testing.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>

namespace thaw::proving {
namespace {

using Index = std::vector<int64_t>;
using Dims = std::vector<int64_t>;

int64_t count_of(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

// Calls f(index) for each element of `dims`, in row-major order.
void for_each_index(const Dims& dims, const std::function<void(const Index&)>& f) {
  if (count_of(dims) == 0) return;
  Index index(dims.size(), 0);
  while (true) {
    f(index);
    size_t k = dims.size();
    while (k > 0 && ++index[k - 1] == dims[k - 1]) index[--k] = 0;
    if (k == 0) return;
  }
}

double at(const Evaluated& x, const Index& index) {
  int64_t offset = 0;
  for (size_t k = 0; k < index.size(); ++k) {
    if (index[k] < 0 || index[k] >= x.dims[k]) throw std::logic_error("an index is outside");
    offset = offset * x.dims[k] + index[k];
  }
  return x.values.at(static_cast<size_t>(offset));
}

// As an operand that broadcasts to an element of the result.
double broadcast_at(const Evaluated& x, const Index& index) {
  if (x.dims.size() > index.size()) throw std::logic_error("an operand has more axes than its result");
  Index own(index.end() - static_cast<ptrdiff_t>(x.dims.size()), index.end());
  for (size_t k = 0; k < own.size(); ++k)
    if (x.dims[k] == 1) own[k] = 0;
  return at(x, own);
}

Evaluated made_of(Dims dims, const std::function<double(const Index&)>& f) {
  Evaluated made{std::move(dims), {}};
  for_each_index(made.dims, [&](const Index& index) { made.values.push_back(f(index)); });
  return made;
}

Dims broadcast_dims(const std::vector<Evaluated>& operands) {
  Dims result;
  for (const Evaluated& one : operands) {
    if (one.dims.size() > result.size()) result.insert(result.begin(), one.dims.size() - result.size(), 1);
    for (size_t k = 0; k < one.dims.size(); ++k) {
      int64_t& size = result[result.size() - one.dims.size() + k];
      if (size != one.dims[k] && size != 1 && one.dims[k] != 1) throw std::logic_error("operands do not broadcast");
      if (one.dims[k] != 1) size = one.dims[k];
    }
  }
  return result;
}

double reduced(const std::string& op, const std::vector<double>& values) {
  const auto fold = [&](double first, auto f) { return std::accumulate(values.begin(), values.end(), first, f); };
  if (op == "ReduceProd") return fold(1, std::multiplies<>());
  if (op == "ReduceMax")
    return fold(-std::numeric_limits<double>::infinity(), [](double a, double b) { return std::max(a, b); });
  if (op == "ReduceMin")
    return fold(std::numeric_limits<double>::infinity(), [](double a, double b) { return std::min(a, b); });
  const double sum = fold(0, std::plus<>());
  return op == "ReduceMean" ? sum / static_cast<double>(values.size()) : sum;
}

const std::map<std::string, double (*)(double)>& unary_operators() {
  static const std::map<std::string, double (*)(double)> all = {
      {"node Erf", std::erf},
      {"node Tanh", std::tanh},
      {"node Exp", std::exp},
      {"node Abs", [](double x) { return std::fabs(x); }},
      {"node Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"node Log", [](double x) { return std::log(x); }},
      {"node Softplus", [](double x) { return std::log1p(std::exp(x)); }},
      {"node Not", [](double x) { return x == 0 ? 1.0 : 0.0; }},
      {"node IsNaN", [](double x) { return std::isnan(x) ? 1.0 : 0.0; }},
      {"AtMostZero", [](double x) { return x <= 0 ? 1.0 : 0.0; }},
      {"WithoutNan", [](double x) { return std::isnan(x) ? 0.0 : x; }},
      {"node Sin", std::sin}};
  return all;
}

const std::map<std::string, double (*)(double, double)>& binary_operators() {
  static const std::map<std::string, double (*)(double, double)> all = {
      {"And", [](double a, double b) { return a != 0 && b != 0 ? 1.0 : 0.0; }},
      {"Or", [](double a, double b) { return a != 0 || b != 0 ? 1.0 : 0.0; }},
      {"node Mul", [](double a, double b) { return a * b; }},
      {"node Equal", [](double a, double b) { return a == b ? 1.0 : 0.0; }},
      {"node Less", [](double a, double b) { return a < b ? 1.0 : 0.0; }},
      {"node LessOrEqual", [](double a, double b) { return a <= b ? 1.0 : 0.0; }}};
  return all;
}

Evaluated softmax(const Evaluated& x, int64_t axis, bool is_log) {
  const auto k = static_cast<size_t>(axis + static_cast<int64_t>(x.dims.size()));
  return made_of(x.dims, [&](const Index& index) {
    double sum = 0, largest = -std::numeric_limits<double>::infinity();
    Index other = index;
    for (other[k] = 0; other[k] < x.dims[k]; ++other[k]) largest = std::max(largest, at(x, other));
    for (other[k] = 0; other[k] < x.dims[k]; ++other[k]) sum += std::exp(at(x, other) - largest);
    const double above = at(x, index) - largest;
    return is_log ? above - std::log(sum) : std::exp(above) / sum;
  });
}

Evaluated matmul(const Evaluated& a, const Evaluated& b) {
  const size_t ra = a.dims.size(), rb = b.dims.size();
  const int64_t inner = a.dims[ra - 1];
  if (b.dims[rb - 2] != inner) throw std::logic_error("a product of matrices does not fit");
  const Evaluated batch_a{{a.dims.begin(), a.dims.end() - 2}, {}}, batch_b{{b.dims.begin(), b.dims.end() - 2}, {}};
  Dims dims = broadcast_dims({batch_a, batch_b});
  dims.insert(dims.end(), {a.dims[ra - 2], b.dims[rb - 1]});
  return made_of(dims, [&](const Index& index) {
    double sum = 0;
    for (int64_t i = 0; i < inner; ++i) {
      const auto element = [&](const Evaluated& x, int64_t row, int64_t column) {
        Index own(index.end() - static_cast<ptrdiff_t>(x.dims.size()), index.end());
        for (size_t k = 0; k + 2 < own.size(); ++k)
          if (x.dims[k] == 1) own[k] = 0;
        own[own.size() - 2] = row;
        own[own.size() - 1] = column;
        return at(x, own);
      };
      sum += element(a, index[index.size() - 2], i) * element(b, i, index.back());
    }
    return sum;
  });
}

// A weight [out, in / group, …] on [n, in, …]: strides, dilations and pads are the term's integers behind the group.
Evaluated convolution(const Term& term, const Evaluated& x, const Evaluated& weight) {
  const size_t axes = weight.dims.size() - 2;
  if (term.ints.size() != 1 + 4 * axes) throw std::logic_error("a convolution whose padding is not listed");
  const auto listed = [&](size_t which, size_t k) { return term.ints[1 + which * axes + k]; };
  Dims result{x.dims[0], weight.dims[0]};
  for (size_t k = 0; k < axes; ++k) {
    const int64_t covered = listed(1, k) * (weight.dims[k + 2] - 1) + 1;
    result.push_back((x.dims[k + 2] + listed(2, k) + listed(3, k) - covered) / listed(0, k) + 1);
  }
  const int64_t outputs_of_group = weight.dims[0] / term.ints[0], inputs_of_group = weight.dims[1];
  return made_of(result, [&](const Index& index) {
    double sum = 0;
    for_each_index(Dims(weight.dims.begin() + 1, weight.dims.end()), [&](const Index& tap) {
      Index from{index[0], index[1] / outputs_of_group * inputs_of_group + tap[0]}, of{index[1], tap[0]};
      bool is_inside = true;
      for (size_t k = 0; k < axes; ++k) {
        from.push_back(index[k + 2] * listed(0, k) + tap[k + 1] * listed(1, k) - listed(2, k));
        is_inside = is_inside && from.back() >= 0 && from.back() < x.dims[k + 2];
        of.push_back(tap[k + 1]);
      }
      if (is_inside) sum += at(x, from) * at(weight, of);
    });
    return sum;
  });
}

Evaluated transposed_convolution(const Term& term, const Evaluated& x, const Evaluated& weight) {
  const size_t axes = weight.dims.size() - 2;
  const auto listed = [&](size_t which, size_t k) { return term.ints.at(1 + which * axes + k); };
  const int64_t outputs = weight.dims[1], inputs = x.dims[1] / term.ints[0];  // of a group
  Dims result{x.dims[0], outputs * term.ints[0]};
  for (size_t k = 0; k < axes; ++k)
    result.push_back((x.dims[k + 2] - 1) * listed(0, k) + listed(4, k) + (weight.dims[k + 2] - 1) * listed(1, k) + 1 -
                     listed(2, k) - listed(3, k));
  Evaluated made = made_of(result, [](const Index&) { return 0.0; });
  for_each_index(x.dims, [&](const Index& from) {
    for_each_index(Dims(weight.dims.begin() + 1, weight.dims.end()), [&](const Index& tap) {
      const int64_t group = from[1] / inputs;
      Index to{from[0], group * outputs + tap[0]}, of{from[1], tap[0]};
      size_t place = static_cast<size_t>(to[0] * result[1] + to[1]);
      bool is_inside = true;
      for (size_t k = 0; k < axes; ++k) {
        const int64_t at = from[k + 2] * listed(0, k) + tap[k + 1] * listed(1, k) - listed(2, k);
        is_inside = is_inside && at >= 0 && at < result[k + 2];
        place = place * static_cast<size_t>(result[k + 2]) + static_cast<size_t>(std::max<int64_t>(at, 0));
        of.push_back(tap[k + 1]);
      }
      if (is_inside) made.values[place] += at(x, from) * at(weight, of);
    });
  });
  return made;
}

}  // namespace

Evaluator::Evaluator(const Terms& terms, const Arrays& feeds) : terms_(terms), feeds_(feeds) {
  for (TermId id = 0; id < terms.size(); ++id) {
    const Term& term = terms[id];
    if (term.kind != Term::Kind::kInput || !term.shape) continue;
    const Array& fed = feeds.at(term.op);
    for (size_t k = 0; k < term.shape->size(); ++k)
      if (const int symbol = terms.scope().symbol_id((*term.shape)[k]); symbol >= 0) assignment_[symbol] = fed.dims[k];
  }
  for (const auto& [name, fed] : feeds) {
    if (fed.dtype != DataType::kInt64) continue;
    const std::vector<int64_t> values = to_int64s(fed);
    for (size_t i = 0; i < values.size(); ++i)
      assignment_[terms.scope().symbol_id(terms.scope().input_value(name, static_cast<int64_t>(i)))] = values[i];
  }
}

int64_t Evaluator::size(dim::Dim d) const {
  const auto value = dim::evaluate(d, assignment_);
  if (!value) throw std::logic_error("a size is not known");
  return *value;
}

std::vector<int64_t> Evaluator::sizes(const std::vector<dim::Dim>& dims) const {
  std::vector<int64_t> result;
  for (const dim::Dim d : dims) result.push_back(size(d));
  return result;
}

const Evaluated& Evaluator::operator()(TermId id) {
  if (const auto found = known_.find(id); found != known_.end()) return found->second;
  for (const TermId argument : terms_[id].arguments)
    if (argument != kNoTerm) (*this)(argument);
  Evaluated made = evaluate(terms_[id]);
  // What a term says of itself holds.
  if (terms_[id].shape && sizes({terms_[id].shape->begin(), terms_[id].shape->end()}) != made.dims)
    throw std::logic_error("the shape of a term is not what it says: " + terms_[id].op);
  return known_.emplace(id, std::move(made)).first->second;
}

Evaluated Evaluator::evaluate(const Term& term) {
  switch (term.kind) {
    case Term::Kind::kInput: {
      const Array& fed = feeds_.at(term.op);
      return {fed.dims, to_doubles(fed)};
    }
    case Term::Kind::kConstant: {
      Evaluated made{term.ints, term.computed ? term.computed->values : std::vector<double>()};
      if (term.tensor) made.values = term.tensor->to_double();
      return made;
    }
    case Term::Kind::kSizes: {
      Evaluated made{term.ints, {}};
      for (const int64_t value : sizes(term.dims)) made.values.push_back(static_cast<double>(value));
      return made;
    }
    default:
      break;
  }
  if (term.kind == Term::Kind::kOperator) return evaluate_operator(term);
  std::vector<Evaluated> operands;
  for (const TermId id : term.arguments) operands.push_back(known_.at(id));
  return made_of(broadcast_dims(operands), [&](const Index& index) {
    double made = term.kind == Term::Kind::kSum ? 0 : 1;
    for (size_t i = 0; i < operands.size(); ++i) {
      const double value = broadcast_at(operands[i], index);
      if (term.kind == Term::Kind::kSum) {
        made += term.numbers[i] * value;
      } else {
        made *= std::pow(value, term.numbers[i]);
      }
    }
    return made;
  });
}

Evaluated Evaluator::evaluate_operator(const Term& term) {
  if (term.is("One")) return {{}, {1}};
  std::vector<Evaluated> operands;
  for (const TermId id : term.arguments) operands.push_back(known_.at(id));
  if (operands.empty()) throw std::logic_error("no law writes this operator: " + term.op);
  const Evaluated& x = operands[0];
  const auto dims = sizes(term.dims);
  if (term.is("Expand")) return made_of(dims, [&](const Index& index) { return broadcast_at(x, index); });
  if (term.is("Reshape")) {
    if (count_of(dims) != count_of(x.dims)) throw std::logic_error("a Reshape changes the number of elements");
    return {dims, x.values};
  }
  if (term.is("Transpose")) {
    Dims result;
    for (const int64_t axis : term.ints) result.push_back(x.dims.at(static_cast<size_t>(axis)));
    return made_of(result, [&](const Index& index) {
      Index from(index.size());
      for (size_t k = 0; k < index.size(); ++k) from[static_cast<size_t>(term.ints[k])] = index[k];
      return at(x, from);
    });
  }
  if (term.is("Slice")) {
    Dims result = x.dims;
    for (size_t i = 0; 2 * i < term.ints.size(); ++i) result[static_cast<size_t>(term.ints[2 * i])] = dims[2 * i + 1];
    return made_of(result, [&](Index index) {
      for (size_t i = 0; 2 * i < term.ints.size(); ++i) {
        int64_t& place = index[static_cast<size_t>(term.ints[2 * i])];
        place = dims[2 * i] + place * term.ints[2 * i + 1];
      }
      return at(x, index);
    });
  }
  if (term.is("Concat")) {
    const auto axis = static_cast<size_t>(term.ints[0]);
    Dims result = x.dims;
    result[axis] = 0;
    for (const Evaluated& part : operands) result[axis] += part.dims[axis];
    return made_of(result, [&](Index index) {
      size_t part = 0;
      while (index[axis] >= operands[part].dims[axis]) index[axis] -= operands[part++].dims[axis];
      return at(operands[part], index);
    });
  }
  if (term.is("Gather")) {
    const auto axis = static_cast<ptrdiff_t>(term.ints[0]);
    const Evaluated& indices = operands[1];
    const auto inner = static_cast<ptrdiff_t>(indices.dims.size());
    Dims result(x.dims.begin(), x.dims.begin() + axis);
    result.insert(result.end(), indices.dims.begin(), indices.dims.end());
    result.insert(result.end(), x.dims.begin() + axis + 1, x.dims.end());
    return made_of(result, [&](const Index& index) {
      auto place = static_cast<int64_t>(at(indices, Index(index.begin() + axis, index.begin() + axis + inner)));
      if (place < 0) place += x.dims[static_cast<size_t>(axis)];
      Index from(index.begin(), index.begin() + axis);
      from.push_back(place);
      from.insert(from.end(), index.begin() + axis + inner, index.end());
      return at(x, from);
    });
  }
  if (term.is("Max") || term.is("Min"))
    return made_of(broadcast_dims(operands), [&](const Index& index) {
      double made = broadcast_at(x, index);
      for (const Evaluated& one : operands)
        made = term.is("Max") ? std::max(made, broadcast_at(one, index)) : std::min(made, broadcast_at(one, index));
      return made;
    });
  if (term.op.starts_with("Reduce")) {
    Dims result = x.dims;
    for (const int64_t axis : term.ints) result[static_cast<size_t>(axis)] = 1;
    return made_of(result, [&](const Index& index) {
      Dims within(x.dims.size(), 1);
      for (const int64_t axis : term.ints) within[static_cast<size_t>(axis)] = x.dims[static_cast<size_t>(axis)];
      std::vector<double> values;
      for_each_index(within, [&](Index from) {
        for (size_t k = 0; k < from.size(); ++k) from[k] += index[k];
        values.push_back(at(x, from));
      });
      return reduced(term.op, values);
    });
  }
  if (term.op == "node Range") {
    Evaluated made;
    for (double value = x.values[0]; value < operands[1].values[0]; value += operands[2].values[0])
      made.values.push_back(value);
    made.dims = {static_cast<int64_t>(made.values.size())};
    return made;
  }
  if (term.is("Softmax") || term.is("LogSoftmax")) return softmax(x, term.ints[0], term.is("LogSoftmax"));
  if (term.is("MatMul")) return matmul(x, operands[1]);
  if (term.is("Conv")) return convolution(term, x, operands[1]);
  if (term.is("ConvTranspose")) return transposed_convolution(term, x, operands[1]);
  if (term.is("Cast")) {
    const bool is_whole = !ir::is_floating(term.dtype);
    return made_of(x.dims, [&](const Index& index) { return is_whole ? std::trunc(at(x, index)) : at(x, index); });
  }
  if (term.is("Pad")) {
    Dims result = x.dims;
    for (size_t k = 0; k < result.size(); ++k) result[k] += term.ints[k] + term.ints[k + result.size()];
    return made_of(result, [&](Index index) {
      for (size_t k = 0; k < index.size(); ++k) {
        index[k] -= term.ints[k];
        if (index[k] < 0 || index[k] >= x.dims[k]) return 0.0;
      }
      return at(x, index);
    });
  }
  if (term.is("Limited")) return made_of(x.dims, [&](const Index& index) { return std::max(at(x, index), 1e-30); });
  if (term.is("Hide")) {
    const double number = term.settings == "infinite" ? -std::numeric_limits<double>::infinity() : -1e30;
    return made_of(broadcast_dims(operands), [&](const Index& index) {
      return broadcast_at(x, index) != 0 ? number : broadcast_at(operands[1], index);
    });
  }
  if (term.op == "node Where")
    return made_of(broadcast_dims(operands), [&](const Index& index) {
      return broadcast_at(operands[broadcast_at(x, index) != 0 ? 1 : 2], index);
    });
  if (const auto binary = binary_operators().find(term.op); binary != binary_operators().end())
    return made_of(broadcast_dims(operands), [&](const Index& index) {
      double made = broadcast_at(x, index);
      for (size_t i = 1; i < operands.size(); ++i) made = binary->second(made, broadcast_at(operands[i], index));
      return made;
    });
  const auto unary = unary_operators().find(term.op);
  if (unary == unary_operators().end()) throw std::logic_error("no law writes this operator: " + term.op);
  return made_of(x.dims, [&](const Index& index) { return unary->second(at(x, index)); });
}

}  // namespace thaw::proving
