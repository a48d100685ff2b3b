//! Session files written as scripts, so that a test is the sentence it proves.
//!
//! A script is a list of records, separated by semicolons: `2<1 a[x y]` is the record `2` with the
//! parent `1`, a reply that calls `x` and `y`. `-` is no parent.
//!
//! | token | meaning |
//! |---|---|
//! | `u`, `u"t"` | the user speaks |
//! | `a`, `a"t"`, `a[x y]`, `a"t"[x]` | a reply, with calls |
//! | `r[x y]` | answers; `r~[x]` says what a cancel writes |
//! | `l[x]` | answers as old versions of Neovate wrote them |
//! | `th`, `sp` | a reply of nothing but a thought, or white space |
//! | `note` | a record with an id that is no message (Claude Code) |
//! | `line` | a record without an id, of a type that nobody knows; written without id and parent |

use foxwedge_core::{CheckOptions, Policy, UnansweredPolicy};
use foxwedge_sessions::SessionAgent;
use foxwedge_testkit::{
    laws::session::{RepairedSession, case, see},
    session_view,
};
use serde_json::{Value, json};

use crate::support::shape;

/// What a cancel writes in place of an answer.
pub(crate) const CANCELLED: &str = "[Request interrupted by user]";

/// The formats whose records are linked.
pub(crate) const LINKED: [SessionAgent; 2] = [SessionAgent::Neovate, SessionAgent::ClaudeCode];

/// A script as a file.
pub(crate) fn file(agent: SessionAgent, script: &str) -> Vec<u8> {
    let records = script.split(';').map(|record| format!("{}\n", line(agent, record.trim())));
    records.collect::<String>().into_bytes()
}

/// One record of a script.
pub(crate) fn line(agent: SessionAgent, record: &str) -> String {
    if record == "line" {
        return r#"{"type":"tomorrow","weight":1.50,"sessionId":"5e55107f"}"#.to_owned();
    }
    let (link, token) = record.split_once(' ').expect("a record is a link and a token");
    let (id, parent) = link.split_once('<').expect("a link is `id<parent`");
    let parent = (parent != "-").then_some(parent);
    let mut fields = match agent {
        SessionAgent::Neovate => neovate(id, token),
        _ => claude_code(id, token),
    };
    fields["uuid"] = json!(id);
    fields["parentUuid"] = json!(parent);
    fields["sessionId"] = json!("5e55107f");
    fields["timestamp"] = json!("2026-02-04T10:00:00.000Z");
    fields.to_string()
}

/// The text and the ids of a token.
fn parts(token: &str) -> (Option<&str>, Vec<&str>) {
    let ids = token.split_once('[').and_then(|(_, rest)| rest.strip_suffix(']'));
    (token.split('"').nth(1), ids.map(|ids| ids.split_whitespace().collect()).unwrap_or_default())
}

fn says(id: &str, token: &str, call: &str) -> String {
    match token.starts_with("r~") {
        true => CANCELLED.to_owned(),
        false => format!("result of {call} in {id}"),
    }
}

fn reply(id: &str, token: &str, thought: Value) -> Vec<Value> {
    let (text, calls) = parts(token);
    let text = match (token, text) {
        ("th", _) => return vec![thought],
        ("sp", _) => Some("\n\n".to_owned()),
        (_, Some(text)) => Some(text.to_owned()),
        (_, None) => calls.is_empty().then(|| format!("reply {id}")),
    };
    let text = text.map(|text| json!({"type": "text", "text": text}));
    let calls = calls.into_iter().map(
        |call| json!({"type": "tool_use", "id": call, "name": "write", "input": {"at": call}}),
    );
    text.into_iter().chain(calls).collect()
}

fn neovate(id: &str, token: &str) -> Value {
    let (text, ids) = parts(token);
    let thought = json!({"type": "reasoning", "text": "hm"});
    let result = |call: &&str| json!({"llmContent": says(id, token, call), "returnDisplay": "x"});
    let (role, content) = match &token[..1] {
        "u" => ("user", json!(text.map_or_else(|| format!("words {id}"), str::to_owned))),
        "r" => {
            let answer = |call: &&str| {
                json!({"type": "tool-result", "toolCallId": call, "toolName": "write",
                    "input": {}, "result": result(call)})
            };
            ("tool", ids.iter().map(answer).collect())
        }
        "l" => {
            let answer = |call: &&str| {
                json!({"type": "tool_result", "id": call, "name": "write", "input": {},
                    "result": result(call)})
            };
            ("user", ids.iter().map(answer).collect())
        }
        _ => ("assistant", Value::Array(reply(id, token, thought))),
    };
    json!({"type": "message", "role": role, "content": content})
}

fn claude_code(id: &str, token: &str) -> Value {
    let (text, ids) = parts(token);
    let thought = json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"});
    let content = match &token[..1] {
        "n" => return json!({"type": "attachment", "attachment": {"type": "todo"}}),
        "u" => json!(text.map_or_else(|| format!("words {id}"), str::to_owned)),
        "r" | "l" => {
            let answer = |call: &&str| json!({"type": "tool_result", "tool_use_id": call, "content": says(id, token, call)});
            ids.iter().map(answer).collect()
        }
        _ => Value::Array(reply(id, token, thought)),
    };
    let assistant = token.starts_with(['a', 't', 's']);
    let mut message = json!({"role": if assistant { "assistant" } else { "user" },
        "content": content});
    if assistant {
        message["id"] = json!(format!("msg_{id}"));
    }
    json!({"type": message["role"], "message": message, "isSidechain": false})
}

/// What is asked under a policy.
pub(crate) fn asked(agent: SessionAgent, unanswered: UnansweredPolicy) -> CheckOptions {
    case(1, agent, Policy { unanswered, allow_unsafe: true, ..Policy::default() }, 0).question()
}

/// What the engine makes of a file under a policy.
pub(crate) fn under(
    agent: SessionAgent,
    unanswered: UnansweredPolicy,
    bytes: &[u8],
) -> RepairedSession {
    let shown = String::from_utf8_lossy(bytes);
    see(agent, &asked(agent, unanswered), bytes).unwrap_or_else(|error| panic!("{error}\n{shown}"))
}

/// The same under the default policy.
pub(crate) fn seen(agent: SessionAgent, bytes: &[u8]) -> RepairedSession {
    under(agent, UnansweredPolicy::Answer, bytes)
}

/// The rules that a file breaks.
pub(crate) fn broken(seen: &RepairedSession) -> Vec<u16> {
    seen.report.findings.iter().map(|finding| finding.rule.code).collect()
}

/// What a repaired file tells, by engine and oracle alike, and that nothing is left to repair.
pub(crate) fn mended(
    agent: SessionAgent,
    unanswered: UnansweredPolicy,
    bytes: &[u8],
) -> (String, Vec<u8>) {
    let fixed = under(agent, unanswered, bytes).fixed;
    let again = under(agent, unanswered, &fixed);
    let shown = String::from_utf8_lossy(&fixed);
    assert_eq!(broken(&again), Vec::<u16>::new(), "{} after a repair\n{shown}", agent.name());
    assert_eq!(again.fixed, fixed, "{} repaired twice\n{shown}", agent.name());
    let view = session_view(agent.name(), &fixed).messages;
    let tells = shape(&again.history);
    assert_eq!(shape(&view), tells, "{}: the oracle reads something else\n{shown}", agent.name());
    (tells, fixed)
}
