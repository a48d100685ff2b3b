//! A gateway in this process, over providers at loopback addresses.

use std::{ffi::OsString, io, net::SocketAddr, path::Path, sync::Arc, time::Duration};

use foxwedge_gateway::{DrainReport, GatewayServer, serve_scripted};
use foxwedge_gateway::{
    GatewayEngine,
    config::{self, ConfigEnvironment, ConfigFile, ConfigFlags, TokenRequirement},
};
use foxwedge_store::{AnyStore, StoreUrl};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle, time::timeout};

use crate::client::{Answer, get, send};

/// Whoever waits longer has found a bug.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The faces: where they are asked, and how their list of messages is called.
pub(crate) const FACES: [(&str, &str); 3] = [
    ("/v1/chat/completions", "messages"),
    ("/v1/responses", "input"),
    ("/v1/messages", "messages"),
];

/// The formats of providers: each has an upstream of that name.
pub(crate) const FORMATS: [&str; 4] = ["chat", "responses", "messages", "gemini"];

/// A gateway that serves, and nothing is written anywhere.
pub(crate) struct Stage {
    pub(crate) address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<DrainReport>,
}

/// A provider that serves.
pub(crate) struct Scripted {
    pub(crate) address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<DrainReport>,
}

struct Nowhere(String);

impl ConfigEnvironment for Nowhere {
    fn variable(&self, _: &str) -> Option<OsString> {
        None
    }

    fn file(&self, path: &Path) -> io::Result<ConfigFile> {
        match path == Path::new("/stage.toml") {
            true => {
                Ok(ConfigFile { text: self.0.clone(), exposure: config::FileExposure::Private })
            }
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

/// One upstream for each format at that address, asked for by `chat-…`, `responses-…` and so on.
fn file(upstream: SocketAddr, more: &str) -> String {
    let mut text = format!("store = \"memory\"\n[telemetry]\nlog = \"off\"\n{more}\n");
    for (name, kind, version, speaks) in [
        ("chat", "openai-compatible", "/v1", "openai-chat"),
        ("responses", "openai", "/v1", "openai-responses"),
        ("messages", "anthropic", "", "anthropic"),
        ("gemini", "gemini", "", "gemini"),
    ] {
        text.push_str(&format!(
            "[[upstream]]\nname = \"{name}\"\nkind = \"{kind}\"\nkey = \"none\"\n\
             base_url = \"http://{upstream}{version}\"\nspeaks = [\"{speaks}\"]\n\
             [[route]]\nmodel = \"{name}-*\"\nupstream = \"{name}\"\n"
        ));
    }
    text + "[[route]]\nmodel = \"scripted*\"\nupstream = \"scripted\"\n"
}

impl Stage {
    /// A gateway with upstreams at that address.
    pub(crate) async fn start(upstream: SocketAddr, more: &str) -> Stage {
        let flags = ConfigFlags {
            config: Some("/stage.toml".into()),
            token_requirement: TokenRequirement::NotRequired,
            ..ConfigFlags::default()
        };
        let loaded = config::read(&flags, &Nowhere(file(upstream, more)));
        let config = Arc::new(loaded.unwrap_or_else(|refused| panic!("{refused:?}")).config);
        let store = Arc::new(AnyStore::open(&StoreUrl::Memory).await.expect("memory"));
        let engine = GatewayEngine::open(config.clone(), store.clone()).await.expect("an engine");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (stop, stopped) = oneshot::channel();
        let gateway = GatewayServer::new(config, engine, store).log_to(io::sink());
        let task = tokio::spawn(async move {
            let stop = async {
                let _ = stopped.await;
            };
            gateway.serve(listener, stop).await.expect("it begins")
        });
        Stage { address, stop, task }
    }

    /// What the gateway says at a path.
    pub(crate) async fn look(&self, path: &str) -> Answer {
        timeout(PATIENCE, send(self.address, get(path, ""))).await.expect("a reply")
    }

    /// A number of the metrics.
    pub(crate) async fn count(&self, name: &str) -> String {
        let metrics = self.look("/metrics").await.body;
        let line = metrics.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or("nothing").trim().to_owned()
    }

    /// Waits until nobody is served but whoever asks, and says which runs are open then.
    pub(crate) async fn rests(&self) -> Value {
        let calm = async {
            let one = |count: String| count == "1";
            while !(one(self.count("foxwedge_requests_at_work ").await)
                && one(self.count("foxwedge_connections ").await))
            {}
        };
        timeout(PATIENCE, calm).await.expect("everybody goes");
        self.look("/v1/runs?open=true").await.json()["data"].clone()
    }

    /// Ends it, and everything has ended.
    pub(crate) async fn end(self) {
        assert_eq!(self.rests().await, json!([]));
        let _ = self.stop.send(());
        timeout(PATIENCE, self.task).await.expect("it ends").expect("it does not panic");
    }
}

impl Scripted {
    pub(crate) async fn start() -> Scripted {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(serve_scripted(listener, async {
            let _ = stopped.await;
        }));
        Scripted { address, stop, task }
    }

    pub(crate) async fn end(self) {
        let _ = self.stop.send(());
        timeout(PATIENCE, self.task).await.expect("it ends").expect("it does not panic");
    }
}

/// A request of a face.
pub(crate) fn body(list: &str, model: &str, stream: bool) -> String {
    let words = "one two three four five";
    let mut body = json!({"model": model, "stream": stream});
    body[list] = json!([{"role": "user", "content": words}]);
    let most = if list == "input" { "max_output_tokens" } else { "max_tokens" };
    body[most] = json!(200);
    body.to_string()
}
