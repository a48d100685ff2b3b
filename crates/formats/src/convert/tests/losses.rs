//! What a conversion moves, turns into text or leaves out is listed; what it can keep is kept.

use super::*;
use crate::{
    convert::response,
    model::{Loss, LossKind},
};
use foxwedge_core::PlaceholderLanguage;

fn notes(losses: &[Loss]) -> Vec<(LossKind, &str)> {
    losses.iter().map(|loss| (loss.kind, loss.note.as_str())).collect()
}

/// The texts of Chat messages.
fn texts(body: &Value) -> Vec<String> {
    let text = |content: &Value| match content {
        Value::Array(blocks) => {
            blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        content => content.as_str().unwrap_or_default().to_owned(),
    };
    let messages = body["messages"].as_array().expect("messages");
    messages.iter().map(|message| text(&message["content"])).collect()
}

#[test]
fn a_message_without_a_role_that_names_its_type_or_call_is_listed_as_lost() {
    let user = json!({"role": "user", "content": "q"});
    for message in
        [json!({"type": "ai", "content": "a"}), json!({"content": "deleted", "tool_call_id": "c1"})]
    {
        let source = json!([user, message]).to_string();
        let options = ConversionOptions::default();
        let done = request(&source, Format::OpenaiChat, Format::Anthropic, &options);
        let done = done.expect("readable");
        let kinds: Vec<LossKind> = done.losses.iter().map(|loss| loss.kind).collect();
        assert!(kinds.contains(&LossKind::Unknown), "{source}: {}", done.body);
    }
}

/// A history with one call, as Chat writes it.
fn called(call: &Value) -> Value {
    json!([
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "done"}])
}

#[test]
fn calls_with_name_and_arguments_as_fields_of_their_own_keep_them() {
    let arguments = json!({"p": "a.txt"});
    let text = arguments.to_string();
    let table = [
        json!({"id": "c1", "type": "tool_call", "name": "rm", "args": arguments}),
        json!({"id": "c1", "name": "rm", "arguments": text}),
        json!({"id": "c1", "type": "function", "name": "rm", "arguments": arguments}),
        json!({"id": "c1", "type": "function", "function": null, "name": "rm", "args": text}),
    ];
    for call in table {
        let source = called(&call);
        let (body, done) = converted(&source, Format::OpenaiChat, Format::Anthropic);
        let expected = json!({"type": "tool_use", "id": "c1", "name": "rm", "input": arguments});
        assert_eq!(body[1]["content"], json!([expected]), "{source}");
        assert_eq!(notes(&done.losses), [], "{source}");

        let source = source.to_string();
        let profile = foxwedge_core::Profile::OpenaiChat;
        let document = crate::read(&source, Format::OpenaiChat, crate::outline_options(profile));
        let document = document.expect("readable");
        let (fixed, _) = document.fix(&foxwedge_core::CheckOptions::for_profile(profile));
        let fixed: Value = serde_json::from_str(&fixed.to_string()).expect("JSON");
        let expected = json!({"id": "c1", "type": "function",
            "function": {"name": "rm", "arguments": text}});
        assert_eq!(fixed[1]["tool_calls"], json!([expected]), "{source}");
    }
}

#[test]
fn unknown_fields_of_a_call_are_listed_as_lost() {
    let function = json!({"name": "f", "arguments": "{}", "strict": true});
    let table = [
        (json!({"id": "c1", "type": "mcp", "mcp": {"name": "f"}}), "mcp"),
        (json!({"id": "c1", "type": "function", "function": function}), "strict"),
        (json!({"id": "c1", "name": "f", "arguments": "{}", "server": "s"}), "server"),
    ];
    for (call, field) in table {
        let (body, done) = converted(&called(&call), Format::OpenaiChat, Format::Anthropic);
        let note = format!("the field `{field}` is not supported in this format");
        assert_eq!(notes(&done.losses), [(LossKind::Unknown, &*note)], "{body}");
    }
}

