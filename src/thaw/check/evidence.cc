#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/check/rule.h"
#include "thaw/check/target_faults.h"
#include "thaw/core/error.h"
#include "thaw/core/phase.h"
#include "thaw/dim/text/text.h"

namespace thaw::checking {

Evidence::Evidence(const ir::Model& model, const CheckOptions& options)
    : model_(model), dims_(parse_dims(options.sizes)), has_profiles_(!options.opt.empty()) {
  if (options.target.empty() || options.target == kAllTargets) return;
  target_ = ops::find_target(options.target);
  if (target_ != nullptr) return;
  throw Error(ErrorCode::kInvalidArgument,
              {.what = "there is no target '" + options.target + "'",
               .expected = fmt::format("one of {}, {}", fmt::join(ops::target_names(), ", "), kAllTargets)});
}

Evidence::~Evidence() = default;

void Evidence::aim_at(const ops::Target& target) {
  target_ = &target;
  target_view_.reset();
  target_faults_.clear();
}

const infer::Result& Evidence::inferred() {
  if (!inferred_) inferred_ = infer::infer(model_, scope_);
  return *inferred_;
}

const frozen::FrozenAnalysis& Evidence::frozen() {
  if (frozen_) return *frozen_;
  const Phase phase("looking for frozen sizes");
  frozen_ = frozen::find_frozen(model_, frozen_scope_);
  return *frozen_;
}

bool Evidence::is_of_architecture(const frozen::FrozenSite& site) {
  const bool is_static = frozen().all_inputs_static;
  if (!is_static && site.role == frozen::FrozenRole::kWeight) return false;
  if (!architecture_) {
    architecture_.emplace();
    std::set<std::string> last_axes;
    for (const ir::Value* input : model_.graph->inputs())
      if (input->type.shape && !input->type.shape->empty())
        last_axes.insert(fmt::format("{}_dim{}", input->name(), input->type.shape->size() - 1));
    for (const frozen::FrozenSite& s : frozen().sites) {
      const auto ids = dim::symbols_of(s.expression);
      if (s.role != frozen::FrozenRole::kWeight || ids.size() != 1) continue;
      const dim::SymbolInfo& symbol = frozen_scope_.symbols()[static_cast<size_t>(ids.front())];
      // Of features a part may be what the weight takes, as a pool leaves it; of other axes that part may be any size's.
      if (is_one_size(s.expression) || (is_static && last_axes.contains(symbol.name)))
        architecture_->insert(ids.front());
    }
  }
  const auto is_fixed = [&](dim::Dim d) {
    const auto ids = dim::symbols_of(d);
    return std::ranges::all_of(ids, [&](int id) { return architecture_->contains(id); });
  };
  return is_fixed(site.expression) &&
         std::ranges::all_of(site.more, [&](const frozen::FrozenSize& s) { return is_fixed(s.expression); });
}

bool Evidence::reads(const ir::Node& node, const ir::Value& input) {
  const auto& inputs = model_.graph->inputs();
  if (!read_from_) {
    read_from_.emplace();
    for (size_t i = 0; i < inputs.size() && i < 64; ++i) (*read_from_)[inputs[i]] = uint64_t{1} << i;
    for (const ir::Node* n : model_.graph->nodes()) {
      uint64_t bits = 0;
      for (const ir::Value* in : n->inputs())
        if (auto it = read_from_->find(in); it != read_from_->end()) bits |= it->second;
      if (bits == 0) continue;
      for (const ir::Value* out : n->outputs()) (*read_from_)[out] = bits;
    }
  }
  const auto location = std::ranges::find(inputs, &input) - inputs.begin();
  if (location >= 64 || node.graph() != model_.graph.get()) return true;
  return std::ranges::any_of(node.inputs(), [&](const ir::Value* in) {
    auto it = read_from_->find(in);
    return it != read_from_->end() && (it->second >> location & 1) != 0;
  });
}

const ir::Value* Evidence::value_behind(int symbol) {
  if (!values_behind_) {
    values_behind_.emplace();
    const infer::Result& result = frozen().result;
    for (const ir::Node* node : model_.graph->nodes()) {
      for (const ir::Value* out : node->outputs()) {
        if (!out || !result.fact(out).shape) continue;
        for (dim::Dim d : *result.fact(out).shape) {
          int id = d.is_symbolic() ? frozen_scope_.symbol_id(d) : -1;
          // The first value in order that has the symbol alone on an axis is the one that it was made for.
          if (id >= 0) values_behind_->emplace(id, out);
        }
      }
    }
  }
  auto it = values_behind_->find(symbol);
  return it == values_behind_->end() ? nullptr : it->second;
}

SizeRanges& Evidence::size_ranges() {
  if (!size_ranges_) {
    size_ranges_ = std::make_unique<SizeRanges>(model_);
    infer_over(model_, dims_, *size_ranges_);
  }
  return *size_ranges_;
}

const SizeProofs& Evidence::size_proofs() {
  if (!size_proofs_) size_proofs_ = prove_sizes(size_ranges());
  return *size_proofs_;
}

const TargetView* Evidence::target_view() {
  if (!target_view_ && target_) target_view_ = std::make_unique<TargetView>(model_, *target_, inferred());
  return target_view_.get();
}

const TargetFaults& Evidence::target_faults(const TargetNode& at) {
  const auto found = target_faults_.find(at.node);
  if (found != target_faults_.end()) return found->second;
  return target_faults_.emplace(at.node, find_target_faults(*target_view(), at)).first->second;
}

namespace {

constexpr size_t kMaxWitnesses = 8;

// What speaks of something that these sizes do not decide, holds.
bool holds(const ops::Obligation& o, const dim::Assignment& sizes) {
  return dim::holds(o.kind, o.a, o.b, sizes).value_or(true);
}

}  // namespace

const std::vector<dim::Assignment>& Evidence::witnesses() {
  if (witnesses_) return *witnesses_;
  const infer::Result& result = inferred();
  witnesses_.emplace();
  const int count = static_cast<int>(scope_.symbols().size());
  auto try_sizes = [&](const dim::Assignment& sizes) {
    if (witnesses_->size() >= kMaxWitnesses) return;
    const auto& all = result.obligations();
    if (std::all_of(all.begin(), all.end(), [&](const ops::Obligation& o) { return holds(o, sizes); }))
      witnesses_->push_back(sizes);
  };
  // Sizes all different, in steps that strides and patch sizes divide; then all equal.
  for (int64_t step : {1, 2, 4, 8, 16, 32, 64, 28, 14}) {
    dim::Assignment distinct, equal;
    for (int id = 0; id < count; ++id) {
      distinct[id] = step * (id + 3);
      equal[id] = step * 5;
    }
    try_sizes(distinct);
    try_sizes(equal);
  }
  return *witnesses_;
}

bool Evidence::can_differ(dim::Dim a, dim::Dim b) {
  if (a.is_unknown() || b.is_unknown() || dim::same(a, b)) return false;
  if (a.is_constant() && b.is_constant()) return true;
  for (const dim::Assignment& sizes : witnesses()) {
    auto x = dim::evaluate(a, sizes), y = dim::evaluate(b, sizes);
    if (x && y && *x != *y) return true;
  }
  return false;
}

std::string_view Findings::code() const { return rule_.code; }

Finding& Findings::add(std::string message, Location where) {
  Finding& f = list_.emplace_back();
  f.code = rule_.code;
  f.title = rule_.title;
  f.severity = rule_.severity;
  f.message = std::move(message);
  f.where = std::move(where);
  return f;
}

std::string name_of(const ir::Node& node) {
  if (!node.name.empty()) return fmt::format("'{}' ({})", node.name, node.op_type());
  for (const ir::Value* out : node.outputs())
    if (out) return fmt::format("{} -> '{}'", node.op_type(), out->name());
  return node.op_type();
}

std::string text_of(const std::optional<ops::Shape>& shape) {
  if (!shape) return "[unknown rank]";
  std::string out = "[";
  for (size_t i = 0; i < shape->size(); ++i) out += (i ? ", " : "") + dim::to_string((*shape)[i]);
  return out + "]";
}

NamedSizes by_name(const dim::Assignment& sizes, const dim::Scope& scope) {
  std::vector<std::pair<int, int64_t>> sorted(sizes.begin(), sizes.end());
  std::sort(sorted.begin(), sorted.end());
  NamedSizes named;
  for (const auto& [id, value] : sorted) named.emplace_back(scope.symbols()[static_cast<size_t>(id)].name, value);
  return named;
}

std::string text_of(const NamedSizes& sizes) {
  std::string out;
  for (const auto& [name, value] : sizes) out += fmt::format("{}{}={}", out.empty() ? "" : ", ", name, value);
  return out;
}

}  // namespace thaw::checking
