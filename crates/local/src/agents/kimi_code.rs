//! Kimi Code: `~/.kimi-code/sessions/<folder>/<session>/agents/<agent>/wire.jsonl`, with a `state.json` in
//! the folder of the session. The agent `main` is the session; all others are its sub-agents.

use std::fs;

use foxwedge_sessions::SessionAgent;

use super::{SessionOrigin, SessionSearch};

pub(super) fn find_sessions(search: &mut SessionSearch<'_>) {
    let Some(root) = search.folders.variable_or_home("KIMI_CODE_HOME", ".kimi-code") else {
        return;
    };
    for folder in search.list_folders(&root.join("sessions")) {
        for session in search.list_folders(&folder.path) {
            let agents = session.path.join("agents");
            if !agents.is_dir() {
                continue;
            }
            let state = fs::read(session.path.join("state.json")).unwrap_or_default();
            let state: serde_json::Value = serde_json::from_slice(&state).unwrap_or_default();
            let text =
                |key: &str| state.get(key).and_then(|value| value.as_str()).map(str::to_owned);
            for agent in search.list_folders(&agents) {
                let file = agent.path.join("wire.jsonl");
                if !file.is_file() {
                    continue;
                }
                let (id, origin) = match agent.name.as_str() {
                    "main" => (&session.name, SessionOrigin::Session),
                    _ => (&agent.name, SessionOrigin::SubAgent(Some(session.name.clone()))),
                };
                let before = search.found.entries.len();
                search.add(SessionAgent::KimiCode, file, id, origin, text("cwd"));
                for entry in search.found.entries.iter_mut().skip(before) {
                    entry.title = text("title");
                }
            }
        }
    }
}
