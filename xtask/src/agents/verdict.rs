//! What a resumed agent still knows, and whether that is enough.

use super::{
    script::{CALLS, PROMPTS, REPLIES},
    told::Word,
};

/// How an agent went on with a session.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    /// Its exit code; none if it had to be killed.
    pub(super) code: Option<i32>,
    /// Whether the follow-up was answered.
    pub(super) answered: bool,
    /// What the model was shown.
    pub(super) shown: Option<Measure>,
    /// What is wrong with the calls and answers that the model was shown.
    pub(super) pairs: Vec<String>,
    /// Expectations that were not met.
    pub(super) troubles: Vec<String>,
}

/// What of the story is in a request.
#[derive(Debug, Default)]
pub(super) struct Measure {
    words: Vec<Word>,
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

/// So many calls of the story are answered before the kill.
const REAL: usize = 4;

/// What there is to be known.
pub(super) struct Whole {
    pub(super) prompts: usize,
    pub(super) replies: usize,
    pub(super) calls: usize,
    pub(super) answers: usize,
}

impl Whole {
    /// What is left to be known of the calls that reached the disk, when an answer is lost.
    pub(super) fn of(calls: &[&str], lost: Option<&str>) -> Whole {
        let answers = CALLS.iter().take(REAL).filter(|(id, _)| calls.contains(id)).count();
        Whole {
            prompts: PROMPTS.len(),
            replies: REPLIES.len(),
            calls: calls.len(),
            answers: answers - usize::from(lost.is_some()),
        }
    }
}

/// What a resumed agent has to know.
pub(super) struct Expected<'e> {
    /// What `foxwedge resume` tells.
    pub(super) history: Vec<Word>,
    /// The calls that reached the disk.
    pub(super) calls: &'e [&'static str],
    /// What the user asks now.
    pub(super) prompt: &'e str,
    /// The call whose answer the damage took.
    pub(super) lost: Option<&'e str>,
    /// Calls that the agent does not see in a healthy session either.
    pub(super) blind: Vec<&'static str>,
}

/// What a session file holds of the story.
pub(super) struct Needed<'n> {
    /// The calls that were answered.
    pub(super) calls: Vec<&'n str>,
    /// The call whose answer the damage took.
    pub(super) lost: Option<&'n str>,
    /// The agent breaks pairs of healthy sessions as well.
    pub(super) breaks_pairs: bool,
}

/// How much of a session file an agent goes on with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Seen {
    Everything,
    Part,
    /// It does not go on, or its provider would refuse what it sends.
    Nothing,
}

impl Seen {
    pub(super) fn words(self) -> &'static str {
        match self {
            Seen::Everything => "the agent goes on with everything",
            Seen::Part => "the agent leaves something out",
            Seen::Nothing => "the agent cannot go on",
        }
    }
}

impl Measure {
    pub(super) fn of(words: Vec<Word>) -> Measure {
        let mut measure = Measure::default();
        for word in &words {
            match word {
                Word::User(text) => {
                    measure.prompts += PROMPTS.iter().filter(|it| text.contains(**it)).count();
                }
                Word::Assistant(text) => {
                    measure.replies += REPLIES.iter().filter(|it| text.contains(**it)).count();
                }
                Word::Call(id) => measure.calls += usize::from(is_known(id)),
                Word::Answer(id, text) if text.starts_with("[foxwedge] ") => {
                    measure.ours += usize::from(is_known(id));
                }
                Word::Answer(id, text) if is_real(id, text) => measure.real += 1,
                Word::Answer(id, _) => measure.theirs += usize::from(is_known(id)),
            }
        }
        measure.words = words;
        measure
    }

    /// Whether the real answer to a call is there.
    fn knows(&self, id: &str) -> bool {
        let is_it =
            |word: &Word| matches!(word, Word::Answer(own, text) if own == id && is_real(id, text));
        self.words.iter().any(is_it)
    }
}

fn is_known(id: &str) -> bool {
    CALLS.iter().any(|(own, _)| *own == id)
}

fn is_real(id: &str, text: &str) -> bool {
    CALLS.iter().any(|(own, output)| *own == id && text.contains(output))
}

impl Verdict {
    pub(super) fn new(code: Option<i32>, answered: bool) -> Verdict {
        Verdict { code, answered, ..Verdict::default() }
    }

