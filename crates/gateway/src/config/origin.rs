//! The origin of a value, and configuration issues.

use std::{fmt, sync::Arc};

/// The layer that set a value. Later variants override earlier ones.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SettingOrigin {
    /// Not set.
    Default,
    /// A file.
    File {
        /// Its path.
        path: Arc<str>,
        /// The line, from 1; 0 for the file as a whole.
        line: usize,
    },
    /// An environment variable.
    Variable(Arc<str>),
    /// A command line flag.
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

/// The severity of an issue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConfigIssueSeverity {
    /// The configuration cannot be used.
    Error,
    /// The configuration can be used.
    Warning,
}

/// A configuration issue. Contains no secret.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigIssue {
    /// The severity.
    pub severity: ConfigIssueSeverity,
    /// The origin of the value.
    pub origin: SettingOrigin,
    /// The key, such as `limits.request_body`; empty if the issue concerns a whole file.
    pub key: String,
    /// What is wrong.
    pub message: String,
    /// How to fix it.
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

/// All errors and warnings of a configuration that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}", lines(.complaints))]
pub struct ConfigError {
    /// The issues, in the order of their origins.
    pub complaints: Vec<ConfigIssue>,
}

fn lines(issues: &[ConfigIssue]) -> String {
    issues.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
