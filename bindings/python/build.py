"""Builds the wheel. `--binary` adds the command line, so that `uvx foxwedge` runs it.

Needs maturin in the environment of the Python that runs this file, and cargo.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
# Maturin puts what is in here into the wheel, and pip puts scripts on the path.
SCRIPTS = PACKAGE / "foxwedge.data" / "scripts"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="dist", help="the folder for the wheel")
    parser.add_argument("--binary", action="store_true", help="with the command line, which takes minutes to build")
    arguments = parser.parse_args()
    out = Path(arguments.out).resolve()
    shutil.rmtree(SCRIPTS.parent, ignore_errors=True)
    try:
        if arguments.binary:
            SCRIPTS.mkdir(parents=True)
            shutil.copy2(command_line(), SCRIPTS)
        run([sys.executable, "-m", "maturin", "build", "--locked", "--out", str(out)])
    finally:
        shutil.rmtree(SCRIPTS.parent, ignore_errors=True)


def command_line() -> Path:
    """The binary, built as it is shipped."""
    run(["cargo", "build", "--locked", "--profile", "dist", "--package", "foxwedge"])
    name = "foxwedge.exe" if sys.platform == "win32" else "foxwedge"
    return PACKAGE.parents[1] / "target" / "dist" / name


def run(command: list[str]) -> None:
    result = subprocess.run(command, cwd=PACKAGE)
    if result.returncode != 0:
        sys.exit(f"{command[0]}: exit code {result.returncode}")


if __name__ == "__main__":
    main()
