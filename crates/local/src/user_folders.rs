//! The folders of a user: where agents keep their sessions, and where we keep backups and locks.

use std::{env, path::PathBuf};

use crate::output::HelpfulError;

/// Where the folders of a user are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UserFolders {
    /// Where the environment of this process says.
    Environment,
    /// At their default places below this home folder, whatever the environment says.
    Below(PathBuf),
}

impl UserFolders {
    /// The home folder.
    pub fn home(&self) -> Option<PathBuf> {
        match self {
            UserFolders::Environment => {
                self.variable("HOME").or_else(|| self.variable("USERPROFILE"))
            }
            UserFolders::Below(home) => Some(home.clone()),
        }
    }

    /// A folder that an environment variable names.
    pub(crate) fn variable(&self, name: &str) -> Option<PathBuf> {
        match self {
            UserFolders::Environment => {
                env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
            }
            UserFolders::Below(_) => None,
        }
    }

    /// A folder that an environment variable names, or `default` in the home folder.
    pub(crate) fn variable_or_home(&self, name: &str, default: &str) -> Option<PathBuf> {
        self.variable(name).or_else(|| Some(self.home()?.join(default)))
    }

    /// Our state: `$FOXWEDGE_STATE_DIR`, `$XDG_STATE_HOME/foxwedge` or `~/.local/state/foxwedge`.
    ///
    /// # Errors
    /// If there is no home folder, and no variable names one.
    pub fn state(&self) -> Result<PathBuf, HelpfulError> {
        self.variable("FOXWEDGE_STATE_DIR")
            .or_else(|| Some(self.variable("XDG_STATE_HOME")?.join("foxwedge")))
            .or_else(|| Some(self.home()?.join(".local/state/foxwedge")))
            .ok_or_else(|| {
                HelpfulError::new("no folder for backups is configured")
                    .help("set FOXWEDGE_STATE_DIR to a folder that only you can read")
            })
    }
}
