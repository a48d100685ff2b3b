//! What the record says of runs with live agents when clients misbehave, come late, or begin alike;
//! and that a request that is refused changes nothing.

use serde_json::{Value, json};

use crate::{
    chat::{Call, Chat, Door, PATH, Turn, please, told},
    faces::messages,
    stage::Stage,
    stories::{World as _, says_all, wait_until},
    wire::{self, Answer},
};

const IGNORED: &str = "x-foxwedge-ignored-results";

fn run_of(turn: &Turn) -> String {
    turn.header("x-foxwedge-run").to_owned()
}

fn run(door: &Door, id: &str) -> Value {
    door.get(&format!("/v1/runs/{id}")).expect("a run")
}

/// The calls of a run, by id, status and reason.
fn tools(run: &Value) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let tools = run["tools"].as_array().expect("calls").iter();
    tools.map(|tool| (text(&tool["id"]), text(&tool["status"]), text(&tool["reason"]))).collect()
}

fn unknown(like: &Call) -> Call {
    Call { id: "call_nobody".to_owned(), ..like.clone() }
}

/// Every run that is known, with how it stands.
fn runs(door: &Door) -> Vec<(String, Value)> {
    let runs = door.get("/v1/runs").expect("runs");
    let runs = runs["data"].as_array().expect("a list").iter();
    runs.map(|run| (run["id"].as_str().unwrap_or_default().to_owned(), run.clone())).collect()
}

/// The conversation begins with two calls.
fn two_open(door: &Door, stream: bool) -> (Chat, Vec<Call>, String) {
    let mut chat = Chat::new("agent", &["look"]);
    chat.stream = stream;
    let wanted = [1, 2].map(|n| ("look", json!({"n": n})));
    let turn = chat.say(&please(&wanted)).ask(door).expect("calls");
    assert_eq!(turn.calls.len(), 2, "{turn:?}");
    (chat, turn.calls.clone(), run_of(&turn))
}

#[test]
fn a_refused_request_changes_nothing_in_the_record() {
    let stage = Stage::plain();
    let door = stage.door();
    let (mut chat, calls, waits) = two_open(&door, false);
    let before = (runs(&door), run(&door, &waits), door.get("/health").expect("health"));
    assert_eq!(before.1["state"], "open");
    let nobody = unknown(&calls[0]);
    let mut foreign = chat.clone();
    foreign.model = "no-such-model".to_owned();
    let mut cut = chat.body().to_string();
    cut.truncate(cut.len() / 2);
    let post = |body: &str| {
        let headers = format!("x-foxwedge-token: {}\r\n", door.token);
        wire::send(&door.address, &wire::post(PATH, &headers, body)).expect("a reply")
    };
    let empty = json!({"model": "agent", "messages": []}).to_string();
    let refusals: [(Answer, u16, &str); 6] = [
        (chat.clone().answer(&nobody).raw(&door).expect("a reply"), 400, "unknown_call"),
        (
            chat.clone().streaming().answer(&nobody).answer(&nobody).raw(&door).expect("a reply"),
            400,
            "unknown_call",
        ),
        (foreign.answer(&calls[0]).raw(&door).expect("a reply"), 404, "model_not_found"),
        (post(&cut), 400, "invalid_body"),
        (post(&empty), 400, "nothing_new"),
        (
            wire::send(&door.address, &wire::post(PATH, "", chat.body().to_string()))
                .expect("a reply"),
            401,
            "",
        ),
    ];
    for (answer, status, code) in &refusals {
        assert_eq!(answer.status, *status, "{answer:?}");
        assert!(answer.body.contains(code), "{answer:?}");
        assert_eq!(answer.header("x-foxwedge-run"), "", "no run was made for it: {answer:?}");
    }
    let after = (runs(&door), run(&door, &waits), door.get("/health").expect("health"));
    assert_eq!(before, after);
    // The right answers are still awaited, by the same run.
    let turn = chat.answer(&calls[0]).answer(&calls[1]).ask(&door).expect("a reply");
    says_all(&turn, &calls).expect("all answers");
    assert_eq!(run_of(&turn), waits);
    let run = run(&door, &waits);
    assert_eq!(
        (run["state"].as_str(), run["outcome"].as_str()),
        (Some("ended"), Some("completed"))
    );
    let done = |call: &Call| (call.id.clone(), "succeeded".to_owned(), "-".to_owned());
    assert_eq!(tools(&run), calls.iter().map(done).collect::<Vec<_>>());
    stage.end();
}

