//! Every row of the table of what agents do by themselves, with a small file of its own: at the
//! version from which it holds, and just below. What the agent copes with is ok and not touched,
//! what it leaves out is missing history, and what stops it needs repair.

use foxwedge_core::{Severity, rules};
use foxwedge_sessions::{
    AgentVersion, FindingEffect, FindingPart, RATED_ROWS, RatedRow, SessionAgent,
};
use serde_json::Value;

use crate::{
    homes,
    sandbox::Sandbox,
    sessions_files::{Script, VERSION, killed, sound},
};

const ID: &str = "0a1b2c3d-0009-4000-8000-000000000009";

#[test]
fn every_rated_row_holds_from_its_version_on_and_not_before() {
    let mut tried = 0;
    // Other tests try the rows of agents that keep no files, or whose files are only read.
    let is_tried =
        |agent: SessionAgent| !agent.is_in_database() && agent.read_only_reason().is_none();
    for row in RATED_ROWS.iter().filter(|row| is_tried(row.agent)) {
        for &code in row.codes {
            for version in versions(row) {
                judge(row, code, version);
                tried += 1;
            }
        }
    }
    assert!(tried > 2 * RATED_ROWS.len(), "{tried} of {} rows", RATED_ROWS.len());
}

/// The version of a row, and the one just below it. Some agents name none in their files.
fn versions(row: &RatedRow) -> Vec<AgentVersion> {
    let below = match row.since.numbers() {
        [major, 0, 0] => AgentVersion::new(major.saturating_sub(1), 999, 999),
        [major, minor, 0] => AgentVersion::new(major, minor - 1, 999),
        [major, minor, patch] => AgentVersion::new(major, minor, patch - 1),
    };
    match row.agent {
        SessionAgent::GeminiCli | SessionAgent::Pi | SessionAgent::KimiCode => vec![row.since],
        _ => vec![row.since, below],
    }
}

/// Lists, checks and fixes the example of a row.
fn judge(row: &RatedRow, code: u16, version: AgentVersion) {
    let spelled = version.numbers().map(|number| number.to_string()).join(".");
    let what = format!("{} {spelled}, FW{code}, {:?}", row.agent.name(), row.part);
    let (path, content) = example(row.agent, code, row.part, &spelled)
        .unwrap_or_else(|| panic!("{what}: a new row needs an example here"));
    let sandbox = Sandbox::new();
    let file = sandbox.keep(&path, 1, &content);
    let name = file.to_string_lossy().into_owned();

    // The version of some agents goes with the record that is torn, and no version is the newest
    // one.
    let names = matches!(row.agent, SessionAgent::Codex | SessionAgent::CopilotCli);
    let lost = names && (code, row.part) == (801, FindingPart::FirstRecord);
    let version = if lost { AgentVersion::parse(None) } else { version };

    // All that a provider would refuse, each with what the table says.
    let agent = row.agent.name();
    let words = ["check", "--for-api", "--format", agent, "--output-format", "json", &name];
    let all = sandbox.run(&words);
    let all: Value = serde_json::from_str(&all.out).unwrap();
    let found = all["findings"].as_array().unwrap();
    let label = format!("FW{code}");
    assert!(found.iter().any(|it| it["code"] == label.as_str()), "{what}: {all:#}");
    let effects = found.iter().map(|it| {
        let own = it["code"].as_str().unwrap()[2..].parse().unwrap();
        let part = if own == code { row.part } else { FindingPart::All };
        let severe = it["severity"] == "error";
        expected(row.agent, own, part, version, severe)
    });
    let worst = effects.max().unwrap();

    let listed = sandbox.run(&["list", "--output-format", "json"]);
    let listed: Value = serde_json::from_str(&listed.out).unwrap();
    let health = match worst {
        FindingEffect::Tolerated => "ok",
        FindingEffect::HidesHistory => "history-missing",
        FindingEffect::Blocks => "needs-repair",
    };
    assert_eq!(listed["sessions"][0]["health"], health, "{what}: {all:#} {listed:#}");

    let coped = worst == FindingEffect::Tolerated;
    let checked = sandbox.run(&["check", "--format", agent, &name]);
    assert_eq!(checked.code, i32::from(!coped), "{what}: {}", checked.all());
    let fixed = sandbox.run(&["fix", "--format", agent, &name]);
    // No repair writes the first record anew, without which these agents open nothing.
    let is_headless = (code, row.part) == (801, FindingPart::FirstRecord) && needs_first(row.agent);
    assert_eq!(fixed.code, i32::from(is_headless), "{what}: {}", fixed.all());
    let after = std::fs::read(&file).unwrap();
    assert_eq!(after == content, coped, "{what}: {}", fixed.all());
    let again = sandbox.run(&["check", "--format", agent, &name]);
    assert_eq!(again.code, i32::from(is_headless), "{what}: {}", again.all());
}

