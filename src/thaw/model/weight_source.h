// Writes the values of a Weight: read, merged, transposed and rounded in blocks, on all processors. Internal to model/.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "thaw/ir/data/tensor_source.h"
#include "thaw/model/weight.h"

namespace thaw::model {

class WeightSource : public ir::TensorSource {
 public:
  // The rows of the parts one below the other, [rows, columns]; transposed: written as [columns, rows].
  WeightSource(std::string name, std::vector<Weight::Part> parts, int64_t rows, int64_t columns, bool transposed,
               ir::DataType type)
      : name_(std::move(name)),
        parts_(std::move(parts)),
        rows_(rows),
        columns_(columns),
        transposed_(transposed),
        type_(type) {}

  void write(const Sink& sink) const override;

 private:
  void write_rows(const Weight::Part& part, const Sink& sink) const;
  void write_columns(const Sink& sink) const;
  void pass_on(std::span<const float> values, std::vector<std::byte>& bytes, const Sink& sink) const;

  std::string name_;
  std::vector<Weight::Part> parts_;
  int64_t rows_, columns_;
  bool transposed_;
  ir::DataType type_;
};

}  // namespace thaw::model
