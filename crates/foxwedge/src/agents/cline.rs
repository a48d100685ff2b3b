//! Cline and its kin, Roo Code and Kilo Code: `tasks/<task>/api_conversation_history.json` in the
//! storage of every editor they may run in, and in Cline's own folder.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use foxwedge_dialect::session::Agent;
use serde::Deserialize;

use super::{Rank, Search, variable};

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

pub(super) fn look(search: &mut Search) {
    let storages: Vec<PathBuf> = editors(search.home.as_deref())
        .into_iter()
        .map(|editor| editor.join("User/globalStorage"))
        .collect();
    for storage in storages {
        for (extension, product) in EXTENSIONS {
            look_into(search, &storage.join(extension), product);
        }
    }
    if let Some(own) = variable("CLINE_DATA_DIR")
        .or_else(|| search.root("CLINE_DIR", ".cline").map(|folder| folder.join("data")))
    {
        look_into(search, &own, "cline");
    }
}

/// Where editors keep what is theirs, on every system.
fn editors(home: Option<&Path>) -> Vec<PathBuf> {
    let configuration = variable("XDG_CONFIG_HOME").or_else(|| Some(home?.join(".config")));
    let library = home.map(|home| home.join("Library/Application Support"));
    let roots = [configuration, library, variable("APPDATA")];
    let mut folders: Vec<PathBuf> = roots
        .into_iter()
        .flatten()
        .flat_map(|root| EDITORS.map(|editor| root.join(editor)))
        .collect();
    folders.extend(home.into_iter().flat_map(|home| SERVERS.map(|server| home.join(server))));
    folders
}

fn look_into(search: &mut Search, root: &Path, product: &'static str) {
    let tasks = search.folders(&root.join("tasks"));
    if tasks.is_empty() {
        return;
    }
    let mut known = history(root);
    for task in tasks {
        let path = task.path.join(FILE);
        if !fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file()) {
            continue;
        }
        let told =
            known.remove(&task.name).or_else(|| parsed(&task.path.join("history_item.json")));
        let told: Told = told.unwrap_or_default();
        let rank = match told.parent_task_id {
            Some(parent) => Rank::SubAgent(Some(parent)),
            None => Rank::Session,
        };
        let folder = told.workspace.or(told.folder).filter(|folder| !folder.is_empty());
        let before = search.found.entries.len();
        search.add(Agent::Cline, path, &task.name, rank, folder);
        for entry in search.found.entries.iter_mut().skip(before) {
            entry.product = product;
            entry.title = told.task.clone();
        }
    }
}

/// What an extension remembers about a task.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Told {
    id: String,
    task: Option<String>,
    workspace: Option<String>,
    #[serde(rename = "cwdOnTaskInitialization")]
    folder: Option<String>,
    parent_task_id: Option<String>,
}

/// What an extension remembers about all tasks.
fn history(root: &Path) -> HashMap<String, Told> {
    let all: Vec<Told> = parsed(&root.join("state/taskHistory.json")).unwrap_or_default();
    all.into_iter().map(|told| (told.id.clone(), told)).collect()
}

fn parsed<T: serde::de::DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}
