//! Gives jobs to a script of `acceptance/` and reads the line of JSON that it prints for each.
//!
//! One process does all jobs, since starting it takes longer than any job.

use std::{
    env,
    io::{self, Read as _, Write as _},
    process::{Command, Stdio},
    thread,
};

use serde_json::Value;

use super::install::PackageFolder;

/// One job of a script.
pub(crate) trait ScriptJob {
    /// The line that the script reads.
    fn line(&self) -> Value;

    /// What a person reads.
    fn label(&self) -> String;
}

/// The results of all jobs, in their order. `name` is for errors.
pub(crate) fn run_jobs<J: ScriptJob>(
    name: &str,
    mut command: Command,
    jobs: &[J],
) -> Result<Vec<Value>, String> {
    let complain = |error: io::Error| format!("{name}: {error}");
    // No proxy, key or setting of this machine may reach a script.
    let kept = ["PATH", "HOME", "TMPDIR", "SYSTEMROOT", "TEMP", "USERPROFILE"];
    let kept = kept.into_iter().filter_map(|name| Some((name, env::var_os(name)?)));
    command.env_clear().envs(kept).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(complain)?;
    let lines: Vec<String> = jobs.iter().map(|job| format!("{}\n", job.line())).collect();
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
    let results: Result<Vec<Value>, _> = printed.lines().map(serde_json::from_str).collect();
    let results = results.map_err(|error| format!("{name}: {error}"))?;
    if !status.success() || results.len() != jobs.len() {
        let job = jobs.get(results.len()).map_or_else(String::new, ScriptJob::label);
        return Err(format!("{name}: {status} after {} results, at {job}", results.len()));
    }
    Ok(results)
}

/// A job, the packages it ran with, and its result.
pub(crate) type JobResult<'p, J> = (&'p PackageFolder, J, Value);

/// Runs the jobs of several languages beside each other, each with one script.
pub(crate) fn run_languages<'p, J: ScriptJob + Send>(
    all: &'p [PackageFolder],
    script: &str,
    jobs: impl Fn(&PackageFolder) -> Vec<J>,
) -> Result<Vec<JobResult<'p, J>>, String> {
    let results: Result<Vec<Vec<_>>, String> = thread::scope(|scope| {
        let start = |packages: &'p PackageFolder| {
            let jobs = jobs(packages);
            scope.spawn(move || {
                let name = packages.language.name();
                let results = run_jobs(name, packages.script(script), &jobs)?;
                let both = jobs.into_iter().zip(results);
                Ok(both.map(|(job, result)| (packages, job, result)).collect())
            })
        };
        let threads: Vec<_> = all.iter().map(start).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.map(|it| it.unwrap_or_else(|_| Err("a thread panicked".to_owned()))).collect()
    });
    Ok(results?.into_iter().flatten().collect())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    impl ScriptJob for &str {
        fn line(&self) -> Value {
            (*self).into()
        }

        fn label(&self) -> String {
            (*self).to_owned()
        }
    }

    fn run(script: &str) -> Result<Vec<Value>, String> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run_jobs("sh", command, &["one", "two"])
    }

    #[test]
    fn results_come_in_the_order_of_the_jobs() {
        assert_eq!(run("cat"), Ok(vec!["one".into(), "two".into()]));
    }

    #[test]
    fn a_script_that_stops_is_reported_with_the_job_it_stopped_at() {
        let table = [
            ("head -n 1", "sh: exit status: 0 after 1 results, at two"),
            ("exit 3", "sh: exit status: 3 after 0 results, at one"),
            ("cat; exit 4", "sh: exit status: 4 after 2 results, at "),
        ];
        for (script, expected) in table {
            assert_eq!(run(script), Err(expected.to_owned()), "{script}");
        }
    }
}
