#include "thaw/lift/recurrence/unrolled_body.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "thaw/lift/align/constant_operand.h"
#include "thaw/lift/align/same_node.h"
#include "thaw/lift/align/slice.h"
#include "thaw/lift/recurrence/piece.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/small_tensor.h"

namespace thaw::lifting {
namespace {

struct CannotFold {
  std::string why;
};

struct StepPlace {
  size_t strand;
  int64_t step;
};

class BodyFolding {
 public:
  BodyFolding(const Strands& strands, const infer::Result& facts) : strands_(strands), facts_(facts) {
    first_ = strands.front().first;
    end_ = whole_end_ = strands.front().end();
    for (const Strand& strand : strands) {
      first_ = std::max(first_, strand.first);
      end_ = std::max(end_, strand.end());
      whole_end_ = std::min(whole_end_, strand.end());
    }
    if (whole_end_ - first_ < 2) throw CannotFold{"its steps are not the same program"};
    // What the first steps lack, the others need: those stay as they are.
    for (size_t i = 0; i < strands.size(); ++i)
      for (int64_t step = first_; step < strands[i].end(); ++step) places_[strands[i].at(step)] = {i, step};
  }

  UnrolledBody fold() {
    body_.first = first_;
    body_.count = end_ - first_;
    body_.model_step = whole_end_ - 1;
    kinds_.resize(strands_.size(), Kind::kMade);
    feeds_of_.resize(strands_.size());
    for (size_t i = 0; i < strands_.size(); ++i) kinds_[i] = kind_of(i);
    for (size_t i = 0; i < strands_.size(); ++i) {
      if (kinds_[i] != Kind::kMade) continue;
      body_.nodes.push_back(i);
      auto& reads = body_.reads.emplace_back();
      for (int input = 0; input < static_cast<int>(model(i)->inputs().size()); ++input)
        reads.push_back(read_of(i, input));
    }
    if (body_.states.empty()) throw CannotFold{"it carries no state from step to step"};
    require_counted();
    for (const size_t strand : body_.nodes)
      for (int output = 0; output < static_cast<int>(model(strand)->outputs().size()); ++output)
        if (model(strand)->output(output)) note_results(strand, output);
    return std::move(body_);
  }

 private:
  // What becomes of a strand: the same in every step, a feed, or a node of the body.
  enum class Kind : uint8_t { kOuter, kFed, kMade };

  // How many steps there are follows from what they are fed.
  void require_counted() {
    const auto counts = [](const BodyFeed& feed) { return feed.whole || !is_fixed(feed.each.front()); };
    const auto is_whole = [&](const BodyFeed& feed) {
      const int64_t far = feed.begin + (body_.count - 1) * feed.step;
      return !feed.whole || (std::min(feed.begin, far) == 0 && std::max(feed.begin, far) + feed.length == feed.size);
    };
    const auto lies_close = [](const BodyFeed& feed) { return feed.whole && std::abs(feed.step) == feed.length; };
    if (std::ranges::none_of(body_.feeds, counts))
      throw CannotFold{"nothing that it reads has as many pieces as it has steps"};
    body_.may_be_empty =
        std::ranges::none_of(body_.feeds, [&](const BodyFeed& feed) { return counts(feed) && is_whole(feed); });
    if (body_.may_be_empty && !std::ranges::all_of(body_.feeds, lies_close))
      throw CannotFold{"it does not begin with the first of what it reads"};
  }

  ir::Node* model(size_t strand) const { return strands_[strand].at(body_.model_step); }

  std::vector<ir::Value*> operands(size_t strand, int input) const {
    std::vector<ir::Value*> values;
    for (int64_t step = first_; step < strands_[strand].end(); ++step)
      values.push_back(strands_[strand].at(step)->input(input));
    return values;
  }

  const StepPlace* place_of(const ir::Value* value) const {
    const auto found = value ? places_.find(value->producer()) : places_.end();
    return found == places_.end() ? nullptr : &found->second;
  }

