//! The behaviours that reading and repairing session files owe to the first seed, one test each,
//! named after the behaviour; and the defects of the original, one test each.

mod defects;

use crate::session_samples::{CANCELLED, LINKED, broken, file, line, mended, seen, under};
use crate::support::{WAYS, shape};
use foxwedge_core::UnansweredPolicy;
use foxwedge_formats::outline_options;
use foxwedge_sessions::ChainStatus;
use foxwedge_sessions::{SessionAgent, read, readable_text};
use foxwedge_testkit::{plain_walk, session_view};

#[test]
fn b0_1_the_chain_from_the_last_message_is_the_conversation() {
    let table = [
        ("1<- u; 2<1 a; 3<2 u", "u a u"),
        // Taken back, and asked differently.
        ("1<- u; 2<1 a; 3<2 u; 4<3 a[x]; 5<2 u; 6<5 a", "u a u a"),
        ("1<- u; 2<1 a; 3<1 a[x]; 4<3 r[x]; 5<2 u", "u a u"),
        // The newest root wins.
        ("1<- u; 2<1 a; 3<- u; 4<3 a", "u a"),
        // The branch that holds the last line wins, wherever it began.
        ("1<- u; 2<1 a; 3<- u; 4<2 u", "u a u"),
    ];
    for agent in LINKED {
        for (script, tells) in table {
            let bytes = file(agent, script);
            let seen = seen(agent, &bytes);
            assert_eq!(shape(&seen.history), tells, "{} {script}", agent.name());
            assert!(seen.untouched && seen.fixed == bytes, "{} {script}", agent.name());
        }
    }
}

