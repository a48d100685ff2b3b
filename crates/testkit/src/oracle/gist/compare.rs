//! Compares the content of two documents, except for known losses.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::super::inventory::all_text;
use super::{Beat, DocumentGist, GistResult, GistSide, GistThought};

/// An aspect of the content that a conversion can lose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GistFacet {
    /// The ids of calls.
    Ids,
    /// The names of tools.
    Names,
    /// That texts in the middle of a conversation are instructions and not user texts.
    Sides,
    /// The arguments of calls.
    Arguments,
    /// That a result is an error.
    ErrorMarks,
    /// Images, files and audio.
    Media,
    /// Reasoning.
    Thoughts,
    /// Signatures. They are only counted.
    Seals,
    /// That a text is a refusal.
    Refusals,
    /// Elements that only one format has.
    Others,
    /// Cache marks. They are only counted.
    CacheMarks,
    /// Citations. They are only counted.
    Citations,
    /// Whether assistant text is before or after a call, between two user texts. It is removed
    /// last, after the sides are known.
    Order,
}

impl DocumentGist {
    /// The same content without one aspect.
    pub fn without(mut self, facet: GistFacet) -> DocumentGist {
        match facet {
            GistFacet::Thoughts => self.thoughts.clear(),
            GistFacet::Seals => self.seals.clear(),
            GistFacet::CacheMarks => self.cache_marks = 0,
            GistFacet::Citations => self.cited = 0,
            GistFacet::Media => self.beats.retain(|beat| !matches!(beat, Beat::Media { .. })),
            GistFacet::Others => self.beats.retain(|beat| !matches!(beat, Beat::Other(_))),
            GistFacet::Order => self.order(),
            GistFacet::Sides => self.sides(),
            GistFacet::Ids
            | GistFacet::Names
            | GistFacet::Arguments
            | GistFacet::ErrorMarks
            | GistFacet::Refusals => {}
        }
        for beat in &mut self.beats {
            match (beat, facet) {
                (Beat::Text { refusal, .. }, GistFacet::Refusals) => *refusal = false,
                (Beat::Call(call), GistFacet::Names) => call.name.clear(),
                (Beat::Call(call), GistFacet::Arguments) => call.arguments = Value::Null,
                (Beat::Call(call), _) => {
                    if facet == GistFacet::Ids {
                        call.id = None;
                    }
                    call.answer.iter_mut().for_each(|answer| answer.forget(facet));
                }
                (Beat::Text { .. } | Beat::Media { .. } | Beat::Other(_), _) => {}
            }
        }
        self.join();
        self
    }

    /// Joins adjacent texts.
    pub(super) fn join(&mut self) {
        let mut joined: Vec<Beat> = Vec::with_capacity(self.beats.len());
        for beat in self.beats.drain(..) {
            match (joined.last_mut(), beat) {
                (
                    Some(Beat::Text { side, text, refusal }),
                    Beat::Text { side: also, text: next, refusal: declines },
                ) if *side == also && *refusal == declines => {
                    text.push('\n');
                    text.push_str(&next);
                }
                (_, beat) => joined.push(beat),
            }
        }
        self.beats = joined;
    }

    /// Within a stretch, moves refusals after the texts, and calls after everything else.
    fn order(&mut self) {
        let mut rest = self.beats.as_mut_slice();
        while let Some(first) = rest.iter().position(|beat| beat.side() == GistSide::Assistant) {
            let (_, from) = rest.split_at_mut(first);
            let length = from.iter().take_while(|beat| beat.side() == GistSide::Assistant).count();
            let (stretch, behind) = from.split_at_mut(length);
            stretch.sort_by_key(|beat| (matches!(beat, Beat::Call(_)), is_refusal(beat)));
            rest = behind;
        }
    }

    /// Turns instructions that are not at the beginning into user texts.
    fn sides(&mut self) {
        let leads =
            |beat: &&Beat| beat.side() == GistSide::Instructions || matches!(beat, Beat::Other(_));
        let lead = self.beats.iter().take_while(leads).count();
        let lead = if self.leads { lead } else { 0 };
        for beat in self.beats.iter_mut().skip(lead) {
            if let Beat::Text { side, .. } | Beat::Media { side, .. } = beat
                && *side == GistSide::Instructions
            {
                *side = GistSide::User;
            }
        }
    }
}

impl GistResult {
    fn forget(&mut self, facet: GistFacet) {
        match facet {
            GistFacet::ErrorMarks => self.error = false,
            GistFacet::Media => self.media.clear(),
            _ => {}
        }
    }
}

/// Describes the first difference. Aspects that are only counted are ignored.
pub fn difference(before: &DocumentGist, after: &DocumentGist) -> Option<String> {
    let length = before.beats.len().max(after.beats.len());
    for at in 0..length {
        let (old, new) = (before.beats.get(at), after.beats.get(at));
        if old != new {
            return Some(format!("beat {at}\n  was {old:?}\n  is  {new:?}"));
        }
    }
    let (old, new) = (by_stretch(&before.thoughts), by_stretch(&after.thoughts));
    (old != new).then(|| format!("thoughts\n  were {old:?}\n  are  {new:?}"))
}

