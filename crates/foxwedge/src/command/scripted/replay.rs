//! `foxwedge scripted agent --replay`: says what an agent said in a recording, and waits where it
//! waited for its host.
//!
//! A recording has a line for each line of the dialogue: `{"t": seconds, "dir": "cli->host", "msg":
//! {…}}`. What the host said then is not compared with what it says now: something of its kind is
//! enough, in any order. Ids of requests that the host makes are new ones each time.

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

/// The longest pause that is kept.
const MAX_PAUSE: f64 = 60.0;

/// Plays all of it. The exit code is the recorded one; 1 if the host ended too early.
pub(crate) fn run(file: &Path, speed: f64) -> anyhow::Result<ExitCode> {
    let text = fs::read_to_string(file);
    let text = text.with_context(|| format!("{} cannot be read", file.display()))?;
    let mut play =
        AgentReplay { lines: Box::new(io::stdin().lock().lines()), ..AgentReplay::default() };
    let (mut before, mut code) = (0.0, 0);
    for (number, row) in text.lines().enumerate().filter(|(_, row)| !row.trim().is_empty()) {
        let row: Value = serde_json::from_str(row)
            .with_context(|| format!("{}: line {} is no JSON", file.display(), number + 1))?;
        let (at, message) = (row["t"].as_f64().unwrap_or(before), &row["msg"]);
        match row["dir"].as_str().unwrap_or_default() {
            "cli->host" => {
                let pause =
                    if speed > 0.0 { (at - before).clamp(0.0, MAX_PAUSE) / speed } else { 0.0 };
                thread::sleep(Duration::from_secs_f64(pause));
                if play.print_message(message).is_err() {
                    return Ok(ExitCode::FAILURE);
                }
            }
            "host->cli" if !play.wait_for(message) => return Ok(ExitCode::FAILURE),
            "host->cli" => {}
            "stderr" => eprintln!("{}", message.as_str().unwrap_or_default()),
            _ => code = message["exit"].as_u64().unwrap_or(code),
        }
        before = at;
    }
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

struct AgentReplay {
    lines: Box<dyn Iterator<Item = io::Result<String>>>,
    /// What the host said and no line of the recording has met yet.
    heard: Vec<Value>,
    /// Ids of the host's requests: the recorded one, and the one of today.
    ids: HashMap<String, Value>,
}

impl Default for AgentReplay {
    fn default() -> AgentReplay {
        AgentReplay { lines: Box::new(std::iter::empty()), heard: Vec::new(), ids: HashMap::new() }
    }
}

impl AgentReplay {
    fn print_message(&self, message: &Value) -> io::Result<()> {
        let mut message = message.clone();
        if let Some(id) = message.pointer_mut("/response/request_id")
            && let Some(today) = id.as_str().and_then(|id| self.ids.get(id))
        {
            *id = today.clone();
        }
        let mut out = io::stdout().lock();
        out.write_all(format!("{message}\n").as_bytes())?;
        out.flush()
    }

    /// Waits until the host has said something like this; false if it never will.
    fn wait_for(&mut self, recorded: &Value) -> bool {
        loop {
            if let Some(at) = self.heard.iter().position(|heard| matches_recorded(recorded, heard))
            {
                let heard = self.heard.remove(at);
                if let Some(id) = recorded["request_id"].as_str() {
                    self.ids.insert(id.to_owned(), heard["request_id"].clone());
                }
                return true;
            }
            let Some(Ok(line)) = self.lines.next() else { return false };
            self.heard.extend(serde_json::from_str::<Value>(&line));
        }
    }
}

/// Whether a line stands for a recorded one: of one kind, and about the same request of ours.
fn matches_recorded(recorded: &Value, heard: &Value) -> bool {
    let same = |pointer: &str| recorded.pointer(pointer) == heard.pointer(pointer);
    same("/type") && same("/response/request_id") && same("/request/subtype")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_line_stands_for_another_of_its_kind() {
        let answer = |id: &str, text: &str| json!({"type": "control_response", "response": {"request_id": id, "response": text}});
        let begin = |id: &str, kind: &str| json!({"type": "control_request", "request_id": id, "request": {"subtype": kind}});
        let user = |text: &str| json!({"type": "user", "message": {"content": text}});
        let table = [
            (answer("a", "x"), answer("a", "y"), true),
            (answer("a", "x"), answer("b", "x"), false),
            (begin("a", "initialize"), begin("b", "initialize"), true),
            (begin("a", "initialize"), begin("a", "interrupt"), false),
            (user("x"), user("y"), true),
            (user("x"), answer("a", "x"), false),
        ];
        for (recorded, heard, expected) in table {
            assert_eq!(matches_recorded(&recorded, &heard), expected, "{recorded} {heard}");
        }
    }
}
