//! The input of a configuration: variables, files and flags, passed in by the caller.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

use super::SettingOrigin;

/// The environment variables and files of a machine. Tests provide their own.
pub trait ConfigEnvironment {
    /// A variable.
    fn variable(&self, name: &str) -> Option<OsString>;

    /// Reads a small text file.
    ///
    /// # Errors
    /// If the file is missing or cannot be read.
    fn file(&self, path: &Path) -> io::Result<ConfigFile>;
}

/// The content of a file. It may be a secret.
#[derive(Clone)]
pub struct ConfigFile {
    /// Its text.
    pub text: String,
    /// Which access other users have.
    pub exposure: FileExposure,
}

/// Which access other users have to a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileExposure {
    /// None, or not known.
    Private,
    /// Other users may read it.
    Readable,
    /// Other users may write it.
    Writable,
}

/// Command line flags, unparsed, so that all layers are parsed in one place.
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
    /// `--store-runs`.
    pub store_runs: Option<String>,
    /// `--store-content`.
    pub store_content: Option<String>,
    /// `--record`, the former name of `--store-runs`.
    pub former_record: Option<String>,
    /// `--content`, the former name of `--store-content`.
    pub former_content: Option<String>,
    /// `--log`.
    pub log: Option<String>,
    /// `--token-file`.
    pub token_file: Option<PathBuf>,
    /// `--no-token`.
    pub token_requirement: TokenRequirement,
}

/// Whether clients need a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TokenRequirement {
    /// Yes.
    #[default]
    Required,
    /// No: every client that can reach the address.
    NotRequired,
}

/// The configuration file: the one that is set, or `foxwedge.toml` in the user's configuration
/// folder. Never one in the current folder: a user who clones a repository has not agreed to its
/// contents.
///
/// # Errors
/// If a variable contains a relative path.
pub fn file(
    flags: &ConfigFlags,
    environment: &dyn ConfigEnvironment,
) -> Result<Option<(PathBuf, SettingOrigin)>, SettingOrigin> {
    if let Some(path) = &flags.config {
        return Ok(Some((path.clone(), SettingOrigin::Flag("--config"))));
    }
    if let Some(path) = path_variable(environment, "FOXWEDGE_CONFIG") {
        let origin = SettingOrigin::Variable("FOXWEDGE_CONFIG".into());
        return if path.is_absolute() { Ok(Some((path, origin))) } else { Err(origin) };
    }
    Ok(config_folder(environment)
        .map(|folder| (folder.join("foxwedge.toml"), SettingOrigin::Default)))
}

/// The file of the token that is created at the first start.
pub fn token_file(environment: &dyn ConfigEnvironment) -> Option<PathBuf> {
    Some(config_folder(environment)?.join("token"))
}

/// `$XDG_CONFIG_HOME/foxwedge` or `~/.config/foxwedge`.
fn config_folder(environment: &dyn ConfigEnvironment) -> Option<PathBuf> {
    Some(base_folder(environment, "XDG_CONFIG_HOME", ".config")?.join("foxwedge"))
}

/// The default store: `$XDG_DATA_HOME/foxwedge/foxwedge.db` or
/// `~/.local/share/foxwedge/foxwedge.db`.
pub(super) fn default_store(environment: &dyn ConfigEnvironment) -> Option<PathBuf> {
    Some(base_folder(environment, "XDG_DATA_HOME", ".local/share")?.join("foxwedge/foxwedge.db"))
}

/// The user's home folder.
pub(super) fn home(environment: &dyn ConfigEnvironment) -> Option<PathBuf> {
    let home =
        path_variable(environment, "HOME").or_else(|| path_variable(environment, "USERPROFILE"));
    home.filter(|home| home.is_absolute())
}

fn base_folder(environment: &dyn ConfigEnvironment, name: &str, below: &str) -> Option<PathBuf> {
    // The XDG specification ignores relative paths.
    path_variable(environment, name)
        .filter(|folder| folder.is_absolute())
        .or_else(|| Some(home(environment)?.join(below)))
}

fn path_variable(environment: &dyn ConfigEnvironment, name: &str) -> Option<PathBuf> {
    environment.variable(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}
