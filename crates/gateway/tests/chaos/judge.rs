//! How a client sees a reply: complete, an error, or neither. It reads as clients do and shares no
//! code with the gateway.

use serde_json::Value;

/// How a client sees a stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// It is complete, with this text.
    Whole(String),
    /// It reports an error.
    Failed,
    /// It just ends. A careless client takes that for a complete reply.
    Silent,
}

/// Judges the bytes of a connection that has ended.
pub(crate) fn stream(path: &str, bytes: &str) -> Verdict {
    let (head, body) = bytes.split_once("\r\n\r\n").unwrap_or((bytes, ""));
    if !head.starts_with("HTTP/1.1 200") {
        return Verdict::Failed;
    }
    let (body, finished) = decode_chunks(body);
    let mut words = String::new();
    let (mut whole, mut failed) = (false, false);
    for frame in body.split("\n\n").filter(|frame| !frame.trim().is_empty()) {
        let data: Vec<&str> =
            frame.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
        let data = data.join("\n");
        if data == "[DONE]" {
            whole |= path.ends_with("completions");
            continue;
        }
        let Ok(event) = serde_json::from_str::<Value>(&data) else {
            // Every SDK raises an error on invalid JSON.
            failed = true;
            continue;
        };
        let kind = event["type"].as_str().unwrap_or_default();
        match kind {
            "error" | "response.failed" => failed = true,
            "response.completed" | "response.incomplete" | "message_stop" => whole = true,
            // Clients need no end mark once they have a stop reason.
            "message_delta" => whole |= event["delta"]["stop_reason"].is_string(),
            "response.output_text.delta" => words.push_str(event["delta"].as_str().unwrap_or("")),
            "content_block_delta" => words.push_str(event["delta"]["text"].as_str().unwrap_or("")),
            _ => {
                let choice = &event["choices"][0];
                whole |= choice["finish_reason"].is_string();
                words.push_str(choice["delta"]["content"].as_str().unwrap_or(""));
            }
        }
        failed |= event["error"].is_object();
    }
    match (failed, whole, finished) {
        (true, _, _) | (false, false, false) => Verdict::Failed,
        (false, true, _) => Verdict::Whole(words),
        (false, false, true) => Verdict::Silent,
    }
}

/// The decoded chunked body, and whether its last chunk arrived.
fn decode_chunks(mut rest: &str) -> (String, bool) {
    let mut body = String::new();
    while let Some((size, more)) = rest.split_once("\r\n") {
        let Ok(size) = usize::from_str_radix(size.trim(), 16) else { break };
        if size == 0 {
            return (body, true);
        }
        body.push_str(more.get(..size).unwrap_or(more));
        rest = more.get(size + 2..).unwrap_or("");
    }
    (body, false)
}

#[test]
fn the_judge_distinguishes_all_verdicts() {
    let reply = |body: &str, end: &str| {
        format!("HTTP/1.1 200 OK\r\n\r\n{:x}\r\n{body}\r\n{end}", body.len())
    };
    let word = "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\n\n";
    let done = format!("{word}data: [DONE]\n\n");
    let ended = format!("{word}data: {{\"choices\":[{{\"finish_reason\":\"stop\"}}]}}\n\n");
    let error = format!("{ended}data: {{\"error\":{{\"message\":\"m\"}}}}\n\n");
    let table = [
        (reply(&done, "0\r\n\r\n"), Verdict::Whole("hi".to_owned())),
        (reply(&ended, ""), Verdict::Whole("hi".to_owned())),
        (reply(&error, "0\r\n\r\n"), Verdict::Failed),
        (reply(word, ""), Verdict::Failed),
        // The mistake to detect: a cut stream that ends as if it were complete.
        (reply(word, "0\r\n\r\n"), Verdict::Silent),
        ("HTTP/1.1 502 Bad Gateway\r\n\r\n{}".to_owned(), Verdict::Failed),
    ];
    for (bytes, verdict) in table {
        assert_eq!(stream("/v1/chat/completions", &bytes), verdict, "{bytes}");
    }
}
