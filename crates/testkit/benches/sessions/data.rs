//! Session files of a given size, as agents write them: replies in pieces, parallel calls, answers
//! beside each other, records that are no messages.

use foxwedge_sessions::SessionAgent;
use serde_json::{Value, json};

/// A file of about so many bytes.
pub(crate) fn file(agent: SessionAgent, bytes: usize, broken: bool) -> String {
    let mut out = Writer { out: String::with_capacity(bytes + 4096), agent, last: None, lines: 0 };
    out.begin();
    let mut turn = 0;
    while out.out.len() < bytes {
        turn += 1;
        out.turn(turn, broken && turn % 10 == 0);
    }
    out.end()
}

struct Writer {
    out: String,
    agent: SessionAgent,
    last: Option<String>,
    lines: usize,
}

fn id(number: usize) -> String {
    let spread = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    format!("{:08x}-{:04x}-4abc-8def-{:012x}", spread >> 32 & 0xffff_ffff, number & 0xffff, number)
}

/// Text with the line breaks, quotes and letters of code.
fn words(seed: usize, bytes: usize) -> String {
    const LINES: [&str; 5] = [
        "    let value = table.get(&key).copied().unwrap_or_default();\n",
        "// the cache is warm here, so \"miss\" means a real miss\n",
        "drwxr-xr-x  2 user group  4096 Jan  1 00:00 src\n",
        "The quick brown fox drives a wedge into the tenon and the joint stays closed. ",
        "naïve café — 测试 — ok\n",
    ];
    let mut text = format!("{seed}: ");
    let mut at = seed;
    while text.len() < bytes {
        text.push_str(LINES[at % LINES.len()]);
        at = at.wrapping_mul(31).wrapping_add(7) % 1009;
    }
    text
}

impl Writer {
    fn line(&mut self, value: &Value) {
        let text = value.to_string();
        match self.agent {
            SessionAgent::Cline => self.out.push_str(if self.lines == 0 { "[" } else { ",\n" }),
            _ if self.lines > 0 => self.out.push('\n'),
            _ => {}
        }
        self.out.push_str(&text);
        self.lines += 1;
    }

    /// A record of a linked file; returns its id.
    fn linked(&mut self, parent: Option<&str>, rest: Value) -> String {
        let id = id(self.lines + 1);
        let mut record = json!({
            "parentUuid": parent, "isSidechain": false, "userType": "external",
            "cwd": "work/project", "sessionId": "11111111-2222-4333-8444-555555555555",
            "version": "2.1.325", "gitBranch": "main",
            "timestamp": "2026-01-01T00:00:00.000Z", "uuid": id,
        });
        if let (Some(record), Value::Object(rest)) = (record.as_object_mut(), rest) {
            record.extend(rest);
        }
        self.line(&record);
        self.last = Some(id.clone());
        id
    }

    fn begin(&mut self) {
        match self.agent {
            SessionAgent::Codex => self.line(&json!({
                "timestamp": "2026-01-01T00:00:00.000Z", "type": "session_meta",
                "payload": {"id": id(1), "cwd": "work/project", "cli_version": "0.166.0"}
            })),
            SessionAgent::GeminiCli => self.line(&json!({
                "sessionId": id(1), "projectHash": "abc", "startTime": "2026-01-01T00:00:00.000Z",
                "lastUpdated": "2026-01-01T00:00:00.000Z", "kind": "main"
            })),
            SessionAgent::ClaudeCode
            | SessionAgent::Neovate
            | SessionAgent::Cline
            // Databases and message lists are not measured here.
            | SessionAgent::Pi
            | SessionAgent::CopilotCli
            | SessionAgent::KimiCode
            | SessionAgent::QwenCode
            | SessionAgent::Opencode
            | SessionAgent::Crush
            | SessionAgent::Goose
            | SessionAgent::AiSdkUi
            | SessionAgent::AiSdkModel
            | SessionAgent::ReadOnly(_) => {}
        }
        self.user("Please find out why the build is slow.");
    }

    fn end(mut self) -> String {
        self.user("Go on.");
        self.out.push_str(if self.agent == SessionAgent::Cline { "]\n" } else { "\n" });
        self.out
    }

    fn user(&mut self, text: &str) {
        let parent = self.last.clone();
        match self.agent {
            SessionAgent::ClaudeCode => {
                let message = json!({"role": "user", "content": text});
                self.linked(parent.as_deref(), json!({"type": "user", "message": message}));
            }
            SessionAgent::Neovate => {
                let rest = json!({"type": "message", "role": "user", "content": text});
                self.linked(parent.as_deref(), rest);
            }
            SessionAgent::Cline => self.line(
                &json!({"role": "user", "content": [{"type": "text", "text": text}], "ts": self.lines}),
            ),
            SessionAgent::Codex => self.item(&json!({
                "type": "message", "role": "user",
                "content": [{"type": "input_text", "text": text}]
            })),
            SessionAgent::GeminiCli => self.line(&json!({
                "id": id(self.lines), "timestamp": "2026-01-01T00:00:00.000Z", "type": "user",
                "content": [{"text": text}]
            })),
            SessionAgent::Opencode | SessionAgent::Crush | SessionAgent::Goose | SessionAgent::Pi | SessionAgent::CopilotCli | SessionAgent::KimiCode | SessionAgent::QwenCode | SessionAgent::AiSdkUi | SessionAgent::AiSdkModel | SessionAgent::ReadOnly(_) => {}
        }
    }