#[test]
fn an_unknown_answer_is_refused_by_every_face_and_after_a_restart() {
    let mut stage = Stage::plain();
    let prompt = please(&[("look", json!({"n": 1}))]);
    let tools = json!([{"name": "look", "input_schema": {"type": "object"}}]);
    let mut body = json!({
        "model": "agent", "max_tokens": 100, "tools": tools,
        "messages": [{"role": "user", "content": prompt}],
    });
    let heard = messages(&stage.door(), &mut body, false);
    let list = body["messages"].as_array_mut().expect("a list");
    list.extend(heard.kept.clone());
    let mut wrong = body.clone();
    let result = |id: &str| {
        let block = json!({"type": "tool_result", "tool_use_id": id, "content": "42"});
        json!({"role": "user", "content": [block]})
    };
    let list = wrong["messages"].as_array_mut().expect("a list");
    list.push(result("toolu_nobody"));
    for restart in [false, true] {
        if restart {
            stage.restart().expect("a gateway");
        }
        let answer = stage.door().post("/v1/messages", &wrong).expect("a reply");
        assert_eq!(answer.status, 400, "{answer:?}");
        assert_eq!(answer.json()["type"], "error", "{answer:?}");
        assert!(answer.body.contains("toolu_nobody"), "{answer:?}");
    }
    body["messages"].as_array_mut().expect("a list").push(result(&heard.calls[0].0));
    assert_eq!(messages(&stage.door(), &mut body, false).text, "The tool said: 42");
    stage.end();
}

#[test]
fn answers_that_are_of_no_use_are_named_beside_others() {
    let stage = Stage::plain();
    let door = stage.door();
    let (mut chat, calls, waits) = two_open(&door, false);
    let turn = chat.answer(&unknown(&calls[0])).answer(&calls[1]).ask(&door).expect("the other");
    assert_eq!(turn.header(IGNORED), "call_nobody;reason=unknown", "{turn:?}");
    assert_eq!((turn.ids(), run_of(&turn)), (vec![&*calls[0].id], waits.clone()));
    chat.answer_with(&calls[1], "once more").answer(&calls[0]);
    let turn = chat.ask(&door).expect("a reply");
    assert_eq!(turn.header(IGNORED), "", "clients repeat what they sent");
    says_all(&turn, &calls).expect("all answers");
    assert_eq!(run_of(&turn), waits);
    let logged = "\"ignored_results\":\"call_nobody;reason=unknown\"";
    wait_until("it is in the log", || stage.said().contains(logged)).expect("a line");
    let turn = chat.say("and now?").ask(&door).expect("a reply");
    assert_eq!(turn.header(IGNORED), "");
    stage.end();
}

/// Waits until no call of an agent waits for its client any more.
fn nothing_waits(door: &Door) {
    let mut agents = Value::Null;
    let waited = wait_until("the calls time out", || {
        agents = door.get("/health").unwrap_or_default()["agents"].clone();
        agents["waiting"] == 0 && agents["calls"] == 0
    });
    waited.unwrap_or_else(|trouble| panic!("{trouble}: {agents}"));
}

const SHORT: &str =
    "[sessions]\ncall_timeout = \"500ms\"\nreply_ttl = \"10m\"\nsession_ttl = \"10m\"\n";

