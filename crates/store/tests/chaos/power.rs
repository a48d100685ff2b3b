//! The power goes. A process writes under a tracer, which writes down everything that it asks of
//! the disk; then disks are made as they might have been left at some moment, and opened. Whatever
//! the process had said before that moment is there.

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
    judge::{Settled, breaches, ghosts},
    ledger::Ledger,
    process::Process,
    random::Random,
    settings::{rounds, seed, turn, wait_for},
    story::{Story, Weight},
    temporary::Temporary,
    writer,
};

/// So many disks are made of one recording.
const CUTS: usize = 250;

/// What a process did.
pub(crate) struct Recording {
    pub(crate) steps: Vec<Step>,
    /// How many calls the tracer refused.
    pub(crate) refused: usize,
    /// What it had said in the end.
    pub(crate) ledger: Ledger,
    /// What it complained about, and how it ended.
    pub(crate) trouble: String,
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
    /// Lets a process write to a new file. `refused` says which calls the tracer refuses, `honest`
    /// is for the process.
    pub(crate) fn new(
        story: Story,
        amount: Amount,
        honest: &str,
        refused: Option<&str>,
    ) -> Recording {
        let folder = Temporary::folder();
        fs::create_dir(folder.path("data")).expect("a folder");
        let trace = folder.path("trace");
        let values = [
            (writer::STORE, &*format!("sqlite:{}", folder.path("data/store.db").display())),
            (writer::SEED, &story.seed.to_string()),
            (writer::WEIGHT, story.weight.name()),
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
            ledger.hear(&line);
        }
        let (status, trouble) = process.end();
        let text = fs::read_to_string(trace).expect("a trace");
        let steps = trace::read(&text, &folder.path("data"));
        let refused = text.matches("(INJECTED)").count();
        Recording { steps, refused, ledger, trouble, clean: status.success(), folder }
    }

    /// The file as it is now.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path("data/store.db")
    }

    /// A disk before anything happened.
    pub(crate) fn disk(&self, omitted: Omitted) -> Disk {
        Disk::new(&self.folder.path("data"), omitted)
    }
}

/// The words by which a tracer refuses calls that concern our files, and no others.
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

/// What is wrong with a disk, after what had been said.
pub(crate) fn judged(
    image: &Image,
    story: &Story,
    ledger: &Ledger,
    random: &mut Random,
) -> Vec<String> {
    let folder = Temporary::folder();
    for (path, content) in image {
        let name = path.file_name().expect("a name").to_string_lossy();
        // What lies in memory that is shared was never meant to last.
        let content = match name.ends_with("-shm") {
            true => (0..content.len()).map(|_| random.next() as u8).collect(),
            false => content.clone(),
        };
        fs::write(folder.path(&name), content).expect("a file");
    }
    wait_for(examined(&folder.path("store.db"), story, ledger))
}

/// What is wrong with a file, after what had been said.
pub(crate) async fn examined(file: &Path, story: &Story, ledger: &Ledger) -> Vec<String> {
    let store = match SqliteStore::open(file).await {
        Ok(store) => store,
        Err(error) => return vec![format!("it cannot be opened: {error:?}")],
    };
    let mut found = breaches(&store, story, ledger, &Settled::new()).await;
    if found.is_empty() {
        // Whoever was about to close a run when the power went still holds it.
        time_passes(&format!("sqlite:{}", file.display())).await;
        match sweep(&store, "judge", 10_000).await {
            Ok(_) => found.extend(ghosts(&store, story, &Settled::new()).await),
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

/// Makes so many disks, and looks at each.
fn campaign(disks: usize, omitted: Omitted) -> Tally {
    let mut tally = Tally::default();
    for recording in 0..disks.div_ceil(CUTS) {
        let mut random = Random::of(seed(), &["power", &recording.to_string()]);
        // Most stories are many small commits, some are few that are large.
        let weight = if recording % 4 == 3 { Weight::Heavy } else { Weight::Light };
        let story = Story { seed: random.next(), weight };
        let amount = Amount { writers: 2, runs: 20, times: 2 };
        let recording = Recording::new(story, amount, "yes", None);
        let Recording { steps, ledger, trouble, .. } = &recording;
        assert!(recording.clean && ledger.done, "{trouble}");
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
        let (mut done, mut said) = (0, Ledger::default());
        for cut in cuts {
            steps[done..cut].iter().for_each(|step| disk.take(step));
            done = cut;
            disk.lines().iter().for_each(|line| said.hear(line));
            let found = judged(&disk.image(&mut random), &story, &said, &mut random);
            tally.disks += 1;
            let told = |breach| format!("call {cut} of {}: {breach}", steps.len());
            tally.breaches.extend(found.into_iter().map(told));
            if !tally.breaches.is_empty() {
                return tally;
            }
        }
    }
    tally
}

/// Whether processes can be traced; otherwise a line says why not.
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
fn a_disk_that_loses_its_power_has_kept_what_was_acknowledged() {
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
fn a_sync_that_is_left_out_is_found_out() {
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
