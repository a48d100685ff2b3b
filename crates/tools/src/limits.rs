//! Limits of the built-in tools.

use std::{path::PathBuf, time::Duration};

/// Limits of the built-in tools: how much they read and return, and how long they may take. Values
/// that are too small are raised to the smallest useful ones.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToolLimits {
    /// Bytes of a result of `list`, `read`, `search` and `edit`. The
    /// [`OutputCapture`](crate::OutputCapture) of a call limits the output of `run`.
    pub answer: usize,
    /// Bytes shown of one line.
    pub line: usize,
    /// Maximum bytes of a file that `write` creates, `edit` changes or `search` reads.
    pub file: usize,
    /// Default number of entries that `list` shows. A call may request up to ten times as many.
    pub entries: usize,
    /// Default number of lines that `search` shows. A call may request up to ten times as many.
    pub hits: usize,
    /// Time limit of a file tool.
    pub files: Duration,
    /// Default time limit of `run`.
    pub run: Duration,
    /// Maximum time limit of `run`.
    pub run_max: Duration,
}

/// Which variables commands of `run` see, and what starts them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CommandSettings {
    /// Names of variables that commands see in addition to the usual ones.
    pub passed_variables: Vec<String>,
    /// A program that calls [`launch`](crate::launch) with
    /// [`launched_command`](crate::launched_command). It becomes the parent of every command. A
    /// command that reads its parent's variables then finds the same as its own. Not used on
    /// Windows.
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
    /// Raises or lowers values to useful ones.
    pub(crate) fn clamp_to_useful(self) -> ToolLimits {
        let run_max = self.run_max.max(Duration::from_secs(1));
        ToolLimits {
            answer: self.answer.max(256),
            line: self.line.max(16),
            file: self.file,
            entries: self.entries.clamp(1, 10_000),
            hits: self.hits.clamp(1, 10_000),
            files: self.files,
            run: self.run.clamp(Duration::from_secs(1), run_max),
            run_max,
        }
    }
}
