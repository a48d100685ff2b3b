//! Conformance cases of other systems that concern one history in one format. Where we differ on
//! purpose, the test asserts ours and says why.

mod answers;

use std::thread;

use foxwedge_core::{
    FixApplicability, Format, OrphanPolicy, Policy, Profile, TailPolicy, UnansweredPolicy,
};
use foxwedge_testkit::{Random, body, inventory, lost, messages};
use serde_json::{Value, json};

use super::SPOKEN;
use crate::support::{
    WAYS, asked, bold, codes, fixed, ids, list, mended, passes, report, shape, touched, value, way,
};

/// The shape of what the default policy makes of a document.
fn told(wire: Format, document: &Value) -> String {
    shape(&mended(wire, &bold(Profile::for_format(wire)), &document.to_string()).list())
}

fn dropping(unanswered: UnansweredPolicy) -> Policy {
    Policy { unanswered, allow_unsafe: true, ..Policy::default() }
}

#[test]
fn t26_empty_ids_on_call_and_result_are_paired_by_occurrence() {
    for wire in [Format::OpenaiChat, Format::OpenaiResponses, Format::Anthropic, Format::Bedrock] {
        let document = body(wire.name(), "u a[x y] r[x y]").replace("\"x\"", "\"\"");
        let document = document.replace("\"y\"", "\"\"");
        let fixed = mended(wire, &bold(Profile::for_format(wire)), &document);
        let (calls, answers) = ids(&fixed.list());
        assert_eq!(calls, answers);
        assert_ne!(calls[0], calls[1]);
        assert!(calls.iter().all(|id| !id.is_empty()));
        let (first, second) = (fixed.text.find("result of x"), fixed.text.find("result of y"));
        assert!(first < second && first.is_some(), "{}", fixed.text);
    }
}

#[test]
fn t27_an_id_of_446_characters_becomes_short_unique_and_the_same_every_time() {
    let (one, other) = (format!("{}1", "f".repeat(445)), format!("{}2", "f".repeat(445)));
    let document = body("openai-responses", "u a[x y] r[x y]");
    let document =
        document.replace("\"x\"", &format!("\"{one}\"")).replace("\"y\"", &format!("\"{other}\""));
    let run = || mended(Format::OpenaiResponses, &bold(Profile::OpenaiResponses), &document);
    let (calls, answers) = ids(&run().list());
    assert_eq!(calls, answers);
    assert_ne!(calls[0], calls[1]);
    assert!(calls.iter().all(|id| id.len() <= 64));
    assert_eq!(run().text, run().text);
}

#[test]
fn t28_mistral_ids_have_nine_characters_and_do_not_collide() {
    let names: Vec<String> = (0..60).map(|n| format!("call_abcdefghi_{n}")).collect();
    let document = body("openai-chat", &format!("u a[{0}] r[{0}]", names.join(" ")));
    let fixed = mended(Format::OpenaiChat, &bold(Profile::Mistral), &document);
    let (calls, answers) = ids(&fixed.list());
    assert_eq!(calls, answers);
    assert!(calls.iter().all(|id| id.len() == 9 && id.chars().all(|c| c.is_ascii_alphanumeric())));
    let mut unique = calls.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), 60);
}

#[test]
fn t29_composite_ids_that_share_their_first_half_stay_two_ids() {
    let document = body("openai-chat", "u a[call_x|fc_1 call_x|fc_2] r[call_x|fc_1 call_x|fc_2]");
    // OpenAI takes every character, so nothing needs to change.
    passes("composite ids", Format::OpenaiChat, Profile::OpenaiChat, &document);
    for profile in [Profile::Mistral, Profile::Strict, Profile::Anthropic, Profile::Bedrock] {
        let (calls, answers) = ids(&mended(Format::OpenaiChat, &bold(profile), &document).list());
        assert_eq!(calls, answers);
        assert_ne!(calls[0], calls[1]);
    }
}

#[test]
fn t30_two_parallel_calls_of_one_tool_get_two_response_parts() {
    let call = json!({"functionCall": {"name": "look", "args": {}}});
    let answer =
        |text: &str| json!({"functionResponse": {"name": "look", "response": {"r": text}}});
    for answers in [vec![], vec![answer("1")], vec![answer("1"), answer("2")]] {
        let given = answers.len();
        let mut document = vec![
            json!({"role": "user", "parts": [{"text": "Look twice."}]}),
            json!({"role": "model", "parts": [call, call]}),
        ];
        if given > 0 {
            document.push(json!({"role": "user", "parts": answers}));
        }
        let text = Value::Array(document).to_string();
        let fixed = mended(Format::Gemini, &bold(Profile::Gemini), &text);
        assert_eq!(fixed.list()[2]["parts"].as_array().map(Vec::len), Some(2), "{}", fixed.text);
        assert_eq!(fixed.edits.len(), 2 - given);
        assert_eq!(fixed.text == text, given == 2);
    }
}

