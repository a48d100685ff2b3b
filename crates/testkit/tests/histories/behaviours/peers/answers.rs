//! Calls of the provider's own tools, results with little in them, and placeholders.

use super::*;

#[test]
fn t47_a_server_call_is_in_flight_while_only_client_results_follow() {
    passes("in flight", Format::Anthropic, Profile::Anthropic, &searching(&[]));
}

#[test]
fn t48_a_server_call_is_dead_once_a_user_text_follows() {
    let document = searching(&[json!({"role": "user", "content": "Never mind."})]);
    let fixed = mended(Format::Anthropic, &bold(Profile::Anthropic), &document);
    assert_eq!(fixed.codes(), [601]);
    assert_eq!(shape(&fixed.list()), "u a+a[x] r[x] u");
    assert!(fixed.text.contains("cache_control"), "{}", fixed.text);
    // Peers move the mark of a removed block to the block before it. We do not: a cache mark is
    // not part of what was said, and the next request sets its own.
    let marked = document.replace(
        r#""id":"srvtoolu_1""#,
        r#""cache_control":{"type":"ephemeral"},"id":"srvtoolu_1""#,
    );
    let fixed = mended(Format::Anthropic, &bold(Profile::Anthropic), &marked);
    assert_eq!(fixed.text.matches("cache_control").count(), 1, "{}", fixed.text);
}

#[test]
fn t49_a_server_result_without_its_call_goes_and_healthy_pairs_stay() {
    let document = json!([
        {"role": "user", "content": "Search."},
        {"role": "assistant", "content": [
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_0", "content": []},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
            {"type": "text", "text": "Found."}
        ]},
        {"role": "user", "content": "Thanks."}
    ]);
    let fixed = mended(Format::Anthropic, &bold(Profile::Anthropic), &document.to_string());
    let mut expected = list(&document);
    expected[1]["content"].as_array_mut().expect("blocks").remove(0);
    assert_eq!(fixed.list(), expected);
}

#[test]
fn t50_an_open_server_call_of_an_older_turn_goes_and_the_last_one_stays() {
    let turn = |id: &str| {
        json!({"role": "assistant", "content": [
            {"type": "text", "text": "Searching."},
            {"type": "server_tool_use", "id": id, "name": "web_search", "input": {}}
        ]})
    };
    let user = json!({"role": "user", "content": "Search."});
    let document = json!([user, turn("srvtoolu_1"), user, turn("srvtoolu_2")]).to_string();
    let fixed = mended(Format::Anthropic, &bold(Profile::Anthropic), &document);
    assert!(!fixed.text.contains("srvtoolu_1") && fixed.text.contains("srvtoolu_2"));
}

#[test]
fn t51_families_that_share_an_id_are_matched_separately() {
    let document = json!([
        {"role": "user", "content": "Go."},
        {"type": "function_call", "call_id": "x", "name": "go", "arguments": "{}"},
        {"type": "custom_tool_call", "call_id": "x", "name": "go", "input": ""},
        {"type": "local_shell_call", "call_id": "x", "action": {"type": "exec", "command": ["ls"]}},
        {"type": "custom_tool_call_output", "call_id": "x", "output": "custom"},
        {"role": "user", "content": "And?"}
    ]);
    let question = bold(Profile::OpenaiResponses);
    let fixed = mended(Format::OpenaiResponses, &question, &document.to_string());
    assert_eq!(fixed.codes(), [101]);
    assert_eq!(fixed.before.findings.len(), 2, "{:?}", fixed.before);
    let kinds: Vec<Value> = fixed.list().iter().map(|item| item["type"].clone()).collect();
    for kind in ["function_call_output", "custom_tool_call_output", "local_shell_call_output"] {
        assert_eq!(kinds.iter().filter(|found| *found == kind).count(), 1, "{kind} {kinds:?}");
    }
}

#[test]
fn t52_truncated_arguments_stay_verbatim_and_the_call_is_answered() {
    let cut = r#"{"path": "src/ma"#;
    let document = json!([
        {"role": "user", "content": "Read."},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "call00001", "type": "function", "function": {"name": "read", "arguments": cut}}]}
    ])
    .to_string();
    let fixed = mended(Format::OpenaiChat, &bold(Profile::OpenaiChat), &document);
    assert_eq!(fixed.codes(), [101]);
    assert_eq!(fixed.list()[1]["tool_calls"][0]["function"]["arguments"], cut);
    // Strict servers parse the string, so there it is closed.
    let fixed = mended(Format::OpenaiChat, &bold(Profile::Strict), &document);
    let closed = &fixed.list()[1]["tool_calls"][0]["function"]["arguments"];
    assert_eq!(value(closed.as_str().expect("a string")), json!({"path": "src/ma"}));
}

