#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "thaw/report/model_diff.h"
#include "thaw/report/printable.h"
#include "thaw/report/style.h"
#include "thaw/report/table.h"

namespace thaw::report {
namespace {

std::string sides(const Difference& difference) {
  if (!difference.note.empty()) return difference.note;
  const std::string_view a = difference.a.empty() ? "none" : std::string_view(difference.a);
  const std::string_view b = difference.b.empty() ? "none" : std::string_view(difference.b);
  return fmt::format("{} -> {}", a, b);
}

class ModelDiffText {
 public:
  ModelDiffText(const Style& style, size_t most) : style_(style), most_(most) {}

  void heading(std::string_view name, size_t number) {
    text += "\n" + style_(Style::Look::kBold, name) + style_(Style::Look::kDim, fmt::format("  {}", number)) + "\n";
  }

  void differences(std::string_view name, const std::vector<Difference>& list) {
    if (list.empty()) return;
    heading(name, list.size());
    Table table;
    for (const Difference& difference : list.size() > most_ ? cut(list) : list)
      table.add({difference.what, sides(difference)});
    text += table.text();
    more(list.size());
  }

  void items(std::string_view name, const std::vector<DiffItem>& list) {
    if (list.empty()) return;
    heading(name, list.size());
    for (size_t i = 0; i < std::min(list.size(), most_); ++i) {
      const DiffItem& item = list[i];
      if (item.change == DiffKind::kAdded) {
        text += style_(Style::Look::kGreen, "  + " + printable(item.name)) + "\n";
      } else if (item.change == DiffKind::kRemoved) {
        text += style_(Style::Look::kRed, "  - " + printable(item.name)) + "\n";
      } else if (item.differences.size() == 1) {
        text +=
            style_(Style::Look::kYellow, "  ~ " + printable(item.name)) + "  " + line(item.differences.front()) + "\n";
      } else {
        text += style_(Style::Look::kYellow, "  ~ " + printable(item.name)) + "\n";
        for (const Difference& difference : item.differences) text += "      " + line(difference) + "\n";
      }
    }
    more(list.size());
  }

  void names(const std::vector<std::pair<std::string, std::string>>& list) {
    if (list.empty()) return;
    heading("Renamed", list.size());
    Table table;
    for (size_t i = 0; i < std::min(list.size(), most_); ++i) table.add({list[i].first, "-> " + list[i].second});
    text += table.text();
    more(list.size());
  }

  std::string text;

 private:
  std::vector<Difference> cut(const std::vector<Difference>& list) const {
    return {list.begin(), list.begin() + static_cast<std::ptrdiff_t>(most_)};
  }

  static std::string line(const Difference& difference) { return printable(describe(difference)); }

  void more(size_t all) {
    if (all > most_) text += fmt::format("  … and {} more (--all prints them)\n", all - most_);
  }

  const Style& style_;
  size_t most_;
};

constexpr size_t kMostDiffItems = 20;  // of each kind, unless all are asked for

}  // namespace

std::string describe(const Difference& difference) { return fmt::format("{}: {}", difference.what, sides(difference)); }

std::string describe(const ModelDiff& diff) {
  const std::string_view but = diff.weights_compared ? "" : " (weight values were not compared)";
  const std::string nodes = counted(diff.matched_nodes, "node");
  if (diff.equal()) return fmt::format("Equal: {}{}.", nodes, but);
  if (diff.equal_except_names()) return fmt::format("Equal except for names: {}{}.", nodes, but);
  return fmt::format("The models differ; {} in both{}.", nodes, but);
}

namespace {

std::string diff_text(const ModelDiff& diff, const Style& style, size_t most) {
  ModelDiffText writer(style, most);
  writer.text = style(Style::Look::kBold, fmt::format("{} -> {}", printable(diff.a), printable(diff.b))) + "\n";
  if (diff.equal()) return writer.text + describe(diff) + "\n";
  writer.differences("Model", diff.header);
  writer.items("Inputs", diff.inputs);
  writer.items("Outputs", diff.outputs);
  writer.differences("Operators", diff.operators);
  writer.items("Nodes", diff.nodes);
  writer.items("Weights", diff.weights);
  writer.items("Declared dims", diff.value_info);
  writer.items("Inferred dims", diff.inferred_shapes);
  writer.names(diff.renamed);
  writer.text += "\n" + describe(diff) + "\n";
  return writer.text;
}

}  // namespace
}  // namespace thaw::report

namespace thaw {

std::string to_text(const ModelDiff& diff, const TextOptions& how) {
  const size_t most = how.all ? std::numeric_limits<size_t>::max() : report::kMostDiffItems;
  return report::diff_text(diff, report::Style(how.colour), most);
}

}  // namespace thaw
