//! Replies as event streams in every format, written naively, and a server that sends them in any
//! chunks.

use std::ops::Range;

use foxwedge_core::Format;
use foxwedge_testkit::Random;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// A delta of a reply, as a provider sends it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum SentDelta {
    Text(String),
    Thought(String),
    /// A call, and the number of fragments of its arguments.
    Call {
        id: String,
        name: String,
        arguments: Value,
        fragments: usize,
    },
    /// Output tokens so far.
    Usage(u64),
}

/// The events of a reply, each as the bytes of one frame.
pub(crate) fn frames(wire: Format, deltas: &[SentDelta]) -> Vec<String> {
    match wire {
        Format::OpenaiChat => chat(deltas),
        Format::OpenaiResponses => responses(deltas),
        Format::Anthropic => anthropic(deltas),
        Format::Gemini => gemini(deltas),
        Format::Bedrock | Format::GeminiInteractions => panic!("no loop asks {wire:?}"),
    }
}

fn has_calls(deltas: &[SentDelta]) -> bool {
    deltas.iter().any(|delta| matches!(delta, SentDelta::Call { .. }))
}

fn spent(deltas: &[SentDelta]) -> u64 {
    let mut figures = deltas.iter().filter_map(|delta| match delta {
        SentDelta::Usage(output) => Some(*output),
        _ => None,
    });
    figures.next_back().unwrap_or(1)
}

/// Splits a text into this many fragments.
fn fragments(text: &str, number: usize) -> Vec<&str> {
    let letters: Vec<Range<usize>> =
        text.char_indices().map(|(at, letter)| at..at + letter.len_utf8()).collect();
    let size = letters.len().div_ceil(number.max(1)).max(1);
    let cut = letters.chunks(size).map(|some| some[0].start..some[some.len() - 1].end);
    cut.map(|range| &text[range]).collect()
}

fn data(event: &Value) -> String {
    format!("data: {event}\n\n")
}

fn named(event: &Value) -> String {
    format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
}

fn chat(deltas: &[SentDelta]) -> Vec<String> {
    let chunk = |delta: Value, finish: Value| {
        data(&json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1,
            "model": "gpt-test",
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] }))
    };
    let usage = |output: u64| {
        data(&json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1,
            "model": "gpt-test", "choices": [],
            "usage": { "prompt_tokens": 5, "completion_tokens": output,
                       "total_tokens": output + 5 } }))
    };
    let mut all = vec![chunk(json!({ "role": "assistant", "content": "" }), Value::Null)];
    let mut index = 0;
    for delta in deltas {
        match delta {
            SentDelta::Text(text) => all.push(chunk(json!({ "content": text }), Value::Null)),
            SentDelta::Thought(text) => {
                all.push(chunk(json!({ "reasoning_content": text }), Value::Null));
            }
            SentDelta::Call { id, name, arguments, fragments: number } => {
                let function = json!({ "name": name, "arguments": "" });
                let call = json!({ "index": index, "id": id, "type": "function",
                                   "function": function });
                all.push(chunk(json!({ "tool_calls": [call] }), Value::Null));
                for fragment in fragments(&arguments.to_string(), *number) {
                    let call = json!({ "index": index, "function": { "arguments": fragment } });
                    all.push(chunk(json!({ "tool_calls": [call] }), Value::Null));
                }
                index += 1;
            }
            SentDelta::Usage(output) => all.push(usage(*output)),
        }
    }
    let finish = if has_calls(deltas) { "tool_calls" } else { "stop" };
    all.push(chunk(json!({}), finish.into()));
    all.push(usage(spent(deltas)));
    all.push("data: [DONE]\n\n".to_owned());
    all
}