    /// It did not come that far.
    pub(super) fn trouble(what: String) -> Verdict {
        Verdict { troubles: vec![what], ..Verdict::default() }
    }

    /// Calls of the second turn that the model was not shown.
    pub(super) fn missing(&self) -> Vec<&'static str> {
        let knows = |id: &str| self.shown.as_ref().is_some_and(|shown| shown.knows(id));
        CALLS.iter().take(3).map(|(id, _)| *id).filter(|id| !knows(id)).collect()
    }

    /// How much of what a file holds the agent went on with.
    pub(super) fn seen(&self, needed: &Needed<'_>) -> Seen {
        let refused = !needed.breaks_pairs && !self.pairs.is_empty();
        let Some(shown) = &self.shown else { return Seen::Nothing };
        if refused || self.code != Some(0) || !self.answered {
            return Seen::Nothing;
        }
        let called = |id: &str| shown.words.contains(&Word::Call(id.to_owned()));
        let is_there = |id: &&str| called(id) && (needed.lost == Some(*id) || shown.knows(id));
        let said = shown.prompts >= PROMPTS.len() && shown.replies >= REPLIES.len();
        if said && needed.calls.iter().all(is_there) { Seen::Everything } else { Seen::Part }
    }

    pub(super) fn demand(&mut self, is_so: bool, what: impl FnOnce() -> String) {
        if !is_so {
            self.troubles.push(what());
        }
    }

    /// Demands that the model was shown everything that the history tells, as it tells it, and
    /// that nothing is missing but what the damage took.
    pub(super) fn demand_everything(&mut self, expected: &Expected<'_>) {
        let code = self.code;
        self.demand(code == Some(0), || format!("exit code {code:?}"));
        self.demand(self.answered, || "the follow-up was not answered".to_owned());
        let pairs = self.pairs.join(", ");
        self.demand(pairs.is_empty(), || format!("the request breaks rules: {pairs}"));
        let Some(words) = self.shown.as_ref().map(|shown| shown.words.as_slice()) else {
            return self.demand(false, || "the model was not asked".to_owned());
        };
        let (shown, history) = (expected.seen(words), expected.seen(&expected.history));
        self.demand_words(&history, &shown);
        self.demand_story(expected, &Measure::of(shown));
    }

    /// The request tells the history: every word in its order, and no other calls or answers.
    fn demand_words(&mut self, history: &[Word], shown: &[Word]) {
        let mut rest = shown.iter();
        if let Some(missing) = history.iter().find(|word| !rest.any(|told| told == *word)) {
            let missing = brief(missing);
            self.demand(false, || format!("not in the request, or out of order: {missing}"));
        }
        let pairs = |words: &[Word]| -> Vec<String> {
            let halves = words.iter().filter(|it| matches!(it, Word::Call(_) | Word::Answer(..)));
            halves.map(brief).collect()
        };
        let (told, sent) = (pairs(history), pairs(shown));
        self.demand(told == sent, || {
            format!(
                "calls and answers differ\n  told: {}\n  sent: {}",
                told.join(", "),
                sent.join(", ")
            )
        });
    }

    /// The request tells the story that was made here, whatever any history says.
    fn demand_story(&mut self, expected: &Expected<'_>, shown: &Measure) {
        let calls = expected.calls.len() - expected.blind.len();
        let counts = [shown.prompts, shown.replies, shown.calls, shown.real + shown.ours];
        let all = [PROMPTS.len(), REPLIES.len(), calls, calls];
        self.demand(counts == all, || {
            format!("prompts, replies, calls, answers: {counts:?} instead of {all:?}")
        });
        self.demand(shown.theirs == 0, || format!("{} answers of its own", shown.theirs));
        for (id, _) in CALLS.iter().take(REAL).filter(|(id, _)| expected.calls.contains(id)) {
            let gone = expected.lost == Some(*id) || expected.blind.contains(id);
            self.demand(gone || shown.knows(id), || format!("the real answer to `{id}` is lost"));
        }
        let last = shown.words.iter().rfind(|word| matches!(word, Word::User(_)));
        let asks = matches!(last, Some(Word::User(text)) if text.contains(expected.prompt));
        self.demand(asks, || "the prompt is not the last thing said".to_owned());
    }
}

impl Expected<'_> {
    /// What the agent can see at all.
    fn seen(&self, words: &[Word]) -> Vec<Word> {
        let is_seen = |word: &&Word| match word {
            Word::Call(id) | Word::Answer(id, _) => !self.blind.contains(&id.as_str()),
            Word::User(_) | Word::Assistant(_) => true,
        };
        words.iter().filter(is_seen).cloned().collect()
    }
}

