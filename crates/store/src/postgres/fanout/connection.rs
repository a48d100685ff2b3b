//! The connection that sends and receives wake-ups.

use std::{
    collections::HashMap,
    future::poll_fn,
    sync::{
        Arc,
        atomic::{AtomicI32, Ordering},
    },
    time::Duration,
};

use tokio::{
    task::JoinSet,
    time::{MissedTickBehavior, interval, sleep, timeout},
};
use tokio_postgres::{AsyncMessage, Client, Error, Row, Statement};

use super::{FanOutContext, message};
use crate::postgres::{
    failure::{AttemptFailure, PostgresError},
    pool::PostgresConnection,
    row::number,
};

/// How often the ends of the logs are polled while there is a watcher.
const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// Minimum time between two messages.
const SEND_INTERVAL: Duration = Duration::from_millis(5);
/// A connection without a response for this long is dead.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(15);

/// The connection that sends and receives wake-ups.
pub(super) struct ListenConnection {
    client: Client,
    channel: String,
    notify: Statement,
    poll: Statement,
    /// Drives the connection. Ends with it, and when this value is dropped.
    driver: JoinSet<()>,
    /// The log ends seen by the last poll.
    last_positions: HashMap<String, u64>,
}

impl ListenConnection {
    /// Connects and listens.
    pub(super) async fn connect(
        shared: &Arc<FanOutContext>,
    ) -> Result<ListenConnection, PostgresError> {
        with_timeout(async {
            let (client, connection) = shared.pool.connect_alone().await?;
            let own_pid = Arc::new(AtomicI32::new(0));
            let mut driver = JoinSet::new();
            driver.spawn(receive_notices(shared.clone(), connection, own_pid.clone()));
            let row = client.query_one("SELECT pg_backend_pid()", &[]).await?;
            own_pid.store(row.try_get(0)?, Ordering::Relaxed);
            let channel = message::channel(shared.pool.schema());
            client.batch_execute(&format!("LISTEN {channel}")).await?;
            let notify = "SELECT pg_notify($1, told) FROM unnest($2::text[]) AS told";
            let notify = client.prepare(notify).await?;
            // Open runs, and runs that ended since the last poll, with a wide margin.
            let poll = "SELECT id, last FROM runs WHERE ended_at IS NULL
                        UNION ALL
                        SELECT id, last FROM runs WHERE closed > now_ms() - 30000";
            let poll = client.prepare(poll).await?;
            Ok(ListenConnection {
                client,
                channel,
                notify,
                poll,
                driver,
                last_positions: HashMap::new(),
            })
        })
        .await
    }

    /// Sends, receives and polls until the connection ends. Returns the reason.
    pub(super) async fn serve(mut self, shared: &FanOutContext) -> PostgresError {
        let mut poll_timer = interval(POLL_INTERVAL);
        poll_timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let result = tokio::select! {
                _ = self.driver.join_next() => return PostgresError::from_text("the connection ended"),
                () = shared.outbox.wait_for_notices(|| false) => self.send_notices(shared).await,
                _ = poll_timer.tick() => match shared.hub.watchers() {
                    0 => Ok(()),
                    _ => self.poll_runs(shared).await,
                },
            };
            if let Err(error) = result {
                return error;
            }
        }
    }

    /// Sends the queued notices, then pauses so that more can gather.
    async fn send_notices(&self, shared: &FanOutContext) -> Result<(), PostgresError> {
        let notices = shared.outbox.take();
        let payloads = message::write(&notices);
        let sent = with_timeout(async {
            self.client.execute(&self.notify, &[&self.channel, &payloads]).await?;
            Ok(())
        });
        match sent.await {
            Ok(()) => shared.outbox.mark_sent(),
            Err(error) => {
                shared.outbox.put_back(notices);
                return Err(error);
            }
        }
        sleep(SEND_INTERVAL).await;
        Ok(())
    }

    /// Looks for runs that continued without a message.
    async fn poll_runs(&mut self, shared: &FanOutContext) -> Result<(), PostgresError> {
        let client = &self.client;
        let rows = with_timeout(async { Ok(client.query(&self.poll, &[]).await?) }).await?;
        let mut seen = HashMap::with_capacity(rows.len());
        for row in &rows {
            let Ok((run, last)) = run_position(row) else { continue };
            if self.last_positions.get(&run).is_none_or(|before| *before < last) {
                shared.hub.publish(&run, last);
            }
            seen.insert(run, last);
        }
        self.last_positions = seen;
        Ok(())
    }
}

/// Receives messages of other processes until the connection ends. Skips our own.
async fn receive_notices(
    shared: Arc<FanOutContext>,
    mut connection: PostgresConnection,
    own_pid: Arc<AtomicI32>,
) {
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        if let AsyncMessage::Notification(notification) = message
            && notification.process_id() != own_pid.load(Ordering::Relaxed)
        {
            message::read(notification.payload(), &shared.hub);
        }
    }
}

fn run_position(row: &Row) -> Result<(String, u64), AttemptFailure> {
    Ok((row.try_get("id")?, number(row, "last")?))
}

async fn with_timeout<T>(
    work: impl Future<Output = Result<T, ConnectionFailure>>,
) -> Result<T, PostgresError> {
    match timeout(RESPONSE_TIMEOUT, work).await {
        Ok(result) => result.map_err(|ConnectionFailure(error)| error),
        Err(_) => Err(PostgresError::from_text("the server does not respond")),
    }
}

/// An error on this connection. Any error ends it.
struct ConnectionFailure(PostgresError);

impl From<Error> for ConnectionFailure {
    fn from(error: Error) -> ConnectionFailure {
        ConnectionFailure(PostgresError::from_driver(&error))
    }
}

impl From<PostgresError> for ConnectionFailure {
    fn from(error: PostgresError) -> ConnectionFailure {
        ConnectionFailure(error)
    }
}
