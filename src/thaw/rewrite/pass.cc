#include "thaw/rewrite/pass.h"

#include <fmt/format.h>

#include "thaw/rewrite/constant_weights.h"

namespace thaw {

std::string Change::message() const {
  if (replaced.empty()) return why;
  std::string text = part.empty() ? std::string() : part + ": ";
  for (size_t i = 0; i < replaced.size(); ++i)
    text += fmt::format("{}{} becomes {}", i == 0 ? "" : ", ", replaced[i].first, replaced[i].second);
  if (nodes > 0) text += fmt::format(" in {} node{}", nodes, nodes == 1 ? "" : "s");
  return text;
}

namespace rewrite {

PassContext::PassContext(ir::Model& changed, infer::UnknownSizes unknown)
    : model(changed),
      unknown_(unknown),
      listed_(changed.graph->initializers().begin(), changed.graph->initializers().end()),
      read_defaults_(read_defaults(changed)) {}

infer::Inference& PassContext::facts() {
  if (!facts_) facts_ = std::make_unique<Facts>(model, unknown_);
  return facts_->inference;
}

const dim::Scope& PassContext::scope() {
  facts();
  return facts_->scope;
}

Changes PassContext::finish() {
  list_initializers(model, listed_);
  drop_unread_defaults(model, read_defaults_);
  return std::move(changes);
}

Changes run(std::span<const Pass> passes, ir::Model& model) {
  PassContext context(model);
  run(passes, context);
  return context.finish();
}

}  // namespace rewrite
}  // namespace thaw