  static bool is_fixed(const ir::Value* value) { return value && !value->is_input() && value->constant(); }

  static bool same_value(const ir::Value* a, const ir::Value* b) {
    return a == b || (is_fixed(a) && is_fixed(b) && same_tensor(*a->constant(), *b->constant()));
  }

  // The value that all steps read, where it is one.
  ir::Value* outer_of(size_t strand, int input) const {
    const std::vector<ir::Value*> values = operands(strand, input);
    const auto same = [&](const ir::Value* value) { return same_value(value, values.front()); };
    const StepPlace* place = place_of(values.front());
    if (std::ranges::all_of(values, same)) {
      if (place && kinds_[place->strand] != Kind::kOuter) return nullptr;
      return values.front();
    }
    if (!place || kinds_[place->strand] != Kind::kOuter) return nullptr;
    // Each step makes it for itself.
    for (const ir::Value* value : values) {
      const StepPlace* other = place_of(value);
      if (!other || other->strand != place->strand || value->producer_index() != values.front()->producer_index())
        return nullptr;
    }
    return strands_[place->strand].at(first_)->output(values.front()->producer_index());
  }

  // What draws numbers draws others in each step.
  static bool is_deterministic(const ir::Node& node) {
    const ops::Operator* op = ops::registry().find(node);
    return op && op->deterministic;
  }

  Kind kind_of(size_t strand) {
    bool all = true;
    for (int input = 0; input < static_cast<int>(model(strand)->inputs().size()); ++input) {
      if (!model(strand)->input(input) || outer_of(strand, input)) continue;
      all = false;
    }
    if (all && is_deterministic(*model(strand))) return Kind::kOuter;
    if (model(strand)->outputs().size() != 1 || !model(strand)->input(0) || !outer_of(strand, 0)) return Kind::kMade;
    std::vector<ir::Value*> pieces;
    for (int64_t step = first_; step < strands_[strand].end(); ++step)
      pieces.push_back(strands_[strand].at(step)->output(0));
    feeds_of_[strand] = feed_of_pieces(pieces, outer_of(strand, 0));
    return feeds_of_[strand] ? Kind::kFed : Kind::kMade;
  }

  // Pieces at places that go on by the same step; where some of the last steps have none, theirs must be there too.
  std::optional<BodyFeed> feed_of_pieces(const std::vector<ir::Value*>& values, ir::Value* whole) const {
    std::vector<Piece> pieces;
    for (const ir::Value* value : values) {
      const auto piece = piece_of(*value, facts_);
      if (!piece) return std::nullopt;
      pieces.push_back(*piece);
    }
    const Piece& one = pieces.front();
    const int64_t step = pieces[1].begin - one.begin;
    for (size_t i = 0; i < pieces.size(); ++i) {
      if (pieces[i].begin != one.begin + static_cast<int64_t>(i) * step || pieces[i].length != one.length ||
          pieces[i].axis != one.axis || pieces[i].size != one.size || pieces[i].keeps_axis != one.keeps_axis)
        return std::nullopt;
    }
    const int64_t last = one.begin + (end_ - first_ - 1) * step;
    if (step == 0 || last < 0 || last + one.length > one.size) return std::nullopt;
    return BodyFeed{.whole = whole,
                    .axis = one.axis,
                    .size = one.size,
                    .begin = one.begin,
                    .step = step,
                    .length = one.length,
                    .keeps_axis = one.keeps_axis,
                    .each = {}};
  }

  size_t add_feed(BodyFeed feed) {
    const auto known = std::ranges::find(body_.feeds, feed);
    if (known != body_.feeds.end()) return static_cast<size_t>(known - body_.feeds.begin());
    body_.feeds.push_back(std::move(feed));
    return body_.feeds.size() - 1;
  }

