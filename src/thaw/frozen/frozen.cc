#include "thaw/frozen/frozen.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "thaw/frozen/assumed_sizes.h"
#include "thaw/frozen/ones.h"
#include "thaw/frozen/rows.h"
#include "thaw/frozen/sample_rows.h"
#include "thaw/frozen/sides.h"
#include "thaw/frozen/source.h"
#include "thaw/frozen/visit.h"
#include "thaw/infer/engine.h"
#include "thaw/infer/facts_view.h"
#include "thaw/ops/rule/frozen_rule.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/small_tensor.h"

namespace thaw::frozen {

using dim::Dim;
using ops::Fact;
using ops::Meeting;
using ops::Obligation;

namespace {

constexpr int kArchitectureRounds = 4;
constexpr int kSolvingRounds = 5;
constexpr size_t kMostSizes = 5;          // further sizes reported of one constant
constexpr int64_t kMaxListElements = 32;  // of an integer input that is a list of sizes rather than data

struct NodeMeeting {
  const ir::Node* node;
  Meeting meeting;
};

class Analysis {
 public:
  Analysis(const ir::Model& model, dim::Scope& scope, const std::set<std::string>& held)
      : model_(model), scope_(scope), held_(held) {
    options_.under_conditions = false;
  }

  FrozenAnalysis run() {
    choose_inputs();
    assume_positive();
    mark_reached();
    mark_batches();
    for (int round = 0; out_.all_inputs_static && round < kArchitectureRounds; ++round) {
      out_.result = infer::infer(model_, scope_, options_);
      if (!drop_architecture()) break;
    }
    look();
    if (drop_picked()) {
      out_.sites.clear();
      index_.clear();
      look();
    }
    if (find_folded_batches()) {
      out_.sites.clear();
      index_.clear();
      look();
    }
    // A model frozen at a number of images has integer inputs of known length: their elements are sizes too.
    has_lengths_ = specialize_inputs();
    if (has_lengths_) look();
    return std::move(out_);
  }

 private:
  // Inputs without any symbol are taken as frozen: every dim becomes one, equal sizes of one axis the same one.
  void choose_inputs() {
    std::vector<std::pair<const ir::Value*, Fact>> facts;
    bool any_symbol = false;
    for (const ir::Value* input : model_.graph->inputs()) {
      if (input->initializer()) continue;
      Fact fact = infer::declared_input_fact(model_, *input, scope_);
      if (fact.shape)
        for (Dim d : *fact.shape) any_symbol |= !d.is_constant();
      else
        any_symbol |= fact.is_tensor();
      facts.emplace_back(input, std::move(fact));
    }
    out_.all_inputs_static = !any_symbol;
    if (any_symbol) return;
    for (auto& [input, fact] : facts) {
      if (!fact.shape) continue;
      for (size_t axis = 0; axis < fact.shape->size(); ++axis) {
        int64_t size = *(*fact.shape)[axis].constant();
        // A last axis of two numbers is pairs of them: real and imaginary parts, coordinates.
        if (size == 2 && axis >= 2 && axis + 1 == fact.shape->size() && ir::is_floating(fact.dtype)) continue;
        Dim& symbol = static_symbols_[{axis, size}];
        if (symbol.is_unknown()) {
          symbol = scope_.fresh(fmt::format("{}_dim{}", input->name(), axis), dim::SymbolKind::kInputDim);
          out_.assumed_sizes[scope_.symbol_id(symbol)] = size;
        }
        (*fact.shape)[axis] = symbol;
      }
      options_.inputs[input] = fact;
    }
    std::set<int> held;
    for (const auto& [id, size] : out_.assumed_sizes)
      if (held_.contains(scope_.symbols()[static_cast<size_t>(id)].name)) held.insert(id);
    make_numbers(held);
  }

  // Sizes of static inputs go back to being numbers.
  void make_numbers(const std::set<int>& ids) {
    for (auto& [input, fact] : options_.inputs) {
      if (!fact.shape) continue;
      for (Dim& d : *fact.shape)
        if (const int id = d.is_symbolic() ? scope_.symbol_id(d) : -1; ids.contains(id)) d = out_.assumed_sizes.at(id);
    }
    for (const int id : ids) out_.assumed_sizes.erase(id);
  }

