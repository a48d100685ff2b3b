//! Cline and its kin, Roo Code and Kilo Code: `tasks/<task>/api_conversation_history.json` in the
//! storage of every editor they may run in, and in Cline's own folder.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use foxwedge_sessions::SessionAgent;
use serde::Deserialize;

use super::{SessionOrigin, SessionSearch, env_folder};

/// Editors, by the names of their folders.
const EDITORS: [&str; 6] =
    ["Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf", "Antigravity"];

/// Editors that run on a server.
const SERVERS: [&str; 5] = [
    ".local/share/code-server",
    ".vscode-server/data",
    ".vscode-server-insiders/data",
    ".cursor-server/data",
    ".windsurf-server/data",
];

/// Extensions, and who they are.
const EXTENSIONS: [(&str, &str); 4] = [
    ("saoudrizwan.claude-dev", "cline"),
    ("rooveterinaryinc.roo-cline", "roo"),
    ("rooveterinaryinc.roo-code-nightly", "roo"),
    ("kilocode.kilo-code", "kilo"),
];

const FILE: &str = "api_conversation_history.json";

pub(super) fn find_sessions(search: &mut SessionSearch) {
    let storages: Vec<PathBuf> = editor_folders(search.home.as_deref())
        .into_iter()
        .map(|editor| editor.join("User/globalStorage"))
        .collect();
    for storage in storages {
        for (extension, product) in EXTENSIONS {
            find_in_storage(search, &storage.join(extension), product);
        }
    }
    if let Some(own) = env_folder("CLINE_DATA_DIR").or_else(|| {
        search.env_or_home_folder("CLINE_DIR", ".cline").map(|folder| folder.join("data"))
    }) {
        find_in_storage(search, &own, "cline");
    }
}

/// Where editors keep what is theirs, on every system.
fn editor_folders(home: Option<&Path>) -> Vec<PathBuf> {
    let configuration = env_folder("XDG_CONFIG_HOME").or_else(|| Some(home?.join(".config")));
    let library = home.map(|home| home.join("Library/Application Support"));
    let roots = [configuration, library, env_folder("APPDATA")];
    let mut folders: Vec<PathBuf> = roots
        .into_iter()
        .flatten()
        .flat_map(|root| EDITORS.map(|editor| root.join(editor)))
        .collect();
    folders.extend(home.into_iter().flat_map(|home| SERVERS.map(|server| home.join(server))));
    folders
}

fn find_in_storage(search: &mut SessionSearch, root: &Path, product: &'static str) {
    let tasks = search.list_folders(&root.join("tasks"));
    if tasks.is_empty() {
        return;
    }
    let mut known = read_task_history(root);
    for task in tasks {
        let path = task.path.join(FILE);
        if !fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file()) {
            continue;
        }
        let told =
            known.remove(&task.name).or_else(|| read_json(&task.path.join("history_item.json")));
        let told: ClineHistoryItem = told.unwrap_or_default();
        let rank = match told.parent_task_id {
            Some(parent) => SessionOrigin::SubAgent(Some(parent)),
            None => SessionOrigin::Session,
        };
        let folder = told.workspace.or(told.folder).filter(|folder| !folder.is_empty());
        let before = search.found.entries.len();
        search.add(SessionAgent::Cline, path, &task.name, rank, folder);
        for entry in search.found.entries.iter_mut().skip(before) {
            entry.product = product;
            entry.title = told.task.clone();
        }
    }
}

/// What an extension remembers about a task.
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

/// What an extension remembers about all tasks.
fn read_task_history(root: &Path) -> HashMap<String, ClineHistoryItem> {
    let all: Vec<ClineHistoryItem> =
        read_json(&root.join("state/taskHistory.json")).unwrap_or_default();
    all.into_iter().map(|told| (told.id.clone(), told)).collect()
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}
