//! The connection pool.

use std::{fmt, time::Duration};

use deadpool_postgres::{
    Client, Hook, HookError, Manager, ManagerConfig, Pool, RecyclingMethod, Runtime,
};
use tokio::time::timeout;
use tokio_postgres::{Config, Socket, tls::MakeTlsConnect};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{
    failure::{Attempt, AttemptBackoff, AttemptFailure, PostgresError},
    migrate,
    settings::PostgresSettings,
    tls,
};
use crate::{Result, StoreError};

/// How long to wait for a connection while all are in use.
const POOL_TIMEOUT: Duration = Duration::from_secs(30);

/// The driver of a dedicated connection.
pub(super) type PostgresConnection =
    tokio_postgres::Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>;

/// Access to the database: pooled connections and dedicated ones.
#[derive(Clone)]
pub(super) struct PostgresPool {
    pool: Pool,
    config: Config,
    tls: MakeRustlsConnect,
    settings: PostgresSettings,
}

impl PostgresPool {
    /// Connects and migrates the tables.
    pub(super) async fn open(settings: PostgresSettings) -> Result<PostgresPool> {
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
            .wait_timeout(Some(POOL_TIMEOUT))
            .create_timeout(config.get_connect_timeout().copied())
            .post_create(Hook::async_fn(|client, _| {
                Box::pin(async move {
                    client.batch_execute(DURABLE_COMMIT_SQL).await.map_err(HookError::Backend)
                })
            }))
            .build()
            .map_err(|error| StoreError::Unavailable(error.into()))?;
        let postgres_pool = PostgresPool { pool, config, tls, settings };
        let mut backoff = AttemptBackoff::new();
        loop {
            match postgres_pool.migrate().await {
                Ok(()) => return Ok(postgres_pool),
                Err(failure) => backoff.wait_or_fail(failure).await?,
            }
        }
    }

    /// Takes a connection from the pool.
    pub(super) async fn client(&self) -> Result<Client, AttemptFailure> {
        Ok(self.pool.get().await?)
    }

    /// Waits for an attempt, for a limited time: the server ends statements that take too long itself,
    /// unless it is frozen. Then the system acknowledges all that is sent, and no error would come.
    ///
    /// What such a server does later is not known, so its connections are not used again.
    pub(super) async fn limit<T>(&self, attempt: Attempt<'_, T>) -> Result<T, AttemptFailure> {
        let answer = timeout(self.settings.attempt_timeout, attempt).await;
        answer.unwrap_or_else(|_| {
            self.pool.retain(|_, _| false);
            let error = PostgresError::from_text("the server did not answer in time");
            Err(AttemptFailure::Final(error))
        })
    }

    /// Opens a dedicated connection.
    pub(super) async fn connect_alone(
        &self,
    ) -> Result<(tokio_postgres::Client, PostgresConnection), PostgresError> {
        self.config
            .connect(self.tls.clone())
            .await
            .map_err(|error| PostgresError::from_driver(&error))
    }

    pub(super) fn schema(&self) -> &str {
        &self.settings.schema
    }

    /// Closes all connections. A connection in use stays open until it is returned.
    pub(super) fn close(&self) {
        self.pool.close();
    }

    fn migrate(&self) -> Attempt<'_, ()> {
        Box::pin(async move {
            let mut client = self.client().await?;
            migrate::migrate(&mut client, self.schema()).await
        })
    }
}

impl fmt::Debug for PostgresPool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.settings.fmt(formatter)
    }
}

/// Makes every acknowledged write durable, even if an administrator turned `synchronous_commit`
/// off. Stronger settings, which also wait for other servers, stay.
const DURABLE_COMMIT_SQL: &str = "SELECT set_config('synchronous_commit', 'on', false)
                       WHERE current_setting('synchronous_commit') = 'off'";
