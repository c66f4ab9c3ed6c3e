#include "thaw/quant/blocks/weight_store.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "thaw/quant/blocks/gptq.h"
#include "thaw/quant/blocks/searched_error.h"
#include "thaw/quant/blocks/three_bits.h"
#include "thaw/quant/samples/memo_cache.h"

namespace thaw::quantizing::blocks {
namespace {

// Where the codes of a weight stand: beside the nodes that read it where those are of one graph, for which a runtime packs
// them ahead, else where it stands.
ir::Graph& home_of(const ir::Value& weight) {
  ir::Graph* home = weight.uses().empty() ? weight.graph() : weight.uses().front().node->graph();
  const bool is_one = std::ranges::all_of(weight.uses(), [&](ir::Use use) { return use.node->graph() == home; });
  return is_one ? *home : *weight.graph();
}

Method method_of(BlockMethod method, bool real_zeros) {
  if (real_zeros) return search_real;
  switch (method) {
    case BlockMethod::kRtn:
      return rtn;
    case BlockMethod::kHqq:
      return hqq;
    default:
      return search;
  }
}

BlockTensors make_new(const BlockOperand& operand, const BlockRequest& request, Layout layout) {
  WeightMatrix weight(*operand.tensor, operand.transposed, operand.gain, request.rows.scales);
  if (request.options.method == BlockMethod::kGptq && request.statistics) {
    const int64_t k = weight.k(), n = weight.n();
    return in_blocks(gptq(weight, request.format, *request.statistics), k, n, operand.transposed, request.format,
                     layout);
  }
  Importance importance;
  if (request.statistics && request.rows.by_importance)
    importance = importance_of(*request.statistics, request.rows.scales ? *request.rows.scales : std::vector<float>());
  if (!request.statistics && request.has_one_sided_inputs && request.options.method == BlockMethod::kSearch)
    importance = importance_of_one_sided(weight.k());
  // Awq has decided for all that read the same input.
  if (request.options.method == BlockMethod::kSearch && request.statistics && !importance.empty() &&
      !importance_serves(weight, request.format, *request.statistics, importance))
    importance = {};
  return in_blocks(std::move(weight), request.format, layout,
                   method_of(request.options.method, request.format.real_zeros), std::move(importance));
}

}  // namespace

WeightStore::Key WeightStore::key_of(const BlockOperand& operand, const BlockRequest& request) {
  const BlockFormat& f = request.format;
  return {operand.value,
          operand.transposed,
          f.bits,
          f.block,
          f.symmetric,
          f.real_zeros,
          f.scale_type,
          operand.gain,
          request.rows.scales.get(),
          request.rows.by_importance,
          request.options.method};
}

BlockTensors WeightStore::make(const BlockOperand& operand, const BlockRequest& request, Layout layout) const {
  const auto bytes_of = [](const std::vector<float>& numbers) { return std::as_bytes(std::span(numbers)); };
  const BlockFormat& f = request.format;
  MemoKey key("blocks", *operand.tensor);
  key.add(operand.transposed).add(operand.gain).add(layout).add(request.options.method).add(request.rows.by_importance);
  key.add(f.bits).add(f.block).add(f.symmetric).add(f.real_zeros).add(f.scale_type);
  key.add(request.has_one_sided_inputs);
  if (request.rows.scales) key.add(bytes_of(*request.rows.scales));
  if (known_ && request.statistics) {
    const Importance importance = importance_of(*request.statistics);
    key.add(bytes_of(importance.squares)).add(bytes_of(importance.means)).add(request.statistics->has_products());
  }
  std::vector<ir::Tensor> made = memoized(known_, key, [&] {
    BlockTensors now = make_new(operand, request, layout);
    std::vector<ir::Tensor> tensors{std::move(now.codes), std::move(now.scales)};
    if (now.zeros) tensors.push_back(std::move(*now.zeros));
    return tensors;
  });
  BlockTensors tensors{std::move(made[0]), std::move(made[1]), {}};
  if (made.size() > 2) tensors.zeros = std::move(made[2]);
  return tensors;
}

WeightStore::Listed WeightStore::list(const BlockTensors& tensors, Layout layout, const BlockOperand& operand,
                                      const BlockFormat& format, rewrite::Patch& patch) {
  ir::Graph& graph = home_of(*operand.value);
  const AllDims dims = dims_of(operand.k(), operand.n(), operand.transposed, format, layout);
  const auto add = [&](ir::Tensor tensor, const std::vector<int64_t>& size, const std::string& ending) {
    tensor.name = graph.unique_name(operand.value->name() + ending);
    if (!size.empty()) tensor.dims = size;
    return graph.add_initializer(std::move(tensor));
  };
  Listed listed;
  const bool is_of_three = format.bits == 3;
  listed.codes =
      add(tensors.codes, is_of_three ? std::vector<int64_t>() : dims.codes, fmt::format("_Q{}", format.bits));
  listed.scales = add(tensors.scales, dims.scales, "_scales");
  if (tensors.zeros) listed.zeros = add(*tensors.zeros, dims.zeros, "_zero_points");
  if (!is_of_three) return listed;
  // Before all that may come to read them.
  const ops::Emit first = patch.before(graph.nodes().front());
  const bool are_single = layout == Layout::kAsStored;
  listed.codes =
      are_single ? single_codes(first, listed.codes, dims.codes) : pairs_of_codes(first, listed.codes, dims.codes);
  if (format.symmetric) listed.zeros = are_single ? middle_codes(first, dims.zeros) : middle_pairs(first, dims.zeros);
  return listed;
}

const WeightStore::Listed& WeightStore::for_product(const BlockOperand& operand, const BlockRequest& request,
                                                    rewrite::Patch& patch) {
  Entry& entry = entries_[key_of(operand, request)];
  if (!entry.tensors) entry.tensors = std::make_shared<BlockTensors>(make(operand, request, Layout::kColumns));
  if (entry.product) return entry.product;
  entry.product = list(*entry.tensors, Layout::kColumns, operand, request.format, patch);
  if (!entry.lookup) return entry.product;
  const AllDims dims = dims_of(operand.k(), operand.n(), true, request.format, Layout::kTable);
  const auto reshaped = [&](ir::Value*& old, ir::Value* now, const std::vector<int64_t>& size) {
    if (!old) return;
    ir::Node* reader = old->uses().begin()->node;
    patch.replace(old, patch.before(reader).reshape(now, patch.before(reader).list(size)));
    if (old->constant()) old->graph()->remove_initializer(old);
    old = nullptr;
  };
  reshaped(entry.lookup.zeros, entry.product.zeros, dims.zeros);
  reshaped(entry.lookup.scales, entry.product.scales, dims.scales);
  reshaped(entry.lookup.codes, entry.product.codes, dims.codes);
  return entry.product;
}

WeightStore::Entry& WeightStore::entry_for_lookup(const BlockOperand& operand, const BlockRequest& request) {
  const Key own = key_of(operand, request);
  // A product's codes serve, whatever method they are of, and save a second tensor.
  for (auto at = entries_.lower_bound({operand.value, false, 0, 0, false, false, {}, 0, nullptr, false, {}});
       at != entries_.end() && std::get<0>(at->first) == operand.value; ++at) {
    Key other = at->first;
    std::get<BlockMethod>(other) = std::get<BlockMethod>(own);
    if (other == own && at->second.tensors) return at->second;
  }
  return entries_[own];
}

WeightStore::Listed WeightStore::for_lookup(const BlockOperand& operand, const BlockRequest& request,
                                            rewrite::Patch& patch, const ops::Emit& at) {
  const bool fits = operand.k() % request.format.block == 0;  // else the bytes are not those of a product
  Entry own;
  Entry& entry = fits ? entry_for_lookup(operand, request) : own;
  if (!entry.tensors) entry.tensors = std::make_shared<BlockTensors>(make(operand, request, Layout::kTable));
  Listed listed = entry.lookup;
  if (entry.product) {
    const AllDims dims = dims_of(operand.k(), operand.n(), true, request.format, Layout::kTable);
    listed.codes = at.reshape(entry.product.codes, at.list(dims.codes));
    listed.scales = at.reshape(entry.product.scales, at.list(dims.scales));
    if (entry.product.zeros) listed.zeros = at.reshape(entry.product.zeros, at.list(dims.zeros));
  } else if (!listed) {
    listed = entry.lookup = list(*entry.tensors, Layout::kTable, operand, request.format, patch);
  }
  return listed;
}

const WeightStore::Listed& WeightStore::as_stored(const BlockOperand& operand, const BlockRequest& request,
                                                  rewrite::Patch& patch) {
  Entry& entry = entries_[key_of(operand, request)];
  if (!entry.stored) {
    entry.tensors = std::make_shared<BlockTensors>(make(operand, request, Layout::kAsStored));
    entry.stored = list(*entry.tensors, Layout::kAsStored, operand, request.format, patch);
  }
  return entry.stored;
}

}  // namespace thaw::quantizing::blocks
