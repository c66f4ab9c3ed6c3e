#include <type_traits>

#include "thaw/ir/wire/fields.h"
#include "thaw/ir/wire/type_wire.h"
#include "thaw/ir/wire/writer.h"

namespace thaw::ir {

void GraphWriter::write_attribute(const Attribute& attribute) {
  using namespace field::attribute;  // NOLINT(google-build-using-namespace): one message's numbers
  out_.raw(attribute.extra);
  out_.text(kName, attribute.name);
  std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
        } else if constexpr (std::is_same_v<T, float>) {
          if (!attribute.implicit || value != 0) out_.real(kFloat, value);
        } else if constexpr (std::is_same_v<T, int64_t>) {
          if (!attribute.implicit || value != 0) out_.integer(kInt, value);
        } else if constexpr (std::is_same_v<T, std::string>) {
          if (!attribute.implicit || !value.empty()) out_.bytes(kString, value);
        } else if constexpr (std::is_same_v<T, std::shared_ptr<Tensor>>) {
          out_.message(kTensor, [&] { TensorWriter::write(out_, *value, plan_); });
        } else if constexpr (std::is_same_v<T, std::shared_ptr<Graph>>) {
          out_.message(kGraph, [&] { write_graph(*value); });
        } else if constexpr (std::is_same_v<T, std::vector<float>>) {
          for (const float item : value) out_.real(kFloats, item);
        } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
          for (const int64_t item : value) out_.integer(kInts, item);
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          for (const std::string& item : value) out_.bytes(kStrings, item);
        } else if constexpr (std::is_same_v<T, std::vector<std::shared_ptr<Tensor>>>) {
          for (const auto& item : value) out_.message(kTensors, [&] { TensorWriter::write(out_, *item, plan_); });
        } else if constexpr (std::is_same_v<T, std::vector<std::shared_ptr<Graph>>>) {
          for (const auto& item : value) out_.message(kGraphs, [&] { write_graph(*item); });
        } else if constexpr (std::is_same_v<T, std::shared_ptr<SparseTensor>>) {
          out_.message(kSparseTensor, [&] { TensorWriter::write_sparse(out_, *value, plan_); });
        } else if constexpr (std::is_same_v<T, std::vector<std::shared_ptr<SparseTensor>>>) {
          for (const auto& item : value)
            out_.message(kSparseTensors, [&] { TensorWriter::write_sparse(out_, *item, plan_); });
        } else if constexpr (std::is_same_v<T, Type>) {
          out_.message(kTypeProto, [&] { write_type(out_, value); });
        } else {
          static_assert(std::is_same_v<T, std::vector<Type>>);
          for (const Type& item : value) out_.message(kTypeProtos, [&] { write_type(out_, item); });
        }
      },
      attribute.value);
  // The alternatives stand in the order of the types' numbers; a reference keeps the type that it was read with.
  const auto held = static_cast<int32_t>(attribute.value.index());
  const int32_t type = held != 0 ? held : attribute.type;
  if (!attribute.untyped && type != 0) out_.integer(kType, type);
  out_.text(kRefAttrName, attribute.ref_attr_name);
}

}  // namespace thaw::ir