fn needs_first(agent: SessionAgent) -> bool {
    matches!(
        agent,
        SessionAgent::Codex | SessionAgent::GeminiCli | SessionAgent::Pi | SessionAgent::CopilotCli
    )
}

#[test]
fn a_session_whose_first_record_is_torn_is_read_alike_by_every_command() {
    let (path, content) =
        example(SessionAgent::GeminiCli, 801, FindingPart::FirstRecord, "").expect("an example");
    let sandbox = Sandbox::new();
    let file = sandbox.keep(&path, 1, &content);
    let name = file.to_string_lossy().into_owned();
    let listed = sandbox.run(&["list", "--output-format", "json"]);
    let listed: Value = serde_json::from_str(&listed.out).unwrap();
    assert_eq!(listed["sessions"][0]["health"], "needs-repair", "{listed:#}");
    let id = listed["sessions"][0]["id"].as_str().unwrap();
    for arguments in [&["show", &name][..], &["show", id], &["resume", &name]] {
        let ran = sandbox.run(arguments);
        assert_eq!(ran.code, 0, "{arguments:?} {}", ran.all());
    }
    for arguments in [&["check", &name][..], &["check", id], &["check", "--all"], &["fix", &name]] {
        let ran = sandbox.run(arguments);
        assert_eq!(ran.code, 1, "{arguments:?} {}", ran.all());
        assert!(ran.all().contains("FW801"), "{arguments:?} {}", ran.all());
    }
}

#[test]
fn a_file_without_its_first_record_or_with_it_elsewhere_needs_repair() {
    for agent in [SessionAgent::Codex, SessionAgent::Pi, SessionAgent::CopilotCli] {
        let whole = |version: &str| example(agent, 801, FindingPart::OpenLine, version).unwrap();
        let (path, content) = whole("1.5.0");
        let mut lines: Vec<Vec<u8>> = lines_of(&String::from_utf8(content).unwrap());
        lines.pop();
        for displaced in [false, true] {
            let mut lines = lines.clone();
            let first = lines.remove(0);
            if displaced {
                lines.insert(1, first);
            }
            let sandbox = Sandbox::new();
            let file = sandbox.keep(&path, 1, lines.concat());
            let what = format!("{} {displaced}", agent.name());
            let listed = sandbox.run(&["list", "--output-format", "json"]);
            let listed: Value = serde_json::from_str(&listed.out).unwrap();
            assert_eq!(listed["sessions"][0]["health"], "needs-repair", "{what}: {listed:#}");
            let ran = sandbox.run(&["fix", &file.to_string_lossy()]);
            assert!(ran.all().contains("the file does not start with"), "{what}: {}", ran.all());
            assert_eq!(ran.code, 1, "{what}: {}", ran.all());
        }
    }
}

/// What the table says: the first row that fits, or the rule itself.
fn expected(
    agent: SessionAgent,
    code: u16,
    part: FindingPart,
    version: AgentVersion,
    severe: bool,
) -> FindingEffect {
    let also = match part {
        FindingPart::FirstLine | FindingPart::LastMessage => FindingPart::NothingHidden,
        part => part,
    };
    let fits = |row: &&RatedRow| {
        let parts = [FindingPart::All, part, also];
        let since = row.since.numbers() <= version.numbers();
        row.agent == agent && row.codes.contains(&code) && since && parts.contains(&row.part)
    };
    let rule = rules::ALL.iter().find(|rule| rule.code == code).unwrap();
    let severity = if severe { Severity::Error } else { Severity::Warning };
    match (RATED_ROWS.iter().find(fits), severity) {
        (Some(row), _) => row.effect,
        (None, Severity::Error) => FindingEffect::Blocks,
        (None, Severity::Warning) if rule.code >= 700 => FindingEffect::HidesHistory,
        (None, Severity::Warning) => FindingEffect::Tolerated,
    }
}

