//! What the guard does in each mode, and what it says about it.

use foxwedge_gateway::GatewayEndpoint;
use serde_json::{Value, json};

use crate::stand::{ask, asked, engine, hear};

fn broken() -> serde_json::Value {
    json!({
        "model": "m",
        "messages": [
            {"role": "user", "content": "read a and b"},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}},
                {"id": "c2", "type": "function", "function": {"name": "read", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "A"},
            {"role": "user", "content": "go on"},
        ],
    })
}

fn route(mode: &str) -> String {
    format!(
        "[[route]]\nmodel = \"m\"\nupstream = \"chat\"\nrename = \"scripted\"\nmode = \"{mode}\"\n"
    )
}

#[tokio::test]
async fn each_mode_does_what_it_says() {
    let table = [
        ("off", 400, "none", ""),
        ("observe", 400, "observed", "FW101=1"),
        ("fix", 200, "fixed", "FW101=1"),
        ("strict", 400, "rejected", "FW101=1"),
    ];
    for (mode, status, action, findings) in table {
        let engine = engine(&route(mode)).await;
        let heard = ask(&engine, GatewayEndpoint::Chat, &broken()).await;
        let told = (heard.header("x-foxwedge-action"), heard.header("x-foxwedge-findings"));
        assert_eq!(
            (heard.status.as_u16(), told),
            (status, (action, findings)),
            "{mode}: {}",
            heard.body
        );
        if mode == "strict" {
            let error = heard.json()["error"].clone();
            assert_eq!(error["type"], "invalid_request_error");
            assert_eq!((&error["rule"], &error["param"]), (&json!("FW101"), &json!("messages[1]")));
        }
    }
}

