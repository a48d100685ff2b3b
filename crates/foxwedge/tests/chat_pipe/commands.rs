//! Commands behind a slash, over a pipe.

use crate::stage::Stage;

#[test]
fn help_and_slips() {
    let stage = Stage::new();
    let ran = stage.chat(&[], "/help\n");
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{ran:?}");
    for name in ["/compact", "/resume", "/undo", "/export", "/quit"] {
        assert!(ran.err.contains(name), "{}", ran.err);
    }
    let ran = stage.chat(&[], "/staus\nhello\n");
    assert_eq!((ran.code, ran.out.as_str()), (1, "You said: hello\n"), "{ran:?}");
    assert!(ran.err.contains("there is no command `/staus`"), "{}", ran.err);
    assert!(ran.err.contains("did you mean `/status`?"), "{}", ran.err);
}

#[test]
fn quit_leaves_the_rest_unread() {
    let stage = Stage::new();
    let ran = stage.chat(&[], "hello\n/quit\nnever\n");
    assert_eq!((ran.code, ran.out.as_str()), (0, "You said: hello\n"), "{ran:?}");
}

#[test]
fn status_tools_and_model_tell_how_things_are() {
    let stage = Stage::new();
    let ran = stage.chat(&["--allow", "run"], "call list\n/status\n/tools\n/model\n");
    assert_eq!(ran.code, 0, "{ran:?}");
    let table = [
        "session  chat-",
        "history  4 messages, 1 tool call, about ",
        "health   valid",
        "last run run_",
        "the model is `scripted`",
    ];
    for word in table {
        assert!(ran.err.contains(word), "no `{word}` in {}", ran.err);
    }
    let tool = |name: &str| {
        let line = ran.err.lines().find(|line| {
            let mut words = line.split_whitespace();
            words.next() == Some(name) && matches!(words.next(), Some("reads" | "asks" | "allowed"))
        });
        line.and_then(|line| line.split_whitespace().nth(1)).unwrap_or_default().to_owned()
    };
    assert_eq!(
        (tool("read"), tool("write"), tool("run")),
        ("reads".into(), "asks".into(), "allowed".into()),
        "{}",
        ran.err
    );
}

