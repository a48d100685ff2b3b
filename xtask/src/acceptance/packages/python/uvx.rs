//! `uvx foxwedge`, from a wheel that carries the command line.

use std::{fs, path::Path, process::Command};

use super::{HOME, package, pins_of};
use crate::{
    acceptance::{
        SuiteError,
        install::{Language, PackageFolder},
        process::run_to_end,
    },
    workspace,
};

/// Takes the place of the command line, which takes minutes to build.
const STAND_IN: &str = "#!/bin/sh\necho \"stand-in: $*\"\n";

/// Puts a program into a wheel, as `build.py --program` does.
const ADD_PROGRAM: &str =
    "import sys, pathlib, build; build.add_program(*map(pathlib.Path, sys.argv[1:]))";

/// Adds a stand-in for the command line to a copy of the wheel, and runs it.
pub(super) fn run(wheel: &Path) -> Result<(), SuiteError> {
    let tools = PackageFolder::install(Language::Python, &pins_of("uv"), HOME)?;
    let folder = workspace::root().join("target").join(HOME).join("uvx");
    let (copy, program) =
        (folder.join(wheel.file_name().unwrap_or_default()), folder.join("stand-in"));
    let complain = |error: std::io::Error| format!("{}: {error}", folder.display());
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(complain)?;
    fs::copy(wheel, &copy).map_err(complain)?;
    fs::write(&program, STAND_IN).map_err(complain)?;
    let mut add = Command::new(tools.python());
    add.args(["-B", "-c", ADD_PROGRAM]).arg(&copy).arg(&program).env("PYTHONPATH", package());
    run_to_end("the command line cannot be added to the wheel", &mut add)?;
    let mut uvx = Command::new(tools.python().with_file_name("uvx"));
    uvx.args(["--offline", "--no-config", "--from"])
        .arg(&copy)
        .args(["foxwedge", "list", "--json"]);
    uvx.env("UV_CACHE_DIR", folder.join("cache")).env("UV_PYTHON", tools.python());
    let printed = run_to_end("uvx foxwedge", uvx.current_dir(&folder))?;
    match printed == "stand-in: list --json" {
        true => Ok(()),
        false => Err(format!("`uvx foxwedge list --json` prints {printed:?}").into()),
    }
}
