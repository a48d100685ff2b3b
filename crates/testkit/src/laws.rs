//! The laws of repair, judged on generated histories.
//!
//! One case is one seed: it decides the history and its spelling. The engine repairs, the naive
//! oracle judges; a violation names the law, the seed, and the document.

use std::collections::BTreeMap;

use foxwedge_core::{
    CheckOptions, Format, OrphanPolicy, PlaceholderLanguage, Policy, Profile, RuleSet, TailPolicy,
    UnansweredPolicy,
};
use serde_json::Value;

use crate::{Random, damaged_history, spelled};

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

pub use foxwedge_dialect::session::SessionAgent;
pub use judge::judge;

/// An escape of half a character.
pub(crate) const LONE: &str = "\\ud83d";

/// Which cases to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many.
    pub cases: u64,
    /// Where to start.
    pub seed: u64,
    /// Only this format.
    pub wire: Option<Format>,
    /// Only this profile.
    pub profile: Option<Profile>,
    /// Only session files of this agent.
    pub agent: Option<SessionAgent>,
    /// Most messages of a history.
    pub size: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { cases: 1000, seed: 1, wire: None, profile: None, agent: None, size: 14 }
    }
}

/// What a campaign saw.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Cases run.
    pub cases: u64,
    /// Documents that were sound as generated.
    pub sound: u64,
    /// Documents that no reader takes (wrong types).
    pub unreadable: u64,
    /// Findings by rule.
    pub findings: BTreeMap<u16, u64>,
    /// Edits by kind.
    pub repairs: BTreeMap<&'static str, u64>,
    /// What went wrong.
    pub violations: Vec<Breach>,
}

/// A law that did not hold.
#[derive(Clone, Debug)]
pub struct Breach {
    /// Which law.
    pub law: &'static str,
    /// The case.
    pub case: Case,
    /// What was seen.
    pub what: String,
    /// The document, made as small as it gets while the law stays broken.
    pub document: String,
}

/// One case.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Decides the history.
    pub seed: u64,
    /// Whose session file it stands in; a document of its own if nobody's.
    pub agent: Option<SessionAgent>,
    /// Its format.
    pub wire: Format,
    /// Whose rules.
    pub profile: Profile,
    /// What repair may do.
    pub policy: Policy,
    /// Most messages.
    pub size: usize,
}

impl Case {
    /// What is asked of the history.
    pub fn question(&self) -> CheckOptions {
        let rules = RuleSet::of(self.profile);
        let mut question = CheckOptions { profile: self.profile, rules, policy: self.policy };
        if let Some(agent) = self.agent {
            agent.restrict_rules(&mut question);
        }
        question
    }

    /// The document of this case.
    pub fn document(&self) -> String {
        let mut random = Random::new(self.seed);
        let value: Value = damaged_history(&mut random, self.wire.name(), self.size);
        let text = spelled(&mut random, &value);
        // Half a character, as a cut in the middle of an emoji leaves it.
        if random.chance(4) {
            text.replacen("question", &format!("{LONE}question"), 1)
        } else {
            text
        }
    }

    /// The case of a seed: everything that is not given is drawn. A third of the cases are
    /// session files, unless a format or a profile is asked for.
    pub fn draw(seed: u64, options: &Options) -> Case {
        let mut random = Random::new(seed ^ 0x5eed_0fca_5e00_0000);
        let wire = options.wire.unwrap_or(*random.pick(&Format::ALL));
        // Half of the cases under the format's own provider, the rest under any.
        let own = random.chance(50);
        let any = *random.pick(&Profile::ALL);
        let profile = options.profile.unwrap_or(if own { Profile::for_format(wire) } else { any });
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
            None => Case { seed, agent: None, wire, profile, policy, size: options.size },
        }
    }
}

/// Runs the cases one after another.
pub fn campaign(options: &Options) -> Tally {
    let mut tally = Tally::default();
    for seed in options.seed..options.seed + options.cases {
        let case = Case::draw(seed, options);
        run(&case, &mut tally);
    }
    tally
}

/// Runs one case; a broken law is shrunk before it is reported.
pub fn run(case: &Case, tally: &mut Tally) {
    tally.cases += 1;
    if let Some(agent) = case.agent {
        return session::run(case, agent, tally);
    }
    let document = case.document();
    if let Err((law, what)) = judge(case, &document, tally) {
        let breaks = |document: &str| {
            let seen = judge(case, document, &mut Tally::default()).err();
            seen.is_some_and(|(other, _)| other == law)
        };
        let document = shrink::smallest(case.wire, document, &breaks);
        let what =
            judge(case, &document, &mut Tally::default()).err().map_or(what, |(_, what)| what);
        tally.violations.push(Breach { law, case: *case, what, document });
    }
}

impl Tally {
    /// Adds what another campaign saw.
    pub fn add(&mut self, other: Tally) {
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
