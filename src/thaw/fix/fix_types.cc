// Types that meet where one is asked for: float16 beside float32, after half of a model was converted.
//
// What a Cast makes, or a constant is, may be another type than what its readers have beside it. Where one Cast's `to`, or one
// constant, changed to the other type leaves fewer locations where types do not fit, and no new one, by ONNX's own schemas, it is
// changed. Which of several is chosen depends on what they keep: a Cast before a constant, the wider type before the narrower. What none of them
// fixes gets Casts (settle_types.h).
#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "thaw/fix/passes.h"
#include "thaw/fix/settle_types.h"
#include "thaw/infer/infer.h"
#include "thaw/ir/data/floats.h"
#include "thaw/ir/graph/transaction.h"
#include "thaw/ops/rule/operand_types.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::fixing {
namespace {

using ir::DataType;
using ir::Node;
using ir::Value;

constexpr int kMostTrials = 64;            // each infers the model
constexpr size_t kMostBehind = 64;         // values that are looked at behind an operand
constexpr int64_t kMostNumbers = 1 << 24;  // of a constant that is converted

// An operand that cannot be what it is: the operator takes no such type there, or another operand has another.
struct Misfit {
  Node* node;
  int input;
  std::vector<std::pair<int, DataType>> changes;  // operands, and the type that each would have to be of
};

struct Misfits {
  std::vector<Misfit> all;
  std::set<std::pair<const void*, int>> locations;  // nodes and operands; outputs of the model and -1
  size_t problems = 0;
};

// The one type of floating-point numbers that may stand there; nullopt where there are several.
std::optional<DataType> only_type(const ir::OperandTypes& types, std::string_view type) {
  std::optional<DataType> only;
  for (const DataType t : {DataType::kFloat, DataType::kFloat16, DataType::kBfloat16, DataType::kDouble}) {
    if (!types.takes(type, t)) continue;
    if (only) return std::nullopt;
    only = t;
  }
  return only;
}

class MisfitFinder {
 public:
  explicit MisfitFinder(const ir::Model& model) : model_(model), facts_(infer::infer(model, scope_)) {}

  Misfits find() {
    look(*model_.graph);
    for (const Value* output : model_.graph->outputs()) {
      const DataType made = facts_.fact(output).dtype;
      if (made == DataType::kUndefined || output->type.elem_type == DataType::kUndefined || output->is_input())
        continue;
      if (made != output->type.elem_type) found_.locations.emplace(output, -1);
    }
    found_.problems = facts_.problems().size();
    return std::move(found_);
  }

 private:
  void look(const ir::Graph& graph) {
    for (Node* node : graph.nodes()) {
      for (const ir::Graph* inner : node->subgraphs()) look(*inner);
      const ops::Operator* op = ops::registry().find(*node);
      if (!op || op->op_class == ops::OpClass::kControl) continue;
      if (const auto types = ops::operand_types(model_, *node)) look(*node, *types);
    }
  }

  void look(Node& node, const ir::OperandTypes& types) {
    std::vector<std::tuple<std::string_view, int, DataType>> first;  // of each type parameter
    for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) {
      const ops::Fact& fact = facts_.fact(node.input(i));
      const std::string_view type = types.input(static_cast<size_t>(i));
      if (!node.input(i) || type.empty() || !fact.is_tensor() || !ir::is_floating(fact.dtype)) continue;
      if (!types.takes(type, fact.dtype)) {
        Misfit misfit{&node, i, {}};
        if (const auto only = only_type(types, type)) misfit.changes.emplace_back(i, *only);
        add(std::move(misfit));
        continue;
      }
      if (!ops::is_type_parameter(type)) continue;
      const auto at = std::ranges::find(first, type, [](const auto& one) { return std::get<0>(one); });
      if (at == first.end()) {
        first.emplace_back(type, i, fact.dtype);
      } else if (const auto& [parameter, other, wanted] = *at; wanted != fact.dtype) {
        add({&node, i, {{i, wanted}, {other, fact.dtype}}});
      }
    }
  }

