//! The messages around a finding. A rail joins the call and the result that it is about.
//!
//! An excerpt is built while the document is in memory and drawn later. It holds only short, clean
//! text, whatever the size of the messages.

use foxwedge_core::{CallPairing, Draft, Finding, PartKind, ResultMatch, Span};

use crate::message_row::{self, MessageRow};

/// The lines drawn for a finding.
#[derive(Clone, Debug, Default)]
pub struct FindingExcerpt {
    /// The lines, from top to bottom.
    pub lines: Vec<ExcerptLine>,
}

/// One line of an excerpt.
#[derive(Clone, Debug)]
pub struct ExcerptLine {
    /// The rail on this line.
    pub rail: ExcerptRail,
    /// The content.
    pub kind: ExcerptLineKind,
}

/// Content of a line.
#[derive(Clone, Debug)]
pub enum ExcerptLineKind {
    /// A message.
    Message(usize, MessageRow),
    /// Number of messages left out.
    Gap(usize),
    /// Text for the missing call or result.
    Absent(String),
}

/// The segment of the rail on a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExcerptRail {
    /// No rail.
    Off,
    /// The rail passes this line.
    Through,
    /// The rail begins here.
    First(RailEnd),
    /// The rail has a branch here.
    Middle(RailEnd),
    /// The rail ends here.
    Last(RailEnd),
}

/// What the rail points to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RailEnd {
    /// A call.
    Call,
    /// A result.
    Answer,
    /// A missing call or result.
    Nothing,
}

/// A line where the rail has an end.
struct RailStop {
    message: usize,
    end: RailEnd,
    /// Text for a missing call or result, and its side of the message.
    absent: Option<(AbsentSide, String)>,
}