#[test]
fn t53_an_empty_result_says_so_where_the_provider_wants_content() {
    let document = body("openai-chat", "u a[x] r[x]").replace("\"result of x #3\"", "null");
    let fixed = mended(Format::OpenaiChat, &bold(Profile::OpenaiChat), &document);
    assert_eq!(fixed.codes(), [303]);
    assert_eq!(fixed.list()[2]["content"], "(no output)");
    assert_eq!(shape(&fixed.list()), "u a[x] r[x]");
}

/// Whether a model sees images at all is not in the history; the chat format itself takes no
/// media in answers, and there it moves (see t55). The pair stays whole either way.
#[test]
fn t54_an_image_result_keeps_its_pair_with_words_in_its_place() {
    let fixed = mended(Format::OpenaiChat, &bold(Profile::OpenaiChat), &pictures("u a[x] r[x]"));
    assert_eq!(shape(&fixed.list()), "u a[x] r[x] u+m");
    assert!(fixed.list()[2]["content"].to_string().contains("see the following user message"));
}

/// A chat history in which the first answer is an image.
fn pictures(shape: &str) -> String {
    let image = json!([{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]);
    let text = body("openai-chat", shape);
    text.replacen("\"result of x #3\"", &image.to_string(), 1)
}

#[test]
fn t55_media_of_parallel_results_waits_until_the_run_of_answers_ends() {
    let fixed =
        mended(Format::OpenaiChat, &bold(Profile::OpenaiChat), &pictures("u a[x y] r[x y] u"));
    assert_eq!(shape(&fixed.list()), "u a[x y] r[x y] u+m u");
    assert_eq!(fixed.codes(), [307]);
}

#[test]
fn t56_media_of_a_dropped_result_goes_with_it() {
    let turn = asked(Profile::OpenaiChat, dropping(UnansweredPolicy::DropTurn));
    let fixed = mended(Format::OpenaiChat, &turn, &pictures("u a[x y] r[x] u"));
    assert_eq!(shape(&fixed.list()), "u u");
    let drop = Policy { orphans: OrphanPolicy::Drop, allow_unsafe: true, ..Policy::default() };
    let fixed =
        mended(Format::OpenaiChat, &asked(Profile::OpenaiChat, drop), &pictures("u a r[x] u"));
    assert_eq!(shape(&fixed.list()), "u a u");
    // Quoted, the picture stays.
    let fixed = mended(Format::OpenaiChat, &bold(Profile::OpenaiChat), &pictures("u a r[x] u"));
    assert_eq!(shape(&fixed.list()), "u a u+m u");
}

/// Asks with open calls at the end taken as running.
fn pending(profile: Profile, unanswered: UnansweredPolicy) -> foxwedge_core::CheckOptions {
    asked(
        profile,
        Policy { unanswered, tail: TailPolicy::Pending, allow_unsafe: true, ..Policy::default() },
    )
}

#[test]
fn t57_a_pending_call_at_the_tail_is_not_answered_and_a_new_prompt_closes_it() {
    for wire in Format::ALL {
        for unanswered in WAYS {
            let question = pending(Profile::for_format(wire), unanswered);
            for shape in ["u a[x]", "u a[x y] r[y]"] {
                let found = touched(wire, &question, &body(wire.name(), shape));
                assert!(found.is_empty(), "{} {shape} {found:?}", wire.name());
            }
        }
        // With words of the user behind it the call is open, and the finding is typed.
        let document = body(wire.name(), "u a[x] u");
        let question = pending(Profile::for_format(wire), UnansweredPolicy::Answer);
        assert_eq!(codes(&report(wire, &question, &document)), [101]);
        assert_eq!(ids(&mended(wire, &question, &document).list()).1, ["x"]);
    }
}

/// Peers keep a question by a list of ids; we keep the whole frontier, which says the same with
/// less to get wrong, and repair everything before it.
#[test]
fn t58_a_restorable_question_at_the_tail_is_kept_while_the_rest_is_repaired() {
    for wire in Format::ALL {
        let document = body(wire.name(), "u a[p] u a[question]");
        let fixed =
            mended(wire, &pending(Profile::for_format(wire), UnansweredPolicy::Answer), &document);
        assert_eq!(
            ids(&fixed.list()),
            (vec!["p".to_owned(), "question".to_owned()], vec!["p".to_owned()])
        );
    }
}

#[test]
fn t59_counting_tokens_over_a_frontier_call_changes_nothing() {
    for wire in Format::ALL {
        let document = body(wire.name(), "u a\"asking\"[x]");
        let fixed =
            fixed(wire, &pending(Profile::for_format(wire), UnansweredPolicy::DropTurn), &document);
        assert_eq!(fixed.text, document);
        assert!(fixed.before.is_clean());
    }
}

#[test]
fn t60_a_late_real_result_replaces_the_synthetic_one_and_the_report_says_so() {
    for wire in Format::ALL {
        let closed = mended(wire, &bold(Profile::for_format(wire)), &body(wire.name(), "u a[x] u"));
        let mut history = closed.list();
        history.extend(messages(wire.name(), "u a[x] r[x]").pop());
        let document = Value::Array(history).to_string();
        let fixed = mended(wire, &bold(Profile::for_format(wire)), &document);
        assert_eq!(ids(&fixed.list()).1, ["x"]);
        assert!(fixed.text.contains("result of x") && !fixed.text.contains("Interrupted"));
        assert!(fixed.codes().contains(&104), "{:?}", fixed.codes());
        let dropped = fixed.edits.iter().find(|edit| edit.code == 104).expect("an edit");
        assert_eq!(dropped.ids, ["x"]);
    }
}

#[test]
fn t72_a_second_repair_finds_nothing_and_changes_nothing() {
    let broken = "u r[q] a[x y] r[y y] u a[x] a r[x] u";
    for (wire, profiles) in SPOKEN {
        for &profile in profiles {
            for unanswered in WAYS {
                let question = way(profile, unanswered);
                let once = mended(wire, &question, &body(wire.name(), broken));
                let found = touched(wire, &question, &once.text);
                assert!(found.is_empty(), "{} {} {found:?}", wire.name(), profile.name());
            }
        }
    }
}

#[test]
fn t73_repairing_a_longer_history_keeps_the_repaired_beginning() {
    let (head, tail) = ("u r[q] a[x y] r[y] u a[v] a u", ["u", "a u", "a[w] r[w] a u", "a[w] u"]);
    for wire in Format::ALL {
        let question = bold(Profile::for_format(wire));
        let short = mended(wire, &question, &body(wire.name(), head)).text;
        // The last message may still grow; everything before it is settled.
        let settled = list(&value(&short));
        let settled = &settled[..settled.len() - 1];
        for tail in tail {
            let long = mended(wire, &question, &body(wire.name(), &format!("{head} {tail}")));
            let long = long.list();
            assert_eq!(long.get(..settled.len()), Some(settled), "{} {tail}", wire.name());
        }
    }
}

#[test]
fn t74_every_thread_gives_the_same_bytes() {
    let broken = body("anthropic", "u r[q] a[x.1 x:1] r[x:1] u a[x.1] r[x.1] a r[x.1]");
    let run = move || fixed(Format::Anthropic, &bold(Profile::Strict), &broken).text;
    let once = run();
    let threads: Vec<_> = (0..8).map(|_| thread::spawn(run.clone())).collect();
    for thread in threads {
        assert_eq!(thread.join().expect("a repair does not panic"), once);
    }
}

#[test]
fn t75_the_callers_input_is_not_changed() {
    let document = body("openai-chat", "u a[x] u r[x]");
    let before = document.clone();
    let fixed = mended(Format::OpenaiChat, &bold(Profile::OpenaiChat), &document);
    assert_ne!(fixed.text, document);
    assert_eq!(document, before);
}

#[test]
fn t76_random_histories_over_four_ids_become_valid_and_lose_nothing() {
    let names = ["call00001", "call00002", "call00003", "call00004"];
    let mut random = Random::new(76);
    for round in 0..80 {
        let mut tokens: Vec<String> = Vec::new();
        for _ in 0..1 + random.below(30) {
            let some: Vec<&str> = (0..1 + random.below(3)).map(|_| *random.pick(&names)).collect();
            tokens.push(match random.below(10) {
                0 | 1 => "u".to_owned(),
                2 => "a".to_owned(),
                3 if random.chance(20) => "s".to_owned(),
                3..=6 => format!("a[{}]", some.join(" ")),
                _ => format!("r[{}]", some.join(" ")),
            });
        }
        let history = tokens.join(" ");
        for (wire, profiles) in SPOKEN {
            let document = body(wire.name(), &history);
            let before = inventory(wire.name(), &value(&document));
            for &profile in profiles {
                let fixed = mended(wire, &bold(profile), &document);
                let gone = lost(wire.name(), &before, &fixed.value());
                assert!(gone.is_empty(), "round {round} {history}\nlost {gone:?}\n{}", fixed.text);
            }
        }
    }
}

#[test]
fn t82_the_words_of_a_placeholder_know_tools_that_only_read() {
    let table = [
        ("read_file", true),
        ("list_dir", true),
        ("Grep", true),
        // A verb in a name proves nothing: only well-known whole names count.
        ("getUser", false),
        ("search_and_replace", false),
        ("get_or_create_user", false),
        ("write_file", false),
        ("bash", false),
        ("delete_user", false),
        ("reader_writer", false),
        ("getaway", false),
        ("look", false),
    ];
    for (tool, reads) in table {
        for wire in Format::ALL {
            let document =
                body(wire.name(), "u a[x] u").replace("\"look\"", &format!("\"{tool}\""));
            let fixed = mended(wire, &bold(Profile::for_format(wire)), &document);
            let (again, check) = ("it can be repeated", "check before repeating it");
            let (yes, no) = if reads { (again, check) } else { (check, again) };
            assert!(fixed.text.contains(yes), "{tool}\n{}", fixed.text);
            assert!(!fixed.text.contains(no), "{tool}\n{}", fixed.text);
        }
    }
}
