//! The calls that an agent waits for: who knows of them, who has answered, who wants to hear.

use std::collections::VecDeque;

use foxwedge_core::Missing;

use super::{
    Fault, RequestCheck,
    held::{Given, Giver, Held, Origin, Stage, Wish},
};
use crate::{Answer, Call, Order, Tail};

/// Ids of calls that are over are known for a while: so many of them.
const GONE: usize = 1024;

/// All calls that are not over, in call order.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls {
    list: Vec<Held>,
    /// Wishes for calls that are still to be said.
    early: Vec<Wish>,
    gone: VecDeque<Gone>,
}

/// A call that is over.
#[derive(Clone, Debug)]
struct Gone {
    id: String,
    /// What a further answer is called.
    another: &'static str,
    /// The agent is still to say that it has the answer.
    unconfirmed: bool,
}

/// Whether the agent is saying a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Saying {
    On,
    Over,
}

/// What became of the answers of a request.
pub(super) struct TakenAnswers {
    pub(super) check: RequestCheck,
    /// The request says something: words, or an answer that somebody waited for.
    pub(super) useful: bool,
}

/// What became of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Took {
    /// It is kept.
    Taken,
    /// The client owed it, and the agent does not want it any more.
    Late,
    /// It is of no use: `duplicate` or `late`.
    Useless(&'static str),
    /// Nobody knows its call.
    Unknown,
}

impl Calls {
    /// The model has said a call.
    pub(super) fn said(&mut self, call: Call, text: String) {
        let fits = |wish: &Wish| wish.call.as_ref() == Some(&call.id);
        let alike = |wish: &Wish| wish.call.is_none() && wish.name == call.name;
        let same = |wish: &Wish| alike(wish) && wish.arguments == call.arguments;
        let place = |fits: &dyn Fn(&Wish) -> bool| self.early.iter().position(fits);
        let early = place(&fits).or_else(|| place(&same)).or_else(|| place(&alike));
        let tickets = early.map(|at| self.early.remove(at).ticket).into_iter().collect();
        self.list.push(Held::said(call, text, tickets));
    }

    /// The agent wants an answer. Gives the wish back if its call is not known.
    pub(super) fn wanted(&mut self, wish: Wish) -> Option<Wish> {
        let known = |held: &Held| held.tickets.contains(&wish.ticket);
        if self.list.iter().any(known) || self.early.iter().any(|it| it.ticket == wish.ticket) {
            return None;
        }
        let free = |held: &Held| held.tickets.is_empty();
        let fits = |held: &Held| Some(&held.call.id) == wish.call.as_ref();
        let alike = |held: &Held| wish.call.is_none() && free(held) && held.call.name == wish.name;
        let same = |held: &Held| alike(held) && held.call.arguments == wish.arguments;
        let place = |fits: &dyn Fn(&Held) -> bool| self.list.iter().position(fits);
        let found = place(&|held| fits(held) && free(held)).or_else(|| place(&fits));
        let found = found.or_else(|| place(&same)).or_else(|| place(&alike));
        match found.and_then(|at| self.list.get_mut(at)) {
            Some(held) => {
                held.tickets.push(wish.ticket);
                held.closed = false;
                if matches!(held.stage, Stage::Shut) {
                    held.stage = Stage::Told;
                }
            }
            None => return Some(wish),
        }
        None
    }

    /// A wish whose call is still to be said.
    pub(super) fn wait_for(&mut self, wish: Wish) {
        self.early.push(wish);
    }

    /// Nothing more is said: wishes that are left are calls of their own.
    pub(super) fn nothing_more_is_said(&mut self) {
        for wish in std::mem::take(&mut self.early) {
            self.wished(wish);
        }
    }

    /// A call of which only the wish is known.
    pub(super) fn wished(&mut self, wish: Wish) {
        self.list.push(Held::wished(wish));
    }

