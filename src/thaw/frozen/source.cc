#include "thaw/frozen/source.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>

#include "thaw/core/error.h"
#include "thaw/frozen/grouping.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::frozen {

namespace {

constexpr int kMaxSteps = 20000;
constexpr int64_t kMaxShapeElements = 4096;  // a list of split lengths may be long

// Operands that hold numbers (shapes, lengths, bounds), not data, by operator.
struct ShapeOperand {
  std::string_view op;
  int input;
  FrozenRole role;
};
constexpr ShapeOperand kShapeOperands[] = {
    {"Reshape", 1, FrozenRole::kShape},         {"Expand", 1, FrozenRole::kShape}, {"Tile", 1, FrozenRole::kShape},
    {"ConstantOfShape", 0, FrozenRole::kShape}, {"Split", 1, FrozenRole::kSplit},  {"Slice", 1, FrozenRole::kSlice},
    {"Slice", 2, FrozenRole::kSlice},           {"Resize", 3, FrozenRole::kShape}, {"Upsample", 1, FrozenRole::kShape},
    {"Range", 0, FrozenRole::kShape},           {"Range", 1, FrozenRole::kShape},  {"Pad", 1, FrozenRole::kShape},
    {"OneHot", 1, FrozenRole::kShape},
};

// Operands that name axes or steps: not sizes.
bool is_axis_operand(const ir::Node& node, int input) {
  const std::string& op = node.op_type();
  return (op == "Unsqueeze" || op == "Squeeze" || op.starts_with("Reduce") || op == "CumSum" || op == "TopK")
             ? input == 1
         : op == "Slice" ? input >= 3
                         : false;
}

bool is_shape_operand(const ir::Node& node, int input) {
  return node.domain().empty() &&
         std::any_of(std::begin(kShapeOperands), std::end(kShapeOperands),
                     [&](const ShapeOperand& s) { return s.op == node.op_type() && s.input == input; });
}

FrozenRole shape_role(const ir::Node& reader) {
  for (const ShapeOperand& s : kShapeOperands)
    if (reader.domain().empty() && s.op == reader.op_type()) return s.role;
  return FrozenRole::kShape;
}

bool is_contraction(const ir::Node& node) {
  const ops::OpEntry* entry = ops::registry().find(node.domain(), node.op_type());
  return entry && entry->op_class == ops::OpClass::kContraction;
}

// Whether a small integer value is computed from some tensor's shape.
bool reads_shape(const ir::Value* value) {
  std::vector<const ir::Value*> stack{value};
  for (int steps = 0; !stack.empty() && steps < 64; ++steps) {
    const ir::Value* v = stack.back();
    stack.pop_back();
    const ir::Node* node = v ? v->producer() : nullptr;
    if (!node || v->constant()) continue;
    if (node->op_type() == "Shape" || node->op_type() == "Size") return true;
    for (const ir::Value* in : node->inputs()) stack.push_back(in);
  }
  return !stack.empty();
}

// A one-element list of a number above 1: an index of 0 or 1 picks, it does not count.
bool says_more_than_one(const ir::Tensor& t) {
  if (t.dims.empty() || t.num_elements() != 1 || !ir::is_integer(t.data_type)) return false;
  try {
    return t.to_int64().front() > 1;
  } catch (const Error&) {
    return false;
  }
}

std::optional<std::vector<int64_t>> constant_dims(const ops::Fact& fact) {
  if (!fact.shape) return std::nullopt;
  std::vector<int64_t> out;
  for (dim::Dim d : *fact.shape) {
    auto v = d.constant();
    if (!v || *v <= 0) return std::nullopt;
    out.push_back(*v);
  }
  return out;
}

// The lists of numbers that old operator versions have as attributes.
constexpr std::string_view kShapeAttributes[] = {"shape",   "split", "starts", "ends",
                                                 "repeats", "tiles", "sizes",  "output_shape"};

}  // namespace

std::vector<Source> SourceTracer::of_dim(const ir::Node& reader, const ir::Value& value, int64_t size) {
  return trace({&reader, &value, size, Question::kDim});
}

std::vector<Source> SourceTracer::of_element(const ir::Node& reader, const ir::Value& value, int64_t element) {
  return trace({&reader, &value, element, Question::kElement});
}

std::vector<Source> SourceTracer::of_index(const ir::Node& reader, const ir::Value& value) {
  return trace({&reader, &value, 0, Question::kIndex});
}

