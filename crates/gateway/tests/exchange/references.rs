//! Responses and items that clients of the Responses API refer to by id, at upstreams of the same
//! API: those that store them, and those that store nothing.

use std::{net::SocketAddr, sync::Arc};

use foxwedge_gateway::{GatewayEndpoint, GatewayEngine, GatewayServer};
use foxwedge_store::{AnyStore, StoreUrl};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinHandle,
};

use crate::{
    clouds::provider::{CannedReply, CloudProvider},
    stand::{TestReply, ask, engine, engine_on},
};

/// An upstream of the Responses API, and a route of a model to it.
fn upstream(name: &str, provider: &CloudProvider, route: &str) -> String {
    let url = &provider.url;
    format!(
        "[[upstream]]\nname = \"{name}\"\nkind = \"openai\"\nkey = \"none\"\n\
         base_url = \"{url}/v1\"\n[[route]]\nmodel = \"m-{name}\"\nupstream = \"{name}\"\n{route}\n"
    )
}

/// A reply with these items, whole or as a stream.
fn reply(id: &str, output: &Value, stream: bool) -> CannedReply {
    let mut response = json!({"id": id, "object": "response", "created_at": 1, "model": "m",
        "status": "in_progress", "output": []});
    let created = json!({"type": "response.created", "response": response});
    (response["status"], response["output"]) = (json!("completed"), output.clone());
    if !stream {
        return CannedReply::json(200, &response.to_string());
    }
    let mut events = vec![created];
    for (at, item) in output.as_array().expect("a list").iter().enumerate() {
        let event = |kind: &str| json!({"type": kind, "output_index": at, "item": item});
        events.extend([event("response.output_item.added"), event("response.output_item.done")]);
    }
    events.push(json!({"type": "response.completed", "response": response}));
    let frames = events.iter().map(|event| format!("data: {event}\n\n"));
    CannedReply::stream(&frames.collect::<String>())
}

fn error(status: u16, message: &str, param: &str, code: Value) -> CannedReply {
    let error = json!({"message": message, "type": "invalid_request_error", "param": param,
        "code": code});
    CannedReply::json(status, &json!({"error": error}).to_string())
}

fn message(id: &str, text: &str) -> Value {
    let part = json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []});
    json!({"type": "message", "id": id, "status": "completed", "role": "assistant",
        "content": [part]})
}

fn call(id: &str, call: &str) -> Value {
    json!({"type": "function_call", "id": id, "status": "completed", "call_id": call,
        "name": "look", "arguments": "{}"})
}

