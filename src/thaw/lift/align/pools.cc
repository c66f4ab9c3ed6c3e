#include "thaw/lift/align/pools.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "thaw/infer/infer.h"
#include "thaw/lift/align/averaged_cells.h"
#include "thaw/lift/align/averages_matrix.h"
#include "thaw/lift/align/constant_operand.h"
#include "thaw/ops/onnx/pool.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/small_tensor.h"
#include "thaw/rewrite/emitter.h"
#include "thaw/rewrite/remove_unused.h"
#include "thaw/rewrite/replace.h"

namespace thaw::lifting {
namespace {

// A window along each of the last axes.
struct Pool {
  ir::Node* node = nullptr;  // whose result is what was pooled
  ir::Value* data = nullptr;
  ir::DataType type = ir::DataType::kFloat;
  std::vector<int64_t> sizes;         // of the data
  std::vector<int64_t> cells;         // along each of these axes; 0 where windows share entries or leave gaps
  std::vector<int64_t> kernel = {};   // of a node that pools
  std::vector<int64_t> strides = {};  // of one whose windows stand at multiples of these, and nowhere past an end
  std::string_view reduction = "ReduceMean";
  bool taken_apart = false;

  size_t num_axes() const { return cells.size(); }
  size_t axis_of_data(size_t axis) const { return sizes.size() - num_axes() + axis; }
  int64_t side(size_t axis) const { return sizes[axis_of_data(axis)]; }
  bool has_rest(size_t axis) const { return !taken_apart && cells[axis] * kernel[axis] != side(axis); }
  int64_t windows(size_t axis) const { return strides.empty() ? 0 : (side(axis) - kernel[axis]) / strides[axis] + 1; }
  bool is_large(size_t axis) const { return is_large_average(cells[axis], side(axis)); }
};

// Whether it may gather by places of cells, which is not asked of the indices of every table.
bool has_places(const ir::Node& node) {
  const ir::Tensor* places = constant_operand(node, 1);
  return places && places->dims.size() == kRankOfPlaces && ops::role_of(node, 1) == ops::Role::kIndex;
}

Pool pool_of(ir::Node* node, ir::DataType type, std::vector<int64_t> sizes) {
  const auto kernel = node->attribute_ints("kernel_shape"), strides = node->attribute_ints("strides");
  Pool pool{.node = node,
            .data = node->input(0),
            .type = type,
            .sizes = std::move(sizes),
            .cells = std::vector<int64_t>(kernel.size()),
            .kernel = {kernel.begin(), kernel.end()},
            .reduction = ops::reduction_of_pool(*node)};
  const auto all = [&](std::string_view name, int64_t value) {
    return std::ranges::all_of(node->attribute_ints(name), [&](int64_t each) { return each == value; });
  };
  if (pool.sizes.size() != kernel.size() + 2 || kernel.size() != strides.size()) return pool;
  if (!all("pads", 0) || !all("dilations", 1) || node->attribute_string("auto_pad", "NOTSET") != "NOTSET") return pool;
  const bool rounds_up = node->attribute_int("ceil_mode", 0) != 0;
  bool are_inside = !rounds_up;
  for (size_t axis = 0; axis < kernel.size(); ++axis)
    are_inside = are_inside && strides[axis] > 0 && kernel[axis] > 0 && kernel[axis] <= pool.side(axis);
  if (are_inside) pool.strides.assign(strides.begin(), strides.end());
  if (!std::ranges::equal(kernel, strides)) return pool;
  for (size_t axis = 0; axis < kernel.size(); ++axis)
    if (kernel[axis] > 0 && (!rounds_up || pool.side(axis) % kernel[axis] == 0))
      pool.cells[axis] = pool.side(axis) / kernel[axis];
  return pool;
}

std::vector<Pool> pools_of(const ir::Model& model) {
  const auto could_be = [](const ir::Node* node) {
    return !ops::reduction_of_pool(*node).empty() || has_places(*node);
  };
  std::vector<Pool> pools;
  if (std::ranges::none_of(model.graph->nodes(), could_be)) return pools;
  dim::Scope scope;
  const infer::Result facts = infer::infer(model, scope);
  for (ir::Node* node : model.graph->nodes()) {
    if (!could_be(node)) continue;
    const bool is_pool = !ops::reduction_of_pool(*node).empty();
    ir::Value* data = is_pool ? node->input(0) : cells_gathered_from(*node, model, facts);
    if (!data) continue;
    const ops::Fact& fact = facts.fact(data);
    const auto sizes = ops::constant_shape(fact.shape);
    if (!ir::is_floating(fact.dtype) || !sizes || sizes->size() < 2) continue;
    if (is_pool) {
      pools.push_back(pool_of(node, fact.dtype, *sizes));
    } else if (const auto averaged = averaged_cells(*node, *sizes, model, facts)) {
      pools.push_back({.node = averaged->result,
                       .data = data,
                       .type = fact.dtype,
                       .sizes = *sizes,
                       .cells = {averaged->cells.begin(), averaged->cells.end()},
                       .taken_apart = true});
    }
  }
  return pools;
}

enum class Form : uint8_t { kPreserved, kProduct, kReshape, kWindows };

// Whether windows stand a part of the side apart, rounded down, and are as long as the last one has left, along each axis. Where they are as
// long as a part of the side that is rounded up, too, they may be that: as many windows do not fit everywhere then.
bool end_with_the_side(std::span<const std::vector<Pool>> pools, size_t i) {
  constexpr int64_t kMostWindows = 8;
  bool is_told = true, may_be_parts = true;
  for (size_t axis = 0; axis < pools.front()[i].num_axes(); ++axis) {
    const int64_t count = pools.front()[i].windows(axis);
    if (count < 1 || count > kMostWindows) return false;
    is_told = is_told && count < 3;  // both are the same
    for (const auto& each : pools) {
      const Pool& pool = each[i];
      const int64_t side = pool.side(axis), step = side / count;
      if (pool.windows(axis) != count || (count > 1 && pool.strides[axis] != step)) return false;
      if (pool.kernel[axis] != side - (count - 1) * step) return false;
      may_be_parts = may_be_parts && pool.kernel[axis] == (side + count - 1) / count;
    }
  }
  return is_told || !may_be_parts;
}

// What the i-th pools of the traces become.
Form form_of(std::span<const std::vector<Pool>> pools, size_t i) {
  const Pool& first = pools.front()[i];
  bool taken_apart = false, differs = false;
  for (const auto& each : pools) {
    const Pool& pool = each[i];
    if (pool.sizes.size() != first.sizes.size() || pool.num_axes() != first.num_axes() ||
        pool.reduction != first.reduction)
      return Form::kPreserved;
    taken_apart |= pool.taken_apart;
    differs |= pool.taken_apart != first.taken_apart || pool.kernel != first.kernel || pool.sizes != first.sizes;
  }
  const bool same_kernel =
      !taken_apart && std::ranges::all_of(pools, [&](const auto& each) { return each[i].kernel == first.kernel; });
  if (!differs || same_kernel) return Form::kPreserved;
  for (size_t axis = 0; axis < first.num_axes(); ++axis) {
    const auto any_is = [&](const auto& is_so) {
      return std::ranges::any_of(pools, [&](const auto& each) { return is_so(each[i]); });
    };
    if (!taken_apart && !any_is([&](const Pool& pool) { return pool.kernel[axis] != 1; })) continue;
    if (any_is([&](const Pool& pool) { return pool.cells[axis] == 0; }))
      return end_with_the_side(pools, i) ? Form::kWindows : Form::kPreserved;
    const auto is_no_product = [&](const Pool& pool) {
      return pool.cells[axis] != first.cells[axis] || pool.is_large(axis) || pool.has_rest(axis);
    };
    if (taken_apart && any_is(is_no_product)) return Form::kPreserved;
  }
  return taken_apart ? Form::kProduct : Form::kReshape;
}

// What some trace does along an axis: pool by more than an entry, and leave out what is no whole window, or have other cells than another
// trace. Then their number follows from how long a window is; else it is a number, and a window what a side has for each.
struct AxisForm {
  bool is_pooled = false, is_cut = false;
};

std::vector<AxisForm> axis_forms(std::span<const std::vector<Pool>> pools, size_t i) {
  std::vector<AxisForm> forms(pools.front()[i].num_axes());
  for (size_t axis = 0; axis < forms.size(); ++axis)
    for (const auto& each : pools) {
      forms[axis].is_pooled |= each[i].kernel[axis] != 1;
      forms[axis].is_cut |= each[i].has_rest(axis) || each[i].cells[axis] != pools.front()[i].cells[axis];
    }
  return forms;
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

// An axis whose windows are single entries is left as it is. How many windows fit along one that is cut follows from how long they are.
ir::Value* as_reshape(const Pool& pool, const std::vector<AxisForm>& forms, const ops::Emit& e) {
  ir::Value* data = pool.data;
  std::vector<int64_t> numbers(pool.sizes.begin(), pool.sizes.end() - std::ssize(forms)), axes;
  std::vector<ir::Value*> parts;
  const auto end_numbers = [&] {
    if (!numbers.empty()) parts.push_back(e.own_list("cells", std::exchange(numbers, {})));
  };
  auto rank = std::ssize(numbers);
  for (size_t k = 0; k < forms.size(); ++k) {
    const auto axis = static_cast<int64_t>(pool.axis_of_data(k));
    if (forms[k].is_pooled) axes.push_back(++rank);
    ++rank;
    if (!forms[k].is_pooled) {
      numbers.push_back(pool.side(k));
    } else if (!forms[k].is_cut) {
      numbers.insert(numbers.end(), {pool.cells[k], pool.kernel[k]});
    } else {
      end_numbers();
      ir::Value* window = e.own_list("window", {pool.kernel[k]});
      ir::Value* cells = e.div(e.slice(e.shape(pool.data), axis, axis + 1), window);
      data = e.emit("Slice", {data, e.list({0}), e.mul(cells, window), e.list({axis})});
      parts.insert(parts.end(), {cells, window});
    }
  }
  end_numbers();
  return e.reduce(pool.reduction, e.reshape(data, e.concat(std::move(parts), 0)), axes, false);
}

// One axis after the other: the mean of means, the largest of the largest.
ir::Value* as_windows(const Pool& pool, const ops::Emit& e) {
  ir::Value* data = pool.data;
  for (size_t k = 0; k < pool.num_axes(); ++k) {
    const auto axis = static_cast<int64_t>(pool.axis_of_data(k));
    const int64_t count = pool.windows(k);
    ir::Value* side = e.slice(e.shape(data), axis, axis + 1);
    ir::Value* step = e.div(side, e.list({count}));
    std::vector<ir::Value*> cells;
    for (int64_t at = 0; at < count; ++at) {
      ir::Value* end = e.sub(side, e.mul(step, e.list({count - 1 - at})));
      ir::Value* window = e.emit("Slice", {data, e.mul(step, e.list({at})), end, e.list({axis})});
      cells.push_back(e.reduce(pool.reduction, window, {axis}, true));
    }
    data = e.concat(std::move(cells), axis);
  }
  return data;
}

ir::Value* written_as(Form form, std::span<const std::vector<Pool>> pools, size_t i, const Pool& pool,
                      const ops::Emit& e) {
  if (form == Form::kProduct) return as_product(pool, e);
  return form == Form::kWindows ? as_windows(pool, e) : as_reshape(pool, axis_forms(pools, i), e);
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
      rewrite::replace_value(*pool.node->output(0), *written_as(forms[i], pools, i, pool, e));
    }
    rewrite::remove_unused(*traces[k].model);
  }
}

}  // namespace thaw::lifting
