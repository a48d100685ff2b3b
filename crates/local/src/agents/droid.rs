//! Droid: `~/.factory/sessions/<folder>/<session>.jsonl`; `$FACTORY_HOME_OVERRIDE` names another home.

use foxwedge_sessions::{ReadOnlyAgent, SessionAgent};

use super::{SessionOrigin, SessionSearch};

pub(super) fn find_sessions(search: &mut SessionSearch<'_>) {
    let home = search.folders.variable("FACTORY_HOME_OVERRIDE").or_else(|| search.folders.home());
    let Some(home) = home else { return };
    for file in search.list_files_below(&home.join(".factory/sessions"), 1) {
        if let Some(id) = file.name.strip_suffix(".jsonl").map(str::to_owned) {
            let agent = SessionAgent::ReadOnly(ReadOnlyAgent::Droid);
            search.add(agent, file.path, &id, SessionOrigin::Session, None);
        }
    }
}
