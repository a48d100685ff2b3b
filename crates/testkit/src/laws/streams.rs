//! The laws of responses, as bodies and as streams, judged on generated ones.
//!
//! One case is one seed. The seed decides the response, the two formats, and how the stream is
//! chunked and written. The engine converts; the naive readers and writers of the oracle judge.

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

pub use convert::{StreamOutput, converted, streamed};
pub use exchange::StreamExchange;

use super::{LawBreach, LawCase, LawOptions, LawTally};

/// A broken law: its name, and what was observed.
pub type StreamBreach = (&'static str, String);

/// How thoroughly a case is tested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TestEffort {
    /// Streams are truncated at some positions, and sometimes pushed byte by byte.
    Some,
    /// Streams are truncated at every byte, and pushed byte by byte.
    All,
}

/// Judges one exchange by every law.
///
/// # Errors
/// The first broken law.
pub fn judge(exchange: &StreamExchange, effort: TestEffort) -> Result<(), StreamBreach> {
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

/// Runs all cases in sequence.
pub fn campaign(options: &LawOptions) -> LawTally {
    let mut tally = LawTally::default();
    for seed in options.seed..options.seed + options.cases {
        run(&StreamExchange::draw(seed, options.wire), TestEffort::Some, &mut tally);
    }
    tally
}

/// Runs one case. If it breaks a law, the case is shrunk before it is reported.
pub fn run(exchange: &StreamExchange, effort: TestEffort, tally: &mut LawTally) {
    tally.cases += 1;
    let lost = exchange.expected().lost;
    tally.sound += u64::from(lost.is_empty());
    for name in lost {
        *tally.repairs.entry(name).or_default() += 1;
    }
    if let Err((law, what)) = seen(exchange, effort) {
        let kind = |what: &str| what.split(['{', '[']).next().map(str::to_owned);
        let breaks = |exchange: &StreamExchange| {
            let same = |(other, text): (_, String)| other == law && kind(&text) == kind(&what);
            seen(exchange, effort).is_err_and(same)
        };
        let smallest = shrink::smallest(exchange.clone(), &breaks);
        let what = seen(&smallest, effort).err().map_or(what, |(_, what)| what);
        let what = format!("into {}: {what}", exchange.to.name());
        let case = case(exchange.seed, exchange.from);
        tally.violations.push(LawBreach { law, case, what, document: smallest.document() });
    }
}

/// Judges an exchange. A panic counts as a broken law.
fn seen(exchange: &StreamExchange, effort: TestEffort) -> Result<(), StreamBreach> {
    match catch_unwind(AssertUnwindSafe(|| judge(exchange, effort))) {
        Ok(judged) => judged,
        Err(panic) => {
            let message = panic.downcast_ref::<String>().cloned();
            let message =
                message.or(panic.downcast_ref::<&str>().map(|message| (*message).to_owned()));
            Err(("total", message.unwrap_or_default()))
        }
    }
}

fn case(seed: u64, format: Format) -> LawCase {
    let profile = Profile::for_format(format);
    LawCase { seed, agent: None, wire: format, profile, policy: Policy::default(), size: 0 }
}