fn result(call: &str, output: &str) -> Value {
    json!({"type": "function_call_output", "call_id": call, "output": output})
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

async fn respond(engine: &GatewayEngine, body: Value) -> TestReply {
    let reply = ask(engine, GatewayEndpoint::Responses, &body).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply
}

#[tokio::test]
async fn an_organization_without_data_retention_gets_the_earlier_messages() {
    let words =
        "Previous response cannot be used for this organization due to Zero Data Retention.";
    let param = "previous_response_id";
    for refusal in [
        error(400, words, param, json!("unsupported_parameter")),
        CannedReply::json(404, &json!({"code": "not available", "error": words}).to_string()),
        error(400, "This field cannot be used.", param, json!("unsupported_value")),
        error(400, "Previous response with id 'resp_1' not found.", param, Value::Null),
    ] {
        let first = json!([message("msg_1", "one")]);
        let (second, third) = (json!([message("msg_2", "two")]), json!([message("msg_3", "x")]));
        let replies = vec![
            reply("resp_1", &first, false),
            refusal,
            reply("resp_2", &second, false),
            reply("resp_3", &third, false),
        ];
        let provider = CloudProvider::start(replies).await;
        let engine = engine(&upstream("a", &provider, "")).await;
        respond(&engine, json!({"model": "m-a", "input": "1"})).await;
        let next = |id: &str, input: &str| json!({"model": "m-a", "previous_response_id": id, "input": input});
        respond(&engine, next("resp_1", "2")).await;
        respond(&engine, next("resp_2", "3")).await;
        let mut sent = Vec::new();
        for _ in 0..4 {
            sent.push(provider.next().await.body);
        }
        // The upstream is asked in vain once.
        assert_eq!(sent[1]["previous_response_id"], "resp_1");
        let mut history = vec![user("1"), first[0].clone(), user("2")];
        assert_eq!(sent[2], json!({"model": "m-a", "input": history}));
        history.extend([second[0].clone(), user("3")]);
        assert_eq!(sent[3], json!({"model": "m-a", "input": history}));
    }
}

#[tokio::test]
async fn a_refusal_about_something_else_is_passed_on() {
    for refusal in [
        error(400, "Unsupported parameter.", "temperature", json!("unsupported_parameter")),
        error(404, "The model `m` was not found.", "model", json!("model_not_found")),
        error(403, "Previous response not found.", "previous_response_id", Value::Null),
    ] {
        let (status, body) = (refusal.status, refusal.body.clone());
        let output = json!([message("msg_1", "one")]);
        let provider = CloudProvider::start(vec![reply("resp_1", &output, false), refusal]).await;
        let engine = engine(&upstream("a", &provider, "")).await;
        respond(&engine, json!({"model": "m-a", "input": "1"})).await;
        let body_with_id = json!({"model": "m-a", "previous_response_id": "resp_1", "input": "2"});
        let reply = ask(&engine, GatewayEndpoint::Responses, &body_with_id).await;
        assert_eq!((reply.status.as_u16(), reply.body.as_bytes()), (status, &*body));
    }
}

#[tokio::test]
async fn items_are_found_by_the_ids_that_the_upstream_gave_them() {
    let refusals = [
        "Item with id 'msg_1' not found.",
        "Item with id 'msg_1' not found. Items are not persisted for Zero Data Retention \
         organizations. Remove this item from your input and try again.",
    ];
    for (stream, refusal) in [(false, refusals[0]), (true, refusals[0]), (false, refusals[1])] {
        let output = json!([message("msg_1", "well"), call("fc_1", "call_1")]);
        let done = json!([message("msg_2", "done")]);
        let replies = vec![
            reply("resp_1", &output, stream),
            error(404, refusal, "input", Value::Null),
            reply("resp_2", &done, stream),
            reply("resp_3", &done, stream),
        ];
        let provider = CloudProvider::start(replies).await;
        let engine = engine(&upstream("a", &provider, "")).await;
        let body = |input: Value| json!({"model": "m-a", "stream": stream, "input": input});
        respond(&engine, body(json!([user("look")]))).await;
        let reference = |id: &str| json!({"type": "item_reference", "id": id});
        let items =
            json!([user("look"), reference("msg_1"), reference("fc_1"), result("call_1", "A")]);
        respond(&engine, body(items.clone())).await;
        let resolved =
            json!([user("look"), output[0].clone(), output[1].clone(), result("call_1", "A")]);
        provider.next().await;
        assert_eq!(provider.next().await.body, body(items.clone()));
        assert_eq!(provider.next().await.body, body(resolved.clone()), "{stream}");
        // Now it is known that the upstream stores nothing.
        respond(&engine, body(items)).await;
        assert_eq!(provider.next().await.body, body(resolved));
    }
}

#[tokio::test]
async fn an_item_that_nobody_knows_is_asked_for_once() {
    let refusal = error(404, "Item with id 'msg_9' not found.", "input", Value::Null);
    let provider = CloudProvider::start(vec![refusal]).await;
    let engine = engine(&upstream("a", &provider, "")).await;
    let input = json!([{"type": "item_reference", "id": "msg_9"}, user("hi")]);
    let body = json!({"model": "m-a", "input": input});
    let reply = ask(&engine, GatewayEndpoint::Responses, &body).await;
    assert_eq!(reply.status, 404, "{}", reply.body);
    assert!(reply.body.contains("Item with id 'msg_9' not found."), "{}", reply.body);
}

#[tokio::test]
async fn reasoning_that_the_upstream_cannot_look_up_is_left_out() {
    let summary = json!([{"type": "summary_text", "text": "hm"}]);
    let reasoning = |id: &str, key: &str, value: Value| {
        let mut item = json!({"type": "reasoning", "id": id, "summary": summary});
        item[key] = value;
        item
    };
    let text = json!([{"type": "reasoning_text", "text": "let me see"}]);
    let output = json!([
        reasoning("rs_1", "encrypted_content", Value::Null),
        call("fc_1", "call_1"),
        call("fc_2", "call_2"),
        reasoning("rs_2", "encrypted_content", json!("ENC")),
        message("msg_1", "with its reasoning"),
        reasoning("rs_3", "content", text),
        message("msg_2", "with readable reasoning"),
    ]);
    let refusal = "Previous response with id 'resp_1' not found.";
    let replies = vec![
        reply("resp_1", &output, false),
        error(400, refusal, "previous_response_id", json!("previous_response_not_found")),
        reply("resp_2", &json!([message("msg_3", "done")]), false),
    ];
    let provider = CloudProvider::start(replies).await;
    let engine = engine(&upstream("a", &provider, "mode = \"strict\"")).await;
    respond(&engine, json!({"model": "m-a", "input": "look"})).await;
    // What a client sends itself stays as it is.
    let own = reasoning("rs_9", "encrypted_content", Value::Null);
    let results = [result("call_1", "A"), result("call_2", "B")];
    let input = [&results[..], &[own.clone(), message("msg_9", "x"), user("go on")]].concat();
    let body = json!({"model": "m-a", "previous_response_id": "resp_1", "input": input});
    let reply = respond(&engine, body).await;
    assert_eq!(reply.header("x-foxwedge-losses"), "1");
    let (_, _) = (provider.next().await, provider.next().await);
    let mut first = call("fc_1", "call_1");
    first.as_object_mut().expect("an item").remove("id");
    let rest = &output.as_array().expect("items")[2..];
    let expected = [&[user("look"), first][..], rest, &input].concat();
    assert_eq!(provider.next().await.body["input"], json!(expected));
}

#[tokio::test]
async fn a_call_that_the_upstream_stores_gets_a_placeholder_result() {
    let placeholder = "[foxwedge] Interrupted: no answer was recorded. The call may have run; \
                       check before repeating it.";
    let given = |kind: &str| json!({"type": kind, "call_id": "call_1", "output": placeholder});
    let (function, custom) = ("function_call_output", "custom_tool_call_output");
    let table = [
        ("function", json!("stop"), json!([given(function), user("stop")])),
        ("custom tool", json!([user("stop")]), json!([given(custom), user("stop")])),
        (
            "function",
            json!([result("call_2", "B"), user("stop")]),
            json!([given(function), result("call_2", "B"), user("stop")]),
        ),
        ("function", json!([]), json!([given(function)])),
    ];
    for (kind, input, expected) in table {
        let refusal = format!("No tool output found for {kind} call call_1.");
        let refusal = error(400, &refusal, "input", Value::Null);
        let done = reply("resp_2", &json!([message("msg_1", "done")]), false);
        let provider = CloudProvider::start(vec![refusal, done]).await;
        let engine = engine(&upstream("a", &provider, "")).await;
        let mut body = json!({"model": "m-a", "previous_response_id": "resp_1", "input": input});
        let reply = respond(&engine, body.clone()).await;
        assert_eq!(reply.header("x-foxwedge-action"), "fixed");
        assert_eq!(provider.next().await.body, body);
        body["input"] = expected;
        assert_eq!(provider.next().await.body, body);
    }
}

#[tokio::test]
async fn a_route_that_repairs_nothing_passes_on_that_a_stored_call_has_no_result() {
    for mode in ["off", "observe", "strict"] {
        let refusal = "No tool output found for function call call_1.";
        let refusal = error(400, refusal, "input", Value::Null);
        let provider = CloudProvider::start(vec![refusal]).await;
        let engine = engine(&upstream("a", &provider, &format!("mode = \"{mode}\""))).await;
        let body = json!({"model": "m-a", "previous_response_id": "resp_1", "input": "stop"});
        let reply = ask(&engine, GatewayEndpoint::Responses, &body).await;
        assert_eq!((reply.status.as_u16(), reply.header("x-foxwedge-action")), (400, "none"));
        assert!(reply.body.contains("No tool output found"), "{}", reply.body);
    }
}

#[tokio::test]
async fn a_response_is_retrieved_deleted_and_cancelled_where_it_was_created() {
    let output = json!([message("msg_1", "hi")]);
    let plain = || CannedReply::json(200, "{}");
    let first = CloudProvider::start(vec![plain()]).await;
    let replies = vec![
        reply("resp_1", &output, false),
        reply("resp_2", &output, true),
        plain(),
        plain(),
        plain(),
    ];
    let second = CloudProvider::start(replies).await;
    let config = upstream("a", &first, "") + &upstream("b", &second, "");
    let engine = engine(&config).await;
    let store = Arc::new(AnyStore::open(&StoreUrl::Memory).await.expect("a store in memory"));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let (stop, stopped) = oneshot::channel::<()>();
    let server = GatewayServer::new(engine.config(), engine, store).log_to(std::io::sink());
    let serving = tokio::spawn(server.serve(listener, async {
        let _ = stopped.await;
    }));
    let send = async |method: &str, path: &str, body: &str| {
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).await.expect("it goes out");
        let mut reply = String::new();
        stream.read_to_string(&mut reply).await.expect("a reply");
        assert!(reply.starts_with("HTTP/1.1 200"), "{method} {path}: {reply}");
    };
    for stream in [false, true] {
        let body = json!({"model": "m-b", "input": "hi", "stream": stream}).to_string();
        send("POST", "/v1/responses", &body).await;
        second.next().await;
    }
    for (method, path) in [
        ("GET", "/v1/responses/resp_1"),
        ("POST", "/v1/responses/resp_2/cancel"),
        ("DELETE", "/v1/responses/resp_2"),
    ] {
        send(method, path, "").await;
        assert_eq!(second.next().await.path, path);
    }
    send("GET", "/v1/responses/resp_9", "").await;
    assert_eq!(first.next().await.path, "/v1/responses/resp_9", "an unknown response");
    stop.send(()).expect("it runs");
    serving.await.expect("it does not panic").expect("it began");
}

