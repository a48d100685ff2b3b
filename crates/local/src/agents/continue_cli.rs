//! Continue: `~/.continue/sessions/<session>.json`, or below `$CONTINUE_GLOBAL_DIR`. The list beside them,
//! `sessions.json`, is not a session.

use foxwedge_sessions::{ReadOnlyAgent, SessionAgent};

use super::{SessionOrigin, SessionSearch};

pub(super) fn find_sessions(search: &mut SessionSearch<'_>) {
    let Some(root) = search.folders.variable_or_home("CONTINUE_GLOBAL_DIR", ".continue") else {
        return;
    };
    for file in search.list_files(&root.join("sessions")) {
        let id = file.name.strip_suffix(".json").filter(|id| *id != "sessions").map(str::to_owned);
        if let Some(id) = id {
            let agent = SessionAgent::ReadOnly(ReadOnlyAgent::Continue);
            search.add(agent, file.path, &id, SessionOrigin::Session, None);
        }
    }
}