/// Two results of one tool came in another order than its calls: without ids, a model would take
/// one for the other.
#[test]
fn results_of_parallel_calls_name_their_calls_when_tools_are_text() {
    let call = |id: &str, city: &str| {
        let arguments = json!({ "city": city }).to_string();
        json!({"id": id, "type": "function",
            "function": {"name": "weather", "arguments": arguments}})
    };
    let result =
        |id: &str, text: &str| json!({"role": "tool", "tool_call_id": id, "content": text});
    let options = ConversionOptions { tools: ToolNotation::Text, ..ConversionOptions::default() };
    let body = |results: [Value; 2]| {
        let [first, second] = results;
        let source = json!({"messages": [
            {"role": "user", "content": "Q"},
            {"role": "assistant", "content": null, "tool_calls": [call("a", "Oslo"), call("b", "Cairo")]},
            first, second]});
        let chat = Format::OpenaiChat;
        let done = request(&source.to_string(), chat, chat, &options).expect("readable");
        texts(&serde_json::from_str(&done.body).expect("JSON"))[1..].join("\n")
    };
    assert_eq!(
        body([result("b", "38"), result("a", "-5")]),
        "<tool_call name=\"weather\" id=\"a\">\n{\"city\":\"Oslo\"}\n</tool_call>\n\
         <tool_call name=\"weather\" id=\"b\">\n{\"city\":\"Cairo\"}\n</tool_call>\n\
         <tool_result name=\"weather\" id=\"b\">\n38\n</tool_result>\n\
         <tool_result name=\"weather\" id=\"a\">\n-5\n</tool_result>"
    );
    let in_order = body([result("a", "-5"), result("b", "38")]);
    assert!(!in_order.contains(" id="), "{in_order}");
}

#[test]
fn late_result_that_is_moved_before_other_messages_is_listed() {
    let call = json!({"type": "function_call", "call_id": "a", "name": "deploy", "arguments": "{}",
        "async": false});
    let result = json!({"type": "function_call_output", "call_id": "a", "output": "DEPLOYED"});
    let said = |role: &str, text: &str| json!({"role": role, "content": text});
    let late = json!([
        said("user", "Q"),
        call,
        said("user", "is it done?"),
        said("assistant", "not yet"),
        result
    ]);
    let in_place = json!([said("user", "Q"), call, result, said("user", "is it done?")]);
    let targets = Format::ALL.into_iter().filter(|to| *to != Format::OpenaiResponses);
    let moved =
        (LossKind::Order, "a late result is moved to its call, before messages that came first");
    for to in targets {
        let (body, done) = converted(&late, Format::OpenaiResponses, to);
        assert_eq!(notes(&done.losses), [moved], "{to:?}: {body}");
        let (_, done) = converted(&in_place, Format::OpenaiResponses, to);
        assert_eq!(notes(&done.losses), [], "{to:?}");
    }
    for to in crate::ai_sdk::AiSdkList::ALL {
        let list = |source: &Value| {
            let options = ConversionOptions::default();
            message_list(&source.to_string(), Format::OpenaiResponses, to, &options)
                .expect("readable")
        };
        assert_eq!(notes(&list(&late).losses), [moved], "{to:?}");
        assert_eq!(notes(&list(&in_place).losses), [], "{to:?}");
    }
}

/// The summary is all that is left of the messages before it.
#[test]
fn summary_in_a_compaction_block_becomes_text() {
    let block = json!({"type": "compaction", "content": "SUMMARY: never touch the lock file"});
    let source = json!({"model": "m", "messages": [
        {"role": "assistant", "content": [block]},
        {"role": "user", "content": "go on"}]});
    for to in Format::ALL.into_iter().filter(|to| *to != Format::Anthropic) {
        let (body, done) = converted(&source, Format::Anthropic, to);
        assert!(body.to_string().contains("never touch the lock file"), "{to:?}: {body}");
        let becomes_text = (LossKind::Unknown, "a summary of earlier messages becomes plain text");
        assert_eq!(notes(&done.losses), [becomes_text], "{to:?}");
    }
    let (body, _) = converted(&source, Format::Anthropic, Format::OpenaiChat);
    let expected = "[foxwedge] Summary of earlier messages:\n\nSUMMARY: never touch the lock file\
                    \n\n[foxwedge] End of summary.";
    assert!(texts(&body).iter().any(|text| text == expected), "{body}");
    // Its own format keeps the block, also when the request is written anew.
    let options =
        ConversionOptions { model: Some("other".to_owned()), ..ConversionOptions::default() };
    let own = Format::Anthropic;
    let done = request(&source.to_string(), own, own, &options).expect("readable");
    let body: Value = serde_json::from_str(&done.body).expect("JSON");
    assert!(body.to_string().contains(&block.to_string()), "{body}");
    assert_eq!(notes(&done.losses), []);
}

