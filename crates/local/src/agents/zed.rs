//! Zed: `threads/threads.db` in its data folder.

use super::{SessionSearch, opencode::find_in_database};

pub(super) fn find_sessions(search: &mut SessionSearch<'_>) {
    let data = match (cfg!(target_os = "macos"), cfg!(windows)) {
        (true, _) => search.folders.home().map(|home| home.join("Library/Application Support/Zed")),
        (_, true) => search.folders.variable("LOCALAPPDATA").map(|data| data.join("Zed")),
        _ => search
            .folders
            .variable("FLATPAK_XDG_DATA_HOME")
            .or_else(|| search.folders.variable_or_home("XDG_DATA_HOME", ".local/share"))
            .map(|data| data.join("zed")),
    };
    for file in data.map(|data| search.list_files(&data.join("threads"))).unwrap_or_default() {
        if file.name == "threads.db" {
            find_in_database(search, file.path, "zed");
        }
    }
}
