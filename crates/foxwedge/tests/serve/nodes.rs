//! Several gateways on one PostgreSQL behind a balancer that knows nothing. Conversations go on at
//! any of them, while nodes are killed and the database is restarted.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use foxwedge_run::EventPayload;
use foxwedge_store::{ListFilter, ListPage, PostgresStore, RunRow, Store};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::{
    gateway::{Gateway, TOKEN, config},
    provider::Provider,
    random::Random,
    server::{Care, Server},
    settings::{rounds, seed, turn},
    temporary::Temporary,
    wire::{Answer, Framing, PATIENCE, post, send},
};

const PATH: &str = "/v1/chat/completions";
/// How much later than its lease a run may be closed.
const CLOSE_MILLIS: u64 = 1_000;

/// A database, and gateways over it.
struct Nodes {
    server: Mutex<Server>,
    url: String,
    folders: Vec<(Temporary, String)>,
    gateways: Mutex<Vec<Option<Gateway>>>,
    /// Where a balancer sends requests, whether or not that node is alive.
    addresses: Mutex<Vec<String>>,
    _provider: Provider,
}

impl Nodes {
    fn start(count: usize) -> Option<Nodes> {
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let server = match Server::start(cache, Care::Fast, &[]) {
            Ok(server) => server,
            Err(why) => {
                println!("skipped: no PostgreSQL: {why}");
                return None;
            }
        };
        let provider = Provider::scripted();
        let url = format!("{}?pool=4", server.url());
        let folder = |_| {
            let folder = Temporary::folder();
            let text = config(&folder, provider.address, "");
            let (_, rest) = text.split_once('\n').expect("the line of the store");
            // This line is all that makes them one.
            let text = format!("store = \"{url}\"\n{rest}");
            (folder, text)
        };
        let folders: Vec<(Temporary, String)> = (0..count).map(folder).collect();
        let gateways: Vec<Gateway> =
            folders.iter().map(|(folder, text)| Gateway::start(folder, text)).collect();
        let addresses = gateways.iter().map(|gateway| gateway.address.clone()).collect();
        Some(Nodes {
            server: Mutex::new(server),
            url,
            folders,
            gateways: Mutex::new(gateways.into_iter().map(Some).collect()),
            addresses: Mutex::new(addresses),
            _provider: provider,
        })
    }

    fn address(&self, node: usize) -> String {
        self.addresses.lock().expect("a list")[node].clone()
    }

    fn random_address(&self, random: &mut Random) -> String {
        self.address(random.place(self.folders.len()))
    }

    /// Kills a node and starts another one in its place.
    fn replace(&self, node: usize) {
        let killed = self.gateways.lock().expect("a list")[node].take();
        killed.expect("a node").kill();
        let (folder, text) = &self.folders[node];
        let started = Gateway::start(folder, text);
        self.addresses.lock().expect("a list")[node] = started.address.clone();
        self.gateways.lock().expect("a list")[node] = Some(started);
    }

    fn restart_database(&self) {
        let mut server = self.server.lock().expect("a server");
        server.stop().expect("stopped");
        server.launch().expect("started");
    }
}

/// A conversation with tools, as a client holds it.
struct ToolTalk {
    number: usize,
    messages: Vec<Value>,
    questions: usize,
    session: Option<String>,
    run: Option<String>,
    tally: TalkTally,
}

/// What a client saw.
#[derive(Debug, Default)]
struct TalkTally {
    replies: usize,
    /// Replies to requests with a history, in the session of that history and in another one.
    matched: usize,
    lost: Vec<String>,
    /// Tool results that continued their run, and others.
    continued: usize,
    new_runs: usize,
    /// The runs that were not continued, and whether the request was sent more than once.
    left_runs: BTreeMap<String, bool>,
    /// Requests that were sent once more.
    retries: usize,
    breaches: Vec<String>,
}

impl ToolTalk {
    fn new(number: usize) -> ToolTalk {
        let (messages, tally) = (Vec::new(), TalkTally::default());
        ToolTalk { number, messages, questions: 0, session: None, run: None, tally }
    }

    /// One question, until the model has no more calls. Every request goes to any node.
    fn ask(&mut self, nodes: &Nodes, random: &mut Random, replies: &AtomicUsize) {
        self.questions += 1;
        let words =
            format!("use tools for question {} of conversation {}", self.questions, self.number);
        self.messages.push(json!({"role": "user", "content": words}));
        loop {
            let reply = self.reply(nodes, random);
            replies.fetch_add(1, Ordering::Relaxed);
            let calls = reply["tool_calls"].as_array().cloned().unwrap_or_default();
            self.messages.push(reply);
            if calls.is_empty() {
                return;
            }
            for call in calls {
                let content = format!("result of {}", call["id"]);
                let id = call["id"].clone();
                let result = json!({"role": "tool", "tool_call_id": id, "content": content});
                self.messages.push(result);
            }
        }
    }

