//! Gives all questions to one process, since starting a reader takes longer than any answer.

use std::{
    env,
    ffi::OsString,
    io::{self, Read as _, Write as _},
    process::{Command, Stdio},
    thread,
};

use serde_json::Value;

/// One thing to read.
pub(crate) trait Question {
    /// As the script wants it.
    fn line(&self) -> Value;

    /// As a person wants it.
    fn told(&self) -> String;
}

/// The answers to all questions, in their order. The name is for what goes wrong.
pub(crate) fn ask<Q: Question>(
    name: &str,
    mut command: Command,
    questions: &[Q],
) -> Result<Vec<Value>, String> {
    let complain = |error: io::Error| format!("{name}: {error}");
    // No proxy, no key, no setting of this machine is any of a reader's business here.
    command.env_clear().envs(kept()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(complain)?;
    let lines: Vec<String> = questions.iter().map(|it| format!("{}\n", it.line())).collect();
    let mut input = child.stdin.take();
    // Beside the reading, or both sides wait for each other once the pipes are full.
    let writer = thread::spawn(move || match &mut input {
        Some(input) => input.write_all(lines.concat().as_bytes()),
        None => Ok(()),
    });
    let mut printed = String::new();
    if let Some(output) = &mut child.stdout {
        output.read_to_string(&mut printed).map_err(complain)?;
    }
    let status = child.wait().map_err(complain)?;
    // Where the process died early, its status says more than the broken pipe.
    let _ = writer.join();
    let answers: Result<Vec<Value>, _> = printed.lines().map(serde_json::from_str).collect();
    let answers = answers.map_err(|error| format!("{name}: {error}"))?;
    if !status.success() || answers.len() != questions.len() {
        let after = questions.get(answers.len()).map_or_else(String::new, Question::told);
        return Err(format!("{name}: {status} after {} answers, at {after}", answers.len()));
    }
    Ok(answers)
}

/// The variables without which a process does not find its own files.
fn kept() -> impl Iterator<Item = (&'static str, OsString)> {
    let names = ["PATH", "HOME", "TMPDIR", "SYSTEMROOT", "TEMP", "USERPROFILE"];
    names.into_iter().filter_map(|name| Some((name, env::var_os(name)?)))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    struct Word(&'static str);

    impl Question for Word {
        fn line(&self) -> Value {
            self.0.into()
        }

        fn told(&self) -> String {
            self.0.to_owned()
        }
    }

    fn asked(script: &str) -> Result<Vec<Value>, String> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        ask("sh", command, &[Word("one"), Word("two")])
    }

    #[test]
    fn answers_come_in_the_order_of_the_questions() {
        assert_eq!(asked("cat"), Ok(vec!["one".into(), "two".into()]));
    }

    #[test]
    fn a_reader_that_stops_is_told_with_the_question_it_stopped_at() {
        let table = [
            ("head -n 1", "sh: exit status: 0 after 1 answers, at two"),
            ("exit 3", "sh: exit status: 3 after 0 answers, at one"),
            ("cat; exit 4", "sh: exit status: 4 after 2 answers, at "),
        ];
        for (script, expected) in table {
            assert_eq!(asked(script), Err(expected.to_owned()), "{script}");
        }
    }
}
