//! `cargo xtask dist`: the binary for users without Rust. Builds archives and npm packages for
//! targets, completes the templates in `packaging/`, and tries the results as their users do.

mod targets;
mod archive;
mod npm;
mod templates;
mod trial;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::{Outcome, ci, options::TaskOptions, workspace};

pub(crate) use npm::pack_platform;
pub(crate) use targets::{ReleaseTarget, TARGETS};

/// The targets that `--try` builds and tries.
const TRIED: [&str; 2] = ["x86_64-unknown-linux-gnu", "x86_64-unknown-linux-musl"];

/// The profile of everything that is shipped.
const PROFILE: &str = "dist";

pub(crate) fn run(arguments: &[&str]) -> Outcome {
    let known = ["--target TRIPLE…", "--binary FILE", "--finish", "--repository URL", "--try"];
    let options = TaskOptions::read(arguments, &known)?;
    let files = files_folder()?;
    let mut triples = options.values("--target");
    if options.has("--try") && triples.is_empty() {
        triples.extend(TRIED);
    }
    if triples.is_empty() && !options.has("--finish") {
        return Err("name a target, such as `--target x86_64-unknown-linux-musl`".to_owned());
    }
    for triple in &triples {
        let target = ReleaseTarget::find(triple)?;
        // A binary that was built or signed elsewhere.
        let binary = match options.path("--binary") {
            Some(binary) if triples.len() == 1 => binary,
            Some(_) => return Err("`--binary` needs one `--target`".to_owned()),
            None => build(target)?,
        };
        let packed = archive::pack(target, &binary, &files)?;
        let package = npm::pack_platform(target, &binary, &files)?;
        println!("{triple}");
        for file in [&binary, &packed, &package] {
            println!("  {:>6.1} MB  {}", megabytes(file)?, file.display());
        }
    }
    if options.has("--finish") {
        let repository = options.value("--repository");
        let repository = repository.ok_or("`--finish` needs `--repository URL`")?;
        templates::finish(&files, repository)?;
        npm::pack_launcher(&files)?;
    }
    if options.has("--try") {
        trial::run(&triples, &files)?;
    }
    Ok(())
}

/// The version of the workspace.
pub(crate) fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Where everything is put that a release consists of.
fn files_folder() -> Result<PathBuf, String> {
    let folder = workspace::root().join("target/release-files");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}

/// Builds the binary of a target. The profile strips it.
fn build(target: &ReleaseTarget) -> Result<PathBuf, String> {
    let mut command = ci::command();
    command.args(["build", "--profile", PROFILE, "--package", "foxwedge", "--locked"]);
    command.args(["--target", target.triple]);
    if target.triple.ends_with("-musl") {
        // The program relocates itself at its start, and its list of places is a megabyte unless it is packed. A system
        // library may be too old for that, so this is for static programs only.
        let flag = "-Clink-arg=-Wl,-z,pack-relative-relocs";
        command.arg("--config").arg(format!("target.{}.rustflags=[\"{flag}\"]", target.triple));
    }
    let status = command.status().map_err(|error| format!("cargo cannot be started: {error}"))?;
    if !status.success() {
        return Err(format!("foxwedge cannot be built for {}", target.triple));
    }
    let folder = target_folder()?.join(target.triple).join(PROFILE);
    Ok(folder.join(target.program()))
}

/// Where cargo builds.
fn target_folder() -> Result<PathBuf, String> {
    let arguments = ["metadata", "--format-version", "1", "--no-deps"];
    let output = ci::command().args(arguments).output().map_err(|error| error.to_string())?;
    let metadata: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("cargo metadata: {error}"))?;
    let folder = metadata["target_directory"].as_str().ok_or("cargo metadata names no folder")?;
    Ok(PathBuf::from(folder))
}

fn megabytes(file: &Path) -> Result<f64, String> {
    let metadata = fs::metadata(file).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(metadata.len() as f64 / 1e6)
}

/// Copies a file that everybody may read and, if it is a program, run.
fn copy(from: &Path, to: &Path) -> Outcome {
    let complain = |error: std::io::Error| format!("{}: {error}", from.display());
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(complain)?;
    }
    fs::copy(from, to).map_err(complain).map(drop)
}

/// Runs a program; what it printed.
fn run_program(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(printed);
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(format!("{name}: {}\n{printed}{complaint}", output.status))
}
