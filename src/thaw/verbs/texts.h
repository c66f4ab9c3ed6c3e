// What a call says in words: sizes, values, names. The grammar of each option, apart from which verb has it.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "thaw/finding.h"
#include "thaw/fix.h"
#include "thaw/model.h"
#include "thaw/run.h"
#include "thaw/verify.h"

namespace thaw::verbs {

// "1,22" is "1" and "22"; an empty text is one empty part.
std::vector<std::string> split_at_commas(const std::string& text);

// "h=640,w=480"; none for an empty text. Throws thaw::Error for ranges and expressions; `option` is for its message.
NamedSizes parse_sizes(const std::string& text, const std::string& option);

// The points of several such texts, each of which may also name several: "h=320|640,w=320|640" (each with each),
// "h=320,w=480; h=640,w=960", "h=320..640:160". One without sizes where there is no text. Throws thaw::Error for expressions, ranges
// without an end and more points than anybody means.
std::vector<NamedSizes> parse_points(std::span<const std::string> texts, const std::string& option);

// What `verify --sizes` says, all texts together: sizes with one value hold at every point that is chosen, others are swept.
void add_sizes(std::span<const std::string> texts, VerifyOptions& options);

// Each text is "SIZE=NAME", several separated by ',': "input.1_dim2=height,input.1[3]=width". Throws thaw::Error for others, and
// for names that are none in the grammar of sizes.
SizeRenames parse_renames(std::span<const std::string> texts);

// Each text is "NAME=1,22,30", or "NAME[1]=22" for one element; several in one text are separated by ';' or ','.
void add_values(std::span<const std::string> texts, FeedOptions& feeds);
// Each text is "NAME=0..511" or "NAME=-1..1"; several in one text are separated by ';' or ','.
void add_value_ranges(std::span<const std::string> texts, FeedOptions& feeds);
// Each text is "A=B": what is called A in the model is called B in the reference.
std::map<std::string, std::string> parse_names(std::span<const std::string> texts);

// "grid_thw:int64[1,3]".
AddedInput parse_added_input(const std::string& text);
// Each text is "NAME=1,22,30": the sizes of an export, values of an input or dims.
std::map<std::string, std::vector<int64_t>> parse_at(std::span<const std::string> texts);
// "1,22,333".
std::vector<int64_t> parse_tokens(const std::string& text);
// "cuda:device_id=1,use_tf32=0".
Provider parse_provider(const std::string& text);
// "hidden_states,mask": a cut, of the tensors that pass it.
std::vector<std::string> parse_cut(const std::string& text);

}  // namespace thaw::verbs
