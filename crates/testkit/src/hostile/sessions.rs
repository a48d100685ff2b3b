//! Hostile session files.

use foxwedge_sessions::SessionAgent;

use super::{HostileFormat, HostileShape, lines};

const fn file(name: &'static str, agent: SessionAgent, make: fn(usize) -> Vec<u8>) -> HostileShape {
    HostileShape { name, format: HostileFormat::Session(agent), make }
}

pub(super) fn shapes() -> Vec<HostileShape> {
    let (claude, neovate) = (SessionAgent::ClaudeCode, SessionAgent::Neovate);
    let (codex, gemini, cline) =
        (SessionAgent::Codex, SessionAgent::GeminiCli, SessionAgent::Cline);
    vec![
        file("records of one message id, answers beside them", claude, one_message_id),
        file("records of one message id, answers behind them", claude, answers_behind),
        file("records of one message id, each behind the last", claude, one_chain),
        file("records of one message id, in reverse", claude, one_message_reversed),
        file("records of their own message ids", claude, own_message_ids),
        file("parents that are not there", claude, missing_parents),
        file("records that are their own parents", claude, own_parents),
        file("records of one uuid that say the same", claude, twins),
        file("records of one uuid that say something else", claude, one_uuid),
        file("records of one uuid, each the parent of the next", claude, one_uuid_chain),
        file("branches of one record", claude, branches),
        file("branches that the file tells backwards", claude, backwards),
        file("answers under missing parents", claude, lost_answers),
        file("late answers", claude, late_answers),
        file("compactions", claude, compactions),
        file("compactions that carry records over", claude, carried),
        file("torn lines", claude, torn),
        file("torn lines with whole records in them", claude, glued),
        file("one torn line of many records", claude, glued_line),
        file("lines of zeros", claude, zeros),
        file("lines that are not UTF-8", claude, not_utf8),
        file("half characters in every record", claude, halves),
        file("neovate: answers side by side", neovate, neovate_siblings),
        file("neovate: circles", neovate, neovate_circles),
        file("codex: rollbacks", codex, codex_rollbacks),
        file("codex: compactions", codex, codex_compactions),
        file("codex: orphans", codex, codex_orphans),
        file("codex: torn lines", codex, codex_torn),
        file("gemini: versions of one message", gemini, gemini_versions),
        file("gemini: rewinds", gemini, gemini_rewinds),
        file("gemini: rewinds to ids that are not there", gemini, gemini_lost_rewinds),
        file("gemini: calls without results", gemini, gemini_calls),
        file("cline: results without calls", cline, cline_orphans),
        file("cline: users in a row", cline, cline_users),
    ]
}

const TIME: &str = "2026-01-01T00:00:00.000Z";

/// A record of Claude Code.
fn record(id: &str, parent: Option<&str>, kind: &str, message: &str) -> String {
    let parent = parent.map_or("null".to_owned(), |parent| format!("\"{parent}\""));
    format!(
        "{{\"parentUuid\":{parent},\"isSidechain\":false,\"userType\":\"external\",\"cwd\":\"p\",\
         \"sessionId\":\"11111111-2222-4333-8444-555555555555\",\"version\":\"2.1.325\",\
         \"type\":\"{kind}\",\"message\":{message},\"uuid\":\"{id}\",\"timestamp\":\"{TIME}\"}}"
    )
}

fn user(id: &str, parent: Option<&str>, text: &str) -> String {
    record(id, parent, "user", &format!("{{\"role\":\"user\",\"content\":\"{text}\"}}"))
}

fn calls(id: &str, parent: Option<&str>, message: &str, call: &str) -> String {
    let message = format!(
        "{{\"id\":\"{message}\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude\",\
         \"content\":[{{\"type\":\"tool_use\",\"id\":\"{call}\",\"name\":\"Bash\",\"input\":{{}}}}]}}"
    );
    record(id, parent, "assistant", &message)
}

fn answers(id: &str, parent: Option<&str>, call: &str) -> String {
    let message = format!(
        "{{\"role\":\"user\",\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"{call}\",\
         \"content\":\"done\"}}]}}"
    );
    record(id, parent, "user", &message)
}

