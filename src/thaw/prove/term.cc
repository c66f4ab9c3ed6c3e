#include "thaw/prove/term.h"

#include <algorithm>
#include <bit>

#include "thaw/dim/expr/expr.h"
#include "thaw/ir/graph/key_parts.h"

namespace thaw::proving {

using ir::append_list, ir::append_raw, ir::append_text;

namespace {

void append_dims(std::string& key, const std::vector<dim::Dim>& dims) {
  append_raw(key, dims.size());
  for (const dim::Dim d : dims) append_dim(key, d);
}

std::string key_of_term(const Term& term) {
  std::string key;
  append_raw(key, term.kind);
  append_raw(key, term.dtype);
  append_text(key, term.op);
  append_text(key, term.settings);
  append_list(key, term.ints);
  append_dims(key, term.dims);
  append_list(key, term.arguments);
  append_list(key, term.numbers);
  return key;
}

}  // namespace

void append_dim(std::string& key, dim::Dim d) {
  append_raw(key, d.is_unknown());
  append_raw(key, std::bit_cast<uintptr_t>(d.expr()));
  append_raw(key, dim::constant_of(d));
}

bool is_known(const std::optional<ops::Shape>& shape) {
  return shape && std::ranges::all_of(*shape, [](dim::Dim d) { return d.is_known(); });
}

bool is_same(const ops::Shape& a, const ops::Shape& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](dim::Dim x, dim::Dim y) { return dim::same(x, y); });
}

std::optional<std::vector<int64_t>> constant_dims(const std::optional<ops::Shape>& shape) {
  if (!shape) return std::nullopt;
  std::vector<int64_t> dims;
  for (const dim::Dim d : *shape) {
    if (!d.is_constant()) return std::nullopt;
    dims.push_back(*d.constant());
  }
  return dims;
}

std::optional<ops::Shape> broadcast_shapes(const ops::Shape& a, const ops::Shape& b) {
  const ops::Shape &longer = a.size() < b.size() ? b : a, &shorter = a.size() < b.size() ? a : b;
  ops::Shape result = longer;
  const size_t offset = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) result[offset + i] = dim::broadcast(longer[offset + i], shorter[i]);
  if (!is_known(result)) return std::nullopt;
  return result;
}

std::vector<std::string> texts_of(uint8_t assumed) {
  std::vector<std::string> texts;
  if (assumed & kIntegersFit) texts.emplace_back("integers fit their types");
  if (assumed & kMasksHide) texts.emplace_back("scores under a mask of -1e20 or less count nothing");
  if (assumed & kLengthsCount)
    texts.emplace_back("vectors that are divided by their length are 0, or longer than 1e-6");
  return texts;
}

std::vector<uint8_t> Terms::all_assumed() const {
  std::vector<uint8_t> all;
  for (const Term& term : terms_) {  // arguments come before what they are arguments of
    all.push_back(term.assumed);
    for (const TermId one : term.arguments)
      if (one != kNoTerm) all.back() |= all[one];
  }
  return all;
}

TermId Terms::insert(Term term, std::string key) {
  was_there_ = false;
  term.made_by[static_cast<size_t>(model_)] = node_;
  const auto id = static_cast<TermId>(terms_.size());
  terms_.push_back(std::move(term));
  known_.emplace(std::move(key), id);
  return id;
}

TermId Terms::add(Term term) {
  // What is unknown is equal to nothing.
  if (!std::ranges::all_of(term.dims, [](dim::Dim d) { return d.is_known(); })) return add_unique(std::move(term));
  const std::string key = key_of_term(term);
  const bool is_leaf = term.kind == Term::Kind::kConstant || term.kind == Term::Kind::kSizes;
  std::string own;
  for (const uint32_t context : contexts_) {
    own = key;
    append_raw(own, context);
    if (const auto found = known_.find(own); found != known_.end()) {
      was_there_ = true;
      auto& made_by = terms_[found->second].made_by[static_cast<size_t>(model_)];
      if (!made_by) made_by = node_;
      return found->second;
    }
    if (is_leaf) break;  // the same everywhere
  }
  return insert(std::move(term), std::move(own));
}

std::optional<TermId> Terms::find(const Term& term) const {
  const std::string key = key_of_term(term);
  for (const uint32_t context : contexts_) {
    std::string own = key;
    append_raw(own, context);
    if (const auto found = known_.find(own); found != known_.end()) return found->second;
  }
  return std::nullopt;
}

TermId Terms::add_unique(Term term) {
  append_raw(term.settings, ++unique_);
  term.settings += "unique";
  return insert(std::move(term), "unique" + std::to_string(unique_));
}

TermId Terms::apply(std::string op, std::vector<TermId> arguments, ir::DataType dtype, std::optional<ops::Shape> shape,
                    std::string settings) {
  Term term;
  term.op = std::move(op);
  term.settings = std::move(settings);
  term.arguments = std::move(arguments);
  term.dtype = dtype;
  term.shape = std::move(shape);
  return add(std::move(term));
}

uint32_t Terms::enter(const std::string& what) {
  std::string key = what;
  append_raw(key, contexts_.back());
  contexts_.push_back(
      context_numbers_.try_emplace(key, static_cast<uint32_t>(context_numbers_.size() + 1)).first->second);
  return contexts_.back();
}

}  // namespace thaw::proving