#[test]
fn a_call_that_times_out_is_closed_alone_and_its_run_goes_on() {
    for stream in [false, true] {
        let stage = Stage::set(SHORT, &[("agent", "", "")]);
        let door = stage.door();
        let (mut chat, calls, waits) = two_open(&door, stream);
        let turn = chat.answer(&calls[0]).ask(&door);
        // On a slow machine the other one may have timed out by now: then its turn is over, too.
        let turn = turn.expect("a reply");
        if turn.ids() == [&*calls[1].id] {
            nothing_waits(&door);
            let run = run(&door, &waits);
            assert_eq!(run["state"], "open", "{run}");
            assert_eq!(stage.count("start"), 1, "nobody had to start anew");
            let turn = chat.answer_with(&calls[1], "too late").ask(&door).expect("a reply");
            let late = format!("{};reason=late", calls[1].id.to_ascii_lowercase());
            assert_eq!((turn.header(IGNORED), run_of(&turn)), (&*late, waits.clone()));
            let words = format!("The tools said: {} | [foxwedge] Timed out", told(&calls[0]));
            assert!(turn.text.starts_with(&words), "{turn:?}");
            let run = self::run(&door, &waits);
            assert_eq!(run["outcome"], "completed", "{run}");
            let expected = [
                (calls[0].id.clone(), "succeeded".to_owned(), "-".to_owned()),
                (calls[1].id.clone(), "failed".to_owned(), "timed_out".to_owned()),
            ];
            assert_eq!(tools(&run), expected);
            let turn = chat.say("and now?").ask(&door).expect("a reply");
            assert!(turn.text.contains("and now?"), "{turn:?}");
            assert_eq!(stage.count("start"), 1, "the same agent goes on");
            assert_ne!(run_of(&turn), waits);
        }
        stage.end();
    }
}

#[test]
fn what_an_agent_says_behind_a_timeout_is_heard_by_whoever_asks_next() {
    let stage = Stage::set(SHORT, &[("agent", "", "")]);
    let door = stage.door();
    let (mut chat, _, waits) = two_open(&door, false);
    nothing_waits(&door);
    let turn = chat.say("still there?").ask(&door).expect("a reply");
    // An agent that is still at work takes the words into its turn; one at rest replies to them.
    assert!(turn.text.starts_with("The tools said: [foxwedge] Timed out"), "{turn:?}");
    wait_until("it hears the words", || stage.count("prompt") == 2).expect("a prompt");
    assert_eq!((run_of(&turn), stage.count("start")), (waits.clone(), 1));
    let run = run(&door, &waits);
    assert_eq!(run["outcome"], "completed", "{run}");
    assert!(
        tools(&run).iter().all(|(_, status, why)| (&**status, &**why) == ("failed", "timed_out"))
    );
    stage.end();
}

#[test]
fn a_run_whose_client_never_comes_back_is_closed_and_everything_is_free() {
    let settings =
        "[sessions]\ncall_timeout = \"300ms\"\nreply_ttl = \"1s\"\nsession_ttl = \"2s\"\n";
    let stage = Stage::set(settings, &[("agent", "", "idle_timeout = \"500ms\"")]);
    let door = stage.door();
    let (_, _, waits) = two_open(&door, false);
    stage.knows_nobody();
    let mut run = Value::Null;
    wait_until("the run is closed", || {
        run = self::run(&door, &waits);
        run["state"] == "ended"
    })
    .expect("an end");
    assert_eq!(run["outcome"], "failed", "{run}");
    assert_eq!(run["problem"]["code"], "timed_out", "{run}");
    assert!(
        tools(&run).iter().all(|(_, status, why)| (&**status, &**why) == ("failed", "timed_out"))
    );
    let gauges = ["tools_open", "trie_nodes", "trie_depth", "sessions", "sessions_busy"];
    let gauges = gauges.iter().chain(&["snapshots", "snapshot_bytes", "agents_waiting"]);
    let zero: Vec<String> = gauges.map(|name| format!("foxwedge_{name} 0")).collect();
    let mut found = String::new();
    wait_until("every gauge is zero", || {
        let headers = format!("x-foxwedge-token: {}\r\n", door.token);
        let answer = wire::send(&door.address, &wire::get("/metrics", &headers)).expect("a reply");
        found = answer.body;
        zero.iter().all(|line| found.lines().any(|it| it == line))
    })
    .unwrap_or_else(|trouble| panic!("{trouble}: {found}"));
    stage.end();
}