/// A word, short enough for a line.
fn brief(word: &Word) -> String {
    let short = |text: &str| text.chars().take(30).collect::<String>().replace('\n', " ");
    match word {
        Word::User(text) => format!("user `{}`", short(text)),
        Word::Assistant(text) => format!("assistant `{}`", short(text)),
        Word::Call(id) => id.clone(),
        Word::Answer(id, text) => format!("{id} = `{}`", short(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole story with the answers that came, and our words for those that did not.
    fn story(prompt: &str) -> Vec<Word> {
        let mut words = vec![Word::User(PROMPTS[0].to_owned())];
        words.push(Word::Assistant(REPLIES[0].to_owned()));
        for turn in 0..2 {
            words.push(Word::User(PROMPTS[turn + 1].to_owned()));
            words.push(Word::Assistant(REPLIES[turn + 1].to_owned()));
            let calls = CALLS.iter().skip(turn * 3).take(3);
            words.extend(calls.clone().map(|(id, _)| Word::Call((*id).to_owned())));
            words.extend(calls.enumerate().map(|(at, (id, output))| {
                let ours = turn * 3 + at >= REAL;
                let text = if ours { "[foxwedge] Interrupted" } else { *output };
                Word::Answer((*id).to_owned(), text.to_owned())
            }));
        }
        words.push(Word::Assistant(REPLIES[3].to_owned()));
        words.push(Word::User(prompt.to_owned()));
        words
    }

    /// What is done to the story.
    type Change = fn(&mut Vec<Word>);

    fn judged(change: Change) -> Vec<String> {
        let mut history = story("on");
        history.pop();
        let calls = CALLS.map(|(id, _)| id);
        let (calls, blind) = (calls.as_slice(), Vec::new());
        let expected = Expected { history, calls, prompt: "on", lost: None, blind };
        let mut words = story("on");
        change(&mut words);
        let mut verdict = Verdict::new(Some(0), true);
        verdict.shown = Some(Measure::of(words));
        verdict.demand_everything(&expected);
        verdict.troubles
    }

    #[test]
    fn an_agent_that_leaves_something_out_is_told_from_one_that_cannot_go_on() {
        let calls = CALLS.iter().take(REAL).map(|(id, _)| *id).collect();
        let needed = Needed { calls, lost: None, breaks_pairs: false };
        let seen = |change: Change, code, pairs: &[&str]| {
            let mut words = story("on");
            change(&mut words);
            let mut verdict = Verdict::new(code, true);
            verdict.shown = Some(Measure::of(words));
            verdict.pairs = pairs.iter().map(|&pair| pair.to_owned()).collect();
            verdict.seen(&needed)
        };
        assert_eq!(seen(|_| {}, Some(0), &[]), Seen::Everything);
        // Open calls of the last turn may go.
        let open = |words: &mut Vec<Word>| {
            let open = |id: &str| CALLS.iter().skip(REAL).any(|(own, _)| *own == id);
            words.retain(|word| !matches!(word, Word::Call(id) | Word::Answer(id, _) if open(id)));
        };
        assert_eq!(seen(open, Some(0), &[]), Seen::Everything);
        assert_eq!(seen(|words| drop(words.remove(0)), Some(0), &[]), Seen::Part);
        assert_eq!(seen(|words| drop(words.remove(5)), Some(0), &[]), Seen::Part);
        assert_eq!(seen(|_| {}, Some(1), &[]), Seen::Nothing);
        assert_eq!(seen(|_| {}, Some(0), &["FW102"]), Seen::Nothing);
    }

    #[test]
    fn nothing_less_than_everything_will_do() {
        assert_eq!(judged(|_| {}), Vec::<String>::new());
        assert_eq!(judged(|words| words.insert(4, Word::User("a note".to_owned()))), [""; 0]);
        let first = |change| judged(change).first().cloned().unwrap_or_default();
        let table: [(Change, &str); 4] = [
            (|words| drop(words.remove(0)), "not in the request, or out of order: user"),
            (|words| words.swap(4, 5), "not in the request, or out of order: call_three_2"),
            (|words| words.push(words[4].clone()), "calls and answers differ"),
            (
                |words| {
                    words.pop();
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
