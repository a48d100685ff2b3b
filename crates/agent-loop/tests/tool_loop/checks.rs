//! Checks that must hold for every scenario, whatever failed in it.
//!
//! The fakes record what tools and models did; the checks compare the store and the loop with it.
//! No code of the loop is used here, except the machine that reads events again.

use std::collections::BTreeMap;

use foxwedge_run::{
    EventPayload, MachineInput, MachineSettings, Outcome, RunEffect, RunEvent, SessionMachine,
    ToolOutcome, ToolStatus,
};
use foxwedge_testkit::gist;
use serde_json::Value;

use crate::{
    history::{Call, HistoryItem},
    scenario::{CALLS, End, LATER, NEXT, PROMPT, Scenario, ScenarioReport, SessionState},
    script::{Step, objections},
    test_tools::{DENIAL, HALF, STOPPED, full_result},
    world::{InterruptEffect, LogEntry},
};

/// All breaches of a scenario.
pub(crate) fn breaches(scenario: &Scenario, report: &ScenarioReport) -> Vec<String> {
    let mut checker = ScenarioChecker { scenario, report, found: Vec::new() };
    checker.found.extend(report.breaches.iter().cloned());
    checker
        .found
        .extend(report.second.breaches().into_iter().map(|it| format!("afterwards: {it}")));
    checker.holds(report.living == 0, || format!("{} tools are still at work", report.living));
    checker.one_outcome_each();
    checker.outcome();
    checker.documents(&report.state);
    checker.documents(&report.final_state);
    checker.calls();
    checker.words();
    checker.order();
    checker.afterwards();
    checker.deliveries();
    checker.found
}

struct ScenarioChecker<'a> {
    scenario: &'a Scenario,
    report: &'a ScenarioReport,
    found: Vec<String>,
}