  // A size that a weight fixes (channels), or that meets one which nothing that can be frozen has made (heads that a
  // weight's columns are split into), is the architecture's: it goes back to being a number. True if there was one.
  bool drop_architecture() {
    std::set<int> fixed;
    SourceTracer tracer(out_.result);
    for (const Obligation& o : out_.result.obligations()) {
      auto sides = sides_of(o);
      const int id = sides ? scope_.symbol_id(sides->expression) : -1;
      if (id < 0 || !out_.assumed_sizes.contains(id) || fixed.contains(id)) continue;
      const bool is_fixed = weight_operand(o, *sides) || is_own_number(o, *sides) ||
                            (sides->constant == out_.assumed_sizes.at(id) && comes_from_nothing(tracer, o, *sides));
      if (is_fixed) fixed.insert(id);
    }
    if (fixed.empty()) return false;
    make_numbers(fixed);
    return true;
  }

  // An axis of which constants name every position, one by one or in parts, is as long as the network says, not as the example was:
  // real and imaginary parts, the states of layers. True if there was one.
  bool drop_picked() {
    if (!out_.all_inputs_static) return false;
    constexpr int64_t kMostPositions = 4096;
    std::map<int, std::vector<bool>> named;
    for (const VisitContext::Pick& pick : picks_) {
      const int id = scope_.symbol_id(pick.size);
      const auto size = id >= 0 ? out_.assumed_sizes.find(id) : out_.assumed_sizes.end();
      if (size == out_.assumed_sizes.end() || size->second > kMostPositions) continue;
      std::vector<bool>& positions = named.try_emplace(id, static_cast<size_t>(size->second)).first->second;
      for (int64_t at = pick.first; at < pick.last; ++at) positions[static_cast<size_t>(at)] = true;
    }
    std::set<int> fixed;
    for (const auto& [id, positions] : named)
      if (std::ranges::all_of(positions, [](bool is_named) { return is_named; })) fixed.insert(id);
    make_numbers(fixed);
    return !fixed.empty();
  }

  // A batch that is free, and of which a Reshape's 1 and -1 ([1, C, -1] of [batch, C, H, W]) leave no axis on the way to an output:
  // it was 1. Nothing stops, so no equation tells. True if there was one.
  bool find_folded_batches() {
    if (out_.all_inputs_static) return false;
    for (const auto& [name, inputs] : named_batches(model_)) {
      const Fact& first = out_.result.fact(inputs.front());
      const int id = first.rank() > 0 ? scope_.symbol_id(first.dim(0)) : -1;
      if (id < 0 || out_.assumed_sizes.contains(id)) continue;
      const auto rows = follow_samples(model_, out_.result, inputs, first.dim(0));
      for (const ir::Value* output : model_.graph->outputs()) {
        const auto found = rows.find(output);
        if (found == rows.end() || found->second.state != SampleRows::State::kFolded) continue;
        if (is_one_at(*found->second.node, found->second.axis)) folded_.insert(id);
      }
    }
    for (const int id : folded_) out_.assumed_sizes[id] = 1;
    return !folded_.empty();
  }

  // Whether a constant shape has a 1 in the place of that axis of the node's data.
  bool is_one_at(const ir::Node& node, int axis) const {
    const ops::Operator* op = ops::registry().find(node);
    const int shape = op ? op->operands.find(ops::Role::kShape) : -1;
    infer::NodeFacts view(out_.result, model_, node);
    const ops::Elements* elements = shape >= 0 ? view.elements(shape) : nullptr;
    return elements && axis < static_cast<int>(elements->size()) &&
           (*elements)[static_cast<size_t>(axis)].as_dim().is_constant(1);
  }

