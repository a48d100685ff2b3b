//! Qwen Code: `projects/<folder>/chats/<session>.jsonl`, archived sessions in `chats/archive/`.

use foxwedge_sessions::SessionAgent;

use super::{SessionOrigin, SessionSearch};

pub(super) fn find_sessions(search: &mut SessionSearch<'_>) {
    let named = search.folders.variable("QWEN_RUNTIME_DIR");
    let Some(root) = named.or_else(|| search.folders.variable_or_home("QWEN_HOME", ".qwen")) else {
        return;
    };
    for project in search.list_folders(&root.join("projects")) {
        for file in search.list_files_below(&project.path.join("chats"), 1) {
            // Beside a session there may be `<session>.ledger.jsonl`.
            let id = file.name.strip_suffix(".jsonl").filter(|id| !id.contains('.'));
            if let Some(id) = id {
                let project = Some(project.name.clone());
                search.add(SessionAgent::QwenCode, file.path, id, SessionOrigin::Session, project);
            }
        }
    }
}
