//! The calls of a turn that have no result yet. A turn may have as many calls as the file has
//! lines, so all of them are indexed. For stores that keep a result in the object of its call.

use std::collections::{BTreeMap, HashMap, VecDeque};

use foxwedge_core::{PartKind, Span};

/// The calls of a turn.
#[derive(Default)]
pub(super) struct OpenCalls {
    calls: Vec<OpenCall>,
    /// Calls by where they begin.
    places: BTreeMap<u32, usize>,
    by_id: HashMap<String, VecDeque<usize>>,
    by_name: HashMap<Option<String>, VecDeque<usize>>,
    /// Calls without an id, by name.
    without_id: HashMap<Option<String>, VecDeque<usize>>,
}

struct OpenCall {
    span: Span,
    answered: bool,
}

impl OpenCalls {
    /// Whether a span is inside the object of a call.
    pub(super) fn contains(&self, span: Span) -> bool {
        self.call_at(span).is_some()
    }

    /// Marks a call as answered if its object contains the span of the result.
    pub(super) fn mark_answered(&mut self, span: Span) -> bool {
        let call = self.call_at(span).and_then(|at| self.calls.get_mut(at));
        call.map(|call| call.answered = true).is_some()
    }

    fn call_at(&self, span: Span) -> Option<usize> {
        let (_, &at) = self.places.range(..=span.start).next_back()?;
        self.calls.get(at).filter(|call| span.end <= call.span.end).map(|_| at)
    }

    /// Adds a call, or matches a result. Returns the call that a result answers.
    pub(super) fn note(&mut self, kind: &PartKind<'_>, span: Span) -> Option<Span> {
        match kind {
            PartKind::Call(call) => {
                let at = self.calls.len();
                let name = call.name.as_deref().map(str::to_owned);
                self.by_name.entry(name.clone()).or_default().push_back(at);
                match call.id.as_deref() {
                    Some(id) => self.by_id.entry(id.to_owned()).or_default().push_back(at),
                    None => self.without_id.entry(name).or_default().push_back(at),
                }
                self.places.insert(span.start, at);
                self.calls.push(OpenCall { span, answered: false });
                None
            }
            PartKind::Answer(answer) => {
                let name = answer.tool().map(str::to_owned);
                let found = match answer.id.as_deref() {
                    Some(id) => first_open(&self.calls, self.by_id.get_mut(id))
                        .or_else(|| first_open(&self.calls, self.without_id.get_mut(&name))),
                    None => first_open(&self.calls, self.by_name.get_mut(&name)),
                };
                let call = found.and_then(|at| self.calls.get_mut(at))?;
                call.answered = true;
                Some(call.span)
            }
            _ => None,
        }
    }
}

/// The first unanswered call of a list. Removes answered ones, so that they are visited once.
fn first_open(calls: &[OpenCall], list: Option<&mut VecDeque<usize>>) -> Option<usize> {
    let list = list?;
    while let Some(&at) = list.front() {
        if calls.get(at).is_some_and(|call| !call.answered) {
            return Some(at);
        }
        list.pop_front();
    }
    None
}
