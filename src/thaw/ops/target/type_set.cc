#include "thaw/ops/target/type_set.h"

#include <fmt/format.h>

namespace thaw::ops {
namespace {

constexpr Container kContainers[] = {Container::kTensor, Container::kSequence, Container::kOptional,
                                     Container::kOptionalSequence, Container::kQuantized};

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
    case Container::kQuantized:
      return "quantized " + text;
  }
  return text;
}

std::string to_string(const TypeSet& set) {
  using enum ir::DataType;
  // The order in which they are printed: what models are made of first.
  static constexpr ir::DataType kPrinted[] = {
      kFloat,          kFloat16,    kBfloat16,   kDouble,     kInt64,        kInt32,          kInt16,
      kInt8,           kUint64,     kUint32,     kUint16,     kUint8,        kBool,           kString,
      kInt4,           kUint4,      kInt2,       kUint2,      kFloat8E4M3FN, kFloat8E4M3FNUZ, kFloat8E5M2,
      kFloat8E5M2FNUZ, kFloat8E8M0, kFloat6E2M3, kFloat6E3M2, kFloat4E2M1,   kComplex64,      kComplex128,
  };
  std::string text;
  for (Container container : kContainers) {
    for (ir::DataType dtype : kPrinted) {
      ValueType type{container, dtype};
      if (set.contains(type)) text += (text.empty() ? "" : ", ") + to_string(type);
    }
  }
  return text;
}

}  // namespace thaw::ops
