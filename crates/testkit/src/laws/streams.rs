//! The laws of answers, whole and in pieces, judged on generated ones.
//!
//! One case is one seed: it decides the answer, the two formats, and how the stream is cut and
//! spelled. The engine converts; the naive readers and writers of the oracle judge.

mod convert;
mod exchange;
mod compare;
mod judge;
mod cuts;
mod trouble;
mod garbage;
mod live;
mod shrink;

use std::panic::{AssertUnwindSafe, catch_unwind};

use foxwedge_core::{Format, Policy, Profile};

pub use convert::{Streamed, converted, streamed};
pub use exchange::Exchange;

use super::{Breach, Case, Options, Tally};

/// A law that does not hold: its name, and what was seen.
pub type Broken = (&'static str, String);

/// How much of the laws is tried on a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effort {
    /// A stream is cut off at some places, and pushed byte by byte now and then.
    Some,
    /// A stream is cut off at every byte, and pushed byte by byte.
    All,
}

/// Judges one exchange by every law.
///
/// # Errors
/// The first law that is broken.
pub fn judge(exchange: &Exchange, effort: Effort) -> Result<(), Broken> {
    judge::chunks(exchange, effort)?;
    judge::held(exchange)?;
    judge::twin(exchange)?;
    judge::forms(exchange)?;
    judge::back(exchange)?;
    live::live(exchange)?;
    trouble::failure(exchange)?;
    trouble::malformed(exchange)?;
    garbage::garbage(exchange)?;
    cuts::cut_off(exchange, effort)
}

/// Runs the cases one after another.
pub fn campaign(options: &Options) -> Tally {
    let mut tally = Tally::default();
    for seed in options.seed..options.seed + options.cases {
        run(&Exchange::draw(seed, options.wire), Effort::Some, &mut tally);
    }
    tally
}

/// Runs one case; a broken law is shrunk before it is reported.
pub fn run(exchange: &Exchange, effort: Effort, tally: &mut Tally) {
    tally.cases += 1;
    let lost = exchange.expected().lost;
    tally.sound += u64::from(lost.is_empty());
    for name in lost {
        *tally.repairs.entry(name).or_default() += 1;
    }
    if let Err((law, what)) = seen(exchange, effort) {
        let kind = |what: &str| what.split(['{', '[']).next().map(str::to_owned);
        let breaks = |exchange: &Exchange| {
            let same = |(other, seen): (_, String)| other == law && kind(&seen) == kind(&what);
            seen(exchange, effort).is_err_and(same)
        };
        let smallest = shrink::smallest(exchange.clone(), &breaks);
        let what = seen(&smallest, effort).err().map_or(what, |(_, what)| what);
        let what = format!("into {}: {what}", exchange.to.name());
        let case = case(exchange.seed, exchange.from);
        tally.violations.push(Breach { law, case, what, document: smallest.document() });
    }
}

/// Judges, and takes a panic for the breach of a law.
fn seen(exchange: &Exchange, effort: Effort) -> Result<(), Broken> {
    match catch_unwind(AssertUnwindSafe(|| judge(exchange, effort))) {
        Ok(judged) => judged,
        Err(panic) => {
            let words = panic.downcast_ref::<String>().cloned();
            let words = words.or(panic.downcast_ref::<&str>().map(|words| (*words).to_owned()));
            Err(("total", words.unwrap_or_default()))
        }
    }
}

fn case(seed: u64, wire: Format) -> Case {
    let profile = Profile::for_format(wire);
    Case { seed, agent: None, wire, profile, policy: Policy::default(), size: 0 }
}
