//! Counts what has happened.

/// What has happened at all, so that nobody believes in tests that test nothing.
#[derive(Default, Debug)]
pub(crate) struct Seen {
    pub(crate) replies: usize,
    pub(crate) again: usize,
    pub(crate) answers: usize,
    pub(crate) cancelled: usize,
    pub(crate) deaths: usize,
    pub(crate) stops: usize,
    pub(crate) troubles: usize,
    pub(crate) refused: usize,
    pub(crate) late: usize,
    pub(crate) duplicates: usize,
    pub(crate) lost_replies: usize,
    pub(crate) questions: usize,
    pub(crate) own: usize,
    pub(crate) timed_out: usize,
}

impl Seen {
    /// Adds what another conversation has seen.
    pub(crate) fn add(&mut self, seen: &Seen) {
        self.replies += seen.replies;
        self.again += seen.again;
        self.answers += seen.answers;
        self.cancelled += seen.cancelled;
        self.deaths += seen.deaths;
        self.stops += seen.stops;
        self.troubles += seen.troubles;
        self.refused += seen.refused;
        self.late += seen.late;
        self.duplicates += seen.duplicates;
        self.lost_replies += seen.lost_replies;
        self.questions += seen.questions;
        self.own += seen.own;
        self.timed_out += seen.timed_out;
    }

    /// Whether everything has happened often.
    pub(crate) fn is_enough(&self) -> bool {
        let Seen { replies, again, answers, cancelled, deaths, stops, troubles, .. } = self;
        let Seen { refused, late, duplicates, lost_replies, questions, own, timed_out, .. } = self;
        let first = [replies, again, answers, cancelled, deaths, stops, troubles];
        let second = [refused, late, duplicates, lost_replies, questions, own, timed_out];
        first.into_iter().chain(second).all(|count| *count > 20)
    }
}