#[test]
fn t31_three_results_in_three_user_turns_become_one_turn() {
    for wire in [Format::Gemini, Format::Anthropic, Format::Bedrock] {
        let document = body(wire.name(), "u a[x y z] r[x] r[y] r[z]");
        let fixed = mended(wire, &bold(Profile::for_format(wire)), &document);
        assert_eq!(shape(&fixed.list()), "u a[x y z] r[x y z]");
    }
}

/// Peers drop a Gemini orphan by default. We quote it: what a tool really returned is kept unless
/// the policy says otherwise.
#[test]
fn t32_an_orphan_response_is_quoted_and_dropped_only_on_request() {
    let document = body("gemini", "u a u r[q] a u");
    let quoted = mended(Format::Gemini, &bold(Profile::Gemini), &document);
    assert!(quoted.text.contains("result of q"), "{}", quoted.text);
    let drop = Policy { orphans: OrphanPolicy::Drop, ..Policy::default() };
    let dropped = mended(Format::Gemini, &asked(Profile::Gemini, drop), &document);
    assert_eq!(shape(&dropped.list()), "u a u a u");
    assert!(!dropped.text.contains("result of q"));
}

#[test]
fn t33_the_bypass_signature_stands_only_on_first_calls_of_the_running_turn() {
    let model = |n: u32| {
        json!({"role": "model", "parts": [
            {"functionCall": {"name": "look", "args": {"n": n}}},
            {"functionCall": {"name": "look", "args": {"n": n + 1}}}
        ]})
    };
    let answers = json!({"role": "user", "parts": [
        {"functionResponse": {"name": "look", "response": {}}},
        {"functionResponse": {"name": "look", "response": {}}}
    ]});
    let user = json!({"role": "user", "parts": [{"text": "Look."}]});
    let document = json!({"model": "gemini-3-pro-preview", "contents": [
        user, model(1), answers, {"role": "model", "parts": [{"text": "Seen."}]},
        user, model(3), answers, model(5), answers
    ]});
    let fixed = mended(Format::Gemini, &bold(Profile::Gemini), &document.to_string());
    let signed: Vec<Vec<bool>> = fixed
        .list()
        .iter()
        .filter(|content| content["role"] == "model")
        .filter_map(|content| content["parts"].as_array().cloned())
        .map(|parts| parts.iter().map(|part| part.get("thoughtSignature").is_some()).collect())
        .collect();
    assert_eq!(
        signed,
        [vec![false, false], vec![false], vec![true, false], vec![true, false]],
        "{}",
        fixed.text
    );
    assert!(fixed.text.contains("skip_thought_signature_validator"));
    // An older model without any signature in the history asks for none.
    let old = document.to_string().replace("gemini-3-pro-preview", "gemini-2.5-pro");
    passes("no signatures in use", Format::Gemini, Profile::Gemini, &old);
}

#[test]
fn t34_a_history_that_starts_with_the_assistant_is_opened_where_the_provider_wants_it() {
    for wire in Format::ALL {
        let document = body(wire.name(), "a u a[x] r[x]");
        let opened = match wire {
            // OpenAI accepts it; Gemini minds only a call.
            Format::OpenaiChat
            | Format::OpenaiResponses
            | Format::Gemini
            | Format::GeminiInteractions => "a u a[x] r[x]",
            Format::Anthropic | Format::Bedrock => "u a u a[x] r[x]",
        };
        let fixed = mended(wire, &bold(Profile::for_format(wire)), &document);
        assert_eq!(shape(&fixed.list()), opened, "{}", wire.name());
    }
    let document = body("gemini", "a[x] r[x] u");
    let fixed = mended(Format::Gemini, &bold(Profile::Gemini), &document);
    assert_eq!(shape(&fixed.list()), "u a[x] r[x] u");
    let strict = mended(Format::OpenaiChat, &bold(Profile::Strict), &body("openai-chat", "s a u"));
    assert_eq!(shape(&strict.list()), "s u a u");
}

#[test]
fn t35_a_request_that_ends_with_the_assistant_is_reported_and_closed_only_on_request() {
    let table = [(Format::Gemini, Profile::Gemini), (Format::OpenaiChat, Profile::Mistral)];
    for (wire, profile) in table {
        let key = if wire == Format::Gemini { "contents" } else { "messages" };
        let document = json!({"model": "m", key: messages(wire.name(), "u a")}).to_string();
        let meek = asked(profile, Policy::default());
        let found = report(wire, &meek, &document);
        assert_eq!(codes(&found), [403]);
        assert_eq!(found.findings[0].fix.applicability, FixApplicability::Unsafe);
        let left = fixed(wire, &meek, &document);
        assert_eq!(left.text, document, "nobody asked for it");
        assert_eq!(shape(&mended(wire, &bold(profile), &document).list()), "u a u");
    }
}

