//! Streams, by the chunk, beside a relay that parses and writes every event.

use std::{hint::black_box, time::Duration};

use foxwedge_core::Format;
use foxwedge_formats::stream::{StreamConverter, StreamOptions};

use super::best;

const CHUNKS: usize = 200;

/// Prints a row for each pair of formats.
pub(crate) fn chunks() {
    println!("{:<17}{:<17}{:>8}{:>8}{:>8}", "from", "to", "here", "value", "ratio");
    let formats = [Format::OpenaiChat, Format::Anthropic, Format::OpenaiResponses, Format::Gemini];
    for from in formats {
        let frames = frames(from);
        let value = best(2_000, || frames.iter().for_each(|frame| relay(frame)));
        for to in Format::ALL {
            let mut out = Vec::with_capacity(1 << 16);
            let here = best(2_000, || {
                out.clear();
                let mut converter = StreamConverter::new(from, to, StreamOptions::default());
                for frame in &frames {
                    converter.push(frame.as_bytes(), &mut out).expect("well-formed");
                }
                converter.finish(&mut out).expect("well-formed");
                black_box(&out);
            });
            let each = |time: Duration| time.as_secs_f64() * 1e9 / CHUNKS as f64;
            println!(
                "{:<17}{:<17}{:>8.0}{:>8.0}{:>8.2}",
                from.name(),
                to.name(),
                each(here),
                each(value),
                each(here) / each(value),
            );
        }
    }
}

/// What a relay does that knows JSON, but no formats.
fn relay(frame: &str) {
    for line in frame.lines() {
        if let Some(data) = line.strip_prefix("data: ")
            && let Ok(value) = serde_json::from_str::<serde_json::Value>(data)
        {
            black_box(value.to_string());
        }
    }
}

/// An answer of two hundred pieces of text, one frame each.
fn frames(wire: Format) -> Vec<String> {
    let piece = |number: usize| match wire {
        Format::OpenaiChat => chat(&format!("{{\"content\":\"token {number} \"}}"), "null"),
        Format::Anthropic => named(
            "content_block_delta",
            &format!(
                "\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"token {number} \"}}"
            ),
        ),
        Format::OpenaiResponses => named(
            "response.output_text.delta",
            &format!(
                "\"sequence_number\":{},\"item_id\":\"msg_1\",\"output_index\":0,\"content_index\":0,\"delta\":\"token {number} \",\"logprobs\":[]",
                number + 4
            ),
        ),
        Format::GeminiInteractions => interaction(
            "step.delta",
            &format!("\"index\":0,\"delta\":{{\"type\":\"text\",\"text\":\"token {number} \"}}"),
        ),
        Format::Gemini | Format::Bedrock => format!(
            "data: {{\"candidates\":[{{\"content\":{{\"role\":\"model\",\"parts\":[{{\"text\":\"token {number} \"}}]}},\"index\":0}}],\"modelVersion\":\"m\",\"responseId\":\"r\"}}\n\n"
        ),
    };
    let (before, behind) = around(wire);
    before.into_iter().chain((0..CHUNKS).map(piece)).chain(behind).collect()
}

fn around(wire: Format) -> (Vec<String>, Vec<String>) {
    match wire {
        Format::OpenaiChat => (
            vec![chat("{\"role\":\"assistant\",\"content\":\"\"}", "null")],
            vec![chat("{}", "\"stop\""), "data: [DONE]\n\n".to_owned()],
        ),
        Format::Anthropic => (
            vec![
                named("message_start", "\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}"),
                named("content_block_start", "\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}"),
            ],
            vec![
                named("content_block_stop", "\"index\":0"),
                named("message_delta", "\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":200}"),
                named("message_stop", "\"ok\":true"),
            ],
        ),
        Format::OpenaiResponses => (
            vec![
                named("response.created", "\"sequence_number\":0,\"response\":{\"id\":\"resp_1\",\"object\":\"response\",\"created_at\":1,\"status\":\"in_progress\",\"model\":\"m\",\"output\":[]}"),
                named("response.output_item.added", "\"sequence_number\":1,\"output_index\":0,\"item\":{\"id\":\"msg_1\",\"type\":\"message\",\"status\":\"in_progress\",\"role\":\"assistant\",\"content\":[]}"),
                named("response.content_part.added", "\"sequence_number\":2,\"item_id\":\"msg_1\",\"output_index\":0,\"content_index\":0,\"part\":{\"type\":\"output_text\",\"text\":\"\",\"annotations\":[]}"),
            ],
            vec![named("response.completed", "\"sequence_number\":900,\"response\":{\"id\":\"resp_1\",\"object\":\"response\",\"created_at\":1,\"status\":\"completed\",\"model\":\"m\",\"output\":[],\"usage\":{\"input_tokens\":9,\"output_tokens\":200,\"total_tokens\":209}}")],
        ),
        Format::GeminiInteractions => (
            vec![
                interaction("interaction.created", "\"interaction\":{\"id\":\"i\",\"model\":\"m\",\"status\":\"in_progress\"}"),
                interaction("step.start", "\"index\":0,\"step\":{\"type\":\"model_output\"}"),
            ],
            vec![
                interaction("step.stop", "\"index\":0"),
                interaction("interaction.completed", "\"interaction\":{\"id\":\"i\",\"status\":\"completed\",\"usage\":{\"total_input_tokens\":9,\"total_output_tokens\":200,\"total_tokens\":209}}"),
            ],
        ),
        Format::Gemini | Format::Bedrock => (
            Vec::new(),
            vec!["data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"\"}]},\"finishReason\":\"STOP\",\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":9,\"candidatesTokenCount\":200}}\n\n".to_owned()],
        ),
    }
}

fn chat(delta: &str, stop: &str) -> String {
    format!(
        "data: {{\"id\":\"chatcmpl-m\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"mock-model\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{stop}}}]}}\n\n"
    )
}

fn interaction(name: &str, fields: &str) -> String {
    format!("event: {name}\ndata: {{\"event_type\":\"{name}\",{fields}}}\n\n")
}

fn named(name: &str, fields: &str) -> String {
    format!("event: {name}\ndata: {{\"type\":\"{name}\",{fields}}}\n\n")
}