#[test]
fn result_that_names_its_tool_and_no_call_is_quoted_with_the_name() {
    let source = json!([
        {"role": "user", "content": "Q"},
        {"type": "function_call_output", "name": "notify", "namespace": "ns", "output": "SENT"}]);
    let (body, done) = converted(&source, Format::OpenaiResponses, Format::OpenaiChat);
    let quoted = "[foxwedge] Answer of the tool notify, whose call is not in this history:\nSENT";
    assert!(body.to_string().contains(&quoted.replace('\n', "\\n")), "{body}");
    assert!(done.renamed.is_empty() && done.target_edits.is_empty(), "{done:?}");
    assert_eq!(
        notes(&done.losses),
        [
            (LossKind::Unknown, "a result without its call becomes text of the user"),
            (LossKind::Unknown, "the field `namespace` is not supported in this format"),
        ]
    );
    let mut options = ConversionOptions::default();
    options.policy.language = PlaceholderLanguage::Chinese;
    let chat = Format::OpenaiChat;
    let done = request(&source.to_string(), Format::OpenaiResponses, chat, &options);
    assert!(done.expect("readable").body.contains("工具 notify 的结果"));
}

#[test]
fn reply_in_its_own_format_stays_as_it_is() {
    let source = json!({"id": "resp_1", "object": "response", "created_at": 1,
        "status": "completed", "model": "m", "output": [
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
             "phase": "commentary", "content": [
                {"type": "output_text", "text": "T", "annotations": [], "logprobs": []}]}]});
    let own = Format::OpenaiResponses;
    let source = source.to_string();
    let done = response(&source, own, own, &ConversionOptions::default()).expect("readable");
    assert_eq!((done.body.as_str(), notes(&done.losses)), (source.as_str(), Vec::new()));
    let options =
        ConversionOptions { model: Some("other".to_owned()), ..ConversionOptions::default() };
    let done = response(&source, own, own, &options).expect("readable");
    assert_eq!(notes(&done.losses), [(LossKind::Unknown, "`phase` is left out")]);
}

#[test]
fn media_in_a_document_of_blocks_is_kept() {
    let image = |data: &str| json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}});
    let document = |data: &str| {
        let content = json!([{"type": "text", "text": "see"}, image(data)]);
        json!({"type": "document", "source": {"type": "content", "content": content}})
    };
    let source = json!([
        {"role": "user", "content": [document("aGkx"), {"type": "text", "text": "q"}]},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1",
            "content": [document("aGky")]}]},
    ]);
    for to in Format::ALL {
        let (body, done) = converted(&source, Format::Anthropic, to);
        let text = body.to_string();
        for data in ["aGkx", "aGky"] {
            assert_eq!(text.matches(data).count(), 1, "{text}");
        }
        assert_eq!(notes(&done.losses), [], "{text}");
        if to == Format::Anthropic {
            assert_eq!(body, source);
        }
    }
}

#[test]
fn a_search_result_keeps_its_source_and_safety_checks_are_listed_as_lost() {
    let found = json!({"type": "search_result", "source": "https://s.example", "title": "T",
        "content": [{"type": "text", "text": "so"}]});
    let source = json!([{"role": "user", "content": [found, {"type": "text", "text": "q"}]}]);
    let (body, _) = converted(&source, Format::Anthropic, Format::OpenaiChat);
    assert_eq!(body[0]["content"][0]["text"], "T (https://s.example):\n\nso");

    let check = json!({"id": "s", "code": "malicious_instructions", "message": "m"});
    let source = json!([
        {"type": "message", "role": "user", "content": "q"},
        {"type": "computer_call", "id": "cu_1", "call_id": "c", "status": "completed",
            "action": {"type": "screenshot"}, "pending_safety_checks": [check]},
        {"type": "computer_call_output", "call_id": "c", "output": {
            "type": "computer_screenshot", "image_url": "data:image/png;base64,aGk="}},
    ]);
    let (_, done) = converted(&source, Format::OpenaiResponses, Format::Anthropic);
    let note = "the field `pending_safety_checks` is not supported in this format";
    assert!(notes(&done.losses).contains(&(LossKind::Unknown, note)), "{:?}", done.losses);
}

#[test]
fn no_note_about_media_stays_in_a_result_that_has_its_media_again() {
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}});
    let text = json!({"type": "text", "text": "REAL"});
    for content in [json!([text, image]), json!([image, text]), json!([text, image, text, image])] {
        let source = json!([
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": content}]},
        ]);
        let (gemini, done) = converted(&source, Format::Anthropic, Format::Gemini);
        let options =
            ConversionOptions { restored_ids: done.renamed, ..ConversionOptions::default() };
        let back = request(&gemini.to_string(), Format::Gemini, Format::Anthropic, &options);
        let back: Value = serde_json::from_str(&back.expect("readable").body).expect("JSON");
        assert_eq!(back[2]["content"][0]["content"], content, "{gemini}");
    }
}