/// A user record, followed by generated records.
fn begun(many: usize, one: impl Fn(usize) -> String) -> Vec<u8> {
    lines(many + 1, |at| if at == 0 { user("r", None, "go") } else { one(at - 1) })
}

/// The id of the record before this index.
fn before(at: usize) -> String {
    if at == 0 { "r".to_owned() } else { format!("a{}", at - 1) }
}

fn one_message_id(many: usize) -> Vec<u8> {
    begun(many, |at| {
        let call = calls(&format!("a{at}"), Some(&before(at)), "m", &format!("t{at}"));
        format!(
            "{call}\n{}",
            answers(&format!("b{at}"), Some(&format!("a{at}")), &format!("t{at}"))
        )
    })
}

fn answers_behind(many: usize) -> Vec<u8> {
    begun(2 * many, |at| match at < many {
        true => calls(&format!("a{at}"), Some(&before(at)), "m", &format!("t{at}")),
        false => {
            let at = at - many;
            answers(&format!("b{at}"), Some(&format!("a{at}")), &format!("t{at}"))
        }
    })
}

fn one_chain(many: usize) -> Vec<u8> {
    begun(many, |at| calls(&format!("a{at}"), Some(&before(at)), "m", &format!("t{at}")))
}

fn one_message_reversed(many: usize) -> Vec<u8> {
    begun(2 * many, |at| match at < many {
        true => calls(&format!("a{at}"), Some(&before(at)), "m", &format!("t{at}")),
        false => {
            let at = 2 * many - 1 - at;
            answers(&format!("b{at}"), Some(&format!("a{at}")), &format!("t{at}"))
        }
    })
}

fn own_message_ids(many: usize) -> Vec<u8> {
    begun(many, |at| {
        let call =
            calls(&format!("a{at}"), Some(&before(at)), &format!("m{at}"), &format!("t{at}"));
        format!(
            "{call}\n{}",
            answers(&format!("b{at}"), Some(&format!("a{at}")), &format!("t{at}"))
        )
    })
}

fn missing_parents(many: usize) -> Vec<u8> {
    begun(many, |at| user(&format!("a{at}"), Some(&format!("gone{at}")), "x"))
}

fn own_parents(many: usize) -> Vec<u8> {
    begun(many, |at| user(&format!("a{at}"), Some(&format!("a{at}")), "x"))
}

fn twins(many: usize) -> Vec<u8> {
    begun(many, |_| user("a", Some("r"), "x"))
}

fn one_uuid(many: usize) -> Vec<u8> {
    begun(many, |at| user("a", Some("r"), &at.to_string()))
}

fn one_uuid_chain(many: usize) -> Vec<u8> {
    begun(many, |at| user("a", Some("a"), &at.to_string()))
}

fn branches(many: usize) -> Vec<u8> {
    begun(many, |at| user(&format!("a{at}"), Some("r"), "x"))
}

fn backwards(many: usize) -> Vec<u8> {
    lines(many + 1, |at| match at {
        at if at == many => user("r", None, "go"),
        at => user(&format!("a{}", many - 1 - at), Some(&before(many - 1 - at)), "x"),
    })
}

fn lost_answers(many: usize) -> Vec<u8> {
    begun(many, |at| {
        let call =
            calls(&format!("a{at}"), Some(&before(at)), &format!("m{at}"), &format!("t{at}"));
        format!(
            "{call}\n{}",
            answers(&format!("b{at}"), Some(&format!("gone{at}")), &format!("t{at}"))
        )
    })
}

fn late_answers(many: usize) -> Vec<u8> {
    begun(2 * many, |at| match at < many {
        true => calls(&format!("a{at}"), Some(&before(at)), &format!("m{at}"), &format!("t{at}")),
        false => answers(&format!("b{at}"), Some("a0"), &format!("t{}", at - many)),
    })
}

