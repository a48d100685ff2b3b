//! The TypeScript package is checked, built and tested, and its reducer is compared with ours:
//! `cargo xtask clients`.
//!
//! Both reducers replay the same random logs: shuffled, repeated, cut off, late, in the spellings of
//! several agents. After every step they must have told the same effects, and in the end they must
//! hold the same state. The first difference is printed with its seed.

mod package;
mod replay;
mod told;
mod compare;

use std::env;

use foxwedge_testkit::runs;

use crate::{Outcome, sdks};
use package::Package;

/// How many logs are compared, unless somebody says so.
const LOGS: u64 = 1_000;

/// Builds, tests and compares; fails at the first difference.
pub(crate) fn run(words: &[&str]) -> Outcome {
    let number = |text: &str| text.parse().map_err(|_| format!("`{text}` is not a number"));
    let (first, logs): (u64, u64) = match words {
        [] => (1, LOGS),
        ["--logs", logs] => (1, number(logs)?),
        ["--seed", seed] => (number(seed)?, 1),
        ["--seed", seed, "--logs", logs] | ["--logs", logs, "--seed", seed] => {
            (number(seed)?, number(logs)?)
        }
        _ => return Err("`clients` takes nothing but `--logs N` and `--seed S`".to_owned()),
    };
    let package = match Package::find() {
        Ok(package) => package,
        Err(missing) if env::var_os(sdks::VARIABLE).is_some_and(|it| it == "required") => {
            return Err(missing);
        }
        Err(missing) => {
            println!("skipped: {missing}");
            return Ok(());
        }
    };
    package.build()?;
    println!("typescript: {}", package.test()?);
    let logs: Vec<runs::Log> = (first..first.saturating_add(logs)).map(runs::log).collect();
    let theirs = package.replay(&logs)?;
    let mut steps = 0;
    for (log, theirs) in logs.iter().zip(&theirs) {
        steps += log.steps.len();
        if let Some(difference) = compare::replays(&replay::ours(log), theirs) {
            return Err(format!("the two reducers differ\n{}", difference.told(log)));
        }
    }
    println!("typescript: both reducers agree on {} logs with {steps} steps", logs.len());
    Ok(())
}
