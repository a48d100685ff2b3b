//! Where a value comes from, and what may be wrong with it.

use std::{fmt, sync::Arc};

/// The layer that set a value; each is stronger than those before it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Origin {
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

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => formatter.write_str("default"),
            Origin::File { path, line: 0 } => formatter.write_str(path),
            Origin::File { path, line } => write!(formatter, "{path}:{line}"),
            Origin::Variable(name) => formatter.write_str(name),
            Origin::Flag(name) => formatter.write_str(name),
        }
    }
}

/// Whether a complaint stands in the way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weight {
    /// Nothing starts.
    Error,
    /// It starts, and somebody should know.
    Warning,
}

/// Something that is wrong. Holds no secret.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Complaint {
    /// Whether it stands in the way.
    pub weight: Weight,
    /// Who said so.
    pub origin: Origin,
    /// The key, as `limits.body`; empty if it is about a file as a whole.
    pub key: String,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

impl fmt::Display for Complaint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.origin != Origin::Default {
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
pub struct Refused {
    /// The complaints, in the order in which they were found.
    pub complaints: Vec<Complaint>,
}

fn lines(complaints: &[Complaint]) -> String {
    complaints.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
