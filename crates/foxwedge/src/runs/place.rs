//! Where the store is: the flag, the variable, or the usual place.

use std::{env, path::PathBuf};

use foxwedge_store::StoreUrl;

use super::trouble;
use crate::{
    agents,
    say::{Trouble, clean},
};

/// The variable that names a store.
const VARIABLE: &str = "FOXWEDGE_STORE";

/// The store that is meant, wherever it is named; the usual one if it is named nowhere.
pub(crate) fn locate(flag: Option<&str>) -> anyhow::Result<StoreUrl> {
    match asked_for(flag)? {
        Some(url) => Ok(url),
        None => Ok(StoreUrl::Sqlite(usual()?)),
    }
}

/// The store that is named by the flag or the variable.
pub(crate) fn asked_for(flag: Option<&str>) -> anyhow::Result<Option<StoreUrl>> {
    if let Some(text) = flag {
        return read("--store", text).map(Some);
    }
    match env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        None => Ok(None),
        Some(value) => match value.into_string() {
            Ok(text) => read(VARIABLE, &text).map(Some),
            // A path that is not UTF-8 is still a path.
            Err(value) => Ok(Some(StoreUrl::Sqlite(PathBuf::from(value)))),
        },
    }
}

/// The flag once more, for a command that somebody may type next. A password is not repeated.
pub(crate) fn again(flag: Option<&str>) -> String {
    match flag.map(|text| (text, text.parse::<StoreUrl>())) {
        Some((text, Ok(StoreUrl::Sqlite(_)))) => format!(" --store {}", clean(text)),
        Some((text, Ok(url))) if url.to_string() == text => format!(" --store {}", clean(text)),
        Some(_) | None => String::new(),
    }
}

fn read(from: &str, text: &str) -> anyhow::Result<StoreUrl> {
    let known: Result<StoreUrl, _> = text.parse();
    known.map_err(|error| Trouble::new(format!("{from}: {error}")).help(trouble::ADDRESSES).into())
}

/// `$XDG_DATA_HOME/foxwedge/foxwedge.db` or `~/.local/share/foxwedge/foxwedge.db`.
fn usual() -> Result<PathBuf, Trouble> {
    let named = env::var_os("XDG_DATA_HOME").filter(|value| !value.is_empty()).map(PathBuf::from);
    // The standard says that one that is not absolute does not count.
    named
        .filter(|folder| folder.is_absolute())
        .or_else(|| Some(agents::home()?.join(".local/share")))
        .map(|folder| folder.join("foxwedge/foxwedge.db"))
        .ok_or_else(|| {
            Trouble::new("there is no folder for the store")
                .help("name a file: `--store runs.db`, or set FOXWEDGE_STORE")
        })
}
