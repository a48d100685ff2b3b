//! Gemini CLI: `.gemini/tmp/<project>/chats/session-<time>-<id>.jsonl`, `.json` in older versions.
//! Sub-agents are in a folder named after the id of their session.
//!
//! The file name has only the beginning of the id, so the head of each file is read.

use std::{
    collections::{HashMap, HashSet},
    fs,
    path::Path,
};

use foxwedge_sessions::SessionAgent;

use super::{SessionOrigin, SessionSearch, read_session_id};

pub(super) fn find_sessions(search: &mut SessionSearch<'_>) {
    let Some(root) =
        search.folders.variable_or_home("GEMINI_CLI_HOME", "").map(|home| home.join(".gemini"))
    else {
        return;
    };
    let projects = read_project_paths(&root);
    for project in search.list_folders(&root.join("tmp")) {
        let project_path = fs::read_to_string(project.path.join(".project_root"))
            .ok()
            .map(|text| text.trim().to_owned())
            .filter(|text| !text.is_empty())
            .or_else(|| projects.get(&project.name).cloned());
        find_in_chats(search, &project.path.join("chats"), project_path.unwrap_or(project.name));
    }
}

fn find_in_chats(search: &mut SessionSearch<'_>, chats: &Path, project: String) {
    let files = search.list_files(chats);
    let names: HashSet<String> = files.iter().map(|file| file.name.clone()).collect();
    for file in files {
        let stem = match file.name.strip_suffix(".json") {
            // The session continues in a file of the newer format.
            Some(_) if names.contains(&format!("{}l", file.name)) => continue,
            Some(stem) => stem,
            None => match file.name.strip_suffix(".jsonl") {
                Some(stem) => stem,
                None => continue,
            },
        };
        let Some(short) = stem.strip_prefix("session-") else { continue };
        let short = short.rsplit('-').next().unwrap_or(short);
        let id = read_session_id(&file.path).unwrap_or_else(|| short.to_owned());
        search.add(
            SessionAgent::GeminiCli,
            file.path,
            &id,
            SessionOrigin::Session,
            Some(project.clone()),
        );
    }
    for parent in search.list_folders(chats) {
        for file in search.list_files(&parent.path) {
            let Some(id) = file.name.strip_suffix(".jsonl") else { continue };
            let origin = SessionOrigin::SubAgent(Some(parent.name.clone()));
            search.add(SessionAgent::GeminiCli, file.path, id, origin, Some(project.clone()));
        }
    }
}

/// Project folders, by the project names that Gemini CLI uses.
fn read_project_paths(root: &Path) -> HashMap<String, String> {
    #[derive(serde::Deserialize)]
    struct GeminiProjectRegistry {
        projects: HashMap<String, String>,
    }
    let text = fs::read(root.join("projects.json")).unwrap_or_default();
    let registry: Option<GeminiProjectRegistry> = serde_json::from_slice(&text).ok();
    let by_name = |registry: GeminiProjectRegistry| {
        registry.projects.into_iter().map(|(path, name)| (name, path))
    };
    registry.into_iter().flat_map(by_name).collect()
}