#[test]
fn b0_2_broken_links_end_in_something_defined() {
    let table: [(&str, &[u16], &str); 7] = [
        ("1<- u; 2<1 a", &[], "u a"),
        // The parent lies in another file: nothing is lost.
        ("1<0 u; 2<1 a", &[], "u a"),
        ("1<- u; 2<1 a; 3<9 u", &[701], "u a u"),
        ("1<- u; 2<2 a; 3<2 u", &[704], "u a u"),
        ("1<3 u; 2<1 a; 3<2 u", &[704], "u a u"),
        // A line that was written twice.
        ("1<- u; 2<1 a; 2<1 a; 3<2 u", &[703], "u a u"),
        // One id for two different messages: both stay.
        (r#"1<- u; 2<1 a"one"; 3<2 u; 3<3 u"other"; 4<3 a"#, &[703], "u a u a"),
    ];
    for agent in LINKED {
        for (script, codes, tells) in table {
            let bytes = file(agent, script);
            assert_eq!(broken(&seen(agent, &bytes)), codes, "{} {script}", agent.name());
            for unanswered in WAYS {
                assert_eq!(mended(agent, unanswered, &bytes).0, tells, "{} {script}", agent.name());
            }
        }
    }
}

#[test]
fn b0_3_answers_that_are_siblings_are_all_on_the_path() {
    let table = [
        "1<- u; 2<1 a[x y z]; 3<2 r[x]; 4<2 r[y]; 5<2 r[z]; 6<5 a",
        "1<- u; 2<1 a[x y z]; 3<2 r[x]; 4<2 r[y]; 5<4 r[z]; 6<5 a",
    ];
    for agent in LINKED {
        for script in table {
            let bytes = file(agent, script);
            let seen = seen(agent, &bytes);
            assert_eq!(shape(&seen.history), "u a[x y z] r[x y z] a", "{} {script}", agent.name());
            // Claude Code looks beside the path by itself, Neovate does not.
            assert_eq!(broken(&seen).contains(&702), agent == SessionAgent::Neovate, "{script}");
            let (tells, fixed) = mended(agent, UnansweredPolicy::Answer, &bytes);
            assert_eq!(tells, "u a[x y z] r[x y z] a", "{} {script}", agent.name());
            if agent == SessionAgent::Neovate {
                let walk = plain_walk(agent.name(), &fixed).expect("its records are linked");
                assert_eq!(walk, [0, 1, 2, 3, 4, 5], "{script}");
            }
        }
    }
}

#[test]
fn b0_4_after_a_repair_every_call_is_answered_for_every_subset_of_answers() {
    const CALLS: [&str; 4] = ["w", "x", "y", "z"];
    for agent in LINKED {
        for answered in 0..1_u32 << CALLS.len() {
            let real: Vec<&str> =
                (0..4).filter(|bit| answered & (1 << bit) != 0).map(|bit| CALLS[bit]).collect();
            let together = match real.as_slice() {
                [] => String::new(),
                real => format!("; 3<2 r[{}]", real.join(" ")),
            };
            let apart: String =
                real.iter().enumerate().map(|(at, id)| format!("; {}<2 r[{id}]", at + 3)).collect();
            for answers in [together, apart] {
                for tail in ["", "; 9<LAST u", "; 8<LAST a; 9<8 u"] {
                    let last = 2 + answers.matches(';').count();
                    let tail = tail.replace("LAST", &last.to_string());
                    let script = format!("1<- u; 2<1 a\"so\"[w x y z]{answers}{tail}");
                    subset(agent, &script, &real);
                }
            }
        }
    }
}

fn subset(agent: SessionAgent, script: &str, real: &[&str]) {
    let bytes = file(agent, script);
    for unanswered in WAYS {
        let (tells, fixed) = mended(agent, unanswered, &bytes);
        let ids = |open: &str| -> Vec<String> {
            let lists = tells.split(open).skip(1).filter_map(|rest| rest.split(']').next());
            lists.flat_map(str::split_whitespace).map(str::to_owned).collect()
        };
        let (calls, answers) = (ids("a["), ids("r["));
        let mut kept: Vec<&str> = answers.iter().map(|id| id.trim_end_matches('~')).collect();
        kept.sort_unstable();
        assert_eq!(calls, kept, "{} {} {script}\n{tells}", agent.name(), unanswered.name());
        let expected: Vec<&str> = match unanswered {
            UnansweredPolicy::Answer => vec!["w", "x", "y", "z"],
            UnansweredPolicy::DropCall => real.to_vec(),
            UnansweredPolicy::DropTurn if real.len() == 4 => vec!["w", "x", "y", "z"],
            UnansweredPolicy::DropTurn => Vec::new(),
        };
        assert_eq!(calls, expected, "{} {} {script}", agent.name(), unanswered.name());
        // A placeholder stands only where there was nothing.
        let invented: Vec<&str> = answers.iter().filter_map(|id| id.strip_suffix('~')).collect();
        assert!(invented.iter().all(|id| !real.contains(id)), "{script}\n{tells}");
        let text = String::from_utf8_lossy(&fixed);
        for id in real.iter().filter(|id| expected.contains(id)) {
            assert!(text.contains(&format!("result of {id}")), "{id} is lost: {script}");
        }
    }
}

#[test]
fn b0_5_the_policy_decides_what_becomes_of_an_open_turn() {
    let script = "1<- u; 2<1 a\"so\"[x y]; 3<2 r[x]; 4<3 u";
    let table = [
        (UnansweredPolicy::Answer, "u a+a[x y] r[x y~]+u"),
        // The message goes with its text and with the answer it had.
        (UnansweredPolicy::DropTurn, "u"),
        (UnansweredPolicy::DropCall, "u a+a[x] r[x]+u"),
    ];
    for agent in LINKED {
        for (unanswered, tells) in table {
            let found = mended(agent, unanswered, &file(agent, script)).0;
            assert_eq!(found, tells, "{} {}", agent.name(), unanswered.name());
        }
    }
}

#[test]
fn b0_6_open_calls_are_there_before_a_repair_and_answered_in_their_order_by_it() {
    for agent in LINKED {
        let bytes = file(agent, "1<- u; 2<1 a[x y z]; 3<2 r[y]");
        let seen = seen(agent, &bytes);
        assert_eq!(shape(&seen.history), "u a[x y z] r[y]", "{}", agent.name());
        let open: Vec<&str> = seen
            .report
            .findings
            .iter()
            .flat_map(|finding| &finding.ids)
            .map(String::as_str)
            .collect();
        assert_eq!(open, ["x", "z"], "{}", agent.name());
        let (tells, fixed) = mended(agent, UnansweredPolicy::Answer, &bytes);
        let answers: Vec<&str> = tells.split("r[").nth(1).unwrap_or("").split([' ', ']']).collect();
        let invented: Vec<&&str> = answers.iter().filter(|id| id.ends_with('~')).collect();
        assert_eq!(invented, [&"x~", &"z~"], "{} {tells}", agent.name());
        // All of them lie on the way from the last message to the root.
        let walk = plain_walk(agent.name(), &fixed).expect("its records are linked");
        let lines = fixed.iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(walk.len(), lines, "{}\n{}", agent.name(), String::from_utf8_lossy(&fixed));
    }
}

#[test]
fn b0_7_a_second_repair_adds_nothing() {
    for agent in LINKED {
        let bytes = file(agent, "1<- u; 2<1 a[x y]; 3<2 r[x]");
        let (_, fixed) = mended(agent, UnansweredPolicy::Answer, &bytes);
        // What a cancel does at the end of a run, once more.
        let twice = seen(agent, &fixed);
        assert!(twice.untouched && twice.fixed == fixed, "{}", agent.name());
        let answers = String::from_utf8_lossy(&fixed).matches("[foxwedge] ").count();
        let each = if agent == SessionAgent::ClaudeCode { 2 } else { 1 };
        assert_eq!(answers, each, "one answer, told as often as the agent tells it");
    }
}

#[test]
fn b0_8_a_real_answer_wins_over_a_placeholder() {
    let table = [
        "1<- u; 2<1 a[x]; 3<2 r~[x]; 4<2 r[x]; 5<4 u",
        "1<- u; 2<1 a[x]; 3<2 r[x]; 4<2 r~[x]; 5<4 u",
        "1<- u; 2<1 a[x]; 3<2 r~[x]; 4<3 r[x]; 5<4 u",
    ];
    for agent in LINKED {
        for script in table {
            let (tells, fixed) = mended(agent, UnansweredPolicy::Answer, &file(agent, script));
            assert_eq!(tells, "u a[x] r[x]+u", "{} {script}", agent.name());
            let told = session_view(agent.name(), &fixed).messages;
            let told = serde_json::Value::Array(told).to_string();
            assert!(told.contains("result of x"), "{} {script}\n{told}", agent.name());
            assert!(!told.contains(CANCELLED), "{} {script}\n{told}", agent.name());
        }
    }
}

#[test]
fn b0_9_a_torn_line_is_named_and_the_rest_is_read() {
    let whole = "1<- u; 2<1 a[x]; 3<2 r[x]; 4<3 a";
    for agent in LINKED {
        for (torn, tells) in [(3, "u a[x] r[x] a"), (4, "u a[x] r[x]")] {
            let lines: Vec<String> = whole.split("; ").map(|record| line(agent, record)).collect();
            let mut damaged = lines.clone();
            let half = damaged[torn - 1].len() / 2;
            if torn == 4 {
                damaged[3].truncate(half); // Cut, and nothing behind it.
            } else {
                // Cut, and written again on the same line.
                damaged[2] = format!("{}{}", &lines[2][..half], lines[2]);
            }
            let bytes = damaged.join("\n").into_bytes();
            let seen = seen(agent, &bytes);
            let named = seen.report.findings.iter().find(|finding| finding.rule.code == 801);
            let named = named.map(|finding| finding.message.clone()).unwrap_or_default();
            assert!(named.contains(&format!("line {torn}")), "{} {named}", agent.name());
            assert_eq!(shape(&seen.history), tells, "{}", agent.name());
            let (after, fixed) = mended(agent, UnansweredPolicy::Answer, &bytes);
            assert_eq!(after, tells, "{}", agent.name());
            // The next record starts on a line of its own.
            assert_eq!(fixed.last(), Some(&b'\n'), "{}", agent.name());
        }
    }
}

#[test]
fn b0_10_records_that_nobody_knows_stay_byte_for_byte_and_nothing_hangs_on_them() {
    for agent in LINKED {
        let bytes = file(agent, "line; 1<- u; line; 2<1 a[x y]; line; 3<2 r[x]; line; line");
        let (tells, fixed) = mended(agent, UnansweredPolicy::Answer, &bytes);
        assert_eq!(tells, "u a[x y] r[x y~]", "{}", agent.name());
        let text = String::from_utf8_lossy(&fixed);
        let unknown = line(agent, "line");
        assert_eq!(
            text.lines().filter(|line| *line == unknown).count(),
            5,
            "{}\n{text}",
            agent.name()
        );
        let walk = plain_walk(agent.name(), &fixed).expect("its records are linked");
        assert_eq!(walk.len(), 4, "{}\n{text}", agent.name());
    }
}

#[test]
fn b0_11_answers_as_old_versions_wrote_them_count() {
    let bytes = file(SessionAgent::Neovate, "1<- u; 2<1 a[x y]; 3<2 l[x y]; 4<3 a");
    let seen = seen(SessionAgent::Neovate, &bytes);
    assert_eq!(shape(&seen.history), "u a[x y] r[x y] a");
    assert!(seen.untouched && seen.fixed == bytes);
    let half = file(SessionAgent::Neovate, "1<- u; 2<1 a[x y]; 3<2 l[x]; 4<3 a");
    assert_eq!(
        mended(SessionAgent::Neovate, UnansweredPolicy::Answer, &half).0,
        "u a[x y] r[x y~] a"
    );
}

#[test]
fn b0_12_reading_changes_nothing_and_a_repair_says_what_it_did() {
    for agent in LINKED {
        let bytes = file(agent, "1<- u; 2<1 a[x]");
        for unanswered in WAYS {
            let seen = under(agent, unanswered, &bytes);
            assert_eq!(broken(&seen), [101], "{} {}", agent.name(), unanswered.name());
            assert_eq!(seen.edits.len(), 1, "{} {:?}", agent.name(), seen.edits);
            assert!(seen.edits[0].contains("`x`"), "{} {:?}", agent.name(), seen.edits);
        }
    }
}

#[test]
fn b0_13_a_repaired_file_and_its_copies_tell_the_same() {
    for agent in LINKED {
        let script = "1<- u; 2<1 a[x y]; 3<2 r[x]; 4<2 r[y]; 5<1 a; 6<4 a[z]";
        let (tells, fixed) = mended(agent, UnansweredPolicy::Answer, &file(agent, script));
        assert_eq!(tells, "u a[x y] r[x y] a[z] r[z~]", "{}", agent.name());
        let source = readable_text(&fixed).expect("it is small enough");
        let session =
            read(&source, agent, outline_options(agent.profile())).expect("it can be read");
        let mut copy = Vec::new();
        session.fork("0badcafe").write_to(&mut copy).expect("memory takes everything");
        assert_ne!(copy, fixed, "{}", agent.name());
        let copied = seen(agent, &copy);
        assert_eq!(shape(&copied.history), tells, "{}", agent.name());
        assert_eq!(copied.history, seen(agent, &fixed).history, "{}", agent.name());
    }
}

#[test]
fn b0_14_what_is_left_out_is_listed_with_its_ids() {
    for agent in LINKED {
        let script = "1<- u; 2<1 a; 3<2 u; 4<3 a[x]; 5<2 u; 5<2 u; 6<5 th; 7<6 u; line";
        let bytes = [file(agent, script), b"{\"type\":".to_vec()].concat();
        let source = readable_text(&bytes).expect("it is small enough");
        let session =
            read(&source, agent, outline_options(agent.profile())).expect("it can be read");
        let left = session.left_out();
        assert_eq!(left.branches, ["3", "4"], "{}", agent.name());
        assert_eq!(
            (left.duplicates, left.empty_replies),
            (vec!["5".to_owned()], vec!["6".to_owned()])
        );
        assert_eq!((left.unreadable, left.other_records), (vec![10], 1), "{}", agent.name());
        let path = session.nodes().iter().filter(|node| node.standing == ChainStatus::Path).count();
        assert_eq!(path, 5, "{}", agent.name());
    }
}

#[test]
fn b0_15_what_is_sound_comes_back_byte_for_byte() {
    let table = ["1<- u", "1<- u; 2<1 a; 3<2 u; 4<3 a", "1<- u; 2<1 a[x y]; 3<2 r[x y]; 4<3 a"];
    for agent in LINKED {
        let files = table.iter().map(|script| file(agent, script));
        for bytes in files.chain([Vec::new(), b"\n\n".to_vec()]) {
            for unanswered in WAYS {
                let seen = under(agent, unanswered, &bytes);
                let shown = String::from_utf8_lossy(&bytes);
                assert!(seen.untouched && seen.fixed == bytes, "{} {shown}", agent.name());
            }
        }
    }
}

#[test]
fn b0_16_a_summary_is_a_new_root_and_older_lines_stay() {
    let script = "1<- u; 2<1 a[x]; 3<2 r[x]; 4<- u\"summary\"; 5<4 u; 6<5 a[y]";
    for agent in LINKED {
        let bytes = file(agent, script);
        assert_eq!(shape(&seen(agent, &bytes).history), "u a[y]", "{}", agent.name());
        let (tells, fixed) = mended(agent, UnansweredPolicy::Answer, &bytes);
        assert_eq!(tells, "u a[y] r[y~]", "{}", agent.name());
        let older = file(agent, "1<- u; 2<1 a[x]; 3<2 r[x]; 4<- u\"summary\"; 5<4 u");
        assert!(fixed.starts_with(&older), "{}", agent.name());
    }
}

#[test]
fn b0_17_replies_that_say_nothing_are_left_out_and_users_in_a_row_are_one_message() {
    let table = [
        ("1<- u; 2<1 th; 3<2 u; 4<3 a", "u a"),
        ("1<- u; 2<1 sp; 3<2 u; 4<3 a", "u a"),
        ("1<- u; 2<1 a; 3<2 u; 4<3 th", "u a u"),
    ];
    for agent in LINKED {
        for (script, tells) in table {
            let bytes = file(agent, script);
            let seen = seen(agent, &bytes);
            assert_eq!(shape(&seen.history), tells, "{} {script}", agent.name());
            assert!(seen.untouched, "{} {script}", agent.name());
        }
    }
}

/// Nothing is timed here: a walk that were quadratic or that recursed would not come to its end.
#[test]
fn b0_18_a_long_file_is_read_to_its_end() {
    const TURNS: usize = 4000;
    for agent in LINKED {
        let mut bytes = file(agent, "r0<- u");
        for turn in 0..TURNS {
            let (call, id) = (format!("c{turn}"), |step: &str| format!("{step}{turn}"));
            let before = if turn == 0 { "r0".to_owned() } else { format!("q{}", turn - 1) };
            let (reply, one, two, next) = (id("a"), id("o"), id("t"), id("q"));
            bytes.extend(file(
                agent,
                &format!(
                    "{reply}<{before} a[{call}x {call}y]; {one}<{reply} r[{call}x]; \
                 {two}<{reply} r[{call}y]; {next}<{two} u"
                ),
            ));
        }
        let seen = seen(agent, &bytes);
        assert_eq!(seen.history.len(), 1 + 2 * TURNS, "{}", agent.name());
        assert_eq!(
            broken(&seen).iter().filter(|code| **code != 702).count(),
            0,
            "{}",
            agent.name()
        );
    }
}
