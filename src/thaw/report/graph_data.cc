#include "thaw/report/graph_data.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <nlohmann/json.hpp>

#include "thaw/report/printable.h"

namespace thaw::report {
namespace {

using Json = nlohmann::json;

// Of everything in a list, one part.
template <typename Items, typename Part>
Json column(const Items& items, const Part& part) {
  Json list = Json::array();
  for (const auto& item : items) list.push_back(part(item));
  return list;
}

// A part that few have: by the index of who has it.
template <typename Items, typename Has, typename Part>
Json sparse(const Items& items, const Has& has, const Part& part) {
  Json object = Json::object();
  for (size_t i = 0; i < items.size(); ++i)
    if (has(items[i])) object[std::to_string(i)] = part(items[i]);
  return object;
}

// Costs are for people: whole numbers as such, and none of what is not known.
Json number(double value) {
  if (value < 0) return nullptr;
  return value < 9e15 ? Json(static_cast<uint64_t>(std::llround(value))) : Json(value);
}

Json modules_json(const std::vector<GraphData::Module>& modules) {
  using Module = GraphData::Module;
  return {{"parent", column(modules, [](const Module& m) { return m.parent; })},
          {"name", column(modules, [](const Module& m) { return printable(m.name); })},
          {"flops", column(modules, [](const Module& m) { return m.flops; })},
          {"bytes", column(modules, [](const Module& m) { return m.bytes; })}};
}

Json nodes_json(const std::vector<GraphData::Node>& nodes) {
  using Node = GraphData::Node;
  const auto name = [](const Node& n) {
    return n.is_whole ? Json::array({printable(n.name)}) : Json(printable(n.name));
  };
  return {{"module", column(nodes, [](const Node& n) { return n.module; })},
          {"op", column(nodes, [](const Node& n) { return n.op; })},
          {"name", column(nodes, name)},
          {"in", column(nodes, [](const Node& n) { return n.inputs; })},
          {"out", column(nodes, [](const Node& n) { return n.outputs; })},
          {"flops", column(nodes, [](const Node& n) { return number(n.flops); })},
          {"bytes", column(nodes, [](const Node& n) { return number(n.bytes); })},
          {"flops_text", column(nodes, [](const Node& n) { return n.flops_text; })},
          {"bytes_text", column(nodes, [](const Node& n) { return n.bytes_text; })},
          {"attributes",
           sparse(
               nodes, [](const Node& n) { return !n.attributes.empty(); }, [](const Node& n) { return n.attributes; })},
          {"graphs",
           sparse(nodes, [](const Node& n) { return !n.graphs.empty(); }, [](const Node& n) { return n.graphs; })}};
}

Json values_json(const std::vector<GraphData::Value>& values) {
  using Value = GraphData::Value;
  const auto name = [](const Value& v) { return v.suffix >= 0 ? Json(v.suffix) : Json(printable(v.name)); };
  return {
      {"name", column(values, name)},
      {"type", column(values, [](const Value& v) { return v.type; })},
      {"shape", column(values, [](const Value& v) { return v.shape; })},
      {"elements",
       sparse(
           values, [](const Value& v) { return v.elements != 0; }, [](const Value& v) { return v.elements; })},
      {"weight",
       sparse(values, [](const Value& v) { return v.weight >= 0; }, [](const Value& v) { return number(v.weight); })}};
}

Json marks_json(const std::vector<GraphData::Marked>& marked) {
  constexpr std::array kNames{"frozen", "problem", "added", "removed", "changed", "on_cpu", "on_provider"};
  Json object = Json::object();
  for (const GraphData::Marked& mark : marked)
    object[std::to_string(mark.at)].push_back(Json::array({kNames[static_cast<size_t>(mark.mark)], mark.text}));
  return object;
}

template <typename Pairs>
Json pairs_json(const Pairs& pairs) {
  Json object = Json::object();
  for (const auto& [at, list] : pairs) object[std::to_string(at)] = list;
  return object;
}

}  // namespace

int GraphData::text(std::string_view text) {
  const auto [at, fresh] = known_.try_emplace(std::string(text), static_cast<int>(texts.size()));
  if (fresh) texts.emplace_back(text);
  return at->second;
}

std::string GraphData::json() const {
  const Json graphs_list = column(graphs, [](const Graph& g) {
    return Json{{"module", g.module},
                {"title", printable(g.title)},
                {"is_function", g.is_function},
                {"in", g.inputs},
                {"out", g.outputs}};
  });
  const Json json{{"title", printable(title)},
                  {"texts", column(texts, [](const std::string& t) { return printable(t); })},
                  {"modules", modules_json(modules)},
                  {"graphs", graphs_list},
                  {"constants", constants},
                  {"nodes", nodes_json(nodes)},
                  {"values", values_json(values)},
                  {"node_marks", marks_json(marked_nodes)},
                  {"value_marks", marks_json(marked_values)},
                  {"former_inputs", pairs_json(former_inputs)},
                  {"operands", pairs_json(operands)},
                  {"assumed", printable(assumed)},
                  {"limits", limits}};
  return json.dump();
}

}  // namespace thaw::report
