#include "thaw/lift/untold/steady_coordinates.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <ranges>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/align/constant_operand.h"
#include "thaw/lift/align/evidence.h"
#include "thaw/lift/solve/steady_sizes.h"
#include "thaw/ops/onnx/constant_operand.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::lifting {
namespace {

// A number that coordinates are divided by or multiplied with, the last one on its way to the sample.
struct Scale {
  ir::Node* sample = nullptr;  // of the first trace
  ir::Node* node = nullptr;
  int input = 0;
  bool divides = false;
  std::string way;  // the operators between the two: those of two samples that are made alike are the same
  std::vector<const ir::Tensor*> tensors;  // by trace
  size_t element = 0;                      // of these: there may be one for each axis
  std::vector<double> at;

  bool is_only() const { return tensors.front()->num_elements() == 1; }
};

class ScaleFinder {
 public:
  explicit ScaleFinder(const Alignment& alignment) : alignment_(alignment) {
    for (size_t i = 0; i < alignment.nodes.front().size(); ++i) places_.emplace(alignment.nodes.front()[i], i);
  }

  std::vector<Scale> run() {
    for (ir::Node* node : alignment_.nodes.front()) {
      const int coordinates = ops::coordinates_operand(*node);
      if (coordinates < 0) continue;
      sample_ = node;
      seen_.clear();
      follow(*node, coordinates, std::to_string(node->attribute_int("align_corners", 0)));
    }
    return std::move(found_);
  }

 private:
  // What is computed otherwise than by moving and element by element is no scaling of positions any more.
  void follow(const ir::Node& reader, int input, std::string way) {
    const ir::Value* value = reader.input(input);
    ir::Node* node = value ? value->producer() : nullptr;
    const ops::Operator* op = node ? ops::registry().find(*node) : nullptr;
    if (!op || !places_.contains(node) || (!op->moves_elements() && !op->is_elementwise())) return;
    const auto output = std::ranges::find(node->outputs(), value) - node->outputs().begin();
    way += fmt::format(" {} {} {}", input, node->op_type(), output);
    if (!seen_.insert(value).second) return;
    if (const auto factor = ops::constant_factor(*node); factor && add(*node, *factor, way)) return;
    for (int i = 0; i < static_cast<int>(node->inputs().size()); ++i)
      if (op->operands[i] == ops::Role::kData) follow(*node, i, way);
  }

  bool add(ir::Node& node, const ops::ConstantFactor& factor, const std::string& way) {
    constexpr int64_t kMostAxes = 3;
    Scale scale{.sample = sample_, .node = &node, .input = factor.operand, .divides = factor.divides};
    std::vector<std::vector<double>> numbers;  // by trace
    for (const auto& nodes : alignment_.nodes) {
      const ir::Tensor* tensor = constant_operand(*nodes[places_.at(&node)], factor.operand);
      if (!tensor || !ir::is_floating(tensor->data_type) || tensor->num_elements() > kMostAxes) return false;
      scale.tensors.push_back(tensor);
      numbers.push_back(tensor->to_double());
      if (numbers.back().size() != numbers.front().size()) return false;
    }
    for (scale.element = 0; scale.element < numbers.front().size(); ++scale.element) {
      scale.way = fmt::format("{} {} {}", way, factor.operand, scale.element);
      scale.at.clear();
      for (const std::vector<double>& each : numbers) scale.at.push_back(each[scale.element]);
      found_.push_back(scale);
    }
    return true;
  }

