//! A store with many rows of older versions: all are decoded, and no text is lost.

use std::collections::HashSet;

use foxwedge_formats::outline_options;
use foxwedge_local::database;
use foxwedge_sessions::{SessionAgent, read, readable_text};
use serde_json::json;

use crate::{
    store::{OpencodeStore, assistant, dump_file, user},
    test_home::{TestHome, findings},
};

const ROWS: usize = 58_000;
const SESSIONS: usize = 29;

/// 58,000 rows in 29 sessions. Nine in ten lack fields, one in 500 is cut off.
fn legacy_store(home: &TestHome) {
    let mut store = OpencodeStore::create(&home.database());
    store.connection.execute_batch("PRAGMA synchronous = OFF; BEGIN").unwrap();
    for session in 0..SESSIONS {
        let id = format!("ses_{session:026}");
        store.session(&id, "Long ago");
        let mut parent = String::new();
        for message in 0..ROWS / SESSIONS / 2 {
            let number = session * ROWS + message;
            let is_user = message.is_multiple_of(2);
            let mut data = if is_user { user() } else { assistant(&parent) };
            let object = data.as_object_mut().unwrap();
            if !number.is_multiple_of(10) {
                for key in ["agent", "model", "parentID", "mode", "path", "cost"] {
                    object.remove(key);
                }
            }
            let row = store.message(&id, &data);
            let text = format!("text number {number} of the store");
            let part = store.part(&id, &row, &json!({"type": "text", "text": text}));
            if number % 500 == 7 {
                let cut = "UPDATE part SET data = substr(data, 1, length(data) - 2) WHERE id = ?1";
                store.connection.execute(cut, [part]).unwrap();
            }
            if is_user {
                parent = row;
            }
        }
    }
    store.connection.execute_batch("COMMIT").unwrap();
    store.close();
}

#[test]
fn legacy_rows_are_decoded_and_no_text_is_lost() {
    let home = TestHome::new();
    legacy_store(&home);
    let texts = |content: &str| -> HashSet<String> {
        let found = content.match_indices("text number ");
        found
            .map(|(at, _)| content[at..].chars().take_while(|c| *c != '"' && *c != '\\').collect())
            .collect()
    };
    let (mut messages, mut decoded) = (0, 0);
    let sessions = home.sessions();
    assert_eq!(sessions.len(), SESSIONS);
    for (number, entry) in sessions.iter().enumerate() {
        let content = database::read(&entry.path).unwrap();
        let text = readable_text(&content).unwrap();
        let agent = SessionAgent::Opencode;
        let session = read(&text, agent, outline_options(agent.profile())).unwrap();
        messages += content.iter().filter(|byte| **byte == b'\n').count() - 1;
        decoded += session.draft().messages.len();
        if number.is_multiple_of(7) {
            let before = texts(text.as_str());
            home.fix(&entry.path).unwrap().unwrap();
            let after = database::read(&entry.path).unwrap();
            assert_eq!(texts(std::str::from_utf8(&after).unwrap()), before);
            assert_eq!(findings(&entry.path), Vec::<String>::new());
        }
    }
    assert_eq!(messages, ROWS / 2);
    assert!(decoded * 100 >= messages * 99, "{decoded} of {messages}");
    let rows = dump_file(&home.database()).len() - SESSIONS;
    assert_eq!(rows, ROWS, "no row is removed");
}