fn boundary(at: usize, metadata: &str) -> String {
    format!(
        "{{\"parentUuid\":null,\"logicalParentUuid\":\"{}\",\"isSidechain\":false,\"cwd\":\"p\",\
         \"sessionId\":\"11111111-2222-4333-8444-555555555555\",\"version\":\"2.1.325\",\
         \"type\":\"system\",\"subtype\":\"compact_boundary\",\"content\":\"Conversation compacted\",\
         \"compactMetadata\":{{\"trigger\":\"manual\"{metadata}}},\"uuid\":\"c{at}\",\
         \"timestamp\":\"{TIME}\"}}",
        before(at)
    )
}

fn compactions(many: usize) -> Vec<u8> {
    begun(many, |at| {
        let summary = user(&format!("a{at}"), Some(&format!("c{at}")), "summary");
        format!("{}\n{summary}", boundary(at, ""))
    })
}

fn carried(many: usize) -> Vec<u8> {
    begun(many, |at| {
        let ids = format!(
            ",\"preservedMessages\":{{\"anchorUuid\":\"c{at}\",\"uuids\":[\"{}\"]}}",
            before(at)
        );
        let summary = user(&format!("a{at}"), Some(&format!("c{at}")), "summary");
        format!("{}\n{summary}", boundary(at, &ids))
    })
}

fn torn(many: usize) -> Vec<u8> {
    begun(many, |at| {
        let whole = user(&format!("a{at}"), Some("r"), "x");
        whole.get(..whole.len() / 2).unwrap_or("{").to_owned()
    })
}

fn glued(many: usize) -> Vec<u8> {
    begun(many, |at| {
        let whole = user(&format!("a{at}"), Some("r"), "x");
        format!("{}{whole}", whole.get(..whole.len() / 2).unwrap_or("{"))
    })
}

fn glued_line(many: usize) -> Vec<u8> {
    let mut bytes = begun(0, |_| String::new());
    bytes.extend("{\"a\":1}".repeat(many * 12).bytes());
    bytes.push(b'\n');
    bytes
}

fn zeros(many: usize) -> Vec<u8> {
    begun(many, |at| format!("\0{}", user(&format!("a{at}"), Some(&before(at)), "x")))
}

fn not_utf8(many: usize) -> Vec<u8> {
    let text = begun(many, |at| user(&format!("a{at}"), Some(&before(at)), "~"));
    text.into_iter().map(|byte| if byte == b'~' { 0xff } else { byte }).collect()
}

fn halves(many: usize) -> Vec<u8> {
    begun(many, |at| user(&format!("a{at}"), Some(&before(at)), "\\ud83d"))
}

fn neovate(id: &str, parent: &str, role: &str, content: &str) -> String {
    format!(
        "{{\"type\":\"message\",\"uuid\":\"{id}\",\"parentUuid\":{parent},\"timestamp\":\"{TIME}\",\
         \"sessionId\":\"abcd1234\",\"role\":\"{role}\",\"content\":{content}}}"
    )
}

fn neovate_siblings(many: usize) -> Vec<u8> {
    let calls: Vec<String> = (0..many)
        .map(|at| {
            format!("{{\"type\":\"tool_use\",\"id\":\"t{at}\",\"name\":\"bash\",\"input\":{{}}}}")
        })
        .collect();
    let calls = format!("[{}]", calls.join(","));
    lines(many + 2, |at| match at {
        0 => neovate("n", "null", "user", "\"look\""),
        1 => neovate("c", "\"n\"", "assistant", &calls),
        at => neovate(
            &format!("a{at}"),
            "\"c\"",
            "tool",
            &format!(
                "[{{\"type\":\"tool-result\",\"toolCallId\":\"t{}\",\"toolName\":\"bash\",\
                 \"input\":{{}},\"result\":{{\"llmContent\":\"done\"}}}}]",
                at - 2
            ),
        ),
    })
}

fn neovate_circles(many: usize) -> Vec<u8> {
    lines(many, |at| {
        let parent = format!("\"n{}\"", at ^ 1);
        neovate(&format!("n{at}"), &parent, "user", "\"x\"")
    })
}

fn codex(kind: &str, payload: &str) -> String {
    format!("{{\"timestamp\":\"{TIME}\",\"type\":\"{kind}\",\"payload\":{payload}}}")
}

