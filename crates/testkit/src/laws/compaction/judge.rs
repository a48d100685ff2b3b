//! Judges one case.

use std::panic::{AssertUnwindSafe, catch_unwind};

use foxwedge_core::{Format, Report, TailPolicy, check, compact::TokenLimits};
use foxwedge_dialect::{
    OutlinedDocument,
    compact::{CompactError, CompactedText, CompactionSettings, CompactionStage, compact, weigh},
    outline_options, read,
};
use serde_json::Value;

use super::{
    super::{
        Case, Tally,
        judge::{Verdict, breach, honest},
    },
    Draw, Voice, account,
};
use crate::{Became, Bytes, Shorter, Stays, became, parted, stays, violations};

/// Whether all laws hold for a document, sound or not.
///
/// # Errors
/// The name of the broken law, and what was seen.
pub fn judge(case: &Case, draw: &Draw, document: &str, tally: &mut Tally) -> Verdict {
    let question = case.question();
    let Ok(reading) = read(document, case.wire, outline_options(case.profile)) else {
        tally.unreadable += 1;
        let settings = draw.settings(question, 0, 0);
        return match attempt(document, case.wire, &settings, Voice::Digest)? {
            (Err(CompactError::Unreadable(_)), _) => Ok(()),
            (other, _) => breach("total", format!("unreadable, and yet {other:?}")),
        };
    };
    let (patched, repair) = reading.fix(&question);
    let repaired = patched.to_string();
    let Ok(whole) = read(&repaired, case.wire, outline_options(case.profile)) else {
        return breach("sound", "the repair cannot be read");
    };
    let tokens = tokens(&whole);
    let settings = draw.settings(question, tokens, reading.draft.messages.len());
    let mended = draw.settings(question, tokens, whole.draft.messages.len());
    let voice = draw.voice(tokens);
    let shown = |what: String| format!("{what}\n{voice:?} {settings:?}");
    let verdict = judge_sound(case.wire, &repaired, &mended, voice, tally);
    let sound = verdict.map_err(|(law, what)| (law, shown(what)))?;
    if repair.is_untouched() {
        tally.sound += 1;
    }
    if let Some(text) = &sound
        && let Ok(before) = serde_json::from_str::<Value>(&repaired)
    {
        honest(case, &before, text).map_err(|(law, what)| (law, shown(what)))?;
    }
    // The same again; and a document that is not sound becomes what its repair becomes. Pins are
    // told by their place, and repairs move messages.
    let (again, _) = attempt(document, case.wire, &settings, voice)?;
    let law = if repair.is_untouched() { "deterministic" } else { "repaired-first" };
    match (&again, &sound) {
        (Ok(again), _) if again.account.messages.len() != reading.draft.messages.len() => {
            breach("account", shown("the input is not what was given".to_owned()))
        }
        _ if !repair.is_untouched() && !settings.pins.is_empty() => Ok(()),
        (Ok(again), Some(sound)) if again.text == *sound => Ok(()),
        (Err(_), None) => Ok(()),
        _ => {
            let again = again.map(|again| again.text);
            breach(law, shown(format!("once {sound:?}\nagain {again:?}")))
        }
    }
}

