//! `npx foxwedge` of the package: with the binary of the platform, and without it.

use std::{env::consts, fs, path::Path, process::Command};

use super::INSTALL;
use crate::{
    acceptance::{SuiteError, packages::run_program},
    release::{self, TARGETS},
};

/// Takes the place of the binary, which takes minutes to build. `cargo xtask dist --try` runs the real one.
const STAND_IN: &str = "#!/bin/sh\necho \"stand-in: $*\"\nexit 7\n";

/// Installs the package into an empty folder and runs its command line, first without a binary.
pub(super) fn run(package: &Path, folder: &Path) -> Result<(), SuiteError> {
    let system = if consts::OS == "macos" { "darwin" } else { consts::OS };
    let processor = if consts::ARCH == "x86_64" { "x64" } else { "arm64" };
    let fits = |os: &str, cpu: &str, libc: Option<&str>| {
        os == system && cpu == processor && libc != Some("musl")
    };
    let Some(target) = TARGETS.iter().find(|it| fits(it.os, it.cpu, it.libc)) else {
        println!("npm package: no stand-in for the binary of this system");
        return Ok(());
    };
    let program = folder.join("command-line");
    let stand_in = folder.join("stand-in");
    let complain = |error: std::io::Error| format!("{}: {error}", program.display());
    fs::create_dir_all(&program).map_err(complain)?;
    fs::write(program.join("package.json"), "{\"private\":true}\n").map_err(complain)?;
    install(package, &program)?;
    let (code, _, complaint) = npx_list(&program)?;
    let next = format!("npm install {}@{}", target.package(), release::version());
    if code != Some(2) || !complaint.contains(&next) {
        return Err(format!("without a binary: exit code {code:?}, {complaint:?}").into());
    }
    fs::write(&stand_in, STAND_IN).map_err(complain)?;
    make_executable(&stand_in).map_err(complain)?;
    install(&release::pack_platform(target, &stand_in, folder)?, &program)?;
    match npx_list(&program)? {
        (Some(7), printed, _) if printed.trim() == "stand-in: list --json" => {}
        other => return Err(format!("`npx foxwedge list --json`: {other:?}").into()),
    }
    println!("npm package: npx foxwedge runs {}, and says what to do without it", target.package());
    Ok(())
}

/// Installs an archive. `--force` takes a package for another C library.
fn install(archive: &Path, program: &Path) -> Result<(), SuiteError> {
    let archive = archive.display().to_string();
    run_program("npm", &[&INSTALL[..], &["--force", &archive]].concat(), program).map(drop)
}

/// The exit code of `npx foxwedge list --json`, what it printed, and what it complained about.
fn npx_list(program: &Path) -> Result<(Option<i32>, String, String), SuiteError> {
    let mut command = Command::new("npx");
    command.args(["--no-install", "foxwedge", "list", "--json"]).env_remove("FOXWEDGE_BINARY");
    let output = command.current_dir(program).output().map_err(|error| format!("npx: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((output.status.code(), text(&output.stdout), text(&output.stderr)))
}

#[cfg(unix)]
fn make_executable(file: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(file, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> std::io::Result<()> {
    Ok(())
}
