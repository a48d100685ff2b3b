//! The laws of repair for session files, for every agent and every policy.

use foxwedge_core::{
    CheckOptions, FixApplicability, OrphanPolicy, PlaceholderLanguage, Policy, TailPolicy,
    UnansweredPolicy, check,
};
use foxwedge_formats::outline_options;
use foxwedge_sessions::{read, readable_text};
use foxwedge_testkit::laws::{
    LawTally, SessionAgent, run,
    session::{case, mutated},
};

use crate::support::assert_lawful;
use serde_json::{Value, json};

/// Cases for each agent and policy.
const CASES: u64 = 128;

/// Runs the cases of an agent; `flaws` are the rules about files that they have to meet.
fn hold(agent: SessionAgent, flaws: &[u16]) {
    let mut tally = LawTally::default();
    let ways = [UnansweredPolicy::Answer, UnansweredPolicy::DropTurn, UnansweredPolicy::DropCall];
    for (index, unanswered) in (0..).zip(ways) {
        for number in 0..CASES {
            let policy = Policy {
                unanswered,
                orphans: if number % 4 == 3 { OrphanPolicy::Drop } else { OrphanPolicy::Quote },
                tail: if number % 5 == 4 { TailPolicy::Pending } else { TailPolicy::Dead },
                allow_unsafe: true,
                language: PlaceholderLanguage::English,
            };
            run(&case(1 + number + 1_000_000 * index, agent, policy, 12), &mut tally);
        }
    }
    assert_lawful(&tally);
    assert!(tally.sound > 30, "too few sound files: {}", tally.sound);
    let met: Vec<&u16> = flaws.iter().filter(|code| tally.findings.contains_key(code)).collect();
    assert_eq!(met, flaws.iter().collect::<Vec<_>>(), "{:?}", tally.findings);
}

#[test]
fn the_laws_hold_for_files_of_claude_code() {
    hold(SessionAgent::ClaudeCode, &[101, 102, 103, 701, 703, 704, 801, 802, 803]);
}

#[test]
fn the_laws_hold_for_files_of_neovate() {
    hold(SessionAgent::Neovate, &[101, 102, 103, 701, 702, 703, 704, 801, 802, 803]);
}

#[test]
fn the_laws_hold_for_files_of_codex() {
    hold(SessionAgent::Codex, &[101, 102, 103, 801, 802, 803]);
}

#[test]
fn the_laws_hold_for_files_of_cline() {
    hold(SessionAgent::Cline, &[101, 102, 103, 801]);
}

#[test]
fn the_laws_hold_for_files_of_pi() {
    hold(SessionAgent::Pi, &[101, 102, 103, 701, 702, 703, 704, 801, 802, 803]);
}

#[test]
fn the_laws_hold_for_files_of_copilot_cli() {
    hold(SessionAgent::CopilotCli, &[101, 102, 103, 801, 802, 803]);
}

#[test]
fn the_laws_hold_for_files_of_kimi_code() {
    hold(SessionAgent::KimiCode, &[101, 102, 103, 801, 802, 803]);
}

#[test]
fn the_laws_hold_for_files_of_gemini_cli() {
    hold(SessionAgent::GeminiCli, &[101, 102, 103, 801, 802, 803]);
}

#[test]
fn the_laws_hold_for_files_of_qwen_code() {
    hold(SessionAgent::QwenCode, &[101, 102, 103, 701, 702, 703, 704, 801, 802, 803]);
}

#[test]
fn the_laws_hold_for_rows_of_crush() {
    hold(SessionAgent::Crush, &[101, 102, 103, 801]);
}

#[test]
fn the_laws_hold_for_rows_of_goose() {
    hold(SessionAgent::Goose, &[101, 102, 103, 801]);
}

#[test]
fn the_laws_hold_for_rows_of_opencode() {
    hold(SessionAgent::Opencode, &[101, 801, 805]);
}

/// Damaged files of each agent.
const DAMAGED: u64 = 160;

