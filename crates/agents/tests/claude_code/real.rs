//! A real process of the agent in front of the scripted model. `FOXWEDGE_CLAUDE_CODE` names its
//! command (words with spaces between them), `FOXWEDGE_MODEL` the address that `foxwedge scripted`
//! prints.

use foxwedge_agents::claude_code::ClaudeCode;
use foxwedge_agents::{AgentCommand, AgentEvent, PermissionDecision, PermissionKind};
use serde_json::{Value, json};

use crate::support::kind;

mod process;

use process::Live;

/// A call of the client's tool, in the words that make the scripted model call it.
fn weather(city: &str) -> String {
    format!("call mcp__client__weather with {{\"city\":\"{city}\"}}")
}

fn tool(name: &str) -> Value {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    json!({"name": name, "description": "The weather.", "input_schema": schema})
}

fn quiet() -> ClaudeCode {
    ClaudeCode { may_ask: false, ..kind() }
}

/// An agent that was greeted: older versions put a note before the first words.
fn greeted(kind: &ClaudeCode, faults: &str) -> Live {
    let hello = json!({"role": "user", "content": "Hello"});
    let mut live =
        Live::start(kind, &json!({"tools": [tool("weather")], "messages": [hello]}), faults);
    live.reply();
    live
}

#[test]
fn three_calls_at_once_are_answered_in_reverse_order() {
    let mut live = greeted(&quiet(), "");
    live.say(&["Ulm", "Rom", "Bonn"].map(weather).join(" and "));
    let mut wishes = live.wishes(3);
    wishes.reverse();
    for (ticket, arguments) in &wishes {
        live.answer(ticket, &format!("sunny in {}", arguments["city"]));
    }
    let said = live.reply();
    for city in ["Ulm", "Rom", "Bonn"] {
        assert!(said.contains(&format!("sunny in \"{city}\"")), "{said}");
    }
    let closed = live
        .heard
        .iter()
        .filter(|heard| matches!(heard, AgentEvent::CallClosed { error: false, .. }));
    assert_eq!(closed.count(), 3);
}

#[test]
fn many_calls_are_wanted_at_once() {
    let mut live = greeted(&quiet(), "");
    let cities: Vec<String> = (0..25).map(|number| weather(&number.to_string())).collect();
    live.say(&cities.join(" and "));
    for (ticket, _) in live.wishes(25) {
        live.answer(&ticket, "sun");
    }
    assert!(live.reply().starts_with("The tools said: sun | sun"));
}

#[test]
fn words_right_behind_answers_are_heard() {
    let mut live = greeted(&quiet(), "");
    live.say(&weather("Ulm"));
    let wishes = live.wishes(1);
    live.answer(&wishes[0].0, "sunny");
    live.say("And tomorrow?");
    let said = live.reply();
    assert!(said.contains("sunny") || said.contains("tomorrow"), "{said}");
    live.say("Still there?");
    assert_eq!(live.reply(), "You said: Still there?");
}

fn answered(tail: &[Value]) -> Value {
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "weather", "input": {}});
    let result =
        |id: &str, said: &str| json!({"type": "tool_result", "tool_use_id": id, "content": said});
    let mut messages = vec![
        json!({"role": "user", "content": "Weather?"}),
        json!({"role": "assistant", "content": [call("toolu_a"), call("toolu_b")]}),
        json!({"role": "user", "content": [result("toolu_a", "sun"), result("toolu_b", "rain")]}),
    ];
    messages.extend(tail.iter().cloned());
    json!({"tools": [tool("weather")], "messages": messages})
}

#[test]
fn a_history_that_ends_with_answers_goes_on_by_itself() {
    let mut live = Live::start(&quiet(), &answered(&[]), "");
    assert_eq!(live.reply(), "The tools said: sun | rain");
    live.say("More?");
    assert_eq!(live.reply(), "You said: More?");
}

#[test]
fn a_history_that_ends_with_words_goes_on_with_them() {
    let said = json!({"role": "assistant", "content": "Sun and rain."});
    let words = json!({"role": "user", "content": "And tomorrow?"});
    let mut live = Live::start(&quiet(), &answered(&[said, words]), "");
    assert_eq!(live.reply(), "You said: And tomorrow?");
}

#[test]
fn a_history_with_words_behind_answers_goes_on_by_itself() {
    let words = json!({"role": "user", "content": "/cost is a word"});
    let mut live = Live::start(&quiet(), &answered(&[words]), "");
    let said = live.reply();
    assert!(said.contains("sun | rain") || said.contains("/cost is a word"), "{said}");
}

