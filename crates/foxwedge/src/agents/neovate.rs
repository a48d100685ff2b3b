//! Neovate Code: `~/.neovate/projects/<folder>/<session>.jsonl`.

use foxwedge_dialect::session::Agent;

use super::{Rank, Search};

pub(super) fn look(search: &mut Search) {
    let Some(root) = search.home.as_ref().map(|home| home.join(".neovate/projects")) else {
        return;
    };
    for project in search.folders(&root) {
        // What lies deeper, as `requests/`, is no session.
        for file in search.files(&project.path) {
            if let Some(id) = file.name.strip_suffix(".jsonl") {
                let project = Some(project.name.clone());
                search.add(Agent::Neovate, file.path, id, Rank::Session, project);
            }
        }
    }
}
