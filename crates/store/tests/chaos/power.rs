//! Power failure. A process writes under a tracer, which records every disk call. Then the test
//! builds disks as they might have been left at some moment, and opens them. Everything the process
//! had reported before that moment must be there.

pub(crate) mod disk;
pub(crate) mod trace;

use std::{
    fs,
    path::{Path, PathBuf},
};

use foxwedge_store::{SqliteStore, sweep};

use self::{
    disk::{Disk, Image, Omitted},
    trace::{Call, Step},
};
use crate::{
    database::time_passes,
    judge::{Settled, breaches, breaches_after_close},
    ledger::Ledger,
    process::Process,
    random::Random,
    settings::{rounds, seed, turn, wait_for},
    story::{Weight, Workload},
    temporary::Temporary,
    writer,
};

/// How many disks are built per recording.
const CUTS: usize = 250;

/// The recording of a process.
pub(crate) struct Recording {
    pub(crate) steps: Vec<Step>,
    /// Number of calls that the tracer refused.
    pub(crate) refused: usize,
    /// What it had reported at the end.
    pub(crate) ledger: Ledger,
    /// Its error output, and whether it ended cleanly.
    pub(crate) errors: String,
    pub(crate) clean: bool,
    folder: Temporary,
}

/// How much is written.
#[derive(Clone, Copy)]
pub(crate) struct Amount {
    pub(crate) writers: u64,
    pub(crate) runs: u64,
    pub(crate) times: u64,
}

impl Recording {
    /// Lets a process write to a new file. `refused` is the tracer's rule for refused calls,
    /// `honest` is a setting of the process.
    pub(crate) fn new(
        workload: Workload,
        amount: Amount,
        honest: &str,
        refused: Option<&str>,
    ) -> Recording {
        let folder = Temporary::folder();
        fs::create_dir(folder.path("data")).expect("a folder");
        let trace = folder.path("trace");
        let values = [
            (writer::STORE, &*format!("sqlite:{}", folder.path("data/store.db").display())),
            (writer::SEED, &workload.seed.to_string()),
            (writer::WEIGHT, workload.weight.name()),
            (writer::ROUND, "p"),
            (writer::WRITERS, &amount.writers.to_string()),
            (writer::RUNS, &amount.runs.to_string()),
            (writer::TIMES, &amount.times.to_string()),
            (writer::HONEST, honest),
        ];
        let more = refused.map(|refused| inject(&folder, refused)).unwrap_or_default();
        let mut process = Process::under(&trace::tracer(&trace, &more), writer::PART, &values);
        let mut ledger = Ledger::default();
        while let Some(line) = process.next() {
            ledger.record(&line);
        }
        let (status, errors) = process.end();
        let text = fs::read_to_string(trace).expect("a trace");
        let steps = trace::read(&text, &folder.path("data"));
        let refused = text.matches("(INJECTED)").count();
        Recording { steps, refused, ledger, errors, clean: status.success(), folder }
    }

    /// The current file.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path("data/store.db")
    }

    /// A disk before anything happened.
    pub(crate) fn disk(&self, omitted: Omitted) -> Disk {
        Disk::new(&self.folder.path("data"), omitted)
    }
}

/// The arguments with which a tracer refuses calls on our files only.
fn inject(folder: &Temporary, refused: &str) -> Vec<String> {
    let names = [
        "data",
        "data/store.db",
        "data/store.db-wal",
        "data/store.db-shm",
        "data/store.db-journal",
    ];
    let paths =
        names.iter().flat_map(|name| ["-P".to_owned(), folder.path(name).display().to_string()]);
    paths.chain(["-e".to_owned(), format!("inject={refused}")]).collect()
}

/// Checks a disk against what had been reported.
pub(crate) fn check_image(
    image: &Image,
    workload: &Workload,
    ledger: &Ledger,
    random: &mut Random,
) -> Vec<String> {
    let folder = Temporary::folder();
    for (path, content) in image {
        let name = path.file_name().expect("a name").to_string_lossy();
        // Shared memory never survives.
        let content = match name.ends_with("-shm") {
            true => (0..content.len()).map(|_| random.next() as u8).collect(),
            false => content.clone(),
        };
        fs::write(folder.path(&name), content).expect("a file");
    }
    wait_for(check_file(&folder.path("store.db"), workload, ledger))
}

