//! Conversations that begin alike, each with an agent of its own: no tool result of one is ever told
//! to another.

use serde_json::{Value, json};

use crate::{
    chat::{Call, Chat, Door, PATH, Turn, please},
    stage::Stage,
    stories::World as _,
    wire::{post, send},
};

/// A client with headers of its own.
struct Client {
    number: usize,
    headers: String,
    chat: Chat,
    /// The calls of its first reply, and how many of them it has answered.
    calls: Vec<Call>,
    answered: usize,
    said: Option<String>,
}

impl Client {
    fn new(number: usize, name: &str) -> Client {
        let headers = match name {
            "" => String::new(),
            name => format!("x-foxwedge-session: {name}\r\n"),
        };
        let mut chat = Chat::new("agent", &["look"]);
        chat.say(&please(&[("look", json!({"n": 1})), ("look", json!({"n": 2}))]));
        Client { number, headers, chat, calls: Vec::new(), answered: 0, said: None }
    }

    fn send(&self, door: &Door, more: &str) -> Turn {
        let headers = format!("x-foxwedge-token: {}\r\n{}{more}", door.token, self.headers);
        let bytes = post(PATH, &headers, self.chat.body().to_string());
        let answer = send(&door.address, &bytes).expect("a reply");
        Turn::read(answer, false).expect("a whole reply")
    }

    /// The words with which it answers a call.
    fn words(&self, at: usize) -> String {
        format!("client {} says {at}", self.number)
    }

    /// Its next request: it begins, or answers one call or both. It may keep the replies that only
    /// list what is open, or the first reply alone.
    fn step(&mut self, door: &Door, both: bool, keeps: bool) {
        if self.calls.is_empty() {
            let turn = self.send(door, "");
            assert_eq!(turn.calls.len(), 2, "client {}: {turn:?}", self.number);
            assert_eq!(turn.header("x-foxwedge-replayed"), "", "asked on purpose");
            self.chat.messages.push(turn.message());
            self.calls = turn.calls;
            return;
        }
        let until = if both { 2 } else { self.answered + 1 };
        for at in self.answered..until {
            let (call, words) = (self.calls[at].clone(), self.words(at));
            self.chat.answer_with(&call, &words);
        }
        self.answered = until;
        let turn = self.send(door, "");
        if until == 2 {
            self.said = Some(turn.text);
            return;
        }
        assert_eq!(turn.ids(), [self.calls[1].id.as_str()], "client {}", self.number);
        if keeps {
            self.chat.messages.push(turn.message());
        }
    }

    fn is_told_its_own(&self, seed: u64) {
        let own = format!("The tools said: {} | {}", self.words(0), self.words(1));
        assert_eq!(self.said.as_deref(), Some(own.as_str()), "seed {seed}, {}", self.number);
    }
}

#[test]
fn no_tool_result_of_a_conversation_reaches_another() {
    let stage = Stage::plain();
    let door = stage.door();
    for seed in 1..=12_u64 {
        let mut dice = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut roll = |sides: u64| {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            usize::try_from(dice % sides).expect("small")
        };
        let names = ["", "", "", &format!("one-{seed}"), &format!("two-{seed}")];
        let mut clients: Vec<Client> =
            names.iter().enumerate().map(|(at, name)| Client::new(at, name)).collect();
        while clients.iter().any(|client| client.said.is_none()) {
            let at = roll(clients.len() as u64);
            let (both, keeps) = (roll(2) == 0, roll(2) == 0);
            if clients[at].said.is_none() {
                clients[at].step(&door, both, keeps);
            }
        }
        clients.iter().for_each(|client| client.is_told_its_own(seed));
    }
    stage.end();
}

#[test]
fn a_named_conversation_gets_neither_the_calls_nor_the_answers_of_another() {
    let stage = Stage::plain();
    let door = stage.door();
    let (mut one, mut two) = (Client::new(1, "one"), Client::new(2, "two"));
    one.step(&door, true, true);
    two.step(&door, true, true);
    assert_eq!(stage.count("start"), 2, "each has an agent of its own");
    one.step(&door, false, true);
    two.step(&door, true, true);
    one.step(&door, true, true);
    one.is_told_its_own(0);
    two.is_told_its_own(0);
    stage.end();
}

#[test]
fn the_same_opening_again_is_a_new_conversation_and_a_marked_retry_is_not() {
    let stage = Stage::plain();
    let door = stage.door();
    let mut chat = Chat::new("agent", &[]);
    chat.say("is the site up?");
    let ask = |headers: &str| -> (Value, String, String) {
        let headers = format!("x-foxwedge-token: {}\r\n{headers}", door.token);
        let answer = send(&door.address, &post(PATH, &headers, chat.body().to_string()));
        let turn = Turn::read(answer.expect("a reply"), false).expect("a whole reply");
        let told = |name: &str| turn.header(name).to_owned();
        (turn.answer.json(), told("x-foxwedge-run"), told("x-foxwedge-replayed"))
    };
    for (name, own) in [("", ""), ("x-session-id: cron\r\n", "x-session-id: cron\r\n")] {
        let runs = [ask(name), ask(name)].map(|(_, run, replayed)| {
            assert_eq!(replayed, "", "asked on purpose");
            run
        });
        assert_ne!(runs[0], runs[1]);
        let keyed = format!("{own}idempotency-key: k\r\n");
        let (first, run, _) = ask(&keyed);
        let (again, same, replayed) = ask(&keyed);
        assert_eq!((first, run, "true"), (again, same, replayed.as_str()));
    }
    stage.end();
}
