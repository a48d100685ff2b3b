//! The scripted model: an endpoint on loopback that records every request and replies as
//! the script says.

use std::{
    collections::BTreeSet,
    io::{self, BufReader},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use serde_json::{Value, json};

use super::{
    cli::AgentVendor,
    history::{self, text_of},
    http::{self, Request},
    replies,
    script::say,
};

/// How long a client may be silent.
const PATIENCE: Duration = Duration::from_secs(10);

/// The endpoint. Dropping it ends it.
pub(super) struct ScriptedModel {
    address: SocketAddr,
    state: Arc<ModelState>,
    worker: Option<JoinHandle<()>>,
}

/// What the connections share.
struct ModelState {
    vendor: AgentVendor,
    workspace: PathBuf,
    stop: AtomicBool,
    replies: AtomicU64,
    requests: Mutex<ModelRequests>,
}

/// What was requested.
#[derive(Default)]
struct ModelRequests {
    /// The bodies of requests to the model.
    bodies: Vec<Value>,
    /// Machines that an agent wanted to reach.
    outside: Vec<String>,
}

impl ScriptedModel {
    pub(super) fn start(vendor: AgentVendor, workspace: &Path) -> io::Result<ScriptedModel> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let state = Arc::new(ModelState {
            vendor,
            workspace: workspace.to_owned(),
            stop: AtomicBool::new(false),
            replies: AtomicU64::new(0),
            requests: Mutex::default(),
        });
        let own = Arc::clone(&state);
        let worker = Some(thread::spawn(move || own.listen(&listener)));
        Ok(ScriptedModel { address, state, worker })
    }

    pub(super) fn port(&self) -> u16 {
        self.address.port()
    }

    /// The requests since the last call.
    pub(super) fn take(&self) -> Vec<Value> {
        std::mem::take(&mut self.state.requests().bodies)
    }

    /// Machines that an agent wanted to reach, and could not.
    pub(super) fn outside(&self) -> Vec<String> {
        self.state.requests().outside.clone()
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.state.stop.store(true, Ordering::Relaxed);
        // The worker waits for a caller.
        let _ = TcpStream::connect(self.address);
        if let Some(worker) = self.worker.take() {
            let _ = worker.join();
        }
    }
}

impl ModelState {
    fn requests(&self) -> MutexGuard<'_, ModelRequests> {
        self.requests.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    fn listen(&self, listener: &TcpListener) {
        thread::scope(|scope| {
            for stream in listener.incoming() {
                if self.stop.load(Ordering::Relaxed) {
                    break;
                }
                if let Ok(stream) = stream {
                    // A client may hang up at any time.
                    scope.spawn(move || self.serve(stream));
                }
            }
        });
    }

    fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let Some(request) = http::read(&mut BufReader::new(stream.try_clone()?))? else {
            return Ok(());
        };
        let (status, kind, body) = self.answer(&request);
        http::write(&mut stream, status, kind, body.as_bytes())
    }

    /// Status, type and body.
    fn answer(&self, request: &Request) -> (u16, &'static str, String) {
        const JSON: &str = "application/json";
        const STREAM: &str = "text/event-stream";
        let path = request.path.as_str();
        if request.method == "CONNECT" || path.starts_with("http") {
            let mut requests = self.requests();
            if !requests.outside.iter().any(|host| host == path) {
                requests.outside.push(path.to_owned());
            }
            return (502, JSON, "{}".to_owned());
        }
        let what = path.rsplit(['/', ':']).next().unwrap_or_default();
        match (request.method.as_str(), what) {
            ("POST", "count_tokens" | "countTokens") => {
                return (200, JSON, json!({ "input_tokens": 10, "totalTokens": 10 }).to_string());
            }
            ("POST", "messages" | "responses" | "streamGenerateContent" | "generateContent") => {}
            _ => return (404, JSON, "{}".to_owned()),
        }
        let Ok(body) = serde_json::from_slice::<Value>(&request.body) else {
            return (400, JSON, json!({ "error": "not JSON" }).to_string());
        };
        if let Some(refusal) = refusal(&body) {
            let error = json!({ "type": "invalid_request_error", "message": refusal });
            return (400, JSON, json!({ "type": "error", "error": error }).to_string());
        }
        let said = say(self.vendor, &self.workspace, &history::read(self.vendor.format(), &body));
        let streams = body["stream"] == true;
        let model = body["model"].clone();
        self.requests().bodies.push(body);
        let id = format!("reply_{}", self.replies.fetch_add(1, Ordering::Relaxed));
        match (what, streams) {
            ("messages", true) => (200, STREAM, replies::message_events(&said, &id, &model)),
            ("messages", false) => (200, JSON, replies::message(&said, &id, &model).to_string()),
            ("responses", _) => (200, STREAM, replies::response_events(&said, &id)),
            ("generateContent", _) => (200, JSON, replies::candidate(&said, &model).to_string()),
            _ => (200, STREAM, replies::candidate_events(&said, &model)),
        }
    }
}

/// Why Anthropic refuses the calls of a request, as far as pairs do not show it.
fn refusal(body: &Value) -> Option<String> {
    let messages = body["messages"].as_array()?.iter().enumerate();
    for (at, message) in messages {
        let mut ids = BTreeSet::new();
        for (place, block) in message["content"].as_array().into_iter().flatten().enumerate() {
            if block["type"] != "tool_use" {
                continue;
            }
            let place = format!("messages.{at}.content.{place}.tool_use");
            match block.get("input") {
                None => return Some(format!("{place}.input: Field required")),
                Some(Value::Object(_)) => {}
                Some(_) => {
                    return Some(format!("{place}.input: Input should be a valid dictionary"));
                }
            }
            if !ids.insert(text_of(block, "id")) {
                return Some(format!("{place}: `tool_use` ids must be unique"));
            }
        }
    }
    None
}
