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
    send(client, target, Method::POST, body).await
}

async fn send(
    client: &HttpClient,
    target: &NetworkTarget,
    method: Method,
    body: Bytes,
) -> Result<HttpResponse, HttpError> {
    let headers = HeaderMap::new();
    client.send(target, HttpRequest { method, path: "/v1/x", headers: &headers, body }).await
}

/// Sends a request and reads the response: its status and body in one line, or the error.
async fn fetch(client: &HttpClient, target: &NetworkTarget) -> String {
    fetch_with(client, target, Method::POST).await
}

/// The same with another method.
async fn fetch_with(client: &HttpClient, target: &NetworkTarget, method: Method) -> String {
    let reply = match send(client, target, method, Bytes::from_static(b"{}")).await {
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
