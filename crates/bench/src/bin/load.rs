//! Asks several servers the same, in turns: `load --target NAME=ADDRESS,PROCESS … --ask KIND`.
//!
//! So many connections ask as fast as they are answered. Every server has its turn in every round,
//! so that a ratio between two of them comes from the same minutes. Prints a line of JSON for each.

use std::{
    future::poll_fn,
    pin::Pin,
    time::{Duration, Instant},
};

use bytes::Bytes;
use foxwedge_bench::{Ask, Format, Histogram, Lateness, Process, Trouble, Whole, Words, connect};
use http::{Request, header};
use http_body::Body;
use hyper::{body::Incoming, client::conn::http1::SendRequest};
use serde_json::json;
use tokio::task::JoinSet;

/// A server that does not answer for so long does not answer at all.
const PATIENCE: Duration = Duration::from_secs(30);

/// Who fails waits a moment before the next try.
const PAUSE: Duration = Duration::from_millis(5);

/// A piece of a stream that is on its way for longer is late.
const LATE: u64 = 1_000_000;

/// No first byte may take longer, unless the machine is busy with something else.
const NAGLE: u64 = 5_000_000;

fn main() -> Result<(), Trouble> {
    let asked = Asked::read(Words::of_this_process())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut seen: Vec<Seen> = asked.targets.iter().map(|_| Seen::default()).collect();
    for target in &asked.targets {
        runtime.block_on(asked.turn(target, asked.warm_up));
    }
    for _ in 0..asked.rounds {
        for (target, seen) in asked.targets.iter().zip(&mut seen) {
            target.process.rest();
            let (before, start) = (target.process.time(), Instant::now());
            let turn = runtime.block_on(asked.turn(target, asked.length));
            seen.seconds += start.elapsed().as_secs_f64();
            target.process.rest();
            seen.time += target.process.time() - before;
            seen.memory = seen.memory.max(target.process.memory());
            seen.add(turn);
        }
    }
    for (target, seen) in asked.targets.iter().zip(&seen) {
        println!("{}", seen.told(&target.name));
    }
    Ok(())
}

/// What was asked for.
struct Asked {
    targets: Vec<Target>,
    connections: usize,
    rounds: usize,
    length: Duration,
    warm_up: Duration,
    path: &'static str,
    token: String,
    ask: Ask,
    body: Bytes,
}

#[derive(Clone)]
struct Target {
    name: String,
    address: String,
    process: Process,
}

impl Asked {
    fn read(mut words: Words) -> Result<Asked, Trouble> {
        let (mut targets, mut connections, mut rounds) = (Vec::new(), 1, 3);
        let (mut seconds, mut warm_up) = (1.5, 0.5);
        let (mut ask, mut format) = (Ask::Tiny, Format::Chat);
        let (mut model, mut token) = ("mock-model".to_owned(), "none".to_owned());
        while let Some(option) = words.option() {
            match option.as_str() {
                "--target" => targets.push(Target::read(&words.value(&option)?)?),
                "--connections" => connections = words.number(&option)?,
                "--rounds" => rounds = words.number(&option)?,
                "--seconds" => seconds = words.number(&option)?,
                "--warm-up" => warm_up = words.number(&option)?,
                "--model" => model = words.value(&option)?,
                "--token" => token = words.value(&option)?,
                "--ask" => {
                    let name = words.value(&option)?;
                    ask = Ask::parse(&name).ok_or_else(|| format!("nobody asks `{name}`"))?;
                }
                "--format" => {
                    let name = words.value(&option)?;
                    format = Format::parse(&name).ok_or_else(|| format!("no format `{name}`"))?;
                }
                _ => return Err(format!("unknown option `{option}`").into()),
            }
        }
        Ok(Asked {
            targets,
            connections,
            rounds,
            length: Duration::try_from_secs_f64(seconds)?,
            warm_up: Duration::try_from_secs_f64(warm_up)?,
            path: format.path(),
            token: format!("Bearer {token}"),
            ask,
            body: ask.body(format, &model),
        })
    }

    /// One server is asked for so long.
    async fn turn(&self, target: &Target, length: Duration) -> Turn {
        let until = Instant::now() + length;
        let mut connections = JoinSet::new();
        for _ in 0..self.connections {
            let client = Client {
                address: target.address.clone(),
                path: self.path,
                token: self.token.clone(),
                ask: self.ask,
                body: self.body.clone(),
                connection: None,
            };
            connections.spawn(client.ask_until(until));
        }
        let mut all = Turn::default();
        while let Some(turn) = connections.join_next().await {
            match turn {
                Ok(turn) => all.add(turn),
                Err(error) => all.failed(error.to_string()),
            }
        }
        all
    }
}

impl Target {
    /// `NAME=ADDRESS,PROCESS`
    fn read(text: &str) -> Result<Target, Trouble> {
        let parts =
            text.split_once('=').and_then(|(name, rest)| Some((name, rest.split_once(',')?)));
        let (name, (address, process)) =
            parts.ok_or_else(|| format!("`{text}` is not NAME=ADDRESS,PROCESS"))?;
        let process = Process(process.parse()?);
        Ok(Target { name: name.to_owned(), address: address.to_owned(), process })
    }
}

