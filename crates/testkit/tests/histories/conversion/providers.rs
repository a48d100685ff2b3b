//! What other converters get wrong, measured, and what single providers ask for.

use foxwedge_core::{Format, Policy, Profile};
use foxwedge_formats::{
    convert::{ConversionOptions, request},
    model::LossKind,
};
use foxwedge_testkit::body;
use serde_json::{Value, json};

use super::{BOLD, list, lost, sent, shape, under};
use crate::support::ids;

/// One chat call, with its answer.
fn called(id: &str, arguments: &str) -> String {
    json!([
        {"role": "user", "content": "Get it."},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": id, "type": "function", "function": {"name": "get", "arguments": arguments}}]},
        {"role": "tool", "tool_call_id": id, "content": "got"},
        {"role": "user", "content": "And?"}
    ])
    .to_string()
}

#[test]
fn orphans_and_dangling_calls_do_not_reach_any_provider() {
    for profile in Profile::ALL {
        let orphan = sent(Format::OpenaiChat, profile, &body("openai-chat", "u r[x] u"));
        assert_eq!(ids(&list(&orphan)), (vec![], vec![]), "{}", orphan.body);
        assert!(orphan.body.contains("result of x"));
        let dangling = sent(Format::OpenaiChat, profile, &body("openai-chat", "u a[x] u"));
        let (calls, answers) = ids(&list(&dangling));
        assert_eq!((calls.len(), calls), (1, answers), "{}", dangling.body);
    }
}

#[test]
fn an_id_with_dots_and_colons_is_taken_by_every_provider() {
    for profile in Profile::ALL {
        let converted = sent(Format::OpenaiChat, profile, &called("functions.get:0", "{}"));
        let (calls, answers) = ids(&list(&converted));
        assert_eq!(calls, answers);
        let stays = matches!(
            profile,
            Profile::OpenaiChat
                | Profile::OpenaiResponses
                | Profile::Gemini
                | Profile::Bedrock
                | Profile::GeminiInteractions
                | Profile::Deepseek
        );
        assert_eq!(calls[0] == "functions.get:0", stays, "{} {calls:?}", profile.name());
        assert_eq!(converted.renamed.is_empty(), stays);
    }
}

#[test]
fn broken_arguments_are_mended_and_told_where_an_object_is_wanted() {
    let table = [
        ("{\"path\": \"a\", \"text\": \"half", json!({"path": "a", "text": "half"})),
        ("[1,2]", json!({"value": [1, 2]})),
        ("not json", json!({"value": "not json"})),
    ];
    for (arguments, expected) in table {
        let converted = sent(Format::OpenaiChat, Profile::Anthropic, &called("x", arguments));
        assert_eq!(list(&converted)[1]["content"][0]["input"], expected, "{arguments}");
        assert_eq!(lost(&converted), [LossKind::Arguments]);
        // Where arguments are a string, the model's own words stay.
        let items = sent(Format::OpenaiChat, Profile::OpenaiResponses, &called("x", arguments));
        assert_eq!(list(&items)[1]["arguments"], arguments);
        assert_eq!(lost(&items), []);
    }
    let empty = sent(Format::OpenaiChat, Profile::Anthropic, &called("x", ""));
    assert_eq!(list(&empty)[1]["content"][0]["input"], json!({}));
    assert_eq!(lost(&empty), []);
}

#[test]
fn two_identical_parallel_calls_stay_two_everywhere() {
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "toss", "arguments": "{}"}});
    let document = json!([
        {"role": "user", "content": "Toss two coins."},
        {"role": "assistant", "content": null, "tool_calls": [call("a"), call("b")]},
        {"role": "tool", "tool_call_id": "a", "content": "heads"},
        {"role": "tool", "tool_call_id": "b", "content": "tails"}
    ])
    .to_string();
    for profile in Profile::ALL {
        let converted = sent(Format::OpenaiChat, profile, &document);
        let (calls, answers) = ids(&list(&converted));
        assert_eq!((calls.len(), &calls), (2, &answers), "{}", converted.body);
        let place = |text: &str| converted.body.find(text).expect("it is there");
        assert!(place("heads") < place("tails"));
    }
}

