//! `foxwedge rpc`: requests and replies, one per line.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    process::Stdio,
};

use serde_json::{Value, json};

use crate::{documents::*, sandbox::Sandbox, sessions_files::Script};

/// A list of messages whose call has no result, with odd numbers, spaces, escapes and a field that
/// nothing knows.
const ODD: &str = r#"[ {"role":"user","content":"caf\u00e9", "x-price":1.50e+0},{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}]"#;

/// Sends lines and returns the replies.
fn replies(input: &str) -> Vec<Value> {
    let ran = Sandbox::new().pipe(&["rpc"], input);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.all());
    assert!(ran.out.is_empty() || ran.out.ends_with('\n'));
    ran.out.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

fn request(id: u32, operation: &str, document: &Value) -> String {
    format!("{}\n", json!({ "id": id, "operation": operation, "document": document }))
}

#[test]
fn every_request_gets_its_reply_in_order() {
    let chat: Value = serde_json::from_str(CHAT).unwrap();
    let input = [
        request(1, "check", &chat),
        request(2, "fix", &chat),
        request(3, "explain", &json!("tool_use ids were found without tool_result blocks: t1")),
        request(4, "rules", &Value::Null),
    ];
    let replies = replies(&input.concat());
    let ids: Vec<&Value> = replies.iter().map(|reply| &reply["id"]).collect();
    assert_eq!(ids, [1, 2, 3, 4]);
    assert_eq!(replies[0]["report"]["valid"], false);
    assert_eq!(replies[0]["document"], Value::Null);
    assert_eq!(replies[1]["report"]["changed"], true);
    assert_eq!(replies[2]["report"]["code"], "FW101");
    assert!(replies[3]["report"]["rules"].as_array().unwrap().len() > 20);
    let again = self::replies(&request(5, "check", &replies[1]["document"]));
    assert_eq!(again[0]["report"]["valid"], true, "{again:?}");
}

