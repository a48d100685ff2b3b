//! Crush: `crush.db` in the data folder of each project, by default `.crush`. A list of the projects is
//! in `projects.json` of the global data folder, which may hold a database as well.

use std::{collections::BTreeMap, env, fs, path::PathBuf};

use serde_json::Value;

use super::{SessionSearch, opencode::find_in_database};
use crate::user_folders::UserFolders;

pub(super) fn find_sessions(search: &mut SessionSearch<'_>) {
    let global = search.folders.variable("CRUSH_GLOBAL_DATA").or_else(|| {
        let data = search.folders.variable_or_home("XDG_DATA_HOME", ".local/share")?;
        Some(data.join("crush"))
    });
    let Some(global) = global else { return };
    // The project folder of each database.
    let mut databases: BTreeMap<PathBuf, Option<PathBuf>> = BTreeMap::new();
    for file in search.list_files(&global) {
        match file.name.as_str() {
            "crush.db" => drop(databases.insert(file.path, None)),
            "projects.json" => {
                databases.extend(listed_projects(&fs::read(file.path).unwrap_or_default()))
            }
            _ => {}
        }
    }
    // Older versions keep no list. A project is found from inside it.
    if *search.folders == UserFolders::Environment
        && let Ok(current) = env::current_dir()
    {
        for folder in current.ancestors() {
            let database = folder.join(".crush/crush.db");
            databases.entry(database).or_insert_with(|| Some(folder.to_owned()));
        }
    }
    for (database, project) in databases {
        let before = search.found.entries.len();
        find_in_database(search, database, "crush");
        for entry in search.found.entries.iter_mut().skip(before) {
            entry.project = project.as_ref().map(|folder| folder.to_string_lossy().into_owned());
        }
    }
}

/// The databases in a list of projects, each with the folder of its project.
fn listed_projects(list: &[u8]) -> Vec<(PathBuf, Option<PathBuf>)> {
    let list: Value = serde_json::from_slice(list).unwrap_or_default();
    let projects = list.get("projects").and_then(Value::as_array).into_iter().flatten();
    let databases = projects.filter_map(|project| {
        let text = |key: &str| project.get(key).and_then(Value::as_str).map(PathBuf::from);
        let folder = text("path")?;
        let data = text("data_dir").unwrap_or_else(|| PathBuf::from(".crush"));
        Some((folder.join(data).join("crush.db"), Some(folder)))
    });
    databases.collect()
}
