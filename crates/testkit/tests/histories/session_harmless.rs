//! Sessions as agents write them are ok and not touched; an edit costs no more thinking than it has
//! to; whose file it is, is told by the agent's own marks.

use foxwedge_core::{CheckOptions, check};
use foxwedge_formats::outline_options;
use foxwedge_sessions::{
    AgentDetection, FindingEffect, ParsedSession, SessionAgent, detect_agent, read, readable_text,
};
use foxwedge_testkit::Random;
use serde_json::{Value, json};

/// A file of Claude Code that is being written.
struct Records {
    version: &'static str,
    list: Vec<Value>,
}

impl Records {
    fn new(version: &'static str) -> Records {
        Records { version, list: Vec::new() }
    }

    fn add(&mut self, kind: &str, message: Value) -> &mut Records {
        let parent = self.list.last().map_or(Value::Null, |last| last["uuid"].clone());
        let uuid = format!("u{}", self.list.len());
        self.list.push(json!({"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s",
            "isSidechain": false, "version": self.version, "message": message}));
        self
    }

    fn user(&mut self, text: &str) -> &mut Records {
        self.add("user", json!({"role": "user", "content": text}))
    }

    fn piece(&mut self, reply: &str, model: &str, block: Value) -> &mut Records {
        let message = json!({"id": reply, "role": "assistant", "model": model, "content": [block]});
        self.add("assistant", message)
    }

    fn text(&mut self, reply: &str, model: &str, text: &str) -> &mut Records {
        self.piece(reply, model, json!({"type": "text", "text": text}))
    }

    fn thinks(&mut self, reply: &str, model: &str) -> &mut Records {
        let block = json!({"type": "thinking", "thinking": "So.", "signature": "c2ln"});
        self.piece(reply, model, block)
    }

    fn calls(&mut self, reply: &str, model: &str, id: &str) -> &mut Records {
        let block = json!({"type": "tool_use", "id": id, "name": "Bash", "input": {}});
        self.piece(reply, model, block)
    }

    fn answers(&mut self, id: &str) -> &mut Records {
        let block = json!({"type": "tool_result", "tool_use_id": id, "content": "done"});
        self.add("user", json!({"role": "user", "content": [block]}))
    }

    fn bytes(&self) -> Vec<u8> {
        let line = |record: &Value| format!("{record}\n");
        self.list.iter().map(line).collect::<String>().into_bytes()
    }
}

fn full(agent: SessionAgent) -> CheckOptions {
    let mut question = CheckOptions::for_profile(agent.profile());
    agent.restrict_rules(&mut question);
    question
}

