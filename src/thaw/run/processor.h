// What this processor computes otherwise than others do.
#pragma once

namespace thaw::run {

// Whether ONNX Runtime's CPU provider adds two products of uint8 and int8 in 16 bits, where they overflow: on x86 without VNNI
// (onnxruntime.ai/docs/performance/model-optimizations/quantization.html, "When and why do I need to try U8U8?").
bool overflows_in_8_bits();

}  // namespace thaw::run
