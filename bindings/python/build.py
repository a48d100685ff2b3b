"""Builds the wheel. `--binary` adds the command line, so that `uvx foxwedge` runs it.

Needs maturin in the environment of the Python that runs this file, and cargo.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
TARGET = PACKAGE.parents[1] / "target"
PROGRAM = "foxwedge.exe" if sys.platform == "win32" else "foxwedge"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="dist", help="the folder for the wheel, which is made or emptied of wheels")
    parser.add_argument("--binary", action="store_true", help="with the command line, which takes minutes to build")
    parser.add_argument("--program", type=Path, help="with this command line, which was built before")
    arguments = parser.parse_args()
    out = Path(arguments.out).resolve()
    for old in out.glob("foxwedge-*.whl"):
        old.unlink()
    run([sys.executable, "-m", "maturin", "build", "--locked", "--out", str(out)])
    program = arguments.program
    if arguments.binary:
        run(["cargo", "build", "--locked", "--profile", "dist", "--package", "foxwedge"])
        program = TARGET / "dist" / PROGRAM
    if program is not None:
        [wheel] = out.glob("foxwedge-*.whl")
        add_program(wheel, program)


def add_program(wheel: Path, program: Path) -> None:
    """Puts a program among the scripts of a wheel, which pip puts on the path, and into its list of files."""
    name, version = wheel.name.split("-")[:2]
    place = f"{name}-{version}.data/scripts/{PROGRAM}"
    listing = f"{name}-{version}.dist-info/RECORD"
    content = program.read_bytes()
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    new = wheel.with_suffix(".new")
    with zipfile.ZipFile(wheel) as before, zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as after:
        for entry in before.infolist():
            if entry.filename != listing:
                after.writestr(entry, before.read(entry), zipfile.ZIP_DEFLATED, 9)
        script = zipfile.ZipInfo(place)
        script.external_attr = 0o100755 << 16
        after.writestr(script, content, zipfile.ZIP_DEFLATED, 9)
        lines = before.read(listing).decode().rstrip("\n").split("\n")
        record = before.getinfo(listing)
        text = "\n".join([f"{place},sha256={digest},{len(content)}", *lines, ""])
        after.writestr(record, text, zipfile.ZIP_DEFLATED, 9)
    new.replace(wheel)


def run(command: list[str]) -> None:
    result = subprocess.run(command, cwd=PACKAGE)
    if result.returncode != 0:
        sys.exit(f"{command[0]}: exit code {result.returncode}")


if __name__ == "__main__":
    main()
