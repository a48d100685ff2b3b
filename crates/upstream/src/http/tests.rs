//! The client against a server that misbehaves in every possible way.

mod server;
mod replies;
mod connections;
mod encryption;
mod proxy;
mod parser;

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method};

use super::*;
use crate::NetworkTarget;

/// No test takes this long: a wait of this length hangs.
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

/// Sends a request and reads the response: its status and body in one line, or the error.
async fn fetch(client: &HttpClient, target: &NetworkTarget) -> String {
    let reply = match post(client, target, Bytes::from_static(b"{}")).await {
        Ok(reply) => reply,
        Err(error) => return describe(&error),
    };
    let status = reply.status.as_u16();
    match reply.body.read_all(1 << 20).await {
        Ok(body) => format!("{status} {}", String::from_utf8_lossy(&body)),
        Err(error) => format!("{status} {}", describe(&error)),
    }
}

fn describe(error: &HttpError) -> String {
    format!("{} {} {:?}", error.stage.name(), error.kind.name(), error.delivery)
}
