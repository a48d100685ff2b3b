//! Damaged documents: whatever was done to one, `fix` does what `check` promised.
//!
//! A document is generated, damaged, detected and read as the command line would do it. If a check
//! says that something can be fixed, the repaired document is again detected as a conversation, can
//! be read, has nothing left that could be fixed, and is not changed by another repair. The repair
//! changes the least, keeps real results, and leaves somebody who asks.

use foxwedge_core::{
    CheckOptions, FixApplicability, Part, PartKind, Policy, Profile, RuleSet, check,
};
use foxwedge_dialect::{detect, outline_options, read, text};
use serde_json::Value;

use super::{
    Breach, Case, Options, Tally,
    judge::{Verdict, breach},
    least, shrink,
    written::still_answers,
};
use crate::{has_user, mutate};

/// Runs the cases one after another.
pub fn campaign(options: &Options) -> Tally {
    let mut tally = Tally::default();
    for seed in options.seed..options.seed + options.cases {
        let case = Case { agent: None, ..Case::draw(seed, options) };
        tally.cases += 1;
        let damaged = mutate(case.document().as_bytes(), seed);
        for bold in [false, true] {
            if let Err((law, what)) = judge(&damaged, options.profile, bold, &mut tally) {
                let document = String::from_utf8_lossy(&damaged).into_owned();
                let breaks = |smaller: &str| {
                    let seen =
                        judge(smaller.as_bytes(), options.profile, bold, &mut Tally::default());
                    seen.err().is_some_and(|(other, _)| other == law)
                };
                let wire = detect(&document).map_or(case.wire, |found| found.wire);
                let document = shrink::smallest(wire, document, &breaks);
                let again =
                    judge(document.as_bytes(), options.profile, bold, &mut Tally::default());
                let what = again.err().map_or(what, |(_, what)| what);
                tally.violations.push(Breach { law, case, what, document });
                break;
            }
        }
    }
    tally
}

/// Whether `fix` keeps what `check` promises about these bytes.
///
/// # Errors
/// The name of the broken law, and what was seen.
pub fn judge(bytes: &[u8], profile: Option<Profile>, bold: bool, tally: &mut Tally) -> Verdict {
    let unreadable = |tally: &mut Tally| {
        tally.unreadable += 1;
        Ok(())
    };
    let Ok(source) = text(bytes) else { return unreadable(tally) };
    let Some(found) = detect(source) else { return unreadable(tally) };
    let profile = profile.unwrap_or(Profile::for_format(found.wire));
    let policy = Policy { allow_unsafe: bold, ..Policy::default() };
    let question = CheckOptions { profile, rules: RuleSet::of(profile), policy };
    let Ok(reading) = read(source, found.wire, outline_options(profile)) else {
        return unreadable(tally);
    };
    let report = check(&reading.draft, &question);
    for finding in &report.findings {
        *tally.findings.entry(finding.rule.code).or_default() += 1;
    }
    let fixable = |applicability: FixApplicability| match applicability {
        FixApplicability::Safe => true,
        FixApplicability::Unsafe => bold,
        FixApplicability::None => false,
    };
    let (patched, repair) = reading.fix(&question);
    let fixed = patched.to_string();
    if !report.findings.iter().any(|finding| fixable(finding.fix.applicability)) {
        tally.sound += 1;
        return match fixed == source && repair.is_untouched() {
            true => Ok(()),
            false => breach("untouched", format!("{:?}\nafter {fixed}", repair.edits)),
        };
    }
    let Some(again) = detect(&fixed) else {
        // Where no message held anything in a known form, any of them may have been the one that
        // looked like a format.
        if reading.draft.parts.is_empty() {
            return Ok(());
        }
        return breach("fixable", format!("looks like no conversation\nafter {fixed}"));
    };
    let second = match read(&fixed, found.wire, outline_options(profile)) {
        Ok(second) => second,
        Err(error) => return breach("fixable", format!("unreadable: {error}\nafter {fixed}")),
    };
    // What holds no call and no answer may be of several formats.
    let pairs = |part: &Part<'_>| matches!(part.kind, PartKind::Call(_) | PartKind::Answer(_));
    let tells = second.draft.parts.iter().any(pairs);
    let other = again.wire.name();
    if tells && again.wire != found.wire {
        return breach("fixable", format!("looks like {other}\nafter {fixed}"));
    }
    // What could be read as that one before still can.
    let readable = |text: &str| {
        read(text, again.wire, outline_options(Profile::for_format(again.wire))).is_ok()
    };
    if readable(source) && !readable(&fixed) {
        return breach("fixable", format!("unreadable as {other}\nafter {fixed}"));
    }
    let case = Case { seed: 0, agent: None, wire: found.wire, profile, policy, size: 0 };
    least::minimal(&case, &reading, &repair, &fixed)?;
    let values = [source, fixed.as_str()].map(serde_json::from_str::<Value>);
    if let [Ok(before), Ok(after)] = &values {
        let wire = found.wire.name();
        if has_user(wire, before) && !has_user(wire, after) {
            return breach("conserving", format!("nobody asks anything any more\nafter {fixed}"));
        }
        still_answers(&case, before, after)?;
    }
    let left = check(&second.draft, &question);
    let open = left.findings.iter().find(|finding| fixable(finding.fix.applicability));
    if let Some(finding) = open {
        let what = format!("FW{} is left\nafter {fixed}", finding.rule.code);
        return breach("fixable", what);
    }
    if !reading.draft.messages.is_empty() && second.draft.messages.is_empty() {
        return breach("fixable", format!("nothing is left\nafter {fixed}"));
    }
    let (twice, _) = second.fix(&question);
    if twice.to_string() != fixed {
        return breach("idempotent", format!("once {fixed}\ntwice {twice}"));
    }
    Ok(())
}
