#include "thaw/lift/onetrace/tables.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/dim/text/text.h"
#include "thaw/frozen/frozen.h"
#include "thaw/lift/align/evidence.h"
#include "thaw/lift/align/same_node.h"
#include "thaw/lift/table/table.h"

namespace thaw::lifting::onetrace {

constexpr int64_t kFewElements = 64;

namespace {

// Whether a tensor holds 0, 1, 2, … up to some number, in any order and as often as it likes: positions, an index.
bool counts_up(const ir::Tensor& tensor) {
  constexpr int64_t kMost = int64_t{1} << 20;
  try {
    if (tensor.num_elements() < 2 || tensor.num_elements() > kMost) return false;
    std::vector<int64_t> entries = tensor.to_int64();
    std::sort(entries.begin(), entries.end());
    entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
    return entries.size() > 1 && entries.front() == 0 && entries.back() == static_cast<int64_t>(entries.size()) - 1;
  } catch (const Error&) {
    return false;  // its data is missing
  }
}

// A list 0, 1, … of a batch that was 1: [[0]]. Its first axis may grow; every other axis of 1 is there to broadcast.
bool counts_to_one(const ir::Tensor& tensor) {
  const bool integers = tensor.data_type == ir::DataType::kInt64 || tensor.data_type == ir::DataType::kInt32;
  const bool ones = std::all_of(tensor.dims.begin(), tensor.dims.end(), [](int64_t d) { return d == 1; });
  try {
    return integers && ones && tensor.dims.size() > 1 && tensor.to_int64().front() == 0;
  } catch (const Error&) {
    return false;  // its data is missing
  }
}

// Whether a node reads its input i as data, and not as axes, steps or a shape.
bool reads_as_data(const ir::Node& node, int i) {
  static const std::set<std::string_view> every = {
      "Add", "Sub", "Mul",   "Div",    "Mod", "Less",   "LessOrEqual",    "Greater",  "GreaterOrEqual",
      "And", "Or",  "Equal", "Concat", "Min", "Gather", "GatherElements", "GatherND", "ScatterND",
      "Max", "Xor", "Where", "Pow"};
  return node.domain().empty() && (i == 0 || every.contains(node.op_type()));
}

}  // namespace

std::vector<Table> find_tables(const ir::Model& model) {
  using frozen::FrozenRole;
  dim::Scope scope;
  std::vector<Table> tables;
  for (const frozen::FrozenSite& site : frozen::find_frozen(model, scope).sites) {
    const bool is_table = site.role == FrozenRole::kTable || site.role == FrozenRole::kIndex;
    if (!is_table && site.role != FrozenRole::kWeight) continue;
    Table& table = tables.emplace_back();
    table.code = site.role == FrozenRole::kTable ? "THAW013" : is_table ? "THAW014" : "THAW015";
    // A weight may be a buffer of zeros, as the first state of an LSTM; trained ones have no generator.
    if (site.constant && site.constant->constant() && !site.constant->is_input())
      table.value = model.graph->find(site.constant->name());
    table.note = {.where = fmt::format("{} reads '{}'", site.node->describe(),
                                       site.constant ? site.constant->name() : std::string("a computed table")),
                  .message = fmt::format("a {} of {} where {} belongs", is_table ? "table" : "weight", site.value,
                                         dim::to_string(site.expression)),
                  .at = {},
                  .code = table.code};
  }
  // Lists of integers that count up are no weights: they may be tables though nothing contradicts their length.
  std::unordered_set<const ir::Value*> known;
  for (const Table& table : tables) known.insert(table.value);
  for (const ir::Node* node : model.graph->nodes()) {
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      const ir::Value* value = node->input(static_cast<int>(i));
      const ir::Tensor* tensor = value ? value->constant() : nullptr;
      if (!tensor || value->is_input() || value->graph() != model.graph.get() || known.contains(value)) continue;
      const bool integers = tensor->data_type == ir::DataType::kInt64 || tensor->data_type == ir::DataType::kInt32;
      if (!integers || !known.insert(value).second || (!counts_up(*tensor) && !counts_to_one(*tensor))) continue;
      const bool is_data = std::all_of(value->uses().begin(), value->uses().end(),
                                       [](const ir::Use& use) { return reads_as_data(*use.node, use.index); });
      if (!is_data) continue;
      tables.push_back(
          {"THAW013", value, {"THAW013", fmt::format("{} reads '{}'", node->describe(), value->name()), {}}});
    }
  }
  return tables;
}

