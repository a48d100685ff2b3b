//! The agent's two ends: lines out, lines in, and what is asked of the host over them.

use std::{
    collections::{HashMap, VecDeque},
    fs::OpenOptions,
    io::{self, BufRead, Write},
    path::PathBuf,
    process,
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// Why the agent does not go on with what it does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    /// Somebody interrupts; the id of the request.
    Interrupted(String),
    /// Nobody listens or speaks any more.
    Closed,
}

/// Something that nobody inside waits for.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Came {
    /// A person says something.
    Prompt(Vec<Value>),
    /// The host begins; the id of its request, and what it says.
    Begin(String, Value),
}

pub(super) struct Pipe {
    inbox: Receiver<String>,
    /// What came and was not asked for.
    pub(super) queue: VecDeque<Came>,
    /// Answers of the host, by the id of the request.
    answers: HashMap<String, Value>,
    log: Option<PathBuf>,
    session: String,
    ids: u64,
    garbage: bool,
}

impl Pipe {
    pub(super) fn new(session: &str, log: Option<PathBuf>, garbage: bool) -> Pipe {
        let (heard, inbox) = channel();
        // It ends with the process.
        thread::spawn(move || {
            for line in io::stdin().lock().split(b'\n').map_while(Result::ok) {
                if heard.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    return;
                }
            }
        });
        let (queue, answers) = (VecDeque::new(), HashMap::new());
        Pipe { inbox, queue, answers, log, session: session.to_owned(), ids: 0, garbage }
    }

    /// A fresh id in the shape of a UUID.
    pub(super) fn id(&mut self) -> String {
        self.ids += 1;
        format!("{:08x}-0000-4000-8000-{:012x}", process::id(), self.ids)
    }

    /// Prints a line, with what every line carries.
    pub(super) fn line(&mut self, mut line: Value) -> Result<(), Stop> {
        let uuid = self.id();
        if let Some(fields) = line.as_object_mut() {
            fields.insert("session_id".to_owned(), json!(self.session));
            fields.insert("uuid".to_owned(), json!(uuid));
        }
        self.print(&line)
    }

    /// Asks the host for something; the id of the request.
    pub(super) fn ask(&mut self, request: Value) -> Result<String, Stop> {
        let id = self.id();
        let line = json!({"type": "control_request", "request_id": id, "request": request});
        self.print(&line)?;
        Ok(id)
    }

    /// Takes a request back.
    pub(super) fn withdraw(&mut self, id: &str) -> Result<(), Stop> {
        self.print(&json!({"type": "control_cancel_request", "request_id": id}))
    }

    /// Answers a request of the host.
    pub(super) fn respond(&mut self, id: &str, response: Value) -> Result<(), Stop> {
        let response = json!({"subtype": "success", "request_id": id, "response": response});
        self.print(&json!({"type": "control_response", "response": response}))
    }

    /// Waits for the answer to any of these requests.
    pub(super) fn answer(&mut self, ids: &[String]) -> Result<(String, Value), Stop> {
        loop {
            let known = ids.iter().find(|id| self.answers.contains_key(*id));
            if let Some((id, answer)) = known.and_then(|id| self.answers.remove_entry(id)) {
                return Ok((id, answer));
            }
            let line = self.inbox.recv().map_err(|_| Stop::Closed)?;
            self.take(&line)?;
        }
    }

    /// Waits for something that nobody asked for.
    pub(super) fn next(&mut self) -> Result<Came, Stop> {
        loop {
            if let Some(came) = self.queue.pop_front() {
                return Ok(came);
            }
            let line = self.inbox.recv().map_err(|_| Stop::Closed)?;
            match self.take(&line) {
                // There is nothing to stop.
                Err(Stop::Interrupted(id)) => self.respond(&id, json!({"still_queued": []}))?,
                other => other?,
            }
        }
    }

    /// Takes in what comes for so long. That nobody speaks any more is told by whoever waits.
    pub(super) fn pause(&mut self, time: Duration) -> Result<(), Stop> {
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.inbox.recv_timeout(left) {
                Ok(line) => self.take(&line)?,
                Err(RecvTimeoutError::Timeout) => return Ok(()),
                Err(RecvTimeoutError::Disconnected) => {
                    thread::sleep(left);
                    return Ok(());
                }
            }
        }
    }

    /// Prompts that came while something else went on.
    pub(super) fn prompts(&mut self) -> Vec<Value> {
        let mut blocks = Vec::new();
        for came in std::mem::take(&mut self.queue) {
            match came {
                Came::Prompt(prompt) => blocks.extend(prompt),
                Came::Begin(..) => self.queue.push_back(came),
            }
        }
        blocks
    }

    /// Writes down what happens, for tests to read.
    pub(super) fn note(&self, what: &str, more: Value) {
        let Some(log) = &self.log else { return };
        let note = json!({"pid": process::id(), "what": what, "more": more});
        let file = OpenOptions::new().create(true).append(true).open(log);
        if let Ok(mut file) = file {
            let _ = file.write_all(format!("{note}\n").as_bytes());
        }
    }

    /// One line of the host.
    fn take(&mut self, line: &str) -> Result<(), Stop> {
        if line.trim().is_empty() {
            return Ok(());
        }
        let Ok(line) = serde_json::from_str::<Value>(line) else {
            self.note("unreadable", json!(line.chars().take(200).collect::<String>()));
            eprintln!("Error parsing streaming input line");
            process::exit(1);
        };
        let text = |pointer| line.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        match text("/type") {
            "user" => {
                let blocks = match line.pointer("/message/content") {
                    Some(Value::Array(blocks)) => blocks.clone(),
                    Some(Value::String(text)) => vec![json!({"type": "text", "text": text})],
                    _ => Vec::new(),
                };
                self.note("prompt", json!(blocks));
                // The real one throws answers to calls away.
                let words = blocks.into_iter().filter(|block| block["type"] != "tool_result");
                self.queue.push_back(Came::Prompt(words.collect()));
            }
            "control_response" => {
                let id = text("/response/request_id").to_owned();
                self.answers.insert(id, line["response"].clone());
            }
            "control_request" => {
                let id = text("/request_id").to_owned();
                match text("/request/subtype") {
                    "initialize" => {
                        self.queue.push_back(Came::Begin(id, line["request"].clone()));
                    }
                    "interrupt" => {
                        self.note("interrupt", Value::Null);
                        return Err(Stop::Interrupted(id));
                    }
                    _ => self.respond(&id, json!({}))?,
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn print(&mut self, line: &Value) -> Result<(), Stop> {
        let mut bytes = Vec::new();
        if self.garbage {
            bytes.extend_from_slice(b"Debugger attached.\n{\"type\":\"assistant\",\n\n");
            bytes.extend_from_slice(b"\x00\xff\xfe\x80 [] 17 null\n[1]\n\"x\"\n{\"type\":7}\n");
            bytes.extend_from_slice(b"{\"type\":\"stream_event\",\"event\":{\"type\":[]}}\n{}\r\n");
        }
        bytes.extend_from_slice(line.to_string().as_bytes());
        bytes.push(b'\n');
        let mut out = io::stdout().lock();
        out.write_all(&bytes).and_then(|()| out.flush()).map_err(|_| Stop::Closed)
    }
}
