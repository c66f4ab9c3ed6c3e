#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "thaw/core/half_float.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <cstring>

#include <hwy/highway.h>

#include "thaw/core/half_float.h"

// IEEE 754 binary16 and bfloat16 by integer arithmetic on 32-bit lanes: exact, and the same on every processor.
HWY_BEFORE_NAMESPACE();
namespace thaw::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DU32 = hn::ScalableTag<uint32_t>;
using DF32 = hn::Rebind<float, DU32>;
using DI32 = hn::Rebind<int32_t, DU32>;
using DU16 = hn::Rebind<uint16_t, DU32>;
using U32 = hn::Vec<DU32>;

constexpr uint32_t kInfinity = 0x7f800000U;

struct Bfloat16 {
  static constexpr uint32_t kInfinityBits = 0x7f80U;
  static U32 to_float(U32 bits) { return hn::ShiftLeft<16>(bits); }
  static U32 from_float(U32 bits) {
    const DU32 d;
    const U32 odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1));
    const U32 rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(d, 0x7fff))));
    const U32 nan = hn::Or(hn::ShiftRight<16>(bits), hn::Set(d, 0x40));
    const U32 magnitude = hn::And(bits, hn::Set(d, 0x7fffffff));
    return hn::IfThenElse(hn::Gt(magnitude, hn::Set(d, kInfinity)), nan, rounded);
  }
};

struct Float16 {
  static constexpr uint32_t kInfinityBits = 0x7c00U;
  static U32 to_float(U32 bits) {
    const DU32 d;
    const DF32 df;
    const U32 sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(d, 0x8000)));
    const U32 rest = hn::And(bits, hn::Set(d, 0x7fff));
    const U32 shifted = hn::ShiftLeft<13>(rest);
    // Normal numbers: the exponent moves from bias 15 to 127. Subnormal ones: their value is rest * 2^-24.
    const U32 normal = hn::Add(shifted, hn::Set(d, uint32_t{112} << 23));
    const auto whole = hn::ConvertTo(df, hn::BitCast(DI32(), rest));
    const U32 subnormal = hn::BitCast(d, hn::Mul(whole, hn::Set(df, 0x1p-24F)));
    const U32 special = hn::Or(shifted, hn::Set(d, kInfinity));
    const U32 magnitude = hn::IfThenElse(hn::Lt(rest, hn::Set(d, 0x0400)), subnormal,
                                         hn::IfThenElse(hn::Gt(rest, hn::Set(d, kInfinityBits - 1)), special, normal));
    return hn::Or(magnitude, sign);
  }
  static U32 from_float(U32 bits) {
    const DU32 d;
    const DF32 df;
    const U32 sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 0x8000));
    const U32 rest = hn::And(bits, hn::Set(d, 0x7fffffff));
    // Adding 0.5 to a number below 2^-14 leaves its nearest multiple of 2^-24 in the low bits of the sum.
    const auto sum = hn::Add(hn::BitCast(df, rest), hn::Set(df, 0.5F));
    const U32 subnormal = hn::Sub(hn::BitCast(d, sum), hn::Set(d, 0x3f000000));
    const U32 odd = hn::And(hn::ShiftRight<13>(rest), hn::Set(d, 1));
    const U32 rebased = hn::Sub(rest, hn::Set(d, uint32_t{112} << 23));
    const U32 normal = hn::ShiftRight<13>(hn::Add(rebased, hn::Add(odd, hn::Set(d, 0xfff))));
    U32 half = hn::IfThenElse(hn::Lt(rest, hn::Set(d, 0x38800000)), subnormal, normal);
    half = hn::IfThenElse(hn::Gt(rest, hn::Set(d, 0x477fefff)), hn::Set(d, kInfinityBits), half);
    half = hn::IfThenElse(hn::Gt(rest, hn::Set(d, kInfinity)), hn::Set(d, 0x7e00), half);
    return hn::Or(half, sign);
  }
};

