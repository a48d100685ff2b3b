//! kimi-cli: `~/.kimi/sessions/<folder>/<session>/context.jsonl`, or below `$KIMI_SHARE_DIR`.

use foxwedge_sessions::{ReadOnlyAgent, SessionAgent};

use super::{SessionOrigin, SessionSearch};

pub(super) fn find_sessions(search: &mut SessionSearch<'_>) {
    let Some(root) = search.folders.variable_or_home("KIMI_SHARE_DIR", ".kimi") else { return };
    for folder in search.list_folders(&root.join("sessions")) {
        for session in search.list_folders(&folder.path) {
            let file = session.path.join("context.jsonl");
            if file.is_file() {
                let agent = SessionAgent::ReadOnly(ReadOnlyAgent::KimiCli);
                search.add(agent, file, &session.name, SessionOrigin::Session, None);
            }
        }
    }
}