  // Sizes that a model was traced at are not 0, and what stands in a list of sizes is one.
  void assume_positive() {
    for (const ir::Value* input : model_.graph->inputs()) {
      if (input->initializer() || !input->type.shape) continue;
      auto given = options_.inputs.find(input);
      Fact fact = given != options_.inputs.end() ? given->second : infer::declared_input_fact(model_, *input, scope_);
      if (!fact.shape) continue;
      for (Dim d : *fact.shape)
        if (d.is_symbolic() && scope_.symbol_id(d) >= 0) scope_.assume_range(d, 1, std::nullopt);
      if (!ir::is_integer(fact.dtype)) continue;
      for (int64_t i = 0; i < kMaxListElements; ++i)
        scope_.assume_range(scope_.input_value(input->name(), i), 1, std::nullopt);
    }
  }

  // Solves for the sizes and infers with them in turn, until nothing new is learned; then collects what met a constant.
  void look() {
    infer::InferOptions options = options_;
    std::vector<Obligation> equations, met;
    options.prefer_symbols = true;
    // What a Loop's body met before the values that it carries had settled is no size of the model.
    options.before_again = [&](const ir::Graph& graph) {
      const auto inside = [&](const ir::Node* node) {
        const ir::Graph* at = node->graph();
        while (at && at != &graph) at = at->parent();
        return at != nullptr;
      };
      std::erase_if(meetings_, [&](const NodeMeeting& m) { return inside(m.node); });
      std::erase_if(equations, [&](const Obligation& o) { return inside(o.node); });
    };
    options.after_node = [&](const infer::NodeVisit& visit) {
      if (const ops::Operator* op = ops::registry().find(visit.node); op && op->frozen && !visit.outputs.empty()) {
        VisitContext context(visit, out_.assumed_sizes, model_.opset(visit.node.domain()).value_or(1), batches_);
        op->frozen(context);
        picks_.insert(picks_.end(), context.picks.begin(), context.picks.end());
        for (const Meeting& m : context.meetings)
          if (!holds_remainder(m.expression)) meetings_.push_back({&visit.node, m});
        equations.insert(equations.end(), context.equations.begin(), context.equations.end());
        for (const VisitContext::Suspect& suspect : context.suspects)
          suspects_.insert({scope_.symbol_id(suspect.size), suspect.value});
      }
      rejoin(visit);
    };
    for (int round = 0; round < kSolvingRounds; ++round) {
      options.assumed_sizes = out_.assumed_sizes;
      meetings_.clear();
      picks_.clear();
      suspects_.clear();
      equations.clear();
      out_.result = infer::infer(model_, scope_, options);
      const auto& stated = out_.result.obligations();
      std::ranges::transform(stated, std::back_inserter(equations), without_common_sizes);
      // What a size was solved from is not stated again once it is known.
      met.insert(met.end(), equations.begin(), equations.end());
      std::erase_if(equations, [](const Obligation& o) { return holds_remainder(o.a) || holds_remainder(o.b); });
      AssumedSizes known = solve_assumed_sizes(scope_, equations, {out_.assumed_sizes, out_.guessed});
      bool learned = known.values != out_.assumed_sizes;
      out_.assumed_sizes = std::move(known.values);
      out_.guessed = std::move(known.guessed);
      if (!learned && !learn_from_names(met)) break;
    }
    // The sizes of static inputs are declared.
    if (!out_.all_inputs_static) others_ = other_solutions(met, {out_.assumed_sizes, out_.guessed});
    // That a batch that was folded away was 1 follows from where that number stands, not from an equation.
    for (dim::Assignment& sizes : others_)
      for (const int id : folded_) sizes[id] = 1;
    collect_obligations();
    attribute();
  }

  // An output that is declared to have the batch of the inputs, and has a number that nodes cut the batch to, or make of it: that is
  // what it was. True if there was one.
  bool learn_from_names(std::vector<Obligation>& met) {
    bool any = false;
    for (const ir::Value* output : model_.graph->outputs()) {
      const Fact& fact = out_.result.fact(output);
      if (!output->type.shape || output->type.shape->empty() || fact.rank() < 1) continue;
      const auto meant = scope_.find(output->type.shape->front().param);
      const int id = meant ? scope_.symbol_id(*meant) : -1;
      if (!batches_.contains(id) || out_.assumed_sizes.contains(id)) continue;
      for (const auto& [symbol, value] : suspects_) {
        if (symbol != id || !(fact.dim(0).is_constant(value) || dim::same(fact.dim(0), dim::min(*meant, value))))
          continue;
        out_.assumed_sizes[id] = value;
        met.push_back({output->producer(), dim::Relation::kEqual, *meant, value, "sizes that an output declares"});
        any = true;
        break;
      }
    }
    return any;
  }

