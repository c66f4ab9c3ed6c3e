#include "thaw/locate/first_differences.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/ir/graph/builder.h"
#include "thaw/rewrite/submodel.h"
#include "thaw/run/compare.h"
#include "thaw/split/stages.h"

namespace thaw::locate {
namespace {

constexpr size_t kProbes = 16;    // tensors that one run compares
constexpr size_t kMostFound = 8;  // differences
constexpr size_t kMostRuns = 256;

// What a tensor of both models was when it was compared.
struct Seen {
  Comparison comparison;
  std::string actual, expected;   // "float32[2,3]"
  ir::Type type, reference_type;  // to be fed with
};

ir::Type type_of(const Array& array) {
  return ir::tensor_type(array.dtype, ir::Dims(array.dims.size(), ir::DimSpec("")));
}

class Search {
 public:
  explicit Search(const Question& question) : question_(question) {
    for (const ir::Node* node : graph().nodes())
      for (const ir::Value* output : node->outputs())
        if (output != nullptr && is_candidate(*output)) places_.emplace(output->name(), places_.size());
    found_.candidates = places_.size();
  }

  DifferenceSearch run() {
    for (const std::string& output : question_.outputs) {
      if (!places_.contains(output)) {
        note(fmt::format("output '{}' is no tensor that nodes of both models make, and was not looked into", output));
        continue;
      }
      // What is left of its difference once what was found has the reference's numbers.
      while (found_.tensors.size() < kMostFound && !patched_.contains(output)) {
        look_at({output});
        if (!places_.contains(output)) break;
        if (agrees(output)) {
          if (found_.tensors.empty())
            note(fmt::format("output '{}' agrees where the models compute nothing else", output));
          break;
        }
        if (!descend(output)) break;
      }
    }
    if (found_.tensors.size() == kMostFound)
      note(fmt::format("the search ended after {} differences; there may be others", kMostFound));
    std::ranges::sort(found_.tensors, {}, [&](const FirstDifference& one) { return places_.at(one.name); });
    found_.compared = compared_.size();
    return std::move(found_);
  }

 private:
  const ir::Graph& graph() const { return *question_.model.model.graph; }

  const std::string& name_of(const std::string& ours) const {
    const auto mapped = question_.names.find(ours);
    return mapped == question_.names.end() ? ours : mapped->second;
  }

  bool is_candidate(const ir::Value& value) const {
    if (value.name().empty()) return false;
    const ir::Value* theirs = question_.reference.model.graph->find(name_of(value.name()));
    const auto is_tensor = [](const ir::Value& one) {
      return one.type.kind == ir::Type::Kind::kTensor || one.type.kind == ir::Type::Kind::kNone;
    };
    return theirs != nullptr && theirs->producer() != nullptr && is_tensor(value) && is_tensor(*theirs);
  }

  void note(std::string text) {
    if (std::ranges::find(found_.notes, text) == found_.notes.end()) found_.notes.push_back(std::move(text));
  }

  Arrays feeds_for(const run::Session& session, bool is_reference) const {
    Arrays feeds;
    for (const auto& [name, array] : question_.feeds)
      if (const std::string& given = is_reference ? name_of(name) : name; const Port* port = session.find_input(given))
        feeds.emplace(given, port->dtype == array.dtype || !question_.cast ? array : run::cast(array, port->dtype));
    return feeds;
  }

  // Runs a part of one side: from `fed`, of its own names, and the inputs to `wanted`.
  Arrays run_part(const Side& side, bool is_reference, const rewrite::BoundaryValues& types, const Arrays& fed,
                  const std::vector<std::string>& wanted) const {
    run::Session session(*rewrite::submodel_of(side.model, types, wanted), side.how);
    Arrays feeds = feeds_for(session, is_reference);
    for (const auto& [name, array] : fed)
      if (session.find_input(name) != nullptr) feeds.insert_or_assign(name, array);
    return session.run(feeds, wanted);
  }

  std::vector<std::string> theirs(const std::vector<std::string>& names) const {
    std::vector<std::string> result;
    for (const std::string& name : names) result.push_back(name_of(name));
    return result;
  }

