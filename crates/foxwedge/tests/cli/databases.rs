//! Sessions of opencode, which are rows of a database, through every command.

#[path = "../../../local/tests/databases/store.rs"]
mod store;

use std::path::PathBuf;

#[cfg(target_os = "linux")]
use crate::kills;
use crate::sandbox::{Ran, Sandbox, names};
use store::{DAMAGES, DumpedRow, OpencodeStore, dump_file, tool_rows};

const SESSION: &str = "ses_1eca236ba001Ulm00000000000";

/// A home with one session, damaged in this way.
struct OpencodeHome {
    sandbox: Sandbox,
    database: PathBuf,
    before: Vec<DumpedRow>,
}

fn home(damage: &str) -> OpencodeHome {
    home_of("opencode", damage)
}

/// The same for a product that shares the schema.
fn home_of(product: &str, damage: &str) -> OpencodeHome {
    let sandbox = Sandbox::new();
    let database = sandbox.home().join(format!(".local/share/{product}/{product}.db"));
    let mut store = OpencodeStore::create(&database);
    store.story(SESSION, 3);
    let (message, part) = tool_rows(&store.connection).remove(1);
    if let Some(damage) = DAMAGES.iter().find(|it| it.name == damage) {
        (damage.make)(&store.connection, &message, &part);
    }
    store.close();
    let before = dump_file(&database);
    OpencodeHome { sandbox, database, before }
}

impl OpencodeHome {
    fn run(&self, code: i32, arguments: &[&str]) -> Ran {
        let ran = self.sandbox.run(arguments);
        assert_eq!(ran.code, code, "{arguments:?}: {}", ran.all());
        ran
    }

    fn rows(&self) -> Vec<DumpedRow> {
        dump_file(&self.database)
    }
}

#[test]
fn a_session_in_a_database_is_listed_shown_checked_fixed_and_undone() {
    let home = home("legacy-tool");
    let listed = home.run(0, &["list"]).out;
    assert!(listed.contains("opencode") && listed.contains("A story"), "{listed}");
    assert!(listed.contains("needs repair"), "{listed}");
    let shown = home.run(0, &["show", SESSION]).out;
    assert!(shown.contains("question 2") && shown.contains("/srv/ulm"), "{shown}");
    let checked = home.run(1, &["check", SESSION]);
    assert!(checked.all().contains("FW805"), "{}", checked.all());
    assert!(checked.all().contains("lacks `state.title`, `state.metadata`"), "{}", checked.all());
    home.run(1, &["fix", "--dry-run", SESSION]);
    home.run(1, &["fix", "--diff", SESSION]);
    assert_eq!(home.rows(), home.before, "nothing is written yet");
    let fixed = home.run(0, &["fix", SESSION]);
    assert!(fixed.all().contains("opencode --session"), "{}", fixed.all());
    assert!(home.run(0, &["list"]).out.contains("ok"));
    home.run(0, &["check", SESSION]);
    assert_ne!(home.rows(), home.before);
    home.run(0, &["undo", SESSION]);
    assert_eq!(home.rows(), home.before);
    // By its path, and all sessions of a database.
    let path = home.database.join(SESSION);
    home.run(1, &["check", &path.to_string_lossy()]);
    home.run(1, &["check", &home.database.to_string_lossy()]);
    home.run(0, &["fix", &home.database.to_string_lossy()]);
    home.run(0, &["undo", &path.to_string_lossy()]);
    assert_eq!(home.rows(), home.before);
    let folder = home.database.parent().unwrap();
    assert_eq!(names(folder), ["opencode.db"], "nothing is left beside it");
}

#[test]
fn an_open_call_is_tolerated_by_the_agent_and_answered_for_a_provider() {
    let home = home("running");
    home.run(0, &["check", SESSION]);
    assert!(home.run(0, &["list"]).out.contains("ok"));
    assert!(home.run(1, &["check", "--for-api", SESSION]).all().contains("FW101"));
    let resumed = home.run(0, &["resume", SESSION]).out;
    assert_eq!(resumed.matches("\"tool_use\"").count(), 3, "{resumed}");
    assert_eq!(resumed.matches("\"tool_result\"").count(), 3, "{resumed}");
    assert!(home.run(0, &["export", SESSION]).out.contains("output 2"));
    assert_eq!(home.rows(), home.before);
}

