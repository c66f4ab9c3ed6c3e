#include "thaw/ops/rule/rule_testing.h"

#include "thaw/dim/text/text.h"

namespace thaw::ops {

namespace {

template <typename List, typename Text>
std::string comma_list(const List& list, Text text) {
  std::string out;
  for (const auto& item : list) out += (out.empty() ? "" : ", ") + text(item);
  return out;
}

std::string element_text(const Element& e) {
  if (auto v = e.as_double(); v && e.as_dim().is_unknown()) return std::to_string(*v);
  return dim::to_string(e.as_dim());
}

}  // namespace

const infer::Result& RuleModel::result() {
  if (!result_) {
    built_ = build();
    result_ = infer::infer(*built_, scope_);
  }
  return *result_;
}

const Fact& RuleModel::output(int i) {
  const infer::Result& found = result();
  return found.fact(built_->graph->outputs().at(static_cast<size_t>(i)));
}

std::string RuleModel::dims(int i) {
  const Fact& fact = output(i);
  return fact.shape ? comma_list(*fact.shape, dim::to_string) : "rank ?";
}

std::string RuleModel::elements(int i) {
  const Fact& fact = output(i);
  return fact.elements ? comma_list(*fact.elements, element_text) : "none";
}

std::string RuleModel::obligations() {
  std::string out;
  for (const Obligation& o : result().obligations()) {
    const char* sign = o.kind == dim::Relation::kEqual           ? " == "
                       : o.kind == dim::Relation::kBroadcastable ? " ~ "
                       : o.kind == dim::Relation::kDivisible     ? " % "
                                                                 : " <= ";
    out += (out.empty() ? "" : "\n") + dim::to_string(o.a) + sign + dim::to_string(o.b);
  }
  return out;
}

std::optional<std::vector<int64_t>> RuleModel::sizes_at(const Values& values, int i) {
  const Fact& fact = output(i);
  if (!fact.shape) return std::nullopt;
  dim::Assignment assignment;
  for (const auto& [name, value] : values)
    if (auto symbol = scope_.find(name)) assignment[scope_.symbol_id(*symbol)] = value;
  std::vector<int64_t> sizes;
  for (dim::Dim d : *fact.shape) {
    auto size = dim::evaluate(d, assignment);
    if (!size) return std::nullopt;
    sizes.push_back(*size);
  }
  return sizes;
}

}  // namespace thaw::ops