/// Whether the laws hold for a document that is as sound as it gets; the result, if there is one.
///
/// # Errors
/// The name of the broken law, and what was seen.
pub fn judge_sound(
    wire: Format,
    before: &str,
    settings: &CompactionSettings,
    voice: Voice,
    tally: &mut Tally,
) -> Result<Option<String>, (&'static str, String)> {
    let question = settings.question;
    let reading = match read(before, wire, outline_options(question.profile)) {
        Ok(reading) => reading,
        Err(error) => return Err(("total", format!("{error}"))),
    };
    let left = check(&reading.draft, &question);
    let (result, asked) = attempt(before, wire, settings, voice)?;
    let compacted = match result {
        Ok(compacted) => compacted,
        Err(error) => {
            *tally.repairs.entry(error_name(&error)).or_default() += 1;
            refused(&reading, settings, voice, &error)?;
            least(wire, before, settings, &error)?;
            return Ok(None);
        }
    };
    let seen = if compacted.is_changed() { "shorter" } else { "as it was" };
    *tally.repairs.entry(seen).or_default() += 1;
    if asked > 0 && voice.is_useless() {
        return Err(("useless-summary", format!("{voice:?} was taken\n{}", compacted.text)));
    }
    within(&reading, before, settings, &compacted)?;
    sound(wire, settings, &left, &compacted)?;
    idempotent(wire, settings, voice, &compacted)?;
    let origins: Vec<Option<usize>> = compacted.messages.iter().map(|line| line.origin).collect();
    let dialect = wire.name();
    let shorter = Shorter { dialect, before, after: &compacted.text, origins: &origins };
    let told = |what: String| format!("{what}\norigins {origins:?}\nafter {}", compacted.text);
    let became = became(&shorter).map_err(|what| ("found-again", told(format!("{what:?}"))))?;
    let parted = parted(dialect, before, &became);
    if !parted.is_empty() {
        return Err(("units", told(format!("{parted:?}"))));
    }
    conserving(wire, before, settings, &became).map_err(|(law, what)| (law, told(what)))?;
    account(dialect, before, &compacted, &became).map_err(|what| ("account", told(what)))?;
    Ok(Some(compacted.text.into_owned()))
}

type Outcome<'a> = Result<CompactedText<'a>, CompactError>;

/// Compacts, and says how often somebody was asked for a summary.
fn attempt<'a>(
    document: &'a str,
    wire: Format,
    settings: &CompactionSettings,
    voice: Voice,
) -> Result<(Outcome<'a>, usize), (&'static str, String)> {
    let mut asked = voice.listening();
    let run = || compact(document, wire, settings, &mut Bytes, &mut asked);
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(result) => Ok((result, asked.times)),
        Err(_) => Err(("total", format!("it panics\n{settings:?}"))),
    }
}

fn tokens(reading: &OutlinedDocument<'_>) -> u64 {
    weigh(&reading.draft, reading.frame, &mut Bytes).total()
}

fn error_name(error: &CompactError) -> &'static str {
    match error {
        CompactError::Unreadable(_) => "unreadable",
        CompactError::Unsound(_) => "unsound",
        CompactError::CannotShrink(_) => "cannot shrink",
        CompactError::NeedsBudget(_) => "needs a budget",
        CompactError::NoSummary { .. } => "no summary",
        CompactError::Refused(_) => "summary refused",
        _ => "another error",
    }
}

/// Whether an error is the right one, and says why.
fn refused(
    reading: &OutlinedDocument<'_>,
    settings: &CompactionSettings,
    voice: Voice,
    error: &CompactError,
) -> Verdict {
    let needs = |stage: &CompactionStage| {
        !matches!(stage, CompactionStage::Window(_) | CompactionStage::Summarize)
    };
    let summarizes = settings.stages.contains(&CompactionStage::Summarize);
    let fits = match error {
        CompactError::CannotShrink(short) => settings.limits.is_some_and(|limits| {
            short.budget == limits.max_tokens()
                && short.total_needed > limits.max_tokens()
                && short.needed <= short.total_needed
                && tokens(reading) > limits.max_tokens()
                && short.messages.end <= reading.draft.messages.len()
        }),
        CompactError::NeedsBudget(stage) => settings.limits.is_none() && needs(stage),
        CompactError::NoSummary { .. } => summarizes && voice == Voice::Fails,
        CompactError::Refused(_) => summarizes && voice != Voice::Fails,
        _ => false,
    };
    if fits { Ok(()) } else { breach("error", format!("{error}\n{error:?}")) }
}

/// What is said to be needed is enough.
fn least(
    wire: Format,
    before: &str,
    settings: &CompactionSettings,
    error: &CompactError,
) -> Verdict {
    let CompactError::CannotShrink(short) = error else { return Ok(()) };
    if !matches!(
        settings.stages[..],
        [CompactionStage::Budget | CompactionStage::Elide | CompactionStage::Importance]
    ) {
        return Ok(());
    }
    let mut enough = settings.clone();
    enough.limits = Some(TokenLimits::exactly(short.total_needed));
    match attempt(before, wire, &enough, Voice::Digest)? {
        (Ok(_), _) => Ok(()),
        (Err(error), _) => breach("least", format!("{} tokens: {error}", short.total_needed)),
    }
}