  size_t add_state(const BodyRead& next, ir::Value* initial) {
    for (size_t i = 0; i < body_.states.size(); ++i)
      if (body_.states[i].next == next && same_value(body_.states[i].initial, initial)) return i;
    body_.states.push_back({next, initial});
    return body_.states.size() - 1;
  }

  [[noreturn]] void refuse(size_t strand, int input, const std::string& why) const {
    throw CannotFold{fmt::format("operand {} of {} {}", input, model(strand)->describe(), why)};
  }

  void require_one_shape(size_t strand, int input, const std::vector<ir::Value*>& values) const {
    const ops::Fact& model = facts_.fact(values.front());
    const auto shape = ops::constant_shape(model.shape);
    for (const ir::Value* value : values) {
      const ops::Fact& fact = facts_.fact(value);
      if (!shape || fact.dtype == ir::DataType::kUndefined || fact.dtype != model.dtype ||
          ops::constant_shape(fact.shape) != shape)
        refuse(strand, input, "has not the same sizes in each step");
    }
  }

  BodyRead read_of(size_t strand, int input) {
    if (!model(strand)->input(input)) return {};
    if (ir::Value* outer = outer_of(strand, input)) return {.kind = BodyRead::Kind::kOuter, .outer = outer};
    const std::vector<ir::Value*> values = operands(strand, input);
    require_one_shape(strand, input, values);
    if (const StepPlace* place = place_of(model(strand)->input(input))) return read_made(strand, input, values, *place);
    return {.kind = BodyRead::Kind::kFed, .index = add_feed(feed_of_values(strand, input, values))};
  }

  // What a step made, this one or one before it.
  BodyRead read_made(size_t strand, int input, const std::vector<ir::Value*>& values, const StepPlace& place) {
    const int64_t distance = body_.model_step - place.step;
    const int output = model(strand)->input(input)->producer_index();
    if (distance < 0) refuse(strand, input, "is made in a later step");
    std::vector<ir::Value*> initial;
    for (size_t i = 0; i < values.size(); ++i) {
      const int64_t made = first_ + static_cast<int64_t>(i) - distance;
      if (made >= first_) {
        const Strand& maker = strands_[place.strand];
        if (made >= maker.end() || values[i] != maker.at(made)->output(output))
          refuse(strand, input, "is not made in the same way in each step");
      } else if (place_of(values[i])) {
        refuse(strand, input, "is something else in the first steps");
      } else {
        initial.push_back(values[i]);
      }
    }
    BodyRead read = made_in_step(place.strand, output);
    for (size_t i = initial.size(); i-- > 0;)
      read = {.kind = BodyRead::Kind::kState, .index = add_state(read, initial[i])};
    return read;
  }

  BodyRead made_in_step(size_t strand, int output) {
    if (kinds_[strand] == Kind::kFed) return {.kind = BodyRead::Kind::kFed, .index = add_feed(*feeds_of_[strand])};
    if (kinds_[strand] == Kind::kOuter)
      return {.kind = BodyRead::Kind::kOuter, .outer = strands_[strand].at(first_)->output(output)};
    return {.kind = BodyRead::Kind::kMade, .index = strand, .output = output};
  }

  // Pieces of a Split, integers, or what something else made for each step.
  BodyFeed feed_of_values(size_t strand, int input, const std::vector<ir::Value*>& values) const {
    if (strands_[strand].end() != end_) refuse(strand, input, "is not there in the last step");
    for (const ir::Value* value : values)
      if (!value || place_of(value)) refuse(strand, input, "is made in some steps only");
    ir::Node* maker = values.front()->producer();
    const bool of_one = maker && !maker->constant() &&
                        std::ranges::all_of(values, [&](const ir::Value* value) { return value->producer() == maker; });
    if (of_one)
      if (auto feed = feed_of_pieces(values, maker->input(0))) return *feed;
    const bool any_fixed = std::ranges::any_of(values, is_fixed), all_fixed = std::ranges::all_of(values, is_fixed);
    if (any_fixed && !all_fixed) refuse(strand, input, "is a constant in some steps only");
    return {.each = values};
  }