impl ScenarioChecker<'_> {
    fn holds(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.found.push(what());
        }
    }

    fn saw(&self, entry: &LogEntry) -> bool {
        self.report.log.contains(entry)
    }

    fn place(&self, is: impl Fn(&LogEntry) -> bool) -> Option<usize> {
        self.report.log.iter().position(is)
    }

    /// The position of an interrupt with this effect.
    fn pressed(&self, how: InterruptEffect) -> Option<usize> {
        self.place(|entry| *entry == LogEntry::Interrupted(how))
    }

    /// Every run has one end, and its row agrees.
    fn one_outcome_each(&mut self) {
        let state: Vec<_> =
            self.report.state.runs.iter().chain(&self.report.final_state.runs).collect();
        for (row, events) in state {
            let ends: Vec<Option<Outcome>> = events
                .iter()
                .filter_map(|event| match &event.body {
                    EventPayload::Ended(ended) => Some(ended.outcome),
                    _ => None,
                })
                .collect();
            self.holds(ends.len() == 1, || format!("run {} has {} ends", row.id, ends.len()));
            let reported = row.state.outcome();
            self.holds(reported.is_some() && ends.first() == Some(&reported), || {
                format!("run {} ended as {reported:?}, its log says {ends:?}", row.id)
            });
            let last = events.last().is_some_and(|it| matches!(it.body, EventPayload::Ended(_)));
            self.holds(last, || format!("run {} goes on behind its end", row.id));
        }
        let count = self.report.state.runs.len();
        self.holds(count <= 1, || format!("{count} runs of one prompt"));
    }

    /// Stopped is not failed, and failed is not interrupted.
    fn outcome(&mut self) {
        let Some((row, events)) = self.report.state.runs.first() else {
            let none = matches!(self.report.end, End::Gone | End::Broken(_));
            self.holds(none, || "there is no run".to_owned());
            return;
        };
        let outcome = row.state.outcome();
        let stop = events.iter().any(|event| matches!(event.body, EventPayload::Stop(_)));
        let expected: Vec<Outcome> = match &self.report.end {
            End::Finished(reported) => {
                let same = *reported == outcome;
                self.holds(same, || format!("it was told as {reported:?}, and is {outcome:?}"));
                self.fitting()
            }
            End::Gone | End::Broken(_) => match self.report.before {
                Some(before) => vec![before],
                None if stop => vec![Outcome::Stopped],
                None => vec![Outcome::Interrupted],
            },
        };
        self.holds(outcome.is_some_and(|it| expected.contains(&it)), || {
            format!("it ended as {outcome:?}, and not as {expected:?}")
        });
    }

    fn fitting(&self) -> Vec<Outcome> {
        let replies = self.scenario.conversation.len();
        let whole = |until: usize| {
            let before = self.report.log.iter().take(until);
            before.filter(|entry| **entry == LogEntry::ReplyEnded).count() >= replies
        };
        let failed = self.place(|entry| match entry {
            LogEntry::Failed(name) => name.contains("reply"),
            _ => false,
        });
        let limited = (self.scenario.limits.max_turns as usize) < replies;
        match (self.pressed(InterruptEffect::Stopping), failed) {
            // An interrupt after the last reply may be too late.
            (Some(at), _) if whole(at) => vec![Outcome::Stopped, Outcome::Completed],
            (Some(_), _) => vec![Outcome::Stopped],
            (None, Some(_)) => vec![Outcome::Failed],
            (None, None) if limited => vec![Outcome::MaxTurns],
            (None, None) => vec![Outcome::Completed],
        }
    }

    /// The conversation is valid in every format.
    fn documents(&mut self, state: &SessionState) {
        for (wire, document) in &state.documents {
            self.found.extend(objections(wire, document));
        }
        let orphans = &state.history.orphans;
        self.holds(orphans.is_empty(), || format!("answers without a call: {orphans:?}"));
    }

    /// Every call has the right status and one right result.
    fn calls(&mut self) {
        let history = &self.report.state.history;
        let table = table(&self.report.state);
        let known: Vec<&str> = history.calls().map(|call| call.id.as_str()).collect();
        let mut sorted = known.clone();
        sorted.sort_unstable();
        sorted.dedup();
        self.holds(known == sorted, || format!("the calls are {known:?}"));
        for (id, name) in CALLS {
            let call = history.calls().find(|call| call.id == id);
            let status = table.get(id).copied();
            self.holds(call.is_some() == status.is_some(), || {
                format!("{id}: the log says {status:?}, the conversation {call:?}")
            });
            let entered = self.saw(&LogEntry::Entered(id.to_owned()));
            self.holds(call.is_some() || !entered, || format!("{id} ran, and is not told"));
            if let (Some(call), Some(status)) = (call, status) {
                self.call((id, name), call, status, entered);
            }
        }
    }

    fn call(&mut self, (id, name): (&str, &str), call: &Call, status: ToolStatus, entered: bool) {
        let Some(answer) = &call.answer else {
            self.found.push(format!("{id} has no answer"));
            return;
        };
        let text = answer.text.clone();
        let ours = matches!(self.report.end, End::Finished(_));
        let finished = self.place(|entry| *entry == LogEntry::Finished(id.to_owned()));
        let forced = self.pressed(InterruptEffect::Forced).unwrap_or(usize::MAX);
        let events = self.report.state.runs.first().map_or(&[][..], |(_, events)| events);
        let kept = has_result(events, id, ToolOutcome::Ok);
        let expected: &[ToolStatus] = match finished {
            Some(_) if kept => &[ToolStatus::Succeeded],
            Some(at) if ours && at < forced => &[ToolStatus::Succeeded],
            Some(_) => &[ToolStatus::Succeeded, ToolStatus::Interrupted],
            None if self.panicked(name, id) => &[ToolStatus::Failed],
            None if entered && self.scenario.hanging_tool == Some(name) => &[ToolStatus::Failed],
            None if entered => &[ToolStatus::Interrupted],
            None if name == "forbidden" && self.saw(&LogEntry::Decided(id.to_owned(), false)) => {
                // The decision may not have been delivered.
                if self.interfered() {
                    &[ToolStatus::Denied, ToolStatus::Cancelled]
                } else {
                    &[ToolStatus::Denied]
                }
            }
            None if was_started(events, id) => &[ToolStatus::Cancelled, ToolStatus::Interrupted],
            None => &[ToolStatus::Cancelled],
        };
        self.holds(expected.contains(&status), || {
            format!("{id} is {status:?}, and not {expected:?}: {text}")
        });
        let is =
            |fine: bool| if fine { None } else { Some(format!("{id}, {status:?}, says: {text}")) };
        let murmured = self.saw(&LogEntry::OutputWritten(id.to_owned()));
        let gave = self.saw(&LogEntry::GaveUp(id.to_owned()));
        let failure = match status {
            ToolStatus::Succeeded => is(text == full_result(name, id) && !answer.error),
            ToolStatus::Denied => is(text.contains(DENIAL) && answer.error),
            ToolStatus::Interrupted if ours && gave => is(text.contains(STOPPED) && answer.error),
            ToolStatus::Interrupted if ours && murmured && finished.is_none() => {
                is(text.contains(HALF) && has_time(&text) && answer.error)
            }
            ToolStatus::Interrupted => is(!text.is_empty() && answer.error),
            ToolStatus::Cancelled => is(text.contains("never ran") || text.contains("ot started")),
            ToolStatus::Failed if self.scenario.hanging_tool == Some(name) => {
                is(text.contains("Timed out") && text.contains(HALF) && answer.error)
            }
            ToolStatus::Failed => is(!text.is_empty() && answer.error),
            ToolStatus::Unknown
            | ToolStatus::Pending
            | ToolStatus::AwaitingApproval
            | ToolStatus::Running
            | ToolStatus::HandedOver => is(false),
        };
        self.found.extend(failure);
    }

    fn panicked(&self, name: &str, id: &str) -> bool {
        let tool = format!("{name} {id} ");
        self.report
            .log
            .iter()
            .any(|entry| matches!(entry, LogEntry::Failed(at) if at.starts_with(&tool)))
    }

    /// Whether anything failed.
    fn interfered(&self) -> bool {
        !self.scenario.plan.is_empty()
    }

    /// Delivered text is stored exactly once.
    fn words(&mut self) {
        let history = &self.report.state.history;
        let texts: Vec<&str> = history.items.iter().filter_map(assistant).collect();
        let all = texts.join("\n");
        let (kept, ours) = (self.texts_kept(), matches!(self.report.end, End::Finished(_)));
        for step in self.scenario.conversation.iter().flat_map(|reply| &reply.steps) {
            let Step::Text(text) = step else { continue };
            let word = text.trim();
            let times = all.matches(word).count();
            self.holds(times <= 1, || format!("`{word}` is told {times} times"));
            let due = kept.contains(word) || ours && self.saw(&LogEntry::TextSent(text.clone()));
            self.holds(times == 1 || !due, || format!("`{word}` was said, and is gone: {all}"));
        }
    }

    fn texts_kept(&self) -> String {
        let events = self.report.state.runs.iter().flat_map(|(_, events)| events);
        let texts = events.filter_map(|event| match &event.body {
            EventPayload::Text(text) => text.delta.clone().or(text.full.clone()),
            _ => None,
        });
        texts.collect()
    }

    /// The prompt, then the turns, each followed by its results in the order of its calls.
    fn order(&mut self) {
        let asked = self.saw(&LogEntry::RequestSent);
        let history = &self.report.state.history;
        let first = history.items.iter().find(|item| !matches!(item, HistoryItem::Other(_)));
        let reported = first.and_then(user).is_some_and(|text| text.starts_with(PROMPT));
        self.holds(reported || !asked, || format!("the prompt is gone: {:?}", history.items));
        let prompts =
            history.items.iter().filter_map(user).map(|text| text.matches(PROMPT).count());
        let prompts: usize = prompts.sum();
        self.holds(prompts <= 1, || format!("the prompt is told {prompts} times"));
        for state in [&self.report.state, &self.report.final_state] {
            let Some(messages) =
                state.documents.get("anthropic").and_then(|it| it["messages"].as_array())
            else {
                self.found.push("no messages".to_owned());
                return;
            };
            for pair in messages.windows(2) {
                let calls = ids(&pair[0], "tool_use", "id");
                let answers = ids(&pair[1], "tool_result", "tool_use_id");
                self.holds(calls == answers, || format!("{calls:?} are answered by {answers:?}"));
            }
        }
    }

    /// The next prompt comes last, is accepted, and its run ends.
    fn afterwards(&mut self) {
        let ends = &self.report.ends;
        let fine = !ends.is_empty() && ends.iter().all(|end| *end == Some(Outcome::Completed));
        self.holds(fine, || format!("afterwards it ended as {ends:?}"));
        let Some(request) = self.report.requests.last() else {
            self.found.push("afterwards the model was not asked".to_owned());
            return;
        };
        let request = gist(self.scenario.wire.name(), request);
        let last = match request.beats.last() {
            Some(foxwedge_testkit::Beat::Text { text, .. }) => text.as_str(),
            _ => "",
        };
        self.holds(last.ends_with(NEXT), || format!("the next prompt is not the last: {last}"));
        let before: Vec<&Call> = self.report.state.history.calls().collect();
        let behind: Vec<&Call> = self.report.final_state.history.calls().collect();
        let same = before == behind.get(..before.len()).unwrap_or_default();
        self.holds(same, || format!("{before:?}\nbecame\n{behind:?}"));
        if self.saw(&LogEntry::Queued) {
            for state in [&self.report.state, &self.report.final_state] {
                let queued = state.queued.clone();
                self.holds(queued == [LATER], || format!("the queue holds {queued:?}"));
            }
        }
        let (last, again) = (self.report.final_state.records, self.report.records_after_reopen);
        self.holds(last == again, || format!("opened again, {last} records became {again}"));
    }

    /// The observer got one end at most, and only events that are stored.
    fn deliveries(&mut self) {
        let mut known = Vec::new();
        let mut session = SessionMachine::new(MachineSettings::default());
        let events = self.report.state.runs.first().map_or(&[][..], |(_, events)| events);
        for event in events {
            session.apply(0, MachineInput::Event(event.clone()), &mut known);
        }
        let known: Vec<_> = known.into_iter().filter_map(shown).collect();
        let reported: Vec<_> = self
            .report
            .log
            .iter()
            .filter_map(|entry| match entry {
                LogEntry::Delivered(effect) => shown((**effect).clone()),
                _ => None,
            })
            .collect();
        let prefix = known.get(..reported.len()) == Some(&reported[..]);
        self.holds(prefix, || {
            let pairs = reported.iter().zip(&known).find(|(one, other)| one != other);
            format!("told otherwise than stored: {} and {}, {pairs:?}", reported.len(), known.len())
        });
    }
}

