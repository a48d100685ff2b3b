//! What has to be true of a play, whatever went wrong in it.
//!
//! What tools and models did is known from the inside of the fakes; what the store and the loop say
//! afterwards is compared with it. Nothing of the loop is used here, but for the machine that reads
//! events again.

use std::collections::BTreeMap;

use foxwedge_run::{
    EventPayload, MachineInput, MachineSettings, Outcome, RunEffect, RunEvent, SessionMachine,
    ToolOutcome, ToolStatus,
};
use foxwedge_testkit::gist;
use serde_json::Value;

use crate::{
    play::{CALLS, End, LATER, Left, NEXT, PROMPT, Played, Scene},
    said::{Beat, Call},
    script::{Say, objections},
    workers::{HALF, NO, STOPPED, real},
    world::{Pressing, Seen},
};

/// Everything that is not as it has to be.
pub(crate) fn breaches(scene: &Scene, played: &Played) -> Vec<String> {
    let mut truth = Truth { scene, played, found: Vec::new() };
    truth.found.extend(played.breaches.iter().cloned());
    truth.found.extend(played.second.breaches().into_iter().map(|it| format!("afterwards: {it}")));
    truth.holds(played.living == 0, || format!("{} tools are still at work", played.living));
    truth.one_outcome_each();
    truth.outcome();
    truth.documents(&played.left);
    truth.documents(&played.finally);
    truth.calls();
    truth.words();
    truth.order();
    truth.afterwards();
    truth.told();
    truth.found
}

struct Truth<'a> {
    scene: &'a Scene,
    played: &'a Played,
    found: Vec<String>,
}

