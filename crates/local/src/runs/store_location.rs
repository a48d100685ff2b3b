//! Locates the store: from the flag, the environment variable, or the default path.

use std::{env, path::PathBuf};

use foxwedge_store::StoreUrl;

use super::store_errors;
use crate::{
    agents,
    output::{HelpfulError, clean},
};

/// The environment variable for the store.
const VARIABLE: &str = "FOXWEDGE_STORE";

/// The store from the flag or the variable, otherwise the default one.
pub fn locate(flag: Option<&str>) -> anyhow::Result<StoreUrl> {
    match named_store(flag)? {
        Some(url) => Ok(url),
        None => Ok(StoreUrl::Sqlite(default_store_path()?)),
    }
}

/// The store from the flag or the variable.
pub fn named_store(flag: Option<&str>) -> anyhow::Result<Option<StoreUrl>> {
    if let Some(text) = flag {
        return parse_store_url("--store", text).map(Some);
    }
    match env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        None => Ok(None),
        Some(value) => match value.into_string() {
            Ok(text) => parse_store_url(VARIABLE, &text).map(Some),
            // A path that is not UTF-8 is still a path.
            Err(value) => Ok(Some(StoreUrl::Sqlite(PathBuf::from(value)))),
        },
    }
}

/// The flag for a suggested next command. A password is not repeated.
pub fn repeat_store_flag(flag: Option<&str>) -> String {
    match flag.map(|text| (text, text.parse::<StoreUrl>())) {
        Some((text, Ok(StoreUrl::Sqlite(_)))) => format!(" --store {}", clean(text)),
        Some((text, Ok(url))) if url.to_string() == text => format!(" --store {}", clean(text)),
        Some(_) | None => String::new(),
    }
}

fn parse_store_url(from: &str, text: &str) -> anyhow::Result<StoreUrl> {
    let url: Result<StoreUrl, _> = text.parse();
    url.map_err(|error| {
        HelpfulError::new(format!("{from}: {error}")).help(store_errors::ADDRESSES).into()
    })
}

/// `$XDG_DATA_HOME/foxwedge/foxwedge.db` or `~/.local/share/foxwedge/foxwedge.db`.
fn default_store_path() -> Result<PathBuf, HelpfulError> {
    let data_home = env::var_os("XDG_DATA_HOME").filter(|value| !value.is_empty());
    // The XDG specification ignores relative paths.
    data_home
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute())
        .or_else(|| Some(agents::home_folder()?.join(".local/share")))
        .map(|folder| folder.join("foxwedge/foxwedge.db"))
        .ok_or_else(|| {
            HelpfulError::new("no folder for the store is configured")
                .help("pass `--store runs.db`, or set FOXWEDGE_STORE")
        })
}
