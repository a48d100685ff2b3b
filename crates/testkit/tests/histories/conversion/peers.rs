//! Conformance cases of other systems that concern conversion. Where we differ on purpose, the test
//! asserts ours and says why.

use foxwedge_core::{Format, OrphanPolicy, Policy, Profile, UnansweredPolicy};
use foxwedge_formats::{
    convert::{ConversionOptions, request},
    model::LossKind,
};
use foxwedge_testkit::{body, difference, gist};
use serde_json::{Value, json};

use super::{BOLD, list, lost, sent, shape, under};
use crate::support::{ids, value};

#[test]
fn t26_calls_without_ids_get_ids_that_pair_by_occurrence() {
    let document = body("gemini", "u a[x y] r[x y] u");
    let document = document.replace("\"id\":\"x\",", "").replace("\"id\":\"y\",", "");
    assert!(!document.contains("\"id\""), "{document}");
    for profile in [Profile::OpenaiChat, Profile::OpenaiResponses, Profile::Anthropic] {
        let converted = sent(Format::Gemini, profile, &document);
        let (calls, answers) = ids(&list(&converted));
        assert_eq!(calls, answers, "{}", converted.body);
        assert!(calls[0] != calls[1] && !calls[0].is_empty());
        let place = |text: &str| converted.body.find(text).expect("it is there");
        assert!(place("result of x") < place("result of y"));
        assert_eq!(converted.renamed.len(), 2);
    }
}

#[test]
fn t27_an_id_of_446_characters_is_short_for_responses_and_comes_back() {
    let (one, other) = (format!("{}1", "f".repeat(445)), format!("{}2", "f".repeat(445)));
    let document = body("anthropic", "u a[x y] r[x y] u");
    let document =
        document.replace("\"x\"", &format!("\"{one}\"")).replace("\"y\"", &format!("\"{other}\""));
    let there = sent(Format::Anthropic, Profile::OpenaiResponses, &document);
    let (calls, answers) = ids(&list(&there));
    assert_eq!(calls, answers);
    assert!(calls.iter().all(|id| id.len() <= 64) && calls[0] != calls[1], "{calls:?}");
    let options =
        ConversionOptions { restored_ids: there.renamed.clone(), ..ConversionOptions::default() };
    let back = request(&there.body, Format::OpenaiResponses, Format::Anthropic, &options)
        .expect("it reads");
    assert_eq!(ids(&list(&back)).0, [one, other]);
}

#[test]
fn t28_ids_for_mistral_have_nine_characters_and_do_not_collide() {
    let names: Vec<String> = (0..60).map(|n| format!("toolu_abcdefghi_{n}")).collect();
    let document = body("anthropic", &format!("u a[{0}] r[{0}] u", names.join(" ")));
    let converted = sent(Format::Anthropic, Profile::Mistral, &document);
    let (mut calls, answers) = ids(&list(&converted));
    assert_eq!(calls, answers);
    assert!(calls.iter().all(|id| id.len() == 9 && id.chars().all(|c| c.is_ascii_alphanumeric())));
    calls.sort();
    calls.dedup();
    assert_eq!(calls.len(), 60);
}

#[test]
fn t29_composite_ids_that_share_their_first_half_stay_two_ids() {
    let document =
        body("openai-responses", "u a[call_x|fc_1 call_x|fc_2] r[call_x|fc_1 call_x|fc_2]");
    for profile in Profile::ALL {
        let converted = sent(Format::OpenaiResponses, profile, &document);
        let (calls, answers) = ids(&list(&converted));
        assert_eq!(calls, answers, "{}", converted.body);
        assert_ne!(calls[0], calls[1]);
    }
}

#[test]
fn t30_two_parallel_calls_of_one_tool_stay_two_calls_with_two_answers_for_gemini() {
    for from in Format::ALL {
        // The shapes name their tools by the id; here both have one name, and the same arguments.
        let document = body(from.name(), "u a[x y] r[x y] u");
        let document = document.replace("tool_y", "tool_x").replace("of_y", "of_x");
        let converted = sent(from, Profile::Gemini, &document);
        let contents = list(&converted);
        let count = |key: &str| converted.body.matches(key).count();
        assert_eq!((count("functionCall\""), count("functionResponse\"")), (2, 2), "{contents:?}");
        // What Gemini's own format keeps apart stays apart.
        let shapes = ["u a[x y] r[x y]+u", "u a[x y] r[x y] u"];
        assert!(shapes.contains(&&*shape(&converted)), "{}", converted.body);
    }
}

#[test]
fn t31_answers_in_messages_of_their_own_become_one_turn_for_gemini() {
    for from in [Format::OpenaiChat, Format::OpenaiResponses, Format::Anthropic, Format::Bedrock] {
        let document = body(from.name(), "u a[x y z] r[x] r[y] r[z]");
        let converted = sent(from, Profile::Gemini, &document);
        assert_eq!(shape(&converted), "u a[x y z] r[x y z]", "{}", converted.body);
    }
}

