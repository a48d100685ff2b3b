//! The behaviours that check and repair of one history owe to the seeds, one test each, named
//! after the behaviour; and the conformance cases that other systems have tests for.

mod peers;

use crate::support::{
    WAYS, asked, bold, codes, fixed, ids, judged, list, mended, passes, report, shape, value, way,
};
use foxwedge_core::{Format, OrphanPolicy, Policy, Profile, Strategy, UnansweredPolicy};
use foxwedge_testkit::{body, inventory, lost, messages};
use serde_json::{Value, json};

/// Every format with the profiles that speak it.
pub(crate) const SPOKEN: [(Format, &[Profile]); 6] = [
    (
        Format::OpenaiChat,
        &[Profile::OpenaiChat, Profile::Mistral, Profile::Deepseek, Profile::Strict],
    ),
    (Format::OpenaiResponses, &[Profile::OpenaiResponses, Profile::Deepseek, Profile::Strict]),
    (Format::Anthropic, &[Profile::Anthropic, Profile::Strict]),
    (Format::Gemini, &[Profile::Gemini, Profile::Strict]),
    (Format::Bedrock, &[Profile::Bedrock, Profile::Strict]),
    (Format::GeminiInteractions, &[Profile::GeminiInteractions, Profile::Strict]),
];

/// Nine letters and digits: legal everywhere.
const LONG: [&str; 5] = ["call00001", "call00002", "call00003", "call00004", "call00005"];

#[test]
fn b0_4_after_repair_no_call_is_open_and_no_answer_is_unmatched_for_any_subset() {
    for (wire, profiles) in SPOKEN {
        for count in 1..=LONG.len() {
            for answered in 0..1_u32 << count {
                let calls = &LONG[..count];
                let real: Vec<&str> = (0..count)
                    .filter(|bit| answered & (1 << bit) != 0)
                    .map(|bit| calls[bit])
                    .collect();
                let home =
                    if real.is_empty() { String::new() } else { format!("r[{}]", real.join(" ")) };
                for tail in ["", "u", "a u"] {
                    let shape = format!("u a\"thought\"[{}] {home} {tail}", calls.join(" "));
                    let document = body(wire.name(), &shape);
                    for &profile in profiles {
                        for unanswered in WAYS {
                            subset(wire, &way(profile, unanswered), &document, calls, &real);
                        }
                    }
                }
            }
        }
    }
}

fn subset(
    wire: Format,
    question: &foxwedge_core::CheckOptions,
    document: &str,
    calls: &[&str],
    real: &[&str],
) {
    let fixed = mended(wire, question, document);
    let (left, answers) = ids(&fixed.list());
    let mut sorted = (left.clone(), answers.clone());
    sorted.0.sort();
    sorted.1.sort();
    assert_eq!(sorted.0, sorted.1, "calls and answers differ\n{document}\n{}", fixed.text);
    let expected: Vec<&str> = match question.policy.unanswered {
        UnansweredPolicy::Answer => calls.to_vec(),
        UnansweredPolicy::DropCall => real.to_vec(),
        UnansweredPolicy::DropTurn if real.len() == calls.len() => calls.to_vec(),
        UnansweredPolicy::DropTurn => Vec::new(),
    };
    assert_eq!(left, expected, "{}\n{document}\n{}", question.policy.unanswered.name(), fixed.text);
    // Every real answer of a call that stays keeps its content.
    for id in real.iter().filter(|id| expected.contains(id)) {
        assert!(fixed.text.contains(&format!("result of {id}")), "{id} is lost\n{}", fixed.text);
    }
    let clean =
        real.len() == calls.len() && crate::support::report(wire, question, document).is_clean();
    assert!(!clean || fixed.text == document, "a sound history changed\n{}", fixed.text);
}

