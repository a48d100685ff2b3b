//! An engine with the built-in model behind it, in every format.

use std::{ffi::OsString, io, path::Path, sync::Arc};

use bytes::Bytes;
use foxwedge_gateway::{
    GatewayBody, GatewayEndpoint, GatewayEngine, GatewayRequest, RequestCaller,
    config::{self, ConfigEnvironment, ConfigFile, ConfigFlags, TokenRequirement},
};
use foxwedge_store::{AnyStore, StoreUrl};
use http::{HeaderMap, HeaderName, StatusCode};
use serde_json::Value;

/// The upstreams of the tests: one for each format, which speaks nothing else.
const FILE: &str = r#"
store = "memory"
[record]
runs = "none"
[[upstream]]
name = "chat"
kind = "scripted"
speaks = ["openai-chat"]
[[upstream]]
name = "responses"
kind = "scripted"
speaks = ["openai-responses"]
[[upstream]]
name = "messages"
kind = "scripted"
speaks = ["anthropic"]
[[upstream]]
name = "gemini"
kind = "scripted"
speaks = ["gemini"]
"#;

struct Nowhere(String);

impl ConfigEnvironment for Nowhere {
    fn variable(&self, _: &str) -> Option<OsString> {
        None
    }

    fn file(&self, path: &Path) -> io::Result<ConfigFile> {
        if path == Path::new("/stand.toml") {
            let exposure = config::FileExposure::Private;
            return Ok(ConfigFile { text: self.0.clone(), exposure });
        }
        Err(io::ErrorKind::NotFound.into())
    }
}

/// A reply, read to its end.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Heard {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.body))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("text"))
    }
}

/// An engine with more in its configuration.
pub(crate) async fn engine(more: &str) -> GatewayEngine {
    let flags = ConfigFlags {
        config: Some("/stand.toml".into()),
        token_requirement: TokenRequirement::NotRequired,
        ..ConfigFlags::default()
    };
    let loaded = config::read(&flags, &Nowhere(format!("{FILE}{more}")));
    let config = loaded.unwrap_or_else(|refused| panic!("{refused:?}")).config;
    let store = AnyStore::open(&StoreUrl::Memory).await.expect("a store in memory");
    GatewayEngine::open(Arc::new(config), Arc::new(store)).await.expect("an engine")
}

/// A request without headers of its own.
pub(crate) fn asked(
    face: GatewayEndpoint,
    body: impl Into<Bytes>,
    headers: &[(&str, &str)],
) -> GatewayRequest {
    let pairs = headers.iter().map(|(name, value)| {
        (name.parse::<HeaderName>().expect("a name"), value.parse().expect("a value"))
    });
    GatewayRequest {
        endpoint: face,
        headers: pairs.collect(),
        body: body.into(),
        caller: RequestCaller { owner: "local".into(), client_key: None },
        id: "req-1".into(),
    }
}

pub(crate) async fn ask(engine: &GatewayEngine, face: GatewayEndpoint, body: &Value) -> Heard {
    hear(engine, asked(face, body.to_string(), &[])).await
}

pub(crate) async fn hear(engine: &GatewayEngine, asked: GatewayRequest) -> Heard {
    let answered = engine.handle(asked).await;
    let body = read(answered.body).await;
    Heard { status: answered.status, headers: answered.headers, body }
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
