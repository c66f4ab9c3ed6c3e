// Sizes and inputs in words, as the command takes them.
//
//   const thaw::NamedSizes sizes = thaw::parse_sizes("height=640,width=480");
//
// Functions throw thaw::Error (kInvalidArgument) for other texts.
#pragma once

#include <string>
#include <vector>

#include "thaw/export.h"
#include "thaw/finding.h"
#include "thaw/fix.h"
#include "thaw/verify.h"

namespace thaw {

// One number for each size. An empty text has none.
THAW_API NamedSizes parse_sizes(const std::string& text);

// Several choices of sizes: "h=320|640,w=320|640", each with each; "h=320,w=480; h=640,w=960"; "h=320..640:160". An empty text is one
// choice without sizes.
THAW_API std::vector<NamedSizes> parse_points(const std::string& text);

// `sizes` where each has one number, so that the others are chosen; else `sweep`.
THAW_API void set_sizes(const std::string& text, VerifyOptions& options);

// "grid_thw:int64[1,3]".
THAW_API AddedInput parse_added_input(const std::string& text);

// "cuda", "cuda:device_id=1,use_tf32=0". A comma begins another option where NAME= follows it.
THAW_API Provider parse_provider(const std::string& text);

}  // namespace thaw