/// Reads a file, asks what `fix` asks, and hands it over.
fn spared<T>(
    agent: SessionAgent,
    bytes: &[u8],
    look: impl Fn(&ParsedSession<'_>, &CheckOptions) -> T,
) -> T {
    let text = readable_text(bytes).expect("text");
    let mut question = full(agent);
    let mut session = read(&text, agent, outline_options(question.profile)).expect("a session");
    session.spare_tolerated(&mut question, true);
    look(&session, &question)
}

fn fixed(agent: SessionAgent, bytes: &[u8]) -> (Vec<u8>, usize, Vec<(u16, &'static str)>) {
    spared(agent, bytes, |session, question| {
        let (rewritten, repair) = session.fix(question);
        let mut out = Vec::new();
        rewritten.write_to(&mut out).expect("written");
        let edits = repair.edits.iter().map(|edit| (edit.code, edit.strategy.name())).collect();
        (out, repair.losses(session.draft()).thinking_blocks_removed, edits)
    })
}

fn effects(agent: SessionAgent, bytes: &[u8]) -> Vec<(u16, FindingEffect)> {
    let text = readable_text(bytes).expect("text");
    let question = full(agent);
    let session = read(&text, agent, outline_options(question.profile)).expect("a session");
    let rated = session.rate_findings(&question);
    rated.findings.into_iter().map(|(finding, effect)| (finding.rule.code, effect)).collect()
}

#[test]
fn white_space_of_a_reply_that_the_agent_does_not_send_is_no_finding() {
    let mut records = Records::new("2.1.39");
    let model = "claude-opus-4-6";
    records.user("Run the tests.").text("m1", model, "\n\n").calls("m1", model, "t1").answers("t1");
    records.thinks("m2", model).text("m2", model, "All pass.");
    let bytes = records.bytes();
    assert!(effects(SessionAgent::ClaudeCode, &bytes).is_empty());
    assert_eq!(fixed(SessionAgent::ClaudeCode, &bytes), (bytes.clone(), 0, vec![]));
    let history = spared(SessionAgent::ClaudeCode, &bytes, |session, _| session.history());
    assert!(!history.contains(r#""\n\n""#), "{history}");
    assert!(history.contains("c2ln"), "{history}");
    // Versions that do send it are refused by their provider.
    let old = String::from_utf8(bytes).expect("text").replace("2.1.39", "2.0.77");
    assert_eq!(effects(SessionAgent::ClaudeCode, old.as_bytes()), [(308, FindingEffect::Blocks)]);
}

#[test]
fn white_space_beside_a_call_in_one_record_is_sent_and_refused() {
    let mut records = Records::new("2.1.112");
    let blocks = json!([{"type": "text", "text": " "},
        {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}]);
    let message = json!({"id": "m1", "role": "assistant", "model": "claude-opus-4-6",
        "content": blocks});
    records.user("go").add("assistant", message).answers("t1");
    let bytes = records.bytes();
    assert_eq!(effects(SessionAgent::ClaudeCode, &bytes), [(308, FindingEffect::Blocks)]);
}

#[test]
fn the_model_of_each_reply_decides_whether_its_thinking_is_bound() {
    // This version sends an answer without a call, so that the session is stuck.
    let table = [
        ("claude-opus-4-6", "claude-opus-4-6", 0),
        ("claude-fable-5-1", "claude-fable-5-1", 2),
        ("claude-opus-4-6", "claude-fable-5-1", 1),
        ("claude-fable-5-1", "claude-opus-4-6", 1),
    ];
    for (one, two, removed) in table {
        let mut records = Records::new("2.0.77");
        records.answers("nobody").user("go");
        records.thinks("m1", one).text("m1", one, "One.").user("more");
        records.thinks("m2", two).text("m2", two, "Two.");
        let bytes = records.bytes();
        let (out, told, edits) = fixed(SessionAgent::ClaudeCode, &bytes);
        assert_eq!(told, removed, "{one} {two}: {edits:?}");
        let left = String::from_utf8_lossy(&out).matches("c2ln").count();
        assert_eq!(left, 2 - removed, "{one} {two}");
        let dropped = edits.iter().filter(|(_, word)| *word == "drop-thinking");
        assert!(dropped.clone().all(|(code, _)| *code == 102), "{edits:?}");
        assert_eq!(dropped.count(), removed, "{edits:?}");
    }
}

#[test]
fn thinking_is_taken_out_in_the_name_of_the_rule_that_costs_it() {
    let model = "claude-fable-5-1";
    let mut records = Records::new("2.0.77");
    records.answers("nobody").user("go").thinks("m1", model).text("m1", model, "One.");
    let mut bytes = records.bytes();
    bytes.extend_from_slice(b"{\"type\":\"user\",\"uuid\":\"torn");
    let (_, removed, edits) = fixed(SessionAgent::ClaudeCode, &bytes);
    assert_eq!(removed, 1);
    assert!(edits.contains(&(102, "drop-thinking")), "{edits:?}");
    assert!(edits.contains(&(801, "drop")), "{edits:?}");
}

#[test]
fn an_edit_that_nobody_demands_costs_no_thinking() {
    // A tool's name that is only likely to be refused, before thinking of a model nobody knows.
    let question = full(SessionAgent::ClaudeCode);
    let mut records = Records::new("2.1.112");
    let call = json!({"type": "tool_use", "id": "t1", "name": "a b", "input": {}});
    records.user("go").piece("m1", "other", call).answers("t1");
    records.thinks("m2", "other").text("m2", "other", "Done.");
    let bytes = records.bytes();
    let text = readable_text(&bytes).expect("text");
    let session = read(&text, SessionAgent::ClaudeCode, outline_options(question.profile))
        .expect("a session");
    let found = check(session.draft(), &question).findings;
    assert_eq!(found.iter().map(|finding| finding.rule.code).collect::<Vec<_>>(), [207]);
    assert_eq!(found[0].fix.applicability.name(), "unsafe");
    assert!(session.fix(&question).1.is_untouched());
}

#[test]
fn what_an_agent_copes_with_depends_on_its_version_and_on_where_it_stands() {
    use FindingEffect::{Blocks, HidesHistory, Tolerated};
    let model = "claude-opus-4-6";
    let open_end = |version| {
        let mut records = Records::new(version);
        records.user("go").calls("m1", model, "t1");
        records.bytes()
    };
    let open_middle = |version| {
        let mut records = Records::new(version);
        records.user("go").calls("m1", model, "t1").user("and?").text("m2", model, "Yes.");
        records.bytes()
    };
    let torn = |version, end: &str| {
        let mut records = Records::new(version);
        records.user("go").text("m1", model, "Yes.");
        [&records.bytes()[..], b"{\"type\":\"user\",\"uu", end.as_bytes()].concat()
    };
    let glued = |version| {
        let mut records = Records::new(version);
        records.user("go").text("m1", model, "Yes.").user("and?");
        let text = String::from_utf8(records.bytes()).expect("text");
        let (head, last) = text.trim_end().rsplit_once('\n').expect("lines");
        format!("{head}\n{{\"type\":\"user\",\"uu{last}\n").into_bytes()
    };
    type Row<'r> = (Vec<u8>, &'r [(u16, FindingEffect)]);
    let table: [Row<'_>; 12] = [
        (open_end("2.1.112"), &[(101, Tolerated)]),
        (open_end("2.1.325"), &[(101, Tolerated)]),
        (open_end("1.0.128"), &[(101, Tolerated)]),
        (open_end("1.0.127"), &[(101, Blocks)]),
        (open_middle("2.1.325"), &[(101, HidesHistory)]),
        (open_middle("2.0.77"), &[(101, HidesHistory)]),
        (open_middle("1.0.127"), &[(101, Blocks)]),
        (torn("2.1.112", "\n"), &[(801, Tolerated)]),
        (torn("2.1.112", ""), &[(801, HidesHistory)]),
        (torn("2.1.325", ""), &[(801, Tolerated)]),
        (torn("2.0.77", "\n"), &[(801, Tolerated)]),
        (glued("2.1.325"), &[(801, HidesHistory)]),
    ];
    for (at, (bytes, expected)) in table.iter().enumerate() {
        assert_eq!(effects(SessionAgent::ClaudeCode, bytes), *expected, "row {at}");
        let (out, _, _) = fixed(SessionAgent::ClaudeCode, bytes);
        let coped = expected.iter().all(|(_, effect)| *effect == Tolerated);
        assert_eq!(out == *bytes, coped, "row {at}");
    }
}

#[test]
fn sessions_as_claude_code_writes_them_are_ok_and_not_touched() {
    let models = ["claude-opus-4-6", "claude-fable-5-1", "claude-sonnet-4-5", "someone-else"];
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let version = *random.pick(&["2.1.4", "2.1.42", "2.1.112", "2.1.325"]);
        let mut records = Records::new(version);
        records.user("go");
        for turn in 0..1 + random.below(6) {
            let (reply, model) = (format!("m{turn}"), *random.pick(&models));
            if random.chance(40) {
                let blank = *random.pick(&["\n\n", "\n", " "]);
                records.text(&reply, model, blank);
            }
            if random.chance(50) {
                records.thinks(&reply, model);
            }
            if random.chance(60) {
                let call = format!("t{turn}");
                records.text(&reply, model, "I look.").calls(&reply, model, &call);
                records.answers(&call);
            } else {
                records.text(&reply, model, "Done.").user("and?");
            }
            if random.chance(20) {
                let mut side = json!({"type": "assistant", "uuid": format!("side{turn}"),
                    "parentUuid": null, "isSidechain": true, "sessionId": "s",
                    "version": records.version});
                side["message"] = json!({"id": "x", "role": "assistant", "content":
                    [{"type": "tool_use", "id": "side", "name": "Bash", "input": {}}]});
                let at = records.list.len() - 1;
                records.list.insert(at, side);
            }
        }
        if random.chance(40) {
            let model = *random.pick(&models);
            records.calls("last", model, "open");
        }
        let bytes = records.bytes();
        let worst =
            effects(SessionAgent::ClaudeCode, &bytes).into_iter().map(|(_, effect)| effect).max();
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        assert!(
            worst.unwrap_or(FindingEffect::Tolerated) == FindingEffect::Tolerated,
            "{seed}\n{shown}"
        );
        assert_eq!(fixed(SessionAgent::ClaudeCode, &bytes).0, bytes, "{seed}");
    }
}

#[test]
fn a_way_that_the_agent_finds_by_itself_is_as_bad_as_what_it_leads_to() {
    use FindingEffect::{HidesHistory, Tolerated};
    let model = "claude-opus-4-6";
    let broken = |version, orphan: bool| {
        let mut records = Records::new(version);
        records.user("go").text("m1", model, "One.");
        if orphan {
            records.answers("nobody").text("m2", model, "Two.");
        }
        records.user("more").text("m3", model, "Three.");
        let at = records.list.len() - 2;
        records.list[at]["parentUuid"] = json!("gone");
        records.bytes()
    };
    let table = [
        ("2.1.325", false, Tolerated),
        ("2.1.325", true, HidesHistory),
        ("2.1.112", false, HidesHistory),
    ];
    for (version, orphan, expected) in table {
        let bytes = broken(version, orphan);
        let found = effects(SessionAgent::ClaudeCode, &bytes);
        let link = found.iter().find(|(code, _)| *code == 701);
        assert_eq!(link, Some(&(701, expected)), "{version} {orphan}: {found:?}");
        let (out, _, _) = fixed(SessionAgent::ClaudeCode, &bytes);
        assert_eq!(out == bytes, expected == Tolerated, "{version} {orphan}");
        let left = effects(SessionAgent::ClaudeCode, &out);
        assert!(
            left.iter().all(|(_, effect)| *effect == Tolerated),
            "{version} {orphan}: {left:?}"
        );
    }
}

#[test]
fn findings_beyond_those_that_are_listed_are_counted() {
    const MANY: usize = 20_500;
    let mut records = Records::new("2.1.112");
    records.user("go").text("m1", "claude-opus-4-6", "Yes.");
    let bytes = [records.bytes(), b"{\"type\":\"us\n".repeat(MANY)].concat();
    let text = readable_text(&bytes).expect("text");
    let question = full(SessionAgent::ClaudeCode);
    let session = read(&text, SessionAgent::ClaudeCode, outline_options(question.profile))
        .expect("a session");
    let rated = session.rate_findings(&question);
    assert!(rated.findings.len() < MANY);
    let counts: Vec<(u16, usize)> =
        rated.counts.iter().map(|(rule, _, count)| (rule.code, *count)).collect();
    assert_eq!(counts, [(801, MANY)]);
    let calls: Vec<Value> = (0..MANY)
        .map(|at| json!({"type": "tool_use", "id": format!("t{at}"), "name": "Bash", "input": {}}))
        .collect();
    let mut records = Records::new("2.1.112");
    let message = json!({"id": "m1", "role": "assistant", "model": "x", "content": calls});
    records.user("go").add("assistant", message);
    for (behind, effect) in [(false, FindingEffect::Tolerated), (true, FindingEffect::HidesHistory)]
    {
        if behind {
            records.user("and?");
        }
        let bytes = records.bytes();
        let text = foxwedge_sessions::readable_text(&bytes).expect("text");
        let session = read(&text, SessionAgent::ClaudeCode, outline_options(question.profile))
            .expect("a session");
        let counts = session.rate_findings(&question).counts;
        let counts: Vec<_> =
            counts.iter().map(|(rule, it, many)| (rule.code, *it, *many)).collect();
        assert_eq!(counts, [(101, effect, MANY)]);
    }
}

#[test]
fn half_characters_are_repaired_wherever_they_stand_in_a_rollout() {
    let item = r#"{"timestamp":"t","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}}"#;
    let table = [
        r#"{"timestamp":"t","type":"session_meta","payload":{"id":"a","cwd":"/\ud83d"}}"#,
        r#"{"timestamp":"t","type":"session_meta","payload":{"id":"a","c\ud83d":1}}"#,
        r#"{"timestamp":"t","type":"event_msg","payload":{"type":"x","text":"\udc00"}}"#,
        r#"{"timestamp":"t","type":"unheard-of","payload":["\ud83d"]}"#,
    ];
    for line in table {
        for bytes in [format!("{line}\n{item}\n"), format!("{item}\n{line}\n")] {
            let (out, _, edits) = fixed(SessionAgent::Codex, bytes.as_bytes());
            assert_eq!(edits, [(313, "recode")], "{bytes}");
            let out = String::from_utf8(out).expect("text");
            assert!(!out.contains("\\ud83d") && !out.contains("\\udc00"), "{out}");
            assert_eq!(fixed(SessionAgent::Codex, out.as_bytes()).0, out.as_bytes());
        }
    }
}

#[test]
fn a_file_of_nothing_but_torn_lines_is_not_called_fixable() {
    let torn = r#"{"parentUuid":null,"isSidechain":false,"userType":"external","type":"us"#;
    let bytes = format!("{torn}\n{torn}\n").into_bytes();
    let text = readable_text(&bytes).expect("text");
    let question = full(SessionAgent::ClaudeCode);
    let session = read(&text, SessionAgent::ClaudeCode, outline_options(question.profile))
        .expect("a session");
    let found = check(session.draft(), &question).findings;
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|finding| finding.fix.applicability.name() == "none"));
    assert!(session.fix(&question).1.is_untouched());
}