    /// Sends the history until a node gives a whole reply.
    fn reply(&mut self, nodes: &Nodes, random: &mut Random) -> Value {
        let tool = |name| json!({"type": "function", "function": {"name": name, "parameters": {"type": "object"}}});
        let body = json!({
            "model": "chat-scripted", "messages": self.messages,
            "tools": [tool("look"), tool("search")],
        });
        let began = Instant::now();
        for count in 0_usize.. {
            let address = nodes.random_address(random);
            let headers =
                format!("x-foxwedge-token: {TOKEN}\r\nx-stainless-retry-count: {count}\r\n");
            match send(&address, &post(PATH, &headers, body.to_string())) {
                Ok(answer) if answer.status == 200 && answer.framing == Framing::Whole => {
                    self.tally.retries += count;
                    return self.note(&answer, count);
                }
                Ok(answer) if (400..500).contains(&answer.status) && answer.status != 409 => {
                    self.tally.breaches.push(format!("{}: refused: {answer:?}", self.number));
                }
                // It was killed, is busy or cannot reach the store: a client tries again.
                Ok(_) | Err(_) => thread::sleep(Duration::from_millis(20)),
            }
            assert!(began.elapsed() < PATIENCE, "{}: no reply", self.number);
        }
        unreachable!("a reply or a panic")
    }

    /// A reply to a request that was sent `retries` times before.
    fn note(&mut self, answer: &Answer, retries: usize) -> Value {
        self.tally.replies += 1;
        let number = self.number;
        if answer.header("x-foxwedge-action") != "none" {
            self.tally.breaches.push(format!("{number}: repaired: {}", answer.head));
        }
        let reply = answer.json()["choices"][0]["message"].clone();
        if reply["role"] != "assistant" {
            self.tally.breaches.push(format!("{number}: no reply: {}", answer.body));
        }
        let (session, run) = (answer.header("x-foxwedge-session"), answer.header("x-foxwedge-run"));
        if let Some(before) = self.session.replace(session.to_owned()) {
            match before == session {
                true => self.tally.matched += 1,
                false => self.tally.lost.push(format!("{number}: {}", answer.head)),
            }
        }
        let before = self.run.replace(run.to_owned());
        if self.messages.last().is_some_and(|message| message["role"] == "tool") {
            match before.as_deref() == Some(run) {
                true => self.tally.continued += 1,
                false => {
                    self.tally.new_runs += 1;
                    self.tally.left_runs.extend(before.map(|run| (run, retries > 0)));
                }
            }
        }
        reply
    }
}

