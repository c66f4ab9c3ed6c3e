// Which solutions of several integers can stand together. Internal to lift/.
//
// Each integer is solved for itself. Where a condition between some of them (conditions.h) fails at sizes that no trace has, one of
// these is taken otherwise: as the condition says, where it can be solved for it, else as its solver's next solution. Then whatever
// that breaks is mended in turn. As few as can be are taken otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "thaw/lift/unknowns/conditions.h"

namespace thaw::lifting {

// By place in Conditions::unknowns: what is taken for it.
using Retaken = std::vector<std::pair<size_t, dim::Dim>>;

enum class Agrees : uint8_t {
  kYes,
  kNo,    // a condition fails, whatever the other integers are
  kOpen,  // nothing was found in the time there is
};

struct Agreed {
  Agrees verdict = Agrees::kOpen;
  Retaken retaken = {};              // of kYes, what was given among them
  std::vector<size_t> doubted = {};  // what stands beside these in conditions that they mend
};

// given: stays as it is. passed_over: answers that do not count. with_places: whether integers of some places alone may be taken otherwise,
// too.
Agreed agree(const Conditions& conditions, const Retaken& given = {}, const std::vector<Retaken>& passed_over = {},
             bool with_places = false);

// Of each of these alone, whether all that the nodes need holds with it, all other integers as they are; but for what fails as it is.
std::vector<bool> stand_alone(const Conditions& conditions, const Retaken& each);

}  // namespace thaw::lifting
