//! Recordings of real processes, line by line.

use foxwedge_agents::{AgentCommand, AgentEvent, AgentProtocol, PermissionDecision};
use serde_json::json;

use crate::support::{Judge, pipe, recordings, written};

#[test]
fn every_recording_is_heard() {
    for (name, lines) in recordings() {
        let mut pipe = pipe();
        let mut judge = Judge::default();
        let mut story = String::new();
        let mut told = |what: &str| {
            story.push_str(what);
            story.push('\n');
        };
        for line in pipe.begin() {
            told(&format!("→ {line}"));
        }
        let mut wishes = Vec::new();
        let mut questions = Vec::new();
        for line in &lines {
            let (heard, answers) = pipe.read_line(line.as_bytes());
            for heard in heard {
                told(&written(&heard));
                judge.hear(&heard);
                match heard {
                    AgentEvent::ToolResultWanted { ticket, .. } => wishes.push(ticket),
                    AgentEvent::PermissionRequested(ask) => questions.push(ask),
                    AgentEvent::Unreadable => panic!("{name}: noise: {line}"),
                    AgentEvent::Ready
                    | AgentEvent::StreamEvent(_)
                    | AgentEvent::Withdrawn { .. }
                    | AgentEvent::CallClosed { .. }
                    | AgentEvent::TurnEnded { .. }
                    | AgentEvent::Idle => {}
                }
            }
            for answer in answers {
                told(&format!("→ {answer}"));
            }
        }
        // Nobody answered while it was recorded; what the answers would have been.
        for ticket in wishes.into_iter().rev() {
            let content = vec![json!({"type": "text", "text": "sunny"})];
            for line in
                pipe.encode_command(AgentCommand::ToolResult { ticket, content, error: false })
            {
                told(&format!("→ {line}"));
            }
        }
        for ask in questions {
            let message = "No.".to_owned();
            for line in pipe.encode_command(AgentCommand::Decide {
                request: ask,
                decision: PermissionDecision::Deny { message },
            }) {
                told(&format!("→ {line}"));
            }
        }
        assert!(judge.between_messages(), "{name}: a message has no end");
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("../../../../fixtures/agents/claude-code/live");
        settings.set_prepend_module_to_snapshot(false);
        settings.bind(|| insta::assert_snapshot!(name, story));
    }
}

#[test]
fn three_answers_in_reverse_order_go_to_their_calls_once() {
    let (_, lines) = recordings()
        .into_iter()
        .find(|(name, _)| name == "2.1.325-sdk-mcp-parallel3-readonly")
        .unwrap();
    let mut pipe = pipe();
    let mut wishes = Vec::new();
    for line in &lines {
        for heard in pipe.read_line(line.as_bytes()).0 {
            if let AgentEvent::ToolResultWanted { ticket, call, .. } = heard {
                wishes.push((ticket, call.unwrap()));
            }
        }
    }
    assert_eq!(wishes.len(), 3);
    for (ticket, _) in wishes.iter().rev() {
        let content = vec![json!({"type": "text", "text": ticket})];
        let answer = AgentCommand::ToolResult { ticket: ticket.clone(), content, error: true };
        let said = pipe.encode_command(answer.clone());
        assert_eq!(said.len(), 1);
        let line: serde_json::Value = serde_json::from_str(&said[0]).unwrap();
        assert_eq!(line["response"]["request_id"], json!(ticket));
        let result = &line["response"]["response"]["mcp_response"];
        assert_eq!(result["result"]["content"][0]["text"], json!(ticket));
        assert_eq!(result["result"]["isError"], json!(true));
        assert!(result["id"].is_number());
        assert!(pipe.encode_command(answer).is_empty(), "the second answer says nothing");
    }
}

#[test]
fn a_message_that_never_ends_is_ended_when_it_is_quiet() {
    let (_, lines) =
        recordings().into_iter().find(|(name, _)| name == "2.1.112-cut-behind-a-call").unwrap();
    let mut pipe = pipe();
    let mut judge = Judge::default();
    for line in &lines {
        let heard = pipe.read_line(line.as_bytes()).0;
        heard.iter().for_each(|heard| judge.hear(heard));
        if heard.iter().any(|heard| matches!(heard, AgentEvent::ToolResultWanted { .. })) {
            break;
        }
    }
    assert!(!judge.between_messages(), "the provider broke off in a message");
    let heard = pipe.on_silence();
    heard.iter().for_each(|heard| judge.hear(heard));
    assert!(judge.between_messages());
    let half =
        heard.iter().filter(|heard| matches!(heard, AgentEvent::CallClosed { error: true, .. }));
    assert_eq!(half.count(), 1, "{heard:?}");
    assert!(heard.iter().any(|heard| written(heard) == "said message_delta \"tool_use\""));
}
