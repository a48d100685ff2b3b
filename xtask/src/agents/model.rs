//! The scripted model: an endpoint on loopback that hears everything and says what the script says.

use std::{
    io::{self, BufReader},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    sync::Arc,
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use serde_json::{Value, json};

use super::{
    cli::Vendor,
    http::{self, Request},
    script::say,
    spelled,
    told::told,
};

/// How long somebody may keep silent who has called.
const PATIENCE: Duration = Duration::from_secs(10);

/// The endpoint. Whoever lets go of it ends it.
pub(super) struct Model {
    address: SocketAddr,
    ear: Arc<Ear>,
    worker: Option<JoinHandle<()>>,
}

/// What the connections share.
struct Ear {
    vendor: Vendor,
    workspace: PathBuf,
    stop: AtomicBool,
    replies: AtomicU64,
    heard: Mutex<Heard>,
}

/// What was heard.
#[derive(Default)]
struct Heard {
    /// The bodies of requests to the model.
    requests: Vec<Value>,
    /// Machines that somebody wanted to reach.
    outside: Vec<String>,
}

impl Model {
    pub(super) fn start(vendor: Vendor, workspace: &Path) -> io::Result<Model> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let ear = Arc::new(Ear {
            vendor,
            workspace: workspace.to_owned(),
            stop: AtomicBool::new(false),
            replies: AtomicU64::new(0),
            heard: Mutex::default(),
        });
        let own = Arc::clone(&ear);
        let worker = Some(thread::spawn(move || own.listen(&listener)));
        Ok(Model { address, ear, worker })
    }

    pub(super) fn port(&self) -> u16 {
        self.address.port()
    }

    /// The requests since the last time somebody asked.
    pub(super) fn take(&self) -> Vec<Value> {
        std::mem::take(&mut self.ear.heard().requests)
    }

    /// Machines that somebody wanted to reach, and could not.
    pub(super) fn outside(&self) -> Vec<String> {
        self.ear.heard().outside.clone()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.ear.stop.store(true, Ordering::Relaxed);
        // The worker waits for a caller.
        let _ = TcpStream::connect(self.address);
        if let Some(worker) = self.worker.take() {
            let _ = worker.join();
        }
    }
}

impl Ear {
    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    fn listen(&self, listener: &TcpListener) {
        thread::scope(|scope| {
            for stream in listener.incoming() {
                if self.stop.load(Ordering::Relaxed) {
                    break;
                }
                if let Ok(stream) = stream {
                    // Whoever hangs up in the middle is none of our concern.
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
            let mut heard = self.heard();
            if !heard.outside.iter().any(|host| host == path) {
                heard.outside.push(path.to_owned());
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
        let said = say(self.vendor, &self.workspace, &told(self.vendor.wire(), &body));
        let streams = body["stream"] == true;
        let model = body["model"].clone();
        self.heard().requests.push(body);
        let id = format!("reply_{}", self.replies.fetch_add(1, Ordering::Relaxed));
        match (what, streams) {
            ("messages", true) => (200, STREAM, spelled::message_events(&said, &id, &model)),
            ("messages", false) => (200, JSON, spelled::message(&said, &id, &model).to_string()),
            ("responses", _) => (200, STREAM, spelled::response_events(&said, &id)),
            ("generateContent", _) => (200, JSON, spelled::candidate(&said, &model).to_string()),
            _ => (200, STREAM, spelled::candidate_events(&said, &model)),
        }
    }
}
