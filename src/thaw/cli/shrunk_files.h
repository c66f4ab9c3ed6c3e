// A file that another process shortens while it is mapped ends the command with one line and exit code 2, not SIGBUS.
#pragma once

namespace thaw::cli {

void refuse_shrunk_files();

}  // namespace thaw::cli
