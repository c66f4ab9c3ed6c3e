#include "thaw/model/nn/scope.h"

namespace thaw::model {

Scope Scope::in(std::string_view part) const { return {*net_, *weights_, name(part)}; }

std::string Scope::name(std::string_view tensor) const {
  return prefix_.empty() ? std::string(tensor) : prefix_ + "." + std::string(tensor);
}

Weight Scope::weight(std::string_view tensor, const std::vector<int64_t>& shape) const {
  return weights_->get(name(tensor), shape);
}

Var Scope::var(std::string_view tensor, const std::vector<int64_t>& shape) const {
  return net_->weight(name(tensor), weight(tensor, shape));
}

}  // namespace thaw::model
