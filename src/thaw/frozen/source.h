// Following a frozen size back to the constants that it comes from.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "thaw/frozen/frozen.h"

namespace thaw::frozen {

struct Source {
  const ir::Value* constant = nullptr;  // null: the number stands in an attribute of `node`
  const ir::Node* node = nullptr;       // the node that reads the constant, or has the attribute
  FrozenRole role = FrozenRole::kTable;
  std::string attribute = {};  // kAttribute: its name
  int64_t number = 0;          // that was asked for there
  dim::Dim expression = {};    // that belongs in its place, where it was followed; else unknown
  int at = -1;                 // kTable: the constant's axis; of a shape: the operand's element; -1: not followed
};

class SourceTracer {
 public:
  // Without the model nothing is followed by axis.
  explicit SourceTracer(const infer::Result& result, const ir::Model* model = nullptr)
      : result_(result), model_(model) {}

  // The constants from which `value` (an operand of `reader`) has an axis of `size` elements.
  std::vector<Source> of_dim(const ir::Node& reader, const ir::Value& value, int64_t size);
  // The same of that axis alone, as far as the operators' entries say what becomes of axes.
  // `expression`: the size that belongs there, where it is followed too.
  std::vector<Source> of_axis(const ir::Node& reader, const ir::Value& value, int axis, int64_t size,
                              dim::Dim expression = {});
  // The constants from which the shape-like operand `value` of `reader` has an element of `number`; `at`: which one, where it is known.
  std::vector<Source> of_element(const ir::Node& reader, const ir::Value& value, int64_t number, int at = -1);
  // The tables that `value`, an index, is computed from.
  std::vector<Source> of_index(const ir::Node& reader, const ir::Value& value);

 private:
  enum class Question : uint8_t { kDim, kElement, kAnyElement, kIndex };
  struct Step {
    const ir::Node* reader;
    const ir::Value* value;
    int64_t number;
    Question question;
    // Of the value that the number is the size of; where it is asked for as an element, of the operand of the reader. -1: any.
    int axis = -1;
    dim::Dim expression = {};
  };

  // What a step asks, whoever reads it.
  struct Asked {
    const ir::Value* value;
    int64_t number;
    Question question;
    int axis;
    bool operator==(const Asked&) const = default;
  };
  struct AskedHash {
    size_t operator()(const Asked& asked) const {
      const size_t of_number = static_cast<size_t>(asked.number) * 4 + static_cast<size_t>(asked.question);
      return (std::hash<const void*>()(asked.value) * 1000003u + static_cast<size_t>(asked.axis + 1)) * 1000003u ^
             of_number;
    }
  };

  std::vector<Source> trace(Step first);
  void enqueue(const ir::Node& reader, const ir::Value* value, int64_t number, Question question, int axis = -1,
               dim::Dim expression = {});
  bool through_groups(const Step& step, const ir::Node& producer);
  void at_constant(const Step& step, const ir::Tensor& constant);
  void through_index(const ir::Node& producer);
  bool through_axis(const Step& step, const ir::Node& producer);
  void through_dim(const Step& step, const ir::Node& producer);
  void through_concat(const Step& step, const ir::Node& producer);
  void through_reshape(const Step& step, const ir::Node& producer);
  bool through_fixed_groups(const Step& step, const ir::Node& producer);
  bool has_source(const ir::Node& reader, const ir::Value& value, int64_t size);
  void through_gather(const Step& step, const ir::Node& producer);
  void through_element(const Step& step, const ir::Node& producer);
  bool has_constant_dim(const ir::Value* value, int64_t size) const;

  const infer::Result& result_;
  const ir::Model* model_;
  std::vector<Step> stack_;
  std::vector<Source> found_;
  std::unordered_set<Asked, AskedHash> seen_;
  std::map<std::pair<const ir::Value*, int64_t>, bool> has_source_;
  bool in_doubt_ = false;  // a size that a weight has is taken for the weight's, whatever else has it
};

}  // namespace thaw::frozen
