//! Sends several servers the same requests, in turns: `load --target NAME=ADDRESS,PROCESS … --request KIND`.
//!
//! Connections send requests as fast as they are answered. Every server has its turn in every round,
//! so that a ratio between two of them comes from the same minutes. Prints a line of JSON for each.

use std::{
    future::poll_fn,
    pin::Pin,
    time::{Duration, Instant},
};

use bytes::Bytes;
use foxwedge_bench::{
    BenchError, CommandOptions, DelayReader, Histogram, MeasuredProcess, RequestFormat,
    RequestKind, WholeBody, connect,
};
use http::{Request, header};
use http_body::Body;
use hyper::{body::Incoming, client::conn::http1::SendRequest};
use serde_json::json;
use tokio::task::JoinSet;

/// A server that does not answer for so long does not answer at all.
const PATIENCE: Duration = Duration::from_secs(30);

/// Between a failure and the next try.
const PAUSE: Duration = Duration::from_millis(5);

/// A chunk of a stream that is on its way for longer is late.
const LATE: u64 = 1_000_000;

/// No first byte may take longer, unless the machine is busy with something else.
const NAGLE: u64 = 5_000_000;

fn main() -> Result<(), BenchError> {
    let plan = LoadPlan::read(CommandOptions::of_this_process())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut results: Vec<TargetResult> =
        plan.targets.iter().map(|_| TargetResult::default()).collect();
    for target in &plan.targets {
        runtime.block_on(plan.turn(target, plan.warm_up));
    }
    for _ in 0..plan.rounds {
        for (target, result) in plan.targets.iter().zip(&mut results) {
            target.process.rest();
            let (before, start) = (target.process.time(), Instant::now());
            let turn = runtime.block_on(plan.turn(target, plan.length));
            result.seconds += start.elapsed().as_secs_f64();
            target.process.rest();
            result.time += target.process.time() - before;
            result.memory = result.memory.max(target.process.memory());
            result.add(turn);
        }
    }
    for (target, result) in plan.targets.iter().zip(&results) {
        println!("{}", result.json(&target.name));
    }
    Ok(())
}

/// What was asked for on the command line.
struct LoadPlan {
    targets: Vec<LoadTarget>,
    connections: usize,
    rounds: usize,
    length: Duration,
    warm_up: Duration,
    path: &'static str,
    token: String,
    kind: RequestKind,
    body: Bytes,
}

#[derive(Clone)]
struct LoadTarget {
    name: String,
    address: String,
    process: MeasuredProcess,
}

impl LoadPlan {
    fn read(mut options: CommandOptions) -> Result<LoadPlan, BenchError> {
        let (mut targets, mut connections, mut rounds) = (Vec::new(), 1, 3);
        let (mut seconds, mut warm_up) = (1.5, 0.5);
        let (mut kind, mut format) = (RequestKind::Tiny, RequestFormat::Chat);
        let (mut model, mut token) = ("mock-model".to_owned(), "none".to_owned());
        while let Some(option) = options.option() {
            match option.as_str() {
                "--target" => targets.push(LoadTarget::read(&options.value(&option)?)?),
                "--connections" => connections = options.number(&option)?,
                "--rounds" => rounds = options.number(&option)?,
                "--seconds" => seconds = options.number(&option)?,
                "--warm-up" => warm_up = options.number(&option)?,
                "--model" => model = options.value(&option)?,
                "--token" => token = options.value(&option)?,
                "--request" => {
                    let name = options.value(&option)?;
                    kind =
                        RequestKind::parse(&name).ok_or_else(|| format!("no request `{name}`"))?;
                }
                "--format" => {
                    let name = options.value(&option)?;
                    format =
                        RequestFormat::parse(&name).ok_or_else(|| format!("no format `{name}`"))?;
                }
                _ => return Err(format!("unknown option `{option}`").into()),
            }
        }
        Ok(LoadPlan {
            targets,
            connections,
            rounds,
            length: Duration::try_from_secs_f64(seconds)?,
            warm_up: Duration::try_from_secs_f64(warm_up)?,
            path: format.path(),
            token: format!("Bearer {token}"),
            kind,
            body: kind.body(format, &model),
        })
    }

