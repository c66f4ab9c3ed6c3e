#include "thaw/lift/same.h"

#include <cstring>

namespace thaw::lift {

bool same_tensor(const ir::Tensor& a, const ir::Tensor& b) {
  if (a.data_type != b.data_type || a.dims != b.dims) return false;
  if (a.data_type == ir::DataType::kString) return a.to_strings() == b.to_strings();
  const auto left = a.bytes(), right = b.bytes();
  if (left.size() != right.size()) return false;
  // Weights are the same bytes throughout: of a large tensor, some pages tell.
  constexpr size_t kLarge = size_t{1} << 20, kPage = 4096, kPages = 32;
  if (left.size() <= kLarge) return left.empty() || std::memcmp(left.data(), right.data(), left.size()) == 0;
  for (size_t i = 0; i < kPages; ++i) {
    const size_t at = (left.size() - kPage) / (kPages - 1) * i;
    if (std::memcmp(left.data() + at, right.data() + at, kPage) != 0) return false;
  }
  return true;
}

bool same_attribute(const ir::Attribute& a, const ir::Attribute& b) {
  if (a.name != b.name || a.value.index() != b.value.index()) return false;
  if (const auto* x = a.as<int64_t>()) return *x == *b.as<int64_t>();
  if (const auto* x = a.as<float>()) return *x == *b.as<float>();
  if (const auto* x = a.as<std::string>()) return *x == *b.as<std::string>();
  if (const auto* x = a.as<std::vector<int64_t>>()) return *x == *b.as<std::vector<int64_t>>();
  if (const auto* x = a.as<std::vector<float>>()) return *x == *b.as<std::vector<float>>();
  if (const auto* x = a.as<std::shared_ptr<ir::Tensor>>())
    return same_tensor(**x, **b.as<std::shared_ptr<ir::Tensor>>());
  return true;  // graphs: not looked into
}

}  // namespace thaw::lift
