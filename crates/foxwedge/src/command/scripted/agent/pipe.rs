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
pub(super) enum HostPipeStop {
    /// Somebody interrupts; the id of the request.
    Interrupted(String),
    /// Nobody listens or speaks any more.
    Closed,
}

/// Something that nobody inside waits for.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum HostMessage {
    /// A person says something.
    Prompt(Vec<Value>),
    /// The host begins; the id of its request, and what it says.
    Initialize(String, Value),
}

pub(super) struct HostPipe {
    inbox: Receiver<String>,
    /// What came and was not asked for.
    pub(super) queue: VecDeque<HostMessage>,
    /// Answers of the host, by the id of the request.
    answers: HashMap<String, Value>,
    log: Option<PathBuf>,
    session: String,
    ids: u64,
    garbage: bool,
}

impl HostPipe {
    pub(super) fn new(session: &str, log: Option<PathBuf>, garbage: bool) -> HostPipe {
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
        HostPipe { inbox, queue, answers, log, session: session.to_owned(), ids: 0, garbage }
    }

    /// A fresh id in the shape of a UUID.
    pub(super) fn new_id(&mut self) -> String {
        self.ids += 1;
        format!("{:08x}-0000-4000-8000-{:012x}", process::id(), self.ids)
    }

    /// Prints a line, with what every line carries.
    pub(super) fn print_line(&mut self, mut line: Value) -> Result<(), HostPipeStop> {
        let uuid = self.new_id();
        if let Some(fields) = line.as_object_mut() {
            fields.insert("session_id".to_owned(), json!(self.session));
            fields.insert("uuid".to_owned(), json!(uuid));
        }
        self.print(&line)
    }

    /// Asks the host for something; the id of the request.
    pub(super) fn send_request(&mut self, request: Value) -> Result<String, HostPipeStop> {
        let id = self.new_id();
        let line = json!({"type": "control_request", "request_id": id, "request": request});
        self.print(&line)?;
        Ok(id)
    }

    /// Takes a request back.
    pub(super) fn cancel_request(&mut self, id: &str) -> Result<(), HostPipeStop> {
        self.print(&json!({"type": "control_cancel_request", "request_id": id}))
    }

    /// Answers a request of the host.
    pub(super) fn respond(&mut self, id: &str, response: Value) -> Result<(), HostPipeStop> {
        let response = json!({"subtype": "success", "request_id": id, "response": response});
        self.print(&json!({"type": "control_response", "response": response}))
    }

    /// Waits for the answer to any of these requests.
    pub(super) fn wait_for_answer(
        &mut self,
        ids: &[String],
    ) -> Result<(String, Value), HostPipeStop> {
        loop {
            let known = ids.iter().find(|id| self.answers.contains_key(*id));
            if let Some((id, answer)) = known.and_then(|id| self.answers.remove_entry(id)) {
                return Ok((id, answer));
            }
            let line = self.inbox.recv().map_err(|_| HostPipeStop::Closed)?;
            self.take_line(&line)?;
        }
    }

    /// Waits for something that nobody asked for.
    pub(super) fn next_message(&mut self) -> Result<HostMessage, HostPipeStop> {
        loop {
            if let Some(came) = self.queue.pop_front() {
                return Ok(came);
            }
            let line = self.inbox.recv().map_err(|_| HostPipeStop::Closed)?;
            match self.take_line(&line) {
                // There is nothing to stop.
                Err(HostPipeStop::Interrupted(id)) => {
                    self.respond(&id, json!({"still_queued": []}))?
                }
                other => other?,
            }
        }
    }

    /// Takes in what comes for so long. That nobody speaks any more is told by whoever waits.
    pub(super) fn pause(&mut self, time: Duration) -> Result<(), HostPipeStop> {
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.inbox.recv_timeout(left) {
                Ok(line) => self.take_line(&line)?,
                Err(RecvTimeoutError::Timeout) => return Ok(()),
                Err(RecvTimeoutError::Disconnected) => {
                    thread::sleep(left);
                    return Ok(());
                }
            }
        }
    }

    /// Prompts that came while something else went on.
    pub(super) fn take_prompts(&mut self) -> Vec<Value> {
        let mut blocks = Vec::new();
        for came in std::mem::take(&mut self.queue) {
            match came {
                HostMessage::Prompt(prompt) => blocks.extend(prompt),
                HostMessage::Initialize(..) => self.queue.push_back(came),
            }
        }
        blocks
    }

    /// Writes down what happens, for tests to read.
    pub(super) fn log_event(&self, what: &str, more: Value) {
        let Some(log) = &self.log else { return };
        let note = json!({"pid": process::id(), "what": what, "more": more});
        let file = OpenOptions::new().create(true).append(true).open(log);
        if let Ok(mut file) = file {
            let _ = file.write_all(format!("{note}\n").as_bytes());
        }
    }

    /// One line of the host.
    fn take_line(&mut self, line: &str) -> Result<(), HostPipeStop> {
        if line.trim().is_empty() {
            return Ok(());
        }
        let Ok(line) = serde_json::from_str::<Value>(line) else {
            self.log_event("unreadable", json!(line.chars().take(200).collect::<String>()));
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
                self.log_event("prompt", json!(blocks));
                // The real one throws answers to calls away.
                let words = blocks.into_iter().filter(|block| block["type"] != "tool_result");
                self.queue.push_back(HostMessage::Prompt(words.collect()));
            }
            "control_response" => {
                let id = text("/response/request_id").to_owned();
                self.answers.insert(id, line["response"].clone());
            }
            "control_request" => {
                let id = text("/request_id").to_owned();
                match text("/request/subtype") {
                    "initialize" => {
                        self.queue.push_back(HostMessage::Initialize(id, line["request"].clone()));
                    }
                    "interrupt" => {
                        self.log_event("interrupt", Value::Null);
                        return Err(HostPipeStop::Interrupted(id));
                    }
                    _ => self.respond(&id, json!({}))?,
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn print(&mut self, line: &Value) -> Result<(), HostPipeStop> {
        let mut bytes = Vec::new();
        if self.garbage {
            bytes.extend_from_slice(b"Debugger attached.\n{\"type\":\"assistant\",\n\n");
            bytes.extend_from_slice(b"\x00\xff\xfe\x80 [] 17 null\n[1]\n\"x\"\n{\"type\":7}\n");
            bytes.extend_from_slice(b"{\"type\":\"stream_event\",\"event\":{\"type\":[]}}\n{}\r\n");
        }
        bytes.extend_from_slice(line.to_string().as_bytes());
        bytes.push(b'\n');
        let mut out = io::stdout().lock();
        out.write_all(&bytes).and_then(|()| out.flush()).map_err(|_| HostPipeStop::Closed)
    }
}
