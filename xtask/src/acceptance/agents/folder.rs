//! The folders of an agent that is tested, and its turns in them.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use crate::acceptance::{
    install::copy_files,
    process::{OwnedProcess, wait_for},
};

/// The folders of one agent.
pub(super) struct AgentFolder {
    pub(super) path: PathBuf,
}

/// What the tools of the agent read.
pub(super) const FILES: [(&str, &str); 2] = [("first.txt", "alpha\n"), ("second.txt", "beta\n")];

impl AgentFolder {
    /// Creates it, empty.
    pub(super) fn new(path: PathBuf) -> Result<AgentFolder, String> {
        let folder = AgentFolder { path };
        let set_up = || -> io::Result<()> {
            if folder.path.exists() {
                fs::remove_dir_all(&folder.path)?;
            }
            for path in [folder.home(), folder.workspace(), folder.temporary(), folder.record("")] {
                fs::create_dir_all(path)?;
            }
            let write =
                |(name, text): &(&str, &str)| fs::write(folder.workspace().join(name), text);
            FILES.iter().try_for_each(write)
        };
        set_up().map_err(|error| format!("{}: {error}", folder.path.display()))?;
        Ok(folder)
    }

    pub(super) fn home(&self) -> PathBuf {
        self.path.join("home")
    }

    pub(super) fn workspace(&self) -> PathBuf {
        self.path.join("workspace")
    }

    pub(super) fn temporary(&self) -> PathBuf {
        self.path.join("temporary")
    }

    /// Where the files of one step are kept.
    pub(super) fn record(&self, name: &str) -> PathBuf {
        self.path.join("kept").join(name)
    }

    /// Saves the home as it is.
    pub(super) fn save(&self, moment: &str) -> io::Result<()> {
        copy_files(&self.home(), &self.path.join(moment), &|_| true)
    }

    /// The home as it was, at the same path: agents remember whole paths.
    pub(super) fn restore(&self, moment: &str) -> io::Result<()> {
        fs::remove_dir_all(self.home())?;
        copy_files(&self.path.join(moment), &self.home(), &|_| true)
    }
}

/// How a turn of an agent ended.
pub(super) struct TurnEnd {
    /// Its exit code; none if it was killed.
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// Runs an agent to its end. One that does not end is killed, with everything that it started.
pub(super) fn run_turn(mut command: Command, folder: &Path) -> Result<TurnEnd, String> {
    let mut process = OwnedProcess::start_tree(&mut command, folder)?;
    let status = wait_for("the agent ends", || process.status()).ok();
    process.kill();
    let text = |name: &str| {
        let path = folder.join(name);
        let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok::<_, String>(String::from_utf8_lossy(&bytes).into_owned())
    };
    let code = status.and_then(|status| status.code());
    Ok(TurnEnd { code, stdout: text("stdout")?, stderr: text("stderr")? })
}
