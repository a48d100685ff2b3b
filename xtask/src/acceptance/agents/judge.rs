//! Judges what a resumed agent still knows.

use super::{
    history::HistoryEntry,
    script::{CALLS, PROMPTS, REPLIES},
};

/// How an agent went on with a session.
#[derive(Debug, Default)]
pub(super) struct ResumeVerdict {
    /// Its exit code; none if it had to be killed.
    pub(super) code: Option<i32>,
    /// Whether the follow-up was answered.
    pub(super) answered: bool,
    /// What the model was shown.
    pub(super) shown: Option<StoryMeasure>,
    /// Why the agent's server did not show the session.
    pub(super) view: Option<String>,
    /// What is wrong with the calls and answers that the model was shown.
    pub(super) pairs: Vec<String>,
    /// Expectations that were not met.
    pub(super) failures: Vec<String>,
}

/// What of the story is in a request.
#[derive(Debug, Default)]
pub(super) struct StoryMeasure {
    entries: Vec<HistoryEntry>,
    pub(super) prompts: usize,
    pub(super) replies: usize,
    pub(super) calls: usize,
    /// Answers that came before the kill.
    pub(super) real: usize,
    /// Answers that foxwedge wrote.
    pub(super) ours: usize,
    /// Answers that the agent wrote instead.
    pub(super) theirs: usize,
}

/// What there is to be known.
pub(super) struct StoryCounts {
    pub(super) prompts: usize,
    pub(super) replies: usize,
    pub(super) calls: usize,
    pub(super) answers: usize,
}

impl StoryCounts {
    /// What is left to be known of the calls that reached the disk, when an answer is lost.
    pub(super) fn of(calls: &[&str], answered: &[&str], lost: Option<&str>) -> StoryCounts {
        let answers = answered.len();
        StoryCounts {
            prompts: PROMPTS.len(),
            replies: REPLIES.len(),
            calls: calls.len(),
            answers: answers - usize::from(lost.is_some()),
        }
    }
}

/// What a resumed agent has to know.
pub(super) struct ResumeExpectation<'e> {
    /// What `foxwedge resume` tells.
    pub(super) history: Vec<HistoryEntry>,
    /// The calls that reached the disk.
    pub(super) calls: &'e [&'static str],
    /// Those of them that were answered before the kill.
    pub(super) answered: &'e [&'static str],
    /// What the user asks now.
    pub(super) prompt: &'e str,
    /// The call whose answer the damage took.
    pub(super) lost: Option<&'e str>,
    /// Calls that the agent does not see in a healthy session either.
    pub(super) blind: Vec<&'static str>,
}

/// What a session file holds of the story.
pub(super) struct SessionContent<'n> {
    /// The calls that were answered.
    pub(super) calls: Vec<&'n str>,
    /// The call whose answer the damage took.
    pub(super) lost: Option<&'n str>,
    /// The agent breaks pairs of healthy sessions as well.
    pub(super) breaks_pairs: bool,
}

/// How much of a session file an agent goes on with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SessionCoverage {
    Everything,
    Part,
    /// It does not go on, or its provider would refuse what it sends.
    Nothing,
}

impl SessionCoverage {
    pub(super) fn text(self) -> &'static str {
        match self {
            SessionCoverage::Everything => "the agent goes on with everything",
            SessionCoverage::Part => "the agent leaves something out",
            SessionCoverage::Nothing => "the agent cannot go on",
        }
    }
}

impl StoryMeasure {
    pub(super) fn of(entries: Vec<HistoryEntry>) -> StoryMeasure {
        let mut measure = StoryMeasure::default();
        for entry in &entries {
            match entry {
                HistoryEntry::User(text) => {
                    measure.prompts += PROMPTS.iter().filter(|it| text.contains(**it)).count();
                }
                HistoryEntry::Assistant(text) => {
                    measure.replies += REPLIES.iter().filter(|it| text.contains(**it)).count();
                }
                HistoryEntry::Call(id) => measure.calls += usize::from(is_known(id)),
                HistoryEntry::Answer(id, text) if text.starts_with("[foxwedge] ") => {
                    measure.ours += usize::from(is_known(id));
                }
                HistoryEntry::Answer(id, text) if is_real(id, text) => measure.real += 1,
                HistoryEntry::Answer(id, _) => measure.theirs += usize::from(is_known(id)),
            }
        }
        measure.entries = entries;
        measure
    }