#[test]
fn b0_5_drop_takes_the_assistant_and_its_partial_results_or_only_the_open_calls() {
    for wire in Format::ALL {
        let profile = Profile::for_format(wire);
        let document = body(wire.name(), "u a\"two reads\"[x y] r[x] a\"one is there\" u");
        let whole = mended(wire, &way(profile, UnansweredPolicy::DropTurn), &document);
        assert_eq!(ids(&whole.list()), (vec![], vec![]), "{}", whole.text);
        for gone in ["result of x", "[foxwedge]"] {
            assert!(!whole.text.contains(gone), "{gone} is left\n{}", whole.text);
        }
        // In the Responses format the text is an item of its own, and of the same turn.
        assert!(!whole.text.contains("two reads"), "{}", whole.text);
        for kept in ["user text 1", "one is there", "user text 5"] {
            assert!(whole.text.contains(kept), "{kept} is gone\n{}", whole.text);
        }
        let call = mended(wire, &way(profile, UnansweredPolicy::DropCall), &document);
        assert_eq!(ids(&call.list()), (vec!["x".to_owned()], vec!["x".to_owned()]));
        for kept in ["user text 1", "two reads", "result of x", "one is there", "user text 5"] {
            assert!(call.text.contains(kept), "{kept} is gone\n{}", call.text);
        }
        let repair = mended(wire, &way(profile, UnansweredPolicy::Answer), &document);
        assert_eq!(ids(&repair.list()).1, ["x", "y"], "{}", repair.text);
        let before = inventory(wire.name(), &value(&document));
        assert_eq!(lost(wire.name(), &before, &repair.value()), Vec::<String>::new());
    }
}

#[test]
fn b0_15_empty_text_only_and_matched_histories_come_back_as_they_are() {
    let shapes = [
        "u",
        "u a",
        "u a u a u",
        "u a[x] r[x]",
        "u a\"so\"[x] r[x] a",
        "u a[x y z] r[x y z] a u",
        "u a[x y] r[y x] a u a[v] r[v]",
    ];
    for wire in Format::ALL {
        passes("an empty list", wire, Profile::for_format(wire), "[]");
        passes("an empty list", wire, Profile::for_format(wire), " [\n] ");
        for shape in shapes {
            passes(shape, wire, Profile::for_format(wire), &body(wire.name(), shape));
        }
    }
}

#[test]
fn b1_9_each_orphan_is_quoted_or_dropped_by_policy_with_one_warning_that_names_it() {
    for wire in Format::ALL {
        for document in [
            body(wire.name(), "u a[x] r[x p q] u"),
            body(wire.name(), "u r[p q] a[x] r[x] u"),
            body(wire.name(), "u a[x] r[x] u r[p] r[q]"),
        ] {
            for (orphans, strategy) in
                [(OrphanPolicy::Quote, Strategy::Quote), (OrphanPolicy::Drop, Strategy::Drop)]
            {
                let policy = Policy { orphans, allow_unsafe: true, ..Policy::default() };
                let fixed = mended(wire, &asked(Profile::for_format(wire), policy), &document);
                let named = |code: u16| -> Vec<String> {
                    let found = fixed.before.findings.iter().filter(|f| f.rule.code == code);
                    found.flat_map(|finding| finding.ids.clone()).collect()
                };
                assert_eq!(named(102), ["p", "q"], "{document}");
                let edits = fixed.edits.iter().filter(|edit| edit.strategy == strategy);
                let done: Vec<String> = edits.flat_map(|edit| edit.ids.clone()).collect();
                assert_eq!(done, ["p", "q"], "{:?}", fixed.edits);
                for id in ["p", "q"] {
                    let kept = fixed.text.contains(&format!("result of {id}"));
                    assert_eq!(kept, orphans == OrphanPolicy::Quote, "{id}\n{}", fixed.text);
                }
                assert_eq!(ids(&fixed.list()).1, ["x"], "{}", fixed.text);
            }
        }
        // An unanswered call: a synthetic answer, or removal.
        let document = body(wire.name(), "u a[x] u");
        let counts = WAYS.map(|unanswered| {
            let fixed = mended(wire, &way(Profile::for_format(wire), unanswered), &document);
            let (calls, answers) = ids(&fixed.list());
            assert_eq!(fixed.before.findings[0].ids, ["x"]);
            (calls.len(), answers.len())
        });
        assert_eq!(counts, [(1, 1), (0, 0), (0, 0)], "{}", wire.name());
    }
}

