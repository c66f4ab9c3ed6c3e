#include "thaw/lift/holdout.h"

#include <algorithm>

#include <fmt/format.h>

#include "thaw/lift/table/learned_grid.h"
#include "thaw/lift/table/same_table.h"

namespace thaw::lifting {
namespace {

constexpr size_t kFewestToHoldOut = 3;

bool varies_without(const Variable& variable, size_t index) {
  const int64_t one = variable.at[index == 0 ? 1 : 0];
  for (size_t k = 0; k < variable.at.size(); ++k)
    if (k != index && variable.at[k] != one) return true;
  return false;
}

// The last trace without which every size that varies still does.
size_t choose_holdout(std::span<const Variable> variables, size_t num_traces) {
  for (size_t index = num_traces; index-- > 0;) {
    const bool enough = std::all_of(variables.begin(), variables.end(),
                                    [&](const Variable& v) { return !v.varies() || varies_without(v, index); });
    if (enough) return index;
  }
  return num_traces - 1;
}

}  // namespace

Holdout::Holdout(const std::vector<Trace>& traces, std::span<const Variable> variables, const TensorSizes& tensors,
                 const JoinedSizes& joined)
    : variables_(variables.begin(), variables.end()) {
  if (traces.size() < kFewestToHoldOut) return;
  index_ = choose_holdout(variables, traces.size());
  name_ = traces[*index_].name;
  num_others_ = traces.size() - 1;
  const auto index = static_cast<std::ptrdiff_t>(*index_);
  for (Variable& v : variables_) v.at.erase(v.at.begin() + index);
  for (const auto& [at, size] : tensors) {
    std::vector<int64_t> others = at;
    others.erase(others.begin() + index);
    tensors_.emplace(std::move(others), size);
  }
  solver_.emplace(variables_, nullptr, &tensors_);
  context_.emplace(TableContext{variables_, *solver_});
  context_->antialias = has_antialiasing(*traces.front().model);
  for (const auto& [whole, parts] : joined) {
    std::vector<int64_t> total = whole;
    std::vector<std::vector<int64_t>> pieces = parts;
    total.erase(total.begin() + index);
    for (std::vector<int64_t>& piece : pieces) piece.erase(piece.begin() + index);
    context_->joined.emplace(std::move(total), std::move(pieces));
  }
}

void Holdout::compare(std::span<const ir::Tensor* const> tensors, const TableFit& found, const Around& around,
                      bool pads) {
  if (!index_) return;
  std::vector<const ir::Tensor*> others(tensors.begin(), tensors.end());
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(*index_));
  context_->around = around;
  for (Variable& v : context_->around.axes) v.at.erase(v.at.begin() + static_cast<std::ptrdiff_t>(*index_));
  for (Variable& v : context_->around.sizes) v.at.erase(v.at.begin() + static_cast<std::ptrdiff_t>(*index_));
  context_->pads = pads;
  ++num_compared_;
  std::string reason;
  const auto fit = fit_table(others, *context_, reason);
  if (fit && is_same_table(*fit, found, variables_)) return;
  differences_.emplace_back(found.description, fit ? fmt::format("without {}: {}", name_, fit->description)
                                                   : fmt::format("not explained without {}: {}", name_, reason));
}

std::vector<std::pair<std::string, std::string>> Holdout::notes() const {
  if (num_compared_ == 0) return {};
  std::vector<std::pair<std::string, std::string>> notes{
      {name_, fmt::format("the other {} traces say the same of {} of {} constants", num_others_,
                          num_compared_ - differences_.size(), num_compared_)}};
  notes.insert(notes.end(), differences_.begin(), differences_.end());
  return notes;
}

}  // namespace thaw::lifting
