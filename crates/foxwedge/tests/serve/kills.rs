//! `kill -9` under load, and a new process over the same store: nothing stays open, and
//! conversations go on where they were.

use std::{
    collections::BTreeMap,
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use crate::{
    conversation::Conversation,
    gateway::{Gateway, config},
    provider::Provider,
    random::Random,
    settings::{rounds, seed, turn},
    temporary::Temporary,
};

/// Conversations that say something at the beginning of every life, and then rest.
const RESTING: usize = 4;
/// Conversations that never rest.
const BUSY: usize = 6;

/// What was done and seen.
#[derive(Debug, Default)]
struct Tally {
    kills: usize,
    /// Replies that clients have got.
    replies: usize,
    /// Conversations that were cut in the middle, went on, and were found again, or not.
    found: usize,
    new: usize,
    breaches: Vec<String>,
}

#[test]
fn a_killed_gateway_leaves_nothing_open_and_conversations_go_on() {
    let _turn = turn();
    let kills = rounds("FOXWEDGE_SERVE_KILLS", 5);
    let provider = Provider::scripted();
    let folder = Temporary::folder();
    let config = config(&folder, provider.address, "");
    let mut random = Random::of(seed(), &["serve"]);
    let mut tally = Tally::default();
    let talk = |number| Conversation::new(number, "chat-scripted?pace=1");
    let mut resting: Vec<Conversation> = (0..RESTING).map(talk).collect();
    let mut busy: Vec<Conversation> = (RESTING..RESTING + BUSY).map(talk).collect();
    for life in 0..kills {
        let mut gateway = Gateway::start(&folder, &config);
        tally.breaches.extend(left_open(&gateway, life));
        // What was at rest when it was killed goes on in its session.
        for (number, conversation) in resting.iter_mut().enumerate() {
            let turn = conversation.turn(&gateway.address).expect("a reply");
            tally.replies += 1;
            if life > 0 && !turn.goes_on() {
                tally.breaches.push(format!("life {life}: conversation {number}: {turn:?}"));
            }
        }
        // Whoever looks waits until everything before is written.
        assert_eq!(gateway.get("/v1/runs?limit=1").status, 200);
        let most = random.place(60);
        let replies = AtomicUsize::new(0);
        thread::scope(|scope| {
            let (address, replies) = (gateway.address.clone(), &replies);
            let working: Vec<_> = busy
                .iter_mut()
                .map(|conversation| {
                    let address = address.clone();
                    scope.spawn(move || work(conversation, &address, replies))
                })
                .collect();
            while replies.load(Ordering::Relaxed) < most {
                assert!(!working.iter().all(|one| one.is_finished()), "nobody is served");
                thread::yield_now();
            }
            gateway.kill();
            for one in working {
                let (first, later) = one.join().expect("it does not panic");
                match first {
                    Some(true) => tally.found += 1,
                    Some(false) if life > 0 => tally.new += 1,
                    Some(false) | None => {}
                }
                if later > 0 {
                    tally.breaches.push(format!("life {life}: {later} turns in a wrong session"));
                }
            }
        });
        tally.kills += 1;
        tally.replies += replies.into_inner();
        assert_eq!(tally.breaches, Vec::<String>::new());
    }
    let gateway = Gateway::start(&folder, &config);
    tally.breaches.extend(left_open(&gateway, kills));
    let outcomes = outcomes(&gateway);
    gateway.terminate();
    let (code, said) = gateway.end();
    assert_eq!(code, Some(0), "{said}");
    let store = format!("sqlite:{}", folder.path("runs.db").display());
    let mut check = Command::new(env!("CARGO_BIN_EXE_foxwedge"));
    let checked = check.args(["store", "check", "--store", &store]).output().expect("a process");
    assert!(checked.status.success(), "{checked:?}");
    println!(
        "{} kills, {} replies; of the conversations cut in the middle {} were found again, \
         {} began anew; {} replies of the last moments are in no run; runs: {outcomes:?}",
        tally.kills,
        tally.replies,
        tally.found,
        tally.new,
        tally.replies.saturating_sub(outcomes.get("completed").copied().unwrap_or(0)),
    );
    assert_eq!(tally.breaches, Vec::<String>::new());
}

/// Talks until nobody answers. Whether the first turn went on in its session, and how many of the
/// later ones did not.
fn work(
    conversation: &mut Conversation,
    address: &str,
    replies: &AtomicUsize,
) -> (Option<bool>, usize) {
    let (mut first, mut wrong) = (None, 0);
    while let Some(turn) = conversation.turn(address) {
        replies.fetch_add(1, Ordering::Relaxed);
        match first {
            None => first = Some(turn.goes_on()),
            Some(_) => wrong += usize::from(!turn.goes_on()),
        }
    }
    (first, wrong)
}

/// Runs that somebody left open.
fn left_open(gateway: &Gateway, life: usize) -> Option<String> {
    let open = gateway.get("/v1/runs?open=true").json();
    let none = open["data"].as_array().is_some_and(Vec::is_empty);
    (!none).then(|| format!("life {life}: {open}"))
}

/// How runs ended.
fn outcomes(gateway: &Gateway) -> BTreeMap<String, usize> {
    let mut outcomes = BTreeMap::new();
    let mut path = "/v1/runs?limit=1000".to_owned();
    loop {
        let page = gateway.get(&path).json();
        for run in page["data"].as_array().expect("a list") {
            let outcome = run["outcome"].as_str().unwrap_or("open").to_owned();
            *outcomes.entry(outcome).or_default() += 1;
        }
        match page["next"].as_str() {
            Some(next) => path = format!("/v1/runs?limit=1000&after={next}"),
            None => return outcomes,
        }
    }
}
