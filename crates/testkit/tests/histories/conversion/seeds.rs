//! The behaviours that conversion owes to the seeds, one test each, named after the behaviour.

use foxwedge_core::{Format, OrphanPolicy, Policy, Profile, Strategy, UnansweredPolicy};
use foxwedge_formats::{
    convert::{ConversionOptions, ToolNotation, request},
    model::LossKind,
};
use foxwedge_testkit::{body, difference, gist};
use serde_json::{Value, json};

use super::{BOLD, list, lost, sent, shape, under};
use crate::support::{ids, value};

/// The profiles that own a format.
const OWNERS: [Profile; 6] = [
    Profile::OpenaiChat,
    Profile::OpenaiResponses,
    Profile::Anthropic,
    Profile::Gemini,
    Profile::Bedrock,
    Profile::GeminiInteractions,
];

#[test]
fn seed_001_scenario_1_a_complete_pair_becomes_a_complete_pair() {
    let input = json!([
        {"role": "assistant", "content": [{"type": "tool_use", "id": "tool_1", "name": "read_file", "input": {"path": "a"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "tool_1", "content": "..."}]}
    ]);
    let printed = json!([
        {"role": "assistant", "tool_calls": [{"id": "tool_1", "type": "function", "function": {"name": "read_file", "arguments": "{\"path\":\"a\"}"}}]},
        {"role": "tool", "tool_call_id": "tool_1", "content": "..."}
    ]);
    let converted = sent(Format::Anthropic, Profile::OpenaiChat, &input.to_string());
    assert_eq!(converted.body.matches("\"content\":\"\"").count(), 1);
    // The seed prints no text beside the calls; we say that there is none, since some servers ask.
    let mut messages = list(&converted);
    messages[0].as_object_mut().expect("a message").remove("content");
    assert_eq!(Value::Array(messages), printed);
    assert!(converted.losses.is_empty() && converted.renamed.is_empty());
    assert!(converted.source_edits.is_empty() && converted.target_edits.is_empty());
}

#[test]
fn seed_001_scenario_2_an_orphan_is_skipped_with_a_warning() {
    let input = json!([
        {"role": "user", "content": "Previous conversation..."},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "tool_1", "content": "..."}]}
    ]);
    let policy = Policy { orphans: OrphanPolicy::Drop, ..Policy::default() };
    let converted = under(Format::Anthropic, Profile::OpenaiChat, policy, &input.to_string());
    let printed = json!([{"role": "user", "content": "Previous conversation..."}]);
    assert_eq!(value(&converted.body), printed);
    let warned: Vec<_> =
        converted.source_edits.iter().map(|edit| (edit.code, &*edit.ids)).collect();
    assert_eq!(warned, [(102, &["tool_1".to_owned()][..])]);
}

#[test]
fn b1_8_each_unit_becomes_one_assistant_with_its_tool_messages_in_call_order_then_the_rest() {
    let input = json!([
        {"role": "user", "content": "Look at both."},
        {"role": "assistant", "content": [
            {"type": "text", "text": "Both."},
            {"type": "tool_use", "id": "x", "name": "look", "input": {"at": 1}},
            {"type": "tool_use", "id": "y", "name": "look", "input": {"at": 2}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "y", "content": "two"},
            {"type": "tool_result", "tool_use_id": "x", "content": "one"},
            {"type": "text", "text": "And now?"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "z", "name": "look", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "z", "content": "three"}]}
    ]);
    let call = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "look", "arguments": arguments}});
    let printed = json!([
        {"role": "user", "content": "Look at both."},
        {"role": "assistant", "content": "Both.", "tool_calls": [call("x", "{\"at\":1}"), call("y", "{\"at\":2}")]},
        {"role": "tool", "tool_call_id": "x", "content": "one"},
        {"role": "tool", "tool_call_id": "y", "content": "two"},
        {"role": "user", "content": "And now?"},
        {"role": "assistant", "content": "", "tool_calls": [call("z", "{}")]},
        {"role": "tool", "tool_call_id": "z", "content": "three"}
    ]);
    let converted = sent(Format::Anthropic, Profile::OpenaiChat, &input.to_string());
    assert_eq!(value(&converted.body), printed);
    assert!(converted.losses.is_empty());
}

