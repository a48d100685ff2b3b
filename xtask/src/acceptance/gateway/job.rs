//! What clients do, and which upstream answers them.

use serde_json::{Value, json};

use super::client::{CLIENTS, ClientEndpoint, GatewayClient};
use crate::acceptance::{gateway_process::TOKEN, install::Language, script::ScriptJob};

/// What a client does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ClientTask {
    /// Two tools called in one reply, both answered, the reply to that, and a second question.
    Talk,
    /// The same, by a model that thinks before it calls.
    Think,
    /// A call without a result, and a result without a call.
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

impl ClientTask {
    /// What the table has a column for.
    pub(super) const COLUMNS: [&'static str; 7] =
        ["talks", "thinks", "broken", "errors", "cuts", "retries", "others"];

    /// Its column.
    pub(super) fn column(self) -> usize {
        match self {
            ClientTask::Talk => 0,
            ClientTask::Think => 1,
            ClientTask::Broken => 2,
            ClientTask::Limited | ClientTask::Refused => 3,
            ClientTask::Cut => 4,
            ClientTask::Retried => 5,
            ClientTask::Models | ClientTask::Count | ClientTask::Threads => 6,
        }
    }

    /// What the scripts call it.
    fn name(self) -> &'static str {
        match self {
            ClientTask::Talk => "talk",
            ClientTask::Think => "think",
            ClientTask::Broken => "broken",
            ClientTask::Limited | ClientTask::Refused | ClientTask::Cut | ClientTask::Retried => {
                "say"
            }
            ClientTask::Models => "models",
            ClientTask::Count => "count",
            ClientTask::Threads => "threads",
        }
    }

    /// The fault that the model is to make.
    fn fault(self) -> Option<&'static str> {
        match self {
            ClientTask::Limited => Some("status=429"),
            ClientTask::Refused => Some("status=400"),
            ClientTask::Cut => Some("cut=3"),
            ClientTask::Retried => Some("status=500&fail-first=1"),
            ClientTask::Talk
            | ClientTask::Think
            | ClientTask::Broken
            | ClientTask::Models
            | ClientTask::Count
            | ClientTask::Threads => None,
        }
    }
}

/// Which upstream answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TestUpstream {
    /// One that speaks every format, so that bodies pass as they are.
    Every,
    /// One that speaks this one only.
    Only(&'static str),
}

impl TestUpstream {
    /// The formats of which there is one that speaks nothing else.
    pub(super) const FORMATS: [&'static str; 4] =
        ["openai-chat", "openai-responses", "anthropic", "gemini"];

    /// The model that leads there.
    fn model(self, fault: Option<&str>) -> String {
        let name = match self {
            TestUpstream::Every => "scripted".to_owned(),
            TestUpstream::Only(format) => format!("only-{format}"),
        };
        fault.map_or(name.clone(), |fault| format!("{name}?{fault}"))
    }

    /// Every upstream that speaks another format than this.
    fn across(endpoint: ClientEndpoint) -> impl Iterator<Item = TestUpstream> {
        let own = match endpoint {
            ClientEndpoint::Chat => "openai-chat",
            ClientEndpoint::Responses => "openai-responses",
            ClientEndpoint::Messages => "anthropic",
            ClientEndpoint::Gemini => "gemini",
        };
        TestUpstream::FORMATS
            .into_iter()
            .filter(move |format| *format != own)
            .map(TestUpstream::Only)
    }
}

/// The faults that a model of one format makes.
pub(super) const FAULTS: [ClientTask; 4] =
    [ClientTask::Limited, ClientTask::Refused, ClientTask::Cut, ClientTask::Retried];

/// The routes to models of one format: the name that clients use, and the one the model knows.
pub(super) fn routes(format: &'static str) -> Vec<(String, String)> {
    let tasks = [None].into_iter().chain(FAULTS.into_iter().map(|task| task.fault()));
    let named = |fault| (TestUpstream::Only(format).model(fault), TestUpstream::Every.model(fault));
    tasks.map(named).collect()
}

/// One client, one task.
pub(super) struct GatewayJob {
    pub(super) client: &'static GatewayClient,
    pub(super) task: ClientTask,
    pub(super) upstream: TestUpstream,
    pub(super) stream: bool,
    base: String,
    /// Its place among the jobs of its language.
    number: usize,
}

impl ScriptJob for GatewayJob {
    fn line(&self) -> Value {
        json!({
            "client": self.client.module,
            "face": self.client.endpoint.name(),
            "task": self.task.name(),
            "model": self.upstream.model(self.task.fault()),
            "stream": self.stream,
            // Two conversations that say the same cannot be told apart.
            "mark": format!("{}-{}", self.client.language.name(), self.number),
            "base": self.base,
            "token": TOKEN,
        })
    }

    fn label(&self) -> String {
        let GatewayClient { language, module, endpoint, .. } = self.client;
        let (language, endpoint, how) =
            (language.name(), endpoint.name(), if self.stream { "stream" } else { "whole" });
        let model = self.upstream.model(self.task.fault());
        format!("{module} ({language}, {endpoint}, {how}): {} with {model}", self.task.name())
    }
}

/// Everything that the clients of a language do.
pub(super) fn all(language: Language, address: &str) -> Vec<GatewayJob> {
    let mut jobs = Vec::new();
    for client in CLIENTS.iter().filter(|client| client.language == language) {
        let mut add = |task, upstream, stream| {
            let (base, number) = (format!("http://{address}"), jobs.len());
            jobs.push(GatewayJob { client, task, upstream, stream, base, number });
        };
        for stream in [false, true] {
            for upstream in
                [TestUpstream::Every].into_iter().chain(TestUpstream::across(client.endpoint))
            {
                add(ClientTask::Talk, upstream, stream);
                add(ClientTask::Think, upstream, stream);
            }
            FAULTS.iter().for_each(|task| add(*task, TestUpstream::Every, stream));
            add(ClientTask::Broken, TestUpstream::Every, stream);
        }
        let across =
            TestUpstream::across(client.endpoint).filter(|it| *it != TestUpstream::Only("gemini"));
        for upstream in across {
            add(ClientTask::Broken, upstream, true);
            add(ClientTask::Cut, upstream, true);
        }
        add(ClientTask::Limited, TestUpstream::Only("gemini"), false);
        others(client, &mut add);
    }
    jobs
}

/// What only some can do.
fn others(client: &GatewayClient, add: &mut impl FnMut(ClientTask, TestUpstream, bool)) {
    match (client.module, client.endpoint) {
        ("openai_sdk", ClientEndpoint::Chat) => add(ClientTask::Models, TestUpstream::Every, false),
        ("google_genai", ClientEndpoint::Gemini) => {
            add(ClientTask::Models, TestUpstream::Every, false);
            add(ClientTask::Count, TestUpstream::Every, false);
        }
        ("anthropic_sdk", ClientEndpoint::Messages) => {
            add(ClientTask::Models, TestUpstream::Every, false);
            for upstream in [TestUpstream::Every, TestUpstream::Only("openai-chat")] {
                add(ClientTask::Count, upstream, false);
                if client.language == Language::Python {
                    add(ClientTask::Threads, upstream, false);
                    add(ClientTask::Threads, upstream, true);
                }
            }
        }
        _ => {}
    }
}

/// A job of a client, for tests of what comes of it.
#[cfg(test)]
pub(super) fn one(client: &'static GatewayClient, task: ClientTask) -> GatewayJob {
    let (upstream, base) = (TestUpstream::Every, String::new());
    GatewayJob { client, task, upstream, stream: false, base, number: 0 }
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
