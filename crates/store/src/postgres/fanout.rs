//! Wake-ups between processes.
//!
//! One dedicated connection listens on the schema's channel and sends on it. A message contains
//! runs with their last sequence numbers and nothing else; a woken reader reads the log. Messages
//! are sent outside the writing transactions, many at once, because PostgreSQL commits only one
//! notifying transaction at a time.
//!
//! A message may be lost: the connection breaks, or the sending process is killed after its commit.
//! Therefore all watchers are woken after every reconnect, and the ends of the logs are polled
//! while there is a watcher.

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

/// How long a new watcher waits for the connection.
const READY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the last messages may take when the store is closed.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);
/// Waits between attempts to connect, in milliseconds.
const RECONNECT_WAITS: [u64; 6] = [20, 100, 300, 1_000, 3_000, 5_000];

/// Sends wake-ups to other processes and receives theirs.
#[derive(Debug)]
pub(super) struct FanOut {
    shared: Arc<FanOutContext>,
    state: watch::Receiver<ListenState>,
    task: JoinHandle<()>,
}

/// State shared with the connection.
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
    /// Starts the task. It connects only once there is a watcher or a message.
    pub(super) fn new(pool: PostgresPool, hub: WakeHub) -> FanOut {
        let shared = Arc::new(FanOutContext { pool, hub, outbox: NoticeOutbox::default() });
        let (state_sender, state) = watch::channel(ListenState::Waiting);
        let task = tokio::spawn(reconnect(shared.clone(), state_sender));
        FanOut { shared, state, task }
    }

    /// Announces new events of a run. Local watchers are woken at once, other processes soon.
    pub(super) fn publish(&self, run: &str, last: u64) {
        self.shared.hub.publish(run, last);
        self.shared.outbox.put(run, last);
    }

    /// Adds a watcher. It is woken for every later commit.
    pub(super) async fn watch(&self) -> Result<StoreWatch> {
        let watch = self.shared.hub.watch();
        self.shared.outbox.wake();
        let mut state = self.state.clone();
        let listening = state.wait_for(|state| matches!(state, ListenState::Listening));
        if let Ok(Ok(_)) = timeout(READY_TIMEOUT, listening).await {
            return Ok(watch);
        }
        let error = match &*self.state.borrow() {
            ListenState::Down(error) => error.clone(),
            ListenState::Waiting | ListenState::Listening => {
                PostgresError::from_text("the listening connection is not ready")
            }
        };
        Err(error.into())
    }

    /// Waits briefly until all messages are sent.
    pub(super) async fn flush(&self) {
        // A process that misses a message finds the events by polling.
        let _ = timeout(FLUSH_TIMEOUT, self.shared.outbox.wait_until_idle()).await;
    }
}

impl Drop for FanOut {
    fn drop(&mut self) {
        self.task.abort();
        self.shared.hub.close();
    }
}

/// Connects whenever the connection is needed.
async fn reconnect(shared: Arc<FanOutContext>, state: watch::Sender<ListenState>) {
    let mut failures: usize = 0;
    loop {
        shared.outbox.wait_for_notices(|| shared.hub.watchers() > 0).await;
        let error = match ListenConnection::connect(&shared).await {
            Ok(connection) => {
                failures = 0;
                // Messages may have been missed while not connected.
                shared.hub.wake_all();
                state.send_replace(ListenState::Listening);
                connection.serve(&shared).await
            }
            Err(error) => error,
        };
        state.send_replace(ListenState::Down(error));
        let wait = RECONNECT_WAITS.get(failures).or(RECONNECT_WAITS.last()).copied().unwrap_or(0);
        let wait = Duration::from_millis(wait);
        sleep(wait + jitter(wait)).await;
        failures += 1;
    }
}
