//! Every kind of damage, at several places: found, repaired, the rest untouched, and undone.

use std::collections::BTreeMap;

use crate::{
    store::{DAMAGES, DumpedRow, OpencodeStore, dump_file, tool_rows},
    test_home::{TestHome, findings},
};

const SESSION: &str = "ses_1eca236ba001Ulm00000000000";
const OTHER: &str = "ses_1eca236ba002Ulm00000000000";

fn by_key(rows: Vec<DumpedRow>) -> BTreeMap<(String, String), String> {
    rows.into_iter().map(|(table, id, values)| ((table, id), values)).collect()
}

#[test]
fn damaged_stores_are_repaired_and_only_damaged_rows_change() {
    let mut stores = 0;
    for damage in &DAMAGES {
        for place in [0, 2, 4] {
            let home = TestHome::new();
            let mut store = OpencodeStore::create(&home.database());
            store.story(SESSION, 5);
            store.story(OTHER, 2);
            let rows = tool_rows(&store.connection);
            let (message, part) = &rows[place];
            (damage.make)(&store.connection, message, part);
            let case = format!("{} at {place}", damage.name);
            let path = store.close().join(SESSION);
            let before = dump_file(&home.database());
            assert!(!findings(&path).is_empty(), "{case}");
            let report = home.fix(&path).unwrap_or_else(|error| panic!("{case}: {error:#}"));
            assert!(report.is_some(), "{case}");
            assert_eq!(findings(&path), Vec::<String>::new(), "{case}");
            let after = dump_file(&home.database());
            let (old, new) = (by_key(before.clone()), by_key(after));
            for (key, values) in &old {
                let is_damaged = key.1 == *message || key.1.starts_with(&part[..part.len() - 1]);
                assert!(is_damaged || new.get(key) == Some(values), "{case}: {key:?}");
            }
            assert!(new.keys().all(|key| old.contains_key(key)), "{case}: no new rows");
            // Real outputs stay, except one that was cut off itself.
            for number in 0..5 {
                let output = format!("output {number}");
                let had = old.values().any(|values| values.contains(&output));
                assert!(!had || new.values().any(|values| values.contains(&output)), "{case}");
            }
            home.undo(&path, false).unwrap_or_else(|error| panic!("{case}: {error:#}"));
            assert_eq!(dump_file(&home.database()), before, "{case}");
            stores += 1;
        }
    }
    assert!(stores >= 20, "{stores}");
}

#[test]
fn a_sound_store_is_not_written() {
    let home = TestHome::new();
    let mut store = OpencodeStore::create(&home.database());
    store.story(SESSION, 3);
    let path = store.close().join(SESSION);
    let before = std::fs::read(home.database()).unwrap();
    assert_eq!(findings(&path), Vec::<String>::new());
    assert!(home.fix(&path).unwrap().is_none());
    assert_eq!(std::fs::read(home.database()).unwrap(), before);
    let folder = home.database().parent().unwrap().to_owned();
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 1, "reading leaves nothing behind");
}

#[test]
fn cut_off_text_stays() {
    let home = TestHome::new();
    let mut store = OpencodeStore::create(&home.database());
    store.story(SESSION, 1);
    store
        .connection
        .execute("UPDATE part SET data = '{\"type\":\"text\",\"text\":\"answer 0, which goes on' WHERE data LIKE '%answer 0%'", [])
        .unwrap();
    let path = store.close().join(SESSION);
    home.fix(&path).unwrap().unwrap();
    let rows = dump_file(&home.database());
    assert!(rows.iter().any(|(_, _, values)| values.contains("answer 0, which goes on")));
    assert_eq!(findings(&path), Vec::<String>::new());
}

#[test]
fn a_text_that_is_cut_off_in_its_times_has_the_field_that_they_require() {
    let data = r#"{"text":"answer 0","time":{"end":1795000000001,"start":1795000000000}}"#;
    for cut in data.find("time").unwrap()..data.len() {
        let home = TestHome::new();
        let mut store = OpencodeStore::create(&home.database());
        store.story(SESSION, 1);
        let cut_off = "UPDATE part SET data = ?1 WHERE data LIKE '%answer 0%'";
        store.connection.execute(cut_off, [&data[..cut]]).unwrap();
        let path = store.close().join(SESSION);
        home.fix(&path).unwrap().unwrap();
        assert_eq!(findings(&path), Vec::<String>::new(), "{cut}");
        let store = rusqlite::Connection::open(home.database()).unwrap();
        let query = "SELECT data FROM part WHERE data LIKE '%answer 0%'";
        let text: String = store.query_row(query, [], |row| row.get(0)).unwrap();
        let part: serde_json::Value = serde_json::from_str(&text).unwrap();
        let time = part.get("time");
        assert!(time.is_none_or(|time| time["start"].is_u64()), "{text}");
    }
}
