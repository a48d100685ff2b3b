//! Damaged documents: `fix` does what `check` promised, for any damage.
//!
//! A document is generated, damaged, detected and read as the command line does it. If the check
//! reports a fixable finding, the repaired document is detected as a conversation and can be read,
//! has no fixable finding, and is not changed by a second repair. The repair is minimal, keeps real
//! results, and keeps a user message. The order of an object's fields does not matter. A turn that
//! holds something of an unknown type stays as it is, byte for byte.

use std::collections::BTreeMap;

use foxwedge_core::{
    CheckOptions, FixApplicability, Part, PartKind, Policy, Profile, RuleSet, check,
};
use foxwedge_formats::{DetectionConfidence, detect, outline_options, read, text};
use serde_json::Value;

mod unknown;

use super::{
    LawBreach, LawCase, LawOptions, LawTally,
    judge::{LawVerdict, breach},
    least, shrink,
    written::still_answers,
};
use crate::{lost_user, mutate};

/// Runs all cases in sequence.
pub fn campaign(options: &LawOptions) -> LawTally {
    let mut tally = LawTally::default();
    for seed in options.seed..options.seed + options.cases {
        let case = LawCase { agent: None, ..LawCase::draw(seed, options) };
        tally.cases += 1;
        let document = case.document();
        // Every second document holds something of an unknown type.
        let document = if seed % 2 == 0 {
            unknown::insert_unknown(case.wire, &document, seed).unwrap_or(document)
        } else {
            document
        };
        let damaged = mutate(document.as_bytes(), seed);
        for allow_unsafe in [false, true] {
            if let Err((law, what)) = judge(&damaged, options.profile, allow_unsafe, &mut tally) {
                let document = String::from_utf8_lossy(&damaged).into_owned();
                let breaks = |smaller: &str| {
                    let result = judge(
                        smaller.as_bytes(),
                        options.profile,
                        allow_unsafe,
                        &mut LawTally::default(),
                    );
                    result.err().is_some_and(|(other, _)| other == law)
                };
                let format = detect(&document).map_or(case.wire, |found| found.wire);
                let document = shrink::smallest(format, document, &breaks);
                let again = judge(
                    document.as_bytes(),
                    options.profile,
                    allow_unsafe,
                    &mut LawTally::default(),
                );
                let what = again.err().map_or(what, |(_, what)| what);
                tally.violations.push(LawBreach { law, case, what, document });
                break;
            }
        }
    }
    tally
}

