//! A random client that speaks chat. It keeps its history as clients do: what it sent, and what it
//! got.

use serde_json::Value;

use crate::dice::Dice;

/// A message of its history.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Message {
    User(String),
    Model {
        text: String,
        calls: Vec<Called>,
    },
    Answer {
        call: Called,
        text: String,
    },
    /// An answer that a client gives up. It is not sent; other providers would want it.
    Cancelled(Called),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Called {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

pub(crate) struct Client {
    pub(crate) messages: Vec<Message>,
    /// How many messages it had when it was told something last: what it had sent before, and that.
    pub(crate) tip: usize,
    /// Calls that it was told of and has not answered.
    pub(crate) owed: Vec<Called>,
    /// Those of them that it was told of last.
    pub(crate) listed: Vec<Called>,
    /// It took too long: nobody waits for what it owes any more, and it does not know that.
    pub(crate) expired: bool,
    pub(crate) serial: bool,
    pub(crate) prompts: usize,
    /// Everything that can be had back, if the last reply was lost.
    before: Option<Box<Before>>,
    pub(crate) texts: String,
    /// What it has said since the agent was started.
    pub(crate) said: Vec<String>,
    count: usize,
}

#[derive(Clone)]
struct Before {
    messages: Vec<Message>,
    tip: usize,
    texts: String,
    answered: Vec<Called>,
}

/// What a client does.
#[derive(Debug)]
pub(crate) enum Move {
    /// Sends its history; beside what is new in it, answers to these ids.
    Send {
        extra: Vec<String>,
    },
    /// Answers a call that nobody has made, and nothing else.
    Bogus,
    /// Sends the last request once more: the reply was lost.
    Again,
    Done,
}

impl Client {
    pub(crate) fn new(dice: &mut Dice) -> Client {
        Client {
            messages: Vec::new(),
            tip: 0,
            owed: Vec::new(),
            listed: Vec::new(),
            expired: false,
            serial: dice.chance(25),
            prompts: 1 + dice.below(3),
            before: None,
            texts: String::new(),
            said: Vec::new(),
            count: 0,
        }
    }

    /// Decides what to do, and writes it down.
    pub(crate) fn act(&mut self, dice: &mut Dice) -> Move {
        if dice.chance(2) {
            return Move::Bogus;
        }
        if self.before.is_some() && !self.expired && dice.chance(5) {
            return Move::Again;
        }
        let mut extra = Vec::new();
        if dice.chance(5) {
            extra.push("call_bogus".to_owned());
        }
        if self.owed.is_empty() {
            if self.prompts == 0 {
                return Move::Done;
            }
            self.prompts -= 1;
            self.before = None;
            self.speak();
            return Move::Send { extra };
        }
        let before = Before {
            messages: self.messages.clone(),
            tip: self.tip,
            texts: self.texts.clone(),
            answered: Vec::new(),
        };
        let mut answers = self.listed.clone();
        // It may have answered some, and the reply to that was lost with the agent.
        answers.retain(|call| self.owed.contains(call));
        if answers.is_empty() {
            answers.clone_from(&self.owed);
        }
        dice.shuffle(&mut answers);
        match dice.below(20) {
            0 => answers.clear(),
            1..=5 => answers.truncate(1 + dice.below(answers.len())),
            _ => {}
        }
        if answers.is_empty() {
            // Asks once more with nothing new, or says something else.
            extra.clear();
        }
        for call in &answers {
            self.answer(call);
            if dice.chance(5) {
                extra.push(call.id.clone());
            }
        }
        if dice.chance(8) {
            for call in std::mem::take(&mut self.owed) {
                self.messages.push(Message::Cancelled(call));
            }
            self.before = None;
            self.speak();
        } else {
            self.before = (!answers.is_empty() && extra.is_empty() && !self.expired)
                .then(|| Box::new(Before { answered: answers, ..before }));
        }
        Move::Send { extra }
    }

    fn answer(&mut self, call: &Called) {
        self.owed.retain(|owed| owed != call);
        let text = format!("answer to {}", call.name);
        self.messages.push(Message::Answer { call: call.clone(), text });
    }

    fn speak(&mut self) {
        self.count += 1;
        let words = format!("words {}", self.count);
        self.said.push(words.clone());
        self.messages.push(Message::User(words));
    }

    /// Forgets the last reply, as if it had been lost.
    pub(crate) fn lose(&mut self) {
        let Some(before) = self.before.clone() else { return };
        self.messages = before.messages;
        self.tip = before.tip;
        self.texts = before.texts;
        // What it owed then is what it owes now, but for what it answered.
        self.owed = open_in(&self.messages);
        for call in &before.answered {
            self.answer(call);
        }
    }

    /// A reply has come.
    pub(crate) fn hear(&mut self, text: String, calls: Vec<Called>) {
        if std::mem::take(&mut self.expired) {
            // Its history may lack answers; nobody waits for them.
            for call in std::mem::take(&mut self.owed) {
                self.messages.push(Message::Cancelled(call));
            }
        }
        self.texts.push_str(&text.replace("\n\n", ""));
        self.listed = calls.clone();
        if self.owed.is_empty() {
            self.owed = calls.clone();
        }
        self.messages.push(Message::Model { text, calls });
        self.tip = self.sent().count();
    }

    /// The agent is gone, or there was no reply: the next one begins with this history.
    pub(crate) fn start_over(&mut self) {
        self.before = None;
        self.expired = false;
        self.texts.clear();
        self.said.clear();
    }

    /// Whether it has given up a call of this tool.
    pub(crate) fn gave_up(&self, name: &str) -> bool {
        let given_up =
            |message: &Message| matches!(message, Message::Cancelled(call) if call.name == name);
        self.messages.iter().any(given_up)
    }

    fn sent(&self) -> impl Iterator<Item = &Message> {
        self.messages.iter().filter(|message| !matches!(message, Message::Cancelled(_)))
    }

    /// The request as it is sent.
    pub(crate) fn request(&self) -> String {
        body(self.sent(), self.serial)
    }

    /// The request with an answer for every call that it gave up.
    pub(crate) fn history(&self) -> String {
        body(self.messages.iter(), self.serial)
    }
}

/// Calls without an answer, each once.
fn open_in(messages: &[Message]) -> Vec<Called> {
    let mut open: Vec<Called> = Vec::new();
    for message in messages {
        match message {
            Message::User(_) => {}
            Message::Model { calls, .. } => {
                for call in calls {
                    if !open.contains(call) {
                        open.push(call.clone());
                    }
                }
            }
            Message::Answer { call, .. } | Message::Cancelled(call) => {
                open.retain(|it| it != call);
            }
        }
    }
    open
}

/// Written by hand: this is done very often.
fn body<'m>(messages: impl Iterator<Item = &'m Message>, serial: bool) -> String {
    let text = |text: &str| Value::from(text).to_string();
    let answer = |call: &Called, says: &str| {
        let (id, says) = (text(&call.id), text(says));
        format!(r#"{{"role":"tool","tool_call_id":{id},"content":{says}}}"#)
    };
    let called = |call: &Called| {
        let Called { id, name, arguments } = call;
        let (id, name, arguments) = (text(id), text(name), text(arguments));
        let function = format!(r#"{{"name":{name},"arguments":{arguments}}}"#);
        format!(r#"{{"id":{id},"type":"function","function":{function}}}"#)
    };
    let message = |message: &Message| match message {
        Message::User(says) => format!(r#"{{"role":"user","content":{}}}"#, text(says)),
        Message::Model { text: says, calls } if calls.is_empty() => {
            format!(r#"{{"role":"assistant","content":{}}}"#, text(says))
        }
        Message::Model { text: says, calls } => {
            let content = if says.is_empty() { "null".to_owned() } else { text(says) };
            let calls = calls.iter().map(called).collect::<Vec<_>>().join(",");
            format!(r#"{{"role":"assistant","content":{content},"tool_calls":[{calls}]}}"#)
        }
        Message::Answer { call, text } => answer(call, text),
        Message::Cancelled(call) => answer(call, "cancelled"),
    };
    let messages = messages.map(message).collect::<Vec<_>>().join(",");
    format!(r#"{{"model":"x","parallel_tool_calls":{},"messages":[{messages}]}}"#, !serial)
}
