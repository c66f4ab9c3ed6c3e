#include "thaw/report/target_support.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/report/members.h"
#include "thaw/report/printable.h"
#include "thaw/report/style.h"
#include "thaw/report/table.h"

namespace thaw::report {
namespace {

Outcome outcome_of(Support support) {
  return support == Support::kSupported     ? Outcome::kGood
         : support == Support::kUnsupported ? Outcome::kBad
                                            : Outcome::kOpen;
}

HtmlCell support_cell(Support support) { return HtmlCell::verdict(outcome_of(support), name_of(support)); }

// For tables with a column a target.
HtmlCell short_cell(Support support) {
  const std::string_view word = support == Support::kSupported     ? "yes"
                                : support == Support::kUnsupported ? "no"
                                                                   : name_of(support);
  return HtmlCell::verdict(outcome_of(support), word);
}

// "118 supported, 2 in part, 1 unknown, 3 unsupported".
std::string counts_text(const TargetSupport& target) {
  std::vector<std::string> parts{fmt::format("{} supported", grouped(target.supported))};
  const auto add = [&](size_t count, Support support) {
    if (count > 0) parts.push_back(fmt::format("{} {}", grouped(count), name_of(support)));
  };
  add(target.partial, Support::kPartial);
  add(target.unknown, Support::kUnknown);
  add(target.unsupported, Support::kUnsupported);
  if (target.shape_nodes > 0) parts.push_back(fmt::format("{} of shapes on the CPU", grouped(target.shape_nodes)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string parts_text(const TargetSupport& target) {
  if (target.unsupported == 0) return {};
  return fmt::format("{}, {} between them and the rest", counted(target.islands, "island"),
                     counted(target.crossing_tensors, "tensor"));
}

// The operator of the most nodes that are not supported; where all are, what is said of the model as a whole.
std::string first_reason(const TargetSupport& target) {
  if (target.unsupported == 0 && !target.limits.empty()) return target.limits.front();
  const OperatorSupport* most = nullptr;
  for (const OperatorSupport& entry : target.operators)
    if (entry.support == target.support && entry.support != Support::kSupported && (!most || entry.nodes > most->nodes))
      most = &entry;
  return most ? most->why : std::string();
}

std::string line_of(const TargetSupport& target) {
  std::string text = fmt::format("{}: {}; {}: {}", target.title, name_of(target.support), counted(target.nodes, "node"),
                                 counts_text(target));
  if (const std::string parts = parts_text(target); !parts.empty()) text += "; " + parts;
  if (!target.note.empty()) text += "; " + target.note;
  return printable(text);
}

void add_operators(HtmlPage& page, const TargetSupport& target) {
  for (const std::string& limit : target.limits) page.sentence(fmt::format("The model: {}.", limit));
  std::vector<std::vector<HtmlCell>> rows;
  for (const OperatorSupport& entry : target.operators)
    if (entry.support != Support::kSupported)
      rows.push_back({support_cell(entry.support), HtmlCell::code(entry.op), HtmlCell::count(entry.nodes),
                      HtmlCell::text(entry.why)});
  if (!rows.empty()) page.table({"support", "operator", "nodes", "why"}, rows);
}

void add_operator_matrix(HtmlPage& page, std::span<const TargetSupport> targets) {
  std::map<std::string, std::map<std::string, const OperatorSupport*>> by_operator;
  for (const TargetSupport& target : targets)
    for (const OperatorSupport& entry : target.operators) by_operator[entry.op][target.target] = &entry;
  std::vector<std::string> columns{"operator"};
  for (const TargetSupport& target : targets) columns.push_back(target.target);
  std::vector<std::vector<HtmlCell>> rows;
  for (const auto& [op, found] : by_operator) {
    std::vector<HtmlCell>& row = rows.emplace_back();
    row.push_back(HtmlCell::code(op));
    for (const TargetSupport& target : targets) {
      const auto entry = found.find(target.target);
      row.push_back(entry == found.end() ? HtmlCell::text("CPU") : short_cell(entry->second->support));
    }
  }
  page.heading("Operators by target");
  page.sentence("Of the node that is supported least; CPU: they compute shapes, which ONNX Runtime leaves to the CPU.");
  page.table(columns, rows);
}

// The targets of all, in the order of the first that has some.
std::vector<std::string> targets_of(const std::vector<TargetsOfModel>& models) {
  std::vector<std::string> names;
  for (const auto& [model, targets] : models)
    for (const TargetSupport& target : targets)
      if (std::ranges::find(names, target.target) == names.end()) names.push_back(target.target);
  return names;
}

}  // namespace

std::string_view name_of(Support support) {
  switch (support) {
    case Support::kSupported:
      return "supported";
    case Support::kUnknown:
      return "unknown";
    case Support::kPartial:
      return "in part";
    case Support::kUnsupported:
      return "unsupported";
  }
  return "";
}

std::string_view key_of(Support support) { return support == Support::kPartial ? "partial" : name_of(support); }

void write_targets(JsonWriter& json, std::span<const TargetSupport> targets) {
  if (targets.empty()) return;
  json.member_array("targets");
  for (const TargetSupport& target : targets) {
    json.begin_object();
    json.member("target", target.target);
    json.member("support", key_of(target.support));
    json.member("nodes", target.nodes);
    json.member("supported", target.supported);
    json.member("partial", target.partial);
    json.member("unknown", target.unknown);
    json.member("unsupported", target.unsupported);
    json.member("shape_nodes", target.shape_nodes);
    json.member("islands", target.islands);
    json.member("crossing_tensors", target.crossing_tensors);
    write_texts(json, "limits", target.limits);
    json.optional_member("remark", target.note);
    json.optional_member("source", target.source);
    json.member_array("operators");
    for (const OperatorSupport& entry : target.operators) {
      json.begin_object(JsonWriter::Layout::kLine);
      json.member("op", entry.op);
      json.member("nodes", entry.nodes);
      json.member("support", key_of(entry.support));
      json.optional_member("reason", entry.why);
      json.end_object();
    }
    json.end_array();
    json.end_object();
  }
  json.end_array();
}

std::string targets_text(std::span<const TargetSupport> targets) {
  if (targets.size() < 2) return targets.empty() ? "" : line_of(targets.front()) + "\n";
  Table table(40);
  table.add({"target", "support", "nodes", "in part", "unknown", "unsupported", "islands", "tensors", "first reason"});
  for (const TargetSupport& target : targets)
    table.add({target.target, std::string(name_of(target.support)), grouped(target.nodes), grouped(target.partial),
               grouped(target.unknown), grouped(target.unsupported), grouped(target.islands),
               grouped(target.crossing_tensors), first_reason(target)});
  return table.text();
}

void add_targets(HtmlPage& page, std::span<const TargetSupport> targets) {
  if (targets.empty()) return;
  if (targets.size() > 1) {
    page.heading("Targets");
    std::vector<std::vector<HtmlCell>> rows;
    for (const TargetSupport& target : targets)
      rows.push_back({HtmlCell::code(target.target), support_cell(target.support), HtmlCell::count(target.supported),
                      HtmlCell::count(target.partial), HtmlCell::count(target.unknown),
                      HtmlCell::count(target.unsupported), HtmlCell::count(target.islands),
                      HtmlCell::count(target.crossing_tensors), HtmlCell::text(first_reason(target))});
    page.table({"target", "support", "supported", "in part", "unknown", "unsupported", "islands", "tensors between",
                "first reason"},
               rows);
    add_operator_matrix(page, targets);
  }
  for (const TargetSupport& target : targets) {
    if (target.support == Support::kSupported && targets.size() > 1) continue;
    page.heading(target.title);
    page.sentence(line_of(target) + ".");
    if (!target.source.empty()) page.sentence(fmt::format("After {}.", target.source));
    add_operators(page, target);
  }
}

std::string target_matrix_text(const std::vector<TargetsOfModel>& models) {
  const std::vector<std::string> names = targets_of(models);
  if (names.empty()) return {};
  Table table;
  std::vector<std::string> head{"model"};
  head.insert(head.end(), names.begin(), names.end());
  table.add(head);
  for (const auto& [model, targets] : models) {
    std::vector<std::string> row{model};
    for (const std::string& name : names) {
      const auto found = std::ranges::find(targets, name, &TargetSupport::target);
      row.emplace_back(found == targets.end() ? "" : name_of(found->support));
    }
    table.add(std::move(row));
  }
  return table.text();
}

void add_target_matrix(HtmlPage& page, const std::vector<TargetsOfModel>& models) {
  const std::vector<std::string> names = targets_of(models);
  if (names.empty()) return;
  std::vector<std::string> columns{"model"};
  columns.insert(columns.end(), names.begin(), names.end());
  std::vector<std::vector<HtmlCell>> rows;
  for (const auto& [model, targets] : models) {
    std::vector<HtmlCell>& row = rows.emplace_back();
    row.push_back(HtmlCell::code(model));
    for (const std::string& name : names) {
      const auto found = std::ranges::find(targets, name, &TargetSupport::target);
      row.push_back(found == targets.end() ? HtmlCell::text("") : short_cell(found->support));
    }
  }
  page.heading("Models by target");
  page.table(columns, rows);
}

}  // namespace thaw::report

namespace thaw {

std::string to_json(std::span<const ShapeProfile> profiles) {
  // "x:1x3x224x224,y:1x77".
  const auto shapes = [&](std::vector<int64_t> ShapeProfile::* which) {
    std::vector<std::string> texts;
    for (const ShapeProfile& profile : profiles)
      texts.push_back(fmt::format("{}:{}", profile.input, fmt::join(profile.*which, "x")));
    return fmt::format("{}", fmt::join(texts, ","));
  };
  const std::string least = shapes(&ShapeProfile::least), opt = shapes(&ShapeProfile::opt),
                    largest = shapes(&ShapeProfile::largest);
  std::string text;
  report::JsonWriter json(text);
  report::begin_report(json);
  json.member_array("inputs");
  for (const ShapeProfile& profile : profiles) {
    json.begin_object(report::JsonWriter::Layout::kLine);
    json.member("input", profile.input);
    for (const auto& [name, sizes] :
         {std::pair("min", &profile.least), {"opt", &profile.opt}, {"max", &profile.largest}}) {
      json.member_array(name, report::JsonWriter::Layout::kLine);
      for (const int64_t size : *sizes) json.value(size);
      json.end_array();
    }
    json.end_object();
  }
  json.end_array();
  report::write_texts(json, "trtexec",
                      std::vector<std::string>{"--minShapes=" + least, "--optShapes=" + opt, "--maxShapes=" + largest});
  json.member_object("provider_options");
  json.member("trt_profile_min_shapes", least);
  json.member("trt_profile_opt_shapes", opt);
  json.member("trt_profile_max_shapes", largest);
  json.end_object();
  json.end_object();
  return text + "\n";
}

}  // namespace thaw