fn by_stretch(thoughts: &[GistThought]) -> BTreeMap<usize, String> {
    let mut all: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for thought in thoughts.iter().filter(|thought| !thought.text.is_empty()) {
        all.entry(thought.stretch).or_default().push(&thought.text);
    }
    all.into_iter().map(|(stretch, texts)| (stretch, texts.join("\n\n"))).collect()
}

/// How many countable elements of an aspect are missing.
pub fn missing(before: &DocumentGist, after: &DocumentGist, facet: GistFacet) -> usize {
    let fewer = |count: fn(&DocumentGist) -> usize| count(before).saturating_sub(count(after));
    match facet {
        GistFacet::ErrorMarks => fewer(|gist| answers(gist).filter(|answer| answer.error).count()),
        GistFacet::Media => {
            let mut left = after.shown();
            let mut removed = 0;
            for media in before.shown() {
                match left.iter().position(|other| *other == media) {
                    Some(at) => drop(left.swap_remove(at)),
                    None => removed += 1,
                }
            }
            removed
        }
        // Chat joins several into one, so they are counted by stretch.
        GistFacet::Thoughts => {
            let is_kept = |thought: &GistThought| match thought.text.is_empty() {
                true => after.thoughts.iter().any(|other| other.seal == thought.seal),
                false => after.thoughts.iter().any(|other| other.text.contains(&thought.text)),
            };
            let removed = before.thoughts.iter().filter(|thought| !is_kept(thought));
            removed.map(|thought| thought.stretch).collect::<BTreeSet<_>>().len()
        }
        GistFacet::Seals => before.seals.iter().filter(|seal| !after.seals.contains(seal)).count(),
        GistFacet::Refusals => {
            fewer(|gist| gist.beats.iter().filter(|beat| is_refusal(beat)).count())
        }
        GistFacet::Others => {
            fewer(|gist| gist.beats.iter().filter(|beat| matches!(beat, Beat::Other(_))).count())
        }
        GistFacet::CacheMarks => fewer(|gist| gist.cache_marks),
        GistFacet::Citations => fewer(|gist| gist.cited),
        GistFacet::Arguments => {
            let calls = before.calls().zip(after.calls());
            calls.filter(|(old, new)| old.arguments != new.arguments).count()
        }
        GistFacet::Ids | GistFacet::Names | GistFacet::Sides | GistFacet::Order => 0,
    }
}

fn answers(gist: &DocumentGist) -> impl Iterator<Item = &GistResult> {
    gist.calls().filter_map(|call| call.answer.as_ref())
}

fn is_refusal(beat: &Beat) -> bool {
    matches!(beat, Beat::Text { refusal: true, .. })
}

/// The lines of texts and results that a document does not contain in any form. If a result is
/// JSON, every string of it must be present.
pub fn unsaid(before: &DocumentGist, after: &Value) -> Vec<String> {
    let after_text = everything(after);
    let mut wanted: Vec<String> = Vec::new();
    for beat in &before.beats {
        if let Beat::Text { text, .. } = beat {
            wanted.extend(text.lines().map(str::to_owned));
        }
    }
    for answer in answers(before).chain(&before.orphans) {
        // The whole result may be JSON, or one line of it.
        match serde_json::from_str::<Value>(&answer.text) {
            Ok(value) => wanted.extend(all_text(&value).lines().map(str::to_owned)),
            Err(_) => wanted.extend(answer.text.lines().flat_map(spoken)),
        }
    }
    // A name is before its document, or next to it.
    wanted.retain(|line| !after_text.contains(line.trim().trim_end_matches(':')));
    wanted
}

/// A line, or its strings if it is JSON.
fn spoken(line: &str) -> Vec<String> {
    match serde_json::from_str::<Value>(line) {
        Ok(value) => all_text(&value).lines().map(str::to_owned).collect(),
        Err(_) => vec![line.to_owned()],
    }
}

/// Every string of a document, and the strings of JSON inside of strings.
fn everything(document: &Value) -> String {
    fn look(value: &Value, all: &mut String) {
        match value {
            Value::String(text) => {
                all.push_str(text);
                all.push('\n');
                let starts = text.match_indices(['{', '[', '"']).map(|(at, _)| at);
                let lines = starts.filter(|at| *at == 0 || text[..*at].ends_with('\n'));
                for json_text in lines.filter_map(|at| text.get(at..)) {
                    let mut values =
                        serde_json::Deserializer::from_str(json_text).into_iter::<Value>();
                    let inside = values.next().into_iter().flatten();
                    inside
                        .filter(|inside| inside.as_str() != Some(text))
                        .for_each(|inside| look(&inside, all));
                }
            }
            Value::Array(list) => list.iter().for_each(|value| look(value, all)),
            Value::Object(fields) => fields.values().for_each(|value| look(value, all)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let mut all = String::new();
    look(document, &mut all);
    all
}
