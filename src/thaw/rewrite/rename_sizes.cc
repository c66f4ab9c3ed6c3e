#include "thaw/rewrite/rename_sizes.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "thaw/core/ascii.h"
#include "thaw/core/error.h"
#include "thaw/dim/text/text.h"
#include "thaw/infer/size_names.h"
#include "thaw/infer/stated_sizes.h"

namespace thaw::rewrite {
namespace {

[[noreturn]] void refuse(std::string what, std::string expected, std::string next = {}) {
  throw Error(ErrorCode::kInvalidArgument,
              {.what = std::move(what), .where = "--rename", .expected = std::move(expected), .next = std::move(next)});
}

// Every value that declares dims: those of the graph and of the graphs inside it.
void each_declaration(const ir::Model& model, const std::function<void(ir::Value&)>& visit) {
  std::vector<const ir::Graph*> waiting{model.graph.get()};
  while (!waiting.empty()) {
    const ir::Graph* graph = waiting.back();
    waiting.pop_back();
    for (const auto& values : {graph->inputs(), graph->outputs(), graph->value_infos()})
      for (ir::Value* value : values)
        if (value->type.shape) visit(*value);
    for (const ir::Node* node : graph->nodes())
      for (const ir::Graph* inner : node->subgraphs()) waiting.push_back(inner);
  }
}

class Renamer {
 public:
  explicit Renamer(ir::Model& model)
      : model_(model), facts_(infer::infer(model, scope_)), names_(infer::size_names(model, facts_, scope_)) {}

  // False where the model has no such size.
  bool add(const std::string& from, const std::string& to) {
    const auto found = names_.find(from);
    if (!found) return false;
    if (found->kind == dim::SizeName::Kind::kElement)
      refuse("'" + from + "' is an element of an input, which has no other name", "a size of an input");
    if (found->kind == dim::SizeName::Kind::kNumber)
      refuse("'" + from + "' is " + std::to_string(found->number) + ", a number", "a size that is free",
             "`thaw fix` and `thaw lift` free sizes");
    if (!to_.emplace(found->symbol, to).second) refuse("'" + found->text + "' is renamed twice", "one name for a size");
    return true;
  }

  [[noreturn]] void refuse_name(const std::string& name) const { names_.refuse(name, "--rename"); }

  void run() {
    if (to_.empty()) return;
    std::unordered_map<int, dim::Dim> symbols;
    for (const auto& [id, to] : to_) symbols.emplace(id, scope_.symbol(to));
    for (ir::Value* input : model_.graph->inputs()) {
      if (!input->type.shape) continue;
      const ops::Fact& fact = facts_.fact(input);
      for (int axis = 0; axis < fact.rank(); ++axis)
        if (concerns(fact.dim(axis))) rename_axis(*input, static_cast<size_t>(axis), fact.dim(axis), symbols);
    }
    const auto known = [&](std::string_view name) { return names_.find(name).has_value(); };
    each_declaration(model_, [&](ir::Value& value) {
      if (value.is_input() && value.graph() == model_.graph.get()) return;
      for (size_t axis = 0; axis < value.type.shape->size(); ++axis) {
        const std::string param = (*value.type.shape)[axis].param;
        if (param.empty()) continue;
        const auto exact = names_.find(param);
        const dim::Dim dim = exact && exact->symbol >= 0 ? scope_.symbol_at(exact->symbol)
                                                         : dim::try_parse(param, scope_, known).value_or(dim::Dim());
        if (concerns(dim)) rename_axis(value, axis, dim, symbols);
      }
    });
    for (auto& [key, text] : model_.metadata_props)
      if (key == infer::kStatedSizesKey || key == infer::kValidSizesKey || key == infer::kOldValidSizesKey)
        text = renamed_entries(text);
  }

