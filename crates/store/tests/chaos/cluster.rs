//! Three nodes, a real server, and many faults: nodes are killed or suspended, connections are cut,
//! the server is stopped or crashes. Every run ends once, soon, and with everything that was
//! acknowledged; and every watcher sees all of it.

mod audit;
pub(crate) mod node;
mod nodes;
pub(crate) mod sleeper;

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use foxwedge_store::PostgresStore;
use tokio::{runtime::Runtime, task::JoinHandle, time::sleep};

use self::nodes::Nodes;
use crate::{
    database,
    judge::{Settled, breaches, breaches_after_close, runs},
    process::Process,
    race::{self, EndMethod},
    random::Random,
    server::{Care, Server},
    settings::{rounds, seed, turn},
    story::{Weight, Workload},
    writer::{SEED, STORE},
};

pub(crate) const NODE: &str = "node";
pub(crate) const SLEEPER: &str = "sleeper";

const SCHEMA: &str = "cluster";

/// A fault to inject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    /// A node is killed and started again.
    Kill,
    /// A node is suspended until another one has closed one of its runs.
    Freeze,
    /// A process holds a run, sleeps past its lease, and then tries to continue.
    Sleep,
    /// The connections of a node are cut.
    CutOne,
    /// All connections are cut.
    CutAll,
    /// The listening connections of the nodes are cut.
    CutWires,
    /// The server is stopped and started again.
    Restart,
    /// The server crashes and is started again.
    Crash,
}

impl Fault {
    fn draw(random: &mut Random) -> Fault {
        match random.below(100) {
            0..30 => Fault::Kill,
            30..36 => Fault::Freeze,
            36..48 => Fault::Sleep,
            48..64 => Fault::CutOne,
            64..70 => Fault::CutAll,
            70..86 => Fault::CutWires,
            86..93 => Fault::Restart,
            _ => Fault::Crash,
        }
    }
}

struct Cluster {
    server: Server,
    runtime: Runtime,
    nodes: Nodes,
    workload: Workload,
    random: Random,
    heartbeat: JoinHandle<()>,
    sleepers: usize,
    /// Cut connections, and cut listening connections.
    cut: usize,
    wires: usize,
    /// The injected faults with their times, in milliseconds since 1970: the server's clock is
    /// ours.
    timeline: Vec<(i64, Fault)>,
}

impl Cluster {
    fn start(server: Server) -> Cluster {
        let runtime = Runtime::new().expect("a runtime");
        let workload = Workload { seed: seed(), weight: Weight::Light };
        let address = |name: &str| format!("{}&pool=4", database::address(&server, SCHEMA, name));
        // The tables must exist before the audit can be installed.
        runtime.block_on(async {
            let store = PostgresStore::open(&address("keeper")).await.expect("a store");
            store.close().await;
            let keeper = database::administrator(&server).await;
            audit::install(&keeper, SCHEMA).await.expect("an audit");
        });
        let heartbeat = runtime.spawn(beat(server.url()));
        let nodes = Nodes::start(3, workload, |name| address(&format!("node-{name}")));
        let random = Random::of(seed(), &["cluster"]);
        let mut cluster = Cluster {
            server,
            runtime,
            nodes,
            workload,
            random,
            heartbeat,
            sleepers: 0,
            cut: 0,
            wires: 0,
            timeline: Vec::new(),
        };
        cluster.nodes.until_all_work(10);
        cluster
    }