#[test]
fn undo_restores_the_files_that_tools_wrote() {
    let stage = Stage::new();
    stage.write("old.txt", "before\n");
    stage.write("other.txt", "before\n");
    let edit =
        |name: &str| format!(r#"call edit with {{"path":"{name}","old":"before","new":"after"}}"#);
    let make = r#"call write with {"path":"new.txt","content":"new"}"#;
    let read = |name: &str| std::fs::read_to_string(stage.path(name)).unwrap_or_default();
    let ran = stage.chat(&["--yes"], &format!("{}\n{make}\n/undo\n", edit("old.txt")));
    assert!(ran.err.contains("it changed 1 file: `/undo files` restores"), "{}", ran.err);
    assert_eq!((read("old.txt").as_str(), read("new.txt").as_str()), ("after\n", "new"));
    // Another process restores what this one changed; a file that was changed later stays.
    let ran = stage.chat(&["--continue", "--yes"], &format!("{}\n", edit("other.txt")));
    assert_eq!(ran.code, 0, "{ran:?}");
    stage.write("other.txt", "by hand\n");
    let ran = stage.chat(&["--continue"], "/undo files\n/undo files\n");
    assert!(ran.err.contains("not restored: other.txt: it was changed later"), "{}", ran.err);
    assert!(ran.err.contains("restored old.txt"), "{}", ran.err);
    assert_eq!((read("old.txt").as_str(), read("other.txt").as_str()), ("before\n", "by hand\n"));
}

#[test]
fn a_deleted_session_leaves_no_copies_of_files() {
    let delete = |id: &str| vec!["store".to_owned(), "delete".to_owned(), id.to_owned()];
    let prune = |_: &str| ["store", "prune", "--older-than", "0s"].map(str::to_owned).to_vec();
    for arguments in [delete as fn(&str) -> Vec<String>, prune] {
        let stage = Stage::new();
        let copies = stage.path("../state/chat-files");
        let make = r#"call write with {"path":"new.txt","content":"new"}"#;
        assert_eq!(stage.chat(&["--yes"], make).code, 0);
        let session = std::fs::read_dir(&copies).unwrap().next().unwrap().unwrap().file_name();
        // Copies of another session stay.
        std::fs::create_dir(copies.join("chat-other")).unwrap();
        let mut arguments = arguments(session.to_str().unwrap());
        arguments.push("--yes".to_owned());
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let ran = stage.run(&arguments, "");
        assert_eq!(ran.code, 0, "{ran:?}");
        let left: Vec<_> =
            std::fs::read_dir(&copies).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(left, ["chat-other"], "{arguments:?}");
    }
}

#[test]
fn undo_gives_the_prompt_back_and_the_model_forgets_it() {
    let stage = Stage::new();
    let ran = stage.chat(&[], "one\ntwo\n/undo\n/status\n/undo\n/undo\n");
    assert_eq!((ran.code, ran.out.as_str()), (0, "You said: one\nYou said: two\n"), "{ran:?}");
    assert!(ran.err.contains("the last prompt and its replies are undone\ntwo\n"), "{}", ran.err);
    assert!(ran.err.contains("history  2 messages"), "{}", ran.err);
    assert!(ran.err.contains("there is no prompt to undo"), "{}", ran.err);
}

#[test]
fn export_writes_each_format_and_never_over_a_file() {
    let stage = Stage::new();
    stage.write("mine.md", "precious");
    let ran =
        stage.chat(&[], "hello fox\n/export\n/export html\n/export out.json\n/export mine.md\n");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("`mine.md` already exists"), "{}", ran.err);
    assert_eq!(std::fs::read_to_string(stage.path("mine.md")).unwrap(), "precious");
    let session = &stage.sessions()[0];
    let files = [("md", "# Conversation with"), ("html", "<!DOCTYPE html>")];
    for (ending, word) in files {
        let names = std::fs::read_dir(stage.path(".")).unwrap();
        let mut names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let name = names.find(|name| name.starts_with(session) && name.ends_with(ending)).unwrap();
        let text = std::fs::read_to_string(stage.path(&name)).unwrap();
        assert!(text.to_lowercase().contains(&word.to_lowercase()), "{ending}: {text}");
        assert!(text.contains("hello fox"), "{ending}");
    }
    let text = std::fs::read_to_string(stage.path("out.json")).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let last = document["messages"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["parts"][0]["text"], "You said: hello fox");
}

#[test]
fn compact_makes_the_history_shorter_or_says_that_it_cannot() {
    let stage = Stage::new();
    let ran = stage.chat(&[], "/compact\nhello\n/compact\n");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("there is nothing to compact"), "{}", ran.err);
    let word = "The hen house is open. ".repeat(400);
    let prompts: String = (0..12).map(|number| format!("{number} {word}\n")).collect();
    let ran = stage.chat(&[], &format!("{prompts}/compact the hen\n/status\nstill there?\n"));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("the history was compacted from about "), "{}", ran.err);
    assert!(ran.err.contains("health   valid"), "{}", ran.err);
    assert!(ran.out.ends_with("You said: still there?\n"), "{}", ran.out);
}

#[test]
fn another_session_another_model_and_a_new_one() {
    let stage = Stage::new();
    let ran = stage.chat(&[], "one\n/new\ntwo\n/resume\n");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(stage.sessions().len(), 2);
    assert!(ran.err.contains("`/resume ID` resumes one"), "{}", ran.err);
    let old = &stage.sessions()[1];
    let ran =
        stage.chat(&[], &format!("/resume {old}\n/undo\n/model gpt-9\n/model scripted-2\nx\n"));
    assert_eq!((ran.code, ran.out.as_str()), (1, "You said: x\n"), "{ran:?}");
    assert!(ran.err.contains("the last prompt and its replies are undone\none\n"), "{}", ran.err);
    assert!(ran.err.contains("no provider is configured for `gpt-9`"), "{}", ran.err);
    assert!(ran.err.contains("the model is now `scripted-2`"), "{}", ran.err);
}
