//! The laws of a vector. They start as strict as the input allows, and are relaxed where no repair can keep them: what a
//! provider does not accept in any form has to go, and what roles demand has to be written.

use foxwedge_suite::{
    CallLaw, EngineAnswer, HistorySide, LawBreach, ReferenceEngine, RepairLaws, SideText,
    SuiteEngine as _, SuiteLaw, SuiteQuestion, SuiteTrack, SuiteVector, SuiteVerdict, judge_answer,
};
use serde_json::Value;

/// The laws of a recorded stream, from what it is known to say.
pub(super) fn of_stream(expected: &str) -> Result<RepairLaws, String> {
    let expected: Value = serde_json::from_str(expected).map_err(|error| error.to_string())?;
    let text = expected["text"].as_str().unwrap_or_default().trim().to_owned();
    let texts = if text.is_empty() {
        Vec::new()
    } else {
        vec![SideText { side: HistorySide::Assistant, text }]
    };
    let calls =
        expected["calls"].as_array().map_or(&[][..], Vec::as_slice).iter().map(|call| CallLaw {
            id: call["id"].as_str().map(str::to_owned),
            name: call["name"].as_str().map(str::to_owned),
            arguments: call.get("arguments").cloned().unwrap_or_default(),
            stays: true,
        });
    Ok(RepairLaws { texts, calls: calls.collect(), ..RepairLaws::default() })
}

/// A cut keeps the instructions and the last request; everything else may go.
pub(super) fn for_cut(laws: &mut RepairLaws) {
    let last = laws.texts.iter().rposition(|text| text.side == HistorySide::User);
    let texts = std::mem::take(&mut laws.texts);
    for (at, text) in texts.into_iter().enumerate() {
        if text.side == HistorySide::System || Some(at) == last {
            laws.texts.push(text);
        } else {
            laws.may_go.push(text.text);
        }
    }
    laws.calls.iter_mut().for_each(|call| call.stays = false);
    laws.may_go.extend(laws.results.drain(..).map(|result| result.text));
}

/// Relaxes laws that our own engine cannot keep, and drops what it cannot do at all. Every step is noted for review.
pub(super) fn relax(vector: &mut SuiteVector) -> Vec<String> {
    let mut notes = Vec::new();
    if vector.tracks == [SuiteTrack::Cut] {
        tighten_cut(vector, &mut notes);
    }
    let tracks: Vec<SuiteTrack> =
        vector.tracks.iter().copied().filter(|track| *track != SuiteTrack::Validate).collect();
    for track in tracks {
        let profiles: Vec<String> = vector.verdicts.keys().cloned().collect();
        for profile in profiles {
            relax_for(vector, track, &profile, &mut notes);
        }
    }
    if vector.tracks.contains(&SuiteTrack::Repair)
        && vector.verdicts.values().all(|known| known.needs_decision)
    {
        vector.tracks = vec![SuiteTrack::Validate];
    }
    if vector.tracks == [SuiteTrack::Validate] {
        vector.laws = None;
    }
    let judged = vector
        .verdicts
        .values()
        .any(|known| matches!(known.verdict, SuiteVerdict::Invalid | SuiteVerdict::Acceptable));
    if vector.tracks.contains(&SuiteTrack::Repair) && !judged {
        vector.laws = None;
    }
    notes
}

fn relax_for(vector: &mut SuiteVector, track: SuiteTrack, profile: &str, notes: &mut Vec<String>) {
    for _ in 0..8 {
        let breaches = breaches(vector, track, profile);
        let Some(breach) = breaches.first() else { return };
        let Some(laws) = &mut vector.laws else { return };
        let mut changed = false;
        match breach.law {
            SuiteLaw::Invented if !laws.allows_text(profile) => {
                laws.may_write.push(profile.to_owned());
                changed = true;
            }
            SuiteLaw::Ids | SuiteLaw::Invented | SuiteLaw::Calls
                if !laws.allows_renaming(profile) =>
            {
                laws.may_rename.push(profile.to_owned());
                changed = true;
            }
            SuiteLaw::Texts
            | SuiteLaw::Results
            | SuiteLaw::Calls
            | SuiteLaw::Invented
            | SuiteLaw::Order => {
                changed = relax_elements(vector, track, profile, breach.law);
            }
            _ => {}
        }
        notes.push(format!("{} {profile}: {}: {}", track.name(), breach.law.name(), breach.what));
        if !changed {
            // No repair by default: a decision of the user is needed, or the format cannot say it.
            let others = vector.verdicts.len() > 1;
            match vector.verdicts.get_mut(profile) {
                Some(known) if track == SuiteTrack::Repair => known.needs_decision = true,
                _ if others => {
                    vector.verdicts.remove(profile);
                    vector.evidence.retain(|evidence| evidence.profile != profile);
                }
                _ => vector.tracks.retain(|other| *other != track),
            }
            notes.push(format!("{} {profile}: not asked", track.name()));
            return;
        }
    }
    notes.push(format!("{} {profile}: gave up", track.name()));
    if let Some(known) = vector.verdicts.get_mut(profile) {
        known.needs_decision = true;
    }
}