#[test]
fn t54_what_a_format_cannot_show_is_said_and_the_pair_stays() {
    // An image at an address: Bedrock fetches nothing.
    let document = json!([
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "x", "name": "look", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": [
            {"type": "image", "source": {"type": "url", "url": "https://a.example/b.png"}}]}]}
    ])
    .to_string();
    let converted = sent(Format::Anthropic, Profile::Bedrock, &document);
    assert_eq!(shape(&converted), "u a[x] r[x~]", "{}", converted.body);
    assert_eq!(lost(&converted), [LossKind::Media]);
    let text = &list(&converted)[2]["content"][0]["toolResult"]["content"][0]["text"];
    assert_eq!(text, "[foxwedge] An image was left out: this format cannot hold it.");
}

#[test]
fn t55_all_tool_messages_stand_before_the_message_that_shows_their_images() {
    let image = |data: &str| json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}});
    let document = json!([
        {"role": "user", "content": "Look twice."},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "x", "name": "look", "input": {}},
            {"type": "tool_use", "id": "y", "name": "look", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "x", "content": [image("AAAA")]},
            {"type": "tool_result", "tool_use_id": "y", "content": [{"type": "text", "text": "two"}, image("BBBB")]}]}
    ])
    .to_string();
    let converted = sent(Format::Anthropic, Profile::OpenaiChat, &document);
    assert_eq!(shape(&converted), "u a[x y] r[x y] u+m+u+m", "{}", converted.body);
    let shown = &list(&converted)[4]["content"];
    let heading = |id: &str| format!("[foxwedge] Media from the answer to tool call {id}:");
    assert_eq!(shown[0]["text"], heading("x"));
    assert_eq!(shown[1]["image_url"]["url"], "data:image/png;base64,AAAA");
    assert_eq!(shown[2]["text"], heading("y"));
    assert_eq!(shown[3]["image_url"]["url"], "data:image/png;base64,BBBB");
}

#[test]
fn t56_an_answer_that_is_dropped_takes_what_it_shows_with_it() {
    let document = json!([
        {"role": "user", "content": "Look."},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "gone", "content": [
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}]}]}
    ])
    .to_string();
    let policy = Policy { orphans: OrphanPolicy::Drop, ..BOLD };
    for profile in Profile::ALL {
        let converted = under(Format::Anthropic, profile, policy, &document);
        assert!(!converted.body.contains("AAAA"), "{}", converted.body);
        assert!(!converted.body.contains("Media from"), "{}", converted.body);
    }
}

#[test]
fn t69_calls_that_are_items_become_one_assistant_message() {
    let document = body("openai-responses", "u a[x y z] r[x y z] u");
    let converted = sent(Format::OpenaiResponses, Profile::OpenaiChat, &document);
    let roles: Vec<String> =
        list(&converted).iter().map(|it| it["role"].as_str().unwrap_or("").to_owned()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool", "tool", "user"]);
    assert_eq!(list(&converted)[1]["tool_calls"].as_array().map(Vec::len), Some(3));
}

#[test]
fn t70_tool_messages_become_one_user_message() {
    let document = body("openai-chat", "u a[x y z] r[x y z] u");
    let converted = sent(Format::OpenaiChat, Profile::Anthropic, &document);
    let messages = list(&converted);
    assert_eq!(shape(&converted), "u a[x y z] r[x y z]+u", "{}", converted.body);
    assert_eq!(messages.len(), 3);
}

#[test]
fn t71_there_and_back_is_equal_and_ids_are_restored() {
    for from in Format::ALL {
        let document = body(from.name(), "u a\"so\"[x y] r[x y] a u a[z] r[z] a u");
        let before = gist(from.name(), &value(&document));
        for profile in Profile::ALL {
            let there = sent(from, profile, &document);
            let to = foxwedge_testkit::laws::conversion::target(profile);
            let options = ConversionOptions {
                restored_ids: there.renamed.clone(),
                policy: BOLD,
                ..ConversionOptions::default()
            };
            let back = request(&there.body, to, from, &options).expect("it reads");
            let after = gist(from.name(), &value(&back.body));
            assert_eq!(difference(&before, &after), None, "{}\n{}", there.body, back.body);
        }
    }
}

#[test]
fn an_open_call_at_the_end_of_a_cut_history_is_answered_or_goes() {
    let document = body("openai-chat", "u a[x] r[x] a[y]");
    let answered = sent(Format::OpenaiChat, Profile::Anthropic, &document);
    assert_eq!(shape(&answered), "u a[x] r[x] a[y] r[y~]");
    let policy = Policy { unanswered: UnansweredPolicy::DropTurn, ..BOLD };
    let gone = under(Format::OpenaiChat, Profile::Anthropic, policy, &document);
    assert_eq!(shape(&gone), "u a[x] r[x]");
    let _: Vec<Value> = list(&gone);
}