#[test]
fn look_alikes_are_not_taken_for_agents_that_are_read() {
    use AgentDetection::{Known, Unknown, Unsupported};
    let qwen = r#"{"uuid":"a","parentUuid":null,"sessionId":"s","timestamp":"t","type":"user","cwd":"/p","version":"0.24.4","message":{"role":"user","parts":[{"text":"hi"}]}}"#;
    let note = r#"{"uuid":"n","parentUuid":null,"sessionId":"s","type":"system","subtype":"x"}"#;
    let claude = r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s","version":"2.1.39","message":{"role":"user","content":"hi"}}"#;
    let pi = r#"{"type":"session","version":3,"id":"x","timestamp":"t","cwd":"/p"}"#;
    let copilot = r#"{"type":"user.message","id":"1","parentId":null,"timestamp":"t","data":{}}"#;
    let kimi = r#"{"type":"metadata","protocol_version":"1.5","created_at":1}"#;
    let continued = r#"{"sessionId":"s","title":"t","workspaceDirectory":"/p","history":[]}"#;
    let empty = r#"{"type":"user","uuid":"u","parentUuid":null,"message":{"role":"user"}}"#;
    let both = format!("{note}\n{qwen}\n");
    let own = format!("{note}\n{claude}\n");
    let table = [
        (qwen, Known(SessionAgent::QwenCode)),
        (both.as_str(), Known(SessionAgent::QwenCode)),
        (claude, Known(SessionAgent::ClaudeCode)),
        (own.as_str(), Known(SessionAgent::ClaudeCode)),
        (note, Known(SessionAgent::ClaudeCode)),
        (pi, Known(SessionAgent::Pi)),
        (copilot, Known(SessionAgent::CopilotCli)),
        (kimi, Known(SessionAgent::KimiCode)),
        (continued, Unsupported("Continue")),
        (empty, Unknown),
    ];
    for (line, expected) in table {
        assert_eq!(detect_agent(line), expected, "{line}");
    }
}