std::vector<Source> SourceTracer::trace(Step first) {
  stack_.assign(1, first);
  found_.clear();
  seen_.clear();
  for (int steps = 0; !stack_.empty() && steps < kMaxSteps; ++steps) {
    Step step = stack_.back();
    stack_.pop_back();
    if (const ir::Tensor* constant = step.value->constant()) {
      at_constant(step, *constant);
      continue;
    }
    const ir::Node* producer = step.value->producer();
    if (!producer) continue;
    switch (step.question) {
      case Question::kDim:
        through_dim(step, *producer);
        break;
      case Question::kElement:
      case Question::kAnyElement:
        through_element(step, *producer);
        break;
      case Question::kIndex:
        // Sizes that were read from the graph are right already; what a network computes is data.
        if (producer->op_type() == "Shape" || producer->op_type() == "Size" || is_contraction(*producer)) break;
        for (size_t i = 0; i < producer->inputs().size(); ++i) {
          if (is_axis_operand(*producer, static_cast<int>(i))) continue;
          // Positions are counted out by Range; shapes only arrange them.
          bool shape = is_shape_operand(*producer, static_cast<int>(i));
          if (shape && producer->op_type() != "Range") continue;
          ask(*producer, producer->inputs()[i], 0, shape ? Question::kAnyElement : Question::kIndex);
        }
        break;
    }
  }
  return std::move(found_);
}

void SourceTracer::ask(const ir::Node& reader, const ir::Value* value, int64_t number, Question question) {
  if (!value) return;
  uint64_t key = std::hash<const void*>()(value) * 1000003u ^
                 (static_cast<uint64_t>(number) * 4 + static_cast<uint64_t>(question));
  if (seen_.insert(key).second) stack_.push_back({&reader, value, number, question});
}

void SourceTracer::at_constant(const Step& step, const ir::Tensor& constant) {
  switch (step.question) {
    case Question::kDim:
      if (std::find(constant.dims.begin(), constant.dims.end(), step.number) == constant.dims.end()) return;
      found_.push_back({step.value, step.reader, FrozenRole::kTable});
      return;
    case Question::kIndex:
      if (constant.num_elements() > 1 || constant.dims.size() > 1 || says_more_than_one(constant))
        found_.push_back({step.value, step.reader, FrozenRole::kIndex});
      return;
    case Question::kElement:
    case Question::kAnyElement:
      break;
  }
  if (!ir::is_integer(constant.data_type) || constant.num_elements() > kMaxShapeElements) return;
  try {
    std::vector<int64_t> elements = constant.to_int64();
    bool sums = std::accumulate(elements.begin(), elements.end(), int64_t{0}) == step.number;
    bool matches = step.question == Question::kAnyElement
                       ? std::any_of(elements.begin(), elements.end(), [](int64_t v) { return v > 1; })
                       : sums || std::find(elements.begin(), elements.end(), step.number) != elements.end();
    if (matches) found_.push_back({step.value, step.reader, shape_role(*step.reader)});
  } catch (const Error&) {
    // The data cannot be read: its values are not known to match.
  }
}

bool SourceTracer::has_constant_dim(const ir::Value* value, int64_t size) const {
  const ops::Fact& fact = result_.fact(value);
  if (!fact.shape) return false;
  return std::any_of(fact.shape->begin(), fact.shape->end(), [&](dim::Dim d) { return d.is_constant(size); });
}