impl RailStop {
    fn order(&self) -> (usize, u8) {
        let side = match self.absent {
            Some((AbsentSide::Before, _)) => 0,
            None => 1,
            Some((AbsentSide::After, _)) => 2,
        };
        (self.message, side)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AbsentSide {
    Before,
    After,
}

/// The excerpt of a finding.
pub fn of(draft: &Draft<'_>, pairing: &CallPairing, finding: &Finding) -> FindingExcerpt {
    if finding.location.message >= draft.messages.len() {
        return FindingExcerpt::default();
    }
    let focus = part_at(draft, finding.location.message, finding.location.span);
    let mut stops = focus.map(|part| stops(draft, pairing, part)).unwrap_or_default();
    // Only findings about pairs (FW1xx) show what is missing.
    if finding.rule.code / 100 != 1 {
        stops.retain(|stop| stop.absent.is_none());
    }
    if let Some(partner) = finding.partner
        && !stops.iter().any(|stop| stop.message == partner.message)
    {
        stops.push(RailStop { message: partner.message, end: RailEnd::Call, absent: None });
    }
    stops.sort_by_key(RailStop::order);
    stops.dedup_by_key(|stop| (stop.message, stop.absent.is_some()));
    let second = finding.partner.and_then(|place| part_at(draft, place.message, place.span));
    let marks = message_row::ExcerptMarks {
        whole: focus.is_none().then_some(finding.location.message),
        focus,
        second,
    };
    lay_out_lines(draft, finding.location.message, &stops, &marks)
}

/// The part of a message that covers a span.
fn part_at(draft: &Draft<'_>, message: usize, span: Span) -> Option<usize> {
    let message = draft.messages.get(message)?;
    let parts = || message.range().zip(draft.parts_of(message));
    let covers = |outer: Span| outer.start <= span.start && span.end <= outer.end;
    parts()
        .find(|(_, part)| part.span == span)
        .or_else(|| parts().find(|(_, part)| !span.is_empty() && covers(part.span)))
        .map(|(index, _)| index)
}

/// The stops of the rail of a call or a result.
fn stops(draft: &Draft<'_>, pairing: &CallPairing, part: usize) -> Vec<RailStop> {
    let at = |message, end| RailStop { message, end, absent: None };
    if let Ok(index) = pairing.calls.binary_search_by_key(&part, |call| call.part()) {
        let call = pairing.calls[index];
        let other = match call.answer().and_then(|answer| pairing.answers.get(answer)) {
            Some(answer) => at(answer.message(), RailEnd::Answer),
            None => no_answer(draft, pairing, index),
        };
        return vec![at(call.message(), RailEnd::Call), other];
    }
    let Ok(index) = pairing.answers.binary_search_by_key(&part, |answer| answer.part()) else {
        return Vec::new();
    };
    let answer = pairing.answers[index];
    let mut stops = vec![at(answer.message(), RailEnd::Answer)];
    let (call, other) = match answer.result_match() {
        ResultMatch::Duplicate(call) => {
            (Some(call), pairing.calls.get(call).and_then(|paired| paired.answer()))
        }
        result_match => (result_match.call(), None),
    };
    match call.and_then(|call| pairing.calls.get(call)) {
        Some(call) => stops.push(at(call.message(), RailEnd::Call)),
        None => {
            let text =
                format!("no call{}", message_row::prefixed_name(" for ", answer_id(draft, part)));
            let absent = Some((AbsentSide::Before, text));
            stops.push(RailStop { message: answer.message(), end: RailEnd::Nothing, absent });
        }
    }
    stops.extend(
        other
            .and_then(|other| pairing.answers.get(other))
            .map(|other| at(other.message(), RailEnd::Answer)),
    );
    stops
}

/// The stop for a missing result: after the other results of the same turn.
fn no_answer(draft: &Draft<'_>, pairing: &CallPairing, index: usize) -> RailStop {
    let call = pairing.calls[index];
    let mut message = call.message();
    if let Some(group) = pairing.turns.get(call.turn()) {
        message = group.messages().end.saturating_sub(1).max(message);
        let answered = |at: &usize| draft.messages.get(*at).is_some_and(|m| draft.has_answers(m));
        message = group.home().clone().rev().find(answered).unwrap_or(message);
    }
    let id = match draft.parts.get(call.part()).map(|part| &part.kind) {
        Some(PartKind::Call(call)) => call.id.as_deref().or(call.name.as_deref()),
        _ => None,
    };
    let text = format!("no result{}", message_row::prefixed_name(" for ", id));
    RailStop { message, end: RailEnd::Nothing, absent: Some((AbsentSide::After, text)) }
}

fn answer_id<'d>(draft: &'d Draft<'_>, part: usize) -> Option<&'d str> {
    match &draft.parts.get(part)?.kind {
        PartKind::Answer(answer) => answer.id.as_deref().or(answer.tool()),
        _ => None,
    }
}

/// Lays out the lines: every stop with one message before and after it, and gaps in between.
fn lay_out_lines(
    draft: &Draft<'_>,
    at: usize,
    stops: &[RailStop],
    marks: &message_row::ExcerptMarks,
) -> FindingExcerpt {
    let last = draft.messages.len().saturating_sub(1);
    let mut shown: Vec<usize> = stops
        .iter()
        .map(|stop| stop.message)
        .chain([at])
        .flat_map(|message| message.saturating_sub(1)..=(message + 1).min(last))
        .collect();
    shown.sort_unstable();
    shown.dedup();
    let mut excerpt = FindingExcerpt::default();
    let mut passed = 0;
    let mut before: Option<usize> = None;
    // A single stop has nothing to join.
    let stops = if stops.len() < 2 { &[] } else { stops };
    for message in shown {
        let hidden = before.map_or(0, |before| message - before - 1);
        if hidden == 1 {
            excerpt.push_message(
                draft,
                message - 1,
                next_rail(stops, &mut passed, |_| false),
                marks,
            );
        } else if hidden > 1 {
            let rail = next_rail(stops, &mut passed, |_| false);
            excerpt.lines.push(ExcerptLine { rail, kind: ExcerptLineKind::Gap(hidden) });
        }
        before = Some(message);
        excerpt.push_absent(stops, &mut passed, message, AbsentSide::Before);
        let here = |stop: &RailStop| stop.message == message && stop.absent.is_none();
        excerpt.push_message(draft, message, next_rail(stops, &mut passed, here), marks);
        excerpt.push_absent(stops, &mut passed, message, AbsentSide::After);
    }
    excerpt
}

impl FindingExcerpt {
    fn push_message(
        &mut self,
        draft: &Draft<'_>,
        at: usize,
        rail: ExcerptRail,
        marks: &message_row::ExcerptMarks,
    ) {
        if let Some(row) = message_row::of(draft, at, marks) {
            self.lines.push(ExcerptLine { rail, kind: ExcerptLineKind::Message(at, row) });
        }
    }

    fn push_absent(
        &mut self,
        stops: &[RailStop],
        passed: &mut usize,
        message: usize,
        side: AbsentSide,
    ) {
        let text = stops.iter().filter(|stop| stop.message == message).find_map(|stop| {
            stop.absent
                .as_ref()
                .filter(|(absent_side, _)| *absent_side == side)
                .map(|(_, text)| text)
        });
        if let Some(text) = text {
            let rail = next_rail(stops, passed, |stop| stop.absent.is_some());
            self.lines.push(ExcerptLine { rail, kind: ExcerptLineKind::Absent(text.clone()) });
        }
    }
}

/// The rail on the next line: the next stop if it is here, else the line that leads to it.
fn next_rail(
    stops: &[RailStop],
    passed: &mut usize,
    is_here: impl Fn(&RailStop) -> bool,
) -> ExcerptRail {
    match stops.get(*passed) {
        Some(stop) if is_here(stop) => {
            *passed += 1;
            match *passed {
                1 => ExcerptRail::First(stop.end),
                passed if passed == stops.len() => ExcerptRail::Last(stop.end),
                _ => ExcerptRail::Middle(stop.end),
            }
        }
        Some(_) if *passed > 0 => ExcerptRail::Through,
        _ => ExcerptRail::Off,
    }
}
