//! Archives with the binary, and their checksums.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use sha2::{Digest, Sha256};

use super::{ReleaseTarget, copy, run_program, version};
use crate::workspace;

/// What is in every archive and package beside the binary.
pub(super) const DOCUMENTS: [&str; 3] = ["README.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// Makes the archive of a target and its checksum file.
pub(super) fn pack(target: &ReleaseTarget, binary: &Path, files: &Path) -> Result<PathBuf, String> {
    let name = target.archive(version());
    let staging = files.join("staging");
    let folder = staging.join(&name);
    let _ = fs::remove_dir_all(&staging);
    copy(binary, &folder.join(target.program()))?;
    for document in DOCUMENTS {
        copy(&workspace::root().join(document), &folder.join(document))?;
    }
    let archive = files.join(format!("{name}.{}", target.ending()));
    let mut command = Command::new("tar");
    // The tar of Windows makes a zip if the name says so.
    command.arg(if target.is_windows() { "-acf" } else { "-czf" });
    command.arg(&archive).arg("-C").arg(&staging).arg(&name);
    run_program(&mut command)?;
    let _ = fs::remove_dir_all(&staging);
    write_checksum(&archive)?;
    if target.libc == Some("musl") {
        stage_container(binary, &files.join("container"))?;
    }
    Ok(archive)
}

/// The folder that the container file copies from: the binary, and an empty folder for its data.
fn stage_container(binary: &Path, folder: &Path) -> Result<(), String> {
    copy(binary, &folder.join("foxwedge"))?;
    let data = folder.join("data");
    fs::create_dir_all(&data)
        .and_then(|()| fs::write(data.join(".keep"), ""))
        .map_err(|error| format!("{}: {error}", data.display()))
}

/// Writes `FILE.sha256` as `sha256sum` does.
fn write_checksum(file: &Path) -> Result<(), String> {
    let line = checksum_line(file)?;
    let name = format!("{}.sha256", file.display());
    fs::write(&name, line).map_err(|error| format!("{name}: {error}"))
}

/// A line as `sha256sum --check` reads it.
pub(super) fn checksum_line(file: &Path) -> Result<String, String> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    Ok(format!("{}  {name}\n", sha256(file)?))
}

/// The SHA-256 of a file, in hexadecimal digits.
pub(super) fn sha256(file: &Path) -> Result<String, String> {
    let content = fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let digest = Sha256::digest(&content);
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}
