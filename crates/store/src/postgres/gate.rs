//! The connections.

use std::{fmt, time::Duration};

use deadpool_postgres::{
    Client, Hook, HookError, Manager, ManagerConfig, Pool, RecyclingMethod, Runtime,
};
use tokio_postgres::{Config, Socket, tls::MakeTlsConnect};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{
    failure::{Failure, Patience, Trouble},
    migrate,
    settings::Settings,
    tls,
};
use crate::{Result, StoreError};

/// How long somebody waits for a connection while all are in use.
const WAIT: Duration = Duration::from_secs(30);

/// What drives a lone connection.
pub(super) type Connection =
    tokio_postgres::Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>;

/// The way to the database: connections that are used again, and lone ones.
#[derive(Clone)]
pub(super) struct Gate {
    pool: Pool,
    config: Config,
    tls: MakeRustlsConnect,
    settings: Settings,
}

impl Gate {
    /// Connects, and brings the tables up to date.
    pub(super) async fn open(settings: Settings) -> Result<Gate> {
        let tls = tls::connector(&settings.trust)?;
        let config = settings.config.clone();
        let manager = Manager::from_config(
            config.clone(),
            tls.clone(),
            ManagerConfig { recycling_method: RecyclingMethod::Fast },
        );
        let pool = Pool::builder(manager)
            .max_size(settings.pool)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(WAIT))
            .create_timeout(config.get_connect_timeout().copied())
            .post_create(Hook::async_fn(|client, _| {
                Box::pin(
                    async move { client.batch_execute(DURABLE).await.map_err(HookError::Backend) },
                )
            }))
            .build()
            .map_err(|error| StoreError::Unavailable(error.into()))?;
        let gate = Gate { pool, config, tls, settings };
        let mut patience = Patience::new();
        loop {
            match gate.migrate().await {
                Ok(()) => return Ok(gate),
                Err(failure) => patience.bear(failure).await?,
            }
        }
    }

    /// A connection.
    pub(super) async fn client(&self) -> Result<Client, Failure> {
        Ok(self.pool.get().await?)
    }

    /// A connection that nobody else uses.
    pub(super) async fn lone(&self) -> Result<(tokio_postgres::Client, Connection), Trouble> {
        self.config.connect(self.tls.clone()).await.map_err(|error| Trouble::of(&error))
    }

    /// The schema.
    pub(super) fn schema(&self) -> &str {
        &self.settings.schema
    }

    /// Ends all connections. Whoever has one keeps it until done.
    pub(super) fn close(&self) {
        self.pool.close();
    }

    async fn migrate(&self) -> Result<(), Failure> {
        let mut client = self.client().await?;
        migrate::migrate(&mut client, self.schema()).await
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.settings.fmt(formatter)
    }
}

/// What is acknowledged is on disk, even where an administrator chose otherwise for everybody.
/// Stronger choices, which wait for other servers, too, are left alone.
const DURABLE: &str = "SELECT set_config('synchronous_commit', 'on', false)
                       WHERE current_setting('synchronous_commit') = 'off'";