#[test]
fn a_thousand_tools_and_long_instructions() {
    let tools: Vec<Value> = (0..1_000)
        .map(|number| {
            let mut tool = tool(&format!("tool_{number}"));
            // Not all of them: the model reads them all.
            tool["description"] = json!("x".repeat(if number < 20 { 3_000 } else { 10 }));
            tool
        })
        .collect();
    let body = json!({
        "system": "s".repeat(300_000),
        "tools": tools,
        "messages": [{"role": "user", "content": "Hello"}],
    });
    let mut live = Live::start(&quiet(), &body, "");
    live.reply();
    live.say("call mcp__client__tool_0 and mcp__client__tool_999");
    for (ticket, _) in live.wishes(2) {
        live.answer(&ticket, "done");
    }
    assert_eq!(live.reply(), "The tools said: done | done");
}

#[test]
fn a_long_answer_arrives_whole() {
    let mut live = greeted(&quiet(), "");
    live.say(&weather("Ulm"));
    let wishes = live.wishes(1);
    live.answer(&wishes[0].0, &"0123456789 ".repeat(20_000));
    let said = live.reply();
    assert!(said.starts_with("The tool said: 0123456789"), "{said}");
}

#[test]
fn commands_and_files_are_only_words() {
    let mut live = greeted(&ClaudeCode { bare: false, ..quiet() }, "");
    for words in ["/compact", "/cost", "/no-such-command at all", "!ls", "@/etc/hostname"] {
        live.say(words);
        let said = live.reply();
        assert!(said.trim_end().ends_with(words), "{said}");
    }
}

#[test]
fn a_question_is_answered() {
    let mut live = greeted(&ClaudeCode { bare: false, ..kind() }, "");
    let options = r#"[{"label":"Red","description":"warm"},{"label":"Blue","description":"cold"}]"#;
    live.say(&format!(
        "call AskUserQuestion with {{\"questions\":[{{\"question\":\"Which?\",\
         \"header\":\"Colour\",\"multiSelect\":false,\"options\":{options}}}]}}"
    ));
    let heard = live.until(|heard| matches!(heard, AgentEvent::PermissionRequested(_)));
    let Some(AgentEvent::PermissionRequested(ask)) = heard.into_iter().next_back() else {
        panic!("no question")
    };
    assert_eq!(ask.kind, PermissionKind::Questions);
    let answers = [("Which?".to_owned(), json!("Blue"))].into_iter().collect();
    live.order(AgentCommand::Decide {
        request: ask,
        decision: PermissionDecision::Answers(answers),
    });
    let said = live.reply();
    assert!(said.contains("Blue"), "{said}");
}

#[test]
fn a_permission_is_denied() {
    let kind = ClaudeCode { bare: false, tools: vec!["Write".to_owned()], ..kind() };
    let mut live = greeted(&kind, "");
    live.say("call Write with {\"file_path\":\"/tmp/foxwedge-never\",\"content\":\"x\"}");
    let heard = live.until(|heard| matches!(heard, AgentEvent::PermissionRequested(_)));
    let Some(AgentEvent::PermissionRequested(ask)) = heard.into_iter().next_back() else {
        panic!("no question")
    };
    assert_eq!(ask.kind, PermissionKind::Permission);
    let message = "Not here.".to_owned();
    live.order(AgentCommand::Decide {
        request: ask,
        decision: PermissionDecision::Deny { message },
    });
    let said = live.reply();
    assert!(said.contains("Not here."), "{said}");
    assert!(
        live.heard.iter().any(|heard| matches!(heard, AgentEvent::CallClosed { error: true, .. }))
    );
}

#[test]
fn an_interrupt_withdraws_what_is_open() {
    let mut live = greeted(&quiet(), "");
    live.say(&["Ulm", "Rom"].map(weather).join(" and "));
    live.wishes(2);
    live.order(AgentCommand::Interrupt);
    let heard = live.until(|heard| *heard == AgentEvent::Idle);
    let withdrawn =
        heard.iter().filter(|heard| matches!(heard, AgentEvent::Withdrawn { .. })).count();
    let closed =
        heard.iter().filter(|heard| matches!(heard, AgentEvent::CallClosed { error: true, .. }));
    assert_eq!((withdrawn, closed.count()), (2, 2), "{heard:?}");
    let stopped = |heard: &AgentEvent| match heard {
        AgentEvent::TurnEnded { failure: Some(trouble), .. } => trouble.stopped,
        _ => false,
    };
    assert!(heard.iter().any(stopped), "{heard:?}");
    live.say("Still there?");
    // The scripted model speaks about answers first.
    let said = live.reply();
    assert!(said.starts_with("The tools said: "), "{said}");
}

#[test]
fn a_provider_that_refuses_is_trouble() {
    let hello = json!({"messages": [{"role": "user", "content": "Hello"}]});
    let mut live = Live::start(&quiet(), &hello, ", status=400");
    let heard = live.until(|heard| *heard == AgentEvent::Idle);
    let troubles: Vec<_> = heard
        .iter()
        .filter_map(|heard| match heard {
            AgentEvent::TurnEnded { failure: Some(trouble), .. } => Some(trouble.status),
            _ => None,
        })
        .collect();
    assert_eq!(troubles, [Some(400)], "{heard:?}");
}
