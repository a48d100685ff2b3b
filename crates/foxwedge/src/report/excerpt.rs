//! The few messages around a finding, with the pair it concerns joined by a rail.
//!
//! Built where the document is at hand, drawn later: it holds short, clean text only, whatever
//! the size of the messages.

use foxwedge_core::{Draft, Fate, Finding, Kind, Pairing, Span};

use super::row::{self, Row};

/// What is drawn of a document.
#[derive(Clone, Debug, Default)]
pub(crate) struct Excerpt {
    pub(crate) lines: Vec<Line>,
}

/// One line of an excerpt.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) rail: Rail,
    pub(crate) kind: LineKind,
}

/// What stands on a line.
#[derive(Clone, Debug)]
pub(crate) enum LineKind {
    /// A message.
    Message(usize, Row),
    /// Messages that are left out.
    Gap(usize),
    /// The half that is not there.
    Absent(String),
}

/// The piece of the rail on a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rail {
    Off,
    Through,
    First(End),
    Middle(End),
    Last(End),
}

/// What the rail joins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Call,
    Answer,
    Nothing,
}

/// A stop of the rail.
struct Stop {
    message: usize,
    end: End,
    /// Stops that are no message stand before or behind one.
    absent: Option<(Side, String)>,
}

impl Stop {
    fn order(&self) -> (usize, u8) {
        let side = match self.absent {
            Some((Side::Before, _)) => 0,
            None => 1,
            Some((Side::Behind, _)) => 2,
        };
        (self.message, side)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    Before,
    Behind,
}

/// The excerpt of a finding.
pub(crate) fn of(draft: &Draft<'_>, pairing: &Pairing, finding: &Finding) -> Excerpt {
    if finding.at.message >= draft.messages.len() {
        return Excerpt::default();
    }
    let focus = part_at(draft, finding.at.message, finding.at.span);
    let mut stops = focus.map(|part| stops(draft, pairing, part)).unwrap_or_default();
    // What is missing is drawn where it is the point: in findings about pairs.
    if finding.rule.code / 100 != 1 {
        stops.retain(|stop| stop.absent.is_none());
    }
    if let Some(partner) = finding.partner
        && !stops.iter().any(|stop| stop.message == partner.message)
    {
        stops.push(Stop { message: partner.message, end: End::Call, absent: None });
    }
    stops.sort_by_key(Stop::order);
    stops.dedup_by_key(|stop| (stop.message, stop.absent.is_some()));
    let second = finding.partner.and_then(|place| part_at(draft, place.message, place.span));
    let marks = row::Marks { whole: focus.is_none().then_some(finding.at.message), focus, second };
    lines(draft, finding.at.message, &stops, &marks)
}

/// The part of a message under a span.
fn part_at(draft: &Draft<'_>, message: usize, span: Span) -> Option<usize> {
    let message = draft.messages.get(message)?;
    let parts = || message.range().zip(draft.parts_of(message));
    let covers = |outer: Span| outer.start <= span.start && span.end <= outer.end;
    parts()
        .find(|(_, part)| part.span == span)
        .or_else(|| parts().find(|(_, part)| !span.is_empty() && covers(part.span)))
        .map(|(index, _)| index)
}

/// Where the rail of a call or an answer stops.
fn stops(draft: &Draft<'_>, pairing: &Pairing, part: usize) -> Vec<Stop> {
    let at = |message, end| Stop { message, end, absent: None };
    if let Ok(index) = pairing.calls.binary_search_by_key(&part, |call| call.part()) {
        let call = pairing.calls[index];
        let other = match call.answer().and_then(|answer| pairing.answers.get(answer)) {
            Some(answer) => at(answer.message(), End::Answer),
            None => no_answer(draft, pairing, index),
        };
        return vec![at(call.message(), End::Call), other];
    }
    let Ok(index) = pairing.answers.binary_search_by_key(&part, |answer| answer.part()) else {
        return Vec::new();
    };
    let answer = pairing.answers[index];
    let mut stops = vec![at(answer.message(), End::Answer)];
    let (call, other) = match answer.fate() {
        Fate::Duplicate(call) => {
            (Some(call), pairing.calls.get(call).and_then(|paired| paired.answer()))
        }
        fate => (fate.call(), None),
    };
    match call.and_then(|call| pairing.calls.get(call)) {
        Some(call) => stops.push(at(call.message(), End::Call)),
        None => {
            let text = format!("no call{}", row::named(" for ", answer_id(draft, part)));
            let absent = Some((Side::Before, text));
            stops.push(Stop { message: answer.message(), end: End::Nothing, absent });
        }
    }
    stops.extend(
        other
            .and_then(|other| pairing.answers.get(other))
            .map(|other| at(other.message(), End::Answer)),
    );
    stops
}

/// The place where the answer of an unanswered call should stand: behind the answers its turn has.
fn no_answer(draft: &Draft<'_>, pairing: &Pairing, index: usize) -> Stop {
    let call = pairing.calls[index];
    let mut message = call.message();
    if let Some(group) = pairing.groups.get(call.group()) {
        message = group.messages().end.saturating_sub(1).max(message);
        let answered = |at: &usize| draft.messages.get(*at).is_some_and(|m| draft.answers_in(m));
        message = group.home().clone().rev().find(answered).unwrap_or(message);
    }
    let id = match draft.parts.get(call.part()).map(|part| &part.kind) {
        Some(Kind::Call(call)) => call.id.as_deref().or(call.name.as_deref()),
        _ => None,
    };
    let text = format!("no answer{}", row::named(" to ", id));
    Stop { message, end: End::Nothing, absent: Some((Side::Behind, text)) }
}

fn answer_id<'d>(draft: &'d Draft<'_>, part: usize) -> Option<&'d str> {
    match &draft.parts.get(part)?.kind {
        Kind::Answer(answer) => answer.id.as_deref().or(answer.tool()),
        _ => None,
    }
}

/// Lays the lines out: every stop with a neighbour on each side, and gaps between.
fn lines(draft: &Draft<'_>, at: usize, stops: &[Stop], marks: &row::Marks) -> Excerpt {
    let last = draft.messages.len().saturating_sub(1);
    let mut shown: Vec<usize> = stops
        .iter()
        .map(|stop| stop.message)
        .chain([at])
        .flat_map(|message| message.saturating_sub(1)..=(message + 1).min(last))
        .collect();
    shown.sort_unstable();
    shown.dedup();
    let mut excerpt = Excerpt::default();
    let mut passed = 0;
    let mut before: Option<usize> = None;
    // A lone stop joins nothing.
    let stops = if stops.len() < 2 { &[] } else { stops };
    for message in shown {
        let hidden = before.map_or(0, |before| message - before - 1);
        if hidden == 1 {
            excerpt.message(draft, message - 1, rail(stops, &mut passed, |_| false), marks);
        } else if hidden > 1 {
            let rail = rail(stops, &mut passed, |_| false);
            excerpt.lines.push(Line { rail, kind: LineKind::Gap(hidden) });
        }
        before = Some(message);
        excerpt.absent(stops, &mut passed, message, Side::Before);
        let here = |stop: &Stop| stop.message == message && stop.absent.is_none();
        excerpt.message(draft, message, rail(stops, &mut passed, here), marks);
        excerpt.absent(stops, &mut passed, message, Side::Behind);
    }
    excerpt
}

impl Excerpt {
    fn message(&mut self, draft: &Draft<'_>, at: usize, rail: Rail, marks: &row::Marks) {
        if let Some(row) = row::of(draft, at, marks) {
            self.lines.push(Line { rail, kind: LineKind::Message(at, row) });
        }
    }

    fn absent(&mut self, stops: &[Stop], passed: &mut usize, message: usize, side: Side) {
        let text = stops.iter().filter(|stop| stop.message == message).find_map(|stop| {
            stop.absent.as_ref().filter(|(where_, _)| *where_ == side).map(|(_, text)| text)
        });
        if let Some(text) = text {
            let rail = rail(stops, passed, |stop| stop.absent.is_some());
            self.lines.push(Line { rail, kind: LineKind::Absent(text.clone()) });
        }
    }
}

/// The rail on the next line: a stop if it is here, else whatever leads to the next one.
fn rail(stops: &[Stop], passed: &mut usize, is_here: impl Fn(&Stop) -> bool) -> Rail {
    match stops.get(*passed) {
        Some(stop) if is_here(stop) => {
            *passed += 1;
            match *passed {
                1 => Rail::First(stop.end),
                passed if passed == stops.len() => Rail::Last(stop.end),
                _ => Rail::Middle(stop.end),
            }
        }
        Some(_) if *passed > 0 => Rail::Through,
        _ => Rail::Off,
    }
}
