//! A gateway in this process, over the built-in model.

use std::{
    io::{self, Write},
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use foxwedge_core::Wire;
use foxwedge_engine::{
    Engine, Secret,
    config::{
        Access, Config, Console, Guard, Key, Limits, Log, Reach, Record, Route, Scope, Sessions,
        Telemetry, Times, Token, Upstream,
    },
};
use foxwedge_gateway::{Gateway, Served, console::Machine};
use foxwedge_store::{AnyStore, StoreUrl};
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
    task: JoinHandle<Served>,
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
pub(crate) fn config() -> Config {
    let upstream = Arc::new(Upstream {
        name: "scripted".into(),
        reach: Reach::Scripted,
        version: "/v1".into(),
        speaks: vec![Wire::OpenaiChat, Wire::OpenaiResponses, Wire::Anthropic],
        profile: None,
        key: Key::None,
        headers: Vec::new(),
        tries: 1,
    });
    let route = Arc::new(Route {
        model: "scripted*".into(),
        upstream: upstream.clone(),
        rename: None,
        guard: Guard::default(),
        window: None,
    });
    let token = |owner: &str, secret: &str, scope| Token {
        owner: owner.into(),
        secret: Secret::new(secret),
        scope,
    };
    Config {
        listen: ([127, 0, 0, 1], 0).into(),
        access: Access {
            tokens: vec![
                token("ann", TOKEN, Scope::User),
                token("bob", "canary-token-bob", Scope::Admin),
            ],
            hosts: vec!["gate.example".into()],
            origins: vec!["https://app.example".into()],
        },
        store: StoreUrl::Memory,
        limits: Limits::default(),
        times: Times::default(),
        guard: Guard::default(),
        sessions: Sessions::default(),
        record: Record::default(),
        telemetry: Telemetry { log: Log::Json, otlp: None, otlp_headers: Vec::new() },
        console: Console::default(),
        upstreams: vec![upstream],
        routes: vec![route],
    }
}

impl Server {
    pub(crate) async fn start(config: Config) -> Server {
        Server::start_on(config, None).await
    }

    /// The same, on a machine that the console may look at.
    pub(crate) async fn start_on(config: Config, machine: Option<Arc<dyn Machine>>) -> Server {
        let config = Arc::new(config);
        let store = Arc::new(AnyStore::open(&config.store).await.expect("memory"));
        let engine = Engine::open(config.clone(), store.clone()).await.expect("an engine");
        let listener = TcpListener::bind(config.listen).await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (stop, stopped) = oneshot::channel();
        let log = Kept::default();
        let mut gateway = Gateway::new(config, engine, store).log_to(log.clone());
        if let Some(machine) = machine {
            gateway = gateway.machine(machine);
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
    pub(crate) fn stop(self) -> JoinHandle<(Served, String)> {
        let _ = self.stop.send(());
        let (task, log) = (self.task, self.log);
        tokio::spawn(async move {
            let served = task.await.expect("it does not panic");
            let log = log.0.lock().expect("nobody panicked").clone();
            (served, String::from_utf8(log).expect("text"))
        })
    }

    /// Stops, and says what happened and what the log says.
    pub(crate) async fn end(self) -> (Served, String) {
        self.stop().await.expect("it ends")
    }
}
