#include "thaw/lift/recurrence/emit_scan.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "thaw/ops/rule/small_tensor.h"
#include "thaw/rewrite/emitter.h"
#include "thaw/rewrite/replace.h"
#include "thaw/rewrite/splice.h"

namespace thaw::lifting {
namespace {

// Tensors of one type and shape, one after the other along a new first axis.
ir::Tensor stacked_constants(const std::vector<ir::Value*>& values) {
  const ir::Tensor& first = *values.front()->constant();
  std::vector<int64_t> dims{static_cast<int64_t>(values.size())};
  dims.insert(dims.end(), first.dims.begin(), first.dims.end());
  std::vector<std::byte> bytes;
  for (const ir::Value* value : values) {
    const auto more = value->constant()->bytes();
    bytes.insert(bytes.end(), more.begin(), more.end());
  }
  return ir::Tensor::from_bytes({}, first.data_type, std::move(dims), std::move(bytes));
}

class ScanEmission {
 public:
  ScanEmission(ir::Model& model, const Strands& strands, const UnrolledBody& body, const infer::Result& facts)
      : graph_(*model.graph), strands_(strands), body_(body), facts_(facts), emitter_(model, "recurrence") {}

  void emit() {
    const ir::Node* last = nullptr;
    for (const size_t strand : body_.nodes) {
      const ir::Node* node = strands_[strand].nodes.back();
      if (!last || ir::Graph::position_of(node) > ir::Graph::position_of(last)) last = node;
    }
    emitter_.set_origin(rewrite::name_of(*last));
    const ops::Emit at = emitter_.after(const_cast<ir::Node*>(last));
    std::vector<ir::Value*> inputs;
    for (const BodyState& state : body_.states) inputs.push_back(state.initial);
    std::vector<int64_t> input_axes, directions;
    for (const BodyFeed& feed : body_.feeds) {
      inputs.push_back(fed(feed, at));
      input_axes.push_back(feed.whole ? feed.axis : 0);
      directions.push_back(feed.whole && feed.step < 0 ? 1 : 0);
    }
    put_node(at, inputs, input_axes, directions);
    for (size_t i = 0; i < outputs_.size(); ++i) read_result(outputs_[i], i);
    remove_steps();
    graph_.sort_topologically();
  }

 private:
  // One of what the Scan stacks: for joins along one axis and in one direction, or for the last step alone.
  struct Stacked {
    const BodyResult* result;
    int64_t axis;
    bool backwards;
    ir::Value* value = nullptr;
  };

  ir::Value* fed(const BodyFeed& feed, const ops::Emit& at) {
    if (!feed.whole) {
      if (feed.each.front()->constant()) return emitter_.constant(stacked_constants(feed.each));
      std::vector<ir::Value*> parts;
      for (ir::Value* value : feed.each) parts.push_back(at.unsqueeze(value, {0}));
      return at.concat(parts, 0);
    }
    const int64_t stride = std::abs(feed.step), far = feed.begin + (body_.count - 1) * feed.step;
    const int64_t begin = std::min(feed.begin, far), end = std::max(feed.begin, far) + feed.length;
    if (stride != feed.length) return gathered(feed, at);
    ir::Value* used = feed.whole;
    if (body_.may_be_empty) {
      used = with_idle_step(feed, begin, end, at);
    } else if (begin != 0 || end != feed.size) {
      used = cut(feed, begin, end, at);
    }
    if (feed.length == 1) return used;
    std::vector<int64_t> dims = ops::constant_shape(facts_.fact(feed.whole).shape).value();
    dims[static_cast<size_t>(feed.axis)] = -1;
    dims.insert(dims.begin() + feed.axis + 1, feed.length);
    return at.reshape(used, at.list(dims));
  }

  // One piece more, behind all others: ONNX Runtime does not survive a Scan of no step. What it gives is cut off.
  ir::Value* with_idle_step(const BodyFeed& feed, int64_t begin, int64_t end, const ops::Emit& at) const {
    const bool onwards = feed.step > 0;
    if (onwards && end + feed.length <= feed.size) return cut(feed, begin, end + feed.length, at);
    if (!onwards && begin >= feed.length) return cut(feed, begin - feed.length, end, at);
    ir::Value* used = cut(feed, begin, end, at);
    if (onwards) return at.concat({used, at.slice(feed.whole, begin - feed.length, begin, feed.axis)}, feed.axis);
    return at.concat({at.slice(feed.whole, end - feed.size, before_end(feed, end + feed.length), feed.axis), used},
                     feed.axis);
  }

  // What the steps read of a tensor begins and ends as far from its ends at every length: so it is written, and no size
  // is to be solved.
  static ir::Value* cut(const BodyFeed& feed, int64_t begin, int64_t end, const ops::Emit& at) {
    return begin == 0 && end == feed.size ? feed.whole : at.slice(feed.whole, begin, before_end(feed, end), feed.axis);
  }
  static int64_t before_end(const BodyFeed& feed, int64_t end) {
    return end == feed.size ? INT64_MAX : end - feed.size;
  }

