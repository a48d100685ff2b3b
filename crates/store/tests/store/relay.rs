//! A relay in front of a PostgreSQL server. It can freeze: then it accepts connections and data and
//! passes nothing on, as a server does whose processes are stopped.
//!
//! Other test programs include this file.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, split},
    net::{TcpListener, TcpStream, UnixStream},
    sync::watch,
    task::JoinSet,
};

/// What a client sends that freezes the relay, once.
type FreezeTrap = Arc<Mutex<Option<&'static str>>>;

/// A running relay. Its connections end when it is dropped.
pub(crate) struct Relay {
    url: String,
    is_frozen: watch::Sender<bool>,
    trap: FreezeTrap,
    _tasks: JoinSet<()>,
}

impl Relay {
    /// Starts a relay to the server at a URL.
    pub(crate) async fn start(url: &str) -> Relay {
        let (user, rest) = url.split_once('@').expect("a URL with a user");
        let (server, path) = rest.split_once('/').expect("a URL with a database");
        let server = server.replace("%2F", "/");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let own = listener.local_addr().expect("an address");
        let url = format!("{user}@{own}/{path}");
        let (is_frozen, trap) = (watch::Sender::new(false), FreezeTrap::default());
        let mut tasks = JoinSet::new();
        let (frozen, own_trap) = (is_frozen.clone(), trap.clone());
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                connections.spawn(relay(client, server.clone(), frozen.clone(), own_trap.clone()));
            }
        });
        Relay { url, is_frozen, trap, _tasks: tasks }
    }

    /// The URL of the server, through the relay.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn freeze(&self) {
        self.is_frozen.send_replace(true);
    }

    /// Freezes as soon as a client sends this text, before the server gets it.
    pub(crate) fn freeze_at(&self, text: &'static str) {
        *self.trap.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    }

    /// Waits until it is frozen.
    pub(crate) async fn frozen(&self) {
        self.is_frozen.subscribe().wait_for(|is_frozen| *is_frozen).await.expect("a relay");
    }

    /// Passes on what has come meanwhile, and everything from now on.
    pub(crate) fn thaw(&self) {
        self.is_frozen.send_replace(false);
    }
}

async fn relay(client: TcpStream, server: String, frozen: watch::Sender<bool>, trap: FreezeTrap) {
    match server.rsplit_once(':').filter(|_| server.starts_with('/')) {
        Some((folder, port)) => {
            let server = UnixStream::connect(format!("{folder}/.s.PGSQL.{port}")).await;
            join(client, server.expect("a server"), frozen, trap).await;
        }
        None => {
            let server = TcpStream::connect(&server).await.expect("a server");
            join(client, server, frozen, trap).await;
        }
    }
}

async fn join(
    client: TcpStream,
    server: impl AsyncRead + AsyncWrite,
    frozen: watch::Sender<bool>,
    trap: FreezeTrap,
) {
    let no_trap = FreezeTrap::default();
    let ((from_client, to_client), (from_server, to_server)) = (split(client), split(server));
    tokio::join!(
        pass_on(from_client, to_server, &frozen, &trap),
        pass_on(from_server, to_client, &frozen, &no_trap)
    );
}

async fn pass_on(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    frozen: &watch::Sender<bool>,
    trap: &FreezeTrap,
) {
    let mut is_frozen = frozen.subscribe();
    let mut chunk = vec![0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut chunk).await {
        let bytes = chunk.get(..count).expect("what was read");
        let is_trap =
            |text: &mut &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
        let sprung = trap.lock().unwrap_or_else(PoisonError::into_inner).take_if(is_trap);
        if sprung.is_some() {
            frozen.send_replace(true);
        }
        let may_pass = is_frozen.wait_for(|is_frozen| !is_frozen).await.is_ok();
        if !may_pass || to.write_all(bytes).await.is_err() {
            break;
        }
    }
    let _ = to.shutdown().await;
}
