//! Sessions in a file, and on a PostgreSQL server where there is one: `FOXWEDGE_TEST_POSTGRES`
//! names it.

use crate::stage::Stage;

/// A schema of its own on the server; `None` if there is no server.
fn server() -> Option<String> {
    let server = std::env::var("FOXWEDGE_TEST_POSTGRES").ok().filter(|url| !url.is_empty());
    let Some(server) = server else {
        println!("skipped: FOXWEDGE_TEST_POSTGRES names no server");
        return None;
    };
    let joint = if server.contains('?') { '&' } else { '?' };
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    Some(format!("{server}{joint}schema=chat_{}_{}", std::process::id(), now.subsec_nanos()))
}

#[test]
fn a_conversation_is_the_same_in_a_file_and_on_a_server() {
    let stage = Stage::new();
    let mut stores = vec![stage.path("own.db").to_string_lossy().into_owned()];
    stores.extend(server());
    for store in stores {
        let chat = |arguments: &[&str], input: &str| {
            let ran = stage.chat(&[arguments, &["--store", &store]].concat(), input);
            assert_eq!(ran.code, 0, "{arguments:?} {ran:?}");
            ran
        };
        assert_eq!(chat(&["-p", "one"], "").out, "You said: one\n");
        let ran = chat(&["--continue"], "call list\n/compact\n/status\n/fork\ntwo\n");
        assert!(ran.out.ends_with("You said: two\n"), "{ran:?}");
        assert!(ran.err.contains("health   valid"), "{ran:?}");
        assert_eq!(chat(&["--list"], "").out.lines().count(), 2);
        let ran = stage.run(&["store", "check", "--store", &store], "");
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    // Nothing went into the usual place.
    assert!(!stage.store().exists());
}

#[test]
fn a_store_that_cannot_be_opened_is_told_in_words() {
    let stage = Stage::new();
    stage.write("junk.db", &"no database ".repeat(1_000));
    let ran = stage.chat(&["-p", "x", "--store", "junk.db"], "");
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
    assert!(ran.err.contains("error: "), "{}", ran.err);
}
