#include "thaw/run/run_cost.h"

#include <algorithm>

namespace thaw::run {
namespace {

constexpr double kWaiting = 3;  // measured: dense and residual networks take two to four times their largest node
constexpr double kSmallBytes = double{1 << 28};
constexpr double kFlopsInTimeOfByte = 10;  // about, of what a processor reads and writes
constexpr double kSmallFlops = 1e11;       // a second or two on two cores

}  // namespace

double RunCost::Taken::working_bytes() const { return kWaiting * bytes; }

bool RunCost::Taken::is_small() const { return bytes <= kSmallBytes && flops <= kSmallFlops; }

double RunCost::Taken::work() const { return flops + kFlopsInTimeOfByte * bytes; }

RunCost::Tensor RunCost::add_tensor(uint64_t bytes_each, std::vector<dim::Dim> dims) {
  std::vector<Key> keys;
  for (const dim::Dim d : dims) keys.push_back(key_of(d));
  const auto [at, fresh] = known_shapes_.try_emplace({bytes_each, std::move(keys)}, shapes_.size());
  if (fresh) shapes_.push_back({bytes_each, std::move(dims)});
  return at->second;
}

void RunCost::add_node(const std::vector<Tensor>& tensors, dim::Dim flops) {
  nodes_.insert(tensors);
  if (!flops.is_known()) return;
  const auto [at, fresh] = known_flops_.try_emplace(key_of(flops), flops_.size());
  if (fresh) flops_.emplace_back(flops, 0);
  ++flops_[at->second].second;
}

RunCost::Taken RunCost::at(const dim::Assignment& sizes) const {
  std::vector<double> bytes;
  for (const Shape& shape : shapes_) {
    double all = static_cast<double>(shape.bytes_each);
    for (const dim::Dim d : shape.dims)
      all *= static_cast<double>(std::max<int64_t>(0, dim::evaluate(d, sizes).value_or(0)));
    bytes.push_back(all);
  }
  Taken taken;
  for (const std::vector<Tensor>& tensors : nodes_) {
    double all = 0;
    for (const Tensor tensor : tensors) all += bytes[tensor];
    taken.bytes = std::max(taken.bytes, all);
  }
  for (const auto& [flops, times] : flops_)
    taken.flops += times * static_cast<double>(std::max<int64_t>(0, dim::evaluate(flops, sizes).value_or(0)));
  return taken;
}

}  // namespace thaw::run
