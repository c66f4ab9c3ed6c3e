// Writes the values of a Weight: read, merged, transposed and rounded in blocks, on all processors. Internal to model/.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thaw/ir/data/widened_source.h"
#include "thaw/model/weight.h"

namespace thaw::model {

class WeightSource : public ir::WidenedSource {
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
  // Of rows of tensors of one type, in float32.
  std::optional<Narrow> narrow() const override;

 private:
  std::span<const std::byte> stored_rows(const Weight::Part& part, int64_t row, int64_t rows) const;
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
