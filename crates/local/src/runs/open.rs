//! Opens a store, and closes runs whose process is gone.

use std::{path::Path, sync::Arc};

use foxwedge_store::{AnyStore, ClosedRun, Result, StoreError, StoreUrl};

use super::{
    store_errors::{ADDRESSES, store_error},
    store_location::{locate, named_store},
    sweep::sweep,
};
use crate::output::{self, HelpfulError, clean, pluralize};

/// An open store and its URL.
#[derive(Clone)]
pub struct OpenStore {
    /// Where it is.
    pub url: StoreUrl,
    /// The store.
    pub store: Arc<AnyStore>,
}

/// Whether the store exists.
pub enum StoreLookup {
    /// The default store does not exist: nothing was recorded yet.
    Absent(StoreUrl),
    /// The store exists and is open.
    Found(OpenStore),
}

impl OpenStore {
    /// Converts a store error to an error with help for the user.
    pub fn with_store_error<T>(&self, result: Result<T>) -> anyhow::Result<T> {
        result.map_err(|error| store_error(&self.url, error))
    }

    /// Closes runs whose process is gone.
    pub async fn sweep(&self) -> anyhow::Result<Vec<ClosedRun>> {
        self.with_store_error(sweep(&self.store).await)
    }

    /// Closes runs whose process is gone, and prints how many.
    pub async fn sweep_and_report(self) -> anyhow::Result<OpenStore> {
        let closed = self.sweep().await?.len();
        if closed > 0 {
            output::print_note(&format!(
                "closed {} whose process is gone",
                pluralize(closed, "run")
            ));
        }
        Ok(self)
    }
}

/// Opens an existing store. A missing store is an error if it was named; the default one may be
/// missing.
pub async fn open(flag: Option<&str>) -> anyhow::Result<StoreLookup> {
    let url = locate(flag)?;
    match &url {
        StoreUrl::Sqlite(path) if !path.exists() => match named_store(flag)? {
            Some(_) => Err(missing_store_error(path).into()),
            None => Ok(StoreLookup::Absent(url)),
        },
        StoreUrl::Sqlite(_) | StoreUrl::Memory | StoreUrl::Postgres(_) => {
            Ok(StoreLookup::Found(connect(url).await?))
        }
    }
}

/// Opens a store, or creates it.
pub async fn connect(url: StoreUrl) -> anyhow::Result<OpenStore> {
    match AnyStore::open(&url).await {
        Ok(store) => Ok(OpenStore { url, store: Arc::new(store) }),
        Err(StoreError::Invalid(reason)) => Err(HelpfulError::new(reason).help(ADDRESSES).into()),
        Err(error) => Err(store_error(&url, error)),
    }
}

fn missing_store_error(path: &Path) -> HelpfulError {
    HelpfulError::new(format!("there is no store at `{}`", clean(&path.to_string_lossy())))
        .help("the first recorded run creates the store: `… | foxwedge follow --store FILE`")
}