  // The parts of a frozen Split, put together again along an axis of the same length, are the axis that was split.
  void rejoin(const infer::NodeVisit& visit) {
    if (!visit.node.domain().empty() || visit.outputs.empty()) return;
    if (visit.node.op_type() == "Split") {
      for (const Obligation& o : visit.stated)
        if (auto sides = sides_of(o); sides && sides->constant > 1) split_[sides->constant] = sides->expression;
      return;
    }
    Fact& out = visit.outputs[0];
    if (visit.node.op_type() != "Concat" || !out.shape || split_.empty()) return;
    int64_t axis = visit.node.attribute_int("axis", 0);
    if (axis < 0) axis += out.rank();
    if (axis < 0 || axis >= out.rank()) return;
    Dim& size = (*out.shape)[static_cast<size_t>(axis)];
    auto whole = size.is_constant() ? split_.find(*size.constant()) : split_.end();
    const auto parts = visit.node.inputs();
    bool computed = parts.size() > 1 &&
                    std::all_of(parts.begin(), parts.end(), [&](const ir::Value* v) { return reached_.contains(v); });
    if (whole != split_.end() && computed) size = whole->second;
  }

  // Small integer inputs whose dims are all known take them as numbers. True if there was one.
  bool specialize_inputs() {
    bool any = false;
    for (const ir::Value* input : model_.graph->inputs()) {
      const Fact& fact = out_.result.fact(input);
      if (input->initializer() || !fact.shape || !ir::is_integer(fact.dtype)) continue;
      Fact known = fact;
      bool symbolic = false;
      for (Dim& d : *known.shape) {
        auto value = dim::evaluate(d, out_.assumed_sizes);
        if (!value) break;
        symbolic |= !d.is_constant();
        d = *value;
      }
      auto count = known.num_elements().constant();
      if (!symbolic || !count || *count > kMaxListElements) continue;
      options_.inputs[input] = known;
      any = true;
    }
    return any;
  }

  void collect_obligations() {
    for (const Obligation& o : out_.result.obligations()) {
      auto sides = sides_of(o);
      if (!sides || sides->constant < 1) continue;
      // A size of one is frozen where something counts it out; where it broadcasts or is squeezed away, it only has to
      // be one.
      const ops::Operator* op = ops::registry().find(*o.node);
      const bool counts_out = op && op->operands.find(ops::Role::kLengths) >= 0;
      if (sides->constant == 1 && !counts_out) continue;
      if (holds_remainder(sides->expression)) continue;
      auto assumed = dim::evaluate(sides->expression, out_.assumed_sizes);
      if (assumed && *assumed != sides->constant)
        continue;  // a contradiction, not a frozen size: other rules report it
      Meeting m;
      m.value = sides->constant;
      m.expression = sides->expression;
      m.input = sides->input;
      m.element = sides->axis;
      // A shape that the operator's own rule reads is explained element by element where it can be.
      const int shape = op ? op->operands.find(ops::Role::kShape) : -1;
      if (op && op->frozen && shape >= 0) continue;
      if (counts_out) m.input = op->operands.find(ops::Role::kLengths);
      m.is_shape = m.input >= 0 && ops::holds_size(ops::role_of(*o.node, m.input));
      if (const ir::Value* weight = weight_operand(o, *sides)) {
        // A size that is data's, not the input's, met the weight by way of a constant that was frozen before.
        auto ids = dim::symbols_of(m.expression);
        bool inputs_only = std::all_of(ids.begin(), ids.end(), [&](int id) {
          return scope_.symbols()[static_cast<size_t>(id)].kind == dim::SymbolKind::kInputDim;
        });
        if (!inputs_only) continue;
        add_site({FrozenRole::kWeight, weight, o.node, 1, m.value, m.expression, {}, false, false});
        continue;
      }
      if (is_own_number(o, *sides)) continue;
      meetings_.push_back({o.node, m});
    }
  }

