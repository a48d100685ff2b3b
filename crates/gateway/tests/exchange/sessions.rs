//! Conversations are recognized without help of the client.

use foxwedge_gateway::GatewayEndpoint;
use serde_json::{Value, json};

use crate::stand::{TestReply, build_request, engine, send_request};

async fn chat(
    engine: &foxwedge_gateway::GatewayEngine,
    messages: &Value,
    headers: &[(&str, &str)],
) -> TestReply {
    let body = json!({
        "model": "scripted", "messages": messages,
        "tools": [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}],
    });
    send_request(engine, build_request(GatewayEndpoint::Chat, body.to_string(), headers)).await
}

#[tokio::test]
async fn a_conversation_with_calls_stays_one_session() {
    let engine = engine("").await;
    let mut messages = json!([{"role": "user", "content": "call weather"}]);
    let first = chat(&engine, &messages, &[]).await;
    assert_eq!(first.header("x-foxwedge-match"), "new", "{}", first.body);
    let message = first.json()["choices"][0]["message"].clone();
    let id = message["tool_calls"][0]["id"].clone();
    // As clients do: without unknown fields, and with their own formatting of arguments.
    let arguments =
        message["tool_calls"][0]["function"]["arguments"].as_str().expect("it is there");
    let arguments: Value = serde_json::from_str(arguments).expect("it is there");
    let spelled = serde_json::to_string_pretty(&arguments).expect("it is there");
    let list = messages.as_array_mut().expect("it is there");
    list.push(json!({"role": "assistant", "tool_calls": [{"id": id, "type": "function",
        "function": {"name": "weather", "arguments": spelled}}]}));
    list.push(json!({"role": "tool", "tool_call_id": id, "content": "rain"}));
    let second = chat(&engine, &messages, &[]).await;
    assert_eq!(second.header("x-foxwedge-match"), "prefix", "{}", second.body);
    assert_eq!(second.header("x-foxwedge-session"), first.header("x-foxwedge-session"));
    // The same first messages again are another conversation.
    let other = chat(&engine, &json!([{"role": "user", "content": "call weather"}]), &[]).await;
    assert_eq!(other.header("x-foxwedge-match"), "new");
    assert_ne!(other.header("x-foxwedge-session"), first.header("x-foxwedge-session"));
}

#[tokio::test]
async fn a_named_session_is_used_and_a_marked_retry_is_sent_upstream_once() {
    let engine = engine("").await;
    let messages = json!([{"role": "user", "content": "hello"}]);
    let named = ("x-session-id", "mine");
    let retried = ("x-stainless-retry-count", "1");
    let first = chat(&engine, &messages, &[named]).await;
    assert_eq!(
        (first.header("x-foxwedge-session"), first.header("x-foxwedge-match")),
        ("mine", "session-id")
    );
    let again = chat(&engine, &messages, &[named, retried]).await;
    assert_eq!((again.header("x-foxwedge-replayed"), &again.body), ("true", &first.body));
    assert_eq!(
        chat(&engine, &messages, &[named]).await.header("x-foxwedge-replayed"),
        "",
        "asked on purpose"
    );
    assert_eq!(chat(&engine, &messages, &[]).await.header("x-foxwedge-replayed"), "");
    assert_eq!(chat(&engine, &messages, &[retried]).await.header("x-foxwedge-replayed"), "true");
}

#[tokio::test]
async fn referenced_items_are_served_from_memory_or_refused() {
    let engine = engine(
        "[[route]]\nmodel = \"m\"\nupstream = \"messages\"\nupstream_model = \"scripted\"\n",
    )
    .await;
    for stream in [false, true] {
        let first = json!({"model": "m", "stream": stream, "input": "my name is Ada"});
        let reply = send_request(
            &engine,
            build_request(GatewayEndpoint::Responses, first.to_string(), &[]),
        )
        .await;
        let reply = match stream {
            false => reply.json(),
            true => {
                let last = reply.body.rsplit("data: ").find(|it| it.contains("response.completed"));
                let last: Value = serde_json::from_str(last.expect("an end").trim()).expect("JSON");
                last["response"].clone()
            }
        };
        let (id, item) = (&reply["id"], &reply["output"][0]["id"]);
        let by_reply = json!({"model": "m", "previous_response_id": id, "input": "and now?"});
        let reply = send_request(
            &engine,
            build_request(GatewayEndpoint::Responses, by_reply.to_string(), &[]),
        )
        .await;
        assert_eq!(
            (reply.status.as_u16(), reply.header("x-foxwedge-match")),
            (200, "prefix"),
            "{}",
            reply.body
        );
        // The type of a reference is optional.
        for reference in [json!({"type": "item_reference", "id": item}), json!({"id": item})] {
            let by_item = json!({"model": "m", "input": [
                {"role": "user", "content": "my name is Ada"},
                reference,
                {"role": "user", "content": "and then?"}]});
            let reply = send_request(
                &engine,
                build_request(GatewayEndpoint::Responses, by_item.to_string(), &[]),
            )
            .await;
            assert_eq!(
                (reply.status.as_u16(), reply.header("x-foxwedge-losses")),
                (200, ""),
                "{}",
                reply.body
            );
        }
    }
    let table = [
        (
            json!({"model": "m", "previous_response_id": "resp_x", "input": "hi"}),
            400,
            "previous_response_not_found",
        ),
        (
            json!({"model": "m", "input": [{"type": "item_reference", "id": "msg_x"}]}),
            404,
            "item_not_found",
        ),
        (json!({"model": "m", "input": [{"id": "msg_x"}]}), 404, "item_not_found"),
    ];
    for (body, status, code) in table {
        let reply =
            send_request(&engine, build_request(GatewayEndpoint::Responses, body.to_string(), &[]))
                .await;
        assert_eq!((reply.status.as_u16(), &reply.json()["error"]["code"]), (status, &json!(code)));
    }
}

