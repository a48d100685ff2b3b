//! Where a value comes from, and what may be wrong with it.

use std::{fmt, sync::Arc};

/// The layer that set a value; each is stronger than those before it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SettingOrigin {
    /// Nobody set it.
    Default,
    /// A file.
    File {
        /// Its path.
        path: Arc<str>,
        /// The line, from 1; 0 for the file as a whole.
        line: usize,
    },
    /// A variable of the environment.
    Variable(Arc<str>),
    /// A flag of the command line.
    Flag(&'static str),
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingOrigin::Default => formatter.write_str("default"),
            SettingOrigin::File { path, line: 0 } => formatter.write_str(path),
            SettingOrigin::File { path, line } => write!(formatter, "{path}:{line}"),
            SettingOrigin::Variable(name) => formatter.write_str(name),
            SettingOrigin::Flag(name) => formatter.write_str(name),
        }
    }
}

/// Whether a complaint stands in the way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConfigIssueSeverity {
    /// Nothing starts.
    Error,
    /// It starts, and somebody should know.
    Warning,
}

/// Something that is wrong. Holds no secret.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigIssue {
    /// Whether it stands in the way.
    pub severity: ConfigIssueSeverity,
    /// Who said so.
    pub origin: SettingOrigin,
    /// The key, as `limits.body`; empty if it is about a file as a whole.
    pub key: String,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

impl fmt::Display for ConfigIssue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.origin != SettingOrigin::Default {
            write!(formatter, "{}: ", self.origin)?;
        }
        if !self.key.is_empty() {
            write!(formatter, "`{}`: ", self.key)?;
        }
        formatter.write_str(&self.message)
    }
}

/// Everything that stands in the way, and the warnings beside it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}", lines(.complaints))]
pub struct ConfigError {
    /// The complaints, in the order in which they were found.
    pub complaints: Vec<ConfigIssue>,
}

fn lines(complaints: &[ConfigIssue]) -> String {
    complaints.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
