//! Direct access to databases: a PostgreSQL server for a harness, or a printed reason why there is
//! none; and a way to expire leases without waiting.

use std::{path::Path, time::Duration};

use foxwedge_store::StoreUrl;

use crate::server::{Care, Server};

/// A server that a harness may break.
pub(crate) fn server(care: Care) -> Option<Server> {
    match Server::start(Path::new(env!("CARGO_TARGET_TMPDIR")), care, &[]) {
        Ok(server) => Some(server),
        Err(why) => {
            println!("skipped: no PostgreSQL: {why}");
            None
        }
    }
}

/// The URL of a schema. `name` identifies its connections.
pub(crate) fn address(server: &Server, schema: &str, name: &str) -> String {
    format!("{}?schema={schema}&application_name={name}", server.url())
}

/// The value of a URL parameter.
pub(crate) fn parameter<'a>(address: &'a str, name: &str) -> &'a str {
    let query = address.split_once('?').map_or("", |(_, query)| query);
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let mut values = pairs.filter(|(found, _)| *found == name).map(|(_, value)| value);
    values.next_back().expect("a parameter")
}

/// A connection for what no store does.
pub(crate) async fn administrator(server: &Server) -> tokio_postgres::Client {
    connect(&server.url()).await.expect("a connection")
}

/// A dedicated connection.
pub(crate) async fn connect(url: &str) -> Result<tokio_postgres::Client, tokio_postgres::Error> {
    let plain = url.split('?').next().unwrap_or(url);
    let (client, connection) = tokio_postgres::connect(plain, tokio_postgres::NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// Waits until the server has ended all connections with this name and their work.
pub(crate) async fn settled(server: &Server, name: &str) {
    let administrator = administrator(server).await;
    let sql = "SELECT count(*) FROM pg_stat_activity, pg_sleep(0.002)
                    WHERE application_name = $1";
    while administrator.query_one(sql, &[&name]).await.expect("a number").get::<_, i64>(0) > 0 {}
}

/// Expires every lease.
pub(crate) async fn time_passes(address: &str) {
    match address.parse().expect("an address") {
        StoreUrl::Sqlite(path) => {
            let file = rusqlite::Connection::open(path).expect("a file");
            file.busy_timeout(Duration::from_secs(10)).expect("patience");
            file.execute("UPDATE runs SET lease_until = 0 WHERE ended_at IS NULL", [])
                .expect("time");
        }
        StoreUrl::Postgres(url) => {
            let schema = parameter(address, "schema");
            let client = connect(url.secret()).await.expect("a connection");
            let statement =
                format!("UPDATE {schema}.runs SET lease_until = 0 WHERE ended_at IS NULL");
            client.execute(&statement, &[]).await.expect("time");
        }
        StoreUrl::Memory => panic!("nobody else sees what is in memory"),
    }
}
