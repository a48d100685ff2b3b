//! Neovate Code: `~/.neovate/projects/<folder>/<session>.jsonl`.

use foxwedge_sessions::SessionAgent;

use super::{SessionOrigin, SessionSearch};

pub(super) fn find_sessions(search: &mut SessionSearch<'_>) {
    let Some(root) = search.folders.home().map(|home| home.join(".neovate/projects")) else {
        return;
    };
    for project in search.list_folders(&root) {
        // Subfolders such as `requests/` have no sessions.
        for file in search.list_files(&project.path) {
            if let Some(id) = file.name.strip_suffix(".jsonl") {
                let project = Some(project.name.clone());
                search.add(SessionAgent::Neovate, file.path, id, SessionOrigin::Session, project);
            }
        }
    }
}
