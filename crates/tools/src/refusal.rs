//! Why a tool refuses a call, in a text that helps a model do better.

use std::{io, path::Path};

use crate::{ToolCallResult, path::display_path};

/// Why a tool refuses a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ToolRefusal(pub(crate) String);

impl ToolRefusal {
    /// The refusal for a system error about a path.
    pub(crate) fn of(error: &io::Error, path: &Path) -> ToolRefusal {
        let path = display_path(path);
        ToolRefusal(match error.kind() {
            io::ErrorKind::NotFound => format!("`{path}` does not exist"),
            // This error comes from the sandbox of `cap-std`, not from the system.
            io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
                format!("`{path}` leads out of the workspace; use only what lies inside of it")
            }
            io::ErrorKind::PermissionDenied => format!("`{path}`: permission denied"),
            io::ErrorKind::NotADirectory => format!("`{path}`: a part of it is not a folder"),
            io::ErrorKind::IsADirectory => format!("`{path}` is a folder"),
            io::ErrorKind::InvalidFilename => format!("`{path}`: this is not a possible name"),
            _ if is_loop(error) => {
                format!("`{path}`: too many links, or a link that may not be followed")
            }
            _ => format!("`{path}`: {error}"),
        })
    }
}

impl From<ToolRefusal> for ToolCallResult {
    fn from(refusal: ToolRefusal) -> ToolCallResult {
        ToolCallResult::failed(refusal.0)
    }
}

#[cfg(unix)]
fn is_loop(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

#[cfg(not(unix))]
fn is_loop(_: &io::Error) -> bool {
    false
}
