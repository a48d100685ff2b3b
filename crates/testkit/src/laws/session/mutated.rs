//! Files that were damaged at random: whatever `check` calls fixable, a repair takes care of, and
//! it leaves a file that can be read again.

use foxwedge_core::{Applicability, Finding, Policy, Question, check};
use foxwedge_dialect::{
    session::{Agent, Session, read, text},
    want,
};

use super::{
    AGENTS, case, file,
    judge::{Verdict, breach, shown_bytes},
    shrink,
};
use crate::{
    Random,
    laws::{Breach, Options, Tally},
    mutated_session,
};

/// Runs the cases one after another: files of every agent in turn.
pub fn campaign(options: &Options) -> Tally {
    let mut tally = Tally::default();
    for seed in options.seed..options.seed + options.cases {
        let turn = usize::try_from(seed).unwrap_or(0) % AGENTS.len();
        let agent = options.agent.unwrap_or(AGENTS[turn]);
        run(seed, agent, options.size, &mut tally);
    }
    tally
}

/// Damages one generated file and judges its repair.
pub fn run(seed: u64, agent: Agent, size: usize, tally: &mut Tally) {
    let case = case(seed, agent, Policy::default(), size);
    let made = file(&case, agent);
    let bytes = mutated_session(&mut Random::new(seed ^ 0x00ac_c1de_0000), &made.bytes);
    let question = case.question();
    if let Err((law, what)) = judge(agent, &question, &bytes, tally) {
        let breaks = |bytes: &[u8]| {
            let verdict = judge(agent, &question, bytes, &mut Tally::default());
            verdict.err().is_some_and(|(other, _)| other == law)
        };
        let bytes = shrink::smallest(bytes, breaks);
        let what = match judge(agent, &question, &bytes, &mut Tally::default()) {
            Err((_, what)) => what,
            Ok(()) => what,
        };
        tally.violations.push(Breach { law, case, what, document: shown_bytes(&bytes) });
    }
}

fn judge(agent: Agent, question: &Question, bytes: &[u8], tally: &mut Tally) -> Verdict {
    for spares in [false, true] {
        let Ok(text) = text(bytes) else { return Ok(()) };
        let Ok(mut session) = read(&text, agent, want(question.profile)) else {
            tally.unreadable += 1;
            return Ok(());
        };
        let mut question = *question;
        if spares {
            session.spare(&mut question, true);
        }
        let report = check(session.draft(), &question);
        for finding in &report.findings {
            *tally.findings.entry(finding.rule.code).or_default() += 1;
        }
        let fixable = report.findings.iter().any(is_fixable);
        let mut fixed = Vec::new();
        let (rewritten, repair) = session.fix(&question);
        if rewritten.write_to(&mut fixed).is_err() {
            return breach("total", "it cannot be written");
        }
        if !fixable {
            // A byte order mark is no part of the text.
            if fixed != text.bytes() {
                return breach("untouched", shown_bytes(&fixed));
            }
            tally.sound += u64::from(report.is_clean());
            continue;
        }
        let told = |what: String| {
            let edits: Vec<&str> = repair.edits.iter().map(|edit| edit.note.as_str()).collect();
            format!("spares {spares}: {what}\nedits {edits:?}\nafter\n{}", shown_bytes(&fixed))
        };
        let again = again(agent, &question, &fixed, spares);
        let (left, owned, twice) = match again {
            Ok(again) => again,
            Err(error) => return breach("sound", told(format!("unreadable: {error}"))),
        };
        if !owned && !repair.slots.is_empty() {
            return breach("sound", told("nothing in it says whose it is".to_owned()));
        }
        if let Some(left) = left.filter(|_| owned) {
            return breach("sound", told(left));
        }
        if twice != fixed {
            return breach("idempotent", told(shown_bytes(&twice)));
        }
    }
    Ok(())
}

/// What is left in a repaired file, whether it says whose it is, and what a second repair makes of
/// it.
fn again(
    agent: Agent,
    question: &Question,
    fixed: &[u8],
    spares: bool,
) -> Result<(Option<String>, bool, Vec<u8>), String> {
    let text = text(fixed).map_err(|error| error.to_string())?;
    let mut session: Session<'_> =
        read(&text, agent, want(question.profile)).map_err(|error| error.to_string())?;
    let mut asked = *question;
    if spares {
        session.spare(&mut asked, true);
    }
    let owned = !session.draft().messages.is_empty()
        || session.has_records()
        || agent == Agent::Cline
        || agent == Agent::GeminiCli;
    let report = check(session.draft(), &asked);
    let left = report.findings.iter().find(|finding| is_fixable(finding));
    let left = left.map(|left| format!("{} {}", left.rule.label(), left.message));
    let mut twice = Vec::new();
    session.fix(&asked).0.write_to(&mut twice).map_err(|error| error.to_string())?;
    Ok((left, owned, twice))
}

fn is_fixable(finding: &Finding) -> bool {
    finding.fix.applicability == Applicability::Safe
}
