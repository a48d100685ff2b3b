//! Two processes end the same run at the same moment, again and again: one wins each time.

use std::time::Duration;

use foxwedge_run::{EventPayload, Outcome, RunEnd, RunEvent};
use foxwedge_store::{
    AnyStore, ArchiveStore, CloseAuthority, FinalizeResult, NewRun, RunClosing, RunState, Store,
    StoreUrl,
};

use crate::{
    database,
    judge::log,
    process::{Process, input_lines, print_line, value},
    server::Care,
    settings::{rounds, turn, wait_for},
    temporary::Temporary,
    writer::STORE,
};

pub(crate) const PART: &str = "racer";

/// Name of a racer, and how it ends runs.
const NAME: &str = "FOXWEDGE_CHAOS_NAME";
const WAY: &str = "FOXWEDGE_CHAOS_WAY";

/// How a racer ends a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndMethod {
    /// Through the store.
    Store,
    /// A planted bug: checks whether the run has ended, and then ends it.
    LooksFirst,
}

impl EndMethod {
    fn name(self) -> &'static str {
        match self {
            EndMethod::Store => "store",
            EndMethod::LooksFirst => "looks first",
        }
    }
}

/// Ends every run it receives, and reports whether it won.
pub(crate) fn play() {
    let input = input_lines();
    wait_for(async {
        let address: StoreUrl = value(STORE).parse().expect("an address");
        let racer = match value(WAY) == EndMethod::Store.name() {
            true => Racer::Store(Box::new(AnyStore::open(&address).await.expect("a store"))),
            false => Racer::looks_first(&address).await,
        };
        print_line("ready");
        while let Ok(run) = input.recv() {
            let won = racer.ends(&run).await;
            print_line(&format!("{} {run}", if won { "won" } else { "lost" }));
        }
    });
}

enum Racer {
    Store(Box<AnyStore>),
    File(rusqlite::Connection),
    Server { client: tokio_postgres::Client, schema: String },
}

impl Racer {
    async fn looks_first(address: &StoreUrl) -> Racer {
        match address {
            StoreUrl::Sqlite(path) => {
                let file = rusqlite::Connection::open(path).expect("a file");
                file.busy_timeout(Duration::from_secs(10)).expect("patience");
                Racer::File(file)
            }
            StoreUrl::Postgres(url) => {
                let schema = database::parameter(url.secret(), "schema").to_owned();
                let client = database::connect(url.secret()).await.expect("a connection");
                Racer::Server { client, schema }
            }
            StoreUrl::Memory => panic!("nobody else sees what is in memory"),
        }
    }

    async fn ends(&self, run: &str) -> bool {
        match self {
            Racer::Store(store) => {
                let ended = store.finalize(run, CloseAuthority::Operator, closing(run)).await;
                matches!(ended.expect("an answer"), FinalizeResult::Recorded(_))
            }
            Racer::File(file) => {
                let sql = "SELECT ended_at FROM runs WHERE id = ?1";
                let ended: Option<i64> =
                    file.query_row(sql, [run], |row| row.get(0)).expect("a run");
                let statement =
                    "UPDATE runs SET ended_at = 1, ended = '{}', summary = '{}' WHERE id = ?1";
                ended.is_none() && file.execute(statement, [run]).expect("an end") == 1
            }
            Racer::Server { client, schema } => {
                let sql = format!("SELECT ended_at FROM {schema}.runs WHERE id = $1");
                let row = client.query_one(&sql, &[&run]).await.expect("a run");
                let statement = format!(
                    "UPDATE {schema}.runs SET ended_at = 1, ended = '{{}}', summary = '{{}}', closed = 1
                     WHERE id = $1"
                );
                row.get::<_, Option<i64>>(0).is_none()
                    && client.execute(&statement, &[&run]).await.expect("an end") == 1
            }
        }
    }
}

fn closing(run: &str) -> RunClosing {
    let ended =
        RunEnd { outcome: Some(Outcome::Completed), text: Some(value(NAME)), ..RunEnd::default() };
    let end =
        RunEvent { seq: Some(2), ..RunEvent::new(&run.into(), EventPayload::Ended(ended.clone())) };
    RunClosing { events: vec![end], ended, summary: Default::default(), records: Vec::new() }
}