#[test]
fn a_fork_is_a_new_session_of_the_same_database() {
    let home = home("torn-part");
    let copy = home.run(0, &["fork", SESSION]).out.trim().to_owned();
    assert!(copy.starts_with("ses_"), "{copy}");
    let rows = home.rows();
    assert!(home.before.iter().all(|row| rows.contains(row)), "the original stays");
    let of_copy = rows.iter().filter(|(_, _, values)| values.contains(&copy)).count();
    let of_original = rows.iter().filter(|(_, _, values)| values.contains(SESSION)).count();
    assert_eq!(of_copy, of_original);
    home.run(0, &["check", &copy]);
    assert!(home.run(0, &["show", &copy]).out.contains("answer 2"));
    assert_eq!(home.run(2, &["compact", &copy, "--to", "10"]).code, 2);
}

#[cfg(target_os = "linux")]
#[test]
fn a_database_that_an_agent_has_open_is_not_written() {
    let home = home("legacy-tool");
    let agent = rusqlite::Connection::open(&home.database).unwrap();
    let _: i64 = agent.query_row("SELECT count(*) FROM part", [], |row| row.get(0)).unwrap();
    home.run(1, &["check", SESSION]);
    let refused = home.run(2, &["fix", SESSION]).all();
    assert!(refused.contains("open for writing"), "{refused}");
    assert!(refused.contains("stop the agent and try again"), "{refused}");
    home.run(2, &["fork", SESSION]);
    drop(agent);
    assert_eq!(home.rows(), home.before);
    home.run(0, &["fix", SESSION]);
}

#[test]
fn two_fixers_of_one_database_do_not_lose_anything() {
    let home = home("legacy-message");
    let children: Vec<_> = (0..4)
        .map(|_| {
            let mut command = home.sandbox.command(&["fix", SESSION]);
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
            command.spawn().unwrap()
        })
        .collect();
    let codes: Vec<_> = children.into_iter().map(|mut it| it.wait().unwrap().code()).collect();
    assert!(codes.contains(&Some(0)), "{codes:?}");
    home.run(0, &["check", SESSION]);
    home.run(0, &["undo", SESSION]);
    assert_eq!(home.rows(), home.before);
}

#[cfg(target_os = "linux")]
#[test]
fn a_repair_of_opencode_that_is_ended_at_any_system_call_leaves_the_old_rows_or_the_new_ones() {
    kills::end_at_system_calls(&kills::DATABASE_CALLS, SESSION, || {
        let OpencodeHome { sandbox, database, .. } = home("legacy-tool");
        (sandbox, move || format!("{:?}", dump_file(&database)))
    });
}

#[test]
fn a_session_of_kilo_is_resumed_by_its_own_program() {
    let home = home_of("kilo", "legacy-tool");
    let command = format!("kilo --session {SESSION}");
    let printed = home.run(0, &["continue", SESSION, "--print"]);
    assert!(printed.out.contains(&command), "{}", printed.all());
    let fixed = home.run(0, &["fix", SESSION]).all();
    assert!(fixed.contains(&command) && !fixed.contains("opencode --session"), "{fixed}");
}

#[cfg(unix)]
#[test]
fn a_session_is_repaired_before_the_program_that_resumes_it_starts() {
    for product in ["opencode", "kilo"] {
        for flags in [&["-s", SESSION][..], &["--session", SESSION], &[&format!("-s={SESSION}")]] {
            let home = home_of(product, "legacy-tool");
            let path = crate::continuing::install(&home.sandbox, product);
            let words = [&["run", "--", product], flags].concat();
            let ran = home.sandbox.run_with("PATH", &path, &words);
            assert_eq!(ran.code, 2, "{words:?} {}", ran.all());
            assert!(ran.out.contains(product), "{words:?} {}", ran.all());
            assert_ne!(home.rows(), home.before, "{words:?} {}", ran.all());
            home.run(0, &["check", SESSION]);
        }
    }
    // The sessions of one product are not those of the other.
    let home = home_of("kilo", "legacy-tool");
    let path = crate::continuing::install(&home.sandbox, "opencode");
    home.sandbox.run_with("PATH", &path, &["run", "--", "opencode", "-s", SESSION]);
    assert_eq!(home.rows(), home.before);
}
