//! Clients that nobody here wrote read the runs that foxwedge encodes: `cargo xtask uis`.
//!
//! Runs of every kind are encoded for AG-UI, the AI SDK and ACP, and the official clients read the
//! result: whole and in awkward pieces. What they understood is compared with what happened. Some
//! streams have a fault planted in them, such as an end that was left out, which the clients must
//! find. The clients run in `acceptance/ui/read.mjs`; where they cannot be installed, that is said.

mod scene;
mod run;
mod reader;
mod fault;
mod shelf;
mod verdict;

use std::env;

use crate::{
    Outcome,
    judges::{Question as _, Table, ask},
    sdks,
};
use reader::{Job, Reader};

/// How many random runs of each kind are read, unless somebody says so.
const RANDOM: u64 = 100;

/// Reads everything, prints what was understood, and fails if anything was not as it should be.
pub(crate) fn run(words: &[&str]) -> Outcome {
    let random = match words {
        [] => RANDOM,
        ["--random", number] => {
            number.parse().map_err(|_| format!("`{number}` is not a number of runs"))?
        }
        _ => return Err("`uis` takes nothing but `--random N`".to_owned()),
    };
    let shelf = match shelf::shelf() {
        Ok(shelf) => shelf,
        Err(missing) if env::var_os(sdks::VARIABLE).is_some_and(|it| it == "required") => {
            return Err(missing);
        }
        Err(missing) => {
            println!("skipped: {missing}");
            return Ok(());
        }
    };
    let runs = run::all(random)?;
    let jobs: Vec<Job<'_>> = runs.iter().flat_map(reader::jobs).collect();
    let answers = ask("node", shelf.command(), &jobs)?;
    let mut table = Table::new(["format", "client"], ["streams", "ok", "faults", "found"]);
    for (job, answer) in jobs.iter().zip(&answers) {
        let [streams, ok, faults, found] = table.row(job.reader, || {
            let Reader { format, version, package } = job.reader;
            [format!("{} {version}", format.name()), shelf.client(package)]
        });
        let (all, right) = if job.fault.is_some() { (faults, found) } else { (streams, ok) };
        *all += 1;
        match verdict::judge(job, answer) {
            Ok(()) => *right += 1,
            Err(trouble) => table.trouble(&job.told(), &trouble),
        }
    }
    table.print()
}