/// Whatever `check` calls fixable is repaired, once and for all, and nothing is lost uncounted.
fn hold_for_damaged_files(agent: SessionAgent) {
    let mut tally = LawTally::default();
    for seed in 1..=DAMAGED {
        mutated::run(seed, agent, 10, &mut tally);
    }
    let first = tally.violations.first();
    let first = first.map(|breach| {
        let (seed, law) = (breach.case.seed, breach.law);
        format!("seed {seed}, law {law}\n{}\nbefore\n{}", breach.what, breach.document)
    });
    assert_eq!(first, None, "{} violations", tally.violations.len());
    assert!(tally.repairs.len() > 3, "too few kinds of repairs: {:?}", tally.repairs);
}

#[test]
fn damaged_files_of_claude_code_are_repaired_to_the_end() {
    hold_for_damaged_files(SessionAgent::ClaudeCode);
}

#[test]
fn damaged_files_of_neovate_are_repaired_to_the_end() {
    hold_for_damaged_files(SessionAgent::Neovate);
}

#[test]
fn damaged_files_of_codex_are_repaired_to_the_end() {
    hold_for_damaged_files(SessionAgent::Codex);
}

#[test]
fn damaged_files_of_cline_are_repaired_to_the_end() {
    hold_for_damaged_files(SessionAgent::Cline);
}

#[test]
fn damaged_files_of_pi_are_repaired_to_the_end() {
    hold_for_damaged_files(SessionAgent::Pi);
}

#[test]
fn damaged_files_of_copilot_cli_are_repaired_to_the_end() {
    hold_for_damaged_files(SessionAgent::CopilotCli);
}

#[test]
fn damaged_files_of_kimi_code_are_repaired_to_the_end() {
    hold_for_damaged_files(SessionAgent::KimiCode);
}

#[test]
fn damaged_files_of_gemini_cli_are_repaired_to_the_end() {
    hold_for_damaged_files(SessionAgent::GeminiCli);
}

#[test]
fn damaged_files_of_qwen_code_are_repaired_to_the_end() {
    hold_for_damaged_files(SessionAgent::QwenCode);
}

#[test]
fn damaged_rows_of_crush_are_repaired_to_the_end() {
    hold_for_damaged_files(SessionAgent::Crush);
}

#[test]
fn damaged_rows_of_goose_are_repaired_to_the_end() {
    hold_for_damaged_files(SessionAgent::Goose);
}

#[test]
fn damaged_rows_of_opencode_are_repaired_to_the_end() {
    hold_for_damaged_files(SessionAgent::Opencode);
}

/// A repaired file, as text; `spares` leaves alone what the agent copes with.
pub(crate) struct Fixed {
    pub(crate) found: Vec<u16>,
    pub(crate) file: String,
    pub(crate) left: Vec<String>,
    thinking_removed: usize,
}

/// What is found and can be repaired, the file after that, and how much thinking it cost.
type JudgedFile = (Vec<(u16, String)>, String, usize);

pub(crate) fn fixed(agent: SessionAgent, file: &str, spares: bool) -> Result<Fixed, String> {
    let judged = |bytes: &[u8]| -> Result<JudgedFile, String> {
        let text = readable_text(bytes).map_err(|error| error.to_string())?;
        let mut question = CheckOptions::for_profile(agent.profile());
        agent.restrict_rules(&mut question);
        let read = read(&text, agent, outline_options(question.profile));
        let mut session = read.map_err(|error| error.to_string())?;
        if spares {
            session.spare_tolerated(&mut question, true);
        }
        let found = check(session.draft(), &question).findings.into_iter();
        let found = found.filter(|finding| finding.fix.applicability == FixApplicability::Safe);
        let found = found.map(|finding| (finding.rule.code, finding.message)).collect();
        let (rewritten, repair) = session.fix(&question);
        let mut file = Vec::new();
        rewritten.write_to(&mut file).map_err(|error| error.to_string())?;
        let file = String::from_utf8(file).map_err(|error| error.to_string())?;
        Ok((found, file, repair.losses(session.draft()).thinking_blocks_removed))
    };
    let (found, file, thinking_removed) = judged(file.as_bytes())?;
    let left = judged(file.as_bytes())?.0.into_iter().map(|(_, message)| message).collect();
    let found = found.into_iter().map(|(code, _)| code).collect();
    Ok(Fixed { found, file, left, thinking_removed })
}

pub(crate) fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

fn cline(role: &str, text: &str) -> Value {
    json!({"role": role, "content": [{"type": "text", "text": text}], "ts": 1})
}

