//! Judges one case.

use std::panic::{AssertUnwindSafe, catch_unwind};

use foxwedge_core::{Format, Report, TailPolicy, check, compact::TokenLimits};
use foxwedge_formats::{
    OutlinedDocument,
    compact::{CompactError, CompactedText, CompactionSettings, CompactionStage, compact, weigh},
    outline_options, read,
};
use serde_json::Value;

use super::{
    super::{
        LawCase, LawTally,
        judge::{LawVerdict, breach, honest},
    },
    CompactionDraw, SummarizerKind, account,
};
use crate::{
    ByteTokenCounter, MessageSurvival, RequiredMessages, ShorterHistory, became, parted, stays,
    violations,
};

/// Checks all laws on a document, which may be invalid.
///
/// # Errors
/// The name of the broken law, and what was observed.
pub fn judge(
    case: &LawCase,
    draw: &CompactionDraw,
    document: &str,
    tally: &mut LawTally,
) -> LawVerdict {
    let options = case.question();
    let Ok(reading) = read(document, case.wire, outline_options(case.profile)) else {
        tally.unreadable += 1;
        let settings = draw.settings(options, 0, 0);
        return match attempt(document, case.wire, &settings, SummarizerKind::Digest)? {
            (Err(CompactError::Unreadable(_)), _) => Ok(()),
            (other, _) => breach("total", format!("unreadable, and yet {other:?}")),
        };
    };
    let (patched, repair) = reading.fix(&options);
    let repaired = patched.to_string();
    let Ok(whole) = read(&repaired, case.wire, outline_options(case.profile)) else {
        return breach("sound", "the repair cannot be read");
    };
    let tokens = tokens(&whole);
    let settings = draw.settings(options, tokens, reading.draft.messages.len());
    let repaired_settings = draw.settings(options, tokens, whole.draft.messages.len());
    let summarizer = draw.voice(tokens);
    let describe = |what: String| format!("{what}\n{summarizer:?} {settings:?}");
    let verdict = judge_sound(case.wire, &repaired, &repaired_settings, summarizer, tally);
    let sound = verdict.map_err(|(law, what)| (law, describe(what)))?;
    if repair.is_untouched() {
        tally.sound += 1;
    }
    if let Some(text) = &sound
        && let Ok(before) = serde_json::from_str::<Value>(&repaired)
    {
        honest(case, &before, text).map_err(|(law, what)| (law, describe(what)))?;
    }
    // The same input gives the same result, and an invalid document gives the result of its repair.
    // Pins are positions, and repairs move messages.
    let (again, _) = attempt(document, case.wire, &settings, summarizer)?;
    let law = if repair.is_untouched() { "deterministic" } else { "repaired-first" };
    match (&again, &sound) {
        (Ok(again), _) if again.account.messages.len() != reading.draft.messages.len() => {
            breach("account", describe("the input is not what was given".to_owned()))
        }
        _ if !repair.is_untouched() && !settings.pins.is_empty() => Ok(()),
        (Ok(again), Some(sound)) if again.text == *sound => Ok(()),
        (Err(_), None) => Ok(()),
        _ => {
            let again = again.map(|again| again.text);
            breach(law, describe(format!("once {sound:?}\nagain {again:?}")))
        }
    }
}

