//! A process of the real agent, and what it tells.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use foxwedge_agents::claude_code::ClaudeCode;
use foxwedge_agents::{AgentCommand, AgentEvent, AgentLauncher, AgentProtocol, LaunchSpec};
use serde_json::{Value, json};

use crate::support::{Judge, written};

/// The longest wait for anything.
const LONG: Duration = Duration::from_secs(60);

/// A running agent. It and its folder are gone when this is dropped.
pub(crate) struct Live {
    child: Child,
    input: ChildStdin,
    lines: Receiver<Vec<u8>>,
    protocol: Box<dyn AgentProtocol>,
    judge: Judge,
    folder: PathBuf,
    /// Everything that was heard.
    pub(crate) heard: Vec<AgentEvent>,
}

impl Live {
    /// Starts one for a request and gives it its prompt. `faults`: of the scripted model.
    pub(crate) fn start(kind: &ClaudeCode, body: &Value, faults: &str) -> Live {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("foxwedge-agent-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let folder = folder.canonicalize().unwrap();
        let kind = ClaudeCode { state: folder.join("state"), ..kind.clone() };
        let wish = LaunchSpec {
            body,
            model: None,
            session: &format!("11111111-2222-4333-8444-{number:012}"),
            folder: folder.to_str().unwrap(),
            now: 1_794_710_818_717,
        };
        let launch = kind.launch(wish);
        for (path, content) in &launch.files {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        let command = std::env::var("FOXWEDGE_CLAUDE_CODE").unwrap();
        let mut words = command.split(' ');
        let mut child = Command::new(words.next().unwrap())
            .args(words)
            .args(&launch.arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", &folder)
            .env("CLAUDE_CONFIG_DIR", &kind.state)
            .env("ANTHROPIC_BASE_URL", std::env::var("FOXWEDGE_MODEL").unwrap())
            .env("ANTHROPIC_API_KEY", "none")
            .env("ANTHROPIC_CUSTOM_HEADERS", format!("x-scripted: strict=on{faults}"))
            .env("CLAUDE_CODE_MAX_RETRIES", "0")
            .envs(launch.environment)
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in output.split(b'\n').map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let input = child.stdin.take().unwrap();
        let (protocol, judge, heard) = (launch.protocol, Judge::default(), Vec::new());
        let mut live = Live { child, input, lines, protocol, judge, folder, heard };
        let hello = live.protocol.begin();
        live.send(hello);
        live.until(|heard| *heard == AgentEvent::Ready);
        if let Some(prompt) = launch.prompt {
            live.order(AgentCommand::Prompt(prompt));
        }
        live
    }

    pub(crate) fn order(&mut self, order: AgentCommand) {
        let lines = self.protocol.encode_command(order);
        assert!(!lines.is_empty(), "an order that says nothing");
        self.send(lines);
    }

    pub(crate) fn say(&mut self, words: &str) {
        self.order(AgentCommand::Prompt(vec![json!({"type": "text", "text": words})]));
    }

    pub(crate) fn answer(&mut self, ticket: &str, said: &str) {
        let content = vec![json!({"type": "text", "text": said})];
        self.order(AgentCommand::ToolResult { ticket: ticket.to_owned(), content, error: false });
    }

    /// Listens until something is heard; what was heard since this was called, that included.
    pub(crate) fn until(&mut self, wanted: impl Fn(&AgentEvent) -> bool) -> Vec<AgentEvent> {
        let end = Instant::now() + LONG;
        let from = self.heard.len();
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let Ok(line) = self.lines.recv_timeout(left) else {
                let story: Vec<String> = self.heard.iter().map(written).collect();
                panic!("nothing more is heard:\n{}", story.join("\n"));
            };
            let (heard, answers) = self.protocol.read_line(&line);
            self.send(answers);
            let found = heard.iter().any(&wanted);
            for heard in heard {
                self.judge.hear(&heard);
                self.heard.push(heard);
            }
            if found {
                return self.heard[from..].to_vec();
            }
        }
    }

    /// Listens until it has nothing to do: what it said.
    pub(crate) fn reply(&mut self) -> String {
        let heard = self.until(|heard| *heard == AgentEvent::Idle);
        heard.iter().filter_map(text).collect()
    }

    /// Listens until it wants so many answers: their tickets, with the arguments.
    pub(crate) fn wishes(&mut self, count: usize) -> Vec<(String, Value)> {
        let mut wishes = Vec::new();
        while wishes.len() < count {
            for heard in self.until(|heard| matches!(heard, AgentEvent::ToolResultWanted { .. })) {
                if let AgentEvent::ToolResultWanted { ticket, arguments, .. } = heard {
                    wishes.push((ticket, arguments));
                }
            }
        }
        wishes
    }

    fn send(&mut self, lines: Vec<String>) {
        for line in lines {
            self.input.write_all(line.as_bytes()).unwrap();
            self.input.write_all(b"\n").unwrap();
        }
        self.input.flush().unwrap();
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A piece of text that the model said.
fn text(heard: &AgentEvent) -> Option<&str> {
    let AgentEvent::StreamEvent(event) = heard else { return None };
    event["delta"]["text"].as_str()
}