#[tokio::test]
async fn a_long_streamed_reply_can_be_referred_to() {
    let engine = engine(
        "[[route]]\nmodel = \"m\"\nupstream = \"messages\"\nupstream_model = \"scripted\"\n",
    )
    .await;
    let prompt = format!("call keep with {}", json!({"text": "long ".repeat(80_000)}));
    let tools = json!([{"type": "function", "name": "keep", "parameters": {"type": "object"}}]);
    let first = json!({"model": "m", "stream": true, "input": prompt, "tools": tools,
        "max_output_tokens": 200_000});
    let request = build_request(GatewayEndpoint::Responses, first.to_string(), &[]);
    let reply = send_request(&engine, request).await;
    let last = reply.body.rsplit("data: ").find(|it| it.contains("response.completed"));
    let last: Value = serde_json::from_str(last.expect("an end").trim()).expect("JSON");
    let output = last["response"]["output"].as_array().expect("items");
    let call = output.iter().find_map(|item| item.get("call_id")).expect("a call");
    let next = json!({"model": "m", "previous_response_id": last["response"]["id"], "tools": tools,
        "input": [{"type": "function_call_output", "call_id": call, "output": "kept"}]});
    let request = build_request(GatewayEndpoint::Responses, next.to_string(), &[]);
    let reply = send_request(&engine, request).await;
    assert_eq!(reply.status.as_u16(), 200, "{}", reply.body);
    assert!(reply.body.contains("The tool said: kept"), "{}", reply.body);
}

#[tokio::test]
async fn a_title_request_does_not_hold_up_the_first_reply() {
    let engine = engine("[sessions]\nbusy_wait = \"refuse\"\n").await;
    let named = [("x-session-id", "ses_1")];
    let title = json!({"model": "scripted?hang=1", "stream": true, "messages": [
        {"role": "system", "content": "You write titles."},
        {"role": "user", "content": "Generate a title for this conversation:"},
        {"role": "user", "content": "run the tests"}]});
    let request = build_request(GatewayEndpoint::Chat, title.to_string(), &named);
    let in_progress = engine.handle(request).await;
    assert_eq!(in_progress.headers["x-foxwedge-session"], "ses_1");
    let mut messages = json!([{"role": "system", "content": "You are an agent."},
        {"role": "user", "content": "run the tests"}]);
    let first = chat(&engine, &messages, &named).await;
    assert_eq!((first.status.as_u16(), first.header("x-foxwedge-match")), (200, "new"));
    let session = first.header("x-foxwedge-session").to_owned();
    assert_ne!(session, "ses_1");
    let list = messages.as_array_mut().expect("a list");
    list.push(first.json()["choices"][0]["message"].clone());
    list.push(json!({"role": "user", "content": "again"}));
    let second = chat(&engine, &messages, &named).await;
    assert_eq!((second.status.as_u16(), second.header("x-foxwedge-session")), (200, &*session));
    // The title is still in progress, and one more request for it has to wait.
    let request = build_request(GatewayEndpoint::Chat, title.to_string(), &named);
    assert_eq!(send_request(&engine, request).await.status.as_u16(), 409);
    drop(in_progress);
}

#[tokio::test]
async fn a_title_request_that_repeats_the_prompt_does_not_hold_up_the_first_reply() {
    let engine = engine("[sessions]\nbusy_wait = \"refuse\"\n").await;
    let named = [("x-session-id", "ses_2")];
    let prompt = json!({"role": "user", "content": "run the tests"});
    let title = json!({"model": "scripted?hang=1", "stream": true, "messages": [
        {"role": "system", "content": "You write titles."}, prompt]});
    let request = build_request(GatewayEndpoint::Chat, title.to_string(), &named);
    let in_progress = engine.handle(request).await;
    assert_eq!(in_progress.headers["x-foxwedge-session"], "ses_2");
    let messages = json!([{"role": "system", "content": "You are an agent."}, prompt]);
    let body = json!({"model": "scripted?hang=1", "stream": true, "messages": messages});
    let request = build_request(GatewayEndpoint::Chat, body.to_string(), &named);
    let first = engine.handle(request).await;
    assert_eq!(first.status.as_u16(), 200);
    drop((in_progress, first));
}

#[tokio::test]
async fn a_history_that_an_agent_compacts_stays_in_the_session_of_its_header() {
    let engine = engine("").await;
    for header in ["x-claude-code-session-id", "thread-id", "session-id", "agent-session-id"] {
        let name = format!("0199a213-{header}");
        let first =
            chat(&engine, &json!([{"role": "user", "content": "hello"}]), &[(header, &name)]).await;
        let summary = json!([{"role": "user", "content": "Summary of the conversation so far."}]);
        let compacted = chat(&engine, &summary, &[(header, &name)]).await;
        for reply in [first, compacted] {
            let found = (reply.header("x-foxwedge-session"), reply.header("x-foxwedge-match"));
            assert_eq!(found, (&*name, "session-id"), "{header}");
        }
    }
}
