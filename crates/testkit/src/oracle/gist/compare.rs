//! Whether two documents say the same, up to what is known to be lost.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::super::inventory::all_text;
use super::{Answer, Beat, Gist, Side, Thought};

/// Something that a document can lose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Facet {
    /// The ids of calls.
    Ids,
    /// The names of tools.
    Names,
    /// That words in the middle of a conversation are instructions, and no words of the user.
    Sides,
    /// What a tool gets.
    Arguments,
    /// That an answer is a failure.
    ErrorMarks,
    /// Images, files, sounds.
    Media,
    /// Reasoning.
    Thoughts,
    /// Signatures. They are only counted.
    Seals,
    /// That a text is a refusal.
    Refusals,
    /// What only one format knows.
    Others,
    /// Where the prompt is cached. Only counted.
    CacheMarks,
    /// Where a text comes from. Only counted.
    Citations,
    /// Whether the assistant spoke before or behind a call, between two words of the user. It is
    /// forgotten last, when it is known who speaks.
    Order,
}

impl Gist {
    /// The same without something that is lost.
    pub fn without(mut self, facet: Facet) -> Gist {
        match facet {
            Facet::Thoughts => self.thoughts.clear(),
            Facet::Seals => self.seals.clear(),
            Facet::CacheMarks => self.cache_marks = 0,
            Facet::Citations => self.cited = 0,
            Facet::Media => self.beats.retain(|beat| !matches!(beat, Beat::Media { .. })),
            Facet::Others => self.beats.retain(|beat| !matches!(beat, Beat::Other(_))),
            Facet::Order => self.order(),
            Facet::Sides => self.sides(),
            Facet::Ids | Facet::Names | Facet::Arguments | Facet::ErrorMarks | Facet::Refusals => {}
        }
        for beat in &mut self.beats {
            match (beat, facet) {
                (Beat::Text { refusal, .. }, Facet::Refusals) => *refusal = false,
                (Beat::Call(call), Facet::Names) => call.name.clear(),
                (Beat::Call(call), Facet::Arguments) => call.arguments = Value::Null,
                (Beat::Call(call), _) => {
                    if facet == Facet::Ids {
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

    /// Makes one text of neighbours.
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

    /// Puts the refusals of a stretch behind its words, and its calls behind everything else.
    fn order(&mut self) {
        let mut rest = self.beats.as_mut_slice();
        while let Some(first) = rest.iter().position(|beat| beat.side() == Side::Assistant) {
            let (_, from) = rest.split_at_mut(first);
            let length = from.iter().take_while(|beat| beat.side() == Side::Assistant).count();
            let (stretch, behind) = from.split_at_mut(length);
            stretch.sort_by_key(|beat| (matches!(beat, Beat::Call(_)), is_refusal(beat)));
            rest = behind;
        }
    }

    /// Lets the user tell the instructions that do not stand at the beginning.
    fn sides(&mut self) {
        let leads = |beat: &&Beat| beat.side() == Side::Instructions;
        let lead = self.beats.iter().take_while(leads).count();
        let lead = if self.leads { lead } else { 0 };
        for beat in self.beats.iter_mut().skip(lead) {
            if let Beat::Text { side, .. } | Beat::Media { side, .. } = beat
                && *side == Side::Instructions
            {
                *side = Side::User;
            }
        }
    }
}

impl Answer {
    fn forget(&mut self, facet: Facet) {
        match facet {
            Facet::ErrorMarks => self.error = false,
            Facet::Media => self.media.clear(),
            _ => {}
        }
    }
}

/// The first thing that is not the same, in words; what is only counted does not count here.
pub fn difference(before: &Gist, after: &Gist) -> Option<String> {
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

fn by_stretch(thoughts: &[Thought]) -> BTreeMap<usize, String> {
    let mut all: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for thought in thoughts.iter().filter(|thought| !thought.text.is_empty()) {
        all.entry(thought.stretch).or_default().push(&thought.text);
    }
    all.into_iter().map(|(stretch, texts)| (stretch, texts.join("\n\n"))).collect()
}

/// How many of the things that can be counted are gone.
pub fn missing(before: &Gist, after: &Gist, facet: Facet) -> usize {
    let fewer = |count: fn(&Gist) -> usize| count(before).saturating_sub(count(after));
    match facet {
        Facet::ErrorMarks => fewer(|gist| answers(gist).filter(|answer| answer.error).count()),
        Facet::Media => {
            let mut left = after.shown();
            let mut gone = 0;
            for media in before.shown() {
                match left.iter().position(|other| *other == media) {
                    Some(at) => drop(left.swap_remove(at)),
                    None => gone += 1,
                }
            }
            gone
        }
        // Chat makes one of several; so they are counted by the stretch.
        Facet::Thoughts => {
            let told = |thought: &Thought| match thought.text.is_empty() {
                true => after.thoughts.iter().any(|other| other.seal == thought.seal),
                false => after.thoughts.iter().any(|other| other.text.contains(&thought.text)),
            };
            let gone = before.thoughts.iter().filter(|thought| !told(thought));
            gone.map(|thought| thought.stretch).collect::<BTreeSet<_>>().len()
        }
        Facet::Seals => before.seals.iter().filter(|seal| !after.seals.contains(seal)).count(),
        Facet::Refusals => fewer(|gist| gist.beats.iter().filter(|beat| is_refusal(beat)).count()),
        Facet::Others => {
            fewer(|gist| gist.beats.iter().filter(|beat| matches!(beat, Beat::Other(_))).count())
        }
        Facet::CacheMarks => fewer(|gist| gist.cache_marks),
        Facet::Citations => fewer(|gist| gist.cited),
        Facet::Arguments => {
            let calls = before.calls().zip(after.calls());
            calls.filter(|(old, new)| old.arguments != new.arguments).count()
        }
        Facet::Ids | Facet::Names | Facet::Sides | Facet::Order => 0,
    }
}

fn answers(gist: &Gist) -> impl Iterator<Item = &Answer> {
    gist.calls().filter_map(|call| call.answer.as_ref())
}

fn is_refusal(beat: &Beat) -> bool {
    matches!(beat, Beat::Text { refusal: true, .. })
}

/// The lines of texts and answers that a document does not hold anywhere, in whatever form. Of an
/// answer that is JSON, every string has to be there.
pub fn unsaid(before: &Gist, after: &Value) -> Vec<String> {
    let kept = everything(after);
    let mut wanted: Vec<String> = Vec::new();
    for beat in &before.beats {
        if let Beat::Text { text, .. } = beat {
            wanted.extend(text.lines().map(str::to_owned));
        }
    }
    for answer in answers(before).chain(&before.orphans) {
        // The whole answer may be JSON, or one line of it.
        match serde_json::from_str::<Value>(&answer.text) {
            Ok(value) => wanted.extend(all_text(&value).lines().map(str::to_owned)),
            Err(_) => wanted.extend(answer.text.lines().flat_map(spoken)),
        }
    }
    // A name stands in front of its document, or beside it.
    wanted.retain(|line| !kept.contains(line.trim().trim_end_matches(':')));
    wanted
}

/// A line, or the strings of it if it is JSON.
fn spoken(line: &str) -> Vec<String> {
    match serde_json::from_str::<Value>(line) {
        Ok(value) => all_text(&value).lines().map(str::to_owned).collect(),
        Err(_) => vec![line.to_owned()],
    }
}

/// Every string of a document, and the strings of JSON that is told inside of a string.
fn everything(document: &Value) -> String {
    fn look(value: &Value, all: &mut String) {
        match value {
            Value::String(text) => {
                all.push_str(text);
                all.push('\n');
                let starts = text.match_indices(['{', '[', '"']).map(|(at, _)| at);
                let lines = starts.filter(|at| *at == 0 || text[..*at].ends_with('\n'));
                for told in lines.filter_map(|at| text.get(at..)) {
                    let mut values = serde_json::Deserializer::from_str(told).into_iter::<Value>();
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
