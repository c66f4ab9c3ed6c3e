#include "thaw/sensitivity/checked_split.h"

#include <set>
#include <string>
#include <vector>

#include "thaw/quant/samples/measured_model.h"
#include "thaw/sensitivity/whole_model.h"

namespace thaw::measuring {
namespace {

class SoundCutter {
 public:
  SoundCutter(const ir::Model& model, size_t sections, size_t samples, CachedArrays::Memory& memory,
              const Arrays& feeds)
      : model_(model), sections_(sections), samples_(samples), memory_(memory), feeds_(feeds) {}

  std::unique_ptr<Baseline> run() {
    std::vector<std::string> outputs;
    for (const ir::Value* output : model_.graph->outputs()) outputs.push_back(output->name());
    std::unique_ptr<Baseline> cut;
    const auto run_whole = [&] {
      whole_ =
          WholeModel(model_, outputs, quantizing::session_options(model_, WorkerSlots(samples_).threads())).run(feeds_);
    };
    const auto run_cut = [&] {
      cut = cut_at({});
      cut->keep(0, feeds_);
    };
    WorkerSlots(2).each(2, [&](size_t i) { i == 0 ? run_whole() : run_cut(); });
    if (is_as_whole(*cut)) return cut;
    // Each alone, and those together that change nothing.
    const size_t cuts = cut->cut().cuts();
    std::set<size_t> sound;
    for (size_t i = 0; i < cuts; ++i) {
      cut.reset();
      cut = cut_at({{i}});
      cut->keep(0, feeds_);
      if (is_as_whole(*cut)) sound.insert(i);
    }
    cut.reset();
    cut = cut_at({sound});
    cut->keep(0, feeds_);
    if (is_as_whole(*cut)) return cut;
    cut.reset();
    cut = cut_at({std::set<size_t>()});
    cut->keep(0, feeds_);
    return cut;
  }

 private:
  std::unique_ptr<Baseline> cut_at(const std::optional<std::set<size_t>>& cuts) {
    return std::make_unique<Baseline>(ir::clone(model_), sections_, samples_, memory_, cuts);
  }

  bool is_as_whole(Baseline& cut) const {
    for (const auto& [name, array] : whole_) {
      if (!cut.cut().kept().has(0, name)) continue;  // an input, or from constants alone
      const Array got = cut.cut().kept().get(0, name);
      if (got.dims != array.dims || got.bytes != array.bytes) return false;
    }
    return true;
  }

  const ir::Model& model_;
  const size_t sections_, samples_;
  CachedArrays::Memory& memory_;
  const Arrays& feeds_;
  Arrays whole_;
};

}  // namespace

std::unique_ptr<Baseline> split_with_check(const ir::Model& model, size_t sections, size_t samples,
                                           CachedArrays::Memory& memory, const Arrays& feeds) {
  return SoundCutter(model, sections, samples, memory, feeds).run();
}

}  // namespace thaw::measuring