void SourceTracer::through_dim(const Step& step, const ir::Node& producer) {
  const std::string& op = producer.op_type();
  if (producer.domain().empty()) {
    for (const ShapeOperand& s : kShapeOperands)
      if (s.op == op)
        ask(producer, producer.input(s.input), step.number, op == "Tile" ? Question::kAnyElement : Question::kElement);
    for (std::string_view name : kShapeAttributes) {
      auto list = producer.attribute_ints(name);
      if (std::find(list.begin(), list.end(), step.number) != list.end())
        found_.push_back({nullptr, &producer, FrozenRole::kAttribute});
    }
    if (op == "Concat") {
      // The parts of the axis, whatever their sizes.
      const ops::Fact& out = result_.fact(step.value);
      int64_t axis = producer.attribute_int("axis", 0);
      if (axis < 0 && out.has_rank()) axis += out.rank();
      for (const ir::Value* part : producer.inputs()) {
        const ops::Fact& fact = result_.fact(part);
        if (axis < 0 || axis >= fact.rank()) continue;
        if (auto size = fact.dim(static_cast<int>(axis)).constant()) ask(producer, part, *size, Question::kDim);
        if (has_constant_dim(part, step.number)) ask(producer, part, step.number, Question::kDim);
      }
      return;
    }
  }
  if (op == "Reshape" || op == "Flatten") return through_reshape(step, producer);
  if (op == "Gather") through_gather(step, producer);
  if (op == "ScatterND" && !reads_shape(producer.input(1))) ask(producer, producer.input(1), 0, Question::kIndex);
  bool contraction = is_contraction(producer);
  for (size_t i = 0; i < producer.inputs().size(); ++i) {
    const ir::Value* input = producer.inputs()[i];
    if (!input || is_shape_operand(producer, static_cast<int>(i))) continue;
    // A weight's sizes are the architecture's, not the example's.
    if (contraction && input->constant()) continue;
    if (has_constant_dim(input, step.number)) ask(producer, input, step.number, Question::kDim);
  }
}

// An axis that a Reshape made is asked for in the axes it was made from, and in the target where it splits them.
void SourceTracer::through_reshape(const Step& step, const ir::Node& producer) {
  auto in = constant_dims(result_.fact(producer.input(0))), out = constant_dims(result_.fact(step.value));
  auto groups = in && out ? group_by_product(*in, *out) : std::nullopt;
  if (!groups) {
    if (has_constant_dim(producer.input(0), step.number)) ask(producer, producer.input(0), step.number, Question::kDim);
    return;
  }
  for (const Group& g : *groups) {
    if (std::find(out->begin() + static_cast<ptrdiff_t>(g.out_begin), out->begin() + static_cast<ptrdiff_t>(g.out_end),
                  step.number) == out->begin() + static_cast<ptrdiff_t>(g.out_end))
      continue;
    for (size_t i = g.in_begin; i < g.in_end; ++i)
      if ((*in)[i] > 1) ask(producer, producer.input(0), (*in)[i], Question::kDim);
    for (size_t j = g.out_begin; j < g.out_end && g.out_end - g.out_begin > 1; ++j)
      if ((*out)[j] > 1) ask(producer, producer.input(1), (*out)[j], Question::kElement);
  }
}

// A table of as many rows as make up the size with another factor (angles by row, looked up by generated positions),
// and the tables that its positions come from.
void SourceTracer::through_gather(const Step& step, const ir::Node& producer) {
  const ir::Value* indices = producer.input(1);
  const ir::Tensor* table = producer.input(0) ? producer.input(0)->constant() : nullptr;
  if (!table || !indices || indices->constant() || !has_constant_dim(indices, step.number)) return;
  int64_t rows = table->dims.empty() ? 0 : table->dims[0];
  if (rows > 1 && step.number % rows == 0) found_.push_back({producer.input(0), &producer, FrozenRole::kTable});
  ask(producer, indices, 0, Question::kIndex);
}

void SourceTracer::through_element(const Step& step, const ir::Node& producer) {
  const std::string& op = producer.op_type();
  if (op == "Shape" || op == "Size") {
    if (step.question == Question::kElement && has_constant_dim(producer.input(0), step.number))
      ask(*step.reader, producer.input(0), step.number, Question::kDim);
    return;
  }
  bool moves = op == "Concat" || op == "Unsqueeze" || op == "Squeeze" || op == "Reshape" || op == "Cast" ||
               op == "Identity" || op == "Gather" || op == "Slice" || op == "Split" || op == "Flatten" ||
               op == "Expand";
  if (moves) {
    size_t count = op == "Concat" ? producer.inputs().size() : std::min<size_t>(1, producer.inputs().size());
    for (size_t i = 0; i < count; ++i) ask(*step.reader, producer.inputs()[i], step.number, step.question);
    return;
  }
  if (op == "Where") {
    for (int i : {1, 2}) ask(*step.reader, producer.input(i), step.number, step.question);
    return;
  }
  if (op == "ConstantOfShape") return;
  // Arithmetic on constants alone: the number is made from them. Beside a size that was read from the graph, they are
  // factors.
  if (reads_shape(step.value)) return;
  for (const ir::Value* input : producer.inputs()) ask(*step.reader, input, step.number, Question::kAnyElement);
}

}  // namespace thaw::frozen
