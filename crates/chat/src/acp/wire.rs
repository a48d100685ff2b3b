//! JSON-RPC messages to the client, and requests that wait for its response.

use std::{
    collections::HashMap,
    io::Write as _,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::{Value, json};
use tokio::{
    sync::{mpsc, oneshot},
    task::{JoinHandle, spawn_blocking},
};

/// Writes messages. Clones share state.
#[derive(Clone, Debug)]
pub(super) struct AcpWriter {
    lines: mpsc::UnboundedSender<String>,
    /// Our requests, by id.
    waiting: Arc<Mutex<HashMap<String, oneshot::Sender<Option<Value>>>>>,
    count: Arc<AtomicU64>,
}

/// An error for the client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct AcpError {
    code: i32,
    message: String,
}

impl AcpError {
    pub(super) fn parse(why: &str) -> AcpError {
        AcpError { code: -32700, message: format!("the message cannot be read: {why}") }
    }

    pub(super) fn request(why: &str) -> AcpError {
        AcpError { code: -32600, message: why.to_owned() }
    }

    pub(super) fn method(name: &str) -> AcpError {
        AcpError { code: -32601, message: format!("there is no method `{name}`") }
    }

    pub(super) fn params(why: &str) -> AcpError {
        AcpError { code: -32602, message: why.to_owned() }
    }

    pub(super) fn session(id: &str) -> AcpError {
        AcpError { code: -32002, message: format!("session `{id}` is not open") }
    }

    pub(super) fn internal(why: &str) -> AcpError {
        AcpError { code: -32603, message: why.to_owned() }
    }

    pub(super) fn to_json(&self) -> Value {
        json!({ "code": self.code, "message": self.message })
    }
}

impl AcpWriter {
    /// Starts writing to stdout. The task ends when all writers are gone.
    pub(super) fn start() -> (AcpWriter, JoinHandle<()>) {
        let (lines, mut receiver) = mpsc::unbounded_channel::<String>();
        let task = spawn_blocking(move || {
            let mut out = std::io::stdout().lock();
            while let Some(line) = receiver.blocking_recv() {
                // A client that is gone closes our input too.
                let _ = out.write_all(line.as_bytes()).and_then(|()| out.write_all(b"\n"));
                let _ = out.flush();
            }
        });
        (AcpWriter { lines, waiting: Arc::default(), count: Arc::default() }, task)
    }

    /// Sends a message that is a line already.
    pub(super) fn send_line(&self, line: String) {
        let _ = self.lines.send(line);
    }

    pub(super) fn respond(&self, id: Value, result: Value) {
        self.send_line(json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string());
    }

    pub(super) fn fail(&self, id: Value, error: AcpError) {
        let error = error.to_json();
        self.send_line(json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string());
    }

    pub(super) fn notify(&self, method: &str, params: Value) {
        self.send_line(json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string());
    }

    /// Sends an update of a session.
    pub(super) fn update(&self, session: &str, update: Value) {
        self.notify("session/update", json!({ "sessionId": session, "update": update }));
    }

    /// Sends a request. The response is `None` if the client refused it. A request whose response is
    /// no longer awaited is cancelled.
    pub(super) async fn request(&self, method: &str, params: Value) -> Option<Value> {
        let id = format!("foxwedge-{}", self.count.fetch_add(1, Ordering::Relaxed));
        let (sender, response) = oneshot::channel();
        self.lock_waiting().insert(id.clone(), sender);
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send_line(message.to_string());
        let guard = WaitingRequest { writer: self, id };
        let response = response.await.ok().flatten();
        drop(guard);
        response
    }

    /// Handles a response of the client.
    pub(super) fn settle(&self, id: &Value, result: Option<Value>) {
        let waiting = id.as_str().and_then(|id| self.lock_waiting().remove(id));
        if let Some(waiting) = waiting {
            let _ = waiting.send(result);
        }
    }

    fn lock_waiting(
        &self,
    ) -> std::sync::MutexGuard<'_, HashMap<String, oneshot::Sender<Option<Value>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Cancels its request if nobody waits for the response any more.
struct WaitingRequest<'a> {
    writer: &'a AcpWriter,
    id: String,
}

impl Drop for WaitingRequest<'_> {
    fn drop(&mut self) {
        if self.writer.lock_waiting().remove(&self.id).is_some() {
            self.writer.notify("$/cancel_request", json!({ "requestId": self.id }));
        }
    }
}