#[test]
fn messages_behind_a_broken_place_of_a_list_are_kept() {
    let (one, two, three, four) = (
        cline("user", "one"),
        cline("assistant", "two").to_string(),
        cline("user", "three"),
        cline("assistant", "four"),
    );
    let torn = &two[..two.len() / 2];
    let table = [
        format!("[{one},{torn},{three},{four}]"),
        format!("[{one},{torn}\n{three},{four}]"),
        format!("[\n  {one}\n  {three},\n  {four}\n]\n"),
        format!("[{one},,{three},{four}]"),
        format!("[{one},{three},{four},]"),
        format!("[garbage,{one},{three},{four}"),
        format!("[{one},{three},{four},{torn}"),
    ];
    for broken in table {
        let fixed = fixed(SessionAgent::Cline, &broken, false).expect(&broken);
        let torn = !fixed.found.is_empty() && fixed.found.iter().all(|code| *code == 801);
        assert_eq!((torn, fixed.left.len()), (true, 0), "{broken}: {:?}", fixed.found);
        let list: Vec<Value> = serde_json::from_str(&fixed.file).expect("a list");
        assert_eq!(list, [one.clone(), three.clone(), four.clone()], "{broken}");
    }
}

#[test]
fn an_older_chat_of_gemini_that_is_broken_in_the_middle_keeps_what_stands_behind() {
    let message = |id: &str, kind: &str| json!({"id": id, "timestamp": "2026-11-15T00:00:00.000Z", "type": kind, "content": id});
    let (one, two, three) =
        (message("one", "user"), message("two", "gemini"), message("three", "user"));
    let broken = format!(
        "{{\n \"sessionId\": \"s\",\n \"projectHash\": \"p\",\n \"messages\": [\n{one},\n{{\"id\": \"x\", \n{two},\n{three}\n],\n \"summary\": \"kept\"\n}}\n"
    );
    let fixed = fixed(SessionAgent::GeminiCli, &broken, false).expect("readable");
    assert_eq!((fixed.found.as_slice(), fixed.left.len()), (&[801][..], 0));
    let chat: Value = serde_json::from_str(&fixed.file).expect("an object");
    assert_eq!((&chat["messages"], &chat["summary"]), (&json!([one, two, three]), &json!("kept")));
}

#[test]
fn a_file_whose_beginning_is_gone_is_not_called_fixable() {
    let table = [
        (SessionAgent::Cline, "    \"content\":     \"role\n"),
        (SessionAgent::Cline, "\"role\": \"user\", \"content\": [{\"type\": \"text\"}]}]"),
        (
            SessionAgent::GeminiCli,
            "  {\n{\n  \"sessionId\": \"s\",\n  \"projectHash\": \"p\",\n  \"messages\": [\n",
        ),
    ];
    for (agent, file) in table {
        let fixed = fixed(agent, file, false);
        assert!(fixed.is_err() || fixed.is_ok_and(|fixed| fixed.found.is_empty()), "{file}");
    }
}

/// A record of Claude Code.
fn record(id: &str, parent: Option<&str>, role: &str, content: Value) -> Value {
    let mut message = json!({"role": role, "content": content});
    if role == "assistant" {
        message["id"] = json!(format!("msg_{id}"));
        message["model"] = json!("claude-opus-5-1");
    }
    json!({"type": role, "uuid": id, "parentUuid": parent, "message": message,
        "isSidechain": false, "sessionId": "s", "version": "2.1.112"})
}