#[test]
fn t36_a_bridge_stands_between_answer_and_user_only_for_mistral_and_strict() {
    let document = body("openai-chat", "u a[call00001] r[call00001] u");
    for profile in [Profile::OpenaiChat, Profile::Deepseek] {
        passes("no bridge", Format::OpenaiChat, profile, &document);
    }
    let fixed = mended(Format::OpenaiChat, &bold(Profile::Mistral), &document);
    assert_eq!(shape(&fixed.list()), "u a[call00001] r[call00001] a u");
    assert_eq!(fixed.codes(), [404]);
}

#[test]
fn t37_results_come_first_in_their_message() {
    let document = json!([
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "x", "name": "go", "input": {}}]},
        {"role": "user", "content": [{"type": "text", "text": "here"}, {"type": "tool_result", "tool_use_id": "x", "content": "ok"}]}
    ]);
    assert_eq!(told(Format::Anthropic, &document), "u a[x] r[x]+u");
}

#[test]
fn t38_placeholders_stand_behind_existing_results_and_before_text() {
    let document = json!([
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "x", "name": "go", "input": {}},
            {"type": "tool_use", "id": "y", "name": "go", "input": {}}
        ]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": "ok"}, {"type": "text", "text": "and now?"}]}
    ]);
    assert_eq!(told(Format::Anthropic, &document), "u a[x y] r[x y~]+u");
    // With the second call answered, the placeholder of the first takes its place in call order.
    let second =
        value(&document.to_string().replace(r#""tool_use_id":"x""#, r#""tool_use_id":"y""#));
    let fixed = mended(Format::Anthropic, &bold(Profile::Anthropic), &second.to_string());
    let told = shape(&fixed.list());
    assert!(told == "u a[x y] r[x~ y]+u", "{told}");
}

#[test]
fn t39_a_result_inside_an_assistant_message_moves_home_or_is_quoted() {
    let call = json!({"type": "tool_use", "id": "x", "name": "go", "input": {}});
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "real"});
    let user = json!({"role": "user", "content": "Go."});
    let inside = json!([user, {"role": "assistant", "content": [call, result("x")]}, user]);
    assert_eq!(told(Format::Anthropic, &inside), "u a[x] r[x]+u");
    let apart = json!([user, {"role": "assistant", "content": [call]}, {"role": "assistant", "content": [result("x"), {"type": "text", "text": "so"}]}, user]);
    let fixed = mended(Format::Anthropic, &bold(Profile::Anthropic), &apart.to_string());
    assert_eq!(fixed.text.matches("real").count(), 1, "{}", fixed.text);
    assert_eq!(ids(&fixed.list()).1, ["x"]);
    assert!(!fixed.text.contains("Interrupted"), "{}", fixed.text);
    // Peers drop it when it matches nothing; we keep what a tool returned as user text.
    let orphan = json!([user, {"role": "assistant", "content": [{"type": "text", "text": "so"}, result("q")]}, user]);
    let fixed = mended(Format::Anthropic, &bold(Profile::Anthropic), &orphan.to_string());
    assert!(fixed.text.contains("real"), "{}", fixed.text);
    assert_eq!(ids(&fixed.list()), (vec![], vec![]));
}

#[test]
fn t40_a_call_inside_a_user_message_is_removed_and_reported() {
    let document = json!([
        {"role": "user", "content": [{"type": "text", "text": "Go."}, {"type": "tool_use", "id": "x", "name": "go", "input": {}}]},
        {"role": "assistant", "content": "Gone."}
    ]);
    let fixed = mended(Format::Anthropic, &bold(Profile::Anthropic), &document.to_string());
    assert_eq!(shape(&fixed.list()), "u a");
    assert_eq!(fixed.codes(), [304]);
    assert_eq!(fixed.edits[0].ids, ["x"]);
}