#[test]
fn b1_10_the_first_real_answer_wins_and_a_real_one_beats_a_placeholder() {
    for wire in Format::ALL {
        // Two real answers: the first stays, the second is told as text.
        let document = body(wire.name(), "u a[x] r[x] r[x] u");
        let both = mended(wire, &bold(Profile::for_format(wire)), &document);
        assert!(codes(&both.before).contains(&104), "{document}");
        let told = shape(&both.list());
        assert!(told.contains("r[x]") && !told.contains("r[x x]"), "{told}");
        for text in ["result of x #3", "result of x #4"] {
            assert!(both.text.contains(text), "{text}\n{}", both.text);
        }
        // A placeholder goes, wherever the real answer stands.
        for place in [3, 5] {
            let open = body(wire.name(), "u a[x] u");
            let closed = mended(wire, &bold(Profile::for_format(wire)), &open).list();
            let real = messages(wire.name(), "u a[x] r[x]").pop().expect("an answer");
            let mut history = closed.clone();
            let later = messages(wire.name(), "u a u a");
            history.extend(later[1..].iter().cloned());
            let place = place.min(history.len());
            history.insert(place, real);
            let document = Value::Array(history).to_string();
            let fixed = mended(wire, &bold(Profile::for_format(wire)), &document);
            let answers = ids(&fixed.list()).1;
            assert_eq!(answers, ["x"], "{}", fixed.text);
            assert!(fixed.text.contains("result of x"), "{}", fixed.text);
            assert!(!fixed.text.contains("Interrupted"), "{document}\n{}", fixed.text);
        }
        // Two calls of one id in a turn: the second and its answer are renamed together.
        if wire != Format::Gemini {
            let document = body(wire.name(), "u a[x x] r[x x] u");
            let fixed = mended(wire, &bold(Profile::for_format(wire)), &document);
            let (calls, answers) = ids(&fixed.list());
            assert_eq!(calls, answers);
            assert_eq!(calls[0], "x");
            assert_ne!(calls[1], "x");
        }
    }
}

#[test]
fn b1_13_ids_are_mapped_on_call_and_answer_alike_and_never_collide() {
    // All of these become `a_b` or its first nine letters when cleaned by hand.
    let wild = ["a.b", "a:b", "a_b", "a b", "a|b", "abcdefghij1", "abcdefghij2", "é", "e\u{301}"];
    let long = "x".repeat(80);
    for (wire, profiles) in SPOKEN {
        for &profile in profiles {
            let mut names: Vec<&str> = wild.to_vec();
            names.push(&long);
            let document = wild_calls(wire, &names);
            let fixed = mended(wire, &bold(profile), &document);
            let (calls, answers) = ids(&fixed.list());
            assert_eq!(calls, answers, "{} {}\n{}", wire.name(), profile.name(), fixed.text);
            let mut unique = calls.clone();
            unique.sort();
            unique.dedup();
            assert_eq!(unique.len(), names.len(), "{} {calls:?}", profile.name());
            for (id, old) in calls.iter().zip(&names) {
                assert!(profile.id_rule().allows(id), "{} is not legal for {}", id, profile.name());
                // What was legal stays.
                assert!(!profile.id_rule().allows(old) || id == old, "{old} became {id}");
            }
            for old in &names {
                let answer = format!("answer to {old}.");
                assert!(fixed.text.contains(&answer), "{old}\n{}", fixed.text);
            }
        }
    }
}

/// One turn that calls all of these ids, answered in order.
fn wild_calls(wire: Format, names: &[&str]) -> String {
    let mut history = messages(wire.name(), &format!("u a[{0}] r[{0}]", tokens(names.len())));
    let mut text = Value::Array(std::mem::take(&mut history)).to_string();
    for (at, name) in names.iter().enumerate() {
        let new = json!(name).to_string();
        text = text.replace(&format!("\"id{at:02}\""), &new);
        let answer = json!(format!("answer to {name}.")).to_string();
        text = text.replace(&format!("\"result of id{at:02} #3\""), &answer);
    }
    text
}

