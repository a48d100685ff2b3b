//! The client against a server that does everything wrong that can be done.

mod server;
mod replies;
mod connections;
mod encryption;

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method};

use super::*;
use crate::NetworkTarget;

/// Nothing in a test lasts so long: what waits for it hangs.
const LONG: Duration = Duration::from_secs(60);

fn settings() -> HttpSettings {
    HttpSettings { connect: LONG, first_byte: LONG, idle: LONG, ..HttpSettings::default() }
}

async fn post(
    client: &HttpClient,
    target: &NetworkTarget,
    body: Bytes,
) -> Result<HttpResponse, HttpError> {
    let headers = HeaderMap::new();
    let request = HttpRequest { method: Method::POST, path: "/v1/x", headers: &headers, body };
    client.send(target, request).await
}

/// Asks, reads all, and tells it in a line: status and body, or what went wrong.
async fn ask(client: &HttpClient, target: &NetworkTarget) -> String {
    let reply = match post(client, target, Bytes::from_static(b"{}")).await {
        Ok(reply) => reply,
        Err(error) => return told(&error),
    };
    let status = reply.status.as_u16();
    match reply.body.read_all(1 << 20).await {
        Ok(body) => format!("{status} {}", String::from_utf8_lossy(&body)),
        Err(error) => format!("{status} {}", told(&error)),
    }
}

fn told(error: &HttpError) -> String {
    format!("{} {} {:?}", error.stage.name(), error.kind.name(), error.delivery)
}
