//! The last story: a provider refuses a broken history, and takes it through the gateway. Both are
//! real servers on loopback ports of this machine; the provider is the built-in one.

use std::{ffi::OsString, io, path::Path, sync::Arc};

use anyhow::Context as _;
use bytes::Bytes;
use foxwedge_core::Wire;
use foxwedge_engine::{
    Engine,
    config::{self, Addresses, Config, Entrance, Flags, Found, Target, World},
    http::{Client, Outgoing, Settings},
};
use foxwedge_gateway::{serve, serve_scripted};
use foxwedge_store::{AnyStore, StoreUrl};
use http::{HeaderMap, Method, StatusCode};
use serde_json::Value;
use tokio::{net::TcpListener, sync::oneshot};

use super::{
    stage::{BAD, CODE, DIM, GOOD, Stage},
    stories::Story,
};
use crate::diff;

/// The longest reply.
const MOST: usize = 1 << 20;

/// What a server said.
pub(super) struct Heard {
    status: StatusCode,
    headers: HeaderMap,
    body: Value,
}

/// Tells the story; whether it went as it should.
pub(super) fn tell(stage: &mut Stage<impl io::Write>, story: &Story) -> anyhow::Result<bool> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (direct, through) = runtime.block_on(both(story))?;
    stage.gap()?;
    stage.rule("The first of them once more, over HTTP", "foxwedge serve")?;
    stage.line(format_args!(
        "{DIM}A strict provider and a gateway before it, both on ports of this machine.{DIM:#}"
    ))?;
    stage.gap()?;
    said(stage, "directly", &direct)?;
    stage.beat(900)?;
    said(stage, "gateway", &through)?;
    for name in ["x-foxwedge-action", "x-foxwedge-findings", "x-foxwedge-match"] {
        let value = through.headers.get(name).and_then(|value| value.to_str().ok());
        stage.field("", (CODE, name), &format!(": {}", value.unwrap_or("-")))?;
    }
    stage.beat(700)?;
    stage.gap()?;
    stage.line(format_args!("{DIM}What the gateway changed on the way:{DIM:#}"))?;
    let changes = diff::of_request(story.history, Wire::Anthropic, story.profile);
    for line in changes.lines() {
        stage.line(format_args!("  {line}"))?;
    }
    stage.beat(700)?;
    Ok(direct.status == StatusCode::BAD_REQUEST && through.status == StatusCode::OK)
}

fn said(stage: &mut Stage<impl io::Write>, label: &str, heard: &Heard) -> io::Result<()> {
    let style = if heard.status.is_success() { GOOD } else { BAD };
    let text = |pointer: &str| heard.body.pointer(pointer).and_then(Value::as_str);
    let words = text("/error/message").or_else(|| text("/content/0/text")).unwrap_or_default();
    stage.field(label, (style, heard.status.as_str()), &format!(" {words}"))
}

/// The same request to the provider and to the gateway before it.
async fn both(story: &Story) -> anyhow::Result<(Heard, Heard)> {
    let (provider, provider_at) = listener().await?;
    let (gateway, gateway_at) = listener().await?;
    let store = Arc::new(AnyStore::open(&StoreUrl::Memory).await?);
    let config = Arc::new(configured(provider_at)?);
    let engine = Engine::open(config.clone(), store.clone()).await?;
    let (stop, stopped) = oneshot::channel::<()>();
    let (stop_too, stopped_too) = oneshot::channel::<()>();
    let provider = tokio::spawn(serve_scripted(provider, until(stopped)));
    let gateway = tokio::spawn(serve(config, engine, store, gateway, until(stopped_too)));
    let direct = ask(provider_at, story.history, None).await;
    let through = ask(gateway_at, story.history, None).await;
    drop((stop, stop_too));
    provider.await?;
    gateway.await??;
    Ok((direct?, through?))
}

async fn listener() -> io::Result<(TcpListener, u16)> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let port = listener.local_addr()?.port();
    Ok((listener, port))
}

/// Ready when the sender is gone.
async fn until(stopped: oneshot::Receiver<()>) {
    let _ = stopped.await;
}

/// Sends a request to a port of this machine.
pub(super) async fn ask(
    port: u16,
    body: &'static str,
    token: Option<&'static str>,
) -> anyhow::Result<Heard> {
    let target = Target {
        tls: false,
        host: "127.0.0.1".into(),
        port,
        prefix: "".into(),
        addresses: Addresses::Private,
    };
    let mut headers = HeaderMap::new();
    headers.insert("content-type", http::HeaderValue::from_static("application/json"));
    headers.insert("anthropic-version", http::HeaderValue::from_static("2023-06-01"));
    if let Some(token) = token {
        headers.insert("x-foxwedge-token", http::HeaderValue::from_static(token));
    }
    let request = Outgoing {
        method: Method::POST,
        path: "/v1/messages",
        headers: &headers,
        body: Bytes::from_static(body.as_bytes()),
    };
    let reply = Client::new(Settings::default()).send(&target, request).await?;
    let (status, headers) = (reply.status, reply.headers);
    let body = reply.body.whole(MOST).await?;
    Ok(Heard { status, headers, body: serde_json::from_slice(&body).context("no JSON")? })
}

/// A gateway before the provider at that port, and nothing else.
fn configured(provider: u16) -> anyhow::Result<Config> {
    let flags =
        Flags { config: Some("demo.toml".into()), entrance: Entrance::Open, ..Flags::default() };
    let loaded = config::read(&flags, &Alone(provider))
        .map_err(|refused| anyhow::anyhow!("the demo's own configuration: {refused:?}"))?;
    Ok(loaded.config)
}

/// A machine with one file and no variables.
struct Alone(u16);

impl World for Alone {
    fn variable(&self, _: &str) -> Option<OsString> {
        None
    }

    fn file(&self, _: &Path) -> io::Result<Found> {
        let text = format!(
            "listen = \"127.0.0.1:0\"\nstore = \"memory\"\n[telemetry]\nlog = \"off\"\n\
             [[upstream]]\nname = \"provider\"\nkind = \"anthropic\"\nkey = \"demo\"\n\
             base_url = \"http://127.0.0.1:{}\"\n\
             [[route]]\nmodel = \"*\"\nupstream = \"provider\"\n",
            self.0
        );
        Ok(Found { text, exposure: config::Exposure::Private })
    }
}