fn tokens(count: usize) -> String {
    (0..count).map(|at| format!("id{at:02}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn b1_14_reasoning_stays_with_its_assistant_and_foreign_signatures_go_without_breaking_pairs() {
    let document = json!([
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "from elsewhere", "signature": ""},
            {"type": "redacted_thinking", "data": ""},
            {"type": "text", "text": "Going."},
            {"type": "tool_use", "id": "x", "name": "go", "input": {}},
            {"type": "tool_use", "id": "y", "name": "go", "input": {}}
        ]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": "gone"}]}
    ]);
    let fixed = mended(Format::Anthropic, &bold(Profile::Anthropic), &document.to_string());
    assert_eq!(fixed.codes(), [101, 503]);
    assert_eq!(shape(&fixed.list()), "u a+a[x y] r[x y~]");
    // Reasoning that the provider wants back is kept while the rest is repaired.
    let table = [
        (
            Format::Anthropic,
            Profile::Anthropic,
            r#"[{"role":"user","content":"Go."},{"role":"assistant","content":[{"type":"thinking","thinking":"Where?","signature":"c2ln"},{"type":"tool_use","id":"x","name":"go","input":{}}]},{"role":"user","content":"Hello?"}]"#,
            "u th+a[x] r[x~]+u",
        ),
        (
            Format::Bedrock,
            Profile::Bedrock,
            r#"[{"role":"user","content":[{"text":"Go."}]},{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"Where?","signature":"c2ln"}}},{"toolUse":{"toolUseId":"x","name":"go","input":{}}}]},{"role":"user","content":[{"text":"Hello?"}]}]"#,
            "u th+a[x] r[x~]+u",
        ),
        (
            Format::OpenaiChat,
            Profile::Deepseek,
            r#"[{"role":"user","content":"Go."},{"role":"assistant","content":"","reasoning_content":"Where?","tool_calls":[{"id":"x","type":"function","function":{"name":"go","arguments":"{}"}}]},{"role":"user","content":"Hello?"}]"#,
            "u th+a[x] r[x~] u",
        ),
        (
            Format::OpenaiResponses,
            Profile::OpenaiResponses,
            r#"[{"role":"user","content":"Go."},{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gA"},{"type":"function_call","id":"fc_1","call_id":"x","name":"go","arguments":"{}"},{"role":"user","content":"Hello?"}]"#,
            "u th a[x] r[x~] u",
        ),
        (
            Format::Gemini,
            Profile::Gemini,
            r#"[{"role":"user","parts":[{"text":"Go."}]},{"role":"model","parts":[{"text":"Where?","thought":true},{"functionCall":{"id":"x","name":"go"},"thoughtSignature":"c2ln"}]},{"role":"user","parts":[{"text":"Hello?"}]}]"#,
            "u th+a[x] r[x~]+u",
        ),
    ];
    for (wire, profile, document, expected) in table {
        let fixed = mended(wire, &bold(profile), document);
        assert_eq!(shape(&fixed.list()), expected, "{}", fixed.text);
        assert_eq!(fixed.list()[1], list(&value(document))[1], "the reasoning turn changed");
    }
}

#[test]
fn b4_1_rules_one_to_three_are_named_with_index_and_id_and_repair_is_final() {
    let table = [
        ("u a[x] u", vec![(101, 1, "x")]),
        ("u r[q] a", vec![(102, 1, "q")]),
        ("u a[x y] r[x] u", vec![(101, 1, "y")]),
        ("u a[x y z] r[y] u a[v] u", vec![(101, 1, "x"), (101, 1, "z"), (101, 4, "v")]),
        ("u a[x] r[x] u", vec![]),
    ];
    for (shape, expected) in table {
        for wire in [Format::OpenaiChat, Format::Anthropic, Format::Gemini, Format::Bedrock] {
            let document = body(wire.name(), shape);
            let question = bold(Profile::for_format(wire));
            let report = report(wire, &question, &document);
            let found: Vec<(u16, usize, &str)> = report
                .findings
                .iter()
                // Bedrock also wants roles to alternate; that is not what is asked here.
                .filter(|finding| finding.rule.code != 402)
                .map(|f| {
                    (f.rule.code, f.location.message, f.ids.first().map_or("", String::as_str))
                })
                .collect();
            assert_eq!(found, expected, "{} {shape}", wire.name());
            // The place is the call or answer itself, by byte.
            for finding in report.findings.iter().filter(|f| f.rule.code != 402) {
                assert!(
                    finding.location.span.of(&document).contains(&finding.ids[0]),
                    "{finding:?}"
                );
            }
            for unanswered in WAYS {
                mended(wire, &way(Profile::for_format(wire), unanswered), &document);
            }
        }
    }
}