std::vector<Lengths> possible_lengths(const std::vector<Table>& tables, std::span<const lifting::Point> points) {
  constexpr double kMuchDearer = 5, kHardlyDearer = 1;  // bits
  constexpr size_t kMost = 12;
  lifting::Proposer proposer(points);
  std::map<int64_t, std::vector<lifting::Proposal>> open;
  for (const Table& table : tables) {
    if (!table.value) continue;
    const ir::Tensor& tensor = *table.value->constant();
    for (const int64_t length : tensor.dims) {
      if (length == 1 && !counts_to_one(tensor)) continue;
      std::vector<lifting::Proposal> proposals = proposer.propose(length);
      const bool may_stay = proposals.front().dim.is_constant();
      std::erase_if(proposals, [most = proposals.front().cost + (may_stay ? kHardlyDearer : kMuchDearer)](
                                   const lifting::Proposal& p) { return p.cost > most; });
      if (may_stay && proposals.size() == 1) continue;
      open.emplace(length, std::move(proposals));
    }
  }
  struct Chosen {
    Lengths lengths;
    double cost = 0;
  };
  std::vector<Chosen> choices(1);
  for (const auto& [length, proposals] : open) {
    std::vector<Chosen> more;
    for (const Chosen& choice : choices) {
      for (const lifting::Proposal& p : proposals) {
        more.push_back(choice);
        more.back().lengths[length] = p.dim;
        more.back().cost += p.cost;
      }
    }
    std::stable_sort(more.begin(), more.end(), [](const Chosen& a, const Chosen& b) { return a.cost < b.cost; });
    if (more.size() > kMost) more.resize(kMost);
    choices = std::move(more);
  }
  std::vector<Lengths> all;
  for (Chosen& choice : choices) all.push_back(std::move(choice.lengths));
  return all;
}

namespace {

// The sizes that differ in some case, at the export. Those that are products of others come last: as the side of a grid
// the others are meant.
std::vector<lifting::Variable> variables_of(const Sizes& sizes) {
  const std::vector<lifting::Point> points = points_of(sizes);
  std::vector<lifting::Variable> variables;
  for (const bool products : {false, true}) {
    for (const lifting::Point& point : points) {
      const auto size = std::find_if(sizes.sizes.begin(), sizes.sizes.end(),
                                     [&](const Size& s) { return dim::same(s.symbol, point.symbol); });
      const bool varies =
          std::any_of(point.at.begin(), point.at.end(), [&](int64_t v) { return v != point.at.front(); });
      if (varies && point.product.is_known() == products)
        variables.push_back({.symbol = size->symbol,
                             .at = {point.at.front()},
                             .kind = size->is_dim ? lifting::Variable::Kind::kDim : lifting::Variable::Kind::kValue,
                             .input = size->input,
                             .index = size->index});
    }
  }
  return variables;
}

// Lines of inputs, with the elements that never differ.
std::vector<std::vector<InputLine>> lines_of(const Sizes& sizes) {
  std::vector<lifting::Variable> values;
  for (const Size& size : sizes.sizes)
    if (!size.is_dim && size.at)
      values.push_back({.symbol = size.symbol,
                        .at = {*size.at},
                        .kind = lifting::Variable::Kind::kValue,
                        .input = size.input,
                        .index = size.index,
                        .row = size.row});
  return lines_of_inputs(values);
}

class Maker {
 public:
  Maker(ir::Model& model, const Sizes& sizes, const Lengths& lengths, rewrite::DimEmitter& emitter)
      : graph_(*model.graph),
        variables_(variables_of(sizes)),
        solver_(variables_, without_one(lengths)),
        context_{.variables = variables_, .solver = solver_, .lines = lines_of(sizes)},
        writer_(emitter) {
    if (const auto one = lengths.find(1); one != lengths.end()) one_ = one->second;
  }