fn codex_file(many: usize, one: impl Fn(usize) -> String) -> Vec<u8> {
    let meta = "{\"id\":\"01a1dd00-c2b3-7182-9503-89e8aedd6bf6\",\"cwd\":\"p\",\
                \"cli_version\":\"0.166.0\"}";
    lines(many + 1, |at| if at == 0 { codex("session_meta", meta) } else { one(at - 1) })
}

fn codex_user(text: &str) -> String {
    let content = format!("[{{\"type\":\"input_text\",\"text\":\"{text}\"}}]");
    codex(
        "response_item",
        &format!("{{\"type\":\"message\",\"role\":\"user\",\"content\":{content}}}"),
    )
}

fn codex_rollbacks(many: usize) -> Vec<u8> {
    codex_file(2 * many, |at| match at < many {
        true => codex_user("x"),
        false => codex("event_msg", "{\"type\":\"thread_rolled_back\",\"num_turns\":1}"),
    })
}

fn codex_compactions(many: usize) -> Vec<u8> {
    codex_file(2 * many, |at| match at < many {
        true => codex_user("x"),
        false => codex("compacted", "{\"message\":\"so far\"}"),
    })
}

fn codex_orphans(many: usize) -> Vec<u8> {
    codex_file(many, |at| {
        let answer =
            format!("{{\"type\":\"function_call_output\",\"call_id\":\"c{at}\",\"output\":\"x\"}}");
        codex("response_item", &answer)
    })
}

fn codex_torn(many: usize) -> Vec<u8> {
    codex_file(many, |_| {
        let whole = codex_user("x");
        whole.get(..whole.len() / 2).unwrap_or("{").to_owned()
    })
}

fn gemini_file(many: usize, one: impl Fn(usize) -> String) -> Vec<u8> {
    let head = format!(
        "{{\"sessionId\":\"11111111-2222-4333-8444-555555555555\",\"projectHash\":\"abc\",\
         \"startTime\":\"{TIME}\",\"lastUpdated\":\"{TIME}\",\"kind\":\"main\"}}"
    );
    lines(many + 1, |at| if at == 0 { head.clone() } else { one(at - 1) })
}

fn gemini_user(id: &str) -> String {
    format!(
        "{{\"id\":\"{id}\",\"timestamp\":\"{TIME}\",\"type\":\"user\",\"content\":[{{\"text\":\"x\"}}]}}"
    )
}

fn gemini_versions(many: usize) -> Vec<u8> {
    gemini_file(many, |_| gemini_user("m"))
}

fn gemini_rewinds(many: usize) -> Vec<u8> {
    gemini_file(2 * many, |at| match at < many {
        true => gemini_user(&format!("m{at}")),
        false => format!("{{\"$rewindTo\":\"m{}\"}}", 2 * many - 1 - at),
    })
}

fn gemini_lost_rewinds(many: usize) -> Vec<u8> {
    gemini_file(2 * many, |at| match at % 2 {
        0 => gemini_user(&format!("m{at}")),
        _ => format!("{{\"$rewindTo\":\"gone{at}\"}}"),
    })
}

fn gemini_calls(many: usize) -> Vec<u8> {
    gemini_file(many, |at| {
        format!(
            "{{\"id\":\"m{at}\",\"timestamp\":\"{TIME}\",\"type\":\"gemini\",\"content\":\"\",\
             \"toolCalls\":[{{\"id\":\"t{at}\",\"name\":\"f\",\"args\":{{}},\"status\":\"executing\"}}]}}"
        )
    })
}

fn cline_orphans(many: usize) -> Vec<u8> {
    super::joined(
        "[",
        many,
        |at| {
            format!(
                "{{\"role\":\"user\",\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"c{at}\",\"content\":\"x\"}}]}}"
            )
        },
        "]",
    )
}

fn cline_users(many: usize) -> Vec<u8> {
    super::joined("[", many, |_| "{\"role\":\"user\",\"content\":\"x\"}".to_owned(), "]")
}