  // Compares these tensors, of those that have not been since the last patch.
  void look_at(std::vector<std::string> names) {
    std::erase_if(names, [&](const std::string& name) { return seen_.contains(name) || patched_.contains(name); });
    if (names.empty()) return;
    Arrays actual, expected;
    try {
      ++found_.runs;
      actual = run_part(question_.model, false, patched_types_, patches_, names);
      expected = run_part(question_.reference, true, {}, {}, theirs(names));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kRuntimeFailed) throw;
      return look_at_fewer(names, error);
    }
    for (const std::string& name : names) {
      const auto ours = actual.find(name), other = expected.find(name_of(name));
      Seen seen;
      compared_.insert(name);
      if (ours == actual.end() || other == expected.end()) {
        seen.comparison.reason = "one side does not give it";
      } else {
        seen.comparison = run::compare(ours->second, other->second, question_.tolerance, question_.cast);
        seen.actual = run::describe(ours->second);
        seen.expected = run::describe(other->second);
        seen.type = type_of(ours->second);
        seen.reference_type = type_of(other->second);
      }
      seen_.emplace(name, std::move(seen));
    }
  }

  // Where a side does not run with all of these as outputs. One that does not run by itself is not compared, as if it had another name.
  void look_at_fewer(const std::vector<std::string>& names, const Error& error) {
    if (names.size() == 1) {
      note(
          fmt::format("'{}' is not compared, as a side does not run with it as an output: {}", names[0], error.what()));
      places_.erase(names[0]);
      return;
    }
    const auto middle = names.begin() + static_cast<ptrdiff_t>(names.size() / 2);
    look_at({names.begin(), middle});
    look_at({middle, names.end()});
  }

  bool agrees(const std::string& name) const {
    const auto found = seen_.find(name);
    return patched_.contains(name) || (found != seen_.end() && found->second.comparison.agrees);
  }

  // Tensors that may be compared, right before this one, and the nodes between.
  struct Before {
    std::vector<std::string> tensors;
    std::vector<const ir::Node*> nodes;  // the last first
  };
  Before before(const std::string& name) const {
    Before result;
    std::set<const ir::Value*> visited;
    std::vector<const ir::Node*> todo{graph().find(name)->producer()};
    std::set<const ir::Node*> walked{todo.front()};
    while (!todo.empty()) {
      const ir::Node* const node = todo.back();
      todo.pop_back();
      result.nodes.push_back(node);
      for (const ir::Value* operand : splitting::operands_of(*node)) {
        if (!visited.insert(operand).second || operand->producer() == nullptr) continue;
        if (places_.contains(operand->name()))
          result.tensors.push_back(operand->name());
        else if (walked.insert(operand->producer()).second)
          todo.push_back(operand->producer());
      }
    }
    std::ranges::sort(result.tensors, {}, [&](const std::string& one) { return places_.at(one); });
    return result;
  }

  // All tensors that may be compared, before these; not beyond what is patched.
  std::set<std::string> all_before(std::vector<std::string> todo) const {
    std::set<std::string> known;
    while (!todo.empty()) {
      const std::string at = std::move(todo.back());
      todo.pop_back();
      for (std::string& one : before(at).tensors)
        if (!patched_.contains(one) && known.insert(one).second) todo.push_back(std::move(one));
    }
    return known;
  }

  // Of those before `at`, in topological order, what may hold a difference: not what was seen, nor what those are computed from that agree.
  std::vector<std::string> open_before(const std::string& at) const {
    const std::set<std::string> all = all_before({at});
    std::vector<std::string> agreeing;
    std::ranges::copy_if(all, std::back_inserter(agreeing), [&](const std::string& one) { return agrees(one); });
    const std::set<std::string> behind_those = all_before(std::move(agreeing));
    std::vector<std::string> open;
    for (const std::string& one : all)
      if (!seen_.contains(one) && !behind_those.contains(one)) open.push_back(one);
    std::ranges::sort(open, {}, [&](const std::string& one) { return places_.at(one); });
    return open;
  }

  // A few of them, spread over all, the last included.
  static std::vector<std::string> spread(const std::vector<std::string>& from) {
    if (from.size() <= kProbes) return from;
    std::vector<std::string> chosen;
    for (size_t i = 1; i <= kProbes; ++i) chosen.push_back(from[i * from.size() / kProbes - 1]);
    return chosen;
  }