    /// Whether the real answer to a call is there.
    fn knows(&self, id: &str) -> bool {
        let is_it = |entry: &HistoryEntry| matches!(entry, HistoryEntry::Answer(own, text) if own == id && is_real(id, text));
        self.entries.iter().any(is_it)
    }
}

fn is_known(id: &str) -> bool {
    CALLS.iter().any(|(own, _)| *own == id)
}

fn is_real(id: &str, text: &str) -> bool {
    CALLS.iter().any(|(own, output)| *own == id && text.contains(output))
}

impl ResumeVerdict {
    pub(super) fn new(code: Option<i32>, answered: bool) -> ResumeVerdict {
        ResumeVerdict { code, answered, ..ResumeVerdict::default() }
    }

    /// It did not come that far.
    pub(super) fn failed(what: String) -> ResumeVerdict {
        ResumeVerdict { failures: vec![what], ..ResumeVerdict::default() }
    }

    /// Calls of the second turn that the model was not shown.
    pub(super) fn missing(&self) -> Vec<&'static str> {
        let knows = |id: &str| self.shown.as_ref().is_some_and(|shown| shown.knows(id));
        CALLS.iter().take(3).map(|(id, _)| *id).filter(|id| !knows(id)).collect()
    }

    /// How much of what a file holds the agent went on with.
    pub(super) fn coverage(&self, needed: &SessionContent<'_>) -> SessionCoverage {
        let refused = !needed.breaks_pairs && !self.pairs.is_empty();
        let Some(shown) = &self.shown else { return SessionCoverage::Nothing };
        if refused || self.view.is_some() || self.code != Some(0) || !self.answered {
            return SessionCoverage::Nothing;
        }
        let called = |id: &str| shown.entries.contains(&HistoryEntry::Call(id.to_owned()));
        let is_there = |id: &&str| called(id) && (needed.lost == Some(*id) || shown.knows(id));
        let said = shown.prompts >= PROMPTS.len() && shown.replies >= REPLIES.len();
        if said && needed.calls.iter().all(is_there) {
            SessionCoverage::Everything
        } else {
            SessionCoverage::Part
        }
    }

    pub(super) fn demand(&mut self, is_so: bool, what: impl FnOnce() -> String) {
        if !is_so {
            self.failures.push(what());
        }
    }

    /// Demands that the model was shown everything that the history tells, as it tells it, and
    /// that nothing is missing but what the damage took.
    pub(super) fn demand_everything(&mut self, expected: &ResumeExpectation<'_>) {
        let code = self.code;
        self.demand(code == Some(0), || format!("exit code {code:?}"));
        self.demand(self.answered, || "the follow-up was not answered".to_owned());
        let view = self.view.clone();
        self.demand(view.is_none(), || format!("its server: {}", view.unwrap_or_default()));
        let pairs = self.pairs.join(", ");
        self.demand(pairs.is_empty(), || format!("the request breaks rules: {pairs}"));
        let Some(entries) = self.shown.as_ref().map(|shown| shown.entries.as_slice()) else {
            return self.demand(false, || "the model was not asked".to_owned());
        };
        let (shown, history) = (expected.visible(entries), expected.visible(&expected.history));
        self.demand_order(&history, &shown);
        self.demand_story(expected, &StoryMeasure::of(shown));
    }

    /// The request tells the history: every entry in its order, and no other calls or answers.
    fn demand_order(&mut self, history: &[HistoryEntry], shown: &[HistoryEntry]) {
        let mut rest = shown.iter();
        if let Some(missing) = history.iter().find(|entry| !rest.any(|sent| sent == *entry)) {
            let missing = brief(missing);
            self.demand(false, || format!("not in the request, or out of order: {missing}"));
        }
        let pairs = |entries: &[HistoryEntry]| -> Vec<String> {
            let halves = entries
                .iter()
                .filter(|it| matches!(it, HistoryEntry::Call(_) | HistoryEntry::Answer(..)));
            halves.map(brief).collect()
        };
        let (expected, sent) = (pairs(history), pairs(shown));
        self.demand(expected == sent, || {
            format!(
                "calls and answers differ\n  expected: {}\n  sent:     {}",
                expected.join(", "),
                sent.join(", ")
            )
        });
    }

    /// The request tells the story that was made here, whatever any history says.
    fn demand_story(&mut self, expected: &ResumeExpectation<'_>, shown: &StoryMeasure) {
        let calls = expected.calls.len() - expected.blind.len();
        let counts = [shown.prompts, shown.replies, shown.calls, shown.real + shown.ours];
        let all = [PROMPTS.len(), REPLIES.len(), calls, calls];
        self.demand(counts == all, || {
            format!("prompts, replies, calls, answers: {counts:?} instead of {all:?}")
        });
        self.demand(shown.theirs == 0, || format!("{} answers of its own", shown.theirs));
        for id in expected.answered {
            let gone = expected.lost == Some(*id) || expected.blind.contains(id);
            self.demand(gone || shown.knows(id), || format!("the real answer to `{id}` is lost"));
        }
        let last = shown.entries.iter().rfind(|entry| matches!(entry, HistoryEntry::User(_)));
        let asks = matches!(last, Some(HistoryEntry::User(text)) if text.contains(expected.prompt));
        self.demand(asks, || "the prompt is not the last thing said".to_owned());
    }
}