  // Names of sizes that stay, and of what only running the model tells.
  void refuse_taken() const {
    std::unordered_set<std::string> leaving, taken;
    for (const auto& [id, to] : to_) leaving.insert(scope_.symbols()[static_cast<size_t>(id)].name);
    for (const std::string& name : names_.known()) taken.insert(name);
    each_declaration(model_, [&](const ir::Value& value) {
      for (const ir::DeclaredDim& dim : *value.type.shape) taken.insert(dim.param);
    });
    for (const auto& [id, to] : to_)
      if (taken.contains(to) && !leaving.contains(to))
        refuse("'" + to + "' is another size already", "a name that no other size has: equal names mean equal sizes",
               "choose another name");
  }

 private:
  bool concerns(dim::Dim dim) const {
    return dim.is_symbolic() && std::ranges::any_of(dim::symbols_of(dim), [&](int id) { return to_.contains(id); });
  }

  // Of "n=2..:2, m=sum(grid[:,0]*n)" the names alone.
  std::string renamed_entries(std::string_view text) const {
    const auto is_of_name = [](char c) {
      return ascii::is_letter_or_digit(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == ':';
    };
    std::string out;
    for (size_t begin = 0; begin < text.size();) {
      size_t end = begin;
      while (end < text.size() && is_of_name(text[end])) ++end;
      if (end == begin) {
        out += text[begin++];
        continue;
      }
      const std::string_view word = text.substr(begin, end - begin);
      const auto size = dim::is_size_name(word) ? names_.find(word) : std::nullopt;
      const auto to = size && size->symbol >= 0 ? to_.find(size->symbol) : to_.end();
      out += to != to_.end() ? std::string_view(to->second) : word;
      begin = end;
    }
    return out;
  }

  static void rename_axis(ir::Value& value, size_t axis, dim::Dim dim, const std::unordered_map<int, dim::Dim>& to) {
    const std::string text = dim::to_string(dim::substitute(dim, to));
    value.set_dim(axis, {{}, text, (*value.type.shape)[axis].denotation});
  }

  ir::Model& model_;
  dim::Scope scope_;
  const infer::Result facts_;
  const dim::SizeNames names_;
  std::map<int, std::string> to_;  // by symbol
};

// One for each model, each of which may lack some of the sizes; not all of them.
std::vector<std::unique_ptr<Renamer>> renamers_of(std::span<ir::Model* const> models, const SizeRenames& renames) {
  std::vector<std::unique_ptr<Renamer>> renamers;
  if (renames.empty() || models.empty()) return renamers;
  require_renames(renames);
  for (ir::Model* model : models) renamers.push_back(std::make_unique<Renamer>(*model));
  for (const auto& [from, to] : renames) {
    bool any = false;
    for (const auto& renamer : renamers) any |= renamer->add(from, to);
    if (!any) renamers.front()->refuse_name(from);
  }
  for (const auto& renamer : renamers) renamer->refuse_taken();
  return renamers;
}

}  // namespace

void require_renames(const SizeRenames& renames) {
  for (size_t i = 0; i < renames.size(); ++i) {
    const auto& [from, to] = renames[i];
    if (!dim::is_size_name(to))
      refuse("'" + to + "' cannot be the name of a size", "letters, digits, '_', '.' and ':', a letter or '_' first",
             "give such a name, as 'height'");
    for (size_t j = 0; j < i; ++j) {
      if (renames[j].first == from) refuse("'" + from + "' is renamed twice", "one name for a size");
      if (renames[j].second == to)
        refuse(fmt::format("'{}' and '{}' would both be '{}'", renames[j].first, from, to),
               "a name for each: equal names mean equal sizes");
    }
  }
}

void require_renames(ir::Model& model, const SizeRenames& renames) {
  ir::Model* const one = &model;
  require_renames(std::span(&one, 1), renames);
}

void require_renames(std::span<ir::Model* const> models, const SizeRenames& renames) { renamers_of(models, renames); }

void rename_sizes(ir::Model& model, const SizeRenames& renames) {
  ir::Model* const one = &model;
  rename_sizes(std::span(&one, 1), renames);
}

void rename_sizes(std::span<ir::Model* const> models, const SizeRenames& renames) {
  for (const auto& renamer : renamers_of(models, renames)) renamer->run();
}

}  // namespace thaw::rewrite
