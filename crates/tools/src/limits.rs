//! How much the built-in tools read, say and wait.

use std::{path::PathBuf, time::Duration};

/// How much the built-in tools read, say and wait. Whatever stands here, a tool that has something
/// to say says a little of it: numbers that are too small are taken for the smallest useful ones.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToolLimits {
    /// Bytes of an answer of `list`, `read`, `search` and `edit`. What `run` says is kept by the
    /// [`Output`](crate::Output) of its call.
    pub answer: usize,
    /// Bytes of one line that are shown.
    pub line: usize,
    /// Bytes of a file that `write` makes, `edit` changes and `search` looks into.
    pub file: usize,
    /// Entries of folders that `list` shows if it is not told how many; it may be told up to ten
    /// times as many.
    pub entries: usize,
    /// Lines that `search` shows if it is not told how many; it may be told up to ten times as
    /// many.
    pub hits: usize,
    /// How long a tool for files may take.
    pub files: Duration,
    /// How long `run` may take if it is not told how long.
    pub run: Duration,
    /// How long `run` may take at most.
    pub run_max: Duration,
}

/// What commands of `run` see, and what starts them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CommandSettings {
    /// Names of variables that commands see beside the usual ones.
    pub passed_variables: Vec<String>,
    /// A program that calls [`launch`](crate::launch) with [`launched_command`](crate::launched_command).
    /// It becomes the parent of every command, so that a command that looks at its parent finds a
    /// process with the same variables as its own. Not used on Windows.
    pub launcher: Option<PathBuf>,
}

impl Default for ToolLimits {
    fn default() -> ToolLimits {
        ToolLimits {
            answer: 48 << 10,
            line: 2000,
            file: 8 << 20,
            entries: 400,
            hits: 100,
            files: Duration::from_secs(30),
            run: Duration::from_secs(120),
            run_max: Duration::from_secs(600),
        }
    }
}

impl ToolLimits {
    /// The same, with numbers that tools can work with.
    pub(crate) fn clamp_to_useful(self) -> ToolLimits {
        let run_most = self.run_max.max(Duration::from_secs(1));
        ToolLimits {
            answer: self.answer.max(256),
            line: self.line.max(16),
            file: self.file,
            entries: self.entries.clamp(1, 10_000),
            hits: self.hits.clamp(1, 10_000),
            files: self.files,
            run: self.run.clamp(Duration::from_secs(1), run_most),
            run_max: run_most,
        }
    }
}