/// What was seen while one server was asked.
#[derive(Default)]
struct Turn {
    whole: Histogram,
    first: Histogram,
    late: Histogram,
    errors: u64,
    error: Option<String>,
    bytes: u64,
}

impl Turn {
    fn failed(&mut self, why: String) {
        self.errors += 1;
        self.error.get_or_insert(why);
    }

    fn add(&mut self, other: Turn) {
        self.whole.merge(&other.whole);
        self.first.merge(&other.first);
        self.late.merge(&other.late);
        self.errors += other.errors;
        self.error = self.error.take().or(other.error);
        self.bytes += other.bytes;
    }
}

/// What was seen of a server in all rounds.
#[derive(Default)]
struct Seen {
    turns: Turn,
    seconds: f64,
    time: u64,
    memory: u64,
}

impl Seen {
    fn add(&mut self, turn: Turn) {
        self.turns.add(turn);
    }

    fn told(&self, name: &str) -> serde_json::Value {
        let turns = &self.turns;
        let requests = turns.whole.total();
        let each = |number: f64| if requests == 0 { 0.0 } else { number / requests as f64 };
        let microseconds = |nanoseconds: u64| nanoseconds as f64 / 1_000.0;
        json!({
            "target": name,
            "requests": requests,
            "errors": turns.errors,
            "error": turns.error,
            "per_second": requests as f64 / self.seconds,
            "p50": microseconds(turns.whole.at(0.5)),
            "p99": microseconds(turns.whole.at(0.99)),
            "first_p50": microseconds(turns.first.at(0.5)),
            "first_p99": microseconds(turns.first.at(0.99)),
            "first_most": microseconds(turns.first.most()),
            "first_slow": turns.first.longer_than(NAGLE),
            "pieces": turns.late.total(),
            "late_p50": microseconds(turns.late.at(0.5)),
            "late_p99": microseconds(turns.late.at(0.99)),
            "late": turns.late.longer_than(LATE),
            "cpu": each(self.time as f64),
            "bytes": each(turns.bytes as f64),
            "memory": self.memory,
        })
    }
}

/// One connection that asks again as soon as it was answered.
struct Client {
    address: String,
    path: &'static str,
    token: String,
    ask: Ask,
    body: Bytes,
    connection: Option<SendRequest<Whole>>,
}

impl Client {
    async fn ask_until(mut self, until: Instant) -> Turn {
        let mut turn = Turn::default();
        while Instant::now() < until {
            let asked = tokio::time::timeout(PATIENCE, self.ask(&mut turn)).await;
            let why = match asked {
                Ok(Ok(())) => continue,
                Ok(Err(error)) => error.to_string(),
                Err(_) => "no answer".to_owned(),
            };
            turn.failed(why);
            self.connection = None;
            tokio::time::sleep(PAUSE).await;
        }
        turn
    }

    async fn ask(&mut self, turn: &mut Turn) -> Result<(), Trouble> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert(connect(&self.address).await?),
        };
        connection.ready().await?;
        let request = Request::post(self.path)
            .header(header::HOST, self.address.as_str())
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::AUTHORIZATION, self.token.as_str())
            .header("anthropic-version", "2023-06-01")
            .body(Whole::new(self.body.clone()))?;
        let start = Instant::now();
        let response = connection.send_request(request).await?;
        let status = response.status();
        let mut told = Told { start, first: None, lateness: None, bytes: 0 };
        if self.ask == Ask::Paced {
            told.lateness = Some(Lateness::default());
        }
        let kept = told.read(response.into_body(), turn, !status.is_success()).await?;
        if !status.is_success() {
            return Err(format!("{status}: {}", String::from_utf8_lossy(&kept)).into());
        }
        turn.whole.add(nanoseconds(start.elapsed()));
        turn.first.add(nanoseconds(told.first.unwrap_or_else(|| start.elapsed())));
        turn.bytes += told.bytes;
        Ok(())
    }
}

/// An answer as it comes.
struct Told {
    start: Instant,
    first: Option<Duration>,
    /// Only where pieces say when they were sent: looking for it costs time.
    lateness: Option<Lateness>,
    bytes: u64,
}

impl Told {
    async fn read(
        &mut self,
        mut body: Incoming,
        turn: &mut Turn,
        keep: bool,
    ) -> Result<Vec<u8>, Trouble> {
        let mut kept = Vec::new();
        while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            let Ok(data) = frame?.into_data() else { continue };
            self.first.get_or_insert_with(|| self.start.elapsed());
            self.bytes += data.len() as u64;
            if let Some(lateness) = &mut self.lateness {
                lateness.read(&data, |late| turn.late.add(late));
            }
            if keep && kept.len() < 1_000 {
                kept.extend_from_slice(&data);
            }
        }
        Ok(kept)
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
