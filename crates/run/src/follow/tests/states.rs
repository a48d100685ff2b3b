//! The state of the agent: it waits if it has calls without results and no `result`, independent
//! of `stop_reason` and of the order of the lines.

use crate::follow::{AgentExit, AgentFollower, AgentState, StreamSource};

/// One line for each word. `t` is a text and `x`, `y`, `z` are calls, all of one message; a mark
/// behind them is their stop reason (`!` tool_use, `.` end_turn). `rx` is the result of `x`, `n`
/// the next message, `s` its start in pieces and `S` its stop, `R` a `result`, `R+` one behind
/// which prompts wait, `b` background work and `B` its end, `running` and `idle` what the agent
/// says of itself, `>` a prompt, `ax` a request to allow `x`.
fn line(word: &str) -> (bool, String) {
    let stop = match word.chars().last() {
        Some('!') => r#""tool_use""#,
        Some('.') => r#""end_turn""#,
        _ => "null",
    };
    let bare = word.trim_end_matches(['!', '.']);
    let block = |block: String| {
        format!(
            r#"{{"type":"assistant","message":{{"id":"m1","content":[{block}],"stop_reason":{stop}}}}}"#
        )
    };
    let tasks = |tasks: &str| {
        format!(r#"{{"type":"system","subtype":"background_tasks_changed","tasks":[{tasks}]}}"#)
    };
    let text = match bare {
        "i" => r#"{"type":"system","subtype":"init","session_id":"s","tools":[]}"#.to_owned(),
        "t" => block(r#"{"type":"text","text":"words"}"#.to_owned()),
        "n" => r#"{"type":"assistant","message":{"id":"m2","content":[{"type":"text","text":"n"}]}}"#
            .to_owned(),
        "s" => r#"{"type":"stream_event","event":{"type":"message_start","message":{"id":"m1"}}}"#
            .to_owned(),
        "S" => {
            r#"{"type":"stream_event","event":{"type":"message_delta","delta":{"stop_reason":"tool_use"}}}"#
                .to_owned()
        }
        "R" => r#"{"type":"result","subtype":"success","result":"words"}"#.to_owned(),
        "R+" => {
            r#"{"type":"result","subtype":"success","result":"words","queued_turn_count":1}"#
                .to_owned()
        }
        "b" => tasks(r#"{"task_id":"b"}"#),
        "B" => tasks(""),
        "running" | "idle" => format!(
            r#"{{"type":"system","subtype":"session_state_changed","state":"{bare}"}}"#
        ),
        ">" => r#"{"type":"user","message":{"role":"user","content":"go"}}"#.to_owned(),
        id if id.starts_with('r') => format!(
            r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"{}","content":"ok"}}]}}}}"#,
            &id[1..]
        ),
        id if id.starts_with('a') => format!(
            r#"{{"type":"control_request","request_id":"q","request":{{"subtype":"can_use_tool","tool_name":"T","input":{{}},"tool_use_id":"{}"}}}}"#,
            &id[1..]
        ),
        id => block(format!(r#"{{"type":"tool_use","id":"{id}","name":"T","input":{{}}}}"#)),
    };
    (bare == ">", text)
}

fn after(words: &str) -> AgentFollower {
    let mut follower = AgentFollower::new(StreamSource::ClaudeCode, "run".into());
    for word in words.split_whitespace() {
        let (from_host, line) = line(word);
        if from_host {
            follower.host_line(&line)
        } else {
            follower.line(&line)
        };
    }
    follower
}

fn state(words: &str) -> String {
    told(&after(words).state())
}

fn told(state: &AgentState) -> String {
    match state {
        AgentState::Idle => "idle".into(),
        AgentState::Streaming => "streaming".into(),
        AgentState::Waiting { calls } => {
            let ids = calls.iter().map(|call| call.id.as_deref().unwrap_or("-"));
            format!("waiting {}", ids.collect::<Vec<_>>().join(" "))
        }
        AgentState::Complete => "complete".into(),
    }
}