/// What fits stays as it is, and what does not fits then.
fn within(
    reading: &OutlinedDocument<'_>,
    before: &str,
    settings: &CompactionSettings,
    compacted: &CompactedText<'_>,
) -> Verdict {
    let Some(limits) = settings.limits else { return Ok(()) };
    if tokens(reading) <= limits.max_tokens() && compacted.text != before {
        return breach("untouched", format!("it fitted\n{}", compacted.text));
    }
    let wire = reading.draft.format;
    let Ok(after) = read(&compacted.text, wire, outline_options(settings.question.profile)) else {
        return breach("sound", format!("unreadable\n{}", compacted.text));
    };
    let tokens = tokens(&after);
    if tokens > limits.max_tokens() || compacted.account.after.tokens != tokens {
        let told = compacted.account.after.tokens;
        return breach("within", format!("{tokens} tokens, told are {told}\n{}", compacted.text));
    }
    Ok(())
}

/// Nothing is wrong with the result that was not wrong before.
fn sound(
    wire: Format,
    settings: &CompactionSettings,
    left: &Report,
    compacted: &CompactedText<'_>,
) -> Verdict {
    let question = settings.question;
    let text = &compacted.text;
    let known = |code: u16| left.findings.iter().any(|finding| finding.rule.code == code);
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => return breach("sound", format!("not JSON any more: {error}\n{text}")),
    };
    let pending = question.policy.tail == TailPolicy::Pending;
    let mut found = violations(wire.name(), question.profile.name(), pending, &value);
    found.retain(|violation| !known(violation.code) && violation.code != 314);
    if !found.is_empty() {
        return breach("sound", format!("oracle {found:?}\nafter {text}"));
    }
    let Ok(reading) = read(text, wire, outline_options(question.profile)) else {
        return breach("sound", format!("unreadable\n{text}"));
    };
    let found = check(&reading.draft, &question);
    let new: Vec<_> = found.findings.iter().filter(|finding| !known(finding.rule.code)).collect();
    if !new.is_empty() {
        return breach("sound", format!("engine {new:?}\nafter {text}"));
    }
    Ok(())
}

/// What is short enough stays as it is.
fn idempotent(
    wire: Format,
    settings: &CompactionSettings,
    voice: Voice,
    compacted: &CompactedText<'_>,
) -> Verdict {
    if settings.limits.is_none() {
        return Ok(());
    }
    let (again, asked) = attempt(&compacted.text, wire, settings, voice)?;
    match again {
        Ok(again) if again.text == compacted.text && !again.is_changed() && asked == 0 => Ok(()),
        Ok(again) => breach("idempotent", format!("once {}\ntwice {}", compacted.text, again.text)),
        Err(error) => breach("idempotent", format!("{error}\nonce {}", compacted.text)),
    }
}

/// What has to stay is there.
fn conserving(
    wire: Format,
    before: &str,
    settings: &CompactionSettings,
    became: &[Became],
) -> Verdict {
    let among = |wanted: fn(&CompactionStage) -> bool| settings.stages.iter().any(wanted);
    let window = among(|stage| matches!(stage, CompactionStage::Window(_)));
    let summarize = among(|stage| matches!(stage, CompactionStage::Summarize));
    let drops =
        among(|stage| !matches!(stage, CompactionStage::Elide | CompactionStage::Window(_)));
    let which = Stays {
        first: window && !drops,
        first_wish: !window && !summarize,
        last_wish: !window,
        everything: settings.stages.iter().all(|stage| *stage == CompactionStage::Elide),
    };
    let mut stay = stays(wire.name(), before, which);
    let pins = settings.pins.iter().filter(|pin| **pin < became.len());
    stay.extend(pins.map(|pin| (*pin, "pinned")));
    let gone: Vec<_> = stay.iter().filter(|(at, _)| became[*at] == Became::Gone).collect();
    if gone.is_empty() { Ok(()) } else { breach("conserving", format!("gone: {gone:?}")) }
}