  void note_results(size_t strand, int output) {
    struct Read {
      int input;
      int64_t step;
    };
    std::map<uint64_t, std::pair<ir::Node*, std::vector<Read>>> readers;  // by their place
    const Strand& made = strands_[strand];
    BodyResult result{.strand = strand, .output = output};
    const int64_t last = made.end() - 1;
    std::vector<ir::Value*> values;
    for (int64_t step = first_; step <= last; ++step) {
      ir::Value* value = made.at(step)->output(output);
      values.push_back(value);
      for (const ir::Use& use : value->uses()) {
        const auto user = places_.find(use.node);
        if (user != places_.end() && kinds_[user->second.strand] == Kind::kMade) continue;
        if (use.node->graph() != made.at(step)->graph()) {
          if (step != last) refuse_middle(*made.at(step), use.node->describe());
          result.last = value;
          continue;
        }
        auto& reader = readers[ir::Graph::position_of(use.node)];
        reader.first = use.node;
        reader.second.push_back({use.index, step});
      }
      if (!value->graph()->returned_by(value).empty() || (value->is_output() && step != last))
        refuse_middle(*made.at(step), "an output");
      if (value->is_output()) result.last = value;
    }
    for (auto& [place, reader] : readers) {
      auto& [node, reads] = reader;
      std::ranges::sort(reads, {}, &Read::input);
      if (std::ranges::all_of(reads, [&](const Read& read) { return read.step == last; })) {
        result.last = made.at(last)->output(output);
        continue;
      }
      const bool backwards = reads.front().step == end_ - 1;
      const bool is_join = joins_pieces(*node) && last == end_ - 1 && static_cast<int64_t>(reads.size()) == body_.count;
      for (size_t i = 0; i < reads.size(); ++i) {
        const int64_t step = backwards ? end_ - 1 - static_cast<int64_t>(i) : first_ + static_cast<int64_t>(i);
        if (!is_join || reads[i].step != step || reads[i].input != reads.front().input + static_cast<int>(i))
          refuse_middle(*made.at(reads[i].step), node->describe());
      }
      const auto rank = static_cast<int64_t>(
          ops::constant_shape(facts_.fact(values.front()).shape).value_or(ops::ConstantShape()).size());
      const int64_t axis = node->attribute_int("axis", 0);
      result.joins.push_back({node, reads.front().input, backwards, axis < 0 ? axis + rank : axis});
    }
    if (!result.last && result.joins.empty()) return;
    const auto shape = ops::constant_shape(facts_.fact(values.front()).shape);
    for (const ir::Value* value : values)
      if (!shape || facts_.fact(value).dtype == ir::DataType::kUndefined ||
          ops::constant_shape(facts_.fact(value).shape) != shape)
        throw CannotFold{fmt::format("what {} makes has not the same sizes in each step", model(strand)->describe())};
    result.steps_before_last = end_ - made.end();
    body_.results.push_back(std::move(result));
  }

  [[noreturn]] void refuse_middle(const ir::Node& node, const std::string& by) const {
    throw CannotFold{fmt::format("what {} makes in one step is read by {}", node.describe(), by)};
  }

  const Strands& strands_;
  const infer::Result& facts_;
  int64_t first_ = 0, end_ = 0, whole_end_ = 0;
  std::unordered_map<const ir::Node*, StepPlace> places_;
  std::vector<Kind> kinds_;
  std::vector<std::optional<BodyFeed>> feeds_of_;
  UnrolledBody body_;
};

}  // namespace

std::optional<UnrolledBody> fold_steps(const Strands& strands, const infer::Result& facts, std::string& why) {
  try {
    return BodyFolding(strands, facts).fold();
  } catch (const CannotFold& reason) {
    why = reason.why;
    return std::nullopt;
  }
}

}  // namespace thaw::lifting