  // From a tensor that differs to one whose operands agree. False where that cannot be said.
  bool descend(std::string at) {
    while (found_.runs < kMostRuns) {
      const std::vector<std::string> open = open_before(at);
      const Before right_before = before(at);
      std::vector<std::string> probes = spread(open);
      const bool is_last = probes.size() == open.size();
      if (is_last) probes.insert(probes.end(), right_before.tensors.begin(), right_before.tensors.end());
      look_at(probes);
      if (!std::ranges::all_of(probes, [&](const std::string& one) { return places_.contains(one); })) continue;
      std::erase_if(probes, [&](const std::string& one) { return agrees(one); });
      if (!probes.empty())
        at = *std::ranges::min_element(probes, {}, [&](const std::string& one) { return places_.at(one); });
      else if (is_last)
        return settle(at, right_before);
    }
    note(fmt::format("the search ended after {} runs, at '{}'", found_.runs, at));
    return false;
  }

  // One was found; from now on it has the reference's numbers in the model too.
  bool settle(const std::string& name, const Before& right_before) {
    const Seen seen = seen_.at(name);
    FirstDifference difference{.name = name,
                               .node = {},
                               .op_type = {},
                               .actual = seen.actual,
                               .expected = seen.expected,
                               .comparison = seen.comparison,
                               .inputs = right_before.tensors};
    const ir::Node& node = *graph().find(name)->producer();
    difference.node = node.name;
    difference.op_type = node.op_type();
    for (auto at = right_before.nodes.rbegin(); at != right_before.nodes.rend(); ++at)
      difference.operators.push_back((*at)->op_type());
    std::vector<std::string> wanted = right_before.tensors;
    wanted.push_back(name);
    Arrays expected = run_part(question_.reference, true, {}, {}, theirs(wanted));
    ++found_.runs;
    difference.alone = compare_alone(name, right_before.tensors, expected);
    found_.tensors.push_back(std::move(difference));
    const auto array = expected.find(name_of(name));
    if (array == expected.end() || !seen.type.shape || array->second.dims.size() != seen.type.shape->size()) {
      note(fmt::format("'{}' has another rank in the two models: what comes behind it was not looked into", name));
      return false;
    }
    patched_.insert(name);
    patched_types_.emplace(name, seen.type);
    patches_.insert_or_assign(name, as_ours(array->second, seen));
    seen_.clear();  // behind it all may be other now
    return true;
  }

  static Array as_ours(const Array& array, const Seen& seen) {
    return array.dtype == seen.type.elem_type || array.is_string() ? array : run::cast(array, seen.type.elem_type);
  }

  // The nodes between, on both sides with the reference's numbers.
  std::optional<Comparison> compare_alone(const std::string& name, const std::vector<std::string>& inputs,
                                          const Arrays& expected) {
    rewrite::BoundaryValues our_types, their_types;
    Arrays ours, theirs;
    for (const std::string& input : inputs) {
      const auto array = expected.find(name_of(input));
      if (array == expected.end()) return std::nullopt;
      if (const auto patch = patches_.find(input); patch != patches_.end()) {
        our_types.emplace(input, patched_types_.at(input));
        ours.emplace(input, patch->second);
      } else {
        const Seen& seen = seen_.at(input);
        our_types.emplace(input, seen.type);
        ours.emplace(input, as_ours(array->second, seen));
      }
      their_types.emplace(name_of(input), type_of(array->second));
      theirs.emplace(name_of(input), array->second);
    }
    try {
      const Arrays actual = run_part(question_.model, false, our_types, ours, {name});
      const Arrays wanted = run_part(question_.reference, true, their_types, theirs, {name_of(name)});
      ++found_.runs;
      const auto one = actual.find(name), other = wanted.find(name_of(name));
      if (one == actual.end() || other == wanted.end()) return std::nullopt;
      return run::compare(one->second, other->second, question_.tolerance, question_.cast);
    } catch (const Error& error) {
      note(fmt::format("what makes '{}' does not run alone: {}", name, error.what()));
      return std::nullopt;
    }
  }

  const Question& question_;
  std::unordered_map<std::string, size_t> places_;  // of the tensors that may be compared, in topological order
  std::unordered_map<std::string, Seen> seen_;
  std::set<std::string> compared_, patched_;
  rewrite::BoundaryValues patched_types_;
  Arrays patches_;
  DifferenceSearch found_;
};

}  // namespace

DifferenceSearch find_first_differences(const Question& question) { return Search(question).run(); }

}  // namespace thaw::locate
