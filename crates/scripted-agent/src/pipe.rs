//! The pipe to the host: prints lines, reads lines, and matches responses to requests.

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

/// Why the current work stops.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum HostPipeStop {
    /// The host interrupts. Contains the request id.
    Interrupted(String),
    /// The pipe is closed.
    Closed,
}

/// A message from the host that is not a response.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum HostMessage {
    /// A user prompt.
    Prompt(Vec<Value>),
    /// The host initializes the agent. Contains the request id and the request.
    Initialize(String, Value),
}

pub(super) struct HostPipe {
    inbox: Receiver<String>,
    /// Messages that wait to be handled.
    pub(super) queue: VecDeque<HostMessage>,
    /// Responses of the host, by request id.
    answers: HashMap<String, Value>,
    log: Option<PathBuf>,
    session: String,
    ids: u64,
    garbage: bool,
}

impl HostPipe {
    pub(super) fn new(session: &str, log: Option<PathBuf>, garbage: bool) -> HostPipe {
        let (sender, inbox) = channel();
        // The thread ends with the process.
        thread::spawn(move || {
            for line in io::stdin().lock().split(b'\n').map_while(Result::ok) {
                if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    return;
                }
            }
        });
        let (queue, answers) = (VecDeque::new(), HashMap::new());
        HostPipe { inbox, queue, answers, log, session: session.to_owned(), ids: 0, garbage }
    }

    /// A new id in the notation of a UUID.
    pub(super) fn new_id(&mut self) -> String {
        self.ids += 1;
        format!("{:08x}-0000-4000-8000-{:012x}", process::id(), self.ids)
    }

    /// Prints a line with the fields that every line has.
    pub(super) fn print_line(&mut self, mut line: Value) -> Result<(), HostPipeStop> {
        let uuid = self.new_id();
        if let Some(fields) = line.as_object_mut() {
            fields.insert("session_id".to_owned(), json!(self.session));
            fields.insert("uuid".to_owned(), json!(uuid));
        }
        self.print(&line)
    }

    /// Sends a request to the host. Returns the request id.
    pub(super) fn send_request(&mut self, request: Value) -> Result<String, HostPipeStop> {
        let id = self.new_id();
        let line = json!({"type": "control_request", "request_id": id, "request": request});
        self.print(&line)?;
        Ok(id)
    }

    /// Cancels a request.
    pub(super) fn cancel_request(&mut self, id: &str) -> Result<(), HostPipeStop> {
        self.print(&json!({"type": "control_cancel_request", "request_id": id}))
    }

    /// Responds to a request of the host.
    pub(super) fn respond(&mut self, id: &str, response: Value) -> Result<(), HostPipeStop> {
        let response = json!({"subtype": "success", "request_id": id, "response": response});
        self.print(&json!({"type": "control_response", "response": response}))
    }

    /// Waits for the response to any of these requests.
    pub(super) fn wait_for_answer(
        &mut self,
        ids: &[String],
    ) -> Result<(String, Value), HostPipeStop> {
        loop {
            let answered = ids.iter().find(|id| self.answers.contains_key(*id));
            if let Some((id, response)) = answered.and_then(|id| self.answers.remove_entry(id)) {
                return Ok((id, response));
            }
            let line = self.inbox.recv().map_err(|_| HostPipeStop::Closed)?;
            self.take_line(&line)?;
        }
    }

    /// Waits for the next message that is not a response.
    pub(super) fn next_message(&mut self) -> Result<HostMessage, HostPipeStop> {
        loop {
            if let Some(message) = self.queue.pop_front() {
                return Ok(message);
            }
            let line = self.inbox.recv().map_err(|_| HostPipeStop::Closed)?;
            match self.take_line(&line) {
                // Nothing is running, so there is nothing to stop.
                Err(HostPipeStop::Interrupted(id)) => {
                    self.respond(&id, json!({"still_queued": []}))?
                }
                other => other?,
            }
        }
    }

    /// Reads lines for this time. A closed pipe is not an error here; the next wait reports it.
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

    /// Takes the prompts that came during other work.
    pub(super) fn take_prompts(&mut self) -> Vec<Value> {
        let mut blocks = Vec::new();
        for message in std::mem::take(&mut self.queue) {
            match message {
                HostMessage::Prompt(prompt) => blocks.extend(prompt),
                HostMessage::Initialize(..) => self.queue.push_back(message),
            }
        }
        blocks
    }

    /// Appends an event to the log file, for tests to read.
    pub(super) fn log_event(&self, what: &str, more: Value) {
        let Some(log) = &self.log else { return };
        let note = json!({"pid": process::id(), "what": what, "more": more});
        let file = OpenOptions::new().create(true).append(true).open(log);
        if let Ok(mut file) = file {
            let _ = file.write_all(format!("{note}\n").as_bytes());
        }
    }

    /// Handles one line of the host.
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
                // Like Claude Code, ignore tool results in prompts.
                let prompt = blocks.into_iter().filter(|block| block["type"] != "tool_result");
                self.queue.push_back(HostMessage::Prompt(prompt.collect()));
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