fn anthropic(deltas: &[SentDelta]) -> Vec<String> {
    let usage = json!({ "input_tokens": 5, "output_tokens": 1 });
    let message = json!({ "id": "msg_1", "type": "message", "role": "assistant", "content": [],
        "model": "claude-test", "stop_reason": null, "stop_sequence": null, "usage": usage });
    let mut all = vec![named(&json!({ "type": "message_start", "message": message }))];
    let (mut index, mut open) = (0, "");
    let close = |all: &mut Vec<String>, index: &mut usize, open: &mut &str| {
        if *open == "thinking" {
            let delta = json!({ "type": "signature_delta", "signature": "c2ln" });
            all.push(named(
                &json!({ "type": "content_block_delta", "index": index, "delta": delta }),
            ));
        }
        if !open.is_empty() {
            all.push(named(&json!({ "type": "content_block_stop", "index": index })));
            *index += 1;
            *open = "";
        }
    };
    for delta in deltas {
        let (kind, block, deltas) = match delta {
            SentDelta::Text(text) => (
                "text",
                json!({ "type": "text", "text": "" }),
                vec![json!({ "type": "text_delta", "text": text })],
            ),
            SentDelta::Thought(text) => (
                "thinking",
                json!({ "type": "thinking", "thinking": "", "signature": "" }),
                vec![json!({ "type": "thinking_delta", "thinking": text })],
            ),
            SentDelta::Call { id, name, arguments, fragments: number } => (
                "tool_use",
                json!({ "type": "tool_use", "id": id, "name": name, "input": {} }),
                fragments(&arguments.to_string(), *number)
                    .into_iter()
                    .map(|part| json!({ "type": "input_json_delta", "partial_json": part }))
                    .collect(),
            ),
            SentDelta::Usage(output) => {
                let (delta, usage) = (json!({}), json!({ "output_tokens": output }));
                all.push(named(
                    &json!({ "type": "message_delta", "delta": delta, "usage": usage }),
                ));
                continue;
            }
        };
        if open != kind || kind == "tool_use" {
            close(&mut all, &mut index, &mut open);
            open = kind;
            all.push(named(
                &json!({ "type": "content_block_start", "index": index, "content_block": block }),
            ));
        }
        for delta in deltas {
            all.push(named(
                &json!({ "type": "content_block_delta", "index": index, "delta": delta }),
            ));
        }
    }
    close(&mut all, &mut index, &mut open);
    let reason = if has_calls(deltas) { "tool_use" } else { "end_turn" };
    all.push(named(&json!({ "type": "message_delta",
        "delta": { "stop_reason": reason, "stop_sequence": null },
        "usage": { "output_tokens": spent(deltas) } })));
    all.push(named(&json!({ "type": "message_stop" })));
    all
}

fn gemini(deltas: &[SentDelta]) -> Vec<String> {
    let chunk = |part: Value| {
        let content = json!({ "role": "model", "parts": [part] });
        data(&json!({ "candidates": [{ "content": content, "index": 0 }],
                      "modelVersion": "gemini-test" }))
    };
    let figures = |output: u64| {
        json!({ "promptTokenCount": 5, "candidatesTokenCount": output,
                "totalTokenCount": output + 5 })
    };
    let mut all: Vec<String> = Vec::new();
    for delta in deltas {
        all.push(match delta {
            SentDelta::Text(text) => chunk(json!({ "text": text })),
            SentDelta::Thought(text) => chunk(json!({ "text": text, "thought": true })),
            SentDelta::Call { id, name, arguments, .. } => {
                chunk(json!({ "functionCall": { "id": id, "name": name, "args": arguments } }))
            }
            SentDelta::Usage(output) => data(&json!({ "usageMetadata": figures(*output) })),
        });
    }
    let last = json!({ "content": { "role": "model", "parts": [{ "text": "" }] },
                       "finishReason": "STOP", "index": 0 });
    all.push(data(&json!({ "candidates": [last], "usageMetadata": figures(spent(deltas)) })));
    all
}

fn responses(deltas: &[SentDelta]) -> Vec<String> {
    let (mut all, mut output): (Vec<Value>, Vec<Value>) = (Vec::new(), Vec::new());
    let response = |status: &str, output: &[Value], usage: Value| {
        json!({ "id": "resp_1", "object": "response", "created_at": 1, "status": status,
                "model": "gpt-test", "output": output, "usage": usage })
    };
    all.push(json!({ "type": "response.created",
                     "response": response("in_progress", &[], Value::Null) }));
    let mut rest = deltas;
    while let Some(first) = rest.first() {
        let alike = rest.iter().take_while(|delta| {
            !matches!(delta, SentDelta::Call { .. })
                && std::mem::discriminant(*delta) == std::mem::discriminant(first)
        });
        let (some, others) = rest.split_at(alike.count().max(1));
        rest = others;
        let at = output.len();
        match first {
            SentDelta::Text(_) | SentDelta::Thought(_) => {
                let is_text = matches!(first, SentDelta::Text(_));
                let words = some.iter().map(|delta| match delta {
                    SentDelta::Text(words) | SentDelta::Thought(words) => words.as_str(),
                    SentDelta::Call { .. } | SentDelta::Usage(_) => "",
                });
                item(&mut all, &mut output, at, is_text, words);
            }
            SentDelta::Call { id, name, arguments, fragments: number } => {
                let key = format!("fc_{at}");
                let item = |arguments: &str, status: &str| {
                    json!({ "type": "function_call", "id": key, "call_id": id, "name": name,
                            "arguments": arguments, "status": status })
                };
                let text = arguments.to_string();
                all.push(json!({ "type": "response.output_item.added", "output_index": at,
                                 "item": item("", "in_progress") }));
                for delta in fragments(&text, *number) {
                    all.push(json!({ "type": "response.function_call_arguments.delta",
                                     "item_id": key, "output_index": at, "delta": delta }));
                }
                all.push(json!({ "type": "response.function_call_arguments.done",
                                 "item_id": key, "output_index": at, "arguments": text }));
                all.push(json!({ "type": "response.output_item.done", "output_index": at,
                                 "item": item(&text, "completed") }));
                output.push(item(&text, "completed"));
            }
            // This format reports usage only at the end.
            SentDelta::Usage(_) => {}
        }
    }
    let spent = spent(deltas);
    let usage = json!({ "input_tokens": 5, "output_tokens": spent, "total_tokens": spent + 5 });
    all.push(json!({ "type": "response.completed",
                     "response": response("completed", &output, usage) }));
    let mut number = 0;
    let numbered = all.into_iter().map(|mut event| {
        event["sequence_number"] = number.into();
        number += 1;
        named(&event)
    });
    numbered.collect()
}

