//! Reference servers of the protocol, installed by `cargo xtask mcp`.

use std::{
    fs,
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use foxwedge_agent_loop::mcp::{
    self, LogoutOutcome, McpConnection, McpEnvironment, McpError, McpServer, McpTransport,
};
use foxwedge_tools::{OutputCapture, StopLevel, StopReceiver, ToolEffect, ToolResultContent};
use serde_json::{Value, json};

use crate::{
    oauth::{StateFolder, issuer::get, log_in},
    support::{
        call, call_with, connect, describe, start_call, tool, wait_for_exit, wait_for_output,
    },
};

const FILESYSTEM: &str = "server-filesystem/dist/index.js";
const EVERYTHING: &str = "server-everything/dist/index.js";
/// A server with a login, made with the protocol's SDK, beside the packages.
const LOGIN: &str = "../../login.mjs";
const LONG_RUNNING: &str = "trigger-long-running-operation";

/// The script of a server.
fn script(name: &str) -> String {
    let home = std::env::var_os("FOXWEDGE_MCP_SERVERS").expect("`cargo xtask mcp` sets this");
    PathBuf::from(home).join(name).to_string_lossy().into_owned()
}

/// A folder for one test, removed afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("foxwedge-mcp-real-{}-{count}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        Folder(folder.canonicalize().unwrap())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

async fn connect_script(
    name: &str,
    arguments: &[&str],
    environment: &McpEnvironment,
) -> McpConnection {
    let mut command = vec!["node".to_owned(), script(name)];
    command.extend(arguments.iter().map(|argument| (*argument).to_owned()));
    let how = McpTransport::Stdio { command, env: Vec::new(), folder: None };
    connect(&McpServer::new("real", how), environment).await.unwrap()
}

async fn everything() -> McpConnection {
    connect_script(EVERYTHING, &["stdio"], &McpEnvironment::default()).await
}

#[tokio::test]
async fn files_are_read_and_written() {
    let folder = Folder::new();
    let root = folder.0.to_string_lossy().into_owned();
    let files = connect_script(FILESYSTEM, &[&root], &McpEnvironment::default()).await;
    assert_eq!(files.notes(), [""; 0]);
    assert!(files.tools().len() >= 10, "{}", files.tools().len());
    assert_eq!(tool(&files, "read_text_file").spec().effect, ToolEffect::Reads);
    assert_eq!(tool(&files, "write_file").spec().effect, ToolEffect::Writes);
    let path = folder.0.join("a.txt");
    let text = "one\ntwo é\n";
    let written = call(&files, "write_file", json!({"path": path, "content": text})).await;
    assert!(describe(&written).starts_with("Done: Successfully wrote"), "{}", describe(&written));
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    let read = call(&files, "read_text_file", json!({ "path": path })).await;
    assert!(describe(&read).starts_with(&format!("Done: {text}")), "{}", describe(&read));
    for input in [json!({"path": "/etc/passwd"}), json!({"path": folder.0.join("no")}), json!({})] {
        let result = describe(&call(&files, "read_text_file", input.clone()).await);
        assert!(result.starts_with("Failed: "), "{input}: {result}");
    }
    files.close().await;
}

#[tokio::test]
async fn a_server_gets_our_folder_as_root() {
    let folder = Folder::new();
    let environment = McpEnvironment { root: Some(folder.0.clone()), ..McpEnvironment::default() };
    let files = connect_script(FILESYSTEM, &[], &environment).await;
    // It requests the folder after its start, so the first results may come earlier.
    for _ in 0..500 {
        let result = describe(&call(&files, "list_allowed_directories", json!({})).await);
        if result.contains(&*folder.0.to_string_lossy()) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("it never got the folder");
}

/// Checks that both transports must pass.
async fn everything_works(real: &McpConnection) {
    let echo = call(real, "echo", json!({"message": "a é"})).await;
    assert_eq!(describe(&echo), "Done: Echo: a é");
    let sums: Vec<_> =
        (0..10).map(|n| start_call(real, "get-sum", json!({"a": n, "b": 1})).0).collect();
    for (n, sum) in sums.into_iter().enumerate() {
        let sum = describe(&sum.await.unwrap());
        assert_eq!(sum, format!("Done: The sum of {n} and 1 is {}.", n + 1));
    }
    let wrong = describe(&call(real, "get-sum", json!({"a": "x"})).await);
    assert!(wrong.starts_with("Failed: "), "{wrong}");
    let ToolResultContent::Blocks(blocks) = call(real, "get-tiny-image", json!({})).await.content
    else {
        panic!("no picture");
    };
    assert!(blocks.iter().any(|block| block["type"] == "image"), "{blocks:?}");
    let weather =
        describe(&call(real, "get-structured-content", json!({"location": "Chicago"})).await);
    let weather: Value = serde_json::from_str(weather.strip_prefix("Done: ").unwrap()).unwrap();
    assert!(weather.get("temperature").is_some(), "{weather}");
    let output = OutputCapture::new(1_000);
    let steps = json!({"duration": 0.2, "steps": 2});
    let result =
        call_with(&tool(real, LONG_RUNNING), steps, StopReceiver::never(), output.clone()).await;
    assert!(describe(&result).starts_with("Done: Long running operation completed"));
    assert_eq!(output.capture().text, "1/2\n2/2\n");
    let (slow, interrupt, output) =
        start_call(real, LONG_RUNNING, json!({"duration": 600, "steps": 6_000}));
    wait_for_output(&output, "1/6000").await;
    interrupt.raise(StopLevel::Graceful);
    assert_eq!(
        describe(&slow.await.unwrap()),
        "Stopped: the call was stopped before a result arrived"
    );
    let echo = call(real, "echo", json!({"message": "b"})).await;
    assert_eq!(describe(&echo), "Done: Echo: b");
}

#[tokio::test]
async fn everything_works_over_pipes() {
    let real = everything().await;
    everything_works(&real).await;
    real.close().await;
}

#[tokio::test]
async fn a_killed_server_is_restarted() {
    let folder = Folder::new();
    let number = folder.0.join("number");
    // The shell prints its process id and becomes the server.
    let script =
        format!("echo $$ >> '{}'; exec node '{}' stdio", number.display(), script(EVERYTHING));
    let command = ["sh", "-c", &script].map(str::to_owned).to_vec();
    let how = McpTransport::Stdio { command, env: Vec::new(), folder: None };
    let real = connect(&McpServer::new("real", how), &McpEnvironment::default()).await.unwrap();
    let (slow, _interrupt, output) =
        start_call(&real, LONG_RUNNING, json!({"duration": 600, "steps": 6_000}));
    wait_for_output(&output, "1/6000").await;
    let first = fs::read_to_string(&number).unwrap().trim().to_owned();
    assert!(Command::new("kill").args(["-9", &first]).status().unwrap().success());
    let last = describe(&slow.await.unwrap());
    assert!(last.starts_with("Failed: the MCP server `real` is gone: it ended with signal: 9"));
    let echo = call(&real, "echo", json!({"message": "again"})).await;
    assert_eq!(describe(&echo), "Done: Echo: again");
    let numbers = fs::read_to_string(&number).unwrap();
    let second = numbers.lines().last().unwrap().to_owned();
    assert_ne!(first, second);
    drop(real);
    wait_for_exit(&second).await;
}

/// A server on its own port, killed after the test.
struct HttpServer(Child);

impl HttpServer {
    /// Starts it, and waits until it listens.
    async fn start(name: &str, argument: &str, port: u16) -> HttpServer {
        let mut command = Command::new("node");
        command.arg(script(name)).arg(argument).env("PORT", port.to_string());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let far = HttpServer(command.spawn().unwrap());
        for _ in 0..1_000 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return far;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("it does not listen");
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn everything_works_over_http_and_after_a_restart() {
    // The older transport is named, or recognized.
    for (transport, path, is_named) in
        [("streamableHttp", "mcp", false), ("sse", "sse", true), ("sse", "sse", false)]
    {
        let port = free_port();
        let far = HttpServer::start(EVERYTHING, transport, port).await;
        let (url, headers) = (format!("http://127.0.0.1:{port}/{path}"), Vec::new());
        let how = match is_named {
            true => McpTransport::Sse { url, headers },
            false => McpTransport::Http { url, headers },
        };
        let server = McpServer::new("real", how);
        let real = connect(&server, &McpEnvironment::default()).await.unwrap();
        everything_works(&real).await;
        drop(far);
        let gone = describe(&call(&real, "echo", json!({"message": "c"})).await);
        // The end of an event stream is seen during the call, or before it.
        let is_closed = transport == "sse" && gone.contains("the connection was closed");
        assert!(gone.starts_with("Failed: "), "{gone}");
        assert!(gone.contains("upstream") || is_closed, "{gone}");
        let _far = HttpServer::start(EVERYTHING, transport, port).await;
        let echo = call(&real, "echo", json!({"message": "d"})).await;
        assert_eq!(describe(&echo), "Done: Echo: d");
        real.close().await;
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[tokio::test]
async fn a_login_at_the_official_authorization_router_works_until_the_logout() {
    let (port, folder) = (free_port(), StateFolder::new());
    let _far = HttpServer::start(LOGIN, &port.to_string(), port).await;
    let origin = format!("http://127.0.0.1:{port}");
    let how = McpTransport::Http { url: format!("{origin}/mcp"), headers: Vec::new() };
    let (server, environment) = (McpServer::new("real", how), folder.environment());
    let error = connect(&server, &environment).await.expect_err("no login");
    assert!(matches!(error, McpError::LoginRequired { .. }), "{error:?}");
    let report = log_in(&server, &folder).await.unwrap();
    assert_eq!(report.scope.as_deref(), Some("read"));
    assert!(report.renews);
    let real = connect(&server, &environment).await.unwrap();
    assert_eq!(describe(&call(&real, "echo", json!({})).await), "Done: fine");
    // An expired token is renewed in the middle of a session, and a refresh token is used once.
    for _ in 0..2 {
        get(&format!("{origin}/expire")).await;
        assert_eq!(describe(&call(&real, "echo", json!({})).await), "Done: fine");
    }
    assert_eq!(mcp::logout(&server, &environment).await, Ok(LogoutOutcome::Revoked));
    assert!(get(&format!("{origin}/expire")).await.contains("200 OK"));
    let error = connect(&server, &environment).await.expect_err("logged out");
    assert!(matches!(error, McpError::LoginRequired { .. }), "{error:?}");
    real.close().await;
}
