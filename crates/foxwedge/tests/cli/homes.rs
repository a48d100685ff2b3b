//! A user's folder with small sessions of every agent, written by hand.

use crate::{
    sandbox::Sandbox,
    sessions_files::{ID, Script, killed, sound},
};

pub(crate) const CLAUDE: &str = "0a1b2c3d-0001-4000-8000-000000000001";
pub(crate) const KILLED: &str = "0a1b2c3d-0002-4000-8000-000000000002";
pub(crate) const HELPER: &str = "agent-a1b2c3d";
pub(crate) const CODEX: &str = "0199aaaa-0003-7000-8000-000000000003";
pub(crate) const GEMINI: &str = "9e0f1a2b-0004-4000-8000-000000000004";
pub(crate) const NEOVATE: &str = "7f6e5d4c";
pub(crate) const CLINE: &str = "1767225599000";
pub(crate) const ROO: &str = "5c4b3a29-0006-4000-8000-000000000006";

/// Where the killed session of Claude Code lies.
pub(crate) fn killed_path() -> String {
    format!(".claude/projects/-w/{KILLED}.jsonl")
}

/// One sound and one killed session of Claude Code, and one session of every other agent.
pub(crate) fn home() -> Sandbox {
    let sandbox = claude();
    sandbox.keep(
        &format!(".codex/sessions/2026/01/02/rollout-2026-01-02T03-04-05-{CODEX}.jsonl"),
        3,
        codex(CODEX),
    );
    let gemini = ".gemini/tmp/shop/chats/session-2026-01-02T03-04-9e0f1a2b.jsonl";
    sandbox.keep(gemini, 4, gemini_cli(GEMINI));
    sandbox.keep(&format!(".neovate/projects/w-notes/{NEOVATE}.jsonl"), 5, neovate(NEOVATE));
    let storage = ".config/Code/User/globalStorage";
    let file = "api_conversation_history.json";
    sandbox.keep(&format!("{storage}/saoudrizwan.claude-dev/tasks/{CLINE}/{file}"), 6, cline());
    sandbox.keep(&format!("{storage}/rooveterinaryinc.roo-cline/tasks/{ROO}/{file}"), 48, cline());
    sandbox
}

/// One sound session of Claude Code with a sub-agent, and one that was killed.
pub(crate) fn claude() -> Sandbox {
    let sandbox = Sandbox::new();
    let folder = ".claude/projects/-w";
    sandbox.keep(&format!("{folder}/{CLAUDE}.jsonl"), 1, named(&titled(), CLAUDE));
    sandbox.keep(&killed_path(), 2, named(&killed(), KILLED));
    let helper = named(&sound(), CLAUDE).replace("\"isSidechain\":false", "\"isSidechain\":true");
    sandbox.keep(&format!("{folder}/{CLAUDE}/subagents/{HELPER}.jsonl"), 1, helper);
    sandbox
}

/// A session under another id.
pub(crate) fn named(script: &Script, id: &str) -> String {
    script.text().replace(ID, id)
}

fn titled() -> Script {
    let title = r#"{"type":"custom-title","customTitle":"Look at the files","sessionId":"11111111-2222-4333-8444-555555555555"}"#;
    sound().line(title)
}

/// A turn on another branch, and a sub-agent inside the file.
pub(crate) fn branched() -> Script {
    sound()
        .user("no, the other one")
        .says("msg_3", "This one?")
        .under(4)
        .user("thanks")
        .says("msg_4", "You are welcome.")
}

