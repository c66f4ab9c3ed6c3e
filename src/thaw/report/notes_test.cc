#include "thaw/report/notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thaw::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

struct Note {
  std::string where, message;
  std::vector<std::string> at;
};

const std::vector<Note> kNotes = {{"Split 'a'", "[n]", {"[22]", "[30]"}},
                                  {"Slice 'b'", "[n]", {"[22]", "[28]"}},
                                  {"Split 'c'", "[n]", {"[22]", "[30]"}}};

TEST(Notes, SameWordsFromSameEvidenceAreOneGroup) {
  const std::vector<NoteView> seen = views(kNotes);
  const std::vector<NoteGroup> groups = grouped_notes(seen);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_THAT(groups[0].where, ElementsAre("Split 'a'", "Split 'c'"));
  EXPECT_THAT(groups[0].at, ElementsAre("[22]", "[30]"));
  EXPECT_THAT(groups[1].where, ElementsAre("Slice 'b'"));
}

TEST(Notes, TextHasTheFirstLocationOfAGroupOrAll) {
  EXPECT_EQ(
      groups_text("lifted", views(kNotes), false),
      "lifted (3)\n  [n]\n    from [22] | [30]\n    at Split 'a', and 1 more\n  [n]\n    from [22] | [28]\n    at "
      "Slice 'b'\n");
  EXPECT_THAT(groups_text("lifted", views(kNotes), true), HasSubstr("at Split 'a'\n    at Split 'c'\n"));
}

TEST(Notes, CodeAndEvidenceAreLeftOutOfJsonWhereThereIsNone) {
  struct Plain {
    std::string where, message;
  };
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  write_notes(writer, "loops", views(std::vector<Plain>{{"node", "why"}}));
  writer.end_object();
  EXPECT_THAT(text, HasSubstr("{\"where\": \"node\", \"message\": \"why\"}"));
  EXPECT_THAT(text, Not(HasSubstr("code")));
}

TEST(Notes, TextEndsAfterADozen) {
  std::vector<Note> many;
  for (int i = 0; i < 15; ++i) many.push_back({"place", "message " + std::to_string(i), {}});
  EXPECT_THAT(notes_text("changed", views(many), false), HasSubstr("message 11\n  … and 3 more (--all prints them)\n"));
  EXPECT_THAT(notes_text("changed", views(many), true), HasSubstr("message 14\n"));
}

}  // namespace
}  // namespace thaw::report