#[test]
fn unknown_versions_are_refused() {
    let table = [
        (r#"{"type":"session","version":4,"id":"x","timestamp":"t","cwd":"/p"}"#, SessionAgent::Pi),
        (r#"{"type":"session","id":"x","timestamp":"t","cwd":"/p"}"#, SessionAgent::Pi),
        (
            r#"{"type":"session.start","id":"1","parentId":null,"timestamp":"t","data":{"version":2}}"#,
            SessionAgent::CopilotCli,
        ),
        (r#"{"type":"metadata","protocol_version":"2.0","created_at":1}"#, SessionAgent::KimiCode),
    ];
    for (line, expected) in table {
        match detect_agent(line) {
            AgentDetection::UnknownVersion(agent, _) => assert_eq!(agent, expected, "{line}"),
            other => panic!("{line}: {other:?}"),
        }
    }
}

#[test]
fn a_placeholder_of_neovate_carries_the_input_of_its_call() {
    let bytes = concat!(
        r#"{"type":"message","uuid":"a","parentUuid":null,"role":"user","content":"go"}"#,
        "\n",
        r#"{"type":"message","uuid":"b","parentUuid":"a","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"write","input":{"path":"a.txt"}}]}"#,
        "\n"
    );
    let (out, _, _) = fixed(SessionAgent::Neovate, bytes.as_bytes());
    let out = String::from_utf8(out).expect("text");
    let last = out.trim_end().lines().last().expect("a line");
    assert!(last.contains(r#""toolName":"write","input":{"path":"a.txt"},"result""#), "{last}");
}