/// A message or reasoning item of the Responses format.
fn item<'a>(
    all: &mut Vec<Value>,
    output: &mut Vec<Value>,
    at: usize,
    is_text: bool,
    words: impl Iterator<Item = &'a str>,
) {
    let id = format!("{}_{at}", if is_text { "msg" } else { "rs" });
    let (part, place) = match is_text {
        true => ("content_part", "content_index"),
        false => ("reasoning_summary_part", "summary_index"),
    };
    let block = |text: &str| match is_text {
        true => json!({ "type": "output_text", "text": text, "annotations": [] }),
        false => json!({ "type": "summary_text", "text": text }),
    };
    let item = |blocks: Vec<Value>, status: &str| match is_text {
        true => json!({ "type": "message", "id": id, "role": "assistant", "status": status,
                        "content": blocks }),
        false => json!({ "type": "reasoning", "id": id, "summary": blocks,
                         "encrypted_content": "c2ln" }),
    };
    let kind = if is_text { "output_text" } else { "reasoning_summary_text" };
    all.push(json!({ "type": "response.output_item.added", "output_index": at,
                     "item": item(Vec::new(), "in_progress") }));
    all.push(json!({ "type": format!("response.{part}.added"), "item_id": id,
                     "output_index": at, place: 0, "part": block("") }));
    let mut text = String::new();
    for delta in words {
        text.push_str(delta);
        all.push(json!({ "type": format!("response.{kind}.delta"), "item_id": id,
                         "output_index": at, place: 0, "delta": delta }));
    }
    all.push(json!({ "type": format!("response.{kind}.done"), "item_id": id,
                     "output_index": at, place: 0, "text": text }));
    all.push(json!({ "type": format!("response.{part}.done"), "item_id": id,
                     "output_index": at, place: 0, "part": block(&text) }));
    let whole = item(vec![block(&text)], "completed");
    all.push(json!({ "type": "response.output_item.done", "output_index": at, "item": whole }));
    output.push(whole);
}

/// How a reply is split into writes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Chunking {
    OneWrite,
    /// Every byte alone.
    Bytes,
    /// This many events together.
    Events(usize),
    /// At random places, from this seed.
    Random(u64),
}

impl Chunking {
    pub(crate) fn cut(self, frames: &[String]) -> Vec<Vec<u8>> {
        let all: Vec<u8> = frames.concat().into_bytes();
        match self {
            Chunking::OneWrite => vec![all],
            Chunking::Bytes => all.into_iter().map(|byte| vec![byte]).collect(),
            Chunking::Events(number) => {
                frames.chunks(number).map(|some| some.concat().into_bytes()).collect()
            }
            Chunking::Random(seed) => {
                let (mut random, mut rest, mut cut) = (Random::new(seed), &all[..], Vec::new());
                while !rest.is_empty() {
                    let most = if random.chance(30) { 4_000 } else { 40 };
                    let (some, others) = rest.split_at((1 + random.below(most)).min(rest.len()));
                    cut.push(some.to_vec());
                    rest = others;
                }
                cut
            }
        }
    }
}

/// Replies to one request after the other with these writes. The handle returns the request
/// bodies.
pub(crate) async fn serve(replies: Vec<Vec<Vec<u8>>>) -> (String, JoinHandle<Vec<Value>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let serving = tokio::spawn(async move {
        let mut requests = Vec::new();
        for reply in replies {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            stream.set_nodelay(true).expect("no delay");
            requests.push(request(&mut stream).await);
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close";
            stream.write_all(format!("{head}\r\n\r\n").as_bytes()).await.expect("a head");
            for write in reply {
                stream.write_all(&write).await.expect("a piece");
                tokio::task::yield_now().await;
            }
        }
        requests
    });
    (address, serving)
}

async fn request(stream: &mut TcpStream) -> Value {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.and_then(|length| length.parse().ok()).unwrap_or(0) {
                return serde_json::from_str(body).unwrap_or_default();
            }
        }
        let read = stream.read_buf(&mut bytes).await.expect("a request");
        assert!(read > 0, "the request ended early: {text}");
    }
}