  // The operand of a contraction, recurrence or normalization that a constant size was read from, when it is a weight:
  // floating-point data that nothing of the input reaches.
  const ir::Value* weight_operand(const Obligation& o, const Sides& sides) const {
    const ops::Operator* entry = ops::registry().find(o.node->domain(), o.node->op_type());
    if (!entry || entry->op_class == ops::OpClass::kElementwise || entry->op_class == ops::OpClass::kMovement ||
        entry->op_class == ops::OpClass::kGenerator)
      return nullptr;
    // What was computed of weights may have the size by a shape's constant: a query that Tile repeats for each sample.
    SourceTracer tracer(out_.result);
    const auto is_made = [&](const ir::Value& v) {
      if (v.constant()) return false;
      const std::vector<Source> sources = tracer.of_dim(*o.node, v, sides.constant);
      return std::ranges::any_of(sources, [](const Source& s) { return s.role == FrozenRole::kShape; });
    };
    auto is_weight = [&](const ir::Value* v) {
      const Fact& fact = out_.result.fact(v);
      return v && !reached_.contains(v) && ir::is_floating(fact.dtype) && fact.rank() > 0 && !is_made(*v);
    };
    if (sides.input >= 0 && sides.axis >= 0 && is_repeated(*o.node, sides)) return nullptr;
    if (sides.input >= 0) return is_weight(o.node->input(sides.input)) ? o.node->input(sides.input) : nullptr;
    // Some operators state sizes without their axes: any weight that has one of that size.
    for (const ir::Value* v : o.node->inputs()) {
      if (!is_weight(v)) continue;
      const ops::Shape& shape = *out_.result.fact(v).shape;
      if (std::any_of(shape.begin(), shape.end(), [&](Dim d) { return d.is_constant(sides.constant); })) return v;
    }
    return nullptr;
  }

  // Whether what has a batch's size has it of tables that repeat what they have for each sample.
  bool is_repeated(const ir::Node& node, const Sides& sides) const {
    const auto ids = dim::symbols_of(sides.expression);
    if (ids.size() != 1 || !batches_.contains(ids.front())) return false;
    SourceTracer tracer(out_.result, &model_);
    const std::vector<Source> sources = tracer.of_axis(node, *node.input(sides.input), sides.axis, sides.constant);
    return !sources.empty() && std::ranges::all_of(sources, [&](const Source& s) {
      return s.role == FrozenRole::kTable && s.at >= 0 &&
             repeated_along(*s.constant->constant(), s.at, sides.expression);
    });
  }

  // Sizes of inputs' first axes, and of no other: what they count lies one after the other, and stays so.
  void mark_batches() {
    std::set<int> others;
    for (const ir::Value* input : model_.graph->inputs()) {
      const auto given = options_.inputs.find(input);
      const Fact fact =
          given != options_.inputs.end() ? given->second : infer::declared_input_fact(model_, *input, scope_);
      for (int axis = 0; axis < fact.rank(); ++axis)
        if (const int id = scope_.symbol_id(fact.dim(axis)); id >= 0) (axis == 0 ? batches_ : others).insert(id);
    }
    for (const int id : others) batches_.erase(id);
  }

  // Values that data or sizes of the inputs reach.
  void mark_reached() {
    for (const ir::Value* input : model_.graph->inputs())
      if (!input->initializer()) reached_.insert(input);
    for (const ir::Node* node : model_.graph->nodes()) {
      if (std::any_of(node->inputs().begin(), node->inputs().end(),
                      [&](const ir::Value* v) { return reached_.contains(v); }))
        reached_.insert(node->outputs().begin(), node->outputs().end());
    }
  }