  void add(Misfit misfit) {
    found_.locations.emplace(misfit.node, misfit.input);
    found_.all.push_back(std::move(misfit));
  }

  const ir::Model& model_;
  dim::Scope scope_;
  const infer::Result facts_;
  Misfits found_;
};

// A node whose attribute says the type of what it makes (`to` of a Cast, `dtype`, the `value` of a ConstantOfShape), or a constant that
// one operand of a node reads in another type.
struct TypeFix {
  Node* cast = nullptr;
  std::string_view attribute;
  Node* reader = nullptr;
  int input = 0;
  DataType type;
  size_t away = 0;  // values between it and the misfit

  std::string location() const { return cast ? cast->describe() : reader->input(input)->name(); }
  bool is_before(const TypeFix& other) const {
    const auto rank = [](const TypeFix& fix) { return std::tuple(!fix.cast, fix.type != DataType::kFloat, fix.away); };
    return rank(*this) < rank(other);
  }
};

// The attribute that says what type a node's result is of; empty where none does.
std::string_view attribute_of_type(const Node& node, const ops::Operator& op) {
  if (op.converts && node.attribute("to")) return "to";
  if (op.op_class != ops::OpClass::kGenerator) return {};
  for (const std::string_view name : {"dtype", "value"})
    if (node.attribute(name)) return name;
  return {};
}

// What an operand has its type from: Casts and constants behind it, by way of nodes whose result is of their operands' type.
std::vector<TypeFix> fixes_of(const ir::Model& model, Node& node, int input, DataType type) {
  struct Read {
    Node* reader;
    int input;
  };
  std::vector<TypeFix> fixes;
  std::vector<Read> open{{&node, input}};
  std::set<const Value*> seen;
  for (size_t k = 0; k < open.size() && k < kMostBehind; ++k) {
    const auto [reader, index] = open[k];
    const Value* value = reader->input(index);
    if (!value || !seen.insert(value).second) continue;
    if (value->constant()) {
      fixes.push_back({nullptr, {}, reader, index, type, k});
      continue;
    }
    Node* maker = value->producer();
    const ops::Operator* op = maker ? ops::registry().find(*maker) : nullptr;
    if (!op) continue;
    if (const std::string_view attribute = attribute_of_type(*maker, *op); !attribute.empty()) {
      fixes.push_back({maker, attribute, nullptr, 0, type, k});
      continue;
    }
    const auto types = ops::operand_types(model, *maker);
    if (!types) continue;
    const std::string_view made = types->output(static_cast<size_t>(value->producer_index()));
    if (!ops::is_type_parameter(made)) continue;
    for (int i = 0; i < static_cast<int>(maker->inputs().size()); ++i)
      if (types->input(static_cast<size_t>(i)) == made) open.push_back({maker, i});
  }
  return fixes;
}

// nullopt where a number has no room in the type, or there are too many.
std::optional<ir::Tensor> converted(const ir::Tensor& from, DataType type, std::string name) {
  const auto is_known = [](DataType t) {
    return t == DataType::kFloat || t == DataType::kFloat16 || t == DataType::kBfloat16;
  };
  if (!is_known(from.data_type) || !is_known(type) || from.num_elements() > kMostNumbers) return std::nullopt;
  const std::vector<double> numbers = from.to_double();
  const std::vector<float> floats(numbers.begin(), numbers.end());
  std::vector<std::byte> bytes(floats.size() * (type == DataType::kFloat ? 4 : 2));
  if (!ir::from_floats(floats, type, bytes.data())) return std::nullopt;
  return ir::Tensor::from_bytes(std::move(name), type, from.dims, std::move(bytes));
}

