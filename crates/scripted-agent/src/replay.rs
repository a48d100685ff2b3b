//! `--replay`: prints the lines of an agent from a recording, and waits
//! where the agent waited for its host.
//!
//! A recording has a line for each line of the dialogue: `{"t": seconds, "dir": "cli->host", "msg":
//! {…}}`. Lines of the host are not compared in full: a line of the same kind matches, in any
//! order. The request ids of the host differ from those in the recording.

use std::{
    collections::HashMap,
    fs,
    io::{self, BufRead, Write},
    path::Path,
    process::ExitCode,
    thread,
    time::Duration,
};

use anyhow::Context;
use serde_json::Value;

/// Maximum pause between two lines, in seconds.
const MAX_PAUSE: f64 = 60.0;

/// Replays the recording. The exit code is the recorded one, or 1 if the host ended too early.
pub(super) fn run(file: &Path, speed: &str) -> anyhow::Result<ExitCode> {
    let speed = match speed {
        "" => 0.0,
        speed => speed.parse().with_context(|| format!("`--speed {speed}` is not a number"))?,
    };
    let text = fs::read_to_string(file);
    let text = text.with_context(|| format!("{} cannot be read", file.display()))?;
    let mut replay =
        AgentReplay { lines: Box::new(io::stdin().lock().lines()), ..AgentReplay::default() };
    let (mut previous, mut code) = (0.0, 0);
    for (number, row) in text.lines().enumerate().filter(|(_, row)| !row.trim().is_empty()) {
        let row: Value = serde_json::from_str(row)
            .with_context(|| format!("{}: line {} is not JSON", file.display(), number + 1))?;
        let (at, message) = (row["t"].as_f64().unwrap_or(previous), &row["msg"]);
        match row["dir"].as_str().unwrap_or_default() {
            "cli->host" => {
                let pause =
                    if speed > 0.0 { (at - previous).clamp(0.0, MAX_PAUSE) / speed } else { 0.0 };
                thread::sleep(Duration::from_secs_f64(pause));
                if replay.print_message(message).is_err() {
                    return Ok(ExitCode::FAILURE);
                }
            }
            "host->cli" if !replay.wait_for(message) => return Ok(ExitCode::FAILURE),
            "host->cli" => {}
            "stderr" => eprintln!("{}", message.as_str().unwrap_or_default()),
            _ => code = message["exit"].as_u64().unwrap_or(code),
        }
        previous = at;
    }
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

struct AgentReplay {
    lines: Box<dyn Iterator<Item = io::Result<String>>>,
    /// Lines of the host that no recorded line has matched yet.
    received: Vec<Value>,
    /// Request ids of the host: recorded id to current id.
    ids: HashMap<String, Value>,
}

impl Default for AgentReplay {
    fn default() -> AgentReplay {
        AgentReplay {
            lines: Box::new(std::iter::empty()),
            received: Vec::new(),
            ids: HashMap::new(),
        }
    }
}

impl AgentReplay {
    fn print_message(&self, message: &Value) -> io::Result<()> {
        let mut message = message.clone();
        if let Some(id) = message.pointer_mut("/response/request_id")
            && let Some(current) = id.as_str().and_then(|id| self.ids.get(id))
        {
            *id = current.clone();
        }
        let mut out = io::stdout().lock();
        out.write_all(format!("{message}\n").as_bytes())?;
        out.flush()
    }

    /// Waits for a line of the host that matches. Returns false if the input ends first.
    fn wait_for(&mut self, recorded: &Value) -> bool {
        loop {
            if let Some(at) =
                self.received.iter().position(|received| matches_recorded(recorded, received))
            {
                let received = self.received.remove(at);
                if let Some(id) = recorded["request_id"].as_str() {
                    self.ids.insert(id.to_owned(), received["request_id"].clone());
                }
                return true;
            }
            let Some(Ok(line)) = self.lines.next() else { return false };
            self.received.extend(serde_json::from_str::<Value>(&line));
        }
    }
}

/// Whether a line matches a recorded one: the same kind, and for the same request of the agent.
fn matches_recorded(recorded: &Value, received: &Value) -> bool {
    let same = |pointer: &str| recorded.pointer(pointer) == received.pointer(pointer);
    same("/type") && same("/response/request_id") && same("/request/subtype")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_line_matches_a_recorded_line_of_its_kind() {
        let response = |id: &str, text: &str| json!({"type": "control_response", "response": {"request_id": id, "response": text}});
        let request = |id: &str, kind: &str| json!({"type": "control_request", "request_id": id, "request": {"subtype": kind}});
        let user = |text: &str| json!({"type": "user", "message": {"content": text}});
        let table = [
            (response("a", "x"), response("a", "y"), true),
            (response("a", "x"), response("b", "x"), false),
            (request("a", "initialize"), request("b", "initialize"), true),
            (request("a", "initialize"), request("a", "interrupt"), false),
            (user("x"), user("y"), true),
            (user("x"), response("a", "x"), false),
        ];
        for (recorded, received, expected) in table {
            assert_eq!(matches_recorded(&recorded, &received), expected, "{recorded} {received}");
        }
    }
}
