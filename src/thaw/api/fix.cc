#include "thaw/fix/fix.h"

#include <utility>

#include "thaw/api/access.h"
#include "thaw/lift/onetrace/thaw_trace.h"

namespace thaw {
namespace {

std::vector<Note> notes_of(std::vector<lifting::onetrace::Note>& given) {
  std::vector<Note> notes;
  for (lifting::onetrace::Note& note : given)
    notes.push_back({std::move(note.where), std::move(note.message), std::move(note.at)});
  return notes;
}

}  // namespace

FixReport fix(Model& model, const FixOptions& options) {
  rewrite::Changes changes = fixing::fix(ModelAccess::of(model), options);
  return {std::move(changes.made), std::move(changes.left)};
}

FixReferenceReport fix_with_reference(Model& model, const std::filesystem::path& reference,
                                      const FixReferenceOptions& options) {
  lifting::onetrace::Options how;
  how.at = options.at;
  how.reference = reference;
  how.cases = options.cases;
  how.added = options.added;
  how.tolerance = options.tolerance;
  how.most_tries = options.most_tries;
  how.fix = options.fix;
  lifting::onetrace::Report found = lifting::onetrace::thaw_trace(ModelAccess::owner(model), how);
  FixReferenceReport report;
  report.confirmed = found.confirmed;
  report.sizes = notes_of(found.sizes);
  report.changed = notes_of(found.changed);
  report.left = notes_of(found.left);
  for (lifting::onetrace::CaseReport& one : found.cases) {
    report.cases.push_back({.name = std::move(one.name),
                            .sizes = std::move(one.sizes),
                            .agrees = one.result.agrees,
                            .max_abs = one.result.max_abs,
                            .reason = std::move(one.result.reason)});
  }
  report.notes = std::move(found.notes);
  report.tries = found.tries;
  return report;
}

}  // namespace thaw