#[test]
fn b1_9_orphans_and_open_calls_never_cross() {
    for from in Format::ALL {
        let document = body(from.name(), "u a[x y] r[x q] u");
        for profile in OWNERS {
            for (orphans, strategy) in
                [(OrphanPolicy::Quote, Strategy::Quote), (OrphanPolicy::Drop, Strategy::Drop)]
            {
                let policy = Policy { orphans, ..BOLD };
                let converted = under(from, profile, policy, &document);
                let edits = converted.source_edits.iter().chain(&converted.target_edits);
                let edits = edits.filter(|edit| edit.strategy == strategy);
                let told: Vec<&str> = edits.flat_map(|it| it.ids.iter().map(|id| &**id)).collect();
                assert_eq!(told, ["q"], "{:?}", converted.source_edits);
                let kept = converted.body.contains("result of q");
                assert_eq!(kept, orphans == OrphanPolicy::Quote, "{}", converted.body);
            }
            let ways = [
                (UnansweredPolicy::Answer, 2),
                (UnansweredPolicy::DropCall, 1),
                (UnansweredPolicy::DropTurn, 0),
            ];
            for (unanswered, count) in ways {
                let converted = under(from, profile, Policy { unanswered, ..BOLD }, &document);
                let (calls, answers) = ids(&list(&converted));
                assert_eq!((calls.len(), &calls), (count, &answers), "{}", converted.body);
            }
        }
    }
}

#[test]
fn b1_10_the_first_real_answer_crosses_and_beats_a_placeholder() {
    for from in Format::ALL {
        let twice = body(from.name(), "u a[x] r[x] r[x] u");
        let open = body(from.name(), "u a[x] u");
        for profile in OWNERS {
            let converted = sent(from, profile, &twice);
            assert_eq!(ids(&list(&converted)).1.len(), 1, "{}", converted.body);
            // The second is told as text, so that both are there.
            for text in ["result of x #3", "result of x #4"] {
                assert!(converted.body.contains(text), "{text}\n{}", converted.body);
            }
            // A placeholder that was written on the way goes when the real answer is there.
            let closed = sent(from, Profile::for_format(from), &open);
            let mut history = list(&closed);
            history.push(foxwedge_testkit::messages(from.name(), "u a[x] r[x]").remove(2));
            let late = sent(from, profile, &Value::Array(history).to_string());
            assert!(late.body.contains("result of x"), "{}", late.body);
            assert!(!late.body.contains("Interrupted"), "{}", late.body);
        }
        // Two calls of one id in a turn are two calls, each with its own answer.
        let same = body(from.name(), "u a[x x] r[x x] u");
        for profile in OWNERS {
            let converted = sent(from, profile, &same);
            let (calls, answers) = ids(&list(&converted));
            assert_eq!((calls.len(), answers.len()), (2, 2), "{}", converted.body);
            assert!(profile == Profile::Gemini || calls[0] != calls[1], "{}", converted.body);
        }
    }
}