  const Alignment& alignment_;
  std::unordered_map<const ir::Node*, size_t> places_;
  ir::Node* sample_ = nullptr;
  std::set<const ir::Value*> seen_;
  std::vector<Scale> found_;
};

bool is_steady_scale(const Scale& scale) {
  return std::ranges::all_of(scale.at, [&](double at) { return at == scale.at.front(); });
}

// Whether the scale may be made of a size: it, or one less, or half of these; or as many parts of 1 or 2.
bool may_be_made_of(const Scale& scale, int64_t size) {
  for (const int64_t whole : {size, size - 1}) {
    if (whole <= 0) continue;
    const auto number = static_cast<double>(whole);
    for (const double part : {1.0, 2.0}) {
      const double wanted = scale.divides ? number / part : part / number;
      if (std::abs(scale.at.front() - wanted) <= 1e-6 * wanted) return true;
    }
  }
  return false;
}

// An axis of what is sampled, and by how much its size differs from the divisor.
struct Relation {
  size_t axis = 0;
  int64_t more = 0;
};

std::vector<Relation> relations(const Scale& scale, const Lifting& l) {
  std::vector<Relation> found;
  const auto shape = l.tensor_shapes.find(scale.sample->input(0));
  if (shape == l.tensor_shapes.end() || !scale.divides) return found;
  for (size_t axis = 2; axis < shape->second.size(); ++axis) {
    const std::vector<int64_t> sizes = in_traces(shape->second[axis], l.variables);
    for (const int64_t more : {0, -1}) {
      bool is_it = sizes.size() == scale.at.size();
      for (size_t k = 0; k < sizes.size() && is_it; ++k) is_it = static_cast<double>(sizes[k] + more) == scale.at[k];
      if (is_it) found.push_back({axis, more});
    }
  }
  return found;
}

// Two axes that a divisor that differs may be made of alike, where their sizes are not the same everywhere.
ops::Shape axes_alike(const Scale& scale, const Lifting& l) {
  if (is_steady_scale(scale)) return {};
  const std::vector<Relation> found = relations(scale, l);
  for (const Relation& other : found) {
    const ops::Shape& shape = l.tensor_shapes.at(scale.sample->input(0));
    const dim::Dim one = shape[found.front().axis], two = shape[other.axis];
    if (!dim::same(one, two)) return {one, two};
  }
  return {};
}

// What a sample that is made alike, and whose divisor differs, says of this one.
std::optional<dim::Dim> told_by_others(const Scale& scale, const std::vector<Scale>& all, const Lifting& l) {
  const ops::Shape& shape = l.tensor_shapes.at(scale.sample->input(0));
  const std::vector<Relation> own = relations(scale, l);
  for (const Scale& other : all) {
    if (other.way != scale.way || is_steady_scale(other)) continue;
    const std::vector<Relation> told = relations(other, l);
    if (told.size() != 1) continue;
    const bool holds = std::ranges::any_of(
        own, [&](const Relation& r) { return r.axis == told.front().axis && r.more == told.front().more; });
    if (holds) return shape[told.front().axis] + dim::Dim(told.front().more);
  }
  return std::nullopt;
}

// Whether it is the same number where a sample that is made alike has other sizes in each trace.
bool is_a_setting(const Scale& scale, const std::vector<Scale>& all, const Lifting& l) {
  return std::ranges::any_of(all, [&](const Scale& other) {
    const auto shape = l.tensor_shapes.find(other.sample->input(0));
    if (other.way != scale.way || other.at != scale.at || shape == l.tensor_shapes.end()) return false;
    return std::ranges::none_of(shape->second | std::views::drop(2), [&](dim::Dim size) {
      return size.is_constant() || std::ranges::any_of(l.steady_sizes, [&](const SteadySize& steady) {
               return dim::same(steady.size, size);
             });
    });
  });
}

}  // namespace

void note_steady_coordinates(Lifting& l) {
  const std::vector<Scale> scales = ScaleFinder(l.alignment).run();
  std::set<std::tuple<const ir::Node*, int, size_t>> seen;
  for (const Scale& scale : scales) {
    const ir::Value* constant = scale.node->input(scale.input);
    if (const ops::Shape axes = axes_alike(scale, l); !axes.empty()) l.undecided.push_back({axes[0], axes[1], ""});
    if (!is_steady_scale(scale) || l.options.keep_static.contains(constant->name())) continue;
    std::vector<const SteadySize*> made_of;
    for (const SteadySize& size : l.steady_sizes)
      if (size.value == scale.sample->input(0) && size.axis >= 2 && may_be_made_of(scale, size.at))
        made_of.push_back(&size);
    if (made_of.empty() || is_a_setting(scale, scales, l)) continue;
    if (!seen.emplace(scale.node, scale.input, scale.element).second) continue;
    auto difference = std::make_unique<Difference>(
        Difference{.node = scale.node, .input = scale.input, .tensors = scale.tensors, .value = constant});
    const auto told = scale.is_only() ? told_by_others(scale, scales, l) : std::nullopt;
    if (told && told->is_constant()) continue;
    if (told) {
      TableFit fit = fit_of_sizes({*told}, *scale.tensors.front());
      l.report.lifted.push_back({place_of(*difference), fit.description, evidence(scale.tensors)});
      l.tables.push_back({{difference.get()}, std::move(fit)});
      l.steady_constants.push_back(std::move(difference));
    } else {
      for (const SteadySize* size : made_of) l.undecided.push_back({size->size, dim::Dim(size->at), ""});
    }
  }
}

}  // namespace thaw::lifting