  // Pieces that overlap, or leave gaps: all places of all pieces. Backwards they are read from the last one.
  ir::Value* gathered(const BodyFeed& feed, const ops::Emit& at) {
    std::vector<int64_t> places;
    const int64_t stride = std::abs(feed.step);
    const int64_t begin = std::min(feed.begin, feed.begin + (body_.count - 1) * feed.step);
    for (int64_t piece = 0; piece < body_.count; ++piece)
      for (int64_t i = 0; i < feed.length; ++i) places.push_back(begin + piece * stride + i);
    std::vector<int64_t> dims{body_.count};
    if (feed.length > 1) dims.push_back(feed.length);
    ir::Value* table = emitter_.constant(ir::Tensor::from_int64({}, dims, places));
    return at.emit("Gather", {feed.whole, table}, {{"axis", feed.axis}});
  }

  void put_node(const ops::Emit& at, const std::vector<ir::Value*>& inputs, const std::vector<int64_t>& input_axes,
                const std::vector<int64_t>& directions) {
    auto inner = std::make_shared<ir::Graph>();
    inner->name = graph_.unique_name("recurrence_body");
    std::vector<ir::Value*> results;
    for (size_t i = 0; i < body_.states.size(); ++i)
      results.push_back(graph_.add_value(graph_.unique_name(fmt::format("recurrence_last_{}", i))));
    plan_outputs();
    std::vector<int64_t> output_axes, output_directions;
    for (Stacked& output : outputs_) {
      output.value = graph_.add_value(graph_.unique_name("recurrence_steps"));
      results.push_back(output.value);
      output_axes.push_back(output.axis);
      output_directions.push_back(output.backwards ? 1 : 0);
    }
    ir::Node* scan = graph_.add_node("Scan", "", inputs, results, graph_.unique_name("recurrence"), at.before());
    scan->set_attribute({"body", inner});
    scan->set_attribute({"num_scan_inputs", static_cast<int64_t>(input_axes.size())});
    scan->set_attribute({"scan_input_axes", input_axes});
    scan->set_attribute({"scan_input_directions", directions});
    if (!output_axes.empty()) {
      scan->set_attribute({"scan_output_axes", output_axes});
      scan->set_attribute({"scan_output_directions", output_directions});
    }
    fill_body(*inner);
  }

  void plan_outputs() {
    for (const BodyResult& result : body_.results) {
      for (const BodyResult::Join& join : result.joins) add_output({&result, join.axis, join.backwards});
      if (result.last && result.joins.empty()) add_output({&result, 0, false});
    }
  }

  void add_output(const Stacked& output) {
    const bool known = std::ranges::any_of(outputs_, [&](const Stacked& other) {
      return other.result == output.result && other.axis == output.axis && other.backwards == output.backwards;
    });
    if (!known) outputs_.push_back(output);
  }

  void fill_body(ir::Graph& inner) {
    const auto input = [&](const std::string& name, const ir::Value* like) {
      return inner.add_input(graph_.unique_name(name), ir::Type::tensor(facts_.fact(like).dtype));
    };
    for (size_t i = 0; i < body_.states.size(); ++i)
      states_.push_back(input(fmt::format("recurrence_state_{}", i), body_.states[i].initial));
    for (size_t i = 0; i < body_.feeds.size(); ++i) {
      const BodyFeed& feed = body_.feeds[i];
      ir::Value* piece = input(fmt::format("recurrence_step_{}", i), feed.whole ? feed.whole : feed.each.front());
      if (feed.whole && feed.keeps_axis && feed.length == 1)
        piece = emitter_.at_end(inner).unsqueeze(piece, {feed.axis});
      feeds_.push_back(piece);
    }
    for (size_t i = 0; i < body_.nodes.size(); ++i) {
      const ir::Node& node = *strands_[body_.nodes[i]].at(body_.model_step);
      std::vector<ir::Value*> inputs, outputs;
      for (const BodyRead& read : body_.reads[i]) inputs.push_back(value_of(read));
      for (int o = 0; o < static_cast<int>(node.outputs().size()); ++o) {
        const ir::Value* output = node.output(o);
        outputs.push_back(output ? inner.add_value(graph_.unique_name(output->name() + "_step")) : nullptr);
        made_[{body_.nodes[i], o}] = outputs.back();
      }
      rewrite::copy_node(node, inner, inputs, outputs, node.name.empty() ? "" : node.name + "_step");
    }
    for (const BodyState& state : body_.states) return_value(inner, value_of(state.next), state.initial);
    for (const Stacked& output : outputs_)
      return_value(inner, made_.at({output.result->strand, output.result->output}), model_value(*output.result));
  }

  // A graph's outputs are made in it, and each stands there once.
  void return_value(ir::Graph& inner, ir::Value* value, const ir::Value* like) {
    if (value->graph() != &inner || value->is_input() || value->is_output())
      value = emitter_.at_end(inner).emit("Identity", {value});
    value->graph()->set_value_info(value, ir::Type::tensor(facts_.fact(like).dtype));
    inner.add_output(value);
  }