#[tokio::test]
async fn items_of_another_upstream_do_not_show_that_one_stores_nothing() {
    let reference = |id: &str| json!({"type": "item_reference", "id": id});
    let reasoning = json!({"type": "reasoning", "id": "rs_2", "summary": []});
    let (one, two) = (message("msg_1", "one"), message("msg_2", "two"));
    let first = CloudProvider::start(vec![reply("resp_1", &json!([one]), false)]).await;
    let refusal = || error(404, "Item with id 'msg_1' not found.", "input", Value::Null);
    let plain = |id: &str| reply(id, &json!([message("msg_3", "done")]), false);
    let replies = vec![
        refusal(),
        reply("resp_2", &json!([reasoning, two]), false),
        plain("resp_3"),
        refusal(),
        plain("resp_4"),
    ];
    let second = CloudProvider::start(replies).await;
    let engine = engine(&(upstream("a", &first, "") + &upstream("b", &second, ""))).await;
    let body = |model: &str, input: &Value| json!({"model": model, "input": input});
    respond(&engine, body("m-a", &json!([user("1")]))).await;
    let mut history = vec![user("1"), reference("msg_1"), user("2")];
    respond(&engine, body("m-b", &json!(history))).await;
    second.next().await;
    let resolved = json!([user("1"), one, user("2")]);
    assert_eq!(second.next().await.body, body("m-b", &resolved));
    // The upstream may store its own items, and does.
    let own = json!([user("2"), reference("rs_2"), reference("msg_2"), user("3")]);
    respond(&engine, body("m-b", &own)).await;
    assert_eq!(second.next().await.body, body("m-b", &own));
    // Of both, it gets those that it does not know.
    history.extend([reference("msg_9"), user("3")]);
    respond(&engine, body("m-b", &json!(history))).await;
    second.next().await;
    let resolved = json!([user("1"), one, user("2"), reference("msg_9"), user("3")]);
    assert_eq!(second.next().await.body, body("m-b", &resolved));
}