#[test]
fn gemini_3_gets_the_bypass_signature_where_it_asks_for_one() {
    let list_of = body("openai-chat", "u a[x y] r[x y]");
    let messages: Value = serde_json::from_str(&list_of).expect("it is JSON");
    let document = json!({"model": "gemini-3-pro-preview", "messages": messages}).to_string();
    let converted = sent(Format::OpenaiChat, Profile::Gemini, &document);
    let signed: Vec<bool> = list(&converted)[1]["parts"]
        .as_array()
        .expect("the calls")
        .iter()
        .map(|part| part.get("thoughtSignature").is_some())
        .collect();
    assert_eq!(signed, [true, false], "{}", converted.body);
    assert_eq!(converted.target_edits.iter().map(|edit| edit.code).collect::<Vec<_>>(), [502]);
    // Who names the model of the target on the way gets the same.
    let options = ConversionOptions {
        policy: BOLD,
        model: Some("gemini-3-pro-preview".to_owned()),
        ..ConversionOptions::default()
    };
    let plain = json!({"model": "gpt-5", "messages": messages}).to_string();
    let named = request(&plain, Format::OpenaiChat, Format::Gemini, &options).expect("it reads");
    assert_eq!(named.body, converted.body);
    // Older models ask for none.
    let old = document.replace("gemini-3-pro-preview", "gemini-2.5-flash");
    assert!(sent(Format::OpenaiChat, Profile::Gemini, &old).target_edits.is_empty());
}

#[test]
fn a_signature_of_gemini_stays_in_gemini_and_is_told_elsewhere() {
    let document = json!([
        {"role": "user", "parts": [{"text": "Go."}]},
        {"role": "model", "parts": [{"functionCall": {"id": "x", "name": "look", "args": {}}, "thoughtSignature": "c2lnbmVk"}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "x", "name": "look", "response": {"output": "seen"}}}]}
    ])
    .to_string();
    let same = sent(Format::Gemini, Profile::Gemini, &document);
    assert!(same.body.contains("c2lnbmVk") && same.losses.is_empty());
    for profile in [Profile::OpenaiResponses, Profile::Anthropic, Profile::Bedrock] {
        let converted = sent(Format::Gemini, profile, &document);
        assert!(!converted.body.contains("c2lnbmVk"), "{}", converted.body);
        assert_eq!(lost(&converted), [LossKind::Signature]);
    }
}

#[test]
fn mistral_gets_a_bridge_between_answer_and_user_and_nobody_else_does() {
    let document = body("anthropic", "u a[call00001] r[call00001] u a");
    let bridged = sent(Format::Anthropic, Profile::Mistral, &document);
    assert_eq!(shape(&bridged), "u a[call00001] r[call00001] a u a", "{}", bridged.body);
    assert!(bridged.body.contains("Understood."));
    let plain = sent(Format::Anthropic, Profile::OpenaiChat, &document);
    assert_eq!(shape(&plain), "u a[call00001] r[call00001] u a", "{}", plain.body);
}

#[test]
fn deepseek_gets_reasoning_beside_its_calls() {
    let document = json!({"model": "deepseek-reasoner", "input": [
        {"role": "user", "content": "Go."},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "I must look."}], "encrypted_content": "c2VhbA=="},
        {"type": "function_call", "call_id": "x", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "x", "output": "seen"},
        {"type": "function_call", "call_id": "y", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "y", "output": "seen"}
    ]})
    .to_string();
    let converted = sent(Format::OpenaiResponses, Profile::Deepseek, &document);
    let thoughts: Vec<Value> = list(&converted)
        .iter()
        .filter(|message| message["role"] == "assistant")
        .map(|message| message["reasoning_content"].clone())
        .collect();
    // The second call came without any; the field has to be there.
    assert_eq!(thoughts, [json!("I must look."), json!("")], "{}", converted.body);
}

#[test]
fn nothing_is_said_for_the_user_unless_it_is_allowed() {
    let document = json!({"model": "m", "messages": serde_json::from_str::<Value>(&body("openai-chat", "u a")).expect("JSON")}).to_string();
    let shy = under(Format::OpenaiChat, Profile::Gemini, BOLD, &document);
    assert!(shy.remaining.is_empty() && shy.body.contains("Continue."), "{}", shy.body);
    let options = ConversionOptions { policy: Policy::default(), ..ConversionOptions::default() };
    let asked = request(&document, Format::OpenaiChat, Format::Gemini, &options).expect("it reads");
    assert!(!asked.body.contains("Continue."), "{}", asked.body);
    assert_eq!(asked.remaining.iter().map(|finding| finding.rule.code).collect::<Vec<_>>(), [403]);
}