  void attribute() {
    // Node order, so that what comes first is what a reader meets first.
    std::unordered_map<const ir::Node*, size_t> order;
    for (const ir::Node* node : model_.graph->nodes()) order.emplace(node, order.size());
    auto position = [&](const ir::Node* node) {
      auto it = order.find(node);
      return it == order.end() ? order.size() : it->second;
    };
    std::stable_sort(meetings_.begin(), meetings_.end(),
                     [&](const NodeMeeting& a, const NodeMeeting& b) { return position(a.node) < position(b.node); });
    SourceTracer tracer(out_.result, &model_);
    const std::set<std::pair<const ir::Node*, int>> undecided = look_at_ones();
    std::vector<FrozenSite> without_source;
    bool strong = std::any_of(meetings_.begin(), meetings_.end(), [](const NodeMeeting& m) { return !m.meeting.weak; });
    for (const NodeMeeting& m : meetings_) {
      if (m.meeting.weak && !strong) continue;
      auto sources = sources_of(tracer, m);
      for (const Source& s : sources) {
        bool silent = m.meeting.silent || s.role == FrozenRole::kIndex || s.role == FrozenRole::kSlice;
        const bool product = m.meeting.product || may_be_one_of(m.meeting.expression, s);
        const bool is_followed = !s.expression.is_unknown();
        FrozenSite site{s.role,
                        s.constant,
                        m.node,
                        1,
                        is_followed ? s.number : m.meeting.value,
                        is_followed ? s.expression : m.meeting.expression,
                        {},
                        silent,
                        product};
        if (s.role == FrozenRole::kAttribute) {
          site.holder = s.node;
          site.attribute = s.attribute;
        }
        if ((s.role == FrozenRole::kShape || s.role == FrozenRole::kTable) && s.at >= 0)
          site.locations.push_back({s.node, s.at, site.expression});
        site.by_chance = is_by_chance(site.expression, site.value);
        site.next_to_one = undecided.contains({m.node, m.meeting.element}) && !m.meeting.ones.empty();
        site.folds_batch = folded_.contains(scope_.symbol_id(site.expression));
        add_site(site);
      }
      if (sources.empty())
        without_source.push_back({FrozenRole::kShape,
                                  nullptr,
                                  m.node,
                                  1,
                                  m.meeting.value,
                                  m.meeting.expression,
                                  {},
                                  m.meeting.silent,
                                  m.meeting.product});
    }
    // A meeting without source, in a model that has sites with one, is their consequence; where lengths of inputs were
    // taken as numbers, it is what those numbers met.
    if (out_.sites.empty() && !has_lengths_)
      for (FrozenSite& site : without_source) add_site(site);
    look_at_declared_names(tracer);
    std::stable_sort(out_.sites.begin(), out_.sites.end(),
                     [&](const FrozenSite& a, const FrozenSite& b) { return position(a.node) < position(b.node); });
  }

  // The elements of Reshapes beside which a 1 may be what grows.
  std::set<std::pair<const ir::Node*, int>> look_at_ones() const {
    std::vector<AdjacentOnes> all;
    for (const NodeMeeting& m : meetings_)
      if (!m.meeting.ones.empty()) all.push_back({m.node, m.meeting.element, m.meeting.ones});
    if (all.empty()) return {};
    infer::InferOptions options = options_;
    options.prefer_symbols = true;
    options.assumed_sizes = out_.assumed_sizes;
    return undecided_ones(model_, scope_, std::move(options), batches_, all);
  }

  // An output that is declared free, and is a number because a shape's constant takes the place of sizes that are free
  // (a Resize to 70x98 of any image): the name tells that the number was meant to move, and not how: an input's size of that name
  // may have been another when the model was frozen.
  void look_at_declared_names(SourceTracer& tracer) {
    if (out_.all_inputs_static) return;
    std::map<std::string, Dim> made;
    for (const ir::Value* output : model_.graph->outputs()) {
      const Fact& fact = out_.result.fact(output);
      if (!output->producer() || !output->type.shape || !fact.shape || fact.shape->size() != output->type.shape->size())
        continue;
      for (size_t axis = 0; axis < fact.shape->size(); ++axis) {
        const std::string& name = (*output->type.shape)[axis].param;
        const auto number = (*fact.shape)[axis].constant();
        if (number.value_or(0) <= 1 || name.empty() || name == "?" || name == "-1" || name == "None") continue;
        for (const Source& source : tracer.of_dim(*output->producer(), *output, *number))
          if (source.role == FrozenRole::kShape && source.constant && ends_free_size(*source.node, *number))
            add_named(source, name, *number, made);
      }
    }
  }