/// The shown change, without start and end times.
fn shown(effect: RunEffect) -> Option<String> {
    use foxwedge_run::UiChange;
    match effect {
        RunEffect::Show { change: UiChange::RunStarted { .. }, .. } => Some("start".to_owned()),
        RunEffect::Show { change: UiChange::RunEnded { ended, .. }, .. } => {
            Some(format!("{ended:?}"))
        }
        RunEffect::Show { change, .. } => Some(format!("{change:?}")),
        RunEffect::Emit(_)
        | RunEffect::Resolve { .. }
        | RunEffect::CancelTool { .. }
        | RunEffect::Announce { .. }
        | RunEffect::Drain { .. }
        | RunEffect::Warn(_) => None,
    }
}

/// The status of every call of the first run.
fn table(state: &SessionState) -> BTreeMap<String, ToolStatus> {
    let Some((row, events)) = state.runs.first() else { return BTreeMap::new() };
    let mut session = SessionMachine::new(MachineSettings::default());
    for event in events {
        session.apply(0, MachineInput::Event(event.clone()), &mut Vec::new());
    }
    let tools = session.run(&row.id).map(|run| run.tools()).unwrap_or_default();
    let called = tools.iter().filter(|tool| tool.was_called());
    called.map(|tool| (tool.call.to_string(), tool.status())).collect()
}

