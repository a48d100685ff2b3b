//! Changes of files by the tools `write` and `edit`: what a call would change, what it is about to
//! change, and how a change is taken back.

use std::{
    fmt,
    io::Read as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde_json::Value;

use crate::{
    StopReceiver, ToolLimits, ToolWorkspace,
    builtin::{FileToolContext, preview_edit, preview_write},
    cancel::CancelToken,
    file_target::{FileTarget, MissingParents},
    refusal::ToolRefusal,
};

/// Time limit for reading and writing a file here.
const FILE_TIMEOUT: Duration = Duration::from_secs(10);

/// A changed file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileChange {
    /// Path from the root of the workspace.
    pub path: PathBuf,
    /// The content before; `None` if there was no file.
    pub before: Option<Vec<u8>>,
    /// The content after; `None` if there is no file.
    pub after: Option<Vec<u8>>,
}

/// Is told of every file that a tool is about to write.
pub trait FileChangeObserver: Send + Sync + 'static {
    /// A call is about to make this change. It may still fail.
    fn before_write(&self, call_id: &str, change: FileChange);
}

/// An observer that can be shown.
#[derive(Clone)]
pub(crate) struct SharedObserver(pub(crate) Arc<dyn FileChangeObserver>);

impl fmt::Debug for SharedObserver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SharedObserver")
    }
}

/// Why a change cannot be taken back.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RestoreError {
    /// The file was changed again later; it is left as it is.
    #[error("it was changed later")]
    ChangedLater,
    /// It cannot be written.
    #[error("{0}")]
    Refused(String),
}

impl ToolWorkspace {
    /// What a call of `write` or `edit` would change; `None` for other tools, and if it would fail.
    /// Changes nothing. May block.
    pub fn preview(&self, tool: &str, input: &Value) -> Option<FileChange> {
        let preview = match tool {
            "write" => preview_write,
            "edit" => preview_edit,
            _ => return None,
        };
        let (limits, cancel) = (ToolLimits::default(), file_token());
        let context =
            FileToolContext { workspace: self, limits: &limits, cancel: &cancel, call_id: "" };
        preview(input, &context).ok()
    }

    /// Takes a change back, unless the file was changed again. May block.
    ///
    /// # Errors
    /// If the file has another content than the change left, or cannot be written.
    pub fn restore(&self, change: &FileChange) -> Result<(), RestoreError> {
        let refused = |ToolRefusal(why): ToolRefusal| RestoreError::Refused(why);
        let (limits, cancel) = (ToolLimits::default(), file_token());
        let unreadable = || RestoreError::Refused("it cannot be read".to_owned());
        let current = self.content(&change.path, limits.file).ok_or_else(unreadable)?;
        if current == change.before {
            return Ok(());
        }
        if current != change.after {
            return Err(RestoreError::ChangedLater);
        }
        let target = FileTarget::find(self, &change.path, MissingParents::Create, &cancel);
        let target = target.map_err(refused)?;
        match &change.before {
            Some(bytes) => target.write(bytes, &cancel).map_err(refused),
            None => target.remove().map_err(refused),
        }
    }

    /// The content of a file of up to `max` bytes, or that there is none; `None` if it cannot be
    /// read.
    pub(crate) fn content(&self, path: &Path, max: usize) -> Option<Option<Vec<u8>>> {
        match self.folder().ok()?.metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Some(None),
            Ok(_) | Err(_) => {}
        }
        let (file, _) = self.open_file(path).ok()?;
        let mut bytes = Vec::new();
        file.take(max as u64 + 1).read_to_end(&mut bytes).ok()?;
        (bytes.len() <= max).then_some(Some(bytes))
    }
}

impl FileToolContext<'_> {
    /// Tells the observer of a change, if it is known.
    pub(crate) fn announce(&self, change: impl FnOnce() -> Option<FileChange>) {
        if let Some(SharedObserver(observer)) = self.workspace.observer()
            && let Some(change) = change()
        {
            observer.before_write(self.call_id, change);
        }
    }
}

fn file_token() -> CancelToken {
    CancelToken::new(StopReceiver::never(), FILE_TIMEOUT)
}