#[test]
fn a_document_goes_through_byte_for_byte() {
    let line = format!("{{\"id\":\"a\", \"document\": {ODD} ,\"operation\":\"fix\"}}\n");
    let ran = Sandbox::new().pipe(&["rpc"], line);
    // The message that needs no repair keeps its escapes, its number and its spaces.
    let kept = r#"{"role":"user","content":"caf\u00e9", "x-price":1.50e+0}"#;
    assert!(ran.out.contains(kept), "{}", ran.out);
    assert!(ran.out.starts_with(r#"{"id":"a","report":{"#), "{}", ran.out);
    let sandbox = Sandbox::with("odd.json", ODD);
    sandbox.run(&["fix", "odd.json"]);
    assert!(ran.out.contains(&format!(",\"document\":{}}}", sandbox.read("odd.json").trim())));
}

#[test]
fn a_finding_points_into_the_document_not_into_the_line() {
    let line = format!("{{\"operation\":\"check\",\"document\":{ODD}}}\n");
    let finding = &replies(&line)[0]["report"]["findings"][0];
    let (start, end) = (finding["start"].as_u64().unwrap(), finding["end"].as_u64().unwrap());
    let shown = ODD.get(start as usize..end as usize).unwrap();
    assert!(shown.contains("\"id\":\"c\""), "{shown}");
}

#[test]
fn a_document_sent_as_text_comes_back_as_text() {
    let replies = replies(
        &[
            request(1, "fix", &json!(CHAT)),
            request(
                2,
                "fix",
                &json!(Script::new().user("hi").calls("m1", "t1").user("and?").text()),
            ),
            request(3, "history", &json!(Script::new().user("hi").says("m1", "hello").text())),
        ]
        .concat(),
    );
    let fixed = replies[0]["document"].as_str().unwrap();
    assert!(fixed.starts_with("{\n  \"model\": \"gpt-4o\",\n"), "{fixed}");
    let session = replies[1]["document"].as_str().unwrap();
    assert!(session.lines().count() > 3, "{session}");
    // A history is made here, so it is JSON.
    assert_eq!(replies[2]["document"][0]["role"], "user");
}

#[test]
fn a_line_break_inside_a_converted_document_does_not_end_the_line() {
    let line = format!(
        "{}\n",
        json!({ "operation": "convert", "options": { "to": "anthropic" }, "document": CHAT })
    );
    let replies = replies(&line);
    assert_eq!(replies.len(), 1);
    assert!(replies[0]["document"]["messages"].is_array(), "{}", replies[0]);
}

#[test]
fn a_bad_line_gets_an_error_with_its_number_and_the_next_is_read() {
    let sandbox = Sandbox::new();
    let table: [(&[u8], &str, Option<&str>); 11] = [
        (b"not json", "invalid-request", Some("a request is one JSON object on one line")),
        (b"[1]", "invalid-request", Some("a request is one JSON object on one line")),
        (b"{\"id\":7}", "invalid-request", Some("such as")),
        (b"{\"id\":7,\"operation\":1}", "invalid-request", None),
        (b"{\"id\":7,\"operation\":\"check\",\"text\":1}", "invalid-request", Some("known are")),
        (b"{\"id\":7,\"operation\":\"check\",\"id\":8}", "invalid-request", None),
        (b"{\"id\":7,\"operation\":\"mend\"}", "unknown-operation", None),
        (b"{\"id\":7,\"operation\":\"check\",\"document\":\"{\"}", "unknown-format", None),
        (b"{\"id\":7,\"operation\":\"rules\",\"options\":{\"x\":1}}", "invalid-options", None),
        (b"{\"id\":7,\"operation\":\"check\",\"documentBase64\":\"?\"}", "invalid-request", None),
        (b"{\"id\":7,\"operation\":\"\xff\"}", "invalid-request", Some("documentBase64")),
    ];
    for (line, kind, help) in table {
        let shown = String::from_utf8_lossy(line);
        let input = [b"\n", line, b"\r\n{\"id\":2,\"operation\":\"rules\"}"].concat();
        let ran = sandbox.pipe(&["rpc"], input);
        let lines: Vec<Value> =
            ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2, "{shown}: {}", ran.all());
        let error = &lines[0]["error"];
        assert_eq!((&error["kind"], &error["line"]), (&json!(kind), &json!(2)), "{shown}: {error}");
        let helped = error["help"].as_str().unwrap_or_default();
        assert!(helped.contains(help.unwrap_or("")), "{shown}: {error}");
        let id = &lines[0]["id"];
        let known = shown.starts_with("{\"id\":7") && !shown.contains('\u{fffd}');
        assert_eq!(id, &if known { json!(7) } else { Value::Null }, "{shown}");
        // A last line without a line end is a request, too.
        assert_eq!(lines[1]["id"], 2);
    }
}

#[test]
fn a_line_that_is_too_long_is_refused_and_the_next_is_read() {
    let long =
        format!("{{\"id\":1,\"operation\":\"explain\",\"document\":\"{}\"}}\n", "x".repeat(4096));
    let input = format!("{long}{{\"id\":2,\"operation\":\"rules\"}}\n");
    let sandbox = Sandbox::new();
    let ran = sandbox.pipe(&["rpc", "--max-line", "1K"], &input);
    let first: Value = serde_json::from_str(ran.out.lines().next().unwrap()).unwrap();
    assert_eq!(first["error"]["kind"], "line-too-long");
    assert_eq!(first["error"]["message"], "line 1 is longer than the limit of 1024 bytes");
    assert_eq!(first["error"]["help"], "`foxwedge rpc --max-line` raises the limit");
    assert_eq!(ran.out.lines().count(), 2, "{}", ran.all());
    assert_eq!(
        sandbox.pipe(&["rpc", "--max-line", "8K"], &input).out.matches("\"report\"").count(),
        2
    );
    for size in ["0", "", "x"] {
        assert_eq!(sandbox.run(&["rpc", "--max-line", size]).code, 2, "{size}");
    }
}

#[test]
fn a_client_that_waits_for_each_reply_gets_it_at_once() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["rpc"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for id in 1..=3 {
        writeln!(stdin, "{{\"id\":{id},\"operation\":\"rules\"}}").unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let reply: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(reply["id"], id);
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_closed_pipe_ends_it_without_an_error() {
    let input = "{\"operation\":\"rules\"}\n".repeat(200);
    let ran = Sandbox::new().unheard(&["rpc"], &input);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(replies("").is_empty() && replies("\n\n").is_empty());
}

#[test]
fn a_stream_is_converted_piece_by_piece_beside_another() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fixtures/conversion/streams/two-calls.openai-chat.sse"
    );
    let text = fs::read_to_string(path).unwrap();
    let whole = |id: u32, name: &str, pieces: Vec<String>| {
        let mut lines = vec![json!({ "id": id, "operation": "stream-open", "stream": name,
            "options": { "from": "openai-chat", "to": "anthropic" } })];
        lines.extend(pieces.into_iter().map(
            |piece| json!({ "id": id, "operation": "stream-push", "stream": name, "document": piece }),
        ));
        lines.push(json!({ "id": id, "operation": "stream-finish", "stream": name }));
        lines
    };
    let one = whole(1, "a", vec![text.clone()]);
    let two = whole(2, "b", text.chars().map(String::from).collect());
    // The second stream begins and ends while the first is open.
    let (first, last) = one.split_at(1);
    let input: String =
        first.iter().chain(&two).chain(last).map(|line| format!("{line}\n")).collect();
    let replies = replies(&input);
    let collected = |id: u32| -> String {
        let own = replies.iter().filter(|reply| reply["id"] == id);
        own.filter_map(|reply| reply["document"].as_str()).collect()
    };
    assert!(collected(1).contains("event: message_stop"), "{}", collected(1));
    assert_eq!(collected(1), collected(2));
    assert_eq!(replies.last().unwrap()["report"]["complete"], true);
}

#[test]
fn wrong_use_of_streams_is_an_error() {
    let open = json!({ "operation": "stream-open", "stream": "a",
        "options": { "from": "openai-chat", "to": "gemini" } });
    let finish = json!({ "operation": "stream-finish", "stream": "a" });
    let lines = [
        json!({ "operation": "stream-open" }),
        json!({ "operation": "stream-push", "stream": "a", "document": "data: x\n\n" }),
        json!({ "operation": "stream-open", "stream": "a", "options": {} }),
        open.clone(),
        open,
        finish.clone(),
        finish,
    ];
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let replies = replies(&input);
    let kinds: Vec<&str> =
        replies.iter().map(|reply| reply["error"]["kind"].as_str().unwrap_or("")).collect();
    let expected = [
        "invalid-request",
        "unknown-stream",
        "invalid-options",
        "",
        "stream-exists",
        "",
        "unknown-stream",
    ];
    assert_eq!(kinds, expected, "{replies:?}");
}

#[test]
fn bytes_that_are_no_text_travel_as_base64() {
    let line = json!({ "operation": "stream-open", "stream": "a",
        "options": { "from": "openai-chat", "to": "bedrock" } });
    let text = "data: {\"id\":\"r\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"hi\"},\"finish_reason\":null}]}\n\n";
    let push = json!({ "operation": "stream-push", "stream": "a", "document": text });
    let replies = replies(&format!("{line}\n{push}\n"));
    let packed = replies[1]["documentBase64"].as_str().expect("frames of Bedrock are binary");
    let back = json!({ "operation": "stream-open", "stream": "b",
        "options": { "from": "bedrock", "to": "openai-chat" } });
    let again = json!({ "operation": "stream-push", "stream": "b", "documentBase64": packed });
    let replies = self::replies(&format!("{back}\n{again}\n"));
    assert!(replies[1]["document"].as_str().unwrap().contains("\"hi\""), "{replies:?}");
}

#[test]
fn the_example_in_the_manual_is_true() {
    let manual = include_str!("../../../../docs/rpc.md");
    let mut blocks = manual.split("```jsonl\n").skip(1).filter_map(|rest| rest.split("```").next());
    let (requests, replies) = (blocks.next().unwrap(), blocks.next().unwrap());
    assert_eq!(Sandbox::new().pipe(&["rpc"], requests).out, replies);
}