fn has_result(events: &[RunEvent], id: &str, how: ToolOutcome) -> bool {
    events.iter().any(|event| match &event.body {
        EventPayload::ToolResult(result) => {
            result.call.id.as_deref() == Some(id) && result.outcome == how
        }
        _ => false,
    })
}

fn was_started(events: &[RunEvent], id: &str) -> bool {
    events.iter().any(|event| match &event.body {
        EventPayload::ToolCall(call) => {
            call.call.id.as_deref() == Some(id) && call.status == Some(ToolStatus::Running)
        }
        _ => false,
    })
}

/// Whether a text names a time: a figure and its unit.
fn has_time(text: &str) -> bool {
    let mut words = text.split([' ', ',', '.', ';', ':', '(', ')']).filter(|word| !word.is_empty());
    let is_time = |word: &str| {
        let unit = word.trim_start_matches(|letter: char| letter.is_ascii_digit());
        unit.len() < word.len() && matches!(unit, "s" | "ms" | "m" | "")
    };
    words.any(is_time)
}

fn ids<'v>(message: &'v Value, kind: &str, key: &str) -> Vec<&'v str> {
    let blocks = message["content"].as_array().into_iter().flatten();
    blocks.filter(|block| block["type"] == kind).filter_map(|block| block[key].as_str()).collect()
}

fn assistant(item: &HistoryItem) -> Option<&str> {
    if let HistoryItem::Model(text) = item { Some(text) } else { None }
}

fn user(item: &HistoryItem) -> Option<&str> {
    if let HistoryItem::User(text) = item { Some(text) } else { None }
}
