// Scales of weights, chosen once for all nodes that read a weight along one axis: shared and tied weights stay one tensor.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "thaw/quant/int8/chosen.h"
#include "thaw/quant/int8/coded_weight.h"

namespace thaw::quantizing::int8 {

class WeightChooser {
 public:
  // A bias in 32 bits has the scale of the data times the weight's: a channel whose weights are tiny beside its bias needs a
  // coarser one. To be called of every node before scales are asked for.
  void require_for_bias(const ChosenNode& node, float data_scale);

  // Reads the weight at the first call.
  const WeightScales& of(const WeightOperand& weight, const Int8Options& options);
  // Of a table: what a product that was asked about has, so that both read the same codes; else a scale for each row,
  // symmetric.
  const WeightScales& of_rows(const Lookup& lookup);

 private:
  using Key = std::tuple<const ir::Value*, int, int, int, bool>;  // axis, type, lowest code, whether it is symmetric
  static Key key_of(const WeightOperand& weight, const Int8Options& options);

  std::map<Key, std::vector<double>> least_;
  std::map<Key, WeightScales> scales_;
};

}  // namespace thaw::quantizing::int8
