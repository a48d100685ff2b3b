//! A gateway in this process, over the built-in model.

use std::{
    io::{self, Write},
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use foxwedge_core::Format;
use foxwedge_gateway::{DrainReport, GatewayServer, console::LocalSessions};
use foxwedge_gateway::{
    GatewayEngine,
    config::{
        AccessConfig, AccessToken, ConsoleConfig, GatewayConfig, GatewayLimits, GatewayLogFormat,
        GatewayTimeouts, GuardConfig, ModelRoute, RecordConfig, SessionConfig, TelemetryConfig,
        TokenScope,
    },
};
use foxwedge_store::{AnyStore, StoreUrl};
use foxwedge_upstream::{SecretText, UpstreamConfig, UpstreamKey, UpstreamTransport};
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};

/// The token of `ann`, who is nobody special.
pub(crate) const TOKEN: &str = "canary-token-ann";

/// A body that the built-in model answers.
pub(crate) const CHAT: &str =
    r#"{"model":"scripted","messages":[{"role":"user","content":"hello"}]}"#;

/// A gateway that serves.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    log: Kept,
    stop: oneshot::Sender<()>,
    task: JoinHandle<DrainReport>,
}

/// What was written.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("nobody panicked").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The usual configuration: two tokens, one more host, one origin.
pub(crate) fn config() -> GatewayConfig {
    let upstream = Arc::new(UpstreamConfig {
        name: "scripted".into(),
        transport: UpstreamTransport::Scripted,
        version: "/v1".into(),
        speaks: vec![Format::OpenaiChat, Format::OpenaiResponses, Format::Anthropic],
        profile: None,
        key: UpstreamKey::None,
        headers: Vec::new(),
        tries: 1,
    });
    let route = Arc::new(ModelRoute {
        model: "scripted*".into(),
        upstream: upstream.clone(),
        agent: None,
        rename: None,
        guard: GuardConfig::default(),
        window: None,
    });
    let token = |owner: &str, secret: &str, scope| AccessToken {
        owner: owner.into(),
        secret: SecretText::new(secret),
        scope,
    };
    GatewayConfig {
        listen: ([127, 0, 0, 1], 0).into(),
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
        times: GatewayTimeouts::default(),
        guard: GuardConfig::default(),
        sessions: SessionConfig::default(),
        record: RecordConfig::default(),
        telemetry: TelemetryConfig {
            log: GatewayLogFormat::Json,
            otlp: None,
            otlp_headers: Vec::new(),
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

    /// The same, on a machine that the console may look at.
    pub(crate) async fn start_on(
        config: GatewayConfig,
        machine: Option<Arc<dyn LocalSessions>>,
    ) -> Server {
        let config = Arc::new(config);
        let store = Arc::new(AnyStore::open(&config.store).await.expect("memory"));
        let engine = GatewayEngine::open(config.clone(), store.clone()).await.expect("an engine");
        let listener = TcpListener::bind(config.listen).await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (stop, stopped) = oneshot::channel();
        let log = Kept::default();
        let mut gateway = GatewayServer::new(config, engine, store).log_to(log.clone());
        if let Some(machine) = machine {
            gateway = gateway.local_sessions(machine);
        }
        let task = tokio::spawn(async move {
            let stop = async {
                let _ = stopped.await;
            };
            gateway.serve(listener, stop).await.expect("it begins")
        });
        Server { address, log, stop, task }
    }

    pub(crate) async fn usual() -> Server {
        Server::start(config()).await
    }

    /// The wish to stop, without waiting.
    pub(crate) fn stop(self) -> JoinHandle<(DrainReport, String)> {
        let _ = self.stop.send(());
        let (task, log) = (self.task, self.log);
        tokio::spawn(async move {
            let served = task.await.expect("it does not panic");
            let log = log.0.lock().expect("nobody panicked").clone();
            (served, String::from_utf8(log).expect("text"))
        })
    }

    /// Stops, and says what happened and what the log says.
    pub(crate) async fn end(self) -> (DrainReport, String) {
        self.stop().await.expect("it ends")
    }
}