/// Checks the laws on a repaired document. Returns the compacted text, if there is one.
///
/// # Errors
/// The name of the broken law, and what was observed.
pub fn judge_sound(
    format: Format,
    before: &str,
    settings: &CompactionSettings,
    summarizer: SummarizerKind,
    tally: &mut LawTally,
) -> Result<Option<String>, (&'static str, String)> {
    let options = settings.question;
    let reading = match read(before, format, outline_options(options.profile)) {
        Ok(reading) => reading,
        Err(error) => return Err(("total", format!("{error}"))),
    };
    let left = check(&reading.draft, &options);
    let (result, summary_count) = attempt(before, format, settings, summarizer)?;
    let compacted = match result {
        Ok(compacted) => compacted,
        Err(error) => {
            *tally.repairs.entry(error_name(&error)).or_default() += 1;
            refused(&reading, settings, summarizer, &error)?;
            least(format, before, settings, &error)?;
            return Ok(None);
        }
    };
    let outcome = if compacted.is_changed() { "shorter" } else { "as it was" };
    *tally.repairs.entry(outcome).or_default() += 1;
    if summary_count > 0 && summarizer.is_useless() {
        return Err(("useless-summary", format!("{summarizer:?} was taken\n{}", compacted.text)));
    }
    within(&reading, before, settings, &compacted)?;
    sound(format, settings, &left, &compacted)?;
    idempotent(format, settings, summarizer, &compacted)?;
    let origins: Vec<Option<usize>> = compacted.messages.iter().map(|line| line.origin).collect();
    let format_name = format.name();
    let shorter =
        ShorterHistory { format: format_name, before, after: &compacted.text, origins: &origins };
    let describe = |what: String| format!("{what}\norigins {origins:?}\nafter {}", compacted.text);
    let became = became(&shorter).map_err(|what| ("found-again", describe(format!("{what:?}"))))?;
    let parted = parted(format_name, before, &became);
    if !parted.is_empty() {
        return Err(("units", describe(format!("{parted:?}"))));
    }
    conserving(format, before, settings, &became).map_err(|(law, what)| (law, describe(what)))?;
    account(format_name, before, &compacted, &became)
        .map_err(|what| ("account", describe(what)))?;
    Ok(Some(compacted.text.into_owned()))
}

type CompactionAttempt<'a> = Result<CompactedText<'a>, CompactError>;

/// Compacts, and returns how often a summary was requested.
fn attempt<'a>(
    document: &'a str,
    format: Format,
    settings: &CompactionSettings,
    summarizer: SummarizerKind,
) -> Result<(CompactionAttempt<'a>, usize), (&'static str, String)> {
    let mut counter = summarizer.listening();
    let run = || compact(document, format, settings, &mut ByteTokenCounter, &mut counter);
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(result) => Ok((result, counter.times)),
        Err(_) => Err(("total", format!("it panics\n{settings:?}"))),
    }
}

fn tokens(reading: &OutlinedDocument<'_>) -> u64 {
    weigh(&reading.draft, reading.frame, &mut ByteTokenCounter).total()
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

/// Checks that an error is the right one and states the reason.
fn refused(
    reading: &OutlinedDocument<'_>,
    settings: &CompactionSettings,
    summarizer: SummarizerKind,
    error: &CompactError,
) -> LawVerdict {
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
        CompactError::NoSummary { .. } => summarizes && summarizer == SummarizerKind::Fails,
        CompactError::Refused(_) => summarizes && summarizer != SummarizerKind::Fails,
        _ => false,
    };
    if fits { Ok(()) } else { breach("error", format!("{error}\n{error:?}")) }
}

/// The number of tokens that an error requires is sufficient.
fn least(
    format: Format,
    before: &str,
    settings: &CompactionSettings,
    error: &CompactError,
) -> LawVerdict {
    let CompactError::CannotShrink(short) = error else { return Ok(()) };
    if !matches!(
        settings.stages[..],
        [CompactionStage::Budget | CompactionStage::Elide | CompactionStage::Importance]
    ) {
        return Ok(());
    }
    let mut enough = settings.clone();
    enough.limits = Some(TokenLimits::exactly(short.total_needed));
    match attempt(before, format, &enough, SummarizerKind::Digest)? {
        (Ok(_), _) => Ok(()),
        (Err(error), _) => breach("least", format!("{} tokens: {error}", short.total_needed)),
    }
}

