//! The scenarios that the seeds print, and the failures that users of other systems reported, as
//! shapes.

use crate::support::{
    asked, bold, codes, fixed, ids, judged, list, mended, passes, report, shape, way,
};
use foxwedge_core::{Format, OrphanPolicy, Policy, Profile, TailPolicy, UnansweredPolicy};
use foxwedge_testkit::body;
use serde_json::{Value, json};

/// A session that crashed while its second tool ran, in Anthropic's format. The `uuid`s are the
/// session's own; they have to come through.
fn crashed() -> Value {
    json!([
        {"uuid": "1", "role": "user", "content": "read file.ts"},
        {"uuid": "2", "role": "assistant", "content": [{"type": "tool_use", "id": "toolu_001", "name": "read", "input": {}}]},
        {"uuid": "3", "role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_001", "content": "export {}"}]},
        {"uuid": "4", "role": "assistant", "content": [{"type": "tool_use", "id": "toolu_002", "name": "write", "input": {}}]}
    ])
}

/// The same in the chat format, where the answer is a tool message as the seed prints it.
fn crashed_chat() -> Value {
    let call = |id: &str, name: &str| json!([{"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}}]);
    json!([
        {"uuid": "1", "role": "user", "content": "read file.ts"},
        {"uuid": "2", "role": "assistant", "content": null, "tool_calls": call("toolu_001", "read")},
        {"uuid": "3", "role": "tool", "tool_call_id": "toolu_001", "content": "export {}"},
        {"uuid": "4", "role": "assistant", "content": null, "tool_calls": call("toolu_002", "write")}
    ])
}

#[test]
fn seed_000_a_session_that_crashed_while_a_tool_ran() {
    for (wire, input) in [(Format::Anthropic, crashed()), (Format::OpenaiChat, crashed_chat())] {
        let profile = Profile::for_format(wire);
        let found = report(wire, &bold(profile), &input.to_string());
        assert_eq!(codes(&found), [101]);
        assert_eq!(
            (found.findings[0].location.message, found.findings[0].ids[0].as_str()),
            (3, "toolu_002")
        );
        // Dropping gives exactly what the seed prints: messages one to three, untouched.
        let printed = Value::Array(list(&input)[..3].to_vec()).to_string();
        let drop = mended(wire, &way(profile, UnansweredPolicy::DropTurn), &input.to_string());
        assert_eq!(drop.text, printed);
        // Answering keeps the call and says that it may have run.
        let answer = mended(wire, &bold(profile), &input.to_string());
        assert_eq!(list(&answer.value())[..4], list(&input)[..]);
        assert_eq!(shape(&answer.list()), "u a[toolu_001] r[toolu_001] a[toolu_002] r[toolu_002~]");
    }
}

#[test]
fn seed_000_the_table_of_edge_cases() {
    for wire in Format::ALL {
        let profile = Profile::for_format(wire);
        passes("no messages", wire, profile, "[]");
        passes("no calls", wire, profile, &body(wire.name(), "u a u"));
        passes("all answered", wire, profile, &body(wire.name(), "u a[x] r[x] a"));
        // One open call of several, or text beside it: the whole message goes.
        for history in ["u a[x y] r[x]", "u a\"words\"[x]", "u a\"words\"[x y] r[y]"] {
            let drop = way(profile, UnansweredPolicy::DropTurn);
            let fixed = mended(wire, &drop, &body(wire.name(), history));
            assert_eq!(shape(&fixed.list()), "u", "{} {history}", wire.name());
        }
    }
}

#[test]
fn seed_001_scenario_1_a_complete_pair_passes() {
    let anthropic = json!([
        {"role": "assistant", "content": [{"type": "tool_use", "id": "tool_1", "name": "read_file", "input": {"path": "a"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "tool_1", "content": "..."}]}
    ])
    .to_string();
    let chat = json!([
        {"role": "assistant", "tool_calls": [{"id": "tool_1", "type": "function", "function": {"name": "read_file", "arguments": "{\"path\":\"a\"}"}}]},
        {"role": "tool", "tool_call_id": "tool_1", "content": "..."}
    ])
    .to_string();
    passes("scenario 1", Format::OpenaiChat, Profile::OpenaiChat, &chat);
    // The pair is complete; Anthropic only misses the user's first word, which the excerpt cut.
    let fixed = mended(Format::Anthropic, &bold(Profile::Anthropic), &anthropic);
    assert_eq!(fixed.codes(), [401]);
    assert_eq!(shape(&fixed.list()), "u a[tool_1] r[tool_1]");
}

#[test]
fn seed_001_scenario_2_a_result_whose_call_was_compacted_away() {
    let anthropic = json!([
        {"role": "user", "content": "Previous conversation..."},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "tool_1", "content": "..."}]}
    ]);
    let chat = json!([
        {"role": "user", "content": "Previous conversation..."},
        {"role": "tool", "tool_call_id": "tool_1", "content": "..."}
    ]);
    let drop = Policy { orphans: OrphanPolicy::Drop, ..Policy::default() };
    for (wire, input) in [(Format::Anthropic, anthropic), (Format::OpenaiChat, chat)] {
        let question = asked(Profile::for_format(wire), drop);
        let fixed = mended(wire, &question, &input.to_string());
        let printed = json!([{"role": "user", "content": "Previous conversation..."}]);
        assert_eq!(fixed.text, printed.to_string());
        // One warning, with the id.
        assert_eq!(fixed.before.findings.len(), 1);
        assert_eq!(fixed.before.findings[0].ids, ["tool_1"]);
    }
}

#[test]
fn seed_004_rules_one_to_three_valid_and_invalid() {
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "ListFiles", "arguments": "{}"}});
    let calls = |ids: &[&str]| {
        let calls: Vec<Value> = ids.iter().map(|id| call(id)).collect();
        json!({"role": "assistant", "content": "", "tool_calls": calls})
    };
    let tool = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "..."});
    let user = json!({"role": "user", "content": "请列出文件"});
    let valid = [
        json!([user, calls(&["call_1"]), tool("call_1")]),
        json!([user, calls(&["call_1", "call_2"]), tool("call_1"), tool("call_2")]),
        json!([user, calls(&["call_1", "call_2"]), tool("call_2"), tool("call_1")]),
    ];
    let invalid = [
        (json!([user, calls(&["call_1"])]), 101, "u a[call_1] r[call_1~]", "u"),
        (json!([user, calls(&["call_1"]), user]), 101, "u a[call_1] r[call_1~] u", "u u"),
        (json!([user, tool("orphan_id")]), 102, "u u", "u u"),
        (
            json!([user, calls(&["call_1", "call_2"]), tool("call_1")]),
            101,
            "u a[call_1 call_2] r[call_1 call_2~]",
            "u",
        ),
    ];
    for profile in [Profile::Deepseek, Profile::OpenaiChat] {
        for document in &valid {
            passes("valid", Format::OpenaiChat, profile, &document.to_string());
        }
        for (document, code, answered, dropped) in &invalid {
            let text = document.to_string();
            assert_eq!(codes(&report(Format::OpenaiChat, &bold(profile), &text)), [*code]);
            let fixed = mended(Format::OpenaiChat, &bold(profile), &text);
            assert_eq!(shape(&fixed.list()), *answered);
            let drop = way(profile, UnansweredPolicy::DropTurn);
            assert_eq!(shape(&mended(Format::OpenaiChat, &drop, &text).list()), *dropped);
        }
        // Under orphans = drop, exactly what the seed's second pass leaves.
        let drop = Policy { orphans: OrphanPolicy::Drop, ..Policy::default() };
        let text = invalid[2].0.to_string();
        let fixed = mended(Format::OpenaiChat, &asked(profile, drop), &text);
        assert_eq!(fixed.text, json!([user]).to_string());
    }
}

