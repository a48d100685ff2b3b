//! The store of a test: a file, or a schema of a PostgreSQL server.

use std::{
    path::Path,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use foxwedge_store::{AnyStore, StoreUrl};

use crate::{
    server::{Care, OFF, Server, VARIABLE},
    temporary::Temporary,
};

/// The store of one test.
pub(crate) struct TestStore {
    address: String,
    _folder: Option<Temporary>,
}

/// Kind of a test store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StoreKind {
    File,
    Postgres,
}

impl TestStore {
    /// A new store; prints a line and returns `None` if there is no server.
    pub(crate) fn new(kind: StoreKind) -> Option<TestStore> {
        match kind {
            StoreKind::File => Some(TestStore::file()),
            StoreKind::Postgres => Some(TestStore { address: schema()?, _folder: None }),
        }
    }

    pub(crate) fn file() -> TestStore {
        let folder = Temporary::folder();
        let address = format!("sqlite:{}", folder.path("store.db").display());
        TestStore { address, _folder: Some(folder) }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) async fn open(&self) -> Arc<AnyStore> {
        open(&self.address).await
    }
}

/// A store at an address.
pub(crate) async fn open(address: &str) -> Arc<AnyStore> {
    let url: StoreUrl = address.parse().expect("an address");
    Arc::new(AnyStore::open(&url).await.expect("a store"))
}

/// The address of an empty schema.
fn schema() -> Option<String> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    static SHARED: OnceLock<Result<(String, Option<Server>), String>> = OnceLock::new();
    match SHARED.get_or_init(shared) {
        Ok((url, _)) => {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            // On a permanent server, an earlier process may have had our id.
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let schema = format!("loop_{}_{}_{count}", now.as_millis(), std::process::id());
            let sign = if url.contains('?') { '&' } else { '?' };
            Some(format!("{url}{sign}schema={schema}&application_name={schema}"))
        }
        Err(why) => {
            println!("skipped: no PostgreSQL: {why}");
            None
        }
    }
}

fn shared() -> Result<(String, Option<Server>), String> {
    if let Some(url) = std::env::var(VARIABLE).ok().filter(|url| url != OFF) {
        return Ok((url, None));
    }
    let server = Server::start(Path::new(env!("CARGO_TARGET_TMPDIR")), Care::Fast, &[])?;
    Ok((server.url(), Some(server)))
}