template <typename Type>
void widen(const uint16_t* from, float* to, size_t count) {
  const DU32 d;
  const size_t lanes = hn::Lanes(d);
  const auto step = [&](const uint16_t* in, float* out) {
    hn::StoreU(hn::BitCast(DF32(), Type::to_float(hn::PromoteTo(d, hn::LoadU(DU16(), in)))), DF32(), out);
  };
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) step(from + i, to + i);
  if (i == count) return;
  HWY_ALIGN uint16_t in[HWY_LANES(uint32_t)] = {};
  HWY_ALIGN float out[HWY_LANES(uint32_t)];
  std::memcpy(in, from + i, (count - i) * sizeof(*in));
  step(in, out);
  std::memcpy(to + i, out, (count - i) * sizeof(*out));
}

// Returns false if a finite number became infinite.
template <typename Type>
bool narrow(const float* from, uint16_t* to, size_t count) {
  const DU32 d;
  const size_t lanes = hn::Lanes(d);
  U32 lost = hn::Zero(d);
  const auto step = [&](const float* in, uint16_t* out) {
    const U32 bits = hn::BitCast(d, hn::LoadU(DF32(), in));
    const U32 narrowed = Type::from_float(bits);
    const auto infinite = hn::Eq(hn::And(narrowed, hn::Set(d, 0x7fff)), hn::Set(d, Type::kInfinityBits));
    const auto was_finite = hn::Lt(hn::And(bits, hn::Set(d, 0x7fffffff)), hn::Set(d, kInfinity));
    lost = hn::Or(lost, hn::VecFromMask(d, hn::And(infinite, was_finite)));
    hn::StoreU(hn::DemoteTo(DU16(), hn::BitCast(DI32(), narrowed)), DU16(), out);
  };
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) step(from + i, to + i);
  if (i < count) {
    HWY_ALIGN float in[HWY_LANES(uint32_t)] = {};
    HWY_ALIGN uint16_t out[HWY_LANES(uint32_t)];
    std::memcpy(in, from + i, (count - i) * sizeof(*in));
    step(in, out);
    std::memcpy(to + i, out, (count - i) * sizeof(*out));
  }
  return hn::AllTrue(d, hn::Eq(lost, hn::Zero(d)));
}

void widen_half(const uint16_t* from, float* to, size_t count) { widen<Float16>(from, to, count); }
void widen_bfloat(const uint16_t* from, float* to, size_t count) { widen<Bfloat16>(from, to, count); }
bool narrow_half(const float* from, uint16_t* to, size_t count) { return narrow<Float16>(from, to, count); }
bool narrow_bfloat(const float* from, uint16_t* to, size_t count) { return narrow<Bfloat16>(from, to, count); }

}  // namespace thaw::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thaw {

HWY_EXPORT(widen_half);
HWY_EXPORT(widen_bfloat);
HWY_EXPORT(narrow_half);
HWY_EXPORT(narrow_bfloat);

// Vector loads take any address.
void widen_float16(const std::byte* from, std::span<float> to) {
  HWY_DYNAMIC_DISPATCH(widen_half)(reinterpret_cast<const uint16_t*>(from), to.data(), to.size());
}

void widen_bfloat16(const std::byte* from, std::span<float> to) {
  HWY_DYNAMIC_DISPATCH(widen_bfloat)(reinterpret_cast<const uint16_t*>(from), to.data(), to.size());
}

bool narrow_to_float16(std::span<const float> from, std::byte* to) {
  return HWY_DYNAMIC_DISPATCH(narrow_half)(from.data(), reinterpret_cast<uint16_t*>(to), from.size());
}

bool narrow_to_bfloat16(std::span<const float> from, std::byte* to) {
  return HWY_DYNAMIC_DISPATCH(narrow_bfloat)(from.data(), reinterpret_cast<uint16_t*>(to), from.size());
}

}  // namespace thaw
#endif
