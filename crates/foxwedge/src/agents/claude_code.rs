//! Claude Code: `projects/<folder>/<session>.jsonl`; its sub-agents lie in
//! `<session>/subagents/`, and beside the session in older versions.

use std::path::Path;

use foxwedge_dialect::session::Agent;

use super::{Rank, Search, id_in_head, variable};

/// How deep sub-agents lie below their folder: workflows have folders of their own.
const DEPTH: usize = 4;

pub(super) fn look(search: &mut Search) {
    let mut roots = Vec::from_iter(search.root("CLAUDE_CONFIG_DIR", ".claude"));
    if variable("CLAUDE_CONFIG_DIR").is_none() {
        roots.extend(search.home.as_ref().map(|home| home.join(".config/claude")));
    }
    for root in roots {
        for project in search.folders(&root.join("projects")) {
            look_into(search, &project.path, &project.name);
        }
    }
}

fn look_into(search: &mut Search, folder: &Path, project: &str) {
    for file in search.files(folder) {
        let Some(id) = file.name.strip_suffix(".jsonl") else { continue };
        let rank = match is_sub_agent(id) {
            true => Rank::SubAgent(id_in_head(&file.path)),
            false => Rank::Session,
        };
        search.add(Agent::ClaudeCode, file.path, id, rank, Some(project.to_owned()));
    }
    for session in search.folders(folder) {
        for file in search.files_below(&session.path.join("subagents"), DEPTH) {
            let Some(id) = file.name.strip_suffix(".jsonl").filter(|id| is_sub_agent(id)) else {
                continue;
            };
            let rank = Rank::SubAgent(Some(session.name.clone()));
            search.add(Agent::ClaudeCode, file.path, id, rank, Some(project.to_owned()));
        }
    }
}

fn is_sub_agent(stem: &str) -> bool {
    stem.starts_with("agent-")
}