/// Moves single texts, results and calls to what may go, if they are what our engine does not keep.
fn relax_elements(
    vector: &mut SuiteVector,
    track: SuiteTrack,
    profile: &str,
    law: SuiteLaw,
) -> bool {
    let Some(laws) = vector.laws.clone() else { return false };
    let broken = |laws: RepairLaws| {
        let trial = SuiteVector { laws: Some(laws), ..vector.clone() };
        breaches(&trial, track, profile).iter().any(|breach| breach.law == law)
    };
    let mut relaxed = laws.clone();
    for at in (0..laws.texts.len()).rev() {
        let only =
            RepairLaws { texts: vec![laws.texts[at].clone()], results: Vec::new(), ..laws.clone() };
        if matches!(law, SuiteLaw::Texts | SuiteLaw::Order) && broken(only) {
            // A text whose role nobody knows may belong to the model.
            let moved = SideText { side: HistorySide::Assistant, ..laws.texts[at].clone() };
            let other_side =
                RepairLaws { texts: vec![moved.clone()], results: Vec::new(), ..laws.clone() };
            if broken(other_side) {
                relaxed.may_go.push(relaxed.texts.remove(at).text);
            } else {
                relaxed.texts[at] = moved;
            }
        }
    }
    for at in (0..laws.results.len()).rev() {
        let only = RepairLaws {
            texts: Vec::new(),
            results: vec![laws.results[at].clone()],
            ..laws.clone()
        };
        if law == SuiteLaw::Results && broken(only) {
            let result = relaxed.results.remove(at);
            relaxed.may_go.push(result.text);
        }
    }
    for at in 0..laws.calls.len() {
        let mut only = laws.clone();
        only.calls.iter_mut().enumerate().for_each(|(other, call)| call.stays = other == at);
        if law == SuiteLaw::Calls && laws.calls[at].stays && broken(only) {
            relaxed.calls[at].stays = false;
        }
    }
    let changed = relaxed != laws;
    vector.laws = Some(relaxed);
    changed
}

fn breaches(vector: &SuiteVector, track: SuiteTrack, profile: &str) -> Vec<LawBreach> {
    let known = vector.verdicts.get(profile).map(|known| known.verdict);
    if known.is_none() || known == Some(SuiteVerdict::Unknown) {
        return Vec::new();
    }
    let question = SuiteQuestion::new(vector, track, profile);
    let reply = ReferenceEngine.ask(&question);
    match &reply.answer {
        EngineAnswer::Skip(why) => vec![LawBreach::new(SuiteLaw::Answer, why.clone())],
        answer => judge_answer(vector, &question, answer, &mut ReferenceEngine),
    }
}

/// Asks for the fewest messages that our engine can reach, and one more than that where a cut that does not look at pairs
/// would go through one.
fn tighten_cut(vector: &mut SuiteVector, notes: &mut Vec<String>) {
    let Some(all) = vector.keep else { return };
    let Some(profile) = vector.verdicts.keys().next().cloned() else { return };
    let reachable = |keep: usize| {
        let trial = SuiteVector { keep: Some(keep), ..vector.clone() };
        let laws = ["shorter", "answer", "valid", "texts"];
        !breaches(&trial, SuiteTrack::Cut, &profile).iter().any(|it| laws.contains(&it.law.name()))
    };
    // A suffix that starts inside a pair shows more than any other.
    let splits = |keep: usize| {
        let list: Vec<Value> = serde_json::from_str(&vector.input).unwrap_or_default();
        let first = list.get(all - keep).map(Value::to_string).unwrap_or_default();
        ["\"tool\"", "tool_result", "toolResult", "functionResponse", "_output", "function_result"]
            .iter()
            .any(|word| first.contains(word))
    };
    let candidates: Vec<usize> = (2..all).filter(|keep| reachable(*keep)).collect();
    // Two results in a row: an engine that drops only the first one is still wrong.
    let best = candidates
        .iter()
        .find(|&&keep| splits(keep) && splits(keep - 1))
        .or_else(|| candidates.iter().find(|&&keep| splits(keep)))
        .or(candidates.first());
    match best {
        Some(keep) => vector.keep = Some(*keep),
        None => {
            notes.push("cut: nothing to reach".to_owned());
            vector.tracks.clear();
        }
    }
}
