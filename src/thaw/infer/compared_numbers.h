// Which numbers a model knows a setting by: a sample rate that it compares with 16000 and with 8000.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "thaw/infer/infer.h"

namespace thaw::infer {

// For each integer input of one element that reaches, through nodes that only move or convert elements, a comparison with
// a constant of one element: those constants, in the order of the file, each once. facts: of the same model.
std::map<std::string, std::vector<int64_t>> compared_numbers(const ir::Model& model, const Result& facts);

}  // namespace thaw::infer