/// A history within the limits stays unchanged; any other is within them after compaction.
fn within(
    reading: &OutlinedDocument<'_>,
    before: &str,
    settings: &CompactionSettings,
    compacted: &CompactedText<'_>,
) -> LawVerdict {
    let Some(limits) = settings.limits else { return Ok(()) };
    if tokens(reading) <= limits.max_tokens() && compacted.text != before {
        return breach("untouched", format!("it fitted\n{}", compacted.text));
    }
    let format = reading.draft.format;
    let Ok(after) = read(&compacted.text, format, outline_options(settings.question.profile))
    else {
        return breach("sound", format!("unreadable\n{}", compacted.text));
    };
    let tokens = tokens(&after);
    if tokens > limits.max_tokens() || compacted.account.after.tokens != tokens {
        let stated = compacted.account.after.tokens;
        return breach("within", format!("{tokens} tokens, told are {stated}\n{}", compacted.text));
    }
    Ok(())
}

/// The result has no violation that the input did not have.
fn sound(
    format: Format,
    settings: &CompactionSettings,
    left: &Report,
    compacted: &CompactedText<'_>,
) -> LawVerdict {
    let options = settings.question;
    let text = &compacted.text;
    let known = |code: u16| left.findings.iter().any(|finding| finding.rule.code == code);
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => return breach("sound", format!("not JSON any more: {error}\n{text}")),
    };
    let pending = options.policy.tail == TailPolicy::Pending;
    let mut found = violations(format.name(), options.profile.name(), pending, &value);
    found.retain(|violation| !known(violation.code) && violation.code != 314);
    if !found.is_empty() {
        return breach("sound", format!("oracle {found:?}\nafter {text}"));
    }
    let Ok(reading) = read(text, format, outline_options(options.profile)) else {
        return breach("sound", format!("unreadable\n{text}"));
    };
    let found = check(&reading.draft, &options);
    let new: Vec<_> = found.findings.iter().filter(|finding| !known(finding.rule.code)).collect();
    if !new.is_empty() {
        return breach("sound", format!("engine {new:?}\nafter {text}"));
    }
    Ok(())
}

/// A history that is short enough stays unchanged.
fn idempotent(
    format: Format,
    settings: &CompactionSettings,
    summarizer: SummarizerKind,
    compacted: &CompactedText<'_>,
) -> LawVerdict {
    if settings.limits.is_none() {
        return Ok(());
    }
    let (again, summary_count) = attempt(&compacted.text, format, settings, summarizer)?;
    match again {
        Ok(again) if again.text == compacted.text && !again.is_changed() && summary_count == 0 => {
            Ok(())
        }
        Ok(again) => breach("idempotent", format!("once {}\ntwice {}", compacted.text, again.text)),
        Err(error) => breach("idempotent", format!("{error}\nonce {}", compacted.text)),
    }
}

/// Every message that must stay is present.
fn conserving(
    format: Format,
    before: &str,
    settings: &CompactionSettings,
    became: &[MessageSurvival],
) -> LawVerdict {
    let among = |predicate: fn(&CompactionStage) -> bool| settings.stages.iter().any(predicate);
    let window = among(|stage| matches!(stage, CompactionStage::Window(_)));
    let summarize = among(|stage| matches!(stage, CompactionStage::Summarize));
    let drops =
        among(|stage| !matches!(stage, CompactionStage::Elide | CompactionStage::Window(_)));
    let which = RequiredMessages {
        first: window && !drops,
        first_wish: !window && !summarize,
        last_wish: !window,
        everything: settings.stages.iter().all(|stage| *stage == CompactionStage::Elide),
    };
    let mut stay = stays(format.name(), before, which);
    let pins = settings.pins.iter().filter(|pin| **pin < became.len());
    stay.extend(pins.map(|pin| (*pin, "pinned")));
    let missing: Vec<_> =
        stay.iter().filter(|(at, _)| became[*at] == MessageSurvival::Gone).collect();
    if missing.is_empty() { Ok(()) } else { breach("conserving", format!("gone: {missing:?}")) }
}
