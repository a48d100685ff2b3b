//! What a configuration is read from: variables, files and flags, given in by whoever asks.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

use super::SettingOrigin;

/// The environment and the files of a machine. Tests give in their own.
pub trait ConfigEnvironment {
    /// A variable.
    fn variable(&self, name: &str) -> Option<OsString>;

    /// A small text file.
    ///
    /// # Errors
    /// If it is not there or cannot be read.
    fn file(&self, path: &Path) -> io::Result<ConfigFile>;
}

/// A file that was read. Its text may be a secret.
#[derive(Clone)]
pub struct ConfigFile {
    /// Its text.
    pub text: String,
    /// Who else may see or change it.
    pub exposure: FileExposure,
}

/// Who else may see or change a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileExposure {
    /// Nobody, or nobody can tell.
    Private,
    /// Others may read it.
    Readable,
    /// Others may write it.
    Writable,
}

/// What was typed. The texts are read here, so that every layer is told in the same words.
#[derive(Clone, Debug, Default)]
pub struct ConfigFlags {
    /// `--config`.
    pub config: Option<PathBuf>,
    /// `--listen`.
    pub listen: Option<String>,
    /// `--store`.
    pub store: Option<String>,
    /// `--upstream`.
    pub upstream: Option<String>,
    /// `--mode`.
    pub mode: Option<String>,
    /// `--record`.
    pub record: Option<String>,
    /// `--content`.
    pub content: Option<String>,
    /// `--log`.
    pub log: Option<String>,
    /// `--token-file`.
    pub token_file: Option<PathBuf>,
    /// `--no-token`.
    pub token_requirement: TokenRequirement,
}

/// Whether somebody who comes in has to show a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TokenRequirement {
    /// Yes.
    #[default]
    Required,
    /// No: whoever can reach the address.
    NotRequired,
}

/// The file that is read: the one that is named, or `foxwedge.toml` in the user's configuration
/// folder. Never one that just lies in the current folder: whoever clones a repository has not
/// agreed to what is in it.
///
/// # Errors
/// If a variable names it by a path that depends on the current folder.
pub fn file(
    flags: &ConfigFlags,
    world: &dyn ConfigEnvironment,
) -> Result<Option<(PathBuf, SettingOrigin)>, SettingOrigin> {
    if let Some(path) = &flags.config {
        return Ok(Some((path.clone(), SettingOrigin::Flag("--config"))));
    }
    if let Some(path) = path_variable(world, "FOXWEDGE_CONFIG") {
        let origin = SettingOrigin::Variable("FOXWEDGE_CONFIG".into());
        return if path.is_absolute() { Ok(Some((path, origin))) } else { Err(origin) };
    }
    Ok(config_folder(world).map(|folder| (folder.join("foxwedge.toml"), SettingOrigin::Default)))
}

/// Where the token lies that is made at the first start.
pub fn token_file(world: &dyn ConfigEnvironment) -> Option<PathBuf> {
    Some(config_folder(world)?.join("token"))
}

/// `$XDG_CONFIG_HOME/foxwedge` or `~/.config/foxwedge`.
fn config_folder(world: &dyn ConfigEnvironment) -> Option<PathBuf> {
    Some(base_folder(world, "XDG_CONFIG_HOME", ".config")?.join("foxwedge"))
}

/// Where runs are kept if nobody says so: `$XDG_DATA_HOME/foxwedge/foxwedge.db` or
/// `~/.local/share/foxwedge/foxwedge.db`.
pub(super) fn default_store(world: &dyn ConfigEnvironment) -> Option<PathBuf> {
    Some(base_folder(world, "XDG_DATA_HOME", ".local/share")?.join("foxwedge/foxwedge.db"))
}

/// The user's own folder.
pub(super) fn home(world: &dyn ConfigEnvironment) -> Option<PathBuf> {
    let named = path_variable(world, "HOME").or_else(|| path_variable(world, "USERPROFILE"));
    named.filter(|home| home.is_absolute())
}

fn base_folder(world: &dyn ConfigEnvironment, name: &str, below: &str) -> Option<PathBuf> {
    // The standard says that one that is not absolute does not count.
    path_variable(world, name)
        .filter(|folder| folder.is_absolute())
        .or_else(|| Some(home(world)?.join(below)))
}

fn path_variable(world: &dyn ConfigEnvironment, name: &str) -> Option<PathBuf> {
    world.variable(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}