  // Whether a node's shape operand puts the number in the place of a size of its data that is free.
  bool ends_free_size(const ir::Node& node, int64_t number) const {
    const ops::Operator* op = ops::registry().find(node);
    if (!op || op->operands.find(ops::Role::kShape) < 0) return false;
    const Fact &data = out_.result.fact(node.input(0)), &out = out_.result.fact(node.output(0));
    if (!data.shape || !out.shape || std::ranges::none_of(*out.shape, [&](Dim d) { return d.is_constant(number); }))
      return false;
    std::set<int> left;
    for (const Dim d : *out.shape)
      for (const int id : dim::symbols_of(d)) left.insert(id);
    return std::ranges::any_of(*data.shape, [&](Dim d) {
      const auto ids = dim::symbols_of(d);
      return std::ranges::any_of(ids, [&](int id) { return !left.contains(id); });
    });
  }

  void add_named(const Source& source, const std::string& name, int64_t number, std::map<std::string, Dim>& made) {
    const auto is_known = [&](const auto& size) { return size.value == number; };
    for (const FrozenSite& site : out_.sites)
      if (site.constant == source.constant && (is_known(site) || std::ranges::any_of(site.more, is_known))) return;
    FrozenSite site{.role = source.role, .constant = source.constant, .node = source.node, .value = number};
    site.silent = true;
    const auto [symbol, is_new] = made.try_emplace(name);
    if (is_new) symbol->second = scope_.fresh(name, dim::SymbolKind::kDataDependent);
    site.expression = symbol->second;
    site.by_name = true;
    const auto same = std::ranges::find_if(
        out_.sites, [&](const FrozenSite& other) { return other.by_name && other.constant == site.constant; });
    if (same == out_.sites.end()) return out_.sites.push_back(std::move(site));
    if (same->more.size() < kMostSizes) same->more.push_back({.value = number, .expression = site.expression});
  }

  // Whether other sizes than those that were solved for do as well, and make another number of the expression.
  bool is_by_chance(Dim expression, int64_t value) const {
    return std::ranges::any_of(others_, [&](const dim::Assignment& sizes) {
      const auto other = dim::evaluate(expression, sizes);
      return other && *other != value;
    });
  }

  // Whether sizes of which only the product is known may each stand in the constant by themselves: b*t = 4 in [1, 4, 8]
  // is 4, or b is the 1 and t the 4.
  bool may_be_one_of(Dim expression, const Source& source) const {
    const auto ids = dim::symbols_of(expression);
    if (ids.size() < 2 || source.role != FrozenRole::kShape || !source.constant || !source.constant->constant())
      return false;
    if (!std::ranges::all_of(ids, [&](int id) { return out_.guessed.contains(id); })) return false;
    const ops::ElementsPtr elements = ops::small_elements(*source.constant->constant());
    return elements && std::ranges::any_of(*elements, [](const ops::Element& e) { return e.as_dim().is_constant(1); });
  }

  std::vector<Source> sources_of(SourceTracer& tracer, const NodeMeeting& m) {
    const Meeting& meeting = m.meeting;
    const ir::Value* operand = meeting.input >= 0 ? m.node->input(meeting.input) : nullptr;
    if (operand && meeting.is_index) return tracer.of_index(*m.node, *operand);
    if (operand && meeting.is_shape) return tracer.of_element(*m.node, *operand, meeting.value, meeting.element);
    if (operand && meeting.by_axis) return tracer.of_axis(*m.node, *operand, meeting.element, meeting.value);
    if (operand && meeting.element >= 0) return of_axis_or_dim(tracer, m, *operand);
    if (operand) return tracer.of_dim(*m.node, *operand, meeting.value);
    std::vector<Source> all;
    for (const ir::Value* input : m.node->inputs()) {
      if (!input) continue;
      for (const Source& s : tracer.of_dim(*m.node, *input, meeting.value)) all.push_back(s);
    }
    if (all.empty() && !m.node->attribute_ints("split").empty())
      all.push_back({nullptr, m.node, FrozenRole::kAttribute, "split"});
    return all;
  }