#[tokio::test]
async fn responses_of_another_owner_were_passed_to_the_upstream() {
    let output = json!([message("msg_1", "one")]);
    let replies = ["resp_1", "resp_2", "resp_3", "resp_4", "resp_5", "resp_6"];
    let replies = replies.map(|id| reply(id, &output, false)).into_iter().collect();
    let provider = CloudProvider::start(replies).await;
    let token = |owner: &str, scope: &str| {
        format!(
            "[[token]]\nowner = \"{owner}\"\ntoken = \"token-of-{owner}-0123456789\"\n{scope}\n"
        )
    };
    let tokens = token("ann", "") + &token("bob", "") + &token("eve", "scope = \"admin\"");
    let engine = engine(&(upstream("a", &provider, "") + &tokens)).await;
    let store = Arc::new(AnyStore::open(&StoreUrl::Memory).await.expect("a store in memory"));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let (stop, stopped) = oneshot::channel::<()>();
    let server = GatewayServer::new(engine.config(), engine, store).log_to(std::io::sink());
    let serving = tokio::spawn(server.serve(listener, async {
        let _ = stopped.await;
    }));
    let send = async |owner: &str, method: &str, path: &str, body: &str| {
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
             authorization: Bearer token-of-{owner}-0123456789\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).await.expect("it goes out");
        let mut reply = String::new();
        stream.read_to_string(&mut reply).await.expect("a reply");
        reply
    };
    let next = |id: &str| json!({"model": "m-a", "previous_response_id": id, "input": "2"});
    let path = "/v1/responses";
    let first = json!({"model": "m-a", "input": "1"}).to_string();
    assert!(send("ann", "POST", path, &first).await.starts_with("HTTP/1.1 200"));
    // For another owner, it does not exist.
    let reference = json!([{"type": "item_reference", "id": "msg_1"}, user("2")]);
    let reference = json!({"model": "m-a", "input": reference}).to_string();
    for (method, path, body, status, code) in [
        ("GET", "/v1/responses/resp_1", "", 404, "response_not_found"),
        ("GET", "/v1/responses/resp_1/input_items", "", 404, "response_not_found"),
        ("POST", "/v1/responses/resp_1/cancel", "", 404, "response_not_found"),
        ("DELETE", "/v1/responses/resp_1", "", 404, "response_not_found"),
        ("POST", path, &*next("resp_1").to_string(), 400, "previous_response_not_found"),
        ("POST", path, &*reference, 404, "item_not_found"),
    ] {
        let reply = send("bob", method, path, body).await;
        let is_expected = reply.starts_with(&format!("HTTP/1.1 {status}")) && reply.contains(code);
        assert!(is_expected, "{method} {path}: {reply}");
    }
    // Its owner and an administrator have it, and unknown ids pass.
    for (owner, method, path, body) in [
        ("ann", "POST", path, next("resp_1").to_string()),
        ("eve", "POST", path, next("resp_1").to_string()),
        ("bob", "POST", path, next("resp_7").to_string()),
        ("ann", "GET", "/v1/responses/resp_1", String::new()),
        ("eve", "GET", "/v1/responses/resp_1", String::new()),
    ] {
        let reply = send(owner, method, path, &body).await;
        assert!(reply.starts_with("HTTP/1.1 200"), "{owner} {method} {path}: {reply}");
    }
    let mut sent = Vec::new();
    for _ in 0..6 {
        let request = provider.next().await;
        let id = request.body["previous_response_id"].as_str().unwrap_or_default().to_owned();
        sent.push((request.path, id));
    }
    let stored = "/v1/responses/resp_1";
    let expected = [
        (path, ""),
        (path, "resp_1"),
        (path, "resp_1"),
        (path, "resp_7"),
        (stored, ""),
        (stored, ""),
    ];
    let expected = expected.map(|(path, id)| (path.to_owned(), id.to_owned()));
    assert_eq!(sent, expected);
    stop.send(()).expect("it runs");
    serving.await.expect("it does not panic").expect("it began");
}