#[tokio::test]
async fn a_refusal_for_the_shape_of_a_history_is_repaired_and_sent_once_more() {
    // The upstream is a stricter provider than the configuration says.
    let engine =
        engine("[[route]]\nmodel = \"m\"\nupstream = \"chat\"\nrename = \"scripted-mistral\"\n")
            .await;
    let body = json!({
        "model": "m",
        "messages": [
            {"role": "user", "content": "read a"},
            {"role": "assistant", "content": "", "tool_calls": [
                {"id": "call_of_more_than_nine_letters", "type": "function",
                 "function": {"name": "read", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "call_of_more_than_nine_letters", "name": "read", "content": "A"},
        ],
    });
    let heard = ask(&engine, GatewayEndpoint::Chat, &body).await;
    assert_eq!(heard.status, 200, "{}", heard.body);
    assert_eq!(heard.header("x-foxwedge-action"), "fixed");
    assert!(
        engine
            .metrics()
            .render()
            .contains("foxwedge_upstream_400_total{class=\"illegal-call-id\"} 1")
    );
}

#[tokio::test]
async fn a_history_that_is_too_long_is_made_shorter() {
    for overflow in ["compact", "summarize"] {
        too_long(overflow).await;
    }
}

async fn too_long(overflow: &str) {
    let engine = engine(&format!(
        "[[route]]\nmodel = \"m\"\nupstream = \"messages\"\nrename = \"scripted\"\nwindow = 8000\n\
         overflow = \"{overflow}\"\n",
    ))
    .await;
    let turns = (0..40).flat_map(|at| {
        [
            json!({"role": "user", "content": format!("question {at} {}", "word ".repeat(200))}),
            json!({"role": "assistant", "content": format!("answer {at}")}),
        ]
    });
    let mut messages: Vec<_> = turns.collect();
    messages.push(json!({"role": "user", "content": "and now?"}));
    let body = json!({"model": "m", "max_tokens": 100, "messages": messages});
    let heard = ask(&engine, GatewayEndpoint::Messages, &body).await;
    assert_eq!(heard.status, 200, "{}", heard.body);
    let (before, after) =
        heard.header("x-foxwedge-compacted").split_once("->").expect("a compaction");
    assert!(
        before.parse::<u64>().expect("it is there") > 8_000
            && after.parse::<u64>().expect("it is there") < 8_000
    );
}

#[tokio::test]
async fn what_lies_on_a_server_is_refused_and_never_repaired() {
    let engine =
        engine("[[route]]\nmodel = \"m\"\nupstream = \"chat\"\nrename = \"scripted\"\n").await;
    let table = [
        (
            GatewayEndpoint::Responses,
            json!({"model": "m", "previous_response_id": "resp_1",
                   "input": [{"type": "function_call_output", "call_id": "c1", "output": "A"}]}),
            "previous_response_not_found",
        ),
        (
            GatewayEndpoint::Messages,
            json!({"model": "m", "max_tokens": 9, "thread": {"type": "continue", "previous_message_id": "msg_1"},
                   "messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "A"}]}]}),
            "thread_unsupported_request",
        ),
    ];
    for (face, body, code) in table {
        let heard = ask(&engine, face, &body).await;
        assert_eq!(heard.status, 400, "{}", heard.body);
        assert!(heard.body.contains(code), "{}", heard.body);
        assert_eq!(heard.header("x-foxwedge-action"), "none");
    }
}

#[tokio::test]
async fn no_request_chooses_its_upstream() {
    let engine = engine("").await;
    for key in ["api_base", "base_url", "api_key"] {
        let body = json!({"model": "scripted", "messages": [{"role": "user", "content": "hi"}], key: "http://evil.example"});
        let heard = ask(&engine, GatewayEndpoint::Chat, &body).await;
        assert_eq!((heard.status.as_u16(), &heard.json()["error"]["param"]), (400, &json!(key)));
    }
}

#[tokio::test]
async fn a_body_that_cannot_be_read_is_an_error_with_its_place() {
    let engine = engine("").await;
    for body in
        ["", "{", "[]", "{\"model\":\"m\"}", "{\"model\":\"m\",\"messages\":7}", "\u{feff}", "nul"]
    {
        let heard = hear(&engine, asked(GatewayEndpoint::Chat, body.to_owned(), &[])).await;
        assert_eq!(heard.status, 400, "{body}: {}", heard.body);
        assert_eq!(heard.json()["error"]["type"], "invalid_request_error", "{body}");
    }
    let deep = format!("{{\"model\":\"m\",\"messages\":{}", "[".repeat(100_000));
    assert_eq!(hear(&engine, asked(GatewayEndpoint::Chat, deep, &[])).await.status, 400);
}

/// A request of `words` words in each face's form.
fn long(face: GatewayEndpoint, words: usize) -> Value {
    let text = "word ".repeat(words);
    match face {
        GatewayEndpoint::Responses => json!({"model": "m", "input": text}),
        _ => {
            json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": text}]})
        }
    }
}

#[tokio::test]
async fn what_cannot_fit_a_window_is_refused_in_the_providers_words_before_it_is_sent() {
    let overflows = ["compact", "summarize", "pass"];
    for (upstream, overflow) in
        ["chat", "responses", "messages", "gemini"].into_iter().zip(overflows.into_iter().cycle())
    {
        let engine = engine(&format!(
            "[[route]]\nmodel = \"m\"\nupstream = \"{upstream}\"\nrename = \"scripted\"\n\
             window = 3000\noverflow = \"{overflow}\"\n"
        ))
        .await;
        for (face, stream) in
            [GatewayEndpoint::Chat, GatewayEndpoint::Responses, GatewayEndpoint::Messages]
                .into_iter()
                .flat_map(|face| [(face, false), (face, true)])
        {
            let mut body = long(face, 20_000);
            body["stream"] = json!(stream);
            let heard = ask(&engine, face, &body).await;
            assert_eq!(heard.status, 400, "{upstream}, {face:?}: {}", heard.body);
            let error = &heard.json()["error"];
            assert_eq!(error["type"], "invalid_request_error", "{error}");
            let message = error["message"].as_str().expect("words");
            match face {
                GatewayEndpoint::Messages => {
                    assert!(message.starts_with("prompt is too long: "), "{message}");
                    assert!(message.ends_with(" tokens > 3000 maximum"), "{message}");
                }
                _ => assert_eq!(error["code"], "context_length_exceeded"),
            }
            // Near the edge nobody is sure, and the provider says it.
            let heard = ask(&engine, face, &long(face, 3_200)).await;
            assert_eq!(heard.status, 200, "{upstream}, {face:?}: {}", heard.body);
        }
        let name = engine.metrics().render();
        let sent =
            name.lines().filter(|line| line.starts_with("foxwedge_upstream_requests_total{"));
        let sent: u64 = sent.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum();
        assert_eq!(sent, 6, "only those that may fit were sent");
    }
}

#[tokio::test]
async fn a_window_that_nobody_set_refuses_nothing() {
    let engine =
        engine("[[route]]\nmodel = \"m\"\nupstream = \"chat\"\nrename = \"scripted\"\n").await;
    let heard = ask(&engine, GatewayEndpoint::Chat, &long(GatewayEndpoint::Chat, 20_000)).await;
    assert_eq!(heard.status, 200, "{}", heard.body);
}
