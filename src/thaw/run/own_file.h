// Where this code and the program that runs it lie: what goes along with them is looked for from there.
#pragma once

#include <filesystem>

namespace thaw::run {

// The file that this code is mapped from, a library or a program; empty where the system does not tell.
std::filesystem::path own_file();

// The program that runs; empty where the system does not tell.
std::filesystem::path own_program();

}  // namespace thaw::run
