//! Cline and its forks Roo Code and Kilo Code: `tasks/<task>/api_conversation_history.json` in the
//! storage of every editor they may run in, and in Cline's own folder. Newer versions of Cline write
//! `sessions/<id>/<id>.messages.json` there.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use foxwedge_sessions::SessionAgent;
use serde::Deserialize;

use super::{SessionOrigin, SessionSearch};
use crate::user_folders::UserFolders;

/// Folder names of editors.
const EDITORS: [&str; 6] =
    ["Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf", "Antigravity"];

/// Folders of editors that run on a server, in the home folder.
const SERVERS: [&str; 5] = [
    ".local/share/code-server",
    ".vscode-server/data",
    ".vscode-server-insiders/data",
    ".cursor-server/data",
    ".windsurf-server/data",
];

/// Extension folders, and the product of each.
const EXTENSIONS: [(&str, &str); 4] = [
    ("saoudrizwan.claude-dev", "cline"),
    ("rooveterinaryinc.roo-cline", "roo"),
    ("rooveterinaryinc.roo-code-nightly", "roo"),
    ("kilocode.kilo-code", "kilo"),
];

const FILE: &str = "api_conversation_history.json";

pub(super) fn find_sessions(search: &mut SessionSearch<'_>) {
    let storages: Vec<PathBuf> = editor_folders(search.folders)
        .into_iter()
        .map(|editor| editor.join("User/globalStorage"))
        .collect();
    for storage in storages {
        for (extension, product) in EXTENSIONS {
            find_in_storage(search, &storage.join(extension), product);
        }
    }
    if let Some(own) = search.folders.variable("CLINE_DATA_DIR").or_else(|| {
        search.folders.variable_or_home("CLINE_DIR", ".cline").map(|folder| folder.join("data"))
    }) {
        find_in_storage(search, &own, "cline");
        find_newer_sessions(search, &own.join("sessions"));
    }
}

/// Finds the sessions of newer versions of Cline. What is about a session is in a file beside it.
fn find_newer_sessions(search: &mut SessionSearch<'_>, root: &Path) {
    const END: &str = ".messages.json";
    for folder in search.list_folders(root) {
        for file in search.list_files(&folder.path) {
            let Some(id) = file.name.strip_suffix(END) else { continue };
            let about: ClineSessionFile =
                read_json(&folder.path.join(format!("{id}.json"))).unwrap_or_default();
            let origin = match id == folder.name {
                true => SessionOrigin::Session,
                false => SessionOrigin::SubAgent(Some(folder.name.clone())),
            };
            let before = search.found.entries.len();
            search.add(SessionAgent::Cline, file.path, id, origin, about.cwd);
            for entry in search.found.entries.iter_mut().skip(before) {
                entry.title = about.metadata.title.clone().or_else(|| about.prompt.clone());
            }
        }
    }
}

/// What Cline stores about a session.
#[derive(Deserialize, Default)]
#[serde(default)]
struct ClineSessionFile {
    cwd: Option<String>,
    prompt: Option<String>,
    metadata: ClineSessionTitle,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ClineSessionTitle {
    title: Option<String>,
}

/// The data folders of editors, on every operating system.
fn editor_folders(folders: &UserFolders) -> Vec<PathBuf> {
    let home = folders.home();
    let configuration = folders.variable_or_home("XDG_CONFIG_HOME", ".config");
    let library = home.as_ref().map(|home| home.join("Library/Application Support"));
    let roots = [configuration, library, folders.variable("APPDATA")];
    let mut folders: Vec<PathBuf> = roots
        .into_iter()
        .flatten()
        .flat_map(|root| EDITORS.map(|editor| root.join(editor)))
        .collect();
    folders.extend(home.into_iter().flat_map(|home| SERVERS.map(|server| home.join(server))));
    folders
}

fn find_in_storage(search: &mut SessionSearch<'_>, root: &Path, product: &'static str) {
    let tasks = search.list_folders(&root.join("tasks"));
    if tasks.is_empty() {
        return;
    }
    let mut history = read_task_history(root);
    for task in tasks {
        let path = task.path.join(FILE);
        if !fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file()) {
            continue;
        }
        let item =
            history.remove(&task.name).or_else(|| read_json(&task.path.join("history_item.json")));
        let item: ClineHistoryItem = item.unwrap_or_default();
        let origin = match item.parent_task_id {
            Some(parent) => SessionOrigin::SubAgent(Some(parent)),
            None => SessionOrigin::Session,
        };
        let folder = item.workspace.or(item.folder).filter(|folder| !folder.is_empty());
        let before = search.found.entries.len();
        search.add(SessionAgent::Cline, path, &task.name, origin, folder);
        for entry in search.found.entries.iter_mut().skip(before) {
            entry.product = product;
            entry.title = item.task.clone();
        }
    }
}

/// What an extension stores about a task.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct ClineHistoryItem {
    id: String,
    task: Option<String>,
    workspace: Option<String>,
    #[serde(rename = "cwdOnTaskInitialization")]
    folder: Option<String>,
    parent_task_id: Option<String>,
}

/// The task history of an extension, by task id.
fn read_task_history(root: &Path) -> HashMap<String, ClineHistoryItem> {
    let items: Vec<ClineHistoryItem> =
        read_json(&root.join("state/taskHistory.json")).unwrap_or_default();
    items.into_iter().map(|item| (item.id.clone(), item)).collect()
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}
