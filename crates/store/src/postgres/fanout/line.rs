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

use super::{Shared, message};
use crate::postgres::{
    failure::{Failure, Trouble},
    gate::Connection,
    row::number,
};

/// How often the ends of the logs are looked at while somebody watches.
const LOOK: Duration = Duration::from_secs(5);
/// Messages are not sent more often than that.
const PAUSE: Duration = Duration::from_millis(5);
/// A connection that does not answer for so long is dead.
const DEAD: Duration = Duration::from_secs(15);

/// The connection that listens and speaks.
pub(super) struct Line {
    client: Client,
    channel: String,
    speak: Statement,
    look: Statement,
    /// Drives the connection; ends with it, and with us.
    driver: JoinSet<()>,
    /// The ends of logs that were seen the last time.
    seen: HashMap<String, u64>,
}

impl Line {
    /// Connects and listens.
    pub(super) async fn connect(shared: &Arc<Shared>) -> Result<Line, Trouble> {
        answered(async {
            let (client, connection) = shared.gate.lone().await?;
            let ourselves = Arc::new(AtomicI32::new(0));
            let mut driver = JoinSet::new();
            driver.spawn(hear(shared.clone(), connection, ourselves.clone()));
            let own = client.query_one("SELECT pg_backend_pid()", &[]).await?;
            ourselves.store(own.try_get(0)?, Ordering::Relaxed);
            let channel = message::channel(shared.gate.schema());
            client.batch_execute(&format!("LISTEN {channel}")).await?;
            let speak = "SELECT pg_notify($1, told) FROM unnest($2::text[]) AS told";
            let speak = client.prepare(speak).await?;
            // Runs at work, and those that ended since we looked, and well before.
            let look = "SELECT id, last FROM runs WHERE ended_at IS NULL
                        UNION ALL
                        SELECT id, last FROM runs WHERE closed > now_ms() - 30000";
            let look = client.prepare(look).await?;
            Ok(Line { client, channel, speak, look, driver, seen: HashMap::new() })
        })
        .await
    }

    /// Speaks, listens and looks, until the connection ends. Says why it did.
    pub(super) async fn serve(mut self, shared: &Shared) -> Trouble {
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let done = tokio::select! {
                _ = self.driver.join_next() => return Trouble::text("the connection ended"),
                () = shared.outbox.wanted(|| false) => self.speak(shared).await,
                _ = look.tick() => match shared.hub.watchers() {
                    0 => Ok(()),
                    _ => self.look(shared).await,
                },
            };
            if let Err(trouble) = done {
                return trouble;
            }
        }
    }

    /// Tells what waits, then rests a moment so that more can gather.
    async fn speak(&self, shared: &Shared) -> Result<(), Trouble> {
        let news = shared.outbox.take();
        let told = message::write(&news);
        let sent = answered(async {
            self.client.execute(&self.speak, &[&self.channel, &told]).await?;
            Ok(())
        });
        match sent.await {
            Ok(()) => shared.outbox.sent(),
            Err(trouble) => {
                shared.outbox.put_back(news);
                return Err(trouble);
            }
        }
        sleep(PAUSE).await;
        Ok(())
    }

    /// Looks for runs that went on without a word.
    async fn look(&mut self, shared: &Shared) -> Result<(), Trouble> {
        let client = &self.client;
        let rows = answered(async { Ok(client.query(&self.look, &[]).await?) }).await?;
        let mut seen = HashMap::with_capacity(rows.len());
        for row in &rows {
            let Ok((run, last)) = end(row) else { continue };
            if self.seen.get(&run).is_none_or(|before| *before < last) {
                shared.hub.publish(&run, last);
            }
            seen.insert(run, last);
        }
        self.seen = seen;
        Ok(())
    }
}

/// Hears what others tell, until the connection ends. What we told ourselves is known here.
async fn hear(shared: Arc<Shared>, mut connection: Connection, ourselves: Arc<AtomicI32>) {
    while let Some(Ok(heard)) = poll_fn(|context| connection.poll_message(context)).await {
        if let AsyncMessage::Notification(told) = heard
            && told.process_id() != ourselves.load(Ordering::Relaxed)
        {
            message::read(told.payload(), &shared.hub);
        }
    }
}

fn end(row: &Row) -> Result<(String, u64), Failure> {
    Ok((row.try_get("id")?, number(row, "last")?))
}

async fn answered<T>(work: impl Future<Output = Result<T, Unheard>>) -> Result<T, Trouble> {
    match timeout(DEAD, work).await {
        Ok(done) => done.map_err(|Unheard(trouble)| trouble),
        Err(_) => Err(Trouble::text("the server does not answer")),
    }
}

/// Trouble on this connection, which is given up for any of it.
struct Unheard(Trouble);

impl From<Error> for Unheard {
    fn from(error: Error) -> Unheard {
        Unheard(Trouble::of(&error))
    }
}

impl From<Trouble> for Unheard {
    fn from(trouble: Trouble) -> Unheard {
        Unheard(trouble)
    }
}