/// A gateway of several on one store.
struct GatewayNode {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl GatewayNode {
    async fn start(url: &StoreUrl) -> GatewayNode {
        let store = Arc::new(AnyStore::open(url).await.expect("a store"));
        let route =
            "[[route]]\nmodel = \"m\"\nupstream = \"chat\"\nupstream_model = \"scripted\"\n";
        let engine = engine_on(store.clone(), route).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (stop, stopped) = oneshot::channel::<()>();
        let server = GatewayServer::new(engine.config(), engine, store).log_to(std::io::sink());
        let serving = tokio::spawn(async move {
            let stopped = async {
                let _ = stopped.await;
            };
            server.serve(listener, stopped).await.expect("it began");
        });
        GatewayNode { address, stop, serving }
    }

    /// Sends a request. Returns the status and the body of the reply.
    async fn respond(&self, body: &Value) -> (String, Value) {
        let mut stream = TcpStream::connect(self.address).await.expect("a connection");
        let (address, body) = (self.address, body.to_string());
        let length = body.len();
        let request = format!(
            "POST /v1/responses HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).await.expect("it goes out");
        let mut reply = String::new();
        stream.read_to_string(&mut reply).await.expect("a reply");
        let status = reply.split(' ').nth(1).expect("a status").to_owned();
        let (start, end) = (reply.find('{').expect("JSON"), reply.rfind('}').expect("JSON"));
        (status, serde_json::from_str(&reply[start..=end]).expect("JSON"))
    }

    async fn stop(self) {
        self.stop.send(()).expect("it runs");
        self.serving.await.expect("it does not panic");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_was_found_only_on_the_node_that_gave_it() {
    let server = std::env::var("FOXWEDGE_TEST_POSTGRES").ok();
    let Some(server) = server.filter(|url| !url.is_empty() && url != "off") else {
        println!("skipped: FOXWEDGE_TEST_POSTGRES names no server");
        return;
    };
    let sign = if server.contains('?') { '&' } else { '?' };
    let schema = format!("references_{:016x}", getrandom::u64().expect("randomness"));
    let url: StoreUrl = format!("{server}{sign}schema={schema}").parse().expect("a URL");
    let (one, two) = (GatewayNode::start(&url).await, GatewayNode::start(&url).await);
    let (status, first) = one.respond(&json!({"model": "m", "input": "say one"})).await;
    assert_eq!(status, "200", "{first}");
    // At once, before the session of the first request may be released.
    let next = |id: &Value| json!({"model": "m", "previous_response_id": id, "input": "say two"});
    let (status, second) = two.respond(&next(&first["id"])).await;
    assert_eq!(status, "200", "{second}");
    let reference = json!({"type": "item_reference", "id": first["output"][0]["id"]});
    let items = json!([user("say one"), reference, user("say three")]);
    let (status, third) = two.respond(&json!({"model": "m", "input": items})).await;
    assert_eq!(status, "200", "{third}");
    let (status, unknown) = two.respond(&next(&json!("resp_9"))).await;
    assert_eq!(status, "400", "{unknown}");
    // Without the node, the response is gone.
    one.stop().await;
    let (status, gone) = two.respond(&next(&first["id"])).await;
    assert_eq!((&*status, &gone["error"]["code"]), ("400", &json!("previous_response_not_found")));
    two.stop().await;
}