#[test]
fn no_run_stays_open_when_a_gateway_dies_between_answers() {
    // The client repeats the reply that lists what is open, or it does not.
    for repeats in [false, true] {
        let mut stage = Stage::plain();
        let (mut chat, calls, _) = two_open(&stage.door(), false);
        // Whoever looks finds everything written.
        assert_eq!(runs(&stage.door()).len(), 1);
        stage.restart().expect("a gateway");
        let door = stage.door();
        chat.answer(&calls[0]);
        let turn = if repeats { chat.ask(&door) } else { chat.peek(&door) }.expect("a reply");
        assert_eq!((turn.ids(), turn.header("x-foxwedge-match")), (vec![&*calls[1].id], "prefix"));
        let (session, waits) = (turn.header("x-foxwedge-session").to_owned(), run_of(&turn));
        let turn = chat.answer(&calls[1]).ask(&door).expect("a reply");
        says_all(&turn, &calls).expect("all answers");
        assert_eq!(turn.header("x-foxwedge-match"), "prefix");
        assert_eq!((turn.header("x-foxwedge-session"), run_of(&turn)), (&*session, waits));
        let open: Vec<_> =
            runs(&door).into_iter().filter(|(_, run)| run["state"] == "open").collect();
        assert_eq!(open, []);
        stage.end();
    }
}

#[test]
fn a_partial_reply_and_a_restart_behind_it_keep_the_session() {
    for repeats in [false, true] {
        let mut stage = Stage::plain();
        let door = stage.door();
        let (mut chat, calls, _) = two_open(&door, true);
        chat.answer(&calls[1]);
        let turn = if repeats { chat.ask(&door) } else { chat.peek(&door) }.expect("a reply");
        let session = turn.header("x-foxwedge-session").to_owned();
        assert_eq!(runs(&door).len(), 1);
        stage.restart().expect("a gateway");
        let door = stage.door();
        let turn = chat.answer(&calls[0]).ask(&door).expect("a reply");
        says_all(&turn, &calls).expect("all answers");
        let found = (turn.header("x-foxwedge-session"), turn.header("x-foxwedge-match"));
        assert_eq!(found, (&*session, "prefix"));
        assert!(runs(&door).iter().all(|(_, run)| run["state"] == "ended"));
        stage.end();
    }
}

#[test]
fn ids_of_replies_differ_from_conversation_to_conversation_and_are_the_same_for_the_same() {
    let settings = "[sessions]\nretries = \"never\"\n";
    let mut stage = Stage::set(settings, &[("agent", "", "")]);
    let mut ids = Vec::new();
    let mut chats = Vec::new();
    for _ in 0..2 {
        let door = stage.door();
        let (mut chat, calls, _) = two_open(&door, false);
        let id = |turn: &Turn| turn.answer.json()["id"].clone();
        chat.answer(&calls[0]);
        let turn = chat.ask(&door).expect("the other");
        assert_eq!(turn.ids(), [&*calls[1].id]);
        ids.push(id(&turn));
        // The same once more, with nobody who could answer: listed again, under another id.
        let turn = chat.peek(&door).expect("the other");
        ids.push(id(&turn));
        chats.push(chat);
    }
    stage.restart().expect("a gateway");
    let door = stage.door();
    for chat in &chats {
        let first = chat.peek(&door).expect("the open call").answer.json()["id"].clone();
        let again = chat.peek(&door).expect("the open call").answer.json()["id"].clone();
        assert_eq!(first, again);
        ids.push(first);
    }
    for (at, id) in ids.iter().enumerate() {
        assert!(id.is_string() && !ids[..at].contains(id), "{ids:?}");
    }
    stage.end();
}

