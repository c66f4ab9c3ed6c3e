// What the methods that need samples spend their time with. Internal to quant/blocks/.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thaw::quantizing::blocks {

// to[l] = sum over i of factors[i] * rows[i * kLanes + l], of kLanes lanes.
void combine(const double* factors, const double* rows, size_t count, double* to);

// to[j] += sum over i of factors[i] * rows[i * stride + j], for j below count.
void add_scaled_rows(const float* rows, size_t num_rows, size_t stride, const float* factors, float* to, size_t count);

// later[j * lanes + l] -= sum over i of factors[i * stride + j] * errors[i * lanes + l], of kLanes lanes.
void take_off(const float* errors, size_t num_errors, const float* factors, size_t stride, float* later, size_t count);

}  // namespace thaw::quantizing::blocks
