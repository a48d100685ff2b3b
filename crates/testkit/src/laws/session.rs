//! The laws of repair for session files.
//!
//! The engine reads and repairs a file, the oracle reads the file before and after. What the
//! repair must leave alone is compared line by line.

mod judge;
mod conserving;
mod bystanders;
mod ordinals;
mod cuts;
mod minimal;
pub mod mutated;
mod shrink;

use foxwedge_core::Policy;
use foxwedge_dialect::session::SessionAgent;

pub use cuts::every_cut;
pub use judge::{Seen, Verdict, judge, see};

use super::{Breach, Case, Tally};
use crate::{Random, SessionFile, session_file};

/// The agents whose files are generated.
pub const AGENTS: [SessionAgent; 5] = SessionAgent::ALL;

/// A case of session files: the agent decides the format and whose rules hold.
pub fn case(seed: u64, agent: SessionAgent, policy: Policy, size: usize) -> Case {
    Case { seed, agent: Some(agent), wire: agent.wire(), profile: agent.profile(), policy, size }
}

/// The file of a case.
pub fn file(case: &Case, agent: SessionAgent) -> SessionFile {
    session_file(&mut Random::new(case.seed), agent.name(), case.size)
}

/// Runs one case; a broken law is shrunk before it is reported.
pub(super) fn run(case: &Case, agent: SessionAgent, tally: &mut Tally) {
    let file = file(case, agent);
    let verdict = judge::generated(case, agent, &file, tally);
    let verdict = verdict.and_then(|()| judge(case, agent, &file.bytes, tally));
    let verdict = verdict.and_then(|()| cuts::judge(case, agent, &file.bytes));
    if let Err((law, what)) = verdict {
        let again = |bytes: &[u8]| match law {
            "cut" => cuts::judge(case, agent, bytes),
            _ => judge(case, agent, bytes, &mut Tally::default()),
        };
        let breaks = |bytes: &[u8]| again(bytes).err().is_some_and(|(other, _)| other == law);
        let bytes = shrink::smallest(file.bytes, breaks);
        let seen = again(&bytes).err();
        let what = seen.map_or(what, |(_, what)| what);
        let document = String::from_utf8_lossy(&bytes).into_owned();
        tally.violations.push(Breach { law, case: *case, what, document });
    }
}
