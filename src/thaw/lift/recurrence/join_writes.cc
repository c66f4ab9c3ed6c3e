#include "thaw/lift/recurrence/join_writes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "thaw/lift/align/constant_operand.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/small_tensor.h"
#include "thaw/rewrite/emitter.h"
#include "thaw/rewrite/replace.h"
#include "thaw/rewrite/splice.h"

namespace thaw::lifting {
namespace {

using ConstantSizes = ops::ConstantShape;

// One place along an axis, all others in full.
struct Write {
  int64_t axis;
  int64_t place;
};

std::optional<ConstantSizes> sizes_of(const ir::Value* value, const infer::Result& facts) {
  return value ? ops::constant_shape(facts.fact(value).shape) : std::nullopt;
}

// Elements have indices of their own along one axis, which are all the same one.
std::optional<Write> write_of_elements(const ir::Node& node, const ConstantSizes& buffer,
                                       const ConstantSizes& written) {
  int64_t axis = node.attribute_int("axis", 0);
  if (axis < 0) axis += static_cast<int64_t>(buffer.size());
  ConstantSizes whole = written;
  if (axis < 0 || axis >= static_cast<int64_t>(buffer.size()) || written.size() != buffer.size()) return std::nullopt;
  if (written[static_cast<size_t>(axis)] != 1) return std::nullopt;
  whole[static_cast<size_t>(axis)] = buffer[static_cast<size_t>(axis)];
  const std::vector<int64_t> indices = constant_operand(node, 1)->to_int64();
  if (whole != buffer || constant_operand(node, 1)->dims != written || indices.empty()) return std::nullopt;
  if (std::ranges::any_of(indices, [&](int64_t index) { return index != indices.front(); })) return std::nullopt;
  const int64_t size = buffer[static_cast<size_t>(axis)];
  return Write{axis, indices.front() < 0 ? indices.front() + size : indices.front()};
}

// Rows of indices: all positions of the leading axes but one, in order, which has one place.
std::optional<Write> write_of_rows(const ir::Node& node, const ConstantSizes& buffer) {
  const ir::Tensor& tensor = *constant_operand(node, 1);
  if (tensor.dims.empty() || tensor.dims.back() < 1 || tensor.dims.back() > static_cast<int64_t>(buffer.size()))
    return std::nullopt;
  const auto width = static_cast<size_t>(tensor.dims.back());
  std::vector<int64_t> indices = tensor.to_int64();
  for (size_t i = 0; i < indices.size(); ++i)
    if (indices[i] < 0) indices[i] += buffer[i % width];
  const size_t rows = indices.size() / width;
  for (size_t axis = width; axis-- > 0;) {
    size_t expected = 1;
    for (size_t i = 0; i < width; ++i)
      if (i != axis) expected *= static_cast<size_t>(buffer[i]);
    if (rows != expected || rows == 0) continue;
    std::vector<int64_t> position(width, 0);
    position[axis] = indices[axis];
    bool in_order = true;
    for (size_t row = 0; row < rows && in_order; ++row) {
      in_order =
          std::equal(position.begin(), position.end(), indices.begin() + static_cast<std::ptrdiff_t>(row * width));
      for (size_t i = width; i-- > 0;) {
        if (i == axis) continue;
        if (++position[i] < buffer[i]) break;
        position[i] = 0;
      }
    }
    if (in_order) return Write{static_cast<int64_t>(axis), indices[axis]};
  }
  return std::nullopt;
}

std::optional<Write> write_of(const ir::Node& node, const infer::Result& facts) {
  constexpr int64_t kMostIndices = int64_t{1} << 16;
  if (!node.domain().empty() || node.inputs().size() != 3 || !constant_operand(node, 1)) return std::nullopt;
  const ops::Operator* op = ops::registry().find(node);
  if (!op || !op->moves_elements() || ops::role_of(node, 1) != ops::Role::kIndex) return std::nullopt;
  const bool by_elements = op->role_of_attribute("axis") == ops::Role::kAxes;
  const auto buffer = sizes_of(node.input(0), facts), written = sizes_of(node.input(2), facts);
  if (!buffer || !written || node.attribute_string("reduction", "none") != "none" ||
      constant_operand(node, 1)->num_elements() > kMostIndices)
    return std::nullopt;
  const auto write = by_elements ? write_of_elements(node, *buffer, *written) : write_of_rows(node, *buffer);
  if (!write || write->place < 0 || write->place >= (*buffer)[static_cast<size_t>(write->axis)]) return std::nullopt;
  return write;
}

// Read by the next write alone.
bool is_passed_on(const ir::Value& buffer) {
  return buffer.uses().size() == 1 && buffer.uses().begin()->index == 0 && !buffer.is_output() &&
         buffer.graph()->returned_by(&buffer).empty();
}

bool join_chain(ir::Model& model, ir::Node& last, const infer::Result& facts) {
  const auto buffer = sizes_of(last.input(0), facts);
  const auto first = write_of(last, facts);
  if (!buffer || !first) return false;
  const auto axis = static_cast<size_t>(first->axis);
  std::map<int64_t, ir::Value*> pieces;  // by place
  std::vector<ir::Node*> writes;
  for (ir::Node* node = &last; node; node = node->input(0)->producer()) {
    const auto write = write_of(*node, facts);
    if (!write || write->axis != first->axis || (node != &last && !is_passed_on(*node->output(0)))) break;
    pieces.emplace(write->place, node->input(2));  // what is written later stays
    writes.push_back(node);
    if (static_cast<int64_t>(pieces.size()) == (*buffer)[axis]) break;
  }
  if (pieces.size() < 2 || static_cast<int64_t>(pieces.size()) != (*buffer)[axis]) return false;
  rewrite::Emitter emitter(model, "written");
  emitter.set_origin(rewrite::name_of(last));
  const ops::Emit at = emitter.before(&last);
  std::vector<ir::Value*> parts;
  ConstantSizes piece = *buffer;
  piece[axis] = 1;
  ConstantSizes without = *buffer;
  without.erase(without.begin() + static_cast<std::ptrdiff_t>(axis));
  for (const auto& [place, value] : pieces) {
    const auto sizes = sizes_of(value, facts);
    parts.push_back(sizes == piece     ? value
                    : sizes == without ? at.unsqueeze(value, {first->axis})
                                       : at.reshape(value, at.list(piece)));
  }
  rewrite::replace_value(*last.output(0), *at.concat(parts, first->axis));
  for (ir::Node* node : writes) last.graph()->remove_node(node);
  return true;
}

}  // namespace

int join_writes(ir::Model& model, const infer::Result& facts) {
  int count = 0;
  std::vector<ir::Node*> lasts;
  for (ir::Node* node : model.graph->nodes()) {
    if (node->inputs().size() != 3 || !write_of(*node, facts)) continue;
    const ir::Value& buffer = *node->output(0);
    const bool goes_on = is_passed_on(buffer) && write_of(*buffer.uses().begin()->node, facts);
    if (!goes_on) lasts.push_back(node);
  }
  for (ir::Node* node : lasts) count += join_chain(model, *node, facts) ? 1 : 0;
  return count;
}

}  // namespace thaw::lifting
