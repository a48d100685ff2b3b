//! `foxwedge search`: the sessions that contain a text.

use serde_json::Value;

use crate::homes::*;

#[test]
fn sessions_are_found_by_their_text_with_a_snippet() {
    let sandbox = home();
    let ran = sandbox.run(&["search", "APPLES"]);
    assert_eq!(ran.code, 0, "{}", ran.all());
    let lines: Vec<&str> = ran.out.lines().collect();
    assert!(lines[0].starts_with("0199aaaa  codex  3 h ago  /w/shop"), "{}", ran.out);
    assert!(lines[1].contains("tool") && lines[1].ends_with("  apples"), "{}", ran.out);
    assert!(ran.err.starts_with("1 session.\n"), "{}", ran.err);
}

#[test]
fn programs_get_one_document() {
    let ran = home().run(&["search", "--json", "time", "is"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.all());
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(document["total"], 1, "{document}");
    let session = &document["sessions"][0];
    assert_eq!((&session["agent"], &session["id"]), (&"gemini-cli".into(), &GEMINI.into()));
    assert_eq!(session["matches"][0]["message_index"], 0);
    assert_eq!(session["matches"][0]["role"], "user");
    assert_eq!(session["matches"][0]["snippet"], "what time is it?");
}

#[test]
fn the_search_can_be_narrowed_and_may_find_nothing() {
    let sandbox = home();
    let ran = sandbox.run(&["search", "no such words anywhere"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{}", ran.all());
    assert_eq!(ran.err, "No session contains it.\n");
    assert_eq!(sandbox.run(&["search", "apples", "--agent", "claude"]).code, 1);
    assert_eq!(sandbox.run(&["search", "apples", "--project", "/w/other"]).code, 1);
    assert_eq!(sandbox.run(&["search", "apples", "--project", "/w/shop"]).code, 0);
    assert_eq!(sandbox.run(&["search", " "]).code, 2);
}
