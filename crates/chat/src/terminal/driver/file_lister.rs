//! Lists the files of the folder in the background, for completion.

use std::time::{Duration, Instant};

use foxwedge_tools::ToolWorkspace;
use tokio::{sync::mpsc, task::spawn_blocking};

/// How long a list is used.
const MAX_AGE: Duration = Duration::from_secs(5);
/// Maximum number of listed files.
const MAX_FILES: usize = 20_000;

/// Lists files when they are needed.
pub(super) struct FileLister {
    workspace: Option<ToolWorkspace>,
    started: Option<Instant>,
    /// Where lists go to and come from.
    pub(super) listed: (mpsc::UnboundedSender<Vec<String>>, mpsc::UnboundedReceiver<Vec<String>>),
}

impl FileLister {
    pub(super) fn new(workspace: Option<ToolWorkspace>) -> FileLister {
        FileLister { workspace, started: None, listed: mpsc::unbounded_channel() }
    }

    /// Starts a new list, unless the last one is recent.
    pub(super) fn refresh(&mut self) {
        let is_recent = self.started.is_some_and(|started| started.elapsed() < MAX_AGE);
        if let Some(workspace) = self.workspace.clone().filter(|_| !is_recent) {
            self.started = Some(Instant::now());
            let sender = self.listed.0.clone();
            drop(spawn_blocking(move || sender.send(workspace.files(MAX_FILES))));
        }
    }
}
