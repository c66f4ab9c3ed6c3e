#include "thaw/ops/type_set.h"

#include <fmt/format.h>

namespace thaw::ops {
namespace {

constexpr int kDataTypes = static_cast<int>(ir::DataType::kFloat6E3M2) + 1;
constexpr Container kContainers[] = {Container::kTensor, Container::kSequence, Container::kOptional,
                                     Container::kOptionalSequence};

}  // namespace

std::optional<ValueType> value_type(const Fact& fact) {
  const Fact* at = &fact;
  Container container = Container::kTensor;
  if (at->kind == Fact::Kind::kOptional) {
    container = Container::kOptional;
    at = at->element.get();
  }
  if (at && at->kind == Fact::Kind::kSequence) {
    container = container == Container::kOptional ? Container::kOptionalSequence : Container::kSequence;
    at = at->element.get();
  }
  if (!at || !at->is_tensor() || at->dtype == ir::DataType::kUndefined) return std::nullopt;
  return ValueType{container, at->dtype};
}

std::string to_string(ValueType type) {
  std::string text(ir::name_of(type.dtype));
  switch (type.container) {
    case Container::kTensor:
      return text;
    case Container::kSequence:
      return "sequence(" + text + ")";
    case Container::kOptional:
      return "optional(" + text + ")";
    case Container::kOptionalSequence:
      return "optional(sequence(" + text + "))";
  }
  return text;
}

std::string to_string(const TypeSet& set) {
  std::string text;
  for (Container container : kContainers) {
    for (int number = 1; number < kDataTypes; ++number) {
      ValueType type{container, static_cast<ir::DataType>(number)};
      if (set.contains(type)) text += (text.empty() ? "" : ", ") + to_string(type);
    }
  }
  return text;
}

}  // namespace thaw::ops
