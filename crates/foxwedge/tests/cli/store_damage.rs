//! Stores and exports that are not what they were.

use std::fs;

use crate::{follow_streams::*, sandbox::Sandbox};

fn store() -> Sandbox {
    let sandbox = Sandbox::with("s.jsonl", whole().replace("Done.", "Everything went well."));
    let arguments = ["follow", "s.jsonl", "--store", "runs.db", "--run", "r", "--session", "s"];
    let ran = sandbox.run(&arguments);
    assert_eq!(ran.code, 0, "{}", ran.all());
    sandbox
}

#[test]
fn a_sound_store_is_called_sound() {
    let ran = store().run(&["store", "check", "--store", "runs.db"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.all());
    assert!(ran.err.starts_with("sqlite:runs.db: no damage (1 run, "), "{}", ran.err);
}

#[test]
fn a_changed_word_in_the_file_is_found() {
    let sandbox = store();
    let path = sandbox.path("runs.db");
    let mut bytes = fs::read(&path).unwrap();
    // Only the event says it like this.
    let word: &[u8] = br#""status":"succeeded""#;
    let place = bytes.windows(word.len()).position(|window| window == word).unwrap();
    bytes[place + word.len() - 2] = b's';
    fs::write(&path, &bytes).unwrap();
    let ran = sandbox.run(&["store", "check", "--store", "runs.db"]);
    assert_eq!(ran.code, 1, "{}", ran.all());
    assert!(ran.out.starts_with("damaged  run r, event "), "{}", ran.out);
    assert!(ran.err.contains("damaged in 1 place"), "{}", ran.err);
    let ran = sandbox.run(&["runs", "show", "r", "--store", "runs.db"]);
    assert_eq!(ran.code, 2, "{}", ran.all());
    assert!(
        ran.err.contains("is damaged") && ran.err.contains("help: `foxwedge store check`"),
        "{}",
        ran.err
    );
    // What stands before the damage can be had.
    let ran = sandbox.run(&["store", "export", "-o", "rest.jsonl", "--store", "runs.db"]);
    assert_eq!(ran.code, 1, "{}", ran.all());
    assert!(sandbox.read("rest.jsonl").contains("run-started"));
}

#[test]
fn an_export_that_was_changed_or_cut_is_read_up_to_there() {
    let sandbox = store();
    let all = sandbox.run(&["store", "export", "--store", "runs.db"]).out;
    let table = [
        ("changed", all.replacen("\"command\":\"make\"", "\"command\":\"mayk\"", 1)),
        ("cut", all[..all.len() * 2 / 3].to_owned()),
        ("empty", String::new()),
        ("strange", "hello\n".to_owned()),
    ];
    for (name, text) in table {
        sandbox.write("bad.jsonl", text);
        let store = format!("{name}.db");
        let ran = sandbox.run(&["store", "import", "bad.jsonl", "--store", &store]);
        assert_eq!(ran.code, 1, "{name}: {}", ran.all());
        assert!(ran.err.contains("error: bad.jsonl:"), "{name}: {}", ran.err);
        assert!(
            ran.err.contains("help: everything before that line was imported"),
            "{name}: {}",
            ran.err
        );
        // Whatever was read is a sound store with no run open.
        let ran = sandbox.run(&["store", "check", "--store", &store]);
        assert_eq!(ran.code, 0, "{name}: {}", ran.all());
        assert!(!ran.err.contains("running"), "{name}: {}", ran.err);
    }
}

#[test]
fn something_else_under_the_same_id_stays() {
    let sandbox = store();
    sandbox.write("one.jsonl", sandbox.run(&["store", "export", "--store", "runs.db"]).out);
    sandbox.write("s.jsonl", whole());
    let other = ["follow", "s.jsonl", "--store", "other.db", "--run", "r", "--session", "t"];
    assert_eq!(sandbox.run(&other).code, 0);
    let ran = sandbox.run(&["store", "import", "one.jsonl", "--store", "other.db"]);
    assert_eq!(ran.code, 1, "{}", ran.all());
    assert!(ran.err.contains("already in the store with other content"), "{}", ran.err);
}