    /// The client answers. A request that says nothing but answers to unknown calls is refused, and
    /// changes nothing. `news`: the agent went on without the client, and an answer that comes late
    /// is a reason to hear of it.
    pub(super) fn take_answers(&mut self, tail: &Tail, news: bool) -> TakenAnswers {
        let mut useful = !tail.words.is_empty();
        let (mut ignored, mut unknown, mut known) = (Vec::new(), None, false);
        for answer in &tail.answers {
            let id = &answer.call;
            let took = self.answer(answer);
            known |= news && took != Took::Unknown;
            match took {
                Took::Taken => useful = true,
                Took::Late => {
                    useful = true;
                    ignored.push(("late", id.clone()));
                }
                Took::Useless(why) => ignored.push((why, id.clone())),
                Took::Unknown => {
                    unknown.get_or_insert(id);
                    ignored.push(("unknown", id.clone()));
                }
            }
        }
        let fault = unknown.filter(|_| !useful && !known).map(|id| Fault {
            status: 400,
            code: "unknown_call",
            message: format!("no open call has the id `{id}`"),
        });
        TakenAnswers { check: RequestCheck { fault, ignored }, useful }
    }

    fn answer(&mut self, answer: &Answer) -> Took {
        let told = |held: &Held| held.is_owed() && held.call.id == answer.call;
        if let Some(at) = self.list.iter().position(told) {
            if self.list.get(at).is_some_and(|held| matches!(held.stage, Stage::Shut)) {
                let id = self.list.remove(at).call.id;
                self.bury(Gone { id, another: "late", unconfirmed: false });
                return Took::Late;
            }
            if let Some(held) = self.list.get_mut(at) {
                let (content, error) = (answer.content.clone(), answer.error);
                held.stage = Stage::Answered(Given { content, error, by: Giver::Client });
            }
            return Took::Taken;
        }
        let mut named = self.list.iter().filter(|held| held.call.id == answer.call);
        let given = named.find_map(Held::another);
        let gone = || self.gone.iter().rev().find(|gone| gone.id == answer.call);
        match given.or_else(|| gone().map(|gone| gone.another)) {
            Some(another) => Took::Useless(another),
            None => Took::Unknown,
        }
    }

    /// The client goes on without answering: nobody will. Calls of a message that is still being
    /// said are left for its end.
    pub(super) fn cancel(&mut self, message: Saying) {
        let shut = self.take(|held| matches!(held.stage, Stage::Shut));
        self.over(shut);
        for held in &mut self.list {
            match (&held.stage, message) {
                (Stage::New, Saying::On) => {}
                _ => held.cancel(),
            }
        }
    }

    /// The client did not answer in time: an error stands for each answer that it owes. Tells whose.
    pub(super) fn time_out(&mut self) -> Vec<String> {
        let shut = self.take(|held| matches!(held.stage, Stage::Shut));
        let mut calls: Vec<String> = shut.iter().map(|held| held.call.id.clone()).collect();
        self.over(shut);
        for held in self.list.iter_mut().filter(|held| matches!(held.stage, Stage::Told)) {
            calls.push(held.call.id.clone());
            held.close(Missing::TimedOut);
        }
        calls
    }

    /// Answers that can go to the agent now, in call order: all of them, once none is missing, as
    /// far as the agent wants them. They do not wait for calls of a message that is still being
    /// said.
    pub(super) fn deliver(&mut self, message: Saying) -> Vec<Order> {
        let missing = self.list.iter().any(|held| match (&held.stage, message) {
            (Stage::Told, _) | (Stage::New, Saying::Over) => true,
            (Stage::New, Saying::On) | (Stage::Shut | Stage::Answered(_) | Stage::Due(_), _) => {
                false
            }
        });
        if !missing {
            for held in &mut self.list {
                held.stage = match std::mem::replace(&mut held.stage, Stage::New) {
                    Stage::Answered(given) => Stage::Due(given),
                    stage @ (Stage::New | Stage::Told | Stage::Shut | Stage::Due(_)) => stage,
                };
            }
        }
        let mut orders = Vec::new();
        let due = |held: &Held| matches!(held.stage, Stage::Due(_)) && !held.tickets.is_empty();
        for held in self.take(due) {
            let Held { call, tickets, stage: Stage::Due(given), .. } = held else { continue };
            let Given { content, error, by } = given;
            for ticket in tickets {
                orders.push(Order::Answer { ticket, content: content.clone(), error });
            }
            self.bury(Gone { id: call.id, another: by.another(), unconfirmed: true });
        }
        orders
    }