  ir::Value* model_value(const BodyResult& result) const {
    return strands_[result.strand].at(body_.model_step)->output(result.output);
  }

  ir::Value* value_of(const BodyRead& read) const {
    switch (read.kind) {
      case BodyRead::Kind::kNothing:
        return nullptr;
      case BodyRead::Kind::kOuter:
        return read.outer;
      case BodyRead::Kind::kFed:
        return feeds_[read.index];
      case BodyRead::Kind::kState:
        return states_[read.index];
      case BodyRead::Kind::kMade:
        return made_.at({read.index, read.output});
    }
    return nullptr;
  }

  void read_result(const Stacked& output, size_t index) {
    const BodyResult& result = *output.result;
    for (const BodyResult::Join& join : result.joins)
      if (join.axis == output.axis && join.backwards == output.backwards) put_join(join, output);
    const bool is_first = index == 0 || outputs_[index - 1].result != output.result;
    if (!result.last || !is_first) return;
    const ops::Emit at = emitter_.at_end(graph_);
    ir::Value* steps = stacked(output, at);
    const int64_t place = output.backwards ? result.steps_before_last : -1 - result.steps_before_last;
    if (const ir::Value* initial = body_.may_be_empty ? initial_of(result) : nullptr) {
      ir::Value* first = at.unsqueeze(const_cast<ir::Value*>(initial), {output.axis});
      steps = at.concat(output.backwards ? std::vector{steps, first} : std::vector{first, steps}, output.axis);
    }
    replace(result.last, at.emit("Gather", {steps, at.integer(place)}, {{"axis", output.axis}}));
  }

  // What the Scan has stacked, less the idle step.
  static ir::Value* all_but_idle(const Stacked& output, const ops::Emit& at) {
    return output.backwards ? at.slice(output.value, 1, INT64_MAX, output.axis)
                            : at.slice(output.value, 0, -1, output.axis);
  }
  ir::Value* stacked(const Stacked& output, const ops::Emit& at) const {
    return body_.may_be_empty ? all_but_idle(output, at) : output.value;
  }

  // What a result was before the first step, where that is carried.
  const ir::Value* initial_of(const BodyResult& result) const {
    const BodyRead made{.kind = BodyRead::Kind::kMade, .index = result.strand, .output = result.output};
    const auto state = std::ranges::find(body_.states, made, &BodyState::next);
    return state == body_.states.end() ? nullptr : state->initial;
  }

  void put_join(const BodyResult::Join& join, const Stacked& output) {
    const std::vector<int64_t> sizes = ops::constant_shape(facts_.fact(model_value(*output.result)).shape).value();
    const auto axis = static_cast<size_t>(join.axis);
    const ops::Emit at = emitter_.before(join.node);
    ir::Value* joined;
    if (sizes[axis] == 1) {
      joined = at.squeeze(stacked(output, at), {join.axis + 1});
    } else {
      std::vector<int64_t> dims = sizes;
      dims[axis] = -1;
      joined = at.reshape(stacked(output, at), at.list(dims));
    }
    const auto operands = join.node->inputs();
    const auto count = static_cast<std::ptrdiff_t>(body_.count);
    std::vector<ir::Value*> parts(operands.begin(), operands.end());
    parts.erase(parts.begin() + join.first + 1, parts.begin() + join.first + count);
    parts[static_cast<size_t>(join.first)] = joined;
    if (parts.size() == 1) {
      replace(join.node->output(0), joined);
    } else {
      join.node->set_inputs(parts);
    }
  }

  // An output of the model keeps its name and its declared type.
  void replace(ir::Value* old, ir::Value* made) { rewrite::replace_value(*old, *made); }

  void remove_steps() {
    std::vector<ir::Node*> nodes;
    for (const BodyResult& result : body_.results)
      for (const BodyResult::Join& join : result.joins) nodes.push_back(join.node);
    for (const Strand& strand : strands_) nodes.insert(nodes.end(), strand.nodes.begin(), strand.nodes.end());
    std::ranges::sort(nodes, std::greater<>(), ir::Graph::position_of);
    for (ir::Node* node : nodes) {
      if (node->is_removed()) continue;
      const bool used = std::ranges::any_of(node->outputs(), [](const ir::Value* v) { return v && v->is_used(); });
      if (!used) graph_.remove_node(node);
    }
  }

  ir::Graph& graph_;
  const Strands& strands_;
  const UnrolledBody& body_;
  const infer::Result& facts_;
  rewrite::Emitter emitter_;
  std::vector<Stacked> outputs_;
  std::vector<ir::Value*> states_, feeds_;
  std::map<std::pair<size_t, int>, ir::Value*> made_;
};

}  // namespace

void put_scan(ir::Model& model, const Strands& strands, const UnrolledBody& body, const infer::Result& facts) {
  ScanEmission(model, strands, body, facts).emit();
}

}  // namespace thaw::lifting
