// Words of a command that is shown, as a POSIX shell takes them.
#pragma once

#include <string>
#include <string_view>

namespace thaw {

// "'it'\''s'": in quotes, whatever it is.
std::string shell_quoted(std::string_view text);
// In quotes where it needs them.
std::string shell_word(std::string_view text);
// The same of a file, which no command takes for an option.
std::string shell_path(std::string_view path);

}  // namespace thaw
