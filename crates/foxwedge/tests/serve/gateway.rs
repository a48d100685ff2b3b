//! A gateway in a process of its own.

use std::{
    fs,
    io::{BufRead, BufReader},
    net::SocketAddr,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, mpsc},
    thread::{self, JoinHandle},
    time::Instant,
};

use crate::{
    temporary::Temporary,
    wire::{Answer, PATIENCE, get, post, send},
};

/// Opens the door.
pub(crate) const TOKEN: &str = "canary-token-0123456789";

/// Variables that would change what is served.
const VARIABLES: [&str; 13] = [
    "FOXWEDGE_CONFIG",
    "FOXWEDGE_LISTEN",
    "FOXWEDGE_STORE",
    "FOXWEDGE_MODE",
    "FOXWEDGE_STORE_RUNS",
    "FOXWEDGE_STORE_CONTENT",
    "FOXWEDGE_UPSTREAM",
    "FOXWEDGE_OTLP",
    "FOXWEDGE_OTLP_CONTENT",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
];

/// A process that serves. It is gone with this value.
pub(crate) struct Gateway {
    child: Child,
    pub(crate) address: String,
    said: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

/// Bytes of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Memory {
    pub(crate) now: u64,
    pub(crate) peak: u64,
}

/// A configuration: one upstream for each format at that address, asked for by `chat-…`,
/// `responses-…`, `messages-…` and `gemini-…`; and more.
pub(crate) fn config(folder: &Temporary, upstream: SocketAddr, more: &str) -> String {
    let store = folder.path("runs.db");
    let mut text = format!("store = \"sqlite:{}\"\n{more}\n", store.display());
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
    text.push_str("[[route]]\nmodel = \"scripted*\"\nupstream = \"scripted\"\n");
    text
}

impl Gateway {
    /// Starts one, and waits until it listens.
    pub(crate) fn start(folder: &Temporary, config: &str) -> Gateway {
        Gateway::start_with(folder, config, &[])
    }

    /// The same, with variables.
    pub(crate) fn start_with(
        folder: &Temporary,
        config: &str,
        variables: &[(&str, &str)],
    ) -> Gateway {
        let file = folder.path("gateway.toml");
        fs::write(&file, config).expect("a file");
        // One that takes too much ends itself, and not the machine.
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -v 8388608; exec \"$0\" \"$@\""]);
        command.arg(env!("CARGO_BIN_EXE_foxwedge"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--log", "json", "--config"]).arg(file);
        for name in VARIABLES {
            command.env_remove(name);
        }
        command.env("HOME", folder.path("home")).env("FOXWEDGE_TOKEN", TOKEN);
        command.envs(variables.iter().copied());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("a process");
        let stderr = BufReader::new(child.stderr.take().expect("its errors"));
        let said = Arc::new(Mutex::new(String::new()));
        let (found, listening) = mpsc::channel();
        let heard = said.clone();
        let reader = thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                if let Some((_, rest)) = line.split_once("http://") {
                    let _ = found.send(rest.split('"').next().unwrap_or_default().to_owned());
                }
                let mut said = heard.lock().expect("nobody panicked");
                said.push_str(&line);
                said.push('\n');
            }
        });
        let address = listening.recv_timeout(PATIENCE);
        let address = address
            .unwrap_or_else(|_| panic!("it does not listen: {:?}", said.lock().map(|s| s.clone())));
        Gateway { child, address, said, reader: Some(reader) }
    }

    /// Asks with the token.
    pub(crate) fn post(&self, path: &str, headers: &str, body: &str) -> Answer {
        let headers = format!("x-foxwedge-token: {TOKEN}\r\n{headers}");
        send(&self.address, &post(path, &headers, body)).expect("a reply")
    }

    /// Looks with the token.
    pub(crate) fn get(&self, path: &str) -> Answer {
        let headers = format!("x-foxwedge-token: {TOKEN}\r\n");
        send(&self.address, &get(path, &headers)).expect("a reply")
    }

    /// An ordinary request succeeds.
    pub(crate) fn serves(&self) {
        let body = r#"{"model":"scripted","messages":[{"role":"user","content":"still there?"}]}"#;
        let answer = self.post("/v1/chat/completions", "", body);
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(answer.body.contains("You said: still there?"), "{answer:?}");
    }

    /// Waits until nobody is served but whoever asks, and no run is open.
    pub(crate) fn rests(&self) {
        let began = Instant::now();
        loop {
            let metrics = self.get("/metrics").body;
            let value = |name: &str| {
                let mut lines = metrics.lines();
                lines.find_map(|line| line.strip_prefix(name)).unwrap_or("").trim().to_owned()
            };
            let counts = ["foxwedge_requests_at_work ", "foxwedge_connections "].map(value);
            let open = self.get("/v1/runs?open=true").json()["data"].clone();
            if counts == ["1", "1"] && open == serde_json::json!([]) {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "{counts:?} {open}");
        }
    }

    /// What it takes.
    pub(crate) fn memory(&self) -> Memory {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.unwrap_or_default();
        let value = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
            number.unwrap_or(0_u64) << 10
        };
        Memory { now: value("VmRSS:"), peak: value("VmHWM:") }
    }

    /// From now on its peak is counted anew.
    pub(crate) fn forget_peak(&self) {
        let _ = fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5");
    }

    /// Ends it without a word.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it is there");
        self.child.wait().expect("its end");
    }

    /// Asks it to end.
    pub(crate) fn terminate(&self) {
        self.signal("-TERM");
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, name: &str) {
        let mut kill = Command::new("kill");
        let sent = kill.args([name, &self.child.id().to_string()]).status().expect("kill");
        assert!(sent.success());
    }

    /// Waits until it has said that.
    pub(crate) fn says(&self, part: &str) {
        let began = Instant::now();
        while !self.said.lock().expect("nobody panicked").contains(part) {
            assert!(began.elapsed() < PATIENCE, "it does not say `{part}`");
            thread::yield_now();
        }
    }

    /// Waits for its end; its exit code, and everything that it said.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let status = self.child.wait().expect("its end");
        if let Some(reader) = self.reader.take() {
            reader.join().expect("what it said");
        }
        (status.code(), std::mem::take(&mut *self.said.lock().expect("nobody panicked")))
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}
