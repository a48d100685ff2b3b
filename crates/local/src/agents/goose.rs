//! goose: `sessions/sessions.db` in its data folder.

use super::{SessionSearch, opencode::find_in_database};

pub(super) fn find_sessions(search: &mut SessionSearch<'_>) {
    let data = match search.folders.variable("GOOSE_PATH_ROOT") {
        Some(root) => Some(root.join("data")),
        None => search
            .folders
            .variable_or_home("XDG_DATA_HOME", ".local/share")
            .map(|data| data.join("goose")),
    };
    let Some(data) = data else { return };
    let folder = data.join("sessions");
    for file in search.list_files(&folder) {
        if file.name == "sessions.db" {
            find_in_database(search, file.path, "goose");
        }
    }
}
