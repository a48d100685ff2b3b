//! The connection that listens and speaks.

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

/// How often the ends of the logs are looked at while somebody watches.
const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// Messages are not sent more often than that.
const SEND_INTERVAL: Duration = Duration::from_millis(5);
/// A connection that does not answer for so long is dead.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(15);

/// The connection that listens and speaks.
pub(super) struct ListenConnection {
    client: Client,
    channel: String,
    notify: Statement,
    poll: Statement,
    /// Drives the connection; ends with it, and with us.
    driver: JoinSet<()>,
    /// The ends of logs that were seen the last time.
    last_positions: HashMap<String, u64>,
}

impl ListenConnection {
    /// Connects and listens.
    pub(super) async fn connect(
        shared: &Arc<FanOutContext>,
    ) -> Result<ListenConnection, PostgresError> {
        with_timeout(async {
            let (client, connection) = shared.pool.connect_alone().await?;
            let ourselves = Arc::new(AtomicI32::new(0));
            let mut driver = JoinSet::new();
            driver.spawn(receive_notices(shared.clone(), connection, ourselves.clone()));
            let own = client.query_one("SELECT pg_backend_pid()", &[]).await?;
            ourselves.store(own.try_get(0)?, Ordering::Relaxed);
            let channel = message::channel(shared.pool.schema());
            client.batch_execute(&format!("LISTEN {channel}")).await?;
            let speak = "SELECT pg_notify($1, told) FROM unnest($2::text[]) AS told";
            let speak = client.prepare(speak).await?;
            // Runs at work, and those that ended since we looked, and well before.
            let look = "SELECT id, last FROM runs WHERE ended_at IS NULL
                        UNION ALL
                        SELECT id, last FROM runs WHERE closed > now_ms() - 30000";
            let look = client.prepare(look).await?;
            Ok(ListenConnection {
                client,
                channel,
                notify: speak,
                poll: look,
                driver,
                last_positions: HashMap::new(),
            })
        })
        .await
    }

    /// Speaks, listens and looks, until the connection ends. Says why it did.
    pub(super) async fn serve(mut self, shared: &FanOutContext) -> PostgresError {
        let mut look = interval(POLL_INTERVAL);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let done = tokio::select! {
                _ = self.driver.join_next() => return PostgresError::from_text("the connection ended"),
                () = shared.outbox.wait_for_notices(|| false) => self.send_notices(shared).await,
                _ = look.tick() => match shared.hub.watchers() {
                    0 => Ok(()),
                    _ => self.poll_runs(shared).await,
                },
            };
            if let Err(trouble) = done {
                return trouble;
            }
        }
    }

    /// Tells what waits, then rests a moment so that more can gather.
    async fn send_notices(&self, shared: &FanOutContext) -> Result<(), PostgresError> {
        let news = shared.outbox.take();
        let told = message::write(&news);
        let sent = with_timeout(async {
            self.client.execute(&self.notify, &[&self.channel, &told]).await?;
            Ok(())
        });
        match sent.await {
            Ok(()) => shared.outbox.mark_sent(),
            Err(trouble) => {
                shared.outbox.put_back(news);
                return Err(trouble);
            }
        }
        sleep(SEND_INTERVAL).await;
        Ok(())
    }

    /// Looks for runs that went on without a word.
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

/// Hears what others tell, until the connection ends. What we told ourselves is known here.
async fn receive_notices(
    shared: Arc<FanOutContext>,
    mut connection: PostgresConnection,
    ourselves: Arc<AtomicI32>,
) {
    while let Some(Ok(heard)) = poll_fn(|context| connection.poll_message(context)).await {
        if let AsyncMessage::Notification(told) = heard
            && told.process_id() != ourselves.load(Ordering::Relaxed)
        {
            message::read(told.payload(), &shared.hub);
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
        Ok(done) => done.map_err(|ConnectionFailure(trouble)| trouble),
        Err(_) => Err(PostgresError::from_text("the server does not answer")),
    }
}

/// Trouble on this connection, which is given up for any of it.
struct ConnectionFailure(PostgresError);

impl From<Error> for ConnectionFailure {
    fn from(error: Error) -> ConnectionFailure {
        ConnectionFailure(PostgresError::from_driver(&error))
    }
}

impl From<PostgresError> for ConnectionFailure {
    fn from(trouble: PostgresError) -> ConnectionFailure {
        ConnectionFailure(trouble)
    }
}
