//! Runs a gateway inside a program and sends a broken history through it.
//!
//! ```sh
//! cargo run -p foxwedge-gateway --example embedded_gateway
//! ```

use std::{error::Error, ffi::OsString, io, path::Path, sync::Arc};

use foxwedge_gateway::{
    GatewayEngine,
    config::{self, ConfigEnvironment, ConfigFile, ConfigFlags, TokenRequirement},
    serve,
};
use foxwedge_store::{AnyStore, StoreUrl};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::oneshot,
};

/// No variables and no files: the defaults, with the built-in model as upstream.
struct EmptyEnvironment;

impl ConfigEnvironment for EmptyEnvironment {
    fn variable(&self, _: &str) -> Option<OsString> {
        None
    }

    fn file(&self, _: &Path) -> io::Result<ConfigFile> {
        Err(io::ErrorKind::NotFound.into())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let flags = ConfigFlags {
        store: Some("memory:".into()),
        token_requirement: TokenRequirement::NotRequired,
        ..ConfigFlags::default()
    };
    let config = Arc::new(config::read(&flags, &EmptyEnvironment)?.config);
    let store = Arc::new(AnyStore::open(&StoreUrl::Memory).await?);
    let engine = GatewayEngine::open(config.clone(), store.clone()).await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let (stop, stopped) = oneshot::channel::<()>();
    let server = tokio::spawn(serve(config, engine, store, listener, async {
        let _ = stopped.await;
    }));

    // The call has no result: the gateway adds one before the model sees the history.
    let body = r#"{"model": "scripted", "messages": [{"role": "user", "content": "go"},
        {"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function",
            "function": {"name": "look", "arguments": "{}"}}]},
        {"role": "user", "content": "well?"}]}"#;
    let length = body.len();
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         connection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    let mut connection = TcpStream::connect(address).await?;
    connection.write_all(request.as_bytes()).await?;
    let mut response = String::new();
    connection.read_to_string(&mut response).await?;
    println!("{response}");
    assert!(response.contains("x-foxwedge-action: fixed"));
    let _ = stop.send(());
    server.await??;
    Ok(())
}
