//! Sessions of Crush and goose, where each message is a row of a database, through every command.

#[path = "../../../local/tests/databases/row_store.rs"]
mod row_store;

use std::path::PathBuf;

use foxwedge_sessions::SessionAgent;

use crate::sandbox::{Ran, Sandbox, names};
use row_store::{ROW_DAMAGES, RowStore, dump};

const SESSION: &str = "7f0c1a52-9a63-4f0e-8f4e-1d2c3b4a5968";

/// A home with one session, damaged in this way.
struct RowHome {
    sandbox: Sandbox,
    agent: SessionAgent,
    database: PathBuf,
    before: Vec<(String, String)>,
}

fn home(agent: SessionAgent, damage: &str) -> RowHome {
    let sandbox = Sandbox::new();
    let mut store = RowStore::create(&sandbox.home(), agent, 0);
    let keys = store.story(SESSION, 3);
    let damage = ROW_DAMAGES.iter().find(|it| it.name == damage).unwrap();
    (damage.make)(&store, &keys[1].0, &keys[1].1);
    let database = store.close();
    let before = dump(&database, agent);
    RowHome { sandbox, agent, database, before }
}

impl RowHome {
    fn run(&self, code: i32, arguments: &[&str]) -> Ran {
        let ran = self.sandbox.run(arguments);
        assert_eq!(ran.code, code, "{arguments:?}: {}", ran.all());
        ran
    }

    fn rows(&self) -> Vec<(String, String)> {
        dump(&self.database, self.agent)
    }
}

#[test]
fn sessions_in_message_rows_go_through_every_command() {
    let resume = ["crush --session", "goose session --resume --session-id"];
    for (agent, resume) in [SessionAgent::Crush, SessionAgent::Goose].into_iter().zip(resume) {
        let home = home(agent, "result torn");
        let listed = home.run(0, &["list"]).out;
        assert!(listed.contains(agent.name()) && listed.contains("A story"), "{listed}");
        assert!(listed.contains("needs repair"), "{listed}");
        let shown = home.run(0, &["show", SESSION]).out;
        assert!(shown.contains("question 2"), "{shown}");
        let checked = home.run(1, &["check", SESSION]).all();
        assert!(checked.contains("FW801") && checked.contains("is not a JSON list"), "{checked}");
        home.run(1, &["fix", "--dry-run", SESSION]);
        home.run(1, &["fix", "--diff", SESSION]);
        assert_eq!(home.rows(), home.before, "nothing is written yet");
        let continued = home.run(0, &["continue", SESSION, "--print"]).out;
        assert!(continued.starts_with("cd ") && continued.contains(resume), "{continued}");
        let fixed = home.run(0, &["fix", SESSION]).all();
        assert!(fixed.contains(&format!("`{}` resumes", continued.trim())), "{fixed}");
        home.run(0, &["check", "--for-api", SESSION]);
        assert!(home.run(0, &["list"]).out.contains("ok"));
        let history = home.run(0, &["resume", SESSION]).out;
        assert_eq!(history.matches("\"tool_use\"").count(), 3, "{history}");
        assert_eq!(history.matches("\"tool_result\"").count(), 3, "{history}");
        assert!(home.run(0, &["export", SESSION]).out.contains("output 2"));
        home.run(0, &["undo", SESSION]);
        assert_eq!(home.rows(), home.before);
        home.run(1, &["check", &home.database.to_string_lossy()]);
        let folder = home.database.parent().unwrap();
        assert_eq!(names(folder).len(), 1, "nothing is left beside it: {:?}", names(folder));
    }
}

#[test]
fn a_fork_is_a_new_session_with_rows_of_its_own() {
    for agent in [SessionAgent::Crush, SessionAgent::Goose] {
        let home = home(agent, "result removed");
        let forked = home.run(0, &["fork", SESSION]);
        let copy = forked.out.trim().to_owned();
        let continued = home.run(0, &["continue", &copy, "--print"]).out;
        assert!(
            forked.err.contains(&format!("`{}` resumes it", continued.trim())),
            "{}",
            forked.err
        );
        let rows = home.rows();
        assert!(home.before.iter().all(|row| rows.contains(row)), "the original stays");
        home.run(0, &["check", "--for-api", &copy]);
        let shown = home.run(0, &["show", &copy]).out;
        assert!(shown.contains("answer 2") && shown.contains("output 0"), "{shown}");
        assert_eq!(home.run(2, &["compact", &copy, "--to", "10"]).code, 2);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_repair_in_message_rows_that_is_ended_at_any_system_call_leaves_the_old_rows_or_the_new_ones() {
    for agent in [SessionAgent::Crush, SessionAgent::Goose] {
        crate::kills::end_at_system_calls(&crate::kills::DATABASE_CALLS, SESSION, || {
            let RowHome { sandbox, database, .. } = home(agent, "result removed");
            (sandbox, move || without_write_times(&dump(&database, agent)))
        });
    }
}

/// The rows without the times at which they were written: every home is made in a second of its own, and so is a repair.
/// Times of the story itself stay.
#[cfg(target_os = "linux")]
fn without_write_times(rows: &[(String, String)]) -> String {
    let is_write_time = |cell: &&str| {
        let number = cell.strip_prefix("Integer(").and_then(|rest| rest.strip_suffix(')'));
        let is_number = number.is_some_and(|it| it.len() == 10 && !it.starts_with("17900000"));
        let is_text = cell.len() == "'2026-09-21 14:13:20'".len() && cell.starts_with("'20");
        is_number || is_text && !cell.starts_with("'2026-09-21")
    };
    let mut shown = String::new();
    for (id, cells) in rows {
        shown.push_str(id);
        for cell in cells.split(" | ") {
            shown.extend([" | ", if is_write_time(&cell) { "now" } else { cell }]);
        }
        shown.push('\n');
    }
    shown
}

#[test]
fn goose_is_rated_by_what_it_did() {
    // As observed with goose 1.52.0.
    let table = [
        ("result removed", "history missing"),
        ("call removed", "history missing"),
        ("result twice", "ok"),
        ("result at the end", "needs repair"),
        ("result torn", "needs repair"),
    ];
    for (damage, health) in table {
        let home = home(SessionAgent::Goose, damage);
        let listed = home.run(0, &["list"]).out;
        assert!(listed.contains(health), "{damage}: {listed}");
    }
}