#[test]
fn b4_2_an_answer_before_its_call_or_apart_from_it_or_repeated_is_a_violation() {
    let table = [
        ("u r[x] a[x] u", 103),
        ("u a[x] a u r[x]", 103),
        ("u a[x] u a r[x]", 103),
        ("u a[x] s r[x] u", 103),
        ("u a[x] r[x] r[x] u", 104),
        ("u a[x] r[x] a u r[x]", 104),
    ];
    for (shape, code) in table {
        for (wire, profiles) in SPOKEN {
            for &profile in profiles {
                // OpenAI pairs by id wherever the items stand; only "before" is wrong there.
                let lenient = wire == Format::OpenaiResponses
                    && profile == Profile::OpenaiResponses
                    && code == 103
                    && !shape.starts_with("u r");
                let document = body(wire.name(), shape);
                let found = codes(&report(wire, &bold(profile), &document));
                assert_eq!(found.contains(&code), !lenient, "{} {shape} {found:?}", wire.name());
                let judged = judged(wire, &bold(profile), &document);
                assert_eq!(judged.iter().any(|v| v.code == code), !lenient, "{judged:?}");
                for unanswered in WAYS {
                    let fixed = mended(wire, &way(profile, unanswered), &document);
                    assert!(fixed.text.contains("result of x"), "{shape}\n{}", fixed.text);
                    assert!(!fixed.text.contains("Interrupted"), "{shape}\n{}", fixed.text);
                }
            }
        }
    }
}

#[test]
fn b4_3_earlier_complete_pairs_survive_a_later_incomplete_one_byte_for_byte() {
    for wire in Format::ALL {
        let sound = "u a\"first\"[x y] r[x y] a u a[v] r[v] a";
        let head = body(wire.name(), sound);
        passes(sound, wire, Profile::for_format(wire), &head);
        let head = head.strip_suffix(']').expect("a list").to_owned();
        for tail in ["u a[p q] r[q] u", "u a[p]", "u a\"t\"[p] u a[q] u"] {
            let document = body(wire.name(), &format!("{sound} {tail}"));
            assert!(document.starts_with(&head));
            for unanswered in WAYS {
                let fixed = mended(wire, &way(Profile::for_format(wire), unanswered), &document);
                assert!(fixed.text.starts_with(&head), "{}\n{}", unanswered.name(), fixed.text);
            }
        }
    }
}

#[test]
fn b4_4_a_partial_batch_is_removed_whole_or_answered_and_both_are_valid() {
    // The seed drops by default; we answer by default and drop on request, because dropping
    // hides that something may have run.
    for wire in [Format::OpenaiChat, Format::Anthropic, Format::Gemini] {
        let document = body(wire.name(), "u a[x y] r[x] u");
        let told = WAYS.map(|unanswered| {
            shape(&mended(wire, &way(Profile::for_format(wire), unanswered), &document).list())
        });
        assert_eq!(told, ["u a[x y] r[x y~] u", "u u", "u a[x] r[x] u"], "{}", wire.name());
    }
    assert_eq!(Policy::default().unanswered, UnansweredPolicy::Answer);
}

#[test]
fn b4_5_ids_used_again_in_another_turn_are_matched_turn_by_turn() {
    for (wire, profiles) in SPOKEN {
        for &profile in profiles {
            // The second turn's answer must not close the first turn's call.
            let document = body(wire.name(), "u a[call00001] u a[call00001] r[call00001] u");
            let fixed = mended(wire, &bold(profile), &document);
            let open: Vec<usize> = fixed
                .before
                .findings
                .iter()
                .filter(|finding| finding.rule.code == 101)
                .map(|finding| finding.location.message)
                .collect();
            assert_eq!(open, [1], "{} {}", wire.name(), profile.name());
            assert_eq!(fixed.text.matches("result of call00001").count(), 1);
            assert_eq!(fixed.text.matches("[foxwedge] Interrupted").count(), 1);
            let (calls, answers) = ids(&fixed.list());
            assert_eq!(calls, answers, "{}", fixed.text);
            // The real answer stays with the second call.
            let real = fixed.text.find("result of call00001");
            assert!(real > fixed.text.find("[foxwedge] Interrupted"), "{}", fixed.text);
        }
        let own = Profile::for_format(wire);
        if !matches!(own, Profile::Anthropic) {
            let twice = body(wire.name(), "u a[x] r[x] a[x] r[x] a u a[x] r[x]");
            passes("one id, three turns", wire, own, &twice);
        }
    }
}

