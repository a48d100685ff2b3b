//! Wake-ups between processes.
//!
//! One connection of its own listens on the schema's channel and speaks on it. A message says
//! "these runs went on to these places" and nothing else: whoever is woken reads the log. Messages
//! are sent outside of the transactions that write, and many at once, since PostgreSQL lets only
//! one transaction that notifies commit at a time.
//!
//! A message may get lost: the connection breaks, or the process that should send it is killed
//! after its commit. So everybody is woken after every new connection, and the ends of the logs
//! are looked at from time to time while somebody watches.

mod outbox;
mod message;
mod connection;

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{sleep, timeout},
};

use self::{connection::ListenConnection, outbox::NoticeOutbox};
use super::{
    failure::{PostgresError, jitter},
    pool::PostgresPool,
};
use crate::{Result, StoreWatch, hub::WakeHub};

/// How long somebody who wants to watch waits for the connection.
const READY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the last messages may take when the store is closed.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);
/// The waits between attempts to connect, in milliseconds.
const RECONNECT_WAITS: [u64; 6] = [20, 100, 300, 1_000, 3_000, 5_000];

/// Tells others, and hears from them.
#[derive(Debug)]
pub(super) struct FanOut {
    shared: Arc<FanOutContext>,
    state: watch::Receiver<ListenState>,
    task: JoinHandle<()>,
}

/// What the connection works on.
#[derive(Debug)]
struct FanOutContext {
    pool: PostgresPool,
    hub: WakeHub,
    outbox: NoticeOutbox,
}

#[derive(Clone, Debug)]
enum ListenState {
    Waiting,
    Listening,
    Down(PostgresError),
}

impl FanOut {
    /// Begins. No connection is made before somebody watches or writes.
    pub(super) fn new(gate: PostgresPool, hub: WakeHub) -> FanOut {
        let shared = Arc::new(FanOutContext { pool: gate, hub, outbox: NoticeOutbox::default() });
        let (teller, state) = watch::channel(ListenState::Waiting);
        let task = tokio::spawn(reconnect(shared.clone(), teller));
        FanOut { shared, state, task }
    }

    /// A run went on to a place: whoever watches here is woken at once, the others soon.
    pub(super) fn publish(&self, run: &str, last: u64) {
        self.shared.hub.publish(run, last);
        self.shared.outbox.put(run, last);
    }

    /// A new watcher, who hears of everything that is committed from now on.
    pub(super) async fn watch(&self) -> Result<StoreWatch> {
        let watch = self.shared.hub.watch();
        self.shared.outbox.wake();
        let mut state = self.state.clone();
        let listening = state.wait_for(|state| matches!(state, ListenState::Listening));
        if let Ok(Ok(_)) = timeout(READY_TIMEOUT, listening).await {
            return Ok(watch);
        }
        let trouble = match &*self.state.borrow() {
            ListenState::Down(trouble) => trouble.clone(),
            ListenState::Waiting | ListenState::Listening => {
                PostgresError::from_text("nobody can listen")
            }
        };
        Err(trouble.into())
    }

    /// Waits, though not for long, until everything is told.
    pub(super) async fn flush(&self) {
        // Whoever does not hear of it looks for it soon.
        let _ = timeout(FLUSH_TIMEOUT, self.shared.outbox.wait_until_idle()).await;
    }
}

impl Drop for FanOut {
    fn drop(&mut self) {
        self.task.abort();
        self.shared.hub.close();
    }
}

/// Connects whenever it is needed, again and again.
async fn reconnect(shared: Arc<FanOutContext>, state: watch::Sender<ListenState>) {
    let mut failed: usize = 0;
    loop {
        shared.outbox.wait_for_notices(|| shared.hub.watchers() > 0).await;
        let trouble = match ListenConnection::connect(&shared).await {
            Ok(line) => {
                failed = 0;
                // Whatever was told while nobody listened is to be read now.
                shared.hub.wake_all();
                state.send_replace(ListenState::Listening);
                line.serve(&shared).await
            }
            Err(trouble) => trouble,
        };
        state.send_replace(ListenState::Down(trouble));
        let wait = RECONNECT_WAITS.get(failed).or(RECONNECT_WAITS.last()).copied().unwrap_or(0);
        let wait = Duration::from_millis(wait);
        sleep(wait + jitter(wait)).await;
        failed += 1;
    }
}
