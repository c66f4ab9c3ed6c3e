#include "thaw/core/fork_mutex.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "thaw/core/call_clock.h"
#include "thaw/core/mapped_file.h"
#include "thaw/core/read_files.h"
#include "thaw/core/temp_folder_testing.h"
#include "thaw/limits.h"

namespace thaw {
namespace {

// What calls do all the time, and every process must be able to.
void work(const std::filesystem::path& file) {
  const CallClock clock;
  const ReadFiles reading;
  set_limits(limits());
  static_cast<void>(CallClock::end());
  static_cast<void>(MappedFile::open(file)->text());
}

TEST(ForkMutex, AProcessThatIsForkedOffWaitsForNobody) {
  const TempFolder folder;
  const std::filesystem::path file = folder.path() / "file";
  std::ofstream(file) << "text";
  std::atomic<bool> is_over = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      while (!is_over) work(file);
    });
  int failed = 0;
  for (int i = 0; i < 300 && failed == 0; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(10);
      work(file);
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    failed += status != 0;
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace thaw
