//! `cargo xtask packages`: builds the packages for other languages, and installs and tries them as
//! their users do.

mod cases;
mod python;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{SuiteError, install::MissingSoftware};
use crate::{options::TaskOptions, workspace};

const TARGET: &str = "wasm32-unknown-unknown";

pub(super) fn run(options: &TaskOptions) -> Result<(), SuiteError> {
    match options.value("--only") {
        // Both run, whatever one of them lacks.
        None => [npm(), python::run()].into_iter().collect(),
        Some("npm") => npm(),
        Some("python") => python::run(),
        Some(other) => Err(format!("no package `{other}`; there are npm and python").into()),
    }
}

fn npm() -> Result<(), SuiteError> {
    install_target()?;
    let package = workspace::root().join("bindings/npm");
    run_program("node", &["build.mjs"], &package)?;
    run_program("node", &["--test", "test/package.test.mjs"], &package)?;
    let folder = workspace::root().join("target/packages");
    let complain = |error: std::io::Error| format!("{}: {error}", folder.display());
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(complain)?;
    let packed = pack(&package, &folder)?;
    try_packed(&packed, &package, &folder)?;
    println!("npm package: built, tested, installed, and its first example run");
    Ok(())
}

/// Makes sure that the compiler can build WebAssembly.
fn install_target() -> Result<(), SuiteError> {
    let missing = || MissingSoftware(format!("`rustup target add {TARGET}` does not work here"));
    let output = Command::new("rustup").args(["target", "list", "--installed"]).output();
    let installed = output.map_err(|_| missing())?.stdout;
    if String::from_utf8_lossy(&installed).lines().any(|line| line == TARGET) {
        return Ok(());
    }
    let status = Command::new("rustup").args(["target", "add", TARGET]).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        _ => Err(missing().into()),
    }
}

/// The archive that would be published.
fn pack(package: &Path, folder: &Path) -> Result<PathBuf, SuiteError> {
    let destination = folder.display().to_string();
    run_program("npm", &["pack", "--silent", "--pack-destination", &destination], package)?;
    let mut entries = fs::read_dir(folder).map_err(|error| error.to_string())?.flatten();
    let archive = entries.find(|entry| entry.path().extension().is_some_and(|end| end == "tgz"));
    let archive = archive.ok_or_else(|| "npm packed nothing".to_owned())?;
    Ok(archive.path())
}

/// Installs the archive into an empty folder, and runs the first example of the README there.
fn try_packed(archive: &Path, package: &Path, folder: &Path) -> Result<(), SuiteError> {
    let program = folder.join("program");
    let complain = |error: std::io::Error| format!("{}: {error}", program.display());
    fs::create_dir_all(&program).map_err(complain)?;
    fs::write(program.join("package.json"), "{\"type\":\"module\"}\n").map_err(complain)?;
    let archive = archive.display().to_string();
    run_program("npm", &["install", "--silent", "--no-audit", "--no-fund", &archive], &program)?;
    let readme = fs::read_to_string(package.join("README.md")).map_err(complain)?;
    let (example, expected) =
        first_example(&readme).ok_or_else(|| "the README has no example".to_owned())?;
    fs::write(program.join("example.js"), example).map_err(complain)?;
    let printed = run_program("node", &["example.js"], &program)?;
    match printed.trim() == expected {
        true => Ok(()),
        false => Err(format!("the example prints {printed:?}, not {expected:?}").into()),
    }
}

/// The first example of a README, and the comment in its last line: what it prints.
fn first_example(readme: &str) -> Option<(&str, &str)> {
    let (_, rest) = readme.split_once("```js\n")?;
    let (example, _) = rest.split_once("```")?;
    let expected = example.trim_end().lines().last()?.strip_prefix("// ")?;
    Some((example, expected))
}

/// Runs a program in a folder; what it printed.
fn run_program(program: &str, arguments: &[&str], folder: &Path) -> Result<String, SuiteError> {
    let output = Command::new(program).args(arguments).current_dir(folder).output();
    let output = output.map_err(|error| MissingSoftware(format!("{program}: {error}")))?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(printed);
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    let command = arguments.join(" ");
    Err(format!("{program} {command}: {}\n{printed}{complaint}", output.status).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_ends_with_what_it_prints() {
        let readme = "# A\n\n```js\nf();\n// done\n```\n\nMore.\n";
        assert_eq!(first_example(readme), Some(("f();\n// done\n", "done")));
        assert_eq!(first_example("```js\nf();\n```"), None);
    }
}