/// Checks a file against what had been reported.
pub(crate) async fn check_file(file: &Path, workload: &Workload, ledger: &Ledger) -> Vec<String> {
    let store = match SqliteStore::open(file).await {
        Ok(store) => store,
        Err(error) => return vec![format!("it cannot be opened: {error:?}")],
    };
    let mut found = breaches(&store, workload, ledger, &Settled::new()).await;
    if found.is_empty() {
        // A process that was closing a run when the power failed still holds its lease.
        time_passes(&format!("sqlite:{}", file.display())).await;
        match sweep(&store, "judge", 10_000).await {
            Ok(_) => found.extend(breaches_after_close(&store, workload, &Settled::new()).await),
            Err(error) => found.push(format!("it cannot be swept: {error:?}")),
        }
    }
    found
}

#[derive(Debug, Default)]
struct Tally {
    disks: usize,
    acknowledged: usize,
    writes: usize,
    syncs: usize,
    breaches: Vec<String>,
}

/// Builds and checks `disks` disks.
fn campaign(disks: usize, omitted: Omitted) -> Tally {
    let mut tally = Tally::default();
    for recording in 0..disks.div_ceil(CUTS) {
        let mut random = Random::of(seed(), &["power", &recording.to_string()]);
        // Most workloads are many small commits, some are few large ones.
        let weight = if recording % 4 == 3 { Weight::Heavy } else { Weight::Light };
        let workload = Workload { seed: random.next(), weight };
        let amount = Amount { writers: 2, runs: 20, times: 2 };
        let recording = Recording::new(workload, amount, "yes", None);
        let Recording { steps, ledger, errors, .. } = &recording;
        assert!(recording.clean && ledger.done, "{errors}");
        assert_eq!(ledger.failures, Vec::<String>::new());
        tally.acknowledged += ledger.lines;
        for step in steps {
            match step {
                Step::Begun(_, Call::Sync { .. }) => tally.syncs += 1,
                Step::Begun(_, Call::Write { offset: Some(_), .. }) => tally.writes += 1,
                Step::Begun(..) | Step::Done(..) => {}
            }
        }
        let count = CUTS.min(disks - tally.disks);
        let mut cuts: Vec<usize> = (0..count).map(|_| random.place(steps.len() + 1)).collect();
        cuts.sort_unstable();
        let mut disk = recording.disk(omitted);
        let (mut done, mut reported) = (0, Ledger::default());
        for cut in cuts {
            steps[done..cut].iter().for_each(|step| disk.take(step));
            done = cut;
            disk.lines().iter().for_each(|line| reported.record(line));
            let found = check_image(&disk.image(&mut random), &workload, &reported, &mut random);
            tally.disks += 1;
            let describe = |breach| format!("call {cut} of {}: {breach}", steps.len());
            tally.breaches.extend(found.into_iter().map(describe));
            if !tally.breaches.is_empty() {
                return tally;
            }
        }
    }
    tally
}

/// Whether processes can be traced. Prints the reason if not.
pub(crate) fn traceable() -> bool {
    match trace::possible() {
        Ok(()) => true,
        Err(why) => {
            println!("skipped: nothing can be traced: {why}");
            false
        }
    }
}

#[test]
fn disk_keeps_acknowledged_writes_after_power_loss() {
    let _turn = turn();
    if !traceable() {
        return;
    }
    let tally = campaign(rounds("FOXWEDGE_POWER", 60), Omitted::Nothing);
    let Tally { disks, acknowledged, writes, syncs, breaches } = tally;
    println!("{disks} disks of {acknowledged} acknowledgements, {writes} writes, {syncs} syncs");
    assert_eq!(breaches, Vec::<String>::new());
}

#[test]
fn planted_missing_sync_is_found() {
    let _turn = turn();
    if !traceable() {
        return;
    }
    for omitted in [Omitted::LogSyncs, Omitted::FolderSyncs] {
        let tally = campaign(CUTS, omitted);
        let found = tally.breaches.first().expect("somebody notices");
        println!("planted {omitted:?}, found on disk {}: {found}", tally.disks);
    }
}
