//! Servers of the protocol's authors, as `cargo xtask mcp` installs them.

use std::{
    fs,
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use foxwedge_agent_loop::mcp::{McpConnection, McpEnvironment, McpServer, McpTransport};
use foxwedge_tools::{OutputCapture, StopLevel, StopReceiver, ToolEffect, ToolResultContent};
use serde_json::{Value, json};

use crate::support::{begin, call, call_with, connected_to, dies, heard, told, tool};

const FILESYSTEM: &str = "server-filesystem/dist/index.js";
const EVERYTHING: &str = "server-everything/dist/index.js";
const LONG_RUNNING: &str = "trigger-long-running-operation";

/// The script of a server.
fn script(name: &str) -> String {
    let home = std::env::var_os("FOXWEDGE_MCP_SERVERS").expect("`cargo xtask mcp` sets this");
    PathBuf::from(home).join(name).to_string_lossy().into_owned()
}

/// A folder of a test, removed behind it.
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

async fn started(name: &str, arguments: &[&str], around: &McpEnvironment) -> McpConnection {
    let mut command = vec!["node".to_owned(), script(name)];
    command.extend(arguments.iter().map(|argument| (*argument).to_owned()));
    let how = McpTransport::Stdio { command, env: Vec::new(), folder: None };
    connected_to(&McpServer::new("real", how), around).await.unwrap()
}

async fn everything() -> McpConnection {
    started(EVERYTHING, &["stdio"], &McpEnvironment::default()).await
}

#[tokio::test]
async fn files_are_read_and_written() {
    let folder = Folder::new();
    let root = folder.0.to_string_lossy().into_owned();
    let files = started(FILESYSTEM, &[&root], &McpEnvironment::default()).await;
    assert_eq!(files.notes(), [""; 0]);
    assert!(files.tools().len() >= 10, "{}", files.tools().len());
    assert_eq!(tool(&files, "read_text_file").spec().effect, ToolEffect::Reads);
    assert_eq!(tool(&files, "write_file").spec().effect, ToolEffect::Writes);
    let path = folder.0.join("a.txt");
    let text = "one\ntwo é\n";
    let written = call(&files, "write_file", json!({"path": path, "content": text})).await;
    assert!(told(&written).starts_with("Done: Successfully wrote"), "{}", told(&written));
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    let read = call(&files, "read_text_file", json!({ "path": path })).await;
    assert!(told(&read).starts_with(&format!("Done: {text}")), "{}", told(&read));
    for input in [json!({"path": "/etc/passwd"}), json!({"path": folder.0.join("no")}), json!({})] {
        let answer = told(&call(&files, "read_text_file", input.clone()).await);
        assert!(answer.starts_with("Failed: "), "{input}: {answer}");
    }
    files.close().await;
}

#[tokio::test]
async fn our_folder_is_told_to_a_server_that_asks() {
    let folder = Folder::new();
    let around = McpEnvironment { root: Some(folder.0.clone()), ..McpEnvironment::default() };
    let files = started(FILESYSTEM, &[], &around).await;
    // It asks for the folder after it began, so the first answers may come before.
    for _ in 0..500 {
        let answer = told(&call(&files, "list_allowed_directories", json!({})).await);
        if answer.contains(&*folder.0.to_string_lossy()) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("it never heard of the folder");
}

/// What both ways to reach it have to do.
async fn everything_works(real: &McpConnection) {
    let echo = call(real, "echo", json!({"message": "a é"})).await;
    assert_eq!(told(&echo), "Done: Echo: a é");
    let sums: Vec<_> = (0..10).map(|n| begin(real, "get-sum", json!({"a": n, "b": 1})).0).collect();
    for (n, sum) in sums.into_iter().enumerate() {
        let sum = told(&sum.await.unwrap());
        assert_eq!(sum, format!("Done: The sum of {n} and 1 is {}.", n + 1));
    }
    let wrong = told(&call(real, "get-sum", json!({"a": "x"})).await);
    assert!(wrong.starts_with("Failed: "), "{wrong}");
    let ToolResultContent::Blocks(blocks) = call(real, "get-tiny-image", json!({})).await.content
    else {
        panic!("no picture");
    };
    assert!(blocks.iter().any(|block| block["type"] == "image"), "{blocks:?}");
    let weather = told(&call(real, "get-structured-content", json!({"location": "Chicago"})).await);
    let weather: Value = serde_json::from_str(weather.strip_prefix("Done: ").unwrap()).unwrap();
    assert!(weather.get("temperature").is_some(), "{weather}");
    let output = OutputCapture::new(1_000);
    let steps = json!({"duration": 0.2, "steps": 2});
    let answer =
        call_with(&tool(real, LONG_RUNNING), steps, StopReceiver::never(), output.clone()).await;
    assert!(told(&answer).starts_with("Done: Long running operation completed"));
    assert_eq!(output.capture().text, "1/2\n2/2\n");
    let (slow, interrupt, output) =
        begin(real, LONG_RUNNING, json!({"duration": 600, "steps": 6_000}));
    heard(&output, "1/6000").await;
    interrupt.raise(StopLevel::Graceful);
    assert_eq!(told(&slow.await.unwrap()), "Stopped: it was stopped before it answered");
    let echo = call(real, "echo", json!({"message": "b"})).await;
    assert_eq!(told(&echo), "Done: Echo: b");
}

#[tokio::test]
async fn everything_works_over_pipes() {
    let real = everything().await;
    everything_works(&real).await;
    real.close().await;
}

#[tokio::test]
async fn a_killed_server_begins_again() {
    let folder = Folder::new();
    let number = folder.0.join("number");
    // The shell tells its number and becomes the server.
    let script =
        format!("echo $$ >> '{}'; exec node '{}' stdio", number.display(), script(EVERYTHING));
    let command = ["sh", "-c", &script].map(str::to_owned).to_vec();
    let how = McpTransport::Stdio { command, env: Vec::new(), folder: None };
    let real =
        connected_to(&McpServer::new("real", how), &McpEnvironment::default()).await.unwrap();
    let (slow, _interrupt, output) =
        begin(&real, LONG_RUNNING, json!({"duration": 600, "steps": 6_000}));
    heard(&output, "1/6000").await;
    let first = fs::read_to_string(&number).unwrap().trim().to_owned();
    assert!(Command::new("kill").args(["-9", &first]).status().unwrap().success());
    let last = told(&slow.await.unwrap());
    assert!(last.starts_with("Failed: the MCP server `real` is gone: it ended with signal: 9"));
    let echo = call(&real, "echo", json!({"message": "again"})).await;
    assert_eq!(told(&echo), "Done: Echo: again");
    let numbers = fs::read_to_string(&number).unwrap();
    let second = numbers.lines().last().unwrap().to_owned();
    assert_ne!(first, second);
    drop(real);
    dies(&second).await;
}

/// A server on a port of its own, killed behind the test.
struct Far(Child);

impl Far {
    /// Starts it, and waits until it listens.
    async fn start(port: u16) -> Far {
        let mut command = Command::new("node");
        command.arg(script(EVERYTHING)).arg("streamableHttp").env("PORT", port.to_string());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let far = Far(command.spawn().unwrap());
        for _ in 0..1_000 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return far;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("it does not listen");
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn everything_works_over_http_also_after_a_death() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let far = Far::start(port).await;
    let url = format!("http://127.0.0.1:{port}/mcp");
    let server = McpServer::new("real", McpTransport::Http { url, headers: Vec::new() });
    let real = connected_to(&server, &McpEnvironment::default()).await.unwrap();
    everything_works(&real).await;
    drop(far);
    let gone = told(&call(&real, "echo", json!({"message": "c"})).await);
    assert!(gone.starts_with("Failed: ") && gone.contains("upstream"), "{gone}");
    let _far = Far::start(port).await;
    let echo = call(&real, "echo", json!({"message": "d"})).await;
    assert_eq!(told(&echo), "Done: Echo: d");
    real.close().await;
}
