//! The laws of repair for session files.
//!
//! The engine reads and repairs a file; the oracle reads the file before and after. Lines that the
//! repair must not change are compared one by one.

mod judge;
mod conserving;
mod bystanders;
mod ordinals;
mod cuts;
mod minimal;
pub mod mutated;
mod shrink;

use foxwedge_core::Policy;
use foxwedge_sessions::SessionAgent;

pub use cuts::every_cut;
pub use judge::{RepairedSession, SessionVerdict, judge, see};

use super::{LawBreach, LawCase, LawTally};
use crate::{Random, SessionFile, session_file};

/// The agents whose files are generated. Sessions in a database are rows, as text.
pub const AGENTS: [SessionAgent; 12] = [
    SessionAgent::ClaudeCode,
    SessionAgent::Codex,
    SessionAgent::GeminiCli,
    SessionAgent::Neovate,
    SessionAgent::Cline,
    SessionAgent::Pi,
    SessionAgent::CopilotCli,
    SessionAgent::KimiCode,
    SessionAgent::QwenCode,
    SessionAgent::Crush,
    SessionAgent::Goose,
    SessionAgent::Opencode,
];

/// A session file case. The agent decides the format and the profile.
pub fn case(seed: u64, agent: SessionAgent, policy: Policy, size: usize) -> LawCase {
    LawCase { seed, agent: Some(agent), wire: agent.wire(), profile: agent.profile(), policy, size }
}

/// Generates the file of a case.
pub fn file(case: &LawCase, agent: SessionAgent) -> SessionFile {
    session_file(&mut Random::new(case.seed), agent.name(), case.size)
}

/// Runs one case. If it breaks a law, the file is shrunk before it is reported.
pub(super) fn run(case: &LawCase, agent: SessionAgent, tally: &mut LawTally) {
    let file = file(case, agent);
    let verdict = judge::generated(case, agent, &file, tally);
    let verdict = verdict.and_then(|()| judge(case, agent, &file.bytes, tally));
    let verdict = verdict.and_then(|()| cuts::judge(case, agent, &file.bytes));
    if let Err((law, what)) = verdict {
        let again = |bytes: &[u8]| match law {
            "cut" => cuts::judge(case, agent, bytes),
            _ => judge(case, agent, bytes, &mut LawTally::default()),
        };
        let breaks = |bytes: &[u8]| again(bytes).err().is_some_and(|(other, _)| other == law);
        let bytes = shrink::smallest(file.bytes, breaks);
        let result = again(&bytes).err();
        let what = result.map_or(what, |(_, what)| what);
        let document = String::from_utf8_lossy(&bytes).into_owned();
        tally.violations.push(LawBreach { law, case: *case, what, document });
    }
}