/// Thinking, then calls; the first is answered.
fn thinking(calls: &[&str], answered: &[&str]) -> Value {
    let mut blocks = vec![json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"})];
    blocks.extend(
        calls.iter().map(|id| json!({"type": "tool_use", "id": id, "name": "go", "input": {}})),
    );
    let mut reply: Vec<Value> = answered
        .iter()
        .map(|id| json!({"type": "tool_result", "tool_use_id": id, "content": "ok"}))
        .collect();
    reply.push(json!({"type": "text", "text": "and?"}));
    json!([
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": blocks},
        {"role": "user", "content": reply}
    ])
}

#[test]
fn t41_signed_thinking_is_untouched_when_an_answer_is_invented() {
    let document = thinking(&["x", "y"], &["x"]);
    let fixed = mended(Format::Anthropic, &bold(Profile::Anthropic), &document.to_string());
    assert_eq!(shape(&fixed.list()), "u th+a[x y] r[x y~]+u");
    assert_eq!(fixed.list()[1], list(&document)[1]);
}

#[test]
fn t42_under_a_dropping_policy_a_call_takes_its_thinking_with_it() {
    for unanswered in [UnansweredPolicy::DropTurn, UnansweredPolicy::DropCall] {
        let document = thinking(&["x"], &[]).to_string();
        let question = asked(Profile::Anthropic, dropping(unanswered));
        let fixed = mended(Format::Anthropic, &question, &document);
        assert_eq!(shape(&fixed.list()), "u u", "{}", unanswered.name());
    }
}

/// One documented rule: thinking stays as long as a call of its turn remains.
#[test]
fn t43_thinking_stays_while_a_call_of_its_turn_remains() {
    let document = thinking(&["x", "y"], &["x"]).to_string();
    let call = asked(Profile::Anthropic, dropping(UnansweredPolicy::DropCall));
    assert_eq!(shape(&mended(Format::Anthropic, &call, &document).list()), "u th+a[x] r[x]+u");
    let turn = asked(Profile::Anthropic, dropping(UnansweredPolicy::DropTurn));
    assert_eq!(shape(&mended(Format::Anthropic, &turn, &document).list()), "u u");
}

#[test]
fn t44_a_dropped_responses_call_takes_its_reasoning_and_no_other() {
    let document = json!([
        {"role": "user", "content": "Go."},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "message", "role": "assistant", "id": "msg_1", "content": [{"type": "output_text", "text": "first"}]},
        {"role": "user", "content": "On."},
        {"type": "reasoning", "id": "rs_2", "summary": []},
        {"type": "function_call", "id": "fc_1", "call_id": "x", "name": "go", "arguments": "{}"},
        {"role": "user", "content": "Stop."}
    ])
    .to_string();
    for unanswered in [UnansweredPolicy::DropTurn, UnansweredPolicy::DropCall] {
        let question = asked(Profile::OpenaiResponses, dropping(unanswered));
        let fixed = mended(Format::OpenaiResponses, &question, &document);
        assert_eq!(shape(&fixed.list()), "u th a u u", "{}", unanswered.name());
        assert!(fixed.text.contains("rs_1") && !fixed.text.contains("rs_2"), "{}", fixed.text);
    }
}

#[test]
fn t45_reasoning_that_nothing_followed_is_removed() {
    let document = json!([{"role": "user", "content": "Go."}, {"type": "reasoning", "id": "rs_1", "summary": []}]);
    assert_eq!(told(Format::OpenaiResponses, &document), "u");
}

#[test]
fn t46_unsigned_thinking_in_the_running_loop_is_an_error_and_never_goes_silently() {
    let document = json!({
        "model": "claude-sonnet-4-5", "max_tokens": 2048,
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "messages": [
            {"role": "user", "content": "Go."},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": ""},
                {"type": "tool_use", "id": "x", "name": "go", "input": {}}
            ]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": "ok"}]}
        ]
    })
    .to_string();
    // Peers refuse. We remove the block, which cannot be sent, and switch thinking off for this one
    // request, which the provider then takes; the report names both, asked boldly or not.
    for bold in [false, true] {
        let question =
            asked(Profile::Anthropic, Policy { allow_unsafe: bold, ..Policy::default() });
        let fixed = mended(Format::Anthropic, &question, &document);
        assert_eq!(fixed.codes(), [503]);
        assert_eq!(fixed.value()["thinking"], json!({"type": "disabled"}));
        assert_eq!(fixed.edits.iter().map(|edit| edit.code).collect::<Vec<_>>(), [503, 502]);
        assert_eq!(shape(&fixed.list()), "u a[x] r[x]");
    }
}

/// A server call, then whatever follows.
fn searching(rest: &[Value]) -> String {
    let mut history = vec![
        json!({"role": "user", "content": "Search."}),
        json!({"role": "assistant", "content": [
            {"type": "text", "text": "Searching.", "cache_control": {"type": "ephemeral"}},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
            {"type": "tool_use", "id": "x", "name": "go", "input": {}}
        ]}),
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": "ok"}]}),
    ];
    history.extend(rest.iter().cloned());
    Value::Array(history).to_string()
}
