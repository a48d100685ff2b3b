//! Compares an output with the laws of its vector.

use crate::{HistoryReading, HistorySide, ItemContent, LawBreach, RepairLaws, SuiteLaw};

/// Texts that are shorter may occur by chance.
const MIN_COUNTED: usize = 12;

/// Which laws an output breaks. A cut may drop what it likes of the past, except for the listed
/// texts.
pub(crate) fn broken_laws(
    laws: &RepairLaws,
    profile: &str,
    input: &HistoryReading,
    output: &HistoryReading,
) -> Vec<LawBreach> {
    let mut breaches = Vec::new();
    texts(laws, input, output, &mut breaches);
    let matches = match_calls(laws, laws.allows_renaming(profile), output, &mut breaches);
    results(laws, input, output, &matches, &mut breaches);
    if !laws.allows_text(profile) {
        invented_texts(input, output, &mut breaches);
    }
    breaches
}

/// The texts of one side, or of all, joined. Instructions may move to another side.
fn side_text(reading: &HistoryReading, side: HistorySide) -> String {
    let texts = reading.texts().filter(|(other, _)| side == HistorySide::System || *other == side);
    texts.map(|(_, text)| text).collect::<Vec<_>>().join("\n")
}

fn texts(
    laws: &RepairLaws,
    input: &HistoryReading,
    output: &HistoryReading,
    breaches: &mut Vec<LawBreach>,
) {
    let (before, after) = (input.all_text(), output.all_text());
    // Order is that of the conversation; instructions may stand anywhere.
    let spoken: String = output
        .texts()
        .filter(|(side, _)| *side != HistorySide::System)
        .map(|(_, text)| format!("{text}\n"))
        .collect();
    let mut position = 0;
    for law in &laws.texts {
        let wanted = laws.texts.iter().filter(|other| *other == law).count();
        let found = side_text(output, law.side).matches(&law.text).count();
        if found < wanted {
            let what = format!("the {} text {} is lost", side_name(law.side), shown(&law.text));
            breaches.push(LawBreach::new(SuiteLaw::Texts, what));
            continue;
        }
        let copies = |text: &str| text.matches(&law.text).count();
        if law.text.len() >= MIN_COUNTED && copies(&after) > copies(&before) {
            let what = format!("the text {} is there more often than before", shown(&law.text));
            breaches.push(LawBreach::new(SuiteLaw::Texts, what));
        }
        if law.side == HistorySide::System {
            continue;
        }
        match spoken.get(position..).and_then(|rest| rest.find(&law.text)) {
            Some(at) => position += at + law.text.len(),
            None => {
                let what = format!("the text {} has another place", shown(&law.text));
                breaches.push(LawBreach::new(SuiteLaw::Order, what));
            }
        }
    }
}

/// For each call of the output the call of the input that it is.
fn match_calls(
    laws: &RepairLaws,
    may_rename: bool,
    output: &HistoryReading,
    breaches: &mut Vec<LawBreach>,
) -> Vec<Option<usize>> {
    let mut used = vec![false; laws.calls.len()];
    let mut matches = Vec::new();
    let mut last = None;
    for item in &output.items {
        let ItemContent::Call { id, name, arguments, .. } = &item.content else { continue };
        let fits = |at: &usize| {
            let law = laws.calls.get(*at);
            !used[*at] && law.is_some_and(|law| law.matches(name.as_deref(), arguments, may_rename))
        };
        let all = || 0..laws.calls.len();
        let same_id = |at: &usize| laws.calls.get(*at).is_some_and(|law| law.id == *id);
        let found = all().filter(fits).find(same_id).or_else(|| all().find(fits));
        matches.push(found);
        let shown_name = name.as_deref().unwrap_or("?");
        let Some(at) = found else {
            let what = format!("the call to `{shown_name}` was not in the input");
            breaches.push(LawBreach::new(SuiteLaw::Invented, what));
            continue;
        };
        used[at] = true;
        if last.is_some_and(|last| at < last) {
            let what = format!("the call to `{shown_name}` has another place");
            breaches.push(LawBreach::new(SuiteLaw::Order, what));
        }
        last = last.max(Some(at));
        let law_id = laws.calls.get(at).and_then(|law| law.id.as_ref());
        if !may_rename && law_id.is_some() && law_id != id.as_ref() {
            let what = format!("the call to `{shown_name}` has another id");
            breaches.push(LawBreach::new(SuiteLaw::Ids, what));
        }
    }
    for (law, _) in laws.calls.iter().zip(&used).filter(|(law, used)| law.stays && !**used) {
        let name = law.name.as_deref().unwrap_or("?");
        let what = format!("the call to `{name}` is lost, though it has a result");
        breaches.push(LawBreach::new(SuiteLaw::Calls, what));
    }
    matches
}

fn results(
    laws: &RepairLaws,
    input: &HistoryReading,
    output: &HistoryReading,
    matches: &[Option<usize>],
    breaches: &mut Vec<LawBreach>,
) {
    let calls = output.items.iter().filter_map(|item| match &item.content {
        ItemContent::Call { result, .. } => Some(result.as_deref()),
        _ => None,
    });
    let results: Vec<(usize, Option<&str>)> =
        matches.iter().zip(calls).filter_map(|(at, result)| Some(((*at)?, result))).collect();
    let (before, after) = (input.all_text(), output.all_text());
    for law in &laws.results {
        // A result that is lost with its call is reported as a lost call.
        if let Some((_, result)) = results.iter().find(|(at, _)| *at == law.call) {
            let text = result.unwrap_or_default();
            if !law.text.lines().all(|line| text.contains(line)) {
                let what = format!("the result {} is not at its call", shown(&law.text));
                breaches.push(LawBreach::new(SuiteLaw::Results, what));
            }
        }
        let copies = |text: &str| text.matches(law.text.as_str()).count();
        if law.text.len() >= MIN_COUNTED && copies(&after) > copies(&before) {
            let what = format!("the result {} is there more often than before", shown(&law.text));
            breaches.push(LawBreach::new(SuiteLaw::Results, what));
        }
    }
}

/// A text that says nothing of the input was written by the engine.
fn invented_texts(input: &HistoryReading, output: &HistoryReading, breaches: &mut Vec<LawBreach>) {
    let known = input.all_text();
    let old: Vec<&str> = known.lines().filter(|line| !line.trim().is_empty()).collect();
    for (_, text) in output.texts().filter(|(_, text)| !text.trim().is_empty()) {
        let is_old = known.contains(text.trim()) || old.iter().any(|line| text.contains(line));
        if !is_old {
            let what = format!("the text {} was not in the input", shown(text));
            breaches.push(LawBreach::new(SuiteLaw::Invented, what));
        }
    }
}

fn side_name(side: HistorySide) -> &'static str {
    match side {
        HistorySide::System => "system",
        HistorySide::User => "user",
        HistorySide::Assistant => "assistant",
    }
}

/// The beginning of a text, quoted.
fn shown(text: &str) -> String {
    let mut short: String = text.chars().take(40).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("`{}`", short.replace('\n', " "))
}
