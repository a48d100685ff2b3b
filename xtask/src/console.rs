//! The page of the gateway: `cargo xtask console`.
//!
//! Its types are checked, it is built anew and compared with the build that is kept in
//! `console/dist`, its size is looked at, its own tests run, and then a browser opens it: in front of
//! a real gateway, and in front of a made-up one that says what no real one would. Where Node or a
//! browser is missing, that is said.

mod bench;
mod browser;
mod built;

use std::env;

use crate::{Outcome, sdks};
use bench::Bench;

/// The most that a browser has to load, packed.
const BUDGET: u64 = 250_000;

/// Checks all of it; `--write` keeps the new build instead of comparing it.
pub(crate) fn run(words: &[&str]) -> Outcome {
    let task = match words {
        [] => Task::Check,
        ["--write"] => Task::Write,
        _ => return Err("`console` takes nothing but `--write`".to_owned()),
    };
    let bench = match Bench::find() {
        Ok(bench) => bench,
        Err(missing) => return without(missing),
    };
    bench.types()?;
    bench.build()?;
    match task {
        Task::Write => built::write(&bench.built())?,
        Task::Check => built::compare(&bench.built())?,
    }
    let size = bench.size()?;
    println!("console: {size} bytes to load, of at most {BUDGET}");
    if size > BUDGET {
        return Err(format!("the console is too large: {size} bytes"));
    }
    println!("console: {}", bench.tests()?);
    let browser = match browser::find() {
        Ok(browser) => browser,
        Err(missing) => return without(missing),
    };
    println!("console: in a browser, {}", bench.pages(&browser)?);
    Ok(())
}

enum Task {
    Check,
    Write,
}

/// Something is missing on this machine.
fn without(missing: String) -> Outcome {
    if env::var_os(sdks::VARIABLE).is_some_and(|it| it == "required") {
        return Err(missing);
    }
    println!("skipped: {missing}");
    Ok(())
}
