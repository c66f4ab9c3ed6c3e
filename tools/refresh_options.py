#!/usr/bin/env python3
"""Writes the table of options in docs/cli.md anew, as the command prints it.

    tools/refresh_options.py [THAW]
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- options: thaw completion table -->\n", "<!-- end of options -->"


def main() -> None:
    thaw = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "build" / "thaw")
    table = subprocess.run([thaw, "completion", "table"], capture_output=True, text=True, check=True).stdout
    page = ROOT / "docs" / "cli.md"
    before, _, rest = page.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    page.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}")


if __name__ == "__main__":
    main()
