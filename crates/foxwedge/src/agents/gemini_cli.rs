//! Gemini CLI: `.gemini/tmp/<project>/chats/session-<time>-<id>.jsonl`, `.json` in older versions;
//! sub-agents lie in a folder that bears the id of their session.
//!
//! The name holds only the beginning of the id, so the head of each file is read.

use std::{
    collections::{HashMap, HashSet},
    fs,
    path::Path,
};

use foxwedge_dialect::session::Agent;

use super::{Rank, Search, id_in_head};

pub(super) fn look(search: &mut Search) {
    let Some(root) = search.root("GEMINI_CLI_HOME", "").map(|home| home.join(".gemini")) else {
        return;
    };
    let projects = projects(&root);
    for project in search.folders(&root.join("tmp")) {
        let place = fs::read_to_string(project.path.join(".project_root"))
            .ok()
            .map(|text| text.trim().to_owned())
            .filter(|text| !text.is_empty())
            .or_else(|| projects.get(&project.name).cloned());
        look_into(search, &project.path.join("chats"), place.unwrap_or(project.name));
    }
}

fn look_into(search: &mut Search, chats: &Path, project: String) {
    let files = search.files(chats);
    let names: HashSet<String> = files.iter().map(|file| file.name.clone()).collect();
    for file in files {
        let stem = match file.name.strip_suffix(".json") {
            // The session went on in a file of the newer format.
            Some(_) if names.contains(&format!("{}l", file.name)) => continue,
            Some(stem) => stem,
            None => match file.name.strip_suffix(".jsonl") {
                Some(stem) => stem,
                None => continue,
            },
        };
        let Some(short) = stem.strip_prefix("session-") else { continue };
        let short = short.rsplit('-').next().unwrap_or(short);
        let id = id_in_head(&file.path).unwrap_or_else(|| short.to_owned());
        search.add(Agent::GeminiCli, file.path, &id, Rank::Session, Some(project.clone()));
    }
    for parent in search.folders(chats) {
        for file in search.files(&parent.path) {
            let Some(id) = file.name.strip_suffix(".jsonl") else { continue };
            let rank = Rank::SubAgent(Some(parent.name.clone()));
            search.add(Agent::GeminiCli, file.path, id, rank, Some(project.clone()));
        }
    }
}

/// The folders of projects, by the names they have here.
fn projects(root: &Path) -> HashMap<String, String> {
    #[derive(serde::Deserialize)]
    struct Registry {
        projects: HashMap<String, String>,
    }
    let text = fs::read(root.join("projects.json")).unwrap_or_default();
    let registry: Option<Registry> = serde_json::from_slice(&text).ok();
    let turned =
        |registry: Registry| registry.projects.into_iter().map(|(path, name)| (name, path));
    registry.into_iter().flat_map(turned).collect()
}
