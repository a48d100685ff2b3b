//! The laws of repair, judged on generated histories.
//!
//! One case is one seed. The seed decides the history and its JSON notation. The engine repairs;
//! the naive oracle judges. A violation names the law, the seed and the document.

use std::collections::BTreeMap;

use foxwedge_core::{
    CheckOptions, Format, OrphanPolicy, PlaceholderLanguage, Policy, Profile, RuleSet, TailPolicy,
    UnansweredPolicy,
};
use serde_json::Value;

use crate::{Random, damaged_history, results_beside_calls, spell_single_objects, spelled};

mod judge;
mod least;
mod needed;
mod written;
mod shrink;
pub mod mutations;
pub mod compaction;
pub mod conversion;
pub mod session;
pub mod streams;

pub use foxwedge_sessions::SessionAgent;
pub use judge::judge;

/// The escape of a lone surrogate.
pub(crate) const LONE: &str = "\\ud83d";

/// Which cases a campaign runs.
#[derive(Clone, Debug)]
pub struct LawOptions {
    /// Number of cases.
    pub cases: u64,
    /// First seed.
    pub seed: u64,
    /// Only this format.
    pub wire: Option<Format>,
    /// Only this profile.
    pub profile: Option<Profile>,
    /// Only session files of this agent.
    pub agent: Option<SessionAgent>,
    /// Maximum number of messages in a history.
    pub size: usize,
}

impl Default for LawOptions {
    fn default() -> LawOptions {
        LawOptions { cases: 1000, seed: 1, wire: None, profile: None, agent: None, size: 14 }
    }
}

/// Result of a campaign.
#[derive(Clone, Debug, Default)]
pub struct LawTally {
    /// Cases run.
    pub cases: u64,
    /// Documents that were valid as generated.
    pub sound: u64,
    /// Documents that the reader rejects (wrong types).
    pub unreadable: u64,
    /// Findings by rule.
    pub findings: BTreeMap<u16, u64>,
    /// Edits by kind.
    pub repairs: BTreeMap<&'static str, u64>,
    /// Laws that were broken.
    pub violations: Vec<LawBreach>,
}

/// A law that did not hold.
#[derive(Clone, Debug)]
pub struct LawBreach {
    /// Name of the law.
    pub law: &'static str,
    /// The case that broke it.
    pub case: LawCase,
    /// What was observed.
    pub what: String,
    /// The smallest document found that still breaks the law.
    pub document: String,
}

/// One test case.
#[derive(Clone, Copy, Debug)]
pub struct LawCase {
    /// Decides the history.
    pub seed: u64,
    /// The agent, if the document is a session file.
    pub agent: Option<SessionAgent>,
    /// Format of the document.
    pub wire: Format,
    /// Profile whose rules apply.
    pub profile: Profile,
    /// Policy of the repair.
    pub policy: Policy,
    /// Maximum number of messages.
    pub size: usize,
}

impl LawCase {
    /// The options that the history is checked with.
    pub fn question(&self) -> CheckOptions {
        let rules = RuleSet::of(self.profile);
        let mut options = CheckOptions { profile: self.profile, rules, policy: self.policy };
        if let Some(agent) = self.agent {
            agent.restrict_rules(&mut options);
        }
        options
    }

    /// Generates the document of this case.
    pub fn document(&self) -> String {
        let mut random = Random::new(self.seed);
        let mut value: Value = damaged_history(&mut random, self.wire.name(), self.size);
        spell_single_objects(&mut random, self.wire.name(), &mut value);
        let text = spelled(&mut random, &value);
        // A lone surrogate, as left by a cut in the middle of an emoji.
        if random.chance(4) {
            text.replacen("question", &format!("{LONE}question"), 1)
        } else {
            text
        }
    }

    /// Draws the case of a seed; options that are set are not drawn. A third of the cases are
    /// session files, unless a format or a profile is set.
    pub fn draw(seed: u64, options: &LawOptions) -> LawCase {
        let mut random = Random::new(seed ^ 0x5eed_0fca_5e00_0000);
        let format = options.wire.unwrap_or(*random.pick(&Format::ALL));
        // Half of the cases use the format's own provider, the rest use any.
        let own = random.chance(50);
        let any = *random.pick(&Profile::ALL);
        let profile =
            options.profile.unwrap_or(if own { Profile::for_format(format) } else { any });
        let unanswered = *random.pick(&[
            UnansweredPolicy::Answer,
            UnansweredPolicy::Answer,
            UnansweredPolicy::DropTurn,
            UnansweredPolicy::DropCall,
        ]);
        let policy = Policy {
            unanswered,
            orphans: if random.chance(75) { OrphanPolicy::Quote } else { OrphanPolicy::Drop },
            tail: if random.chance(80) { TailPolicy::Dead } else { TailPolicy::Pending },
            allow_unsafe: true,
            language: if random.chance(90) {
                PlaceholderLanguage::English
            } else {
                PlaceholderLanguage::Chinese
            },
        };
        let any = options.wire.is_none() && options.profile.is_none() && random.chance(33);
        let agent = *random.pick(&session::AGENTS);
        match options.agent.or(any.then_some(agent)) {
            Some(agent) => session::case(seed, agent, policy, options.size),
            None => {
                LawCase { seed, agent: None, wire: format, profile, policy, size: options.size }
            }
        }
    }
}

/// Runs all cases in sequence.
pub fn campaign(options: &LawOptions) -> LawTally {
    let mut tally = LawTally::default();
    for seed in options.seed..options.seed + options.cases {
        let case = LawCase::draw(seed, options);
        run(&case, &mut tally);
    }
    tally
}

/// Runs all cases in sequence, on histories with tool results in the message of their call.
pub fn own_results_campaign(options: &LawOptions) -> LawTally {
    let mut tally = LawTally::default();
    for seed in options.seed..options.seed + options.cases {
        let case = LawCase { agent: None, ..LawCase::draw(seed, options) };
        let mut random = Random::new(seed);
        let value = results_beside_calls(&mut random, case.wire.name(), case.size);
        tally.cases += 1;
        run_document(&case, spelled(&mut random, &value), &mut tally);
    }
    tally
}

/// Runs one case. If it breaks a law, the document is shrunk before it is reported.
pub fn run(case: &LawCase, tally: &mut LawTally) {
    tally.cases += 1;
    match case.agent {
        Some(agent) => session::run(case, agent, tally),
        None => run_document(case, case.document(), tally),
    }
}

fn run_document(case: &LawCase, document: String, tally: &mut LawTally) {
    if let Err((law, what)) = judge(case, &document, tally) {
        let breaks = |document: &str| {
            let seen = judge(case, document, &mut LawTally::default()).err();
            seen.is_some_and(|(other, _)| other == law)
        };
        let document = shrink::smallest(case.wire, document, &breaks);
        let what =
            judge(case, &document, &mut LawTally::default()).err().map_or(what, |(_, what)| what);
        tally.violations.push(LawBreach { law, case: *case, what, document });
    }
}

impl LawTally {
    /// Adds the result of another campaign.
    pub fn add(&mut self, other: LawTally) {
        self.cases += other.cases;
        self.sound += other.sound;
        self.unreadable += other.unreadable;
        for (code, count) in other.findings {
            *self.findings.entry(code).or_default() += count;
        }
        for (kind, count) in other.repairs {
            *self.repairs.entry(kind).or_default() += count;
        }
        self.violations.extend(other.violations);
    }
}