  // A batch has its axis from node to node. Of other sizes, which are cut and put together, more is found by the number; the axis
  // tells the positions.
  std::vector<Source> of_axis_or_dim(SourceTracer& tracer, const NodeMeeting& m, const ir::Value& operand) const {
    const auto ids = dim::symbols_of(m.meeting.expression);
    const bool is_batch = ids.size() == 1 && batches_.contains(ids.front());
    std::vector<Source> by_axis =
        tracer.of_axis(*m.node, operand, m.meeting.element, m.meeting.value, is_batch ? m.meeting.expression : Dim());
    if (!by_axis.empty() && is_batch) return by_axis;
    std::vector<Source> sources = tracer.of_dim(*m.node, operand, m.meeting.value);
    for (Source& source : sources) {
      const auto same = std::ranges::find_if(by_axis, [&](const Source& s) {
        return s.constant == source.constant && s.node == source.node && s.role == source.role;
      });
      if (same != by_axis.end()) source.at = same->at;
    }
    return sources;
  }

  void add_site(const FrozenSite& site) {
    const void* location = site.constant ? static_cast<const void*>(site.constant)
                           : site.holder ? site.holder
                                         : site.node;
    std::pair<const void*, FrozenRole> key{location, FrozenRole::kShape};
    auto [it, fresh] = index_.emplace(key, out_.sites.size());
    if (fresh) {
      out_.sites.push_back(site);
      return;
    }
    FrozenSite& known = out_.sites[it->second];
    if (known.node != site.node) ++known.num_nodes;
    known.silent |= site.silent;
    known.folds_batch |= site.folds_batch;
    known.locations.insert(known.locations.end(), site.locations.begin(), site.locations.end());
    const bool is_full = known.more.size() == kMostSizes;
    const auto doubt_as = [&](auto& size) {
      size.by_chance |= site.by_chance;
      size.next_to_one |= site.next_to_one;
    };
    if (known.value == site.value || is_full) doubt_as(known);
    for (FrozenSize& more : known.more)
      if (more.value == site.value) doubt_as(more);
    bool is_known =
        known.value == site.value || is_full ||
        std::any_of(known.more.begin(), known.more.end(), [&](const FrozenSize& s) { return s.value == site.value; });
    if (!is_known) known.more.push_back({site.value, site.expression, site.product, site.by_chance, site.next_to_one});
  }

  const ir::Model& model_;
  dim::Scope& scope_;
  const std::set<std::string>& held_;
  infer::InferOptions options_;
  FrozenAnalysis out_;
  std::map<std::pair<size_t, int64_t>, Dim> static_symbols_;
  std::unordered_set<const ir::Value*> reached_;
  std::set<int> batches_;
  std::map<int64_t, Dim> split_;  // lengths that lists of split lengths add up to, and what they should be
  std::vector<NodeMeeting> meetings_;
  std::vector<VisitContext::Pick> picks_;
  std::set<int> folded_;  // free batches that end in another axis, where a 1 stands in the place of theirs
  std::set<std::pair<int, int64_t>> suspects_;  // symbols and numbers
  std::vector<dim::Assignment> others_;         // sizes that would do as well as the assumed sizes
  std::map<std::pair<const void*, FrozenRole>, size_t> index_;
  bool has_lengths_ = false;  // integer inputs have numbers for their dims
};

}  // namespace

FrozenAnalysis find_frozen(const ir::Model& model, dim::Scope& scope, const std::set<std::string>& held) {
  return Analysis(model, scope, held).run();
}

}  // namespace thaw::frozen