  // A constant none of whose dims or elements is a size: no table, whatever it was taken for.
  bool is_table(const Table& table) const {
    const ir::Tensor& tensor = *table.value->constant();
    if (counts_to_one(tensor)) return one_.is_symbolic();
    const auto is_size = [&](int64_t n) { return !solver_.solve(std::span(&n, 1))->is_constant(); };
    if (std::any_of(tensor.dims.begin(), tensor.dims.end(), is_size)) return true;
    if (!ir::is_integer(tensor.data_type) || tensor.num_elements() > kFewElements) return false;
    try {
      const std::vector<int64_t> elements = tensor.to_int64();
      return std::any_of(elements.begin(), elements.end(), is_size);
    } catch (const Error&) {
      return false;
    }
  }

  // Says why not where it returns false.
  bool make(const Table& table, Note& note) {
    ir::Value* value = graph_.find(table.value->name());
    const ir::Tensor* tensor = value->constant();
    const auto known = std::find_if(made_.begin(), made_.end(),
                                    [&](const Made& m) { return lifting::same_tensor(*m.tensor, *tensor); });
    if (known != made_.end()) {
      note.message = known->message;
      graph_.replace_uses(value, known->value);
      return true;
    }
    std::string reason;
    std::optional<lifting::TableFit> fit;
    if (counts_to_one(*tensor)) fit = list_to(*tensor);
    try {
      if (!fit) fit = lifting::fit_table({&tensor, 1}, context_, reason);
    } catch (const Error& error) {
      reason = error.parts().what;  // its data is missing
    }
    if (!fit) {
      note.message = table.note.message + ", and " + reason;
      return false;
    }
    note.message = fmt::format("{} becomes {}", lifting::evidence({&tensor, 1}).front(), fit->description);
    ir::Value* computed = fit->emit(writer_);
    graph_.replace_uses(value, computed);
    made_.push_back({tensor, computed, note.message});
    return true;
  }

 private:
  static Lengths without_one(Lengths lengths) {
    lengths.erase(1);
    return lengths;
  }

  // 0, 1, … along the first axis.
  lifting::TableFit list_to(const ir::Tensor& tensor) const {
    std::vector<int64_t> form(tensor.dims.size(), 1);
    form.front() = -1;
    return {.description = fmt::format("0, 1, … to {}", dim::to_string(one_)),
            .emit = [form, type = tensor.data_type, length = one_](lifting::TableEmitter& e) {
              ir::Value* list = e.emit("Reshape", {e.arange(length), e.list(form)});
              return type == ir::DataType::kInt64 ? list : e.cast(list, type);
            }};
  }

  struct Made {
    const ir::Tensor* tensor;
    ir::Value* value;
    std::string message;
  };
  ir::Graph& graph_;
  std::vector<lifting::Variable> variables_;
  lifting::Solver solver_;
  dim::Dim one_ = 1;  // what a list of one entry is as long as
  lifting::TableContext context_;
  lifting::TableEmitter writer_;
  std::vector<Made> made_;
};

}  // namespace

TableReport make_tables(ir::Model& model, const std::vector<Table>& tables, const Sizes& sizes, const Lengths& lengths,
                        const std::set<std::string>& others, rewrite::DimEmitter& emitter) {
  Maker maker(model, sizes, lengths, emitter);
  TableReport report;
  std::unordered_set<const ir::Value*> seen;
  std::vector<const Table*> open;
  for (const Table& table : tables) {
    if (!table.value) {
      report.left.push_back(table.note);
    } else if (seen.insert(table.value).second && !others.contains(table.value->name()) && maker.is_table(table)) {
      open.push_back(&table);
    }
  }
  // Some can be told once others are: the weights of an interpolation after its indices.
  for (const bool is_last : {false, true}) {
    std::vector<const Table*> failed;
    for (const Table* table : open) {
      Note note = table->note;
      if (maker.make(*table, note)) {
        report.made.push_back(std::move(note));
      } else if (is_last && !table->note.message.empty()) {
        report.left.push_back(std::move(note));
      } else if (!is_last) {
        failed.push_back(table);
      }
    }
    open = std::move(failed);
  }
  return report;
}

}  // namespace thaw::lifting::onetrace
