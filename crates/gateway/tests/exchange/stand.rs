//! An engine with the built-in model as upstream, in every format.

use std::{ffi::OsString, io, path::Path, sync::Arc};

use bytes::Bytes;
use foxwedge_core::Format;
use foxwedge_gateway::{
    GatewayBody, GatewayEndpoint, GatewayEngine, GatewayRequest, RequestCaller,
    config::{self, ConfigEnvironment, ConfigFile, ConfigFlags, TokenRequirement},
};
use foxwedge_store::{AnyStore, StoreUrl};
use http::{HeaderMap, HeaderName, StatusCode};
use serde_json::Value;

/// The upstreams of the tests: one per format.
const FILE: &str = r#"
store = "memory"
[record]
store_runs = false
[[upstream]]
name = "chat"
kind = "scripted"
formats = ["openai-chat"]
[[upstream]]
name = "responses"
kind = "scripted"
formats = ["openai-responses"]
[[upstream]]
name = "messages"
kind = "scripted"
formats = ["anthropic"]
[[upstream]]
name = "gemini"
kind = "scripted"
formats = ["gemini"]
[[upstream]]
name = "interactions"
kind = "scripted"
formats = ["gemini-interactions"]
"#;

/// The configuration, and the file with an account that it may name.
struct MemoryConfig {
    text: String,
    account: Option<String>,
}

/// The file with an account.
pub(crate) const ACCOUNT_FILE: &str = "/account.json";

impl ConfigEnvironment for MemoryConfig {
    fn variable(&self, _: &str) -> Option<OsString> {
        None
    }

    fn file(&self, path: &Path) -> io::Result<ConfigFile> {
        let text = match path.to_str() {
            Some("/stand.toml") => Some(&self.text),
            Some(ACCOUNT_FILE) => self.account.as_ref(),
            _ => None,
        };
        let text = text.cloned().ok_or(io::Error::from(io::ErrorKind::NotFound))?;
        Ok(ConfigFile { text, exposure: config::FileExposure::Private })
    }
}

/// A reply, read to its end.
#[derive(Debug)]
pub(crate) struct TestReply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl TestReply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.body))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("text"))
    }
}

/// An engine with additional configuration.
pub(crate) async fn engine(more: &str) -> GatewayEngine {
    engine_with_account(more, None).await
}

/// The same, with the content of [`ACCOUNT_FILE`].
pub(crate) async fn engine_with_account(more: &str, account: Option<String>) -> GatewayEngine {
    let store = AnyStore::open(&StoreUrl::Memory).await.expect("a store in memory");
    open_engine(more, account, Arc::new(store)).await
}

/// An engine with additional configuration, on a store.
pub(crate) async fn engine_on(store: Arc<AnyStore>, more: &str) -> GatewayEngine {
    open_engine(more, None, store).await
}

async fn open_engine(more: &str, account: Option<String>, store: Arc<AnyStore>) -> GatewayEngine {
    let token_requirement = match more.contains("[[token]]") {
        true => TokenRequirement::default(),
        false => TokenRequirement::NotRequired,
    };
    let flags = ConfigFlags {
        config: Some("/stand.toml".into()),
        token_requirement,
        ..ConfigFlags::default()
    };
    let loaded = config::read(&flags, &MemoryConfig { text: format!("{FILE}{more}"), account });
    let config = loaded.unwrap_or_else(|refused| panic!("{refused:?}")).config;
    GatewayEngine::open(Arc::new(config), store).await.expect("an engine")
}

/// An engine that records runs, and its store.
pub(crate) async fn recording_engine() -> (GatewayEngine, Arc<AnyStore>) {
    let flags = ConfigFlags {
        config: Some("/stand.toml".into()),
        token_requirement: TokenRequirement::NotRequired,
        ..ConfigFlags::default()
    };
    let text = FILE.replace("store_runs = false", "store_runs = true");
    let loaded = config::read(&flags, &MemoryConfig { text, account: None });
    let config = loaded.unwrap_or_else(|refused| panic!("{refused:?}")).config;
    let store = Arc::new(AnyStore::open(&StoreUrl::Memory).await.expect("a store in memory"));
    let engine = GatewayEngine::open(Arc::new(config), store.clone()).await.expect("an engine");
    (engine, store)
}

/// A request of the owner `local`.
pub(crate) fn build_request(
    endpoint: GatewayEndpoint,
    body: impl Into<Bytes>,
    headers: &[(&str, &str)],
) -> GatewayRequest {
    let pairs = headers.iter().map(|(name, value)| {
        (name.parse::<HeaderName>().expect("a name"), value.parse().expect("a value"))
    });
    GatewayRequest {
        endpoint,
        path_model: None,
        headers: pairs.collect(),
        body: body.into(),
        caller: RequestCaller { owner: "local".into(), client_key: None, is_admin: true },
        id: "req-1".into(),
    }
}

pub(crate) async fn ask(
    engine: &GatewayEngine,
    endpoint: GatewayEndpoint,
    body: &Value,
) -> TestReply {
    let mut body = body.clone();
    let mut path_model = None;
    // Gemini's paths name the model.
    if let (Format::Gemini, Some(fields)) = (endpoint.format(), body.as_object_mut()) {
        fields.remove("stream");
        path_model = fields.remove("model").and_then(|model| Some(model.as_str()?.into()));
    }
    let request = build_request(endpoint, body.to_string(), &[]);
    send_request(engine, GatewayRequest { path_model, ..request }).await
}

pub(crate) async fn send_request(engine: &GatewayEngine, request: GatewayRequest) -> TestReply {
    let response = engine.handle(request).await;
    let body = read(response.body).await;
    TestReply { status: response.status, headers: response.headers, body }
}

pub(crate) async fn read(mut body: GatewayBody) -> String {
    let mut all = Vec::new();
    loop {
        let frame = std::future::poll_fn(|context| {
            http_body::Body::poll_frame(std::pin::Pin::new(&mut body), context)
        });
        match frame.await {
            Some(Ok(frame)) => all.extend_from_slice(&frame.into_data().expect("data")),
            Some(Err(error)) => panic!("{error}"),
            None => return String::from_utf8(all).expect("text"),
        }
    }
}
