#include "thaw/rewrite/replace.h"

namespace thaw::rewrite {
namespace {

bool is_returned(const ir::Value& value) { return value.is_output() || !value.graph()->returned_by(&value).empty(); }

void exchange_names(ir::Value& old, ir::Value& now, const std::string& name) {
  ir::Graph& graph = *old.graph();
  graph.rename(&old, graph.unique_name(name + "_replaced"));
  graph.rename(&now, name);
}

}  // namespace

bool can_replace(const ir::Value& old, const ir::Value& now) {
  if (!is_returned(old)) return true;
  return old.graph()->returned_by(&old).empty() && now.graph() == old.graph() && now.producer() && !is_returned(now);
}

void replace_value(ir::Value& old, ir::Value& now) {
  ir::Graph& graph = *old.graph();
  const bool is_output = old.is_output();
  const std::string name = old.name();
  if (is_output && !now.is_input() && old.type.kind != ir::Type::Kind::kNone) now.set_type(old.type);
  graph.replace_uses(&old, &now);
  if (!is_output || now.is_input()) return;
  exchange_names(old, now, name);
}

void replace_by_new(ir::Value& old, ir::Value& now) {
  const std::string name = old.name();
  replace_value(old, now);
  if (now.name() != name) exchange_names(old, now, name);
}

}  // namespace thaw::rewrite
