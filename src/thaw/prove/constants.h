// Constants as terms: those that models hold, by their bytes, and those that follow from them, in float64.
//
// A model may hold what another one computes: a batch normalization that went into a weight. A number that was computed
// here is the same as one that is near it: within as many roundings as the computation has steps, of the size of what was
// added up. Two numbers that were read are the same where their bytes are.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "thaw/prove/term.h"

namespace thaw::proving {

// Numbers of a constant in float64.
struct Numbers {
  std::vector<int64_t> dims;
  std::vector<double> values, magnitude;
  int roundings = 0;
};

// A constant that was taken for another one, which it equals but for rounding.
struct Rounded {
  ir::DataType dtype = ir::DataType::kUndefined;
  std::vector<int64_t> dims;
  double steps = 0;  // of the type (ulp), of the size of what was added up: by how many the farthest element differs
  double bound = 0;  // by how many it may, by the roundings on both sides

  bool operator==(const Rounded&) const = default;
};

class Constants {
 public:
  explicit Constants(Terms& terms) : terms_(terms) {}

  // Says which large tensors the two models hold, before any is read. Where both hold those of as many bytes at the same places, each
  // is told apart by its place: its bytes are read where a law needs them alone.
  void look_at(const ir::Graph& graph, size_t model);
  // A tensor of a model. One whose elements are all the same number is that number, expanded.
  TermId read(const ir::Tensor& tensor);
  // Integers and truth values that are expressions of the sizes; a row-major element for each of `dims`.
  TermId sizes(ir::DataType type, std::vector<int64_t> dims, std::vector<dim::Dim> elements);
  TermId computed(ir::DataType type, Numbers numbers);

  // The scalar 1, of which sums count so many.
  TermId one(ir::DataType type);
  // The number that is taken for `value`: itself, or one that was there before and is as good as equal.
  double number(double value, ir::DataType type, bool is_read = false);

  // Of floating-point constants of at most kMostElements elements; nullopt for all else.
  std::optional<Numbers> numbers(TermId id) const;
  // Elements of a constant in other places: element i of the result is element source[i]. nullopt where it is no constant.
  std::optional<TermId> moved(TermId id, std::vector<int64_t> dims,
                              const std::function<std::vector<int64_t>()>& source);
  // A constant with size 1 along the axes that it is repeated along; all else as it is.
  TermId unrepeated(TermId id);
  // Constants put one after the other along an axis of their shapes; nullopt where one is none.
  std::optional<TermId> joined(std::span<const TermId> parts, size_t axis);
  bool is_constant(TermId id) const { return terms_[id].kind == Term::Kind::kConstant; }

  // Those that were taken for others that they do not equal, as they came.
  const std::vector<Rounded>& rounded() const { return rounded_; }
  double most_steps() const;
  // Whether its numbers are known but for rounding: they were computed here, or another was taken for it or for what it was made of.
  bool is_taken(TermId id) const;
  // Says that numbers are those of another, moved or converted.
  TermId made_of(TermId from, TermId made) {
    if (made != from) made_of_[made].insert(from);
    return made;
  }
  // Says that a number which was taken for 1 is no longer in front of a term.
  void take(TermId id) { taken_.insert(id); }
  bool is_taken(double number, ir::DataType type) const { return taken_numbers_.contains({type, number}); }
  // Says that the numbers of a constant count to the last bit.
  void count_exactly(TermId id) { exact_.insert(id); }
  bool has_taken_exact() const {
    return std::ranges::any_of(exact_, [&](TermId id) { return is_taken(id); });
  }

  static constexpr int64_t kMostElements = int64_t{1} << 24;
  static constexpr int64_t kMostRead = int64_t{1} << 27;  // elements, of all as numbers: beyond, none is

 private:
  bool is_known_by_place(const ir::Tensor& tensor);
  TermId exact(ir::Tensor tensor);
  TermId expanded(TermId scalar, const std::vector<int64_t>& dims);
  std::optional<TermId> nearest(const std::string& bucket, ir::DataType type, const Numbers& wanted, bool is_read);
  struct Held {
    std::vector<TermId> read, computed;
  };
  struct Scalars {
    std::set<double> read, computed;
  };
  using Place = std::tuple<const std::byte*, ir::DataType, std::vector<int64_t>>;
  struct Places {
    std::array<std::set<Place>, 2> of;  // each model
    std::optional<bool> are_same = {};
  };

  Terms& terms_;
  std::map<std::string, Held> held_;  // by type and dims
  std::map<ir::DataType, Scalars> scalars_;
  std::map<size_t, Places> large_;  // by how many bytes
  std::unordered_map<TermId, TermId> unrepeated_;
  std::vector<Rounded> rounded_;
  std::set<TermId> taken_, exact_;
  std::unordered_map<TermId, std::set<TermId>> made_of_;
  std::set<std::pair<ir::DataType, double>> taken_numbers_;
  mutable int64_t left_ = kMostRead;
};

// Half the distance of 1 to the next number of the type.
double rounding_of(ir::DataType type);
// The smallest number above 0 that has all digits of the type. What is less is rounded as far as it.
double least_normal_of(ir::DataType type);
bool is_real(ir::DataType type);  // floating-point of 16 bits and more

}  // namespace thaw::proving
