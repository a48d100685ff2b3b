//! `cargo xtask packages`: builds the packages for other languages, and installs and tries them as
//! their users do.

mod cases;
mod follow_cases;
mod npm;
mod python;
mod random_cases;

use std::{path::Path, process::Command};

use super::{SuiteError, install::MissingSoftware};
use crate::options::TaskOptions;

/// Where packages are tried, below the workspace.
const FOLDER: &str = "target/packages";

pub(super) fn run(options: &TaskOptions) -> Result<(), SuiteError> {
    let (documents, followed) = (cases::write_table()?, follow_cases::write_table()?);
    let tables = &[documents.as_path(), followed.as_path()];
    match options.value("--only") {
        // Both run, whatever one of them lacks.
        None => [npm::run(tables), python::run(tables)].into_iter().collect(),
        Some("npm") => npm::run(tables),
        Some("python") => python::run(tables),
        Some(other) => Err(format!("no package `{other}`; there are npm and python").into()),
    }
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

/// The first example of a README in a language, and the comment in its last line: what it prints.
fn first_example<'r>(
    readme: &'r str,
    language: &str,
    comment: &str,
) -> Result<(&'r str, &'r str), String> {
    let find = || {
        let (_, rest) = readme.split_once(&format!("```{language}\n"))?;
        let (example, _) = rest.split_once("```")?;
        let expected = example.trim_end().lines().last()?.strip_prefix(comment)?;
        Some((example, expected.trim_start()))
    };
    find().ok_or_else(|| format!("the README has no example in {language}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_ends_with_what_it_prints() {
        let readme = "# A\n\n```js\nf();\n// done\n```\n\nMore.\n";
        assert_eq!(first_example(readme, "js", "//"), Ok(("f();\n// done\n", "done")));
        assert!(first_example("```js\nf();\n```", "js", "//").is_err());
        assert!(first_example(readme, "python", "#").is_err());
    }
}
