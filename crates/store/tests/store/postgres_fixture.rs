//! A database for every test: its own schema on a server that all tests share.

use std::{
    path::Path,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use foxwedge_run::{EventPayload, Outcome, RunEnd, RunEvent, RunSummary, SharedId, TextUpdate};
use foxwedge_store::{
    Lease, NewRun, NewSession, PostgresStore, RunClosing, StartResult, Store, StoredEvent,
};

use crate::server::{Care, OFF, Server, VARIABLE};

/// The URL of an empty schema. Prints a line and returns `None` if there is no server.
pub(crate) fn fresh() -> Option<String> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    static SHARED: OnceLock<Result<Shared, String>> = OnceLock::new();
    match SHARED.get_or_init(shared) {
        Ok(shared) => {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            // On a permanent server another process may have had our process id before.
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let schema = format!("test_{}_{}_{count}", now.as_millis(), std::process::id());
            let sign = if shared.url.contains('?') { '&' } else { '?' };
            Some(format!("{}{sign}schema={schema}&application_name={schema}", shared.url))
        }
        Err(why) => {
            println!("skipped: no PostgreSQL: {why}");
            None
        }
    }
}

/// A server that a test may stop and start.
pub(crate) fn own_server(care: Care, settings: &[&str]) -> Option<Server> {
    match Server::start(cache(), care, settings) {
        Ok(server) => Some(server),
        Err(why) => {
            println!("skipped: no PostgreSQL: {why}");
            None
        }
    }
}

/// A connection for what no store does. It does not see the store's schema.
pub(crate) async fn administrator(url: &str) -> tokio_postgres::Client {
    let plain = url.split('?').next().unwrap_or(url);
    let (client, connection) =
        tokio_postgres::connect(plain, tokio_postgres::NoTls).await.expect("a connection");
    tokio::spawn(connection);
    client
}

/// The value of a URL parameter.
pub(crate) fn parameter<'a>(url: &'a str, name: &str) -> &'a str {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.rfind(|(found, _)| *found == name).map(|(_, value)| value).expect("a parameter")
}

/// Opens a store.
pub(crate) async fn open(url: &str) -> PostgresStore {
    PostgresStore::open(url).await.expect("a store")
}

/// Starts a run in a new session.
pub(crate) async fn begin(store: &impl Store, session: &str, run: &str, ttl: u64) -> Lease {
    let new = NewSession { id: session.to_owned(), ..NewSession::default() };
    store.create_session(new).await.expect("a session");
    let new = NewRun {
        id: run.to_owned(),
        session: session.to_owned(),
        owner: "test".to_owned(),
        ttl,
        ..NewRun::default()
    };
    match store.start_run(new).await.expect("a run") {
        StartResult::New { lease, .. } => lease,
        StartResult::Existing(row) => panic!("{row:?} was there"),
    }
}

/// A text event.
pub(crate) fn text_event(run: &str, seq: u64, text: &str) -> RunEvent {
    let text = TextUpdate { delta: Some(text.to_owned()), ..TextUpdate::default() };
    RunEvent { seq: Some(seq), ..RunEvent::new(&SharedId::from(run), EventPayload::Text(text)) }
}

/// The text of an event.
pub(crate) fn event_text(event: &StoredEvent) -> Option<&str> {
    match &event.event.body {
        EventPayload::Text(text) => text.delta.as_deref(),
        _ => None,
    }
}

/// The end of a run.
pub(crate) fn closing(run: &str, seq: u64, text: &str) -> RunClosing {
    let ended = RunEnd {
        outcome: Some(Outcome::Completed),
        text: Some(text.to_owned()),
        ..RunEnd::default()
    };
    let event = RunEvent::new(&SharedId::from(run), EventPayload::Ended(ended.clone()));
    let events = vec![RunEvent { seq: Some(seq), ..event }];
    RunClosing { events, ended, summary: RunSummary::default(), records: Vec::new() }
}

/// All events of a run, page by page.
pub(crate) async fn all_events(store: &impl Store, run: &str) -> Vec<StoredEvent> {
    let mut events: Vec<StoredEvent> = Vec::new();
    loop {
        let after = events.last().map_or(0, |last| last.seq);
        let page = store.events(run, after, 1_000).await.expect("events");
        if page.is_empty() {
            return events;
        }
        events.extend(page);
    }
}

struct Shared {
    url: String,
    /// Ends with the process: statics are not dropped, but the keeper process notices.
    _server: Option<Server>,
}

fn shared() -> Result<Shared, String> {
    if let Some(url) = std::env::var(VARIABLE).ok().filter(|url| url != OFF) {
        return Ok(Shared { url, _server: None });
    }
    let server = Server::start(cache(), Care::Fast, &[])?;
    Ok(Shared { url: server.url(), _server: Some(server) })
}

fn cache() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}