    /// The agent says that a call has its answer. Tells an answer of the client that is not
    /// wanted any more.
    pub(super) fn close(&mut self, id: &str) -> Vec<String> {
        let confirmed = self.gone.iter_mut().find(|gone| gone.unconfirmed && gone.id == id);
        if let Some(gone) = confirmed {
            gone.unconfirmed = false;
            return Vec::new();
        }
        self.early.retain(|wish| wish.call.as_deref() != Some(id));
        let named = |held: &&mut Held| held.call.id == id && !matches!(held.stage, Stage::Shut);
        match self.list.iter_mut().find(named) {
            Some(held) => held.closed = true,
            None => return Vec::new(),
        }
        self.shut(|held| held.closed).0
    }

    /// The agent does not want an answer any more. A call of which nothing but the wish was known
    /// is over then.
    pub(super) fn withdraw(&mut self, ticket: &str) -> Vec<String> {
        self.early.retain(|wish| wish.ticket != ticket);
        for held in &mut self.list {
            held.tickets.retain(|it| it != ticket);
        }
        self.shut(|held| held.tickets.is_empty() && held.origin == Origin::Wished).0
    }

    /// The agent has gone on: calls that it does not wait for are over. Tells answers that came for
    /// nothing, and whether the client still believes that one is wanted.
    pub(super) fn went_on(&mut self) -> (Vec<String>, bool) {
        self.shut(|held| held.tickets.is_empty())
    }

    /// The agent wants no answers to these any more. The client never hears of those that it does
    /// not know yet.
    fn shut(&mut self, these: impl Fn(&Held) -> bool) -> (Vec<String>, bool) {
        let mut abandoned = false;
        for held in self.list.iter_mut().filter(|held| these(held)) {
            held.tickets.clear();
            if matches!(held.stage, Stage::Told) {
                held.stage = Stage::Shut;
                abandoned = true;
            }
        }
        let over = self.take(|held| these(held) && !matches!(held.stage, Stage::Shut));
        (self.over(over), abandoned)
    }

    /// Calls that the client was told of before and has not answered: it is told once more.
    pub(super) fn owed(&self, most: usize) -> Vec<(Call, String)> {
        let owed = self.list.iter().filter(|held| held.is_owed()).take(most);
        owed.map(|held| (held.call.clone(), held.text.clone())).collect()
    }

    /// The calls that the client does not know yet: it is told now.
    pub(super) fn hand_out(&mut self, most: usize) -> Vec<(Call, String)> {
        let new = self.list.iter_mut().filter(|held| matches!(held.stage, Stage::New));
        let told = new.take(most).map(|held| {
            held.stage = Stage::Told;
            (held.call.clone(), held.text.clone())
        });
        told.collect()
    }

    /// Calls that the client knows of and has not answered.
    pub(super) fn open(&self) -> impl Iterator<Item = &Call> {
        self.list.iter().filter(|held| held.is_owed()).map(|held| &held.call)
    }

    /// Whether the agent waits for an answer of the client.
    pub(super) fn any_unanswered(&self) -> bool {
        self.list.iter().any(Held::is_unanswered)
    }

    /// Whether an answer waits for the agent's wish.
    pub(super) fn any_due(&self) -> bool {
        self.list.iter().any(|held| matches!(held.stage, Stage::Due(_)))
    }

    /// Takes out calls that are over.
    fn take(&mut self, over: impl Fn(&Held) -> bool) -> Vec<Held> {
        if !self.list.iter().any(&over) {
            return Vec::new();
        }
        let (over, list) = std::mem::take(&mut self.list).into_iter().partition(over);
        self.list = list;
        over
    }

    /// Remembers calls that the agent answered itself; tells answers that came for nothing.
    fn over(&mut self, held: Vec<Held>) -> Vec<String> {
        let mut late = Vec::new();
        for held in held {
            let id = held.call.id;
            match held.stage {
                Stage::New => continue,
                Stage::Told | Stage::Shut => {}
                Stage::Answered(given) | Stage::Due(given) => {
                    late.extend((given.by == Giver::Client).then(|| id.clone()));
                }
            }
            self.bury(Gone { id, another: "late", unconfirmed: false });
        }
        late
    }

    fn bury(&mut self, gone: Gone) {
        if self.gone.len() == GONE {
            self.gone.pop_front();
        }
        self.gone.push_back(gone);
    }
}
