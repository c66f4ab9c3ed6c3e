#include "thaw/lift/holdout.h"

#include <algorithm>

#include <fmt/format.h>

#include "thaw/lift/table/kept/learned_grid.h"
#include "thaw/lift/table/same_table.h"

namespace thaw::lifting {
namespace {

constexpr size_t kFewestToHoldOut = 3, kFewestToConfirm = 3;

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
                 FittedBefore& before, const JoinedSizes& joined)
    : variables_(variables.begin(), variables.end()) {
  if (traces.size() < kFewestToHoldOut) return;
  const size_t held = choose_holdout(variables, traces.size());
  for (size_t index = 0; index < traces.size(); ++index) {
    if (index == held) continue;
    others_.push_back(std::unique_ptr<Holdout>(new Holdout()));
    others_.back()->variables_ = variables_;
    others_.back()->hold_out(index, traces, tensors, before, joined);
  }
  hold_out(held, traces, tensors, before, joined);
}

void Holdout::hold_out(size_t held, const std::vector<Trace>& traces, const TensorSizes& tensors, FittedBefore& before,
                       const JoinedSizes& joined) {
  index_ = held;
  name_ = traces[held].name;
  num_others_ = traces.size() - 1;
  const auto index = static_cast<std::ptrdiff_t>(held);
  for (Variable& v : variables_) v.at.erase(v.at.begin() + index);
  for (const auto& [at, size] : tensors) {
    std::vector<int64_t> others = at;
    others.erase(others.begin() + index);
    tensors_.emplace(std::move(others), TensorSize{size.dim});
  }
  solver_.emplace(variables_, nullptr, &tensors_);
  context_.emplace(TableContext{variables_, *solver_});
  context_->before = &before;
  context_->antialias = has_antialiasing(*traces.front().model);
  for (const auto& [whole, parts] : joined) {
    std::vector<int64_t> total = whole;
    std::vector<std::vector<int64_t>> pieces = parts;
    total.erase(total.begin() + index);
    for (std::vector<int64_t>& piece : pieces) piece.erase(piece.begin() + index);
    context_->joined.emplace(std::move(total), std::move(pieces));
  }
}

std::optional<TableFit> Holdout::fit_without(std::span<const ir::Tensor* const> tensors, const Around& around,
                                             bool pads, std::string& reason) {
  const auto index = static_cast<std::ptrdiff_t>(*index_);
  std::vector<const ir::Tensor*> others(tensors.begin(), tensors.end());
  others.erase(others.begin() + index);
  context_->around = around;
  for (Variable& v : context_->around.axes) v.at.erase(v.at.begin() + index);
  for (Variable& v : context_->around.sizes) v.at.erase(v.at.begin() + index);
  context_->pads = pads;
  return fit_table(others, *context_, reason);
}

void Holdout::compare(std::span<const ir::Tensor* const> tensors, const TableFit& found, const Around& around,
                      bool pads) {
  if (!index_) return;
  ++num_compared_;
  std::string reason;
  const auto fit = fit_without(tensors, around, pads, reason);
  if (fit && is_same_table(*fit, found, variables_)) return;
  const bool nothing_yet = differences_.size() + 1 == num_compared_;
  const auto confirms = [&](const std::unique_ptr<Holdout>& other) {
    std::string why;
    const auto own = other->fit_without(tensors, around, pads, why);
    return own && is_same_table(*own, found, other->variables_);
  };
  if (fit && nothing_yet && std::ranges::none_of(others_, confirms)) ++num_otherwise_;
  is_guessed_ |= found.is_guessed;
  differences_.emplace_back(found.description, fit ? fmt::format("without {}: {}", name_, fit->description)
                                                   : fmt::format("not explained without {}: {}", name_, reason));
}

std::optional<Note> Holdout::nothing_confirmed() const {
  if (!is_guessed_ || num_compared_ < kFewestToConfirm || num_otherwise_ < num_compared_) return std::nullopt;
  return Note{name_,
              fmt::format("the other {} traces predict 0/{} constants, and other values instead: the solution may be a "
                          "coincidence; add a trace at another size",
                          num_others_, num_compared_),
              {}};
}

std::vector<std::pair<std::string, std::string>> Holdout::notes() const {
  if (num_compared_ == 0) return {};
  std::vector<std::pair<std::string, std::string>> notes{
      {name_, fmt::format("{1}/{2} constants predicted from the other {0} traces", num_others_,
                          num_compared_ - differences_.size(), num_compared_)}};
  notes.insert(notes.end(), differences_.begin(), differences_.end());
  return notes;
}

}  // namespace thaw::lifting