#[test]
fn b4_14_reasoning_content_is_kept_with_its_calls() {
    let turn = |id: &str, open: bool| {
        let mut turn = vec![json!({
            "role": "assistant", "content": "", "reasoning_content": format!("because of {id}"),
            "tool_calls": [{"id": id, "type": "function", "function": {"name": "go", "arguments": "{}"}}]
        })];
        if !open {
            turn.push(json!({"role": "tool", "tool_call_id": id, "content": "done"}));
        }
        turn
    };
    let user = json!({"role": "user", "content": "Go."});
    let mut history = vec![user.clone()];
    history.extend(turn("x", false));
    history.extend(turn("y", true));
    history.push(user);
    let document = json!({"model": "deepseek-reasoner", "messages": history}).to_string();
    for profile in [Profile::Deepseek, Profile::OpenaiChat, Profile::Strict] {
        let fixed = mended(Format::OpenaiChat, &bold(profile), &document);
        for kept in ["because of x", "because of y"] {
            assert!(fixed.text.contains(kept), "{}", fixed.text);
        }
    }
    // Where it is missing DeepSeek gets the empty form, and nobody else does.
    let bare = document.replace(r#""reasoning_content":"because of x","#, "");
    let fixed = mended(Format::OpenaiChat, &bold(Profile::Deepseek), &bare);
    assert_eq!(fixed.codes(), [101, 502]);
    assert_eq!(fixed.list()[1]["reasoning_content"], "");
    let fixed = crate::support::fixed(Format::OpenaiChat, &bold(Profile::OpenaiChat), &bare);
    assert_eq!(fixed.list()[1].get("reasoning_content"), None);
}

#[test]
fn nobody_speaks_for_the_user_unasked_even_beside_other_repairs() {
    let table = [
        (
            Format::Gemini,
            r#"{"model":"m","contents":[{"role":"user","parts":[{"text":"Hi."}]},{"role":"user","parts":[]},{"role":"model","parts":[{"text":"Hello."}]}]}"#,
            403,
        ),
        (
            Format::Bedrock,
            r#"{"modelId":"m","messages":[{"role":"user","content":[{"text":"Hi."}]},{"role":"user","content":[{"text":"Hi!"}]},{"role":"assistant","content":[{"text":"Hello."}]}]}"#,
            403,
        ),
    ];
    for (wire, document, code) in table {
        let meek = asked(Profile::for_format(wire), Policy::default());
        let fixed = fixed(wire, &meek, document);
        let done: Vec<u16> = fixed.edits.iter().map(|edit| edit.code).collect();
        assert!(!done.is_empty() && !done.contains(&code), "{done:?}\n{}", fixed.text);
        assert_eq!(codes(&report(wire, &meek, &fixed.text)), [code], "{}", fixed.text);
        mended(wire, &bold(Profile::for_format(wire)), document);
    }
}

#[test]
fn an_answer_that_only_mentions_the_words_of_a_placeholder_is_real() {
    let words = [
        "[foxwedge] Interrupted: no answer was recorded.",
        "[Tool execution was interrupted]",
        "No result provided",
        "Tool execution aborted",
        "[Request interrupted by user]",
        "aborted",
    ];
    for wire in Format::ALL {
        let question = bold(Profile::for_format(wire));
        for words in words {
            let real = format!("run.log, line 3: {words}. 41 more lines follow");
            // An orphan is quoted, and of two real answers both are kept.
            for shape in ["u a r[x] u", "u a[x] r[x] r[x] u"] {
                let old = ["\"result of x #3\"", "\"result of x #5\""];
                let new = json!(real).to_string();
                let document = body(wire.name(), shape).replace(old[0], &new).replace(old[1], &new);
                assert!(document.contains(&real), "{document}");
                let fixed = mended(wire, &question, &document);
                assert!(fixed.text.contains(&real), "{shape}\n{document}\n{}", fixed.text);
            }
        }
    }
}

#[test]
fn the_shape_of_a_result_is_read_naively_and_right() {
    let table = ["u a[x y] r[x y] a u", "u a[x] u", "s u a", "u r[q] a[x] r[x]"];
    for expected in table {
        // Steps hold no instructions.
        let instructs =
            |wire: &Format| *wire != Format::GeminiInteractions || !expected.starts_with('s');
        for wire in Format::ALL.into_iter().filter(instructs) {
            assert_eq!(shape(&messages(wire.name(), expected)), expected, "{}", wire.name());
        }
    }
    let fixed =
        fixed(Format::OpenaiChat, &bold(Profile::OpenaiChat), &body("openai-chat", "u a[x]"));
    assert_eq!(shape(&fixed.list()), "u a[x] r[x~]");
}
