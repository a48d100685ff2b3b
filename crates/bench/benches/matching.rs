//! What finding a conversation again costs among a million places, beside a plain hash of the same
//! bytes, and what each of those places takes in memory.
//!
//! `cargo bench -p foxwedge-bench --bench matching`. Rounds are interleaved; the best of each is
//! printed, since everything else is the rest of the machine.

use std::{
    future::Future,
    hint::black_box,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use foxwedge_bench::{MeasuredProcess, RequestFormat, RequestKind};
use foxwedge_core::{Format as WireFormat, Profile};
use foxwedge_formats::{outline_options, read};
use foxwedge_gateway::{
    config,
    session::{
        ConversationTraits, RequestOrigin, RetryMark, SessionHead, SessionIndex, SessionMatch,
        SessionQuery, SessionScope, SessionSelector, conversation_scope,
    },
};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// Places that are remembered.
const NODES: u64 = 1_000_000;

/// Exchanges of a long session.
const EXCHANGES: u64 = 100;

/// How often everything has its turn.
const ROUNDS: usize = 15;

/// How often something is done in a turn.
const TIMES: u32 = 40;

fn main() {
    let (long, long_bytes) = remembered(long_sessions);
    drop(long);
    let (sessions, short_bytes) = remembered(short_sessions);
    println!("| what is remembered | bytes for each reply |");
    println!("|---|---:|");
    println!("| {NODES} replies in sessions of {EXCHANGES} | {long_bytes:.0} |");
    println!("| {NODES} replies, each in a session of its own | {short_bytes:.0} |");
    println!();
    for format in [RequestFormat::Chat, RequestFormat::Anthropic] {
        times(&sessions, format);
    }
}

/// The sessions, and the bytes of memory that each place takes.
fn remembered(fill: fn(&SessionIndex)) -> (SessionIndex, f64) {
    let process = MeasuredProcess(std::process::id());
    let before = process.memory();
    // Twice as many as there are, so that nothing is forgotten.
    let nodes = 2 * NODES as usize;
    let sessions = SessionIndex::new(config::SessionConfig {
        max_prefixes: nodes,
        ..config::SessionConfig::default()
    });
    fill(&sessions);
    assert_eq!(sessions.stats().nodes, NODES as usize, "something was forgotten");
    let bytes = (process.memory() - before) as f64 * 1_024.0 / NODES as f64;
    (sessions, bytes)
}

fn value(number: u64) -> u128 {
    xxh3_128(&number.to_le_bytes())
}

fn long_sessions(sessions: &SessionIndex) {
    for session in 0..NODES / EXCHANGES {
        let name = format!("session-{session}");
        for exchange in 0..EXCHANGES {
            let tip = value(session * EXCHANGES + exchange);
            let wanted = SessionQuery { selector: SessionSelector::Name(&name), ..unnamed(&[]) };
            if let SessionMatch::Acquired(mut held) = claim(sessions, wanted) {
                held.commit_reply(tip, &[], None, None);
            }
        }
    }
}

fn short_sessions(sessions: &SessionIndex) {
    let tip = |number: u64| {
        let session: Arc<str> = format!("s_{:032x}", value(!number)).into();
        (SessionHead { session, value: value(number), at: 0 }, Duration::ZERO)
    };
    sessions.load((0..NODES).map(tip));
}

/// What a request of 200 messages costs.
fn times(sessions: &SessionIndex, format: RequestFormat) {
    let body = RequestKind::History.body(format, "mock-model");
    let Ok(source) = std::str::from_utf8(&body) else { return };
    let wire = match format {
        RequestFormat::Chat => WireFormat::OpenaiChat,
        RequestFormat::Anthropic => WireFormat::Anthropic,
    };
    let Ok(reading) = read(source, wire, outline_options(Profile::for_format(wire))) else {
        return;
    };
    let scope = conversation_scope("owner", "mock-model", SessionScope::Unnamed);
    let chain = reading.message_digests(scope);
    // The reply before the newest answers was seen.
    let newest = chain.iter().rev().nth(2).copied().unwrap_or_default();
    let seen = SessionHead { session: "s_seen".into(), value: newest, at: 0 };
    sessions.load([(seen, Duration::ZERO)]);
    let strange = reading.message_digests(scope.wrapping_add(1));

    let mut best = [f64::INFINITY; 4];
    for _ in 0..ROUNDS {
        let times = [
            time(|| xxh3_64(black_box(&body))),
            time(|| black_box(&reading).message_digests(scope)),
            time(|| claim(sessions, unnamed(&chain))),
            time(|| claim(sessions, unnamed(&strange))),
        ];
        for (best, time) in best.iter_mut().zip(times) {
            *best = best.min(time);
        }
    }
    let [hash, digest, found, missed] = best;
    let name = wire.name();
    println!("{name}, {} messages, {} bytes, microseconds:\n", chain.len(), body.len());
    println!("| xxh3 of the body | digests | found | not found | digests + found ÷ xxh3 |");
    println!("|---:|---:|---:|---:|---:|");
    let ratio = (digest + found) / hash;
    println!("| {hash:.1} | {digest:.1} | {found:.2} | {missed:.2} | {ratio:.1} |\n");
}

fn unnamed(chain: &[u128]) -> SessionQuery<'_> {
    SessionQuery {
        owner: "owner",
        selector: SessionSelector::None,
        chain,
        traits: ConversationTraits::default(),
        scope: 0,
        fingerprint: 0,
        retry_mark: RetryMark::Ignored,
        origin: RequestOrigin::Anonymous,
    }
}

/// No session is busy, so nothing waits.
fn claim(sessions: &SessionIndex, wanted: SessionQuery<'_>) -> SessionMatch {
    let mut claim = pin!(sessions.claim(wanted));
    match claim.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(claimed) => claimed,
        Poll::Pending => SessionMatch::Busy,
    }
}

/// Microseconds of one.
fn time<T>(mut work: impl FnMut() -> T) -> f64 {
    let start = Instant::now();
    for _ in 0..TIMES {
        black_box(work());
    }
    start.elapsed().as_secs_f64() * 1e6 / f64::from(TIMES)
}