/// Two answers, of which the first shows an image.
fn showing(from: Format) -> String {
    let image = match from {
        Format::OpenaiChat => return String::new(),
        Format::OpenaiResponses => {
            json!({"type": "input_image", "image_url": "data:image/png;base64,AAAA"})
        }
        Format::Anthropic => {
            json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}})
        }
        Format::Gemini => json!({"inlineData": {"mimeType": "image/png", "data": "AAAA"}}),
        Format::GeminiInteractions => {
            json!({"type": "image", "data": "AAAA", "mime_type": "image/png"})
        }
        Format::Bedrock => json!({"image": {"format": "png", "source": {"bytes": "AAAA"}}}),
    };
    let mut document = value(&body(from.name(), "u a[x y] r[x y] u"));
    let text = |kind: &str| json!({"type": kind, "text": "the picture"});
    let list = document.as_array_mut().expect("a list");
    let at = list.iter().position(|it| it.to_string().contains("result of x")).expect("it answers");
    match from {
        Format::OpenaiChat => {}
        Format::OpenaiResponses => list[at]["output"] = json!([text("input_text"), image]),
        Format::GeminiInteractions => list[at]["result"] = json!([text("text"), image]),
        Format::Anthropic => list[at]["content"][0]["content"] = json!([text("text"), image]),
        Format::Gemini => list[at]["parts"][0]["functionResponse"]["parts"] = json!([image]),
        Format::Bedrock => {
            list[at]["content"][0]["toolResult"]["content"] =
                json!([{"text": "the picture"}, image]);
        }
    }
    document.to_string()
}

#[test]
fn b1_11_images_in_answers_are_delivered() {
    for from in [Format::OpenaiResponses, Format::Anthropic, Format::Gemini, Format::Bedrock] {
        for profile in OWNERS {
            let converted = sent(from, profile, &showing(from));
            assert_eq!(converted.body.matches("AAAA").count(), 1, "{}", converted.body);
            assert!(!lost(&converted).contains(&LossKind::Media));
        }
        // Where an answer cannot hold it, the next message of the user does.
        let chat = sent(from, Profile::OpenaiChat, &showing(from));
        assert_eq!(shape(&chat), "u a[x y] r[x y] u+m u", "{}", chat.body);
    }
}

#[test]
fn b1_12_anthropic_to_openai_and_back_keeps_ids_order_names_arguments_and_text() {
    let input = json!({"model": "claude-sonnet-4-5", "max_tokens": 100, "system": "Be brief.", "messages": [
        {"role": "user", "content": [{"type": "text", "text": "One."}, {"type": "text", "text": "Two."}]},
        {"role": "assistant", "content": [
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "toolu_01A", "name": "look", "input": {"deep": {"n": 1.50, "list": [null, true]}}},
            {"type": "tool_use", "id": "toolu_01B", "name": "look", "input": {"deep": {"n": 1.50, "list": [null, true]}}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_01A", "content": "a"},
            {"type": "tool_result", "tool_use_id": "toolu_01B", "content": [{"type": "text", "text": "b"}]},
            {"type": "text", "text": "Go on."}]},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "Thanks."}
    ]});
    let there = sent(Format::Anthropic, Profile::OpenaiChat, &input.to_string());
    assert_eq!(there.losses, [], "{}", there.body);
    let options =
        ConversionOptions { restored_ids: there.renamed.clone(), ..ConversionOptions::default() };
    let back =
        request(&there.body, Format::OpenaiChat, Format::Anthropic, &options).expect("it reads");
    let (old, new) = (gist("anthropic", &input), gist("anthropic", &value(&back.body)));
    assert_eq!(difference(&old, &new), None, "{}", back.body);
    assert_eq!(list(&back).len(), 5, "{}", back.body);
}