#[test]
fn b2_2_waiting_and_complete_follow_the_table() {
    let table = [
        ("", "idle"),
        (">", "streaming"),
        ("i", "streaming"),
        // No calls: it streams until the `result`.
        ("i t", "streaming"),
        ("i t.", "streaming"),
        ("i t. R", "complete"),
        // Calls and no `result`: it waits, with a stop reason or without.
        ("i x", "waiting x"),
        ("i x!", "waiting x"),
        ("i x.", "waiting x"),
        ("i t x y z", "waiting x y z"),
        ("i t x! y! z!", "waiting x y z"),
        ("i t x! y z", "waiting x y z"),
        ("i x y! rx", "waiting y"),
        ("i x rx y! ry", "streaming"),
        ("i x rx", "streaming"),
        ("i x rx n", "streaming"),
        // A `result` ends the waiting.
        ("i x R", "complete"),
        ("i x! R", "complete"),
        ("i x! rx n. R", "complete"),
        // While the reply is streamed, more calls may follow.
        ("i s x", "streaming"),
        ("i s x y", "streaming"),
        ("i s x y S", "waiting x y"),
        ("i s x rx y S", "waiting y"),
        ("i s x y S rx ry", "streaming"),
        // A person must approve.
        ("i x ax", "waiting x"),
        ("i ax", "waiting x"),
        // A `result` is not the end if something remains.
        ("i t R+", "streaming"),
        ("i t R+ n R", "complete"),
        ("i b t R", "streaming"),
        ("i b t R B", "complete"),
        // Background tasks of an earlier run are not waited for.
        ("> i b t R > i t R", "complete"),
        ("i t R n", "streaming"),
        ("i t R n R", "complete"),
        // Nor if the agent itself reports when it is idle.
        ("running i t R", "streaming"),
        ("running i t R idle", "complete"),
        ("running i x", "waiting x"),
        ("running i t R n R idle", "complete"),
        // The next prompt.
        ("i t R >", "streaming"),
        ("> i t R > i", "streaming"),
        ("> i x R > i", "streaming"),
        ("> i t R > i x", "waiting x"),
        ("> i t R > i t R", "complete"),
        // A prompt while it works changes nothing.
        ("> i x >", "waiting x"),
    ];
    for (words, expected) in table {
        assert_eq!(state(words), expected, "{words}");
    }
}

/// All permutations of these items.
fn orders(words: &[&'static str]) -> Vec<Vec<&'static str>> {
    if words.is_empty() {
        return vec![Vec::new()];
    }
    let mut orders = Vec::new();
    for at in 0..words.len() {
        let mut rest = words.to_vec();
        let first = rest.remove(at);
        for mut order in self::orders(&rest) {
            order.insert(0, first);
            orders.push(order);
        }
    }
    orders
}

#[test]
fn b2_2_no_order_of_fragments_and_no_stop_reason_changes_what_it_waits_for() {
    let stops = ["", "!", "."];
    for order in orders(&["t", "x", "y"]) {
        for number in 0..27 {
            let stop = |at: usize| stops[number / 3_usize.pow(at as u32) % 3];
            let words: Vec<String> =
                order.iter().enumerate().map(|(at, word)| format!("{word}{}", stop(at))).collect();
            let words = format!("i {}", words.join(" "));
            let open: Vec<&str> = order.iter().copied().filter(|word| *word != "t").collect();
            assert_eq!(state(&words), format!("waiting {}", open.join(" ")), "{words}");
            assert_eq!(state(&format!("{words} rx")), "waiting y", "{words}");
            assert_eq!(state(&format!("{words} ry rx")), "streaming", "{words}");
            assert_eq!(state(&format!("{words} R")), "complete", "{words}");
        }
    }
}

#[test]
fn results_between_the_fragments_of_their_message_change_nothing() {
    let words = ["t", "x", "y", "z", "rx", "ry", "rz"];
    let legal = |order: &&Vec<&str>| {
        let at = |word: &str| order.iter().position(|other| *other == word);
        at("t") < at("x")
            && at("x") < at("y")
            && at("y") < at("z")
            && ["x", "y", "z"].iter().all(|id| at(id) < at(&format!("r{id}")))
    };
    let orders = orders(&words);
    let legal: Vec<&Vec<&str>> = orders.iter().filter(legal).collect();
    assert_eq!(legal.len(), 15);
    let truth = |order: &[&str]| {
        let mut follower = AgentFollower::new(StreamSource::ClaudeCode, "run".into());
        let lines = ["i"].iter().chain(order).chain(&["n", "R"]);
        let mut events: Vec<_> = lines.flat_map(|word| follower.line(&line(word).1)).collect();
        events.extend(follower.finish(AgentExit::Eof));
        let mut told = super::story::told(&events);
        told.sort();
        (told, follower.state())
    };
    for order in &legal {
        assert_eq!(truth(order), truth(&words), "{order:?}");
    }
}

#[test]
fn a_run_is_complete_when_its_end_is_emitted() {
    for (words, exit) in
        [("i x", AgentExit::Eof), ("", AgentExit::Code(1)), ("i t R", AgentExit::Code(0))]
    {
        let mut follower = after(words);
        assert!(!follower.finish(exit).is_empty(), "{words}");
        assert_eq!(follower.state(), AgentState::Complete, "{words}");
        assert_eq!(follower.finish(exit), [], "{words}");
    }
}
