//! A gateway in this process, over the built-in model.

use std::{
    io::{self, Write},
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use foxwedge_core::Format;
use foxwedge_gateway::{
    DrainReport, GatewayEngine, GatewayServer,
    config::{
        AccessConfig, AccessToken, ConsoleConfig, GatewayConfig, GatewayLimits, GatewayLogFormat,
        GatewayTimeouts, GuardConfig, ModelRoute, RecordConfig, SessionConfig, TelemetryConfig,
        TokenScope,
    },
};
use foxwedge_local::console::LocalSessions;
use foxwedge_store::{AnyStore, StoreUrl};
use foxwedge_upstream::{
    SecretText, UpstreamConfig, UpstreamKey, UpstreamTransport, http::NetworkConfig,
};
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};

/// The token of `ann`, a normal user.
pub(crate) const TOKEN: &str = "canary-token-ann";

/// A valid request body for the built-in model.
pub(crate) const CHAT: &str =
    r#"{"model":"scripted","messages":[{"role":"user","content":"hello"}]}"#;

/// A running gateway.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) engine: GatewayEngine,
    log: SharedBuffer,
    stop: oneshot::Sender<()>,
    task: JoinHandle<DrainReport>,
}

/// The written log.
#[derive(Clone, Default)]
struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("nobody panicked").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The default configuration: two tokens, one more host, one origin.
pub(crate) fn config() -> GatewayConfig {
    let upstream = Arc::new(UpstreamConfig {
        name: "scripted".into(),
        transport: UpstreamTransport::Scripted,
        version: "/v1".into(),
        platform: None,
        formats: vec![Format::OpenaiChat, Format::OpenaiResponses, Format::Anthropic],
        profile: None,
        key: UpstreamKey::None,
        headers: Vec::new(),
        attempts: 1,
    });
    let route = Arc::new(ModelRoute {
        model: "scripted*".into(),
        upstream: upstream.clone(),
        agent: None,
        upstream_model: None,
        guard: GuardConfig::default(),
        context_window: None,
        fallbacks: Vec::new(),
    });
    let token = |owner: &str, secret: &str, scope| AccessToken {
        owner: owner.into(),
        secret: SecretText::new(secret),
        scope,
    };
    GatewayConfig {
        network: NetworkConfig::default(),
        listen: ([127, 0, 0, 1], 0).into(),
        advertise: None,
        access: AccessConfig {
            tokens: vec![
                token("ann", TOKEN, TokenScope::User),
                token("bob", "canary-token-bob", TokenScope::Admin),
            ],
            hosts: vec!["gate.example".into()],
            origins: vec!["https://app.example".into()],
        },
        store: StoreUrl::Memory,
        limits: GatewayLimits::default(),
        timeouts: GatewayTimeouts::default(),
        guard: GuardConfig::default(),
        sessions: SessionConfig::default(),
        record: RecordConfig::default(),
        telemetry: TelemetryConfig {
            log: GatewayLogFormat::Json,
            otlp: None,
            otlp_headers: Vec::new(),
            otlp_content: false,
        },
        console: ConsoleConfig::default(),
        upstreams: vec![upstream],
        routes: vec![route],
    }
}

impl Server {
    pub(crate) async fn start(config: GatewayConfig) -> Server {
        Server::start_on(config, None).await
    }

    /// Starts a gateway whose console can see local sessions.
    pub(crate) async fn start_on(
        config: GatewayConfig,
        machine: Option<Arc<LocalSessions>>,
    ) -> Server {
        let config = Arc::new(config);
        let store = Arc::new(AnyStore::open(&config.store).await.expect("memory"));
        let engine = GatewayEngine::open(config.clone(), store.clone()).await.expect("an engine");
        let listener = TcpListener::bind(config.listen).await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (stop, stopped) = oneshot::channel();
        let log = SharedBuffer::default();
        let mut gateway = GatewayServer::new(config, engine.clone(), store).log_to(log.clone());
        if let Some(machine) = machine {
            gateway = gateway.local_sessions(machine);
        }
        let task = tokio::spawn(async move {
            let stop = async {
                let _ = stopped.await;
            };
            gateway.serve(listener, stop).await.expect("it begins")
        });
        Server { address, engine, log, stop, task }
    }

    pub(crate) async fn start_default() -> Server {
        Server::start(config()).await
    }

    /// Requests the stop, without waiting for it.
    pub(crate) fn stop(self) -> JoinHandle<(DrainReport, String)> {
        let _ = self.stop.send(());
        let (task, log) = (self.task, self.log);
        tokio::spawn(async move {
            let served = task.await.expect("it does not panic");
            let log = log.0.lock().expect("nobody panicked").clone();
            (served, String::from_utf8(log).expect("text"))
        })
    }

    /// Stops, and returns the drain report and the log.
    pub(crate) async fn end(self) -> (DrainReport, String) {
        self.stop().await.expect("it ends")
    }
}
