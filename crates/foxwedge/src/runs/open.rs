//! Opens a store, and closes runs whose process is gone before anybody looks at them.

use std::{path::Path, sync::Arc};

use foxwedge_store::{AnyStore, Result, StoreError, StoreUrl, Swept};

use super::{
    place::{asked_for, locate},
    sweep::sweep,
    trouble::{ADDRESSES, told},
};
use crate::say::{self, Trouble, clean, count};

/// A store, and where it is.
#[derive(Clone)]
pub(crate) struct Kept {
    pub(crate) url: StoreUrl,
    pub(crate) store: Arc<AnyStore>,
}

/// Whether there is a store.
pub(crate) enum Missing {
    /// There is none in the usual place: nothing was kept yet.
    Nothing(StoreUrl),
    /// There is.
    Found(Kept),
}

impl Kept {
    /// What the store answered, or its error for people.
    pub(crate) fn or_tell<T>(&self, result: Result<T>) -> anyhow::Result<T> {
        result.map_err(|error| told(&self.url, error))
    }

    /// Closes runs whose process is gone.
    pub(crate) async fn sweep(&self) -> anyhow::Result<Vec<Swept>> {
        self.or_tell(sweep(&self.store).await)
    }

    /// The same, and says how many.
    pub(crate) async fn swept(self) -> anyhow::Result<Kept> {
        let closed = self.sweep().await?.len();
        if closed > 0 {
            say::note(&format!("closed {} whose process is gone", count(closed, "run")));
        }
        Ok(self)
    }
}

/// Opens a store that should be there. One that was named and is not there is an error; the usual
/// one may be missing.
pub(crate) async fn open(flag: Option<&str>) -> anyhow::Result<Missing> {
    let url = locate(flag)?;
    match &url {
        StoreUrl::Sqlite(path) if !path.exists() => match asked_for(flag)? {
            Some(_) => Err(absent(path).into()),
            None => Ok(Missing::Nothing(url)),
        },
        StoreUrl::Sqlite(_) | StoreUrl::Memory | StoreUrl::Postgres(_) => {
            Ok(Missing::Found(connect(url).await?))
        }
    }
}

/// Opens a store, and makes it if it is not there.
pub(crate) async fn connect(url: StoreUrl) -> anyhow::Result<Kept> {
    match AnyStore::open(&url).await {
        Ok(store) => Ok(Kept { url, store: Arc::new(store) }),
        Err(StoreError::Invalid(why)) => Err(Trouble::new(why).help(ADDRESSES).into()),
        Err(error) => Err(told(&url, error)),
    }
}

fn absent(path: &Path) -> Trouble {
    Trouble::new(format!("there is no store at `{}`", clean(&path.to_string_lossy())))
        .help("a store is made when the first run is kept: `… | foxwedge follow --store FILE`")
}