impl Truth<'_> {
    fn holds(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.found.push(what());
        }
    }

    fn saw(&self, seen: &Seen) -> bool {
        self.played.log.contains(seen)
    }

    fn place(&self, is: impl Fn(&Seen) -> bool) -> Option<usize> {
        self.played.log.iter().position(is)
    }

    /// When the run was asked to stop, and when by force.
    fn pressed(&self, how: Pressing) -> Option<usize> {
        self.place(|seen| *seen == Seen::Pressed(how))
    }

    /// Every run has one end, and its row says the same.
    fn one_outcome_each(&mut self) {
        let left: Vec<_> = self.played.left.runs.iter().chain(&self.played.finally.runs).collect();
        for (row, events) in left {
            let ends: Vec<Option<Outcome>> = events
                .iter()
                .filter_map(|event| match &event.body {
                    EventPayload::Ended(ended) => Some(ended.outcome),
                    _ => None,
                })
                .collect();
            self.holds(ends.len() == 1, || format!("run {} has {} ends", row.id, ends.len()));
            let told = row.state.outcome();
            self.holds(told.is_some() && ends.first() == Some(&told), || {
                format!("run {} ended as {told:?}, its log says {ends:?}", row.id)
            });
            let last = events.last().is_some_and(|it| matches!(it.body, EventPayload::Ended(_)));
            self.holds(last, || format!("run {} goes on behind its end", row.id));
        }
        let count = self.played.left.runs.len();
        self.holds(count <= 1, || format!("{count} runs of one prompt"));
    }

    /// Stopped is not failed, and failed is not interrupted.
    fn outcome(&mut self) {
        let Some((row, events)) = self.played.left.runs.first() else {
            let none = matches!(self.played.end, End::Gone | End::Broken(_));
            self.holds(none, || "there is no run".to_owned());
            return;
        };
        let outcome = row.state.outcome();
        let stop = events.iter().any(|event| matches!(event.body, EventPayload::Stop(_)));
        let expected: Vec<Outcome> = match &self.played.end {
            End::Finished(told) => {
                let same = *told == outcome;
                self.holds(same, || format!("it was told as {told:?}, and is {outcome:?}"));
                self.fitting()
            }
            End::Gone | End::Broken(_) => match self.played.before {
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
        let replies = self.scene.story.len();
        let whole = |until: usize| {
            let before = self.played.log.iter().take(until);
            before.filter(|seen| **seen == Seen::Heard).count() >= replies
        };
        let failed = self.place(|seen| match seen {
            Seen::Failed(name) => name.contains("reply"),
            _ => false,
        });
        let limited = (self.scene.limits.max_turns as usize) < replies;
        match (self.pressed(Pressing::Asked), failed) {
            // Whoever presses when everything is said already may be too late.
            (Some(at), _) if whole(at) => vec![Outcome::Stopped, Outcome::Completed],
            (Some(_), _) => vec![Outcome::Stopped],
            (None, Some(_)) => vec![Outcome::Failed],
            (None, None) if limited => vec![Outcome::MaxTurns],
            (None, None) => vec![Outcome::Completed],
        }
    }

    /// The conversation is sound, in every format.
    fn documents(&mut self, left: &Left) {
        for (wire, document) in &left.documents {
            self.found.extend(objections(wire, document));
        }
        let orphans = &left.said.orphans;
        self.holds(orphans.is_empty(), || format!("answers without a call: {orphans:?}"));
    }

    /// Every call has the status and the answer that it deserves, once.
    fn calls(&mut self) {
        let said = &self.played.left.said;
        let table = table(&self.played.left);
        let known: Vec<&str> = said.calls().map(|call| call.id.as_str()).collect();
        let mut sorted = known.clone();
        sorted.sort_unstable();
        sorted.dedup();
        self.holds(known == sorted, || format!("the calls are {known:?}"));
        for (id, name) in CALLS {
            let call = said.calls().find(|call| call.id == id);
            let status = table.get(id).copied();
            self.holds(call.is_some() == status.is_some(), || {
                format!("{id}: the log says {status:?}, the conversation {call:?}")
            });
            let entered = self.saw(&Seen::Entered(id.to_owned()));
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
        let ours = matches!(self.played.end, End::Finished(_));
        let finished = self.place(|seen| *seen == Seen::Finished(id.to_owned()));
        let forced = self.pressed(Pressing::Forced).unwrap_or(usize::MAX);
        let events = self.played.left.runs.first().map_or(&[][..], |(_, events)| events);
        let kept = has_result(events, id, ToolOutcome::Ok);
        let expected: &[ToolStatus] = match finished {
            Some(_) if kept => &[ToolStatus::Succeeded],
            Some(at) if ours && at < forced => &[ToolStatus::Succeeded],
            Some(_) => &[ToolStatus::Succeeded, ToolStatus::Interrupted],
            None if self.panicked(name, id) => &[ToolStatus::Failed],
            None if entered && self.scene.hangs == Some(name) => &[ToolStatus::Failed],
            None if entered => &[ToolStatus::Interrupted],
            None if name == "forbidden" && self.saw(&Seen::Decided(id.to_owned(), false)) => {
                // Nobody may have heard of the decision.
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
        let murmured = self.saw(&Seen::Murmured(id.to_owned()));
        let gave = self.saw(&Seen::Gave(id.to_owned()));
        let trouble = match status {
            ToolStatus::Succeeded => is(text == real(name, id) && !answer.error),
            ToolStatus::Denied => is(text.contains(NO) && answer.error),
            ToolStatus::Interrupted if ours && gave => is(text.contains(STOPPED) && answer.error),
            ToolStatus::Interrupted if ours && murmured && finished.is_none() => {
                is(text.contains(HALF) && has_time(&text) && answer.error)
            }
            ToolStatus::Interrupted => is(!text.is_empty() && answer.error),
            ToolStatus::Cancelled => is(text.contains("never ran") || text.contains("ot started")),
            ToolStatus::Failed if self.scene.hangs == Some(name) => {
                is(text.contains("Timed out") && text.contains(HALF) && answer.error)
            }
            ToolStatus::Failed => is(!text.is_empty() && answer.error),
            ToolStatus::Unknown
            | ToolStatus::Pending
            | ToolStatus::AwaitingApproval
            | ToolStatus::Running
            | ToolStatus::HandedOver => is(false),
        };
        self.found.extend(trouble);
    }

    fn panicked(&self, name: &str, id: &str) -> bool {
        let tool = format!("{name} {id} ");
        self.played.log.iter().any(|seen| matches!(seen, Seen::Failed(at) if at.starts_with(&tool)))
    }

    /// Whether anything went wrong at all.
    fn interfered(&self) -> bool {
        !self.scene.plan.is_empty()
    }

    /// What was said is kept, once.
    fn words(&mut self) {
        let said = &self.played.left.said;
        let texts: Vec<&str> = said.beats.iter().filter_map(assistant).collect();
        let all = texts.join("\n");
        let (kept, ours) = (self.texts_kept(), matches!(self.played.end, End::Finished(_)));
        for say in self.scene.story.iter().flat_map(|reply| &reply.says) {
            let Say::Text(text) = say else { continue };
            let word = text.trim();
            let times = all.matches(word).count();
            self.holds(times <= 1, || format!("`{word}` is told {times} times"));
            let due = kept.contains(word) || ours && self.saw(&Seen::Spoke(text.clone()));
            self.holds(times == 1 || !due, || format!("`{word}` was said, and is gone: {all}"));
        }
    }

    fn texts_kept(&self) -> String {
        let events = self.played.left.runs.iter().flat_map(|(_, events)| events);
        let texts = events.filter_map(|event| match &event.body {
            EventPayload::Text(text) => text.delta.clone().or(text.full.clone()),
            _ => None,
        });
        texts.collect()
    }

    /// The prompt, then the turns, each with its answers behind it in the order of its calls.
    fn order(&mut self) {
        let asked = self.saw(&Seen::Asked);
        let said = &self.played.left.said;
        let first = said.beats.iter().find(|beat| !matches!(beat, Beat::Other(_)));
        let told = first.and_then(user).is_some_and(|text| text.starts_with(PROMPT));
        self.holds(told || !asked, || format!("the prompt is gone: {:?}", said.beats));
        let prompts = said.beats.iter().filter_map(user).map(|text| text.matches(PROMPT).count());
        let prompts: usize = prompts.sum();
        self.holds(prompts <= 1, || format!("the prompt is told {prompts} times"));
        for left in [&self.played.left, &self.played.finally] {
            let Some(messages) =
                left.documents.get("anthropic").and_then(|it| it["messages"].as_array())
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

    /// The next prompt comes behind everything, is taken, and the run comes to its end.
    fn afterwards(&mut self) {
        let ends = &self.played.ends;
        let fine = !ends.is_empty() && ends.iter().all(|end| *end == Some(Outcome::Completed));
        self.holds(fine, || format!("afterwards it ended as {ends:?}"));
        let Some(request) = self.played.requests.last() else {
            self.found.push("afterwards the model was not asked".to_owned());
            return;
        };
        let asked = gist(self.scene.wire.name(), request);
        let last = match asked.beats.last() {
            Some(foxwedge_testkit::Beat::Text { text, .. }) => text.as_str(),
            _ => "",
        };
        self.holds(last.ends_with(NEXT), || format!("the next prompt is not the last: {last}"));
        let before: Vec<&Call> = self.played.left.said.calls().collect();
        let behind: Vec<&Call> = self.played.finally.said.calls().collect();
        let same = before == behind.get(..before.len()).unwrap_or_default();
        self.holds(same, || format!("{before:?}\nbecame\n{behind:?}"));
        if self.saw(&Seen::Queued) {
            for left in [&self.played.left, &self.played.finally] {
                let queued = left.queued.clone();
                self.holds(queued == [LATER], || format!("the queue holds {queued:?}"));
            }
        }
        let (last, again) = (self.played.finally.records, self.played.again);
        self.holds(last == again, || format!("opened again, {last} records became {again}"));
    }

    /// The listener heard of one end at most, and of nothing that the store does not know.
    fn told(&mut self) {
        let mut known = Vec::new();
        let mut session = SessionMachine::new(MachineSettings::default());
        let events = self.played.left.runs.first().map_or(&[][..], |(_, events)| events);
        for event in events {
            session.apply(0, MachineInput::Event(event.clone()), &mut known);
        }
        let known: Vec<_> = known.into_iter().filter_map(shown).collect();
        let told: Vec<_> = self
            .played
            .log
            .iter()
            .filter_map(|seen| match seen {
                Seen::Told(effect) => shown((**effect).clone()),
                _ => None,
            })
            .collect();
        let prefix = known.get(..told.len()) == Some(&told[..]);
        self.holds(prefix, || {
            let pairs = told.iter().zip(&known).find(|(one, other)| one != other);
            format!("told otherwise than stored: {} and {}, {pairs:?}", told.len(), known.len())
        });
    }
}

/// What is shown; when the run began and ended is left out.
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
fn table(left: &Left) -> BTreeMap<String, ToolStatus> {
    let Some((row, events)) = left.runs.first() else { return BTreeMap::new() };
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

fn assistant(beat: &Beat) -> Option<&str> {
    if let Beat::Model(text) = beat { Some(text) } else { None }
}

fn user(beat: &Beat) -> Option<&str> {
    if let Beat::User(text) = beat { Some(text) } else { None }
}
