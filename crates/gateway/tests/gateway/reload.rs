//! The configuration changes while the gateway serves.

use std::{
    ffi::OsString,
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use foxwedge_gateway::{
    ConfigReloader, ReloadOutcome,
    config::{self, ConfigEnvironment, ConfigError, ConfigFile, ConfigFlags, LoadedConfig},
};

use crate::{
    client::{get, post, send},
    server::Server,
};

struct OneFile(String);

impl ConfigEnvironment for OneFile {
    fn variable(&self, _: &str) -> Option<OsString> {
        None
    }

    fn file(&self, path: &Path) -> io::Result<ConfigFile> {
        match path == Path::new("/gateway.toml") {
            true => {
                Ok(ConfigFile { text: self.0.clone(), exposure: config::FileExposure::Private })
            }
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

fn read(text: &str) -> Result<LoadedConfig, ConfigError> {
    let flags = ConfigFlags { config: Some("/gateway.toml".into()), ..ConfigFlags::default() };
    config::read(&flags, &OneFile(text.to_owned()))
}

/// A file with a token and a route of the built-in model.
fn file(listen: &str, token: &str, model: &str, more: &str) -> String {
    format!(
        "listen = \"{listen}\"\nstore = \"memory:\"\n{more}\n\
         [[token]]\nowner = \"ann\"\ntoken = \"{token}-0123456789abcdef\"\n\
         [[route]]\nmodel = \"{model}\"\nupstream = \"scripted\"\n"
    )
}

async fn start(text: &str) -> (Server, ConfigReloader) {
    let loaded = read(text).expect("a configuration");
    let server = Server::start(loaded.config.clone()).await;
    let reloader = ConfigReloader::new(server.engine.clone(), loaded);
    (server, reloader)
}

async fn status(server: &Server, token: &str, model: &str) -> u16 {
    let body = format!(r#"{{"model":"{model}","messages":[{{"role":"user","content":"hi"}}]}}"#);
    let headers = format!("x-api-key: {token}-0123456789abcdef\r\n");
    send(server.address, post("/v1/chat/completions", &headers, &body)).await.status
}

fn changes(outcome: ReloadOutcome) -> (String, String) {
    match outcome {
        ReloadOutcome::Applied(changes) => {
            (changes.applied.join(", "), changes.after_restart.join(", "))
        }
        ReloadOutcome::Refused(error) => panic!("{error:?}"),
    }
}

#[tokio::test]
async fn routes_and_tokens_change_and_what_cannot_is_named() {
    const LISTEN: &str = "127.0.0.1:0";
    let (server, mut reloader) = start(&file(LISTEN, "one", "fast", "")).await;
    assert_eq!(status(&server, "one", "fast").await, 200);
    assert_eq!(
        changes(reloader.reload(read(&file(LISTEN, "one", "fast", "")))),
        Default::default()
    );
    let more = "[record]\nstore_content = true\n[limits]\njson_depth = 64\nconnections = 9";
    let next = file("127.0.0.1:7", "two", "slow", more);
    let (applied, after_restart) = changes(reloader.reload(read(&next)));
    assert_eq!(applied, "limits.json_depth, route \"slow\", route \"fast\", token of \"ann\"");
    assert_eq!(after_restart, "listen, limits.connections, record.store_content");
    assert_eq!(status(&server, "one", "slow").await, 401);
    assert_eq!(status(&server, "two", "fast").await, 404);
    assert_eq!(status(&server, "two", "slow").await, 200);
    let config = server.engine.config();
    assert_eq!((config.listen.port(), config.limits.connections), (0, 4_096), "as at the start");
    assert_eq!(config.limits.json_depth, 64);
    // What waits for a restart still waits after another reload.
    let more = more.replace("64", "65");
    let next = file("127.0.0.1:7", "two", "slow", &more);
    let (applied, after_restart) = changes(reloader.reload(read(&next)));
    assert_eq!(applied, "limits.json_depth");
    assert_eq!(after_restart, "listen, limits.connections, record.store_content");
    server.end().await;
}

#[tokio::test]
async fn a_wrong_file_changes_nothing_and_is_counted() {
    let (server, mut reloader) = start(&file("127.0.0.1:0", "one", "fast", "")).await;
    let wrong = file("127.0.0.1:0", "two", "slow", "[limits]\njson_depth = \"deep\"");
    for text in [wrong.as_str(), "listen = ", "[[route]]\nmodel = \"x\"\nupstream = \"nobody\""] {
        match reloader.reload(read(text)) {
            ReloadOutcome::Refused(error) => assert!(!error.complaints.is_empty()),
            ReloadOutcome::Applied(changes) => panic!("{text}: {changes:?}"),
        }
    }
    assert_eq!(status(&server, "one", "fast").await, 200);
    assert_eq!(status(&server, "two", "slow").await, 401);
    let metrics =
        send(server.address, get("/metrics", "x-api-key: one-0123456789abcdef\r\n")).await;
    assert!(metrics.body.contains("foxwedge_config_reloads_total{result=\"refused\"} 3"));
    server.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_fails_while_the_configuration_is_reloaded() {
    let texts = ["off", "fix"]
        .map(|mode| file("127.0.0.1:0", "one", "fast", &format!("[guard]\nmode = \"{mode}\"")));
    let (server, mut reloader) = start(&texts[0]).await;
    let server = Arc::new(server);
    let done = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> = (0..4)
        .map(|_| {
            let (server, done) = (server.clone(), done.clone());
            tokio::spawn(async move {
                let mut count = 0;
                while !done.load(Ordering::Relaxed) {
                    assert_eq!(status(&server, "one", "fast").await, 200);
                    count += 1;
                }
                count
            })
        })
        .collect();
    for at in 0..100 {
        let (applied, _) = changes(reloader.reload(read(&texts[(at + 1) % 2])));
        assert_eq!(applied, "guard.mode");
        // Wait for a request between any two reloads.
        assert_eq!(status(&server, "one", "fast").await, 200);
    }
    done.store(true, Ordering::Relaxed);
    for client in clients {
        assert!(client.await.expect("no client fails") > 0, "a client had no turn");
    }
}
