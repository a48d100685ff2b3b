//! The client against a server that does everything wrong that can be done.

mod server;
mod replies;
mod connections;
mod encryption;

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method};

use super::*;
use crate::config::Target;

/// Nothing in a test lasts so long: what waits for it hangs.
const LONG: Duration = Duration::from_secs(60);

fn settings() -> Settings {
    Settings { connect: LONG, first_byte: LONG, idle: LONG, ..Settings::default() }
}

async fn post(client: &Client, target: &Target, body: Bytes) -> Result<Reply, HttpError> {
    let headers = HeaderMap::new();
    let request = Outgoing { method: Method::POST, path: "/v1/x", headers: &headers, body };
    client.send(target, request).await
}

/// Asks, reads all, and tells it in a line: status and body, or what went wrong.
async fn ask(client: &Client, target: &Target) -> String {
    let reply = match post(client, target, Bytes::from_static(b"{}")).await {
        Ok(reply) => reply,
        Err(error) => return told(&error),
    };
    let status = reply.status.as_u16();
    match reply.body.whole(1 << 20).await {
        Ok(body) => format!("{status} {}", String::from_utf8_lossy(&body)),
        Err(error) => format!("{status} {}", told(&error)),
    }
}

fn told(error: &HttpError) -> String {
    format!("{} {} {:?}", error.stage.name(), error.kind.name(), error.reached)
}