// The type that was, where the fix could be applied.
std::optional<DataType> apply_fix(const TypeFix& fix) {
  if (fix.cast) {
    const std::string name(fix.attribute);
    if (const auto* value = fix.cast->attribute(name)->as<std::shared_ptr<ir::Tensor>>()) {
      auto tensor = converted(**value, fix.type, (*value)->name);
      const DataType was = (*value)->data_type;
      if (!tensor || was == fix.type) return std::nullopt;
      fix.cast->set_attribute({name, std::make_shared<ir::Tensor>(std::move(*tensor))});
      return was;
    }
    const auto was = static_cast<DataType>(fix.cast->attribute_int(name, 0));
    if (was == fix.type || !ir::is_floating(was)) return std::nullopt;
    fix.cast->set_attribute({name, static_cast<int64_t>(fix.type)});
    return was;
  }
  const Value* value = fix.reader->input(fix.input);
  ir::Graph& graph = *value->graph();
  auto tensor = converted(*value->constant(), fix.type,
                          graph.unique_name(fmt::format("{}_{}", value->name(), ir::name_of(fix.type))));
  if (!tensor) return std::nullopt;
  const DataType was = value->constant()->data_type;
  fix.reader->set_input(fix.input, graph.add_initializer(std::move(*tensor)));
  return was;
}

bool is_better(const Misfits& after, const Misfits& before) {
  return after.locations.size() < before.locations.size() && after.problems <= before.problems &&
         std::ranges::includes(before.locations, after.locations);
}

class TypeMender {
 public:
  explicit TypeMender(rewrite::PassContext& context) : model_(context.model), made_(context.changes.made) {}

  int run() {
    int count = 0;
    for (now_ = MisfitFinder(model_).find(); fix_one(); ++count) {
    }
    return count + settle();
  }

 private:
  // What no one change fixes gets its Casts. Bodies and branches have types of their own, which the schemas do not tell of.
  int settle() {
    const bool has_graphs =
        std::ranges::any_of(model_.graph->nodes(), [](const Node* n) { return !n->subgraphs().empty(); });
    if (now_.locations.empty() && !has_graphs) return 0;
    ir::Transaction edit(model_);
    std::vector<Change> made;
    const int count = settle_types(model_, made);
    if (count == 0) return 0;
    const Misfits after = MisfitFinder(model_).find();
    if (after.problems > now_.problems ||
        (now_.locations.empty() ? !after.locations.empty() : after.locations.size() >= now_.locations.size()))
      return 0;
    edit.keep();
    std::ranges::move(made, std::back_inserter(made_));
    return count;
  }

  // Nodes and operands of which it was seen that nothing fixes them are not tried again.
  bool fix_one() {
    for (const Misfit& misfit : now_.all) {
      if (hopeless_.contains({misfit.node, misfit.input})) continue;
      if (try_fixes(misfit)) return true;
      hopeless_.emplace(misfit.node, misfit.input);
    }
    return false;
  }

  bool try_fixes(const Misfit& misfit) {
    std::vector<TypeFix> fixes;
    for (const auto& [input, type] : misfit.changes)
      for (TypeFix& fix : fixes_of(model_, *misfit.node, input, type)) fixes.push_back(fix);
    std::ranges::stable_sort(fixes, [](const TypeFix& a, const TypeFix& b) { return a.is_before(b); });
    // The one that leaves least; of those, the first.
    const TypeFix* best = nullptr;
    size_t left = now_.locations.size();
    for (const TypeFix& fix : fixes) {
      if (left == 0 || trials_++ >= kMostTrials) break;
      ir::Transaction edit(model_);
      if (!apply_fix(fix)) continue;
      const Misfits after = MisfitFinder(model_).find();
      if (after.locations.size() >= left || !is_better(after, now_)) continue;
      best = &fix;
      left = after.locations.size();
    }
    if (!best) return false;
    Change change{.kind = "THAW021", .location = best->location(), .part = std::string(best->attribute)};
    const auto was = apply_fix(*best);
    change.replaced = {{std::string(ir::name_of(*was)), std::string(ir::name_of(best->type))}};
    made_.push_back(std::move(change));
    now_ = MisfitFinder(model_).find();
    return true;
  }

  ir::Model& model_;
  std::vector<Change>& made_;
  Misfits now_;
  std::set<std::pair<const Node*, int>> hopeless_;
  int trials_ = 0;
};

}  // namespace

int fix_types(rewrite::PassContext& context) {
  const int count = TypeMender(context).run();
  if (count > 0) context.forget_facts();
  return count;
}

}  // namespace thaw::fixing