#[test]
fn b1_13_ids_are_mapped_on_both_sides_alike_never_collide_and_come_back() {
    let wild = ["a.b", "a:b", "a_b", "a b", "a|b", "abcdefghij1", "abcdefghij2", "é", "e\u{301}"];
    let long = "x".repeat(80);
    let mut names: Vec<&str> = wild.to_vec();
    names.push(&long);
    let calls: Vec<Value> = names
        .iter()
        .map(|id| json!({"functionCall": {"id": id, "name": "f", "args": {}}}))
        .collect();
    let answers: Vec<Value> = names
        .iter()
        .map(|id| json!({"functionResponse": {"id": id, "name": "f", "response": {"output": id}}}))
        .collect();
    // Gemini takes every id, and hands it back.
    let document = json!([
        {"role": "user", "parts": [{"text": "Go."}]},
        {"role": "model", "parts": calls},
        {"role": "user", "parts": answers}
    ])
    .to_string();
    for profile in Profile::ALL {
        let converted = sent(Format::Gemini, profile, &document);
        let (calls, answers) = ids(&list(&converted));
        assert_eq!(calls, answers, "{}", converted.body);
        let mut unique = calls.clone();
        unique.sort();
        unique.dedup();
        assert_eq!(unique.len(), names.len(), "{calls:?}");
        for (old, new) in names.iter().zip(&calls) {
            let told = converted.renamed.iter().find(|renamed| renamed.new == *new);
            assert_eq!(told.map_or(new, |renamed| &renamed.old), old);
        }
    }
}

#[test]
fn b1_14_reasoning_stays_where_it_is_needed_and_foreign_signatures_go() {
    let document = json!([
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "I must look.", "signature": "c2lnbmVk"},
            {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "seen"}]}
    ])
    .to_string();
    // Deepseek wants the reasoning behind a call; its signature means nothing there.
    let deepseek = sent(Format::Anthropic, Profile::Deepseek, &document);
    assert_eq!(list(&deepseek)[1]["reasoning_content"], "I must look.", "{}", deepseek.body);
    assert_eq!(lost(&deepseek), [LossKind::Signature]);
    // The same model signs at Bedrock.
    let bedrock = sent(Format::Anthropic, Profile::Bedrock, &document);
    assert_eq!(
        list(&bedrock)[1]["content"][0],
        json!({"reasoningContent": {"reasoningText": {"text": "I must look.", "signature": "c2lnbmVk"}}})
    );
    assert_eq!(lost(&bedrock), []);
    for profile in [Profile::OpenaiChat, Profile::OpenaiResponses, Profile::Gemini] {
        let converted = sent(Format::Anthropic, profile, &document);
        assert!(!converted.body.contains("c2lnbmVk"), "{}", converted.body);
        assert_eq!(lost(&converted), [LossKind::Reasoning]);
        assert_eq!(shape(&converted), "u a[toolu_1] r[toolu_1]", "{}", converted.body);
    }
}

#[test]
fn b1_15_tools_as_text_leave_no_call_and_no_answer() {
    for from in Format::ALL {
        let document = body(from.name(), "s u a\"so\"[x y] r[y x] u a");
        for profile in Profile::ALL {
            let options = ConversionOptions {
                profile: Some(profile),
                policy: BOLD,
                tools: ToolNotation::Text,
                ..ConversionOptions::default()
            };
            let to = foxwedge_testkit::laws::conversion::target(profile);
            let told = request(&document, from, to, &options).expect("it can be read");
            let shape = shape(&told);
            assert!(!shape.contains('['), "{shape}\n{}", told.body);
            for text in ["result of x", "result of y", "so"] {
                assert!(told.body.contains(text), "{text}\n{}", told.body);
            }
        }
    }
}

#[test]
fn text_beside_something_unknown_is_kept_whatever_the_role_of_its_message() {
    let unknown = json!({"type": "hologram", "x": 1});
    for role in [json!(1), json!("robot")] {
        let chat = json!([{"role": role, "content": [{"type": "text", "text": "asks"}, unknown]}]);
        let gemini = json!([{"role": role, "parts": [{"text": "asks"}, unknown]}]);
        for (from, to, document) in [
            (Format::OpenaiChat, Profile::Anthropic, &chat),
            (Format::Anthropic, Profile::OpenaiChat, &chat),
            (Format::Gemini, Profile::OpenaiChat, &gemini),
        ] {
            let converted = sent(from, to, &document.to_string());
            assert!(converted.body.contains("asks"), "{document} {}", converted.body);
            assert_eq!(lost(&converted), [LossKind::Unknown], "{document}");
        }
    }
}
