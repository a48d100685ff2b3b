//! The npm package in Deno and Bun, compared with the engine.

use std::path::{Path, PathBuf};

use crate::{
    acceptance::{
        SuiteError,
        install::{Language, MissingSoftware, PackageFolder},
        packages::run_program,
    },
    workspace,
};

/// The runtimes: the package of each, the scope of the packages that hold its program, where the program is in them, and
/// the arguments that run a script.
const RUNTIMES: [(&str, &str, &str, &[&str]); 2] =
    [("deno", "@deno", "deno", &["run", "--allow-all"]), ("bun", "@oven", "bin/bun", &[])];

/// Runs a script of the package in every runtime.
pub(super) fn run(script: &[&str], package: &Path) -> Result<(), SuiteError> {
    let installed = PackageFolder::install(Language::TypeScript, "acceptance/runtimes", "npm")?;
    for (name, scope, program, arguments) in RUNTIMES {
        let label = installed.label(name);
        let Some(program) = find_program(&installed.path, scope, program)? else {
            return Err(MissingSoftware(format!("{label} has no program for this system")).into());
        };
        let program = program.display().to_string();
        let printed = run_program(&program, &[arguments, script].concat(), package)?;
        println!("npm package: in {label}, {}", printed.trim());
    }
    Ok(())
}

/// npm installs the package for this system, of those in the scope.
fn find_program(folder: &Path, scope: &str, program: &str) -> Result<Option<PathBuf>, String> {
    let program = if cfg!(windows) { format!("{program}.exe") } else { program.to_owned() };
    let packages = workspace::sorted_entries(&folder.join("node_modules").join(scope))?;
    Ok(packages.into_iter().map(|package| package.join(&program)).find(|path| path.is_file()))
}