    fn inject(&mut self, fault: Fault) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time");
        self.timeline.push((i64::try_from(now.as_millis()).expect("a time"), fault));
        let index = self.random.place(self.nodes.nodes.len());
        match fault {
            Fault::Kill => self.nodes.replace(index),
            Fault::Freeze => self.freeze(index),
            Fault::Sleep => self.sleep(),
            Fault::CutOne => {
                let name = &self.nodes.nodes[index].name;
                self.cut += self.terminate(&format!("application_name = 'node-{name}'"));
            }
            Fault::CutAll => self.cut += self.terminate("application_name LIKE 'node-%'"),
            Fault::CutWires => {
                self.wires += self.terminate(
                    "application_name LIKE 'node-%' AND query ~ 'LISTEN|pg_notify|SELECT id, last'",
                );
            }
            Fault::Restart => {
                self.server.stop().expect("stopped");
                self.server.launch().expect("started");
            }
            Fault::Crash => {
                self.server.crash().expect("stopped");
                self.server.launch().expect("started");
            }
        }
        self.nodes.until_all_work(5);
    }

    /// Suspends a node for longer than its leases last.
    fn freeze(&mut self, index: usize) {
        let node = &self.nodes.nodes[index];
        let own = format!("{}{}-", node.name, node.generation);
        let before = self.nodes.reports.swept.len();
        node.process.signal("STOP");
        self.nodes.until("a run of a node that stands still is closed", |nodes| {
            nodes.reports.swept[before..].iter().any(|run| run.starts_with(&own))
        });
        self.nodes.nodes[index].process.signal("CONT");
    }

    fn sleep(&mut self) {
        self.sleepers += 1;
        let name = format!("sleeper{}", self.sleepers);
        let address = database::address(&self.server, SCHEMA, "sleeper");
        let seed = self.workload.seed.to_string();
        let values = [(STORE, &*address), (node::NAME, &*name), (SEED, &*seed)];
        let mut process = Process::start(SLEEPER, &values);
        loop {
            match process.next().expect("a sleeper").as_str() {
                // It was slower than its lease.
                "gone" => return,
                line if line.starts_with("holding ") => break,
                _ => {}
            }
        }
        process.signal("STOP");
        self.nodes
            .until("the run of a sleeper is closed", |nodes| nodes.reports.swept.contains(&name));
        process.signal("CONT");
        let mut lines = Vec::new();
        while let Some(line) = process.next() {
            match line.as_str() {
                "awake" => break,
                line => lines.push(line.to_owned()),
            }
        }
        let refused = ["refused append", "refused end", "refused renewal"];
        assert_eq!(lines, refused, "{name}: {}", process.end().1);
        self.nodes.reports.refused += refused.len();
    }

    /// Ends connections, as an administrator or a proxy does. Returns how many.
    fn terminate(&self, which: &str) -> usize {
        let sql = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {which}");
        self.runtime.block_on(async {
            let administrator = database::administrator(&self.server).await;
            administrator.query(&sql, &[]).await.expect("cut").len()
        })
    }

    /// Starts nothing new, and waits until everything has ended.
    fn finish(&mut self) {
        self.nodes.nodes.iter_mut().for_each(|node| node.process.tell("finish"));
        self.nodes
            .until("every node finishes", |nodes| nodes.nodes.iter().all(|node| node.finished));
        let ends = self.runtime.block_on(async {
            let administrator = database::administrator(&self.server).await;
            let open = format!(
                "SELECT count(*) FROM {SCHEMA}.runs, pg_sleep(0.05) WHERE ended_at IS NULL"
            );
            while administrator.query_one(&open, &[]).await.expect("a number").get::<_, i64>(0) > 0
            {
            }
            let ends = format!("SELECT id, last FROM {SCHEMA}.runs");
            let rows = administrator.query(&ends, &[]).await.expect("runs");
            let end =
                |row: &tokio_postgres::Row| (row.get(0), row.get::<_, i64>(1).cast_unsigned());
            rows.iter().map(end).collect::<BTreeMap<String, u64>>()
        });
        self.nodes.until("every watcher has seen everything", |nodes| {
            nodes.nodes.iter().all(|node| node.saw == ends)
        });
    }

    /// Everything that is wrong.
    fn judge(&self) -> Vec<String> {
        self.runtime.block_on(async {
            let address = database::address(&self.server, SCHEMA, "keeper");
            let store = PostgresStore::open(&address).await.expect("a store");
            let keeper = database::administrator(&self.server).await;
            let reports = &self.nodes.reports;
            let mut errors =
                breaches(&store, &self.workload, &reports.ledger, &Settled::new()).await;
            errors.extend(breaches_after_close(&store, &self.workload, &Settled::new()).await);
            errors.extend(reports.ledger.failures.iter().cloned());
            let names: Vec<String> =
                runs(&store).await.expect("runs").into_iter().map(|run| run.id).collect();
            let changes = audit::changes(&keeper, SCHEMA).await.expect("changes");
            errors.extend(audit::ends(&changes, &names));
            errors.extend(audit::stale_writes(&changes, &reports.writes));
            let disputed = reports.winners.iter().filter(|(_, winners)| winners.len() > 1);
            errors
                .extend(disputed.map(|(run, winners)| format!("run {run} was won by {winners:?}")));
            let beats = audit::beats(&keeper, SCHEMA).await.expect("beats");
            let freezes = self.timeline.iter().filter(|(_, fault)| *fault == Fault::Freeze);
            let freezes: Vec<i64> = freezes.map(|(at, _)| *at).collect();
            let faults: Vec<i64> = self.timeline.iter().map(|(at, _)| *at).collect();
            let outages = audit::Outages::new(&beats, &freezes, &faults);
            let taken = audit::takeovers(&changes, &outages);
            println!(
                "{} runs, {} acknowledgements; {} connections and {} wires cut; {} writes refused",
                names.len(),
                reports.ledger.lines,
                self.cut,
                self.wires,
                reports.refused
            );
            println!(
                "{} runs taken over, {} ms late at most, closed within {} ms",
                taken.count, taken.latest, taken.longest
            );
            // The delay depends on the load of the machine: it is printed always, and checked in a
            // campaign.
            match std::env::var_os("FOXWEDGE_CLUSTER") {
                Some(_) => errors.extend(taken.breaches),
                None => println!("{:?}", taken.breaches),
            }
            errors
        })
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.heartbeat.abort();
    }
}

