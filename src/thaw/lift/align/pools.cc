#include "thaw/lift/align/pools.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "thaw/infer/infer.h"
#include "thaw/lift/align/averaged_cells.h"
#include "thaw/lift/align/averages_matrix.h"
#include "thaw/lift/align/constant_operand.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/small_tensor.h"
#include "thaw/rewrite/emitter.h"
#include "thaw/rewrite/remove_unused.h"
#include "thaw/rewrite/replace.h"

namespace thaw::lifting {
namespace {

// A window along each of the last two axes.
struct Pool {
  ir::Node* node = nullptr;  // whose result is what was pooled
  ir::Value* data = nullptr;
  ir::DataType type = ir::DataType::kFloat;
  std::vector<int64_t> sizes;  // of the data
  Cells cells = {};            // 0 where the windows do not tile the image
  Cells kernel = {};           // of an AveragePool
  bool taken_apart = false;

  int64_t side(size_t axis) const { return sizes[sizes.size() - 2 + axis]; }
  bool is_large(size_t axis) const { return is_large_average(cells[axis], side(axis)); }
};

bool is_average_pool(const ir::Node& node) { return node.op_type() == "AveragePool" && node.domain().empty(); }

// Whether it may gather by places of cells, which is not asked of the indices of every table.
bool has_places(const ir::Node& node) {
  const ir::Tensor* places = constant_operand(node, 1);
  return places && places->dims.size() == kRankOfPlaces && ops::role_of(node, 1) == ops::Role::kIndex;
}

Pool average_pool(ir::Node* node, ir::DataType type, std::vector<int64_t> sizes) {
  Pool pool{.node = node, .data = node->input(0), .type = type, .sizes = std::move(sizes)};
  const auto kernel = node->attribute_ints("kernel_shape"), strides = node->attribute_ints("strides");
  if (kernel.size() != 2 || pool.sizes.size() != 4) return pool;
  pool.kernel = {kernel[0], kernel[1]};
  const auto all = [&](std::string_view name, int64_t value) {
    return std::ranges::all_of(node->attribute_ints(name), [&](int64_t each) { return each == value; });
  };
  if (!std::ranges::equal(kernel, strides) || !all("pads", 0) || !all("dilations", 1)) return pool;
  if (node->attribute_string("auto_pad", "NOTSET") != "NOTSET") return pool;
  for (const size_t axis : {0, 1})
    if (kernel[axis] > 0 && pool.side(axis) % kernel[axis] == 0) pool.cells[axis] = pool.side(axis) / kernel[axis];
  return pool;
}

std::vector<Pool> pools_of(const ir::Model& model) {
  const auto could_be = [](const ir::Node* node) { return is_average_pool(*node) || has_places(*node); };
  std::vector<Pool> pools;
  if (std::ranges::none_of(model.graph->nodes(), could_be)) return pools;
  dim::Scope scope;
  const infer::Result facts = infer::infer(model, scope);
  for (ir::Node* node : model.graph->nodes()) {
    if (!could_be(node)) continue;
    ir::Value* data = is_average_pool(*node) ? node->input(0) : cells_gathered_from(*node, model, facts);
    if (!data) continue;
    const ops::Fact& fact = facts.fact(data);
    const auto sizes = ops::constant_shape(fact.shape);
    if (!ir::is_floating(fact.dtype) || !sizes || sizes->size() < 2) continue;
    if (is_average_pool(*node)) {
      pools.push_back(average_pool(node, fact.dtype, *sizes));
    } else if (const auto averaged = averaged_cells(*node, *sizes, model, facts)) {
      pools.push_back({averaged->result, data, fact.dtype, *sizes, averaged->cells, {}, true});
    }
  }
  return pools;
}

enum class Form : uint8_t { kPreserved, kProduct, kReshape };

// What the i-th pools of the traces become.
Form form_of(std::span<const std::vector<Pool>> pools, size_t i) {
  const Pool& first = pools.front()[i];
  bool taken_apart = false, differs = false;
  for (const auto& each : pools) {
    const Pool& pool = each[i];
    if (pool.sizes.size() != first.sizes.size()) return Form::kPreserved;
    taken_apart |= pool.taken_apart;
    differs |= pool.taken_apart != first.taken_apart || pool.kernel != first.kernel || pool.sizes != first.sizes;
  }
  const bool same_kernel =
      !taken_apart && std::ranges::all_of(pools, [&](const auto& each) { return each[i].kernel == first.kernel; });
  if (!differs || same_kernel) return Form::kPreserved;
  for (const size_t axis : {0, 1}) {
    const auto alike = [&](const auto& each) { return each[i].cells[axis] == first.cells[axis]; };
    const auto is_whole = [&](const auto& each) { return !taken_apart && each[i].kernel[axis] == 1; };
    if (std::ranges::all_of(pools, is_whole)) continue;
    if (std::ranges::any_of(pools, [&](const auto& each) { return each[i].is_large(axis); })) return Form::kPreserved;
    if (first.cells[axis] == 0 || !std::ranges::all_of(pools, alike)) return Form::kPreserved;
  }
  return taken_apart ? Form::kProduct : Form::kReshape;
}

// Which axes some trace pools: by more than an entry.
std::array<bool, 2> pooled_axes(std::span<const std::vector<Pool>> pools, size_t i) {
  const auto pools_along = [&](size_t axis) {
    return std::ranges::any_of(pools, [&](const auto& each) { return each[i].kernel[axis] != 1; });
  };
  return {pools_along(0), pools_along(1)};
}

ir::Value* add_averages(const ops::Emit& e, int64_t cells, int64_t side, bool turned, ir::DataType type) {
  // Each of its own: what is equal in one trace may differ in others.
  ir::Value* made = e.graph().add_initializer(averages_matrix(e.graph().unique_name("averages"), cells, side, turned));
  return type == ir::DataType::kFloat ? made : e.cast(made, type);
}

ir::Value* as_product(const Pool& pool, const ops::Emit& e) {
  ir::Value* rows = add_averages(e, pool.cells[0], pool.side(0), false, pool.type);
  ir::Value* tall = e.emit("MatMul", {rows, pool.data});
  return e.emit("MatMul", {tall, add_averages(e, pool.cells[1], pool.side(1), true, pool.type)});
}

// An axis whose windows are single entries is left as it is.
ir::Value* as_reshape(const Pool& pool, const std::array<bool, 2>& pooled, const ops::Emit& e) {
  std::vector<int64_t> cut(pool.sizes.begin(), pool.sizes.end() - 2), axes;
  for (const size_t axis : {0, 1}) {
    cut.push_back(pooled[axis] ? pool.cells[axis] : pool.side(axis));
    if (!pooled[axis]) continue;
    axes.push_back(static_cast<int64_t>(cut.size()));
    cut.push_back(pool.side(axis) / pool.cells[axis]);
  }
  ir::Value* sizes = e.graph().add_initializer(
      ir::Tensor::from_int64(e.graph().unique_name("cells"), {static_cast<int64_t>(cut.size())}, cut));
  return e.reduce("ReduceMean", e.reshape(pool.data, sizes), axes, false);
}

}  // namespace

void write_parted_pools_as_products(ir::Model& model) {
  const std::vector<Pool> pools = pools_of(model);
  if (std::ranges::none_of(pools, &Pool::taken_apart)) return;
  rewrite::Emitter emitter(model, "pooled");
  for (const Pool& pool : pools) {
    if (!pool.taken_apart || pool.is_large(0) || pool.is_large(1)) continue;
    emitter.set_origin(pool.node->name);
    rewrite::replace_value(*pool.node->output(0), *as_product(pool, emitter.before(pool.node)));
  }
  rewrite::remove_unused(model);
}

void write_pools_alike(std::vector<Trace>& traces) {
  std::vector<std::vector<Pool>> pools;
  for (const Trace& trace : traces) {
    pools.push_back(pools_of(*trace.model));
    if (pools.back().empty() || pools.back().size() != pools.front().size()) return;
  }
  std::vector<Form> forms;
  for (size_t i = 0; i < pools.front().size(); ++i) forms.push_back(form_of(pools, i));
  if (std::ranges::all_of(forms, [](Form form) { return form == Form::kPreserved; })) return;
  for (size_t k = 0; k < traces.size(); ++k) {
    rewrite::Emitter emitter(*traces[k].model, "pooled");
    for (size_t i = 0; i < forms.size(); ++i) {
      if (forms[i] == Form::kPreserved) continue;
      const Pool& pool = pools[k][i];
      emitter.set_origin(pool.node->name);
      const ops::Emit e = emitter.before(pool.node);
      ir::Value* made = forms[i] == Form::kProduct ? as_product(pool, e) : as_reshape(pool, pooled_axes(pools, i), e);
      rewrite::replace_value(*pool.node->output(0), *made);
    }
    rewrite::remove_unused(*traces[k].model);
  }
}

}  // namespace thaw::lifting