    /// Sends one server requests for so long.
    async fn turn(&self, target: &LoadTarget, length: Duration) -> TurnResult {
        let until = Instant::now() + length;
        let mut connections = JoinSet::new();
        for _ in 0..self.connections {
            let client = LoadClient {
                address: target.address.clone(),
                path: self.path,
                token: self.token.clone(),
                kind: self.kind,
                body: self.body.clone(),
                connection: None,
            };
            connections.spawn(client.send_until(until));
        }
        let mut all = TurnResult::default();
        while let Some(turn) = connections.join_next().await {
            match turn {
                Ok(turn) => all.add(turn),
                Err(error) => all.failed(error.to_string()),
            }
        }
        all
    }
}

impl LoadTarget {
    /// `NAME=ADDRESS,PROCESS`
    fn read(text: &str) -> Result<LoadTarget, BenchError> {
        let parts =
            text.split_once('=').and_then(|(name, rest)| Some((name, rest.split_once(',')?)));
        let (name, (address, process)) =
            parts.ok_or_else(|| format!("`{text}` is not NAME=ADDRESS,PROCESS"))?;
        let process = MeasuredProcess(process.parse()?);
        Ok(LoadTarget { name: name.to_owned(), address: address.to_owned(), process })
    }
}

/// What was measured in one turn.
#[derive(Default)]
struct TurnResult {
    whole: Histogram,
    first: Histogram,
    late: Histogram,
    errors: u64,
    error: Option<String>,
    bytes: u64,
}

impl TurnResult {
    fn failed(&mut self, why: String) {
        self.errors += 1;
        self.error.get_or_insert(why);
    }

    fn add(&mut self, other: TurnResult) {
        self.whole.merge(&other.whole);
        self.first.merge(&other.first);
        self.late.merge(&other.late);
        self.errors += other.errors;
        self.error = self.error.take().or(other.error);
        self.bytes += other.bytes;
    }
}

/// What was measured of a server in all rounds.
#[derive(Default)]
struct TargetResult {
    turns: TurnResult,
    seconds: f64,
    time: u64,
    memory: u64,
}

impl TargetResult {
    fn add(&mut self, turn: TurnResult) {
        self.turns.add(turn);
    }

    fn json(&self, name: &str) -> serde_json::Value {
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
            "chunks": turns.late.total(),
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
struct LoadClient {
    address: String,
    path: &'static str,
    token: String,
    kind: RequestKind,
    body: Bytes,
    connection: Option<SendRequest<WholeBody>>,
}

impl LoadClient {
    async fn send_until(mut self, until: Instant) -> TurnResult {
        let mut turn = TurnResult::default();
        while Instant::now() < until {
            let outcome = tokio::time::timeout(PATIENCE, self.send(&mut turn)).await;
            let why = match outcome {
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

    async fn send(&mut self, turn: &mut TurnResult) -> Result<(), BenchError> {
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
            .body(WholeBody::new(self.body.clone()))?;
        let start = Instant::now();
        let response = connection.send_request(request).await?;
        let status = response.status();
        let mut reader = ResponseReader { start, first: None, delays: None, bytes: 0 };
        if self.kind == RequestKind::Paced {
            reader.delays = Some(DelayReader::default());
        }
        let kept = reader.read(response.into_body(), turn, !status.is_success()).await?;
        if !status.is_success() {
            return Err(format!("{status}: {}", String::from_utf8_lossy(&kept)).into());
        }
        turn.whole.add(nanoseconds(start.elapsed()));
        turn.first.add(nanoseconds(reader.first.unwrap_or_else(|| start.elapsed())));
        turn.bytes += reader.bytes;
        Ok(())
    }
}

/// Reads a response as it comes.
struct ResponseReader {
    start: Instant,
    first: Option<Duration>,
    /// Only where chunks say when they were sent: looking for it costs time.
    delays: Option<DelayReader>,
    bytes: u64,
}

impl ResponseReader {
    async fn read(
        &mut self,
        mut body: Incoming,
        turn: &mut TurnResult,
        keep: bool,
    ) -> Result<Vec<u8>, BenchError> {
        let mut kept = Vec::new();
        while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            let Ok(data) = frame?.into_data() else { continue };
            self.first.get_or_insert_with(|| self.start.elapsed());
            self.bytes += data.len() as u64;
            if let Some(delays) = &mut self.delays {
                delays.read(&data, |late| turn.late.add(late));
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
