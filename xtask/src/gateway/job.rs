//! What clients are asked to do, and which upstream answers them.

use serde_json::{Value, json};

use super::{
    client::{CLIENTS, Client, Face, Language},
    server::Server,
};
use crate::judges::Question;

/// What a client does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Task {
    /// Two tools called in one reply, both answered, the reply to that, and a second question.
    Talk,
    /// The same, by a model that thinks before it calls.
    Think,
    /// A call that nobody answered, and an answer that nobody asked for.
    Broken,
    /// Too many requests.
    Limited,
    /// A request that is refused.
    Refused,
    /// A reply that breaks off.
    Cut,
    /// An upstream that fails once.
    Retried,
    /// The list of models.
    Models,
    /// How many tokens a question has.
    Count,
    /// A conversation that the client would like to keep on the server.
    Threads,
}

impl Task {
    /// What the table has a column for.
    pub(super) const COLUMNS: [&'static str; 7] =
        ["talks", "thinks", "broken", "errors", "cuts", "retries", "others"];

    /// Its column.
    pub(super) fn column(self) -> usize {
        match self {
            Task::Talk => 0,
            Task::Think => 1,
            Task::Broken => 2,
            Task::Limited | Task::Refused => 3,
            Task::Cut => 4,
            Task::Retried => 5,
            Task::Models | Task::Count | Task::Threads => 6,
        }
    }

    /// What the scripts call it.
    fn name(self) -> &'static str {
        match self {
            Task::Talk => "talk",
            Task::Think => "think",
            Task::Broken => "broken",
            Task::Limited | Task::Refused | Task::Cut | Task::Retried => "say",
            Task::Models => "models",
            Task::Count => "count",
            Task::Threads => "threads",
        }
    }

    /// What the model is told to do wrong.
    fn fault(self) -> Option<&'static str> {
        match self {
            Task::Limited => Some("status=429"),
            Task::Refused => Some("status=400"),
            Task::Cut => Some("cut=3"),
            Task::Retried => Some("status=500&fail-first=1"),
            Task::Talk
            | Task::Think
            | Task::Broken
            | Task::Models
            | Task::Count
            | Task::Threads => None,
        }
    }
}

/// Which upstream answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Upstream {
    /// One that speaks every format, so that bodies pass as they are.
    Every,
    /// One that speaks this one only.
    Only(&'static str),
}

impl Upstream {
    /// The formats of which there is one that speaks nothing else.
    pub(super) const SPOKEN: [&'static str; 4] =
        ["openai-chat", "openai-responses", "anthropic", "gemini"];

    /// The model that leads there.
    fn model(self, fault: Option<&str>) -> String {
        let name = match self {
            Upstream::Every => "scripted".to_owned(),
            Upstream::Only(format) => format!("only-{format}"),
        };
        fault.map_or(name.clone(), |fault| format!("{name}?{fault}"))
    }

    /// Every upstream that has to be asked in another format than this.
    fn across(face: Face) -> impl Iterator<Item = Upstream> {
        let own = match face {
            Face::Chat => "openai-chat",
            Face::Responses => "openai-responses",
            Face::Messages => "anthropic",
        };
        Upstream::SPOKEN.into_iter().filter(move |format| *format != own).map(Upstream::Only)
    }
}

/// The faults that a model of one format is asked for.
pub(super) const FAULTS: [Task; 4] = [Task::Limited, Task::Refused, Task::Cut, Task::Retried];

/// The routes to models of one format: the name that clients use, and the one the model knows.
pub(super) fn routes(format: &'static str) -> Vec<(String, String)> {
    let tasks = [None].into_iter().chain(FAULTS.into_iter().map(|task| task.fault()));
    let named = |fault| (Upstream::Only(format).model(fault), Upstream::Every.model(fault));
    tasks.map(named).collect()
}

/// One client, one task.
pub(super) struct Job {
    pub(super) client: &'static Client,
    pub(super) task: Task,
    pub(super) upstream: Upstream,
    pub(super) stream: bool,
    base: String,
    token: &'static str,
    /// Its place among the jobs of its language.
    number: usize,
}

impl Question for Job {
    fn line(&self) -> Value {
        json!({
            "client": self.client.module,
            "face": self.client.face.name(),
            "task": self.task.name(),
            "model": self.upstream.model(self.task.fault()),
            "stream": self.stream,
            // Two conversations that say the same cannot be told apart.
            "mark": format!("{}-{}", self.client.language.name(), self.number),
            "base": self.base,
            "token": self.token,
        })
    }

    fn told(&self) -> String {
        let Client { language, module, face, .. } = self.client;
        let (language, face, how) =
            (language.name(), face.name(), if self.stream { "stream" } else { "whole" });
        let model = self.upstream.model(self.task.fault());
        format!("{module} ({language}, {face}, {how}): {} with {model}", self.task.name())
    }
}

/// Everything that the clients of a language do.
pub(super) fn all(language: Language, server: &Server) -> Vec<Job> {
    let mut jobs = Vec::new();
    for client in CLIENTS.iter().filter(|client| client.language == language) {
        let mut add = |task, upstream, stream| {
            let (base, token) = (server.base().to_owned(), server.token());
            let number = jobs.len();
            jobs.push(Job { client, task, upstream, stream, base, token, number });
        };
        for stream in [false, true] {
            for upstream in [Upstream::Every].into_iter().chain(Upstream::across(client.face)) {
                add(Task::Talk, upstream, stream);
                add(Task::Think, upstream, stream);
            }
            FAULTS.iter().for_each(|task| add(*task, Upstream::Every, stream));
            add(Task::Broken, Upstream::Every, stream);
        }
        let across = Upstream::across(client.face).filter(|it| *it != Upstream::Only("gemini"));
        for upstream in across {
            add(Task::Broken, upstream, true);
            add(Task::Cut, upstream, true);
        }
        add(Task::Limited, Upstream::Only("gemini"), false);
        others(client, &mut add);
    }
    jobs
}

/// What only some can do.
fn others(client: &Client, add: &mut impl FnMut(Task, Upstream, bool)) {
    match (client.module, client.face) {
        ("openai_sdk", Face::Chat) => add(Task::Models, Upstream::Every, false),
        ("anthropic_sdk", Face::Messages) => {
            add(Task::Models, Upstream::Every, false);
            for upstream in [Upstream::Every, Upstream::Only("openai-chat")] {
                add(Task::Count, upstream, false);
                if client.language == Language::Python {
                    add(Task::Threads, upstream, false);
                    add(Task::Threads, upstream, true);
                }
            }
        }
        _ => {}
    }
}

/// A job of a client, for tests of what comes of it.
#[cfg(test)]
pub(super) fn one(client: &'static Client, task: Task) -> Job {
    let (upstream, base) = (Upstream::Every, String::new());
    Job { client, task, upstream, stream: false, base, token: "", number: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_of_one_format_is_known_by_its_own_name_with_every_fault() {
        let expected = [
            ("only-gemini", "scripted"),
            ("only-gemini?status=429", "scripted?status=429"),
            ("only-gemini?status=400", "scripted?status=400"),
            ("only-gemini?cut=3", "scripted?cut=3"),
            ("only-gemini?status=500&fail-first=1", "scripted?status=500&fail-first=1"),
        ];
        let expected = expected.map(|(from, to)| (from.to_owned(), to.to_owned()));
        assert_eq!(routes("gemini"), expected);
    }
}