/// Checks that `fix` does what `check` promises about these bytes.
///
/// # Errors
/// The name of the broken law, and what was observed.
pub fn judge(
    bytes: &[u8],
    profile: Option<Profile>,
    allow_unsafe: bool,
    tally: &mut LawTally,
) -> LawVerdict {
    let unreadable = |tally: &mut LawTally| {
        tally.unreadable += 1;
        Ok(())
    };
    let Ok(source) = text(bytes) else { return unreadable(tally) };
    let Some(found) = detect(source) else { return unreadable(tally) };
    let profile = profile.unwrap_or(Profile::for_format(found.wire));
    let policy = Policy { allow_unsafe, ..Policy::default() };
    let options = CheckOptions { profile, rules: RuleSet::of(profile), policy };
    let Ok(reading) = read(source, found.wire, outline_options(profile)) else {
        return unreadable(tally);
    };
    let report = check(&reading.draft, &options);
    for finding in &report.findings {
        *tally.findings.entry(finding.rule.code).or_default() += 1;
    }
    same_in_any_field_order(source, &options)?;
    let fixable = |applicability: FixApplicability| match applicability {
        FixApplicability::Safe => true,
        FixApplicability::Unsafe => allow_unsafe,
        FixApplicability::None => false,
    };
    let (patched, repair) = reading.fix(&options);
    let fixed = patched.to_string();
    if !report.findings.iter().any(|finding| fixable(finding.fix.applicability)) {
        tally.sound += 1;
        return match fixed == source && repair.is_untouched() {
            true => Ok(()),
            false => breach("untouched", format!("{:?}\nafter {fixed}", repair.edits)),
        };
    }
    unknown::left_as_it_is(&reading.draft, &fixed)?;
    let Some(again) = detect(&fixed) else {
        // If no message has content in a known form, the format may have been detected from a
        // message that is gone.
        let is_known = |part: &Part<'_>| !matches!(part.kind, PartKind::Unknown | PartKind::Other);
        let left = read(&fixed, found.wire, outline_options(profile));
        if reading.draft.parts.is_empty()
            || left.is_ok_and(|left| !left.draft.parts.iter().any(is_known))
        {
            return Ok(());
        }
        return breach("fixable", format!("looks like no conversation\nafter {fixed}"));
    };
    let second = match read(&fixed, found.wire, outline_options(profile)) {
        Ok(second) => second,
        Err(error) => return breach("fixable", format!("unreadable: {error}\nafter {fixed}")),
    };
    // A document without calls and results may match several formats.
    let pairs = |part: &Part<'_>| matches!(part.kind, PartKind::Call(_) | PartKind::Answer(_));
    let has_pairs = second.draft.parts.iter().any(pairs);
    let other = again.wire.name();
    if has_pairs && again.wire != found.wire {
        return breach("fixable", format!("looks like {other}\nafter {fixed}"));
    }
    // If the source could be read in the newly detected format, so can the repaired document.
    let readable = |text: &str| {
        read(text, again.wire, outline_options(Profile::for_format(again.wire))).is_ok()
    };
    if readable(source) && !readable(&fixed) {
        return breach("fixable", format!("unreadable as {other}\nafter {fixed}"));
    }
    let case = LawCase { seed: 0, agent: None, wire: found.wire, profile, policy, size: 0 };
    least::minimal(&case, &reading, &repair, &fixed)?;
    let values = [source, fixed.as_str()].map(serde_json::from_str::<Value>);
    if let [Ok(before), Ok(after)] = &values {
        let format = found.wire.name();
        if lost_user(format, before, after) {
            return breach("conserving", format!("nobody asks anything any more\nafter {fixed}"));
        }
        still_answers(&case, before, after)?;
    }
    let left = check(&second.draft, &options);
    let open = left.findings.iter().find(|finding| fixable(finding.fix.applicability));
    if let Some(finding) = open {
        let what = format!("FW{} is left\nafter {fixed}", finding.rule.code);
        return breach("fixable", what);
    }
    if !reading.draft.messages.is_empty() && second.draft.messages.is_empty() {
        return breach("fixable", format!("nothing is left\nafter {fixed}"));
    }
    let (twice, _) = second.fix(&options);
    if twice.to_string() != fixed {
        return breach("idempotent", format!("once {fixed}\ntwice {twice}"));
    }
    Ok(())
}

/// A document has the same format and the same findings with the fields of all objects in the
/// opposite order.
fn same_in_any_field_order(source: &str, options: &CheckOptions) -> LawVerdict {
    let Ok(document) = serde_json::from_str::<Value>(source) else { return Ok(()) };
    // Repeated fields are gone from both.
    let straight = document.to_string();
    let mut turned = String::with_capacity(straight.len());
    write_turned(&document, &mut turned);
    let Some(found) = detect(&straight) else { return Ok(()) };
    let other = detect(&turned);
    if other.is_none_or(|other| other.wire != found.wire) {
        // Detection stops at the first certain sign.
        let certain = DetectionConfidence::Certain;
        if found.confidence == certain && other.is_some_and(|other| other.confidence == certain) {
            return Ok(());
        }
        return breach("field-order", format!("{found:?} became {other:?}\nturned {turned}"));
    }
    let counted = |source: &str| -> Option<BTreeMap<u16, usize>> {
        let reading = read(source, found.wire, outline_options(options.profile)).ok()?;
        let report = check(&reading.draft, options);
        let codes = report.counts.iter().map(|kind| kind.rule.code);
        Some(codes.map(|code| (code, report.counts.of(code))).collect())
    };
    let (one, two) = (counted(&straight), counted(&turned));
    if one != two {
        return breach("field-order", format!("{one:?} became {two:?}\nturned {turned}"));
    }
    Ok(())
}

fn write_turned(value: &Value, out: &mut String) {
    let separate = |out: &mut String, at: usize| {
        if at > 0 {
            out.push(',');
        }
    };
    match value {
        Value::Object(fields) => {
            out.push('{');
            for (at, (key, value)) in fields.iter().rev().enumerate() {
                separate(out, at);
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write_turned(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                separate(out, at);
                write_turned(item, out);
            }
            out.push(']');
        }
        plain => out.push_str(&plain.to_string()),
    }
}
