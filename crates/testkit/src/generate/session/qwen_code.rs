//! Files as Qwen Code writes them: linked records with contents of the Gemini API, notes on the path,
//! rewinds and compressions.

use serde_json::{Value, json};

use super::WrittenSession;
use super::scribe::LinkedFileWriter;
use crate::random::Random;

/// Writes a list of contents.
pub(super) fn write(random: &mut Random, list: &[Value]) -> WrittenSession {
    let mut writer = LinkedFileWriter::new(random);
    for content in list {
        let parts = content["parts"].as_array().cloned().unwrap_or_default();
        let is_reply = content["role"] == "model";
        let is_result = |part: &Value| {
            ["functionResponse", "function_response"].iter().any(|key| part.get(key).is_some())
        };
        between(&mut writer, !is_reply && !parts.iter().any(is_result));
        if is_reply {
            let own: Vec<Value> = parts.into_iter().filter(|part| !is_result(part)).collect();
            say(&mut writer, "assistant", &own);
            continue;
        }
        for group in parts.chunk_by(|one, two| is_result(one) == is_result(two)) {
            let results = group.iter().all(is_result);
            let size = if results && writer.random.chance(60) { 1 } else { group.len() };
            for some in group.chunks(size) {
                say(&mut writer, if results { "tool_result" } else { "user" }, some);
                if writer.random.chance(20) {
                    note(&mut writer);
                }
            }
        }
    }
    let expanded = |message: &Value| match message["role"].as_str() {
        Some("compressed") => message["content"].as_array().cloned().unwrap_or_default(),
        role => {
            let role = if role == Some("assistant") { "model" } else { "user" };
            vec![json!({"role": role, "parts": message["content"]})]
        }
    };
    let messages = writer.messages().iter().flat_map(expanded).collect();
    WrittenSession { messages, records: writer.records, siblings: false }
}

/// Writes a message. `kind` is the type of its record.
fn say(writer: &mut LinkedFileWriter<'_>, kind: &str, parts: &[Value]) {
    let is_reply = kind == "assistant";
    let message = json!({"role": if is_reply { "model" } else { "user" }, "parts": parts});
    let mut fields = common(kind);
    fields["message"] = message;
    if is_reply {
        fields["model"] = json!("mock");
    }
    if kind == "tool_result" {
        fields["toolCallResult"] = json!({"callId": "c", "status": "success"});
    }
    let id = writer.follow(fields);
    let role = if is_reply { "assistant" } else { "user" };
    writer.tell(vec![id], vec![json!({"role": role, "content": parts})]);
}

fn common(kind: &str) -> Value {
    json!({"type": kind, "provenance": "x", "cwd": "/src", "version": "0.24.4"})
}

fn system(subtype: &str, payload: Value) -> Value {
    let mut fields = common("system");
    fields["subtype"] = json!(subtype);
    fields["systemPayload"] = payload;
    fields
}

/// A record on the path that is not a message.
fn note(writer: &mut LinkedFileWriter<'_>) {
    let number = writer.number();
    let notes = [
        system("ui_telemetry", json!({"uiEvent": {"event.name": "api_response", "n": number}})),
        system("attribution_snapshot", json!({"snapshot": {"version": 1}})),
        system("custom_title", json!({"customTitle": format!("title {number}")})),
        system("chat_compression", json!({"info": {"compressionStatus": 2}})),
    ];
    let fields = writer.random.pick(&notes).clone();
    writer.follow(fields);
}

/// Adds records between two messages. Only before a message of the user, a conversation begins anew.
fn between(writer: &mut LinkedFileWriter<'_>, before_user: bool) {
    if writer.random.chance(25) {
        note(writer);
    }
    if writer.random.chance(8) {
        // Not on the path, although it has links.
        let artifact = system("session_artifact_event", json!({"sequence": 1}));
        writer.hang(writer.tail.clone(), artifact);
    }
    if writer.random.chance(8) {
        writer.line(json!({"type": "tomorrows-record", "uuid": "t1", "n": 1.50}));
    }
    if writer.random.chance(10) && before_user && !writer.trail.is_empty() {
        rewind(writer);
    }
    if writer.random.chance(6) && before_user && !writer.turns.is_empty() {
        compression(writer);
    }
}

/// Messages that the user took back.
fn rewind(writer: &mut LinkedFileWriter<'_>) {
    let number = writer.number();
    let says = format!("taken back {number}.");
    let call = json!({"id": format!("gone_{number}"), "name": "bash", "args": {}});
    let mut user = common("user");
    user["message"] = json!({"role": "user", "parts": [{"text": says}]});
    let mut reply = common("assistant");
    reply["message"] = json!({"role": "model", "parts": [{"functionCall": call}]});
    let mut parent = writer.tail.clone();
    for record in [user, reply].into_iter().take(1 + writer.random.below(2)) {
        parent = Some(writer.hang(parent, record));
    }
    writer.follow(system("rewind", json!({"truncatedCount": 1})));
}

/// Contents that replace everything before them.
fn compression(writer: &mut LinkedFileWriter<'_>) {
    let number = writer.number();
    let id = format!("kept_{number}");
    let mut contents = vec![
        json!({"role": "user", "parts": [{"text": format!("summary {number}.")}]}),
        json!({"role": "model", "parts": [{"text": "Got it."}]}),
    ];
    let call = json!({"functionCall": {"id": id, "name": "bash", "args": {}}});
    let result =
        json!({"functionResponse": {"id": id, "name": "bash", "response": {"output": id}}});
    let kept = writer.random.below(3);
    if kept > 0 {
        contents.push(json!({"role": "user", "parts": [{"text": "go on"}]}));
        contents.push(json!({"role": "model", "parts": [{"text": "I look."}, call]}));
    }
    if kept == 2 {
        contents.push(json!({"role": "user", "parts": [result]}));
        contents.push(json!({"role": "model", "parts": [{"text": "done"}]}));
    }
    writer.turns.clear();
    writer.trail.clear();
    let payload = json!({"info": {"compressionStatus": 1}, "compressedHistory": contents});
    let record = writer.follow(system("chat_compression", payload));
    writer.tell(vec![record], vec![json!({"role": "compressed", "content": contents})]);
    if kept == 1 {
        // The result of the last call arrives after the compression.
        say(writer, "tool_result", &[result]);
    }
}