/// Records that the server is available, as often as possible.
async fn beat(url: String) {
    loop {
        if let Ok(client) = database::connect(&url).await {
            let statement = format!("INSERT INTO {SCHEMA}.beats SELECT {SCHEMA}.now_ms()");
            while client.execute(&statement, &[]).await.is_ok() {
                sleep(Duration::from_millis(audit::BEAT)).await;
            }
        }
        sleep(Duration::from_millis(5)).await;
    }
}

#[test]
fn cluster_with_faults_ends_every_run_once_and_loses_nothing() {
    let _turn = turn();
    let Some(server) = database::server(Care::Durable) else { return };
    let mut cluster = Cluster::start(server);
    let mut counts: BTreeMap<Fault, usize> = BTreeMap::new();
    for _ in 0..rounds("FOXWEDGE_CLUSTER", 60) {
        let fault = Fault::draw(&mut cluster.random);
        *counts.entry(fault).or_default() += 1;
        cluster.inject(fault);
    }
    cluster.finish();
    println!("{counts:?}");
    assert_eq!(cluster.wires > 0, counts.contains_key(&Fault::CutWires), "no wire was cut");
    assert_eq!(cluster.judge(), Vec::<String>::new(), "{:?}", cluster.timeline);
}

#[test]
fn cluster_audit_finds_a_planted_check_before_end() {
    let _turn = turn();
    let Some(server) = database::server(Care::Fast) else { return };
    let runtime = Runtime::new().expect("a runtime");
    for (schema, method) in [("honest", EndMethod::Store), ("planted", EndMethod::LooksFirst)] {
        let address = database::address(&server, schema, "race");
        let keeper = runtime.block_on(async {
            PostgresStore::open(&address).await.expect("a store").close().await;
            let keeper = database::administrator(&server).await;
            audit::install(&keeper, schema).await.expect("an audit");
            keeper
        });
        let count = 500;
        race::races(&address, method, count);
        let changes = runtime.block_on(audit::changes(&keeper, schema)).expect("changes");
        let names: Vec<String> = (0..count).map(|number| format!("run-{number}")).collect();
        let found = audit::ends(&changes, &names);
        println!("{method:?}: {} of {count} runs did not end once", found.len());
        assert_eq!(found.is_empty(), method == EndMethod::Store, "{:?}", found.first());
    }
}
