#include "thaw/report/attribute_text.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "thaw/report/dim_text.h"
#include "thaw/report/weight_diff.h"

namespace thaw::report {
namespace {

constexpr size_t kMostElements = 8;
constexpr size_t kMostCharacters = 60;

std::string cut(std::string_view text) {
  if (text.size() <= kMostCharacters) return fmt::format("'{}'", text);
  return fmt::format("'{}…' ({} bytes)", text.substr(0, kMostCharacters), text.size());
}

struct Text {
  std::string operator()(std::monostate) const { return "nothing"; }
  std::string operator()(float value) const { return fmt::format("{}", value); }
  std::string operator()(int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(const std::string& value) const { return cut(value); }
  std::string operator()(const std::shared_ptr<ir::Tensor>& value) const {
    return value ? describe(*value) : std::string("nothing");
  }
  std::string operator()(const std::shared_ptr<ir::Graph>& value) const {
    return value ? fmt::format("a graph of {} nodes", value->nodes().size()) : std::string("nothing");
  }
  std::string operator()(const std::shared_ptr<ir::SparseTensor>& value) const {
    return value ? "sparse " + describe(value->values) : std::string("nothing");
  }
  std::string operator()(const ir::Type& value) const { return declared_text(value); }
  template <typename T>
  std::string operator()(const std::vector<T>& values) const {
    std::string text = "[";
    for (size_t i = 0; i < std::min(values.size(), kMostElements); ++i) text += (i ? ", " : "") + (*this)(values[i]);
    if (values.size() > kMostElements) text += fmt::format(", … {} in all", values.size());
    return text + "]";
  }
};

struct Same {
  const SameValue& how;

  template <typename T, typename U>
  bool operator()(const T&, const U&) const {
    return false;
  }
  // Equal bits: a NaN is the same as itself, and -0 is not 0.
  bool operator()(float a, float b) const { return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b); }
  bool operator()(const std::shared_ptr<ir::Graph>&, const std::shared_ptr<ir::Graph>&) const { return true; }
  bool operator()(const std::shared_ptr<ir::Tensor>& a, const std::shared_ptr<ir::Tensor>& b) const {
    return (!a || !b) ? a == b : same_tensor(*a, *b);
  }
  bool operator()(const std::shared_ptr<ir::SparseTensor>& a, const std::shared_ptr<ir::SparseTensor>& b) const {
    if (!a || !b) return a == b;
    return a->dims == b->dims && same_tensor(a->values, b->values) && same_tensor(a->indices, b->indices);
  }
  template <typename T>
  bool operator()(const std::vector<T>& a, const std::vector<T>& b) const {
    return std::ranges::equal(a, b, *this);
  }
  template <typename T>
  bool operator()(const T& a, const T& b) const {
    return a == b;
  }

  bool same_tensor(const ir::Tensor& a, const ir::Tensor& b) const {
    return compare({a, how.folder_a}, {b, how.folder_b}, how.values).empty();
  }
};

}  // namespace

std::string attribute_text(const ir::Attribute& attribute) {
  if (!attribute.ref_attr_name.empty()) return "the function's attribute " + attribute.ref_attr_name;
  return std::visit(Text(), attribute.value);
}

bool SameValue::operator()(const ir::Attribute& a, const ir::Attribute& b) const {
  return a.ref_attr_name == b.ref_attr_name && std::visit(Same{*this}, a.value, b.value);
}

std::string declared_text(const ir::Type& type) {
  std::string text = type_text(type);
  if (text.empty()) text = type.kind == ir::Type::Kind::kNone ? "none" : "?";
  const bool tensor = type.kind == ir::Type::Kind::kTensor || type.kind == ir::Type::Kind::kSparseTensor;
  if (!tensor || !type.shape) return text;
  return text + " " + ir::dims_text(type);
}

}  // namespace thaw::report