#[test]
fn conversations_go_on_at_any_node_and_what_one_has_the_others_find() {
    let _turn = turn();
    let Some(nodes) = Nodes::start(2) else { return };
    let gateways = nodes.gateways.lock().expect("a list");
    let [Some(one), Some(two)] = gateways.as_slice() else { panic!("two nodes") };
    let tool =
        json!({"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}});
    let ask = |node: &Gateway, messages: &Value, headers: &str| {
        let body = json!({"model": "chat-scripted", "messages": messages, "tools": [tool]});
        let answer = node.post(PATH, headers, &body.to_string());
        assert_eq!(answer.status, 200, "{answer:?}");
        answer
    };
    // A call at one node, its result at the other, the next question at the first.
    let mut messages = json!([{"role": "user", "content": "call look"}]);
    let first = ask(one, &messages, "");
    let (session, run) = (first.header("x-foxwedge-session"), first.header("x-foxwedge-run"));
    let list = messages.as_array_mut().expect("a list");
    let call = first.json()["choices"][0]["message"].clone();
    let id = call["tool_calls"][0]["id"].clone();
    list.extend([call, json!({"role": "tool", "tool_call_id": id, "content": "blue"})]);
    let second = ask(two, &messages, "");
    assert!(second.body.contains("The tool said: blue"), "{second:?}");
    let found = ["x-foxwedge-session", "x-foxwedge-run", "x-foxwedge-match"];
    assert_eq!(found.map(|name| second.header(name)), [session, run, "prefix"]);
    // A retry gets the reply that the other node has.
    let again = ask(one, &messages, "x-stainless-retry-count: 1\r\n");
    assert_eq!(again.header("x-foxwedge-replayed"), "true", "{again:?}");
    assert_eq!(again.body, second.body);
    let list = messages.as_array_mut().expect("a list");
    list.push(second.json()["choices"][0]["message"].clone());
    list.push(json!({"role": "user", "content": "thanks"}));
    let third = ask(one, &messages, "");
    assert_eq!(third.header("x-foxwedge-session"), session, "{third:?}");
    assert_ne!(third.header("x-foxwedge-run"), run);
    // The id of the session, as a name, leads to it from both.
    let named = format!("x-foxwedge-session: {session}\r\n");
    let list = messages.as_array_mut().expect("a list");
    list.push(third.json()["choices"][0]["message"].clone());
    list.push(json!({"role": "user", "content": "bye"}));
    assert_eq!(ask(two, &messages, &named).header("x-foxwedge-session"), session);
    // Both list the run, once, with its call and its result.
    for node in [one, two] {
        let shown = node.get(&format!("/v1/runs/{run}")).json();
        assert_eq!(shown["outcome"], "completed", "{shown}");
        assert_eq!(shown["calls"]["total"], 1, "{shown}");
        let events = node.get(&format!("/v1/runs/{run}/events?format=jsonl"));
        assert_eq!(events.status, 200, "{events:?}");
    }
    // A run is stopped from the other node, and its client is told.
    let slow = json!({
        "model": "chat-scripted?pace=200", "stream": true,
        "messages": [{"role": "user", "content": "word ".repeat(300)}],
    });
    thread::scope(|scope| {
        let streaming = scope.spawn(|| one.post(PATH, "", &slow.to_string()));
        let open = loop {
            let open = two.get("/v1/runs?open=true").json();
            match open["data"][0]["id"].as_str() {
                Some(run) => break run.to_owned(),
                None => assert!(!streaming.is_finished(), "it has no open run"),
            }
        };
        let stopped = two.post(&format!("/v1/runs/{open}/stop"), "", "");
        assert_eq!(stopped.json()["run"]["outcome"], "stopped", "{stopped:?}");
        let answer = streaming.join().expect("a reply");
        assert!(answer.body.contains("the run was stopped") && !answer.body.contains("[DONE]"));
    });
}

#[test]
fn killed_nodes_and_a_restarted_database_lose_no_conversation() {
    let _turn = turn();
    let faults = rounds("FOXWEDGE_NODES", 4);
    let is_campaign = std::env::var_os("FOXWEDGE_NODES").is_some();
    let (counts, talks) = if is_campaign { (&[2, 5][..], 200) } else { (&[2][..], 12) };
    for count in counts {
        let Some(nodes) = Nodes::start(*count) else { return };
        let (is_over, is_silent) = (AtomicBool::new(false), AtomicBool::new(false));
        let replies = AtomicUsize::new(0);
        let mut lateness = 0;
        let tallies: Vec<TalkTally> = thread::scope(|scope| {
            let (nodes, is_over, is_silent, replies) = (&nodes, &is_over, &is_silent, &replies);
            let talking: Vec<_> = (0..talks)
                .map(|number| {
                    scope.spawn(move || {
                        let mut random = Random::of(seed(), &["talk", &number.to_string()]);
                        let mut talk = ToolTalk::new(number);
                        while !is_over.load(Ordering::Relaxed) || talk.questions < 2 {
                            talk.ask(nodes, &mut random, replies);
                        }
                        talk.tally
                    })
                })
                .collect();
            let watching = scope.spawn(move || watch_leases(&nodes.url, is_silent));
            let mut random = Random::of(seed(), &["nodes", &count.to_string()]);
            for fault in 0..faults {
                let goal = replies.load(Ordering::Relaxed) + talks / 2 + random.place(talks);
                while replies.load(Ordering::Relaxed) < goal {
                    thread::sleep(Duration::from_millis(5));
                    assert!(!talking.iter().all(|one| one.is_finished()), "nobody is served");
                }
                match fault % 4 {
                    3 => nodes.restart_database(),
                    _ => nodes.replace(random.place(*count)),
                }
            }
            is_over.store(true, Ordering::Relaxed);
            let tallies = talking.into_iter().map(|one| one.join().expect("a conversation"));
            let tallies = tallies.collect();
            // The last replies of the conversations may still open runs.
            is_silent.store(true, Ordering::Relaxed);
            lateness = watching.join().expect("a watcher");
            tallies
        });
        let all = sum(tallies);
        let mut breaches = all.breaches;
        let (outcomes, results) = judge(&nodes.url, &mut breaches, &all.left_runs);
        let history = all.matched + all.lost.len();
        println!(
            "{count} nodes, {talks} conversations, {faults} faults: {} replies, {} sent again; {} of \
             {history} requests found their session; {} tool results continued their run, {} began \
             another; {results} results in the log; runs: {outcomes:?}; closed at most {lateness} ms \
             after their lease",
            all.replies, all.retries, all.matched, all.continued, all.new_runs,
        );
        for lost in all.lost.iter().take(10) {
            println!("lost: {lost}");
        }
        assert_eq!(breaches, Vec::<String>::new());
        assert!(all.matched * 100 >= history * 99, "{} of {history}", all.matched);
        // It depends on the load of the machine.
        assert!(!is_campaign || lateness <= CLOSE_MILLIS, "closed {lateness} ms late");
    }
}

fn sum(tallies: Vec<TalkTally>) -> TalkTally {
    let mut all = TalkTally::default();
    for tally in tallies {
        all.replies += tally.replies;
        all.matched += tally.matched;
        all.lost.extend(tally.lost);
        all.continued += tally.continued;
        all.new_runs += tally.new_runs;
        all.left_runs.extend(tally.left_runs);
        all.retries += tally.retries;
        all.breaches.extend(tally.breaches);
    }
    all
}

async fn open_runs(store: &PostgresStore) -> Option<Vec<RunRow>> {
    let filter = ListFilter { open: Some(true), ..ListFilter::default() };
    store.runs(filter, ListPage { after: None, limit: 10_000 }).await.ok()
}

/// Looks at open runs until all have ended. Returns how long one was open after its lease, in
/// milliseconds. The clock of the database is ours.
fn watch_leases(url: &str, is_silent: &AtomicBool) -> u64 {
    Runtime::new().expect("a runtime").block_on(async {
        let store = PostgresStore::open(url).await.expect("a store");
        let (mut latest, mut ended) = (0, None);
        loop {
            let asked = Instant::now();
            let open = open_runs(&store).await;
            // While there was no database, no node could close a run.
            let was_down = asked.elapsed() > Duration::from_millis(500) || open.is_none();
            let open = open.unwrap_or_default();
            let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time");
            let now = u64::try_from(now.as_millis()).expect("a time");
            let late =
                open.iter().filter_map(|run| Some(now.saturating_sub(run.lease_until?))).max();
            if !was_down {
                latest = latest.max(late.unwrap_or(0));
            }
            if is_silent.load(Ordering::Relaxed) {
                let since = *ended.get_or_insert_with(Instant::now);
                if open.is_empty() {
                    return latest;
                }
                assert!(since.elapsed() < PATIENCE, "runs stay open: {open:?}");
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    })
}

/// How runs ended, and how many tool results their logs have: one for each call at most. A
/// conversation leaves its run only if its node was killed, which interrupts the run, or if the reply
/// to its results was lost.
fn judge(
    url: &str,
    breaches: &mut Vec<String>,
    left_runs: &BTreeMap<String, bool>,
) -> (BTreeMap<&'static str, usize>, usize) {
    Runtime::new().expect("a runtime").block_on(async {
        let store = PostgresStore::open(url).await.expect("a store");
        let (mut outcomes, mut results) = (BTreeMap::new(), BTreeMap::<String, usize>::new());
        let mut after = None;
        loop {
            let page = ListPage { after: after.take(), limit: 1_000 };
            let runs = store.runs(ListFilter::default(), page).await.expect("runs");
            for run in &runs {
                let outcome = run.state.outcome().map_or("open", |outcome| outcome.name());
                *outcomes.entry(outcome).or_default() += 1;
                let is_right = match (left_runs.get(&*run.id), outcome) {
                    (None, outcome) => ["completed", "interrupted"].contains(&outcome),
                    (Some(_), "interrupted") => true,
                    (Some(was_retried), outcome) => *was_retried && outcome == "completed",
                };
                if !is_right {
                    breaches.push(format!("{} is {outcome}: {left_runs:?}", run.id));
                }
                for stored in store.events(&run.id, 0, 10_000).await.expect("events") {
                    let EventPayload::ToolResult(result) = stored.event.body else { continue };
                    let is_own = result.reason.is_none();
                    let call = format!("{:?}", result.call.id);
                    if is_own {
                        *results.entry(call).or_default() += 1;
                    }
                }
            }
            after = runs.last().map(|run| run.id.clone());
            if after.is_none() {
                break;
            }
        }
        let twice = results.iter().filter(|(_, count)| **count > 1);
        breaches.extend(twice.map(|(call, count)| format!("{count} results of {call}")));
        (outcomes, results.len())
    })
}
