//! opencode 1.x: `opencode.db` in its data folder, or one database for each channel. Kilo CLI shares
//! the schema.

use std::{fs, path::PathBuf};

use super::{SessionOrigin, SessionSearch};
use crate::database::list_sessions;

pub(super) fn find_sessions(search: &mut SessionSearch<'_>) {
    let Some(data) = search.folders.variable_or_home("XDG_DATA_HOME", ".local/share") else {
        return;
    };
    for (product, variable) in [("opencode", "OPENCODE_DB"), ("kilo", "KILO_DB")] {
        let folder = data.join(product);
        let is_own = |name: &str| {
            let stem = name.strip_suffix(".db").and_then(|stem| stem.strip_prefix(product));
            stem.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        let files = search.list_files(&folder);
        let mut databases: Vec<PathBuf> =
            files.into_iter().filter(|file| is_own(&file.name)).map(|file| file.path).collect();
        // An absolute path, or a name in the data folder.
        databases.extend(search.folders.variable(variable).map(|named| folder.join(named)));
        databases.sort();
        databases.dedup();
        for database in databases {
            find_in_database(search, database, product);
        }
    }
}

/// Adds the sessions of a database. A file that is no database, or a damaged one, is named as
/// unreadable.
pub(super) fn find_in_database(
    search: &mut SessionSearch<'_>,
    database: PathBuf,
    product: &'static str,
) {
    if !fs::metadata(&database).is_ok_and(|file| file.is_file() && file.len() > 0) {
        return;
    }
    let sessions = match list_sessions(&database, search.sizes) {
        Ok(sessions) => sessions,
        Err(error) => {
            let error = std::io::Error::other(format!("{error:#}"));
            search.found.unreadable.push((database, error));
            return;
        }
    };
    for session in sessions {
        let origin = match session.parent {
            Some(parent) => SessionOrigin::SubAgent(Some(parent)),
            None => SessionOrigin::Session,
        };
        search.found.entries.push(super::LocalSessionEntry {
            agent: session.agent,
            product,
            id: session.path.id.clone(),
            path: session.path.path(),
            project: session.folder,
            title: session.title,
            size: session.size,
            modified: session.updated,
            origin,
        });
    }
}
