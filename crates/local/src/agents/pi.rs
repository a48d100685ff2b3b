//! pi: `~/.pi/agent/sessions/--<folder>--/<time>_<session>.jsonl`. `PI_CODING_AGENT_SESSION_DIR` names
//! another folder of sessions, `PI_CODING_AGENT_DIR` another folder of the agent.

use foxwedge_sessions::SessionAgent;

use super::{SessionOrigin, SessionSearch};

pub(super) fn find_sessions(search: &mut SessionSearch<'_>) {
    let agent = search.folders.variable_or_home("PI_CODING_AGENT_DIR", ".pi/agent");
    let named = search.folders.variable("PI_CODING_AGENT_SESSION_DIR");
    let Some(root) = named.or_else(|| agent.map(|agent| agent.join("sessions"))) else { return };
    for file in search.list_files_below(&root, 1) {
        let stem = file.name.strip_suffix(".jsonl").and_then(|stem| stem.split_once('_'));
        if let Some((_, id)) = stem.filter(|(_, id)| !id.is_empty()) {
            search.add(SessionAgent::Pi, file.path, id, SessionOrigin::Session, None);
        }
    }
}
