// A weight times factors, as float32, made on its way into the file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "thaw/ir/data/tensor.h"

namespace thaw::quantizing::int8 {

// Element e times factors[e / inner % factors.size()].
ir::Tensor scaled(const ir::Tensor& weight, std::string name, std::vector<float> factors, int64_t inner);

// The largest magnitude among elements e of each position e / inner % positions.
std::vector<double> largest_of(const ir::Tensor& weight, int64_t positions, int64_t inner);

}  // namespace thaw::quantizing::int8