/// Lets two processes race for `count` runs. Returns the errors, and how often each won.
pub(crate) fn races(address: &str, method: EndMethod, count: usize) -> (Vec<String>, [usize; 2]) {
    wait_for(async {
        let store = AnyStore::open(&address.parse().expect("an address")).await.expect("a store");
        let session = "session".to_owned();
        let new = foxwedge_store::NewSession { id: session.clone(), ..Default::default() };
        store.create_session(new).await.expect("a session");
        let names = ["left", "right"];
        let mut racers = names.map(|name| {
            let values = [(STORE, address), (NAME, name), (WAY, method.name())];
            Process::start(PART, &values)
        });
        for racer in &mut racers {
            while racer.next().expect("a racer") != "ready" {}
        }
        let (mut errors, mut wins) = (Vec::new(), [0, 0]);
        for number in 0..count {
            let run = format!("run-{number}");
            let new = NewRun {
                id: run.clone(),
                session: session.clone(),
                ttl: 60_000,
                ..NewRun::default()
            };
            store.start_run(new).await.expect("a run");
            // The first one has a small lead, so the order alternates.
            let first = number % 2;
            racers[first].tell(&run);
            racers[1 - first].tell(&run);
            let read_line = |racer: &mut Process| {
                racer.next().unwrap_or_else(|| panic!("a racer is gone: {}", racer.end().1))
            };
            let lines: Vec<String> = racers.iter_mut().map(read_line).collect();
            let winners: Vec<usize> =
                (0..2).filter(|racer| lines[*racer] == format!("won {run}")).collect();
            match winners.as_slice() {
                [winner] => {
                    wins[*winner] += 1;
                    if method == EndMethod::Store {
                        errors.extend(check_winner(&store, &run, names[*winner]).await);
                    }
                }
                winners => errors.push(format!("{run}: {} of 2 won", winners.len())),
            }
        }
        (errors, wins)
    })
}

/// Checks a run that `winner` ended. Returns the error, if any.
async fn check_winner(store: &AnyStore, run: &str, winner: &str) -> Option<String> {
    let row = store.run(run).await.expect("an answer").expect("a run");
    let log = log(store, run).await.expect("a log");
    let ended_by = match &row.state {
        RunState::Ended { ended, .. } => ended.text.as_deref(),
        RunState::Open => None,
    };
    let head = store.log_head(run).await.expect("an answer").expect("a run");
    let is_valid = ended_by == Some(winner) && log.len() == 2 && head.last == 2;
    (!is_valid).then(|| format!("{run}: {winner} won, and it is {row:?}"))
}

fn file(folder: &Temporary) -> String {
    format!("sqlite:{}", folder.path("store.db").display())
}

#[test]
fn two_processes_end_the_same_run_and_one_wins_in_a_file() {
    let _turn = turn();
    let folder = Temporary::folder();
    let (errors, wins) = races(&file(&folder), EndMethod::Store, rounds("FOXWEDGE_RACES", 1_000));
    println!("SQLite: wins {wins:?}");
    assert_eq!(errors, Vec::<String>::new());
}

#[test]
fn two_processes_end_the_same_run_and_one_wins_in_postgres() {
    let _turn = turn();
    let Some(server) = database::server(Care::Fast) else { return };
    let address = database::address(&server, "race", "race");
    let (errors, wins) = races(&address, EndMethod::Store, rounds("FOXWEDGE_RACES", 1_000));
    println!("PostgreSQL: wins {wins:?}");
    assert_eq!(errors, Vec::<String>::new());
}

#[test]
fn planted_check_before_end_is_found() {
    let _turn = turn();
    let folder = Temporary::folder();
    let (errors, _) = races(&file(&folder), EndMethod::LooksFirst, 300);
    println!("planted, SQLite: {} of 300 races have two winners", errors.len());
    assert_ne!(errors, Vec::<String>::new(), "somebody notices");
    let Some(server) = database::server(Care::Fast) else { return };
    let address = database::address(&server, "race", "race");
    let (errors, _) = races(&address, EndMethod::LooksFirst, 300);
    println!("planted, PostgreSQL: {} of 300 races have two winners", errors.len());
    assert_ne!(errors, Vec::<String>::new(), "somebody notices");
}