#[test]
fn a_repair_that_the_agent_does_not_need_costs_no_thinking() {
    let orphan = json!([{"type": "tool_result", "tool_use_id": "gone", "content": "42"}]);
    let call = json!([{"type": "tool_use", "id": "open", "name": "bash", "input": {}}]);
    let thinks = json!([{"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "text", "text": "answer"}]);
    let says = json!([{"type": "text", "text": "well"}]);
    for (reply, next) in [(says, orphan), (call, json!("and now?"))] {
        let file = lines(&[
            record("r1", None, "user", json!("question")),
            record("r2", Some("r1"), "assistant", reply),
            record("r3", Some("r2"), "user", next),
            record("r4", Some("r3"), "assistant", thinks.clone()),
        ]);
        let spared = fixed(SessionAgent::ClaudeCode, &file, true).expect("readable");
        assert_eq!((spared.found, spared.thinking_removed), (vec![], 0));
        assert_eq!(spared.file, file);
        // A provider refuses it, and whoever asks for that pays for it.
        let asked = fixed(SessionAgent::ClaudeCode, &file, false).expect("readable");
        assert_eq!((asked.found.len(), asked.thinking_removed, asked.left.len()), (1, 1, 0));
    }
}

#[test]
fn a_lost_answer_to_a_call_that_a_compaction_carried_over_is_linked_to_it() {
    let call = |id: &str| json!([{"type": "tool_use", "id": id, "name": "bash", "input": {}}]);
    let answer = |id: &str| json!([{"type": "tool_result", "tool_use_id": id, "content": id}]);
    let piece = |id: &str, parent: &str, content: Value| {
        let mut record = record(id, Some(parent), "assistant", content);
        record["message"]["id"] = json!("msg_one");
        record
    };
    let mut lost = record("r5", None, "user", answer("x"));
    lost.as_object_mut().map(|fields| fields.remove("parentUuid"));
    let segment = json!({"anchorUuid": "r8", "headUuid": "r3", "tailUuid": "r6"});
    let file = lines(&[
        record("r1", None, "user", json!("question")),
        piece("r3", "r1", call("x")),
        piece("r4", "r3", call("y")),
        lost,
        record("r6", Some("r4"), "user", answer("y")),
        json!({"type": "system", "subtype": "compact_boundary", "uuid": "r7", "parentUuid": null,
            "logicalParentUuid": "r6", "compactMetadata": {"preservedSegment": segment},
            "sessionId": "s"}),
        record("r8", Some("r7"), "user", json!("summary")),
        record("r9", Some("r8"), "assistant", json!([{"type": "text", "text": "go on"}])),
    ]);
    let fixed = fixed(SessionAgent::ClaudeCode, &file, false).expect("readable");
    assert_eq!((fixed.found.as_slice(), fixed.left.as_slice()), (&[702][..], &[][..]));
    assert!(fixed.file.contains(r#""content":"x""#), "{}", fixed.file);
}

#[test]
fn an_answer_of_gemini_is_put_behind_its_call_whatever_was_written_again_later() {
    let call = |id: &str| json!({"functionCall": {"id": id, "name": "bash", "args": {}}});
    let answer = |id: &str| json!({"functionResponse": {"id": id, "name": "bash", "response": {"output": id}}});
    let message = |id: &str, kind: &str, content: Value| json!({"id": id, "timestamp": "2026-11-15T00:00:00.000Z", "type": kind, "content": content});
    let second = message("m4", "user", json!([answer("y")]));
    let list = [
        message("m1", "user", json!("question")),
        message("m2", "user", json!([answer("x")])),
        message("m3", "gemini", json!([call("x"), call("y")])),
        second.clone(),
        message("m5", "gemini", json!("done")),
    ];
    let file = lines(&[
        json!({"sessionId": "s", "projectHash": "p", "startTime": "2026-11-15T00:00:00.000Z"}),
        json!({"$set": {"messages": list}}),
        second,
    ]);
    let fixed = fixed(SessionAgent::GeminiCli, &file, false).expect("readable");
    assert_eq!((fixed.found.as_slice(), fixed.left.as_slice()), (&[103][..], &[][..]));
}

#[test]
fn a_record_behind_a_torn_one_of_many_blocks_is_found() {
    let blocks: Vec<Value> =
        (0..200).map(|at| json!({"type": "text", "text": format!("block {at}")})).collect();
    let torn = record("r2", Some("r1"), "user", json!(blocks)).to_string();
    let whole = record("r3", Some("r1"), "user", json!("do not lose me"));
    let first = record("r1", None, "user", json!("question"));
    let file = format!("{first}\n{}{whole}\n", &torn[..torn.len() - 40]);
    let fixed = fixed(SessionAgent::ClaudeCode, &file, true).expect("readable");
    assert_eq!((fixed.found.as_slice(), fixed.left.len()), (&[801][..], 0));
    assert!(fixed.file.ends_with(&format!("{whole}\n")), "{}", fixed.file);
}

#[test]
fn half_a_character_in_a_claude_code_session_is_found_where_it_is_sent() {
    let thinks = json!([{"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "text", "text": "answer"}]);
    let half = |record: Value| record.to_string().replace("HALF", "\\ud83d");
    let mut piece =
        record("r3", Some("r2"), "assistant", json!([{"type": "text", "text": "HALF"}]));
    piece["message"]["id"] = json!("msg_r2");
    let mut noted = record("r1", None, "user", json!("question"));
    noted["toolUseResult"] = json!("HALF");
    let aside = record("r9", Some("r1"), "user", json!("taken back HALF"));
    let reply = record("r2", Some("r1"), "assistant", thinks);
    let last = record("r4", Some("r3"), "user", json!("and now?"));
    let file = |piece: &Value| {
        [&noted, &aside, &reply, piece, &last].map(|record| half(record.clone()) + "\n").concat()
    };
    let broken = fixed(SessionAgent::ClaudeCode, &file(&piece), true).expect("readable");
    // Thinking in front of it stands on the same history as before.
    assert_eq!((broken.found.as_slice(), broken.thinking_removed), (&[313][..], 0));
    assert_eq!(broken.left, Vec::<String>::new());
    piece["message"]["content"] = json!([{"type": "text", "text": "\u{fffd}"}]);
    assert_eq!(broken.file, file(&piece).replace('\u{fffd}', "\\ufffd"));
    // Where it is not sent, nobody is harmed by it.
    let harmless = fixed(SessionAgent::ClaudeCode, &file(&piece), true).expect("readable");
    assert_eq!((harmless.found, harmless.file), (vec![], file(&piece)));
}

#[test]
fn a_turn_that_an_answer_left_or_joined_is_linked_in_one_line() {
    let call = json!([{"type": "tool_use", "id": "x", "name": "bash", "input": {}}]);
    let answer = json!([{"type": "tool_result", "tool_use_id": "x", "content": "42"}]);
    let file = lines(&[
        record("r1", None, "user", json!("question")),
        record("r2", Some("r1"), "assistant", call),
        record("r3", Some("r2"), "assistant", json!([{"type": "text", "text": "meanwhile"}])),
        record("r4", Some("r3"), "user", answer),
        record("r5", Some("r4"), "assistant", json!([{"type": "text", "text": "done"}])),
    ]);
    let fixed = fixed(SessionAgent::ClaudeCode, &file, false).expect("readable");
    assert_eq!((fixed.found.as_slice(), fixed.left.len()), (&[103][..], 0));
    let linked = fixed.file.lines().map(|line| {
        let record: Value = serde_json::from_str(line).expect("a record");
        format!("{} on {}", record["uuid"], record["parentUuid"]).replace('"', "")
    });
    let linked: Vec<String> = linked.collect();
    assert_eq!(linked, ["r1 on null", "r2 on r1", "r4 on r2", "r3 on r4", "r5 on r3"]);
}

#[test]
fn reasoning_before_an_open_call_of_codex_stays_with_it() {
    let item = |payload: Value| json!({"timestamp": "2026-11-15T00:00:00.000Z", "type": "response_item", "payload": payload});
    let meta = json!({"timestamp": "2026-11-15T00:00:00.000Z", "type": "session_meta",
        "payload": {"id": "s", "cwd": "/src", "cli_version": "0.166.0"}});
    let says = json!([{"type": "input_text", "text": "question"}]);
    let thinks = json!([{"type": "summary_text", "text": "hm"}]);
    let file = lines(&[
        meta,
        item(json!({"type": "message", "role": "user", "content": says})),
        item(json!({"type": "reasoning", "id": "rs_1", "summary": thinks,
            "encrypted_content": "c2ln"})),
        item(json!({"type": "function_call", "call_id": "open", "name": "shell",
            "arguments": "{}"})),
        item(json!({"type": "function_call_output", "call_id": "gone", "output": "42"})),
    ]);
    let fixed = fixed(SessionAgent::Codex, &file, true).expect("readable");
    assert_eq!((fixed.found.as_slice(), fixed.left.len()), (&[102][..], 0));
    assert_eq!((fixed.thinking_removed, fixed.file.contains("rs_1")), (0, true), "{}", fixed.file);
}