#[test]
fn nothing_is_put_into_the_mouth_of_a_user_who_said_nothing() {
    let stage = Stage::plain();
    let door = stage.door();
    let user = |text: &str| json!({"role": "user", "content": text});
    let assistant = json!({"role": "assistant", "content": "I am done."});
    let histories = [
        json!([]),
        json!([{"role": "system", "content": "Be brief."}]),
        json!([user("hello"), assistant]),
        json!([user("hello"), assistant, user("")]),
        json!([user(" \n")]),
    ];
    for history in &histories {
        for stream in [false, true] {
            let body = json!({"model": "agent", "messages": history, "stream": stream});
            let answer = door.post(PATH, &body).expect("a reply");
            assert_eq!(answer.status, 400, "{history}: {answer:?}");
            assert_eq!(answer.json()["error"]["code"], "nothing_new", "{answer:?}");
            assert_eq!(answer.json()["error"]["param"], "messages", "{answer:?}");
        }
    }
    let answer = door.post("/v1/responses", &json!({"model": "agent", "input": []}));
    let answer = answer.expect("a reply");
    assert_eq!((answer.status, &answer.json()["error"]["param"]), (400, &json!("input")));
    let body = json!({"model": "agent", "max_tokens": 9, "messages": []});
    let answer = door.post("/v1/messages", &body).expect("a reply");
    assert_eq!((answer.status, &answer.json()["type"]), (400, &json!("error")), "{answer:?}");
    assert_eq!((stage.count("start"), runs(&door).len()), (0, 0));
    stage.end();
}

#[test]
fn conversations_that_begin_alike_stay_apart() {
    let settings = "[sessions]\nretries = \"never\"\n";
    let stage = Stage::set(settings, &[("agent", "", "")]);
    let door = stage.door();
    let mut all: Vec<_> = (0..4).map(|_| two_open(&door, false)).collect();
    assert_eq!(stage.count("start"), 4, "each has a process of its own");
    for (at, (chat, calls, _)) in all.iter_mut().enumerate() {
        let turn = chat.answer_with(&calls[at % 2], &format!("{at} first")).ask(&door);
        assert_eq!(turn.expect("the other").ids(), [&*calls[1 - at % 2].id]);
    }
    for (at, (chat, calls, waits)) in all.iter_mut().enumerate().rev() {
        let turn = chat.answer_with(&calls[1 - at % 2], &format!("{at} second")).ask(&door);
        let turn = turn.expect("a reply");
        let mut said = [format!("{at} first"), format!("{at} second")];
        if at % 2 == 1 {
            said.reverse();
        }
        assert_eq!(turn.text, format!("The tools said: {}", said.join(" | ")));
        assert_eq!(run_of(&turn), *waits);
    }
    assert!(runs(&door).iter().all(|(_, run)| run["outcome"] == "completed"));
    stage.end();
}

#[test]
fn texts_of_two_messages_are_parted_by_a_blank_line_everywhere() {
    for stream in [false, true] {
        let stage = Stage::set("[record]\nstore_content = true\n", &[("agent", "own-tool", "")]);
        let door = stage.door();
        let mut chat = Chat::new("agent", &[]);
        chat.stream = stream;
        let turn = chat.say("hello").ask(&door).expect("a reply");
        let text = turn.text.clone();
        let mut body = json!({
            "model": "agent", "max_tokens": 100, "messages": [{"role": "user", "content": "hello"}],
        });
        let heard = messages(&door, &mut body, stream);
        assert!(text.contains("\n\n"), "{turn:?}");
        assert_eq!(heard.text, text);
        let run = run(&door, &run_of(&turn));
        let kept: String = run["texts"]
            .as_array()
            .expect("texts")
            .iter()
            .map(|item| item["text"].as_str().unwrap_or_default())
            .collect();
        assert_eq!(kept, text, "{run}");
        // What the client repeats is what the agent said: it goes on.
        let turn = chat.say("and now?").ask(&door).expect("a reply");
        assert!(turn.text.contains("and now?"), "{turn:?}");
        assert_eq!(stage.count("start"), 2);
        stage.end();
    }
}
