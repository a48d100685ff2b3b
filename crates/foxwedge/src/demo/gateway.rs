//! The last part of the demo: a provider rejects a broken history, and accepts it through the
//! gateway. Both are real servers on loopback ports; the provider is the scripted one.

use std::{ffi::OsString, io, path::Path, sync::Arc};

use anyhow::Context as _;
use bytes::Bytes;
use foxwedge_core::Format;
use foxwedge_gateway::{
    GatewayEngine,
    config::{self, ConfigEnvironment, ConfigFile, ConfigFlags, GatewayConfig, TokenRequirement},
};
use foxwedge_gateway::{serve, serve_scripted};
use foxwedge_store::{AnyStore, StoreUrl};
use foxwedge_upstream::{
    AddressPolicy, NetworkTarget,
    http::{HttpClient, HttpRequest, HttpSettings},
};
use http::{HeaderMap, Method, StatusCode};
use serde_json::Value;
use tokio::{net::TcpListener, sync::oneshot};

use super::{
    demo_screen::{BAD, CODE, DIM, DemoScreen, GOOD},
    histories::DemoHistory,
};
use crate::diff;
use foxwedge_local::language::localize;

/// Size limit of a response body.
const MAX_REPLY_BYTES: usize = 1 << 20;

/// The response of a server.
pub(super) struct DemoResponse {
    status: StatusCode,
    headers: HeaderMap,
    body: Value,
}

/// Shows both responses. Returns whether the provider rejected and the gateway fixed the request.
pub(super) fn show_gateway(
    screen: &mut DemoScreen<impl io::Write>,
    history: &DemoHistory,
) -> anyhow::Result<bool> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (direct, through) = runtime.block_on(send_to_both(history))?;
    screen.blank_line()?;
    screen.rule(&localize("The first history again, over HTTP"), "foxwedge serve")?;
    let scene =
        localize("A strict provider and a gateway in front of it, both on ports of this machine.");
    screen.line(format_args!("{DIM}{scene}{DIM:#}"))?;
    screen.blank_line()?;
    show_response(screen, "directly", &direct)?;
    screen.pause(900)?;
    show_response(screen, "gateway", &through)?;
    for name in ["x-foxwedge-action", "x-foxwedge-findings", "x-foxwedge-match"] {
        let value = through.headers.get(name).and_then(|value| value.to_str().ok());
        screen.field("", (CODE, name), &format!(": {}", value.unwrap_or("-")))?;
    }
    screen.pause(700)?;
    screen.blank_line()?;
    screen.line(format_args!("{DIM}{}{DIM:#}", localize("What the gateway changed:")))?;
    let changes = diff::of_request(history.history, Format::Anthropic, history.profile);
    for line in changes.lines() {
        screen.line(format_args!("  {line}"))?;
    }
    screen.pause(700)?;
    Ok(direct.status == StatusCode::BAD_REQUEST && through.status == StatusCode::OK)
}

fn show_response(
    screen: &mut DemoScreen<impl io::Write>,
    label: &str,
    response: &DemoResponse,
) -> io::Result<()> {
    let style = if response.status.is_success() { GOOD } else { BAD };
    let text = |pointer: &str| response.body.pointer(pointer).and_then(Value::as_str);
    let message = text("/error/message").or_else(|| text("/content/0/text")).unwrap_or_default();
    screen.field(label, (style, response.status.as_str()), &format!(" {message}"))
}

/// Sends the same request to the provider and to the gateway in front of it.
async fn send_to_both(history: &DemoHistory) -> anyhow::Result<(DemoResponse, DemoResponse)> {
    let (provider, provider_at) = bind_listener().await?;
    let (gateway, gateway_at) = bind_listener().await?;
    let store = Arc::new(AnyStore::open(&StoreUrl::Memory).await?);
    let config = Arc::new(demo_config(provider_at)?);
    let engine = GatewayEngine::open(config.clone(), store.clone()).await?;
    let (stop, stopped) = oneshot::channel::<()>();
    let (stop_too, stopped_too) = oneshot::channel::<()>();
    let provider = tokio::spawn(serve_scripted(provider, wait_until_stopped(stopped)));
    let gateway =
        tokio::spawn(serve(config, engine, store, gateway, wait_until_stopped(stopped_too)));
    let direct = send_request(provider_at, MESSAGES, history.history, None).await;
    let through = send_request(gateway_at, MESSAGES, history.history, None).await;
    drop((stop, stop_too));
    provider.await?;
    gateway.await??;
    Ok((direct?, through?))
}

async fn bind_listener() -> io::Result<(TcpListener, u16)> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let port = listener.local_addr()?.port();
    Ok((listener, port))
}

/// Completes when the sender is dropped.
async fn wait_until_stopped(stopped: oneshot::Receiver<()>) {
    let _ = stopped.await;
}

/// The endpoint of Anthropic's format.
pub(super) const MESSAGES: &str = "/v1/messages";

/// Sends a request to a port of this machine.
pub(super) async fn send_request(
    port: u16,
    path: &'static str,
    body: &'static str,
    token: Option<&'static str>,
) -> anyhow::Result<DemoResponse> {
    let target = NetworkTarget {
        tls: false,
        host: "127.0.0.1".into(),
        port,
        prefix: "".into(),
        addresses: AddressPolicy::Private,
        identity: None,
    };
    let mut headers = HeaderMap::new();
    headers.insert("content-type", http::HeaderValue::from_static("application/json"));
    headers.insert("anthropic-version", http::HeaderValue::from_static("2023-06-01"));
    if let Some(token) = token {
        headers.insert("x-foxwedge-token", http::HeaderValue::from_static(token));
    }
    let request = HttpRequest {
        method: Method::POST,
        path,
        headers: &headers,
        body: Bytes::from_static(body.as_bytes()),
    };
    let reply = HttpClient::new(HttpSettings::default()).send(&target, request).await?;
    let (status, headers) = (reply.status, reply.headers);
    let body = reply.body.read_all(MAX_REPLY_BYTES).await?;
    Ok(DemoResponse {
        status,
        headers,
        body: serde_json::from_slice(&body).context("the response is not JSON")?,
    })
}

/// The configuration of a gateway in front of the provider at that port.
fn demo_config(provider: u16) -> anyhow::Result<GatewayConfig> {
    let flags = ConfigFlags {
        config: Some("demo.toml".into()),
        token_requirement: TokenRequirement::NotRequired,
        ..ConfigFlags::default()
    };
    let loaded = config::read(&flags, &DemoEnvironment(provider))
        .map_err(|refused| anyhow::anyhow!("the demo configuration is invalid: {refused:?}"))?;
    Ok(loaded.config)
}

/// An environment with one configuration file and no variables.
struct DemoEnvironment(u16);

impl ConfigEnvironment for DemoEnvironment {
    fn variable(&self, _: &str) -> Option<OsString> {
        None
    }

    fn file(&self, _: &Path) -> io::Result<ConfigFile> {
        let text = format!(
            "listen = \"127.0.0.1:0\"\nstore = \"memory\"\n[telemetry]\nlog = \"off\"\n\
             [[upstream]]\nname = \"provider\"\nkind = \"anthropic\"\nkey = \"demo\"\n\
             base_url = \"http://127.0.0.1:{}\"\n\
             [[route]]\nmodel = \"*\"\nupstream = \"provider\"\n",
            self.0
        );
        Ok(ConfigFile { text, exposure: config::FileExposure::Private })
    }
}