/// Where a file lies, and a file with one thing wrong.
fn example(
    agent: SessionAgent,
    code: u16,
    part: FindingPart,
    version: &str,
) -> Option<(String, Vec<u8>)> {
    match agent {
        SessionAgent::ClaudeCode => {
            let content = match code {
                700.. => {
                    damaged(lines_of(&longer()), 1, code, part).or_else(|| link(code, part))?
                }
                _ => said(code, part)?.into_bytes(),
            };
            let path = format!(".claude/projects/-w/{ID}.jsonl");
            Some((path, replaced(content, VERSION, version)))
        }
        SessionAgent::Codex => {
            let meta = homes::codex(ID);
            let mut lines = lines_of(&meta);
            let open = lines.pop()?;
            let content = match code {
                101 => [lines.concat(), open].concat(),
                102 => [lines.concat(), replaced(lines[3].clone(), "call_1", "gone")].concat(),
                _ => damaged(lines, 0, code, part)?,
            };
            let path = format!(".codex/sessions/2026/01/02/rollout-2026-01-02T03-04-05-{ID}.jsonl");
            Some((path, replaced(content, "0.46.0", version)))
        }
        SessionAgent::GeminiCli => {
            let mut lines = lines_of(&homes::gemini_cli(ID));
            lines.remove(2);
            let path = ".gemini/tmp/shop/chats/session-2026-01-02T03-04-0a1b2c3d.jsonl";
            Some((path.to_owned(), damaged(lines, 0, code, part)?))
        }
        SessionAgent::Pi => {
            let path = format!(".pi/agent/sessions/--w-shop--/2026-01-02T03-04-05-678Z_{ID}.jsonl");
            Some((path, pi(code, part)?))
        }
        SessionAgent::CopilotCli => {
            let path = format!(".copilot/session-state/{ID}/events.jsonl");
            let lines = lines_of(&homes::copilot_cli(ID));
            Some((path, replaced(sequence(lines, code, part)?, "1.0.102", version)))
        }
        SessionAgent::KimiCode => {
            let path = format!(".kimi-code/sessions/wd_shop/{ID}/agents/main/wire.jsonl");
            Some((path, sequence(lines_of(&homes::kimi_code()), code, part)?))
        }
        SessionAgent::QwenCode => {
            let path = format!(".qwen/projects/-w-shop/chats/{ID}.jsonl");
            Some((path, replaced(qwen(code, part)?, "0.24.4", version)))
        }
        SessionAgent::Neovate
        | SessionAgent::Cline
        | SessionAgent::Opencode
        | SessionAgent::Crush
        | SessionAgent::Goose
        | SessionAgent::AiSdkUi
        | SessionAgent::AiSdkModel
        | SessionAgent::ReadOnly(_) => None,
    }
}

/// A file of pi with one thing wrong.
fn pi(code: u16, part: FindingPart) -> Option<Vec<u8>> {
    let mut lines = lines_of(&homes::pi(ID));
    let mut link = |line: usize, old: &str, new: &str| {
        lines[line] = replaced(lines[line].clone(), old, new);
    };
    match (code, part) {
        (101, _) => {
            link(4, "\"p3\"", "\"p2\"");
            lines.remove(3);
        }
        (701, _) => link(5, "\"p4\"", "\"gone\""),
        (702, _) => link(4, "\"p3\"", "\"p2\""),
        (703, FindingPart::NothingHidden) => lines.insert(4, lines[4].clone()),
        (703, FindingPart::LastMessage) => lines.push(lines[3].clone()),
        (703, _) => {
            link(5, "\"p5\"", "\"p2\"");
            link(6, "\"p5\"", "\"p2\"");
        }
        (704, _) => link(1, "null", "\"p4\""),
        _ => return damaged(lines, 0, code, part),
    }
    Some(lines.concat())
}

