//! Claude Code: `projects/<folder>/<session>.jsonl`. Its sub-agents are in
//! `<session>/subagents/`, and next to the session in older versions.

use std::path::Path;

use foxwedge_sessions::SessionAgent;

use super::{SessionOrigin, SessionSearch, read_session_id};

/// Levels of subfolders that may hold sub-agents: workflows have their own folders.
const SUB_AGENT_DEPTH: usize = 4;

pub(super) fn find_sessions(search: &mut SessionSearch<'_>) {
    let mut roots = Vec::from_iter(search.folders.variable_or_home("CLAUDE_CONFIG_DIR", ".claude"));
    if search.folders.variable("CLAUDE_CONFIG_DIR").is_none() {
        roots.extend(search.folders.home().map(|home| home.join(".config/claude")));
    }
    for root in roots {
        for project in search.list_folders(&root.join("projects")) {
            find_in_project(search, &project.path, &project.name);
        }
    }
}

fn find_in_project(search: &mut SessionSearch<'_>, folder: &Path, project: &str) {
    for file in search.list_files(folder) {
        let Some(id) = file.name.strip_suffix(".jsonl") else { continue };
        let origin = match is_sub_agent(id) {
            true => SessionOrigin::SubAgent(read_session_id(&file.path)),
            false => SessionOrigin::Session,
        };
        search.add(SessionAgent::ClaudeCode, file.path, id, origin, Some(project.to_owned()));
    }
    for session in search.list_folders(folder) {
        for file in search.list_files_below(&session.path.join("subagents"), SUB_AGENT_DEPTH) {
            let Some(id) = file.name.strip_suffix(".jsonl").filter(|id| is_sub_agent(id)) else {
                continue;
            };
            let origin = SessionOrigin::SubAgent(Some(session.name.clone()));
            search.add(SessionAgent::ClaudeCode, file.path, id, origin, Some(project.to_owned()));
        }
    }
}

fn is_sub_agent(stem: &str) -> bool {
    stem.starts_with("agent-")
}