/// Killed while a tool was running.
pub(crate) fn codex(id: &str) -> String {
    let line = |second: u32, kind: &str, payload: &str| {
        format!(
            r#"{{"timestamp":"2026-01-02T03:04:{second:02}.000Z","type":"{kind}","payload":{payload}}}"#
        ) + "\n"
    };
    let meta = format!(
        r#"{{"id":"{id}","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/w/shop","originator":"codex_cli_rs","cli_version":"0.46.0"}}"#
    );
    [
        line(5, "session_meta", &meta),
        line(6, "response_item", r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"what is in the shop?"}]}"#),
        line(7, "response_item", r#"{"type":"function_call","name":"shell","arguments":"{\"command\":[\"ls\"]}","call_id":"call_1"}"#),
        line(8, "response_item", r#"{"type":"function_call_output","call_id":"call_1","output":"apples"}"#),
        line(9, "response_item", r#"{"type":"function_call","name":"shell","arguments":"{\"command\":[\"cat\",\"apples\"]}","call_id":"call_2"}"#),
    ]
    .concat()
}

/// A call that was never answered.
pub(crate) fn gemini_cli(id: &str) -> String {
    let mut text = format!(
        r#"{{"sessionId":"{id}","projectHash":"abc","startTime":"2026-01-02T03:04:00.000Z","lastUpdated":"2026-01-02T03:05:00.000Z","kind":"main"}}"#
    );
    text.push('\n');
    for line in [
        r#"{"id":"m1","timestamp":"2026-01-02T03:04:01.000Z","type":"user","content":[{"text":"what time is it?"}]}"#,
        r#"{"id":"m2","timestamp":"2026-01-02T03:04:02.000Z","type":"gemini","content":"I will look.","toolCalls":[{"id":"clock-1","name":"clock","args":{},"status":"executing","timestamp":"2026-01-02T03:04:02.000Z"}],"model":"gemini-3-pro"}"#,
        r#"{"id":"m3","timestamp":"2026-01-02T03:04:03.000Z","type":"user","content":[{"text":"and now?"}]}"#,
    ] {
        text.push_str(line);
        text.push('\n');
    }
    text
}

fn neovate(id: &str) -> String {
    let line = |uuid: &str, parent: &str, rest: &str| {
        format!(
            r#"{{"type":"message","uuid":"{uuid}","parentUuid":{parent},"timestamp":"2026-01-02T03:04:05.000Z","sessionId":"{id}",{rest}}}"#
        ) + "\n"
    };
    [
        line("n1", "null", r#""role":"user","content":"write a note""#),
        line("n2", "\"n1\"", r#""role":"assistant","model":"m","content":[{"type":"tool_use","id":"t1","name":"write","input":{}}]"#),
        line("n3", "\"n2\"", r#""role":"tool","content":[{"type":"tool-result","toolCallId":"t1","toolName":"write","input":{},"result":{"llmContent":"done"}}]"#),
    ]
    .concat()
}

fn cline() -> String {
    r#"[{"role":"user","content":[{"type":"text","text":"build it"}],"ts":1767225599000},{"role":"assistant","content":[{"type":"text","text":"Building."},{"type":"tool_use","id":"toolu_1","name":"execute_command","input":{"command":"make"}}],"ts":1767225599500},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"built"}],"ts":1767225599900}]"#
        .to_owned()
}

/// A question, a call with its result, and another question; all of it is valid.
pub(crate) fn pi(id: &str) -> String {
    let line = |own: u32, message: &str| {
        let parent = if own == 1 { "null".to_owned() } else { format!("\"p{}\"", own - 1) };
        format!(
            r#"{{"type":"message","id":"p{own}","parentId":{parent},"timestamp":"2026-01-02T03:04:0{own}.000Z","message":{message}}}"#
        ) + "\n"
    };
    let header = format!(
        r#"{{"type":"session","version":3,"id":"{id}","timestamp":"2026-01-02T03:04:00.000Z","cwd":"/w/shop"}}"#
    );
    [
        header + "\n",
        line(1, r#"{"role":"user","content":"what is in the shop?","timestamp":1}"#),
        line(2, r#"{"role":"assistant","content":[{"type":"text","text":"I will look."},{"type":"toolCall","id":"call_1","name":"bash","arguments":{"command":"ls"}}],"provider":"p","model":"m","stopReason":"toolUse","timestamp":2}"#),
        line(3, r#"{"role":"toolResult","toolCallId":"call_1","toolName":"bash","content":[{"type":"text","text":"apples"}],"isError":false,"timestamp":3}"#),
        line(4, r#"{"role":"assistant","content":[{"type":"text","text":"There are apples."}],"provider":"p","model":"m","stopReason":"stop","timestamp":4}"#),
        line(5, r#"{"role":"user","content":"and pears?","timestamp":5}"#),
        line(6, r#"{"role":"assistant","content":[{"type":"text","text":"No pears."}],"provider":"p","model":"m","stopReason":"stop","timestamp":6}"#),
    ]
    .concat()
}

/// The same conversation.
pub(crate) fn copilot_cli(id: &str) -> String {
    let line = |own: u32, kind: &str, data: &str| {
        let parent = if own == 0 { "null".to_owned() } else { format!("\"e{}\"", own - 1) };
        format!(
            r#"{{"type":"{kind}","data":{data},"id":"e{own}","timestamp":"2026-01-02T03:04:0{own}.000Z","parentId":{parent}}}"#
        ) + "\n"
    };
    let start = format!(
        r#"{{"sessionId":"{id}","version":1,"producer":"copilot-agent","copilotVersion":"1.0.102","context":{{"cwd":"/w/shop"}}}}"#
    );
    [
        line(0, "session.start", &start),
        line(1, "user.message", r#"{"content":"what is in the shop?"}"#),
        line(2, "assistant.message", r#"{"messageId":"m1","content":"I will look.","toolRequests":[{"toolCallId":"call_1","name":"bash","arguments":{"command":"ls"},"type":"function"}]}"#),
        line(3, "tool.execution_complete", r#"{"toolCallId":"call_1","success":true,"result":{"content":"apples"}}"#),
        line(4, "assistant.message", r#"{"messageId":"m2","content":"There are apples.","toolRequests":[]}"#),
        line(5, "user.message", r#"{"content":"and pears?"}"#),
        line(6, "assistant.message", r#"{"messageId":"m3","content":"No pears.","toolRequests":[]}"#),
    ]
    .concat()
}

/// The same conversation.
pub(crate) fn qwen_code(id: &str) -> String {
    let line = |own: u32, rest: &str| {
        let parent = if own == 1 { "null".to_owned() } else { format!("\"q{}\"", own - 1) };
        format!(
            r#"{{"uuid":"q{own}","parentUuid":{parent},"sessionId":"{id}","timestamp":"2026-01-02T03:04:0{own}.000Z","cwd":"/w/shop","version":"0.24.4",{rest}}}"#
        ) + "\n"
    };
    let says = |kind: &str, role: &str, parts: &str| {
        format!(
            r#""type":"{kind}","provenance":"x","message":{{"role":"{role}","parts":[{parts}]}}"#
        )
    };
    [
        line(1, &says("user", "user", r#"{"text":"what is in the shop?"}"#)),
        line(2, &says("assistant", "model", r#"{"functionCall":{"id":"call_1","name":"ls","args":{}}}"#)),
        line(3, r#""type":"system","provenance":"system","subtype":"ui_telemetry","systemPayload":{}"#),
        line(4, &says("tool_result", "user", r#"{"functionResponse":{"id":"call_1","name":"ls","response":{"output":"apples"}}}"#)),
        line(5, &says("assistant", "model", r#"{"text":"There are apples."}"#)),
        line(6, &says("user", "user", r#"{"text":"and pears?"}"#)),
        line(7, &says("assistant", "model", r#"{"text":"No pears."}"#)),
    ]
    .concat()
}

/// The same conversation.
pub(crate) fn kimi_code() -> String {
    let message = |time: u32, text: &str| {
        format!(
            r#"{{"type":"context.append_message","agentId":"main","message":{{"role":"user","content":[{{"type":"text","text":"{text}"}}],"toolCalls":[],"origin":{{"kind":"user"}}}},"time":{time}000}}"#
        ) + "\n"
    };
    let event = |time: u32, event: &str| {
        format!(
            r#"{{"type":"context.append_loop_event","agentId":"main","event":{event},"time":{time}000}}"#
        ) + "\n"
    };
    let says = |time: u32, text: &str| {
        event(
            time,
            &format!(
                r#"{{"type":"content.part","uuid":"u{time}","part":{{"type":"text","text":"{text}"}}}}"#
            ),
        )
    };
    [
        "{\"type\":\"metadata\",\"protocol_version\":\"1.5\",\"created_at\":1794973838000}\n".to_owned(),
        message(1, "what is in the shop?"),
        event(2, r#"{"type":"tool.call","uuid":"u2","toolCallId":"call_1","name":"Bash","args":{"command":"ls"}}"#),
        event(3, r#"{"type":"tool.result","parentUuid":"u2","toolCallId":"call_1","result":{"output":"apples"}}"#),
        says(4, "There are apples."),
        message(5, "and pears?"),
        says(6, "No pears."),
    ]
    .concat()
}
