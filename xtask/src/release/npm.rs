//! npm packages: one for each platform with nothing but the binary, and the launcher that finds it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Map, Value, json};

use super::{ReleaseTarget, archive::DOCUMENTS, copy, run_program, version};
use crate::workspace;

/// Folder of the launcher.
pub(super) const LAUNCHER: &str = "packaging/npm/cli";

/// File name of the launcher's archive.
pub(super) const LAUNCHER_ARCHIVE: &str = "npm-cli.tgz";

/// File name of the archive of a platform.
pub(super) fn platform_archive(target: &ReleaseTarget) -> String {
    format!("npm-cli-{}.tgz", target.npm)
}

/// Makes the package of a platform.
pub(crate) fn pack_platform(
    target: &ReleaseTarget,
    binary: &Path,
    files: &Path,
) -> Result<PathBuf, String> {
    let folder = files.join("npm").join(target.npm);
    let _ = fs::remove_dir_all(&folder);
    copy(binary, &folder.join(target.program()))?;
    for document in DOCUMENTS.iter().filter(|name| name.starts_with("LICENSE")) {
        copy(&workspace::root().join(document), &folder.join(document))?;
    }
    let readme = format!(
        "# {}\n\nThe binary of `@foxwedge/cli` for {}. Install `@foxwedge/cli`.\n",
        target.package(),
        target.triple
    );
    let manifest = format!("{:#}\n", manifest(target));
    for (name, text) in [("package.json", manifest), ("README.md", readme)] {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    pack(&folder, &files.join(platform_archive(target)))
}

/// Packs the launcher.
pub(super) fn pack_launcher(files: &Path) -> Result<PathBuf, String> {
    pack(&workspace::root().join(LAUNCHER), &files.join(LAUNCHER_ARCHIVE))
}

/// The manifest of a platform's package. npm installs it only where system, processor and library
/// are these.
fn manifest(target: &ReleaseTarget) -> Value {
    let mut manifest = Map::new();
    manifest.insert("name".to_owned(), json!(target.package()));
    manifest.insert("version".to_owned(), json!(version()));
    let description = format!("The foxwedge binary for {}", target.triple);
    manifest.insert("description".to_owned(), json!(description));
    manifest.insert("license".to_owned(), json!("Apache-2.0 OR MIT"));
    manifest.insert("os".to_owned(), json!([target.os]));
    manifest.insert("cpu".to_owned(), json!([target.cpu]));
    if let Some(libc) = target.libc {
        manifest.insert("libc".to_owned(), json!([libc]));
    }
    manifest.insert("preferUnplugged".to_owned(), json!(true));
    manifest.insert("files".to_owned(), json!([target.program()]));
    Value::Object(manifest)
}

/// Packs a folder under a name of ours.
fn pack(folder: &Path, archive: &Path) -> Result<PathBuf, String> {
    let temporary = archive.with_extension("packing");
    let _ = fs::remove_dir_all(&temporary);
    fs::create_dir_all(&temporary).map_err(|error| error.to_string())?;
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    let mut command = Command::new(npm);
    command.args(["pack", "--silent", "--pack-destination"]).arg(&temporary);
    run_program(command.current_dir(folder))?;
    let packed = workspace::sorted_entries(&temporary)?.pop().ok_or("npm packed nothing")?;
    fs::rename(&packed, archive).map_err(|error| format!("{}: {error}", archive.display()))?;
    let _ = fs::remove_dir_all(&temporary);
    Ok(archive.to_owned())
}