/// A file of Qwen Code with one thing wrong.
fn qwen(code: u16, part: FindingPart) -> Option<Vec<u8>> {
    let mut lines = lines_of(&homes::qwen_code(ID));
    let other = |line: &[u8], old: &str, new: &str| replaced(line.to_vec(), old, new);
    match (code, part) {
        (101, _) => {
            lines[4] = other(&lines[4], "\"q4\"", "\"q3\"");
            lines.remove(3);
        }
        (102 | 104, _) => {
            let result = other(&lines[3], "\"q3\"", "\"q0\"");
            let result = other(&other(&result, "\"q4\"", "\"q9\""), "\"q0\"", "\"q4\"");
            let id = if code == 102 { "gone" } else { "call_1" };
            lines.insert(4, other(&result, "call_1", id));
            lines[5] = other(&lines[5], "\"q4\"", "\"q9\"");
        }
        (103, _) => {
            let result = other(&lines.remove(3), "\"q3\"", "\"q5\"");
            lines[3] = other(&lines[3], "\"q4\"", "\"q3\"");
            lines[4] = other(&lines[4], "\"q5\"", "\"q4\"");
            lines.insert(4, result);
        }
        (701, _) => lines[5] = other(&lines[5], "\"q5\"", "\"gone\""),
        (702, _) => lines[4] = other(&lines[4], "\"q4\"", "\"q3\""),
        (703, FindingPart::LastMessage) => lines.push(lines[3].clone()),
        (703, FindingPart::NothingHidden) => lines.insert(4, lines[3].clone()),
        (703, _) => {
            lines[5] = other(&lines[5], "\"q6\"", "\"q2\"");
            lines[6] = other(&lines[6], "\"q6\"", "\"q2\"");
        }
        (704, _) => lines[0] = other(&lines[0], "null", "\"q4\""),
        (801, FindingPart::All) => return damaged(lines, 0, code, FindingPart::HidesContent),
        (802, FindingPart::All) => return damaged(lines, 0, code, FindingPart::NothingHidden),
        _ => return damaged(lines, 0, code, part),
    }
    Some(lines.concat())
}

/// A file of Copilot CLI or Kimi Code with one thing wrong.
fn sequence(mut lines: Vec<Vec<u8>>, code: u16, part: FindingPart) -> Option<Vec<u8>> {
    match (code, part) {
        (101, _) => drop(lines.remove(3)),
        (102, _) => lines.insert(4, replaced(lines[3].clone(), "call_1", "gone")),
        (103, FindingPart::SameTurn) => {
            let said = lines.remove(5);
            lines.insert(3, said);
        }
        (103, _) => {
            let result = lines.remove(3);
            lines.insert(5, result);
        }
        (104, _) => lines.insert(4, lines[3].clone()),
        (805, _) => lines.push(
            br#"{"type":"assistant.turn_end","data":{},"id":"e7","timestamp":"2026-01-02T03:04:07.000Z","parentId":"e6"}
"#
            .to_vec(),
        ),
        // A torn line, and what stands behind it.
        (801 | 802, FindingPart::All) => {
            return damaged(lines, 0, code, FindingPart::NothingHidden);
        }
        _ => return damaged(lines, 0, code, part),
    }
    Some(lines.concat())
}

fn longer() -> String {
    sound().user("and the other folder?").says("msg_3", "It is empty.").text()
}

fn lines_of(text: &str) -> Vec<Vec<u8>> {
    text.split_inclusive('\n').map(|line| line.as_bytes().to_vec()).collect()
}

fn replaced(content: Vec<u8>, old: &str, new: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = content.as_slice();
    while let Some(at) = rest.windows(old.len()).position(|window| window == old.as_bytes()) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(new.as_bytes());
        rest = &rest[at + old.len()..];
    }
    out.extend_from_slice(rest);
    out
}

/// A file of Claude Code whose conversation breaks a rule.
fn said(code: u16, part: FindingPart) -> Option<String> {
    let more = || sound().user("and the other folder?");
    let script: Script = match (code, part) {
        (101, FindingPart::OpenEnd) => killed(),
        (101, _) => killed().user("are you there?").says("msg_4", "Yes."),
        (102, _) => sound().answers("toolu_gone", "b.txt").says("msg_4", "Yes."),
        (103, _) => {
            let late = killed().user("are you there?").says("msg_4", "Yes.");
            late.answers("toolu_2", "b.txt").says("msg_5", "Here it is.")
        }
        (104, _) => {
            let twice = more().calls("msg_3", "toolu_2").answers("toolu_2", "b.txt");
            twice.answers("toolu_2", "c.txt").says("msg_4", "Two.")
        }
        (201, _) => {
            let twice = more().calls("msg_3", "toolu_2").calls("msg_3", "toolu_2");
            twice.answers("toolu_2", "b.txt").says("msg_4", "One.")
        }
        (305, _) => {
            let answer = "\"content\":[{\"type\":\"tool_result\"";
            let behind =
                "\"content\":[{\"type\":\"text\",\"text\":\"hm\"},{\"type\":\"tool_result\"";
            return Some(sound().text().replace(answer, behind));
        }
        _ => return None,
    };
    Some(script.text())
}

