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

/// Longer than any correct wait.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

/// The endpoints: path, and the name of the message list.
pub(crate) const ENDPOINTS: [(&str, &str); 3] = [
    ("/v1/chat/completions", "messages"),
    ("/v1/responses", "input"),
    ("/v1/messages", "messages"),
];

/// Provider formats; each has an upstream of the same name.
pub(crate) const FORMATS: [&str; 4] = ["chat", "responses", "messages", "gemini"];

/// A running gateway that writes nothing to disk.
pub(crate) struct TestGateway {
    pub(crate) address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<DrainReport>,
}

/// A running provider.
pub(crate) struct ScriptedServer {
    pub(crate) address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<DrainReport>,
}

struct MemoryConfig(String);

impl ConfigEnvironment for MemoryConfig {
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

/// The configuration: one upstream per format at that address, for the models `chat-…`,
/// `responses-…` and so on.
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
             base_url = \"http://{upstream}{version}\"\nformats = [\"{speaks}\"]\n\
             [[route]]\nmodel = \"{name}-*\"\nupstream = \"{name}\"\n"
        ));
    }
    text + "[[route]]\nmodel = \"scripted*\"\nupstream = \"scripted\"\n"
}

impl TestGateway {
    /// Starts a gateway with upstreams at that address.
    pub(crate) async fn start(upstream: SocketAddr, more: &str) -> TestGateway {
        let flags = ConfigFlags {
            config: Some("/stage.toml".into()),
            token_requirement: TokenRequirement::NotRequired,
            ..ConfigFlags::default()
        };
        let loaded = config::read(&flags, &MemoryConfig(file(upstream, more)));
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
        TestGateway { address, stop, task }
    }

    /// Sends a GET request.
    pub(crate) async fn fetch(&self, path: &str) -> Answer {
        timeout(TIMEOUT, send(self.address, get(path, ""))).await.expect("a reply")
    }

    /// The value of a metric.
    pub(crate) async fn count(&self, name: &str) -> String {
        let metrics = self.fetch("/metrics").await.body;
        let line = metrics.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or("nothing").trim().to_owned()
    }

    /// Waits until no other request is in flight, and returns the open runs.
    pub(crate) async fn wait_until_idle(&self) -> Value {
        let calm = async {
            let one = |count: String| count == "1";
            while !(one(self.count("foxwedge_requests_at_work ").await)
                && one(self.count("foxwedge_connections ").await))
            {}
        };
        timeout(TIMEOUT, calm).await.expect("everybody goes");
        self.fetch("/v1/runs?open=true").await.json()["data"].clone()
    }

    /// Checks that no run is open, and stops the gateway.
    pub(crate) async fn end(self) {
        assert_eq!(self.wait_until_idle().await, json!([]));
        let _ = self.stop.send(());
        timeout(TIMEOUT, self.task).await.expect("it ends").expect("it does not panic");
    }
}

impl ScriptedServer {
    pub(crate) async fn start() -> ScriptedServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(serve_scripted(listener, async {
            let _ = stopped.await;
        }));
        ScriptedServer { address, stop, task }
    }

    pub(crate) async fn end(self) {
        let _ = self.stop.send(());
        timeout(TIMEOUT, self.task).await.expect("it ends").expect("it does not panic");
    }
}

/// A request body.
pub(crate) fn body(list: &str, model: &str, stream: bool) -> String {
    let words = "one two three four five";
    let mut body = json!({"model": model, "stream": stream});
    body[list] = json!([{"role": "user", "content": words}]);
    let most = if list == "input" { "max_output_tokens" } else { "max_tokens" };
    body[most] = json!(200);
    body.to_string()
}