impl ResumeExpectation<'_> {
    /// What the agent can see at all.
    fn visible(&self, entries: &[HistoryEntry]) -> Vec<HistoryEntry> {
        let is_visible = |entry: &&HistoryEntry| match entry {
            HistoryEntry::Call(id) | HistoryEntry::Answer(id, _) => {
                !self.blind.contains(&id.as_str())
            }
            HistoryEntry::User(_) | HistoryEntry::Assistant(_) => true,
        };
        let mut visible: Vec<HistoryEntry> = Vec::new();
        for entry in entries.iter().filter(is_visible) {
            match (visible.last_mut(), entry) {
                // Some agents send replies that follow each other as one.
                (Some(HistoryEntry::Assistant(before)), HistoryEntry::Assistant(text)) => {
                    before.push_str(text);
                }
                _ => visible.push(entry.clone()),
            }
        }
        // The order of the answers of one reply means nothing, and some agents change it. Histories of
        // Kimi Code have each call in a message of its own.
        for turn in visible.chunk_by_mut(|one, two| place(one).is_some() && place(two).is_some()) {
            turn.sort_by_key(place);
        }
        visible
    }
}

/// The place of a call or an answer in its turn: calls as they come, then answers in the order of the
/// story. `None` for anything else.
fn place(entry: &HistoryEntry) -> Option<usize> {
    match entry {
        HistoryEntry::User(_) | HistoryEntry::Assistant(_) => None,
        HistoryEntry::Call(_) => Some(0),
        HistoryEntry::Answer(id, _) => {
            Some(1 + CALLS.iter().position(|(own, _)| own == id).unwrap_or(CALLS.len()))
        }
    }
}