/// A file of Claude Code with a wrong link.
fn link(code: u16, part: FindingPart) -> Option<Vec<u8>> {
    let uuid = |record: usize| format!("00000000-0000-4000-8000-{record:012}");
    let parent = |record: usize, parent: &str| {
        let mut lines = lines_of(&longer());
        let old = match record {
            0 => "\"parentUuid\":null".to_owned(),
            _ => format!("\"parentUuid\":\"{}\"", uuid(record - 1)),
        };
        let new = format!("\"parentUuid\":\"{parent}\"");
        lines[record] = replaced(lines[record].clone(), &old, &new);
        lines.concat()
    };
    let parallel = || {
        let called = sound().user("both?").calls("msg_3", "toolu_2").calls("msg_3", "toolu_3");
        let answered = called.under(6).answers("toolu_2", "b.txt").under(7).answers("toolu_3", "c");
        lines_of(&answered.says("msg_4", "Both.").user("thanks").says("msg_5", "Well.").text())
    };
    Some(match (code, part) {
        (702, FindingPart::LastMessage) => {
            let mut lines = parallel();
            let late = lines.remove(8);
            lines.push(late);
            lines.concat()
        }
        (703, FindingPart::LastMessage) => {
            let mut lines = parallel();
            lines.push(lines[8].clone());
            lines.concat()
        }
        (701, _) => parent(5, "00000000-dead-4000-8000-000000000000"),
        (702, _) => {
            let script = sound().user("and?").calls("msg_3", "toolu_2");
            let beside = script.under(1).answers("toolu_2", "b.txt").under(6).user("well?");
            beside.says("msg_4", "Yes.").text().into_bytes()
        }
        (703, FindingPart::NothingHidden) => {
            let mut lines = lines_of(&longer());
            lines.insert(4, lines[4].clone());
            lines.concat()
        }
        (704, FindingPart::WholeCycle) => parent(0, &uuid(6)),
        (704, _) => parent(0, &uuid(3)),
        _ => return None,
    })
}

/// A file with something wrong in its lines; `head` is the number of the line in the middle that
/// stays as it is.
fn damaged(mut lines: Vec<Vec<u8>>, head: usize, code: u16, part: FindingPart) -> Option<Vec<u8>> {
    let hole = match code {
        801 => b"{\"type\":\"us".to_vec(),
        802 => vec![0; 300],
        803 => b"\xe4".to_vec(),
        _ => return None,
    };
    let middle = head + 1;
    match (part, code) {
        (FindingPart::FirstRecord, 801) => {
            let half = lines[0].len() / 2;
            lines[0] = [&lines[0][..half], b"\n"].concat();
        }
        (FindingPart::FirstRecord, 803) => lines[0] = noted(&lines[0], &hole),
        (FindingPart::FirstRecord, _) => lines[0] = [hole, lines[0].clone()].concat(),
        (FindingPart::All | FindingPart::HidesContent, 803) => {
            lines[middle] = noted(&lines[middle], &hole)
        }
        (FindingPart::FirstLine, _) => lines.insert(0, [hole, b"\n".to_vec()].concat()),
        (FindingPart::NothingHidden, _) => lines.insert(middle, [hole, b"\n".to_vec()].concat()),
        (FindingPart::OpenLine, _) => lines.push(hole),
        (FindingPart::HidesContent, _) => lines[middle] = [hole, lines[middle].clone()].concat(),
        _ => return None,
    }
    Some(lines.concat())
}

/// A record with bytes in a text that are no text.
fn noted(line: &[u8], bytes: &[u8]) -> Vec<u8> {
    let at = line.windows(3).rposition(|window| window == b"000" || window == b"is ");
    let at = at.unwrap_or(line.len() / 2);
    [&line[..at], bytes, &line[at..]].concat()
}