    fn item(&mut self, payload: &Value) {
        let record = json!({
            "timestamp": "2026-01-01T00:00:00.000Z", "type": "response_item", "payload": payload
        });
        self.line(&record);
    }

    /// One reply with one to three calls and their answers; in a broken one the last is open.
    fn turn(&mut self, turn: usize, broken: bool) {
        let calls: Vec<String> =
            (0..1 + turn % 3).map(|n| format!("toolu_{turn:08}_{n}")).collect();
        let answered = if broken { &calls[..calls.len() - 1] } else { &calls[..] };
        let input = |n: usize| json!({"path": format!("src/module_{turn}/file_{n}.rs"), "text": words(turn + n, 250)});
        let text = words(turn, 400);
        match self.agent {
            SessionAgent::Opencode
            | SessionAgent::Crush
            | SessionAgent::Goose
            | SessionAgent::Pi
            | SessionAgent::CopilotCli
            | SessionAgent::KimiCode
            | SessionAgent::QwenCode
            | SessionAgent::AiSdkUi
            | SessionAgent::AiSdkModel
            | SessionAgent::ReadOnly(_) => {}
            SessionAgent::ClaudeCode => self.claude_turn(turn, &calls, answered, &text, input),
            SessionAgent::Neovate => {
                let mut parts = vec![json!({"type": "text", "text": text})];
                parts.extend(calls.iter().enumerate().map(|(n, id)| {
                    json!({"type": "tool_use", "id": id, "name": "bash", "input": input(n)})
                }));
                let parent = self.last.clone();
                let rest = json!({"type": "message", "role": "assistant", "content": parts});
                self.linked(parent.as_deref(), rest);
                let results: Vec<Value> = answered
                    .iter()
                    .map(|id| {
                        json!({"type": "tool-result", "toolCallId": id, "toolName": "bash",
                            "input": {}, "result": {"llmContent": words(turn, 900)}})
                    })
                    .collect();
                if !results.is_empty() {
                    let parent = self.last.clone();
                    let rest = json!({"type": "message", "role": "tool", "content": results});
                    self.linked(parent.as_deref(), rest);
                }
            }
            SessionAgent::Cline => {
                let mut blocks = vec![json!({"type": "text", "text": text})];
                blocks.extend(calls.iter().enumerate().map(|(n, id)| {
                    json!({"type": "tool_use", "id": id, "name": "bash", "input": input(n)})
                }));
                self.line(&json!({"role": "assistant", "content": blocks, "ts": self.lines}));
                let mut results: Vec<Value> = answered
                    .iter()
                    .map(|id| {
                        json!({"type": "tool_result", "tool_use_id": id, "content": words(turn, 900)})
                    })
                    .collect();
                results.push(json!({"type": "text", "text": "environment"}));
                self.line(&json!({"role": "user", "content": results, "ts": self.lines}));
            }
            SessionAgent::Codex => {
                self.item(&json!({
                    "type": "message", "role": "assistant",
                    "content": [{"type": "output_text", "text": text}]
                }));
                for (n, id) in calls.iter().enumerate() {
                    self.item(&json!({
                        "type": "function_call", "name": "shell", "call_id": id,
                        "arguments": input(n).to_string()
                    }));
                }
                for id in answered {
                    self.item(&json!({
                        "type": "function_call_output", "call_id": id, "output": words(turn, 900)
                    }));
                }
            }
            SessionAgent::GeminiCli => {
                let calls: Vec<Value> = calls
                    .iter()
                    .enumerate()
                    .map(|(n, id)| {
                        let mut call = json!({"id": id, "name": "shell", "args": input(n), "status": "success"});
                        if answered.contains(id) {
                            call["result"] = json!([{"functionResponse": {"id": id, "name": "shell",
                                "response": {"output": words(turn, 900)}}}]);
                        }
                        call
                    })
                    .collect();
                self.line(&json!({
                    "id": id(self.lines), "timestamp": "2026-01-01T00:00:00.000Z",
                    "type": "gemini", "content": text, "toolCalls": calls
                }));
            }
        }
    }

    fn claude_turn(
        &mut self,
        turn: usize,
        calls: &[String],
        answered: &[String],
        text: &str,
        input: impl Fn(usize) -> Value,
    ) {
        let reply = format!("msg_{turn:08}");
        let request = format!("req_{turn:08}");
        let say = |block: Value| {
            json!({"type": "assistant", "requestId": request, "message": {
                "id": reply, "type": "message", "role": "assistant", "model": "claude",
                "content": [block], "stop_reason": null,
                "usage": {"input_tokens": 100, "output_tokens": 10}}})
        };
        let parent = self.last.clone();
        let mut last = self.linked(parent.as_deref(), say(json!({"type": "text", "text": text})));
        let mut lines = Vec::new();
        for (n, id) in calls.iter().enumerate() {
            let call = json!({"type": "tool_use", "id": id, "name": "Bash", "input": input(n)});
            last = self.linked(Some(&last), say(call));
            lines.push(last.clone());
        }
        for (id, line) in answered.iter().zip(&lines) {
            let progress = json!({"type": "progress", "parentToolUseID": id});
            self.linked(Some(line), progress);
            let content = words(turn, 900);
            let rest = json!({"type": "user", "sourceToolAssistantUUID": line, "message": {
                "role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": content}]},
                "toolUseResult": {"stdout": "done", "stderr": ""}});
            self.linked(Some(line), rest);
        }
        if answered.is_empty() {
            self.last = Some(last);
        }
    }
}