/// A entry, short enough for a line.
fn brief(entry: &HistoryEntry) -> String {
    let short = |text: &str| text.chars().take(30).collect::<String>().replace('\n', " ");
    match entry {
        HistoryEntry::User(text) => format!("user `{}`", short(text)),
        HistoryEntry::Assistant(text) => format!("assistant `{}`", short(text)),
        HistoryEntry::Call(id) => id.clone(),
        HistoryEntry::Answer(id, text) => format!("{id} = `{}`", short(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many calls of the story are answered before the kill.
    const REAL: usize = 4;

    /// The whole story with the answers that came, and our entries for those that did not.
    fn story(prompt: &str) -> Vec<HistoryEntry> {
        let mut entries = vec![HistoryEntry::User(PROMPTS[0].to_owned())];
        entries.push(HistoryEntry::Assistant(REPLIES[0].to_owned()));
        for turn in 0..2 {
            entries.push(HistoryEntry::User(PROMPTS[turn + 1].to_owned()));
            entries.push(HistoryEntry::Assistant(REPLIES[turn + 1].to_owned()));
            let calls = CALLS.iter().skip(turn * 3).take(3);
            entries.extend(calls.clone().map(|(id, _)| HistoryEntry::Call((*id).to_owned())));
            entries.extend(calls.enumerate().map(|(at, (id, output))| {
                let ours = turn * 3 + at >= REAL;
                let text = if ours { "[foxwedge] Interrupted" } else { *output };
                HistoryEntry::Answer((*id).to_owned(), text.to_owned())
            }));
        }
        entries.push(HistoryEntry::Assistant(REPLIES[3].to_owned()));
        entries.push(HistoryEntry::User(prompt.to_owned()));
        entries
    }

    /// What is done to the story.
    type Change = fn(&mut Vec<HistoryEntry>);

    fn judged(change: Change) -> Vec<String> {
        judged_as(|_| {}, change)
    }

    /// Judges a request for a session with another history.
    fn judged_as(told: Change, change: Change) -> Vec<String> {
        let mut history = story("on");
        history.pop();
        told(&mut history);
        let calls = CALLS.map(|(id, _)| id);
        let (calls, blind) = (calls.as_slice(), Vec::new());
        let answered = &calls[..REAL];
        let expected =
            ResumeExpectation { history, calls, answered, prompt: "on", lost: None, blind };
        let mut entries = story("on");
        change(&mut entries);
        let mut verdict = ResumeVerdict::new(Some(0), true);
        verdict.shown = Some(StoryMeasure::of(entries));
        verdict.demand_everything(&expected);
        verdict.failures
    }

    #[test]
    fn leaving_something_out_differs_from_not_resuming() {
        let calls = CALLS.iter().take(REAL).map(|(id, _)| *id).collect();
        let needed = SessionContent { calls, lost: None, breaks_pairs: false };
        let coverage = |change: Change, code, pairs: &[&str]| {
            let mut entries = story("on");
            change(&mut entries);
            let mut verdict = ResumeVerdict::new(code, true);
            verdict.shown = Some(StoryMeasure::of(entries));
            verdict.pairs = pairs.iter().map(|&pair| pair.to_owned()).collect();
            verdict.coverage(&needed)
        };
        assert_eq!(coverage(|_| {}, Some(0), &[]), SessionCoverage::Everything);
        // Open calls of the last turn may go.
        let open = |entries: &mut Vec<HistoryEntry>| {
            let open = |id: &str| CALLS.iter().skip(REAL).any(|(own, _)| *own == id);
            entries.retain(|entry| !matches!(entry, HistoryEntry::Call(id) | HistoryEntry::Answer(id, _) if open(id)));
        };
        assert_eq!(coverage(open, Some(0), &[]), SessionCoverage::Everything);
        assert_eq!(
            coverage(|entries| drop(entries.remove(0)), Some(0), &[]),
            SessionCoverage::Part
        );
        assert_eq!(
            coverage(|entries| drop(entries.remove(5)), Some(0), &[]),
            SessionCoverage::Part
        );
        assert_eq!(coverage(|_| {}, Some(1), &[]), SessionCoverage::Nothing);
        assert_eq!(coverage(|_| {}, Some(0), &["FW102"]), SessionCoverage::Nothing);
    }

    #[test]
    fn nothing_less_than_everything_passes() {
        assert_eq!(judged(|_| {}), Vec::<String>::new());
        assert_eq!(
            judged(|entries| entries.insert(4, HistoryEntry::User("a note".to_owned()))),
            [""; 0]
        );
        let first = |change| judged(change).first().cloned().unwrap_or_default();
        // A reply that stands twice in the file may be sent as one; a second copy of one may not come from nowhere.
        let twice = |entries: &mut Vec<HistoryEntry>| entries.insert(2, entries[1].clone());
        let joined = |entries: &mut Vec<HistoryEntry>| {
            entries[1] = HistoryEntry::Assistant(REPLIES[0].repeat(2));
        };
        assert_eq!(judged_as(twice, joined), [""; 0]);
        assert_eq!(judged_as(twice, twice), [""; 0]);
        assert!(!judged(joined).is_empty());
        let table: [(Change, &str); 4] = [
            (|entries| drop(entries.remove(0)), "not in the request, or out of order: user"),
            (|entries| entries.swap(4, 5), "not in the request, or out of order: call_three_2"),
            (|entries| entries.push(entries[4].clone()), "calls and answers differ"),
            (
                |entries| {
                    entries.pop();
                },
                "the prompt is not the last thing said",
            ),
        ];
        for (change, expected) in table {
            let found = first(change);
            assert!(found.starts_with(expected), "{found}");
        }
    }
}