/// What a repair is asked to do.
enum Ask {
    Default,
    Pending,
    DropTurn,
    DropOrphans,
}

impl Ask {
    fn question(&self, profile: Profile) -> foxwedge_core::CheckOptions {
        let policy = Policy { allow_unsafe: true, ..Policy::default() };
        asked(
            profile,
            match self {
                Ask::Default => policy,
                Ask::Pending => Policy { tail: TailPolicy::Pending, ..policy },
                Ask::DropTurn => Policy { unanswered: UnansweredPolicy::DropTurn, ..policy },
                Ask::DropOrphans => Policy { orphans: OrphanPolicy::Drop, ..policy },
            },
        )
    }
}

#[test]
fn reported_failures_of_other_systems_come_out_whole() {
    use Profile::{Anthropic, Deepseek, Gemini, OpenaiChat, OpenaiResponses};
    // Thread by thread: what was reported, the history, what was asked, and what comes out.
    // (Threads about compaction, conversion and runs alone are not here.)
    let table: &[(&str, &[Profile], &str, Ask, &str)] = &[
        (
            "1 interrupted tool, resume",
            &[OpenaiChat, OpenaiResponses],
            "u a[x] u",
            Ask::Default,
            "u a[x] r[x~] u",
        ),
        (
            "1 interrupted tool, resume",
            &[Anthropic, Gemini],
            "u a[x] u",
            Ask::Default,
            "u a[x] r[x~]+u",
        ),
        (
            "2 poisoned pair before every sender",
            &[OpenaiChat],
            "u a[x] r[y] u",
            Ask::DropOrphans,
            "u a[x] r[x~] u",
        ),
        (
            "3 three interrupts, then text",
            &[OpenaiChat],
            "u a[x] u a[y] u a[z] u",
            Ask::Default,
            "u a[x] r[x~] u a[y] r[y~] u a[z] r[z~] u",
        ),
        (
            "3 three interrupts, then text",
            &[Anthropic],
            "u a[x] u a[y] u a[z] u",
            Ask::Default,
            "u a[x] r[x~]+u a[y] r[y~]+u a[z] r[z~]+u",
        ),
        (
            "4 call without output",
            &[OpenaiResponses],
            "u a[x y] r[y] u",
            Ask::Default,
            "u a[x y] r[x~ y] u",
        ),
        (
            "5 two answers, the first wins",
            &[OpenaiChat, OpenaiResponses],
            "u a[x] r[x] r[x] u",
            Ask::DropOrphans,
            "u a[x] r[x] u",
        ),
        (
            "7 kept tail starts with a result",
            &[OpenaiChat, OpenaiResponses, Anthropic, Gemini],
            "u r[x] a u",
            Ask::DropOrphans,
            "u a u",
        ),
        (
            "7 kept head ends with a call",
            &[OpenaiChat, Anthropic, Gemini],
            "u a u a[x]",
            Ask::DropTurn,
            "u a u",
        ),
        (
            "8 orphans become inert text",
            &[OpenaiChat, OpenaiResponses, Anthropic, Gemini],
            "u r[x] a u",
            Ask::Default,
            "u u a u",
        ),
        (
            "9 a batch cut after its first call",
            &[OpenaiResponses],
            "a[y] r[x y] u",
            Ask::DropOrphans,
            "a[y] r[y] u",
        ),
        (
            "11 a call in flight survives",
            &[OpenaiChat, OpenaiResponses, Anthropic, Gemini],
            "u a[x y] r[x]",
            Ask::Pending,
            "u a[x y] r[x]",
        ),
        (
            "12 ghost result beside a valid one",
            &[OpenaiChat, Anthropic, Gemini],
            "u a[x] r[g x] u",
            Ask::DropOrphans,
            "u a[x] r[x] u",
        ),
        (
            "13 one id in every turn",
            &[OpenaiChat, OpenaiResponses, Gemini, Deepseek],
            "u a[m] r[m] a u a[m] r[m]",
            Ask::Default,
            "u a[m] r[m] a u a[m] r[m]",
        ),
        (
            "13 one id, the older turn open",
            &[OpenaiChat, Deepseek],
            "u a[m] u a[m] r[m]",
            Ask::Default,
            "u a[m] r[m~] u a[m] r[m]",
        ),
        (
            "16 a second answer for one call",
            &[OpenaiChat, Anthropic, Gemini],
            "u a[x] r[x x]",
            Ask::DropOrphans,
            "u a[x] r[x]",
        ),
        (
            "18 the tail is not condemned",
            &[OpenaiChat, Anthropic, Gemini, OpenaiResponses],
            "u a[x]",
            Ask::Pending,
            "u a[x]",
        ),
        (
            "20 text between call and result",
            &[OpenaiChat, Deepseek],
            "u a[x] a r[x] u",
            Ask::Default,
            "u a[x] r[x] a u",
        ),
        (
            "21 parallel items as messages",
            &[OpenaiChat],
            "u a[x] a[y] r[x] r[y]",
            Ask::Default,
            "u a[x] a[y] r[x y]",
        ),
        (
            "21 parallel items as messages",
            &[Deepseek],
            "u a[x] a[y] r[x] r[y]",
            Ask::Default,
            "u a[x] r[x] a[y] r[y]",
        ),
        (
            "21 parallel items as messages",
            &[Gemini],
            "u a[x] a[y] r[x] r[y]",
            Ask::Default,
            "u a[x] a[y] r[x y]",
        ),
        (
            "22 one content per result",
            &[Gemini, Anthropic],
            "u a[x y z] r[z] r[x] r[y]",
            Ask::Default,
            "u a[x y z] r[x y z]",
        ),
        (
            "23 a carrier between results",
            &[OpenaiChat, Deepseek],
            "u a[x y] r[x] u r[y]",
            Ask::Default,
            "u a[x y] r[x y] u",
        ),
        (
            "23 a carrier between results",
            &[Anthropic, Gemini],
            "u a[x y] r[x] u r[y]",
            Ask::Default,
            "u a[x y] r[x y] u",
        ),
    ];
    for (thread, profiles, history, ask, expected) in table {
        for &profile in *profiles {
            let wire = match profile {
                OpenaiResponses => Format::OpenaiResponses,
                Anthropic => Format::Anthropic,
                Gemini => Format::Gemini,
                _ => Format::OpenaiChat,
            };
            let question = ask.question(profile);
            let document = body(wire.name(), history);
            let told = shape(&mended(wire, &question, &document).list());
            assert_eq!(told, *expected, "{thread}: {history} for {}", profile.name());
        }
    }
}

#[test]
fn reported_failures_with_ids_come_out_paired() {
    // 14, 15, 25: ids twice in a turn, empty, too long, with characters the next model refuses.
    let long = "toolu_".repeat(20);
    let table = ["x x", "a.b a:b a_b", "call|1 call|2", long.as_str()];
    for names in table {
        for profile in Profile::ALL {
            for wire in Format::ALL {
                let document = body(wire.name(), &format!("u a[{names}] r[{names}] u"));
                let fixed = fixed(wire, &bold(profile), &document);
                let left = judged(wire, &bold(profile), &fixed.text);
                assert!(left.is_empty(), "{} {} {names} {left:?}", wire.name(), profile.name());
                let (calls, answers) = ids(&fixed.list());
                assert_eq!(calls, answers, "{} {}", wire.name(), profile.name());
            }
        }
    }
}
