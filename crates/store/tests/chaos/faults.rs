//! The disk refuses: the n-th write, sync, opening, shortening, removal, reading or mapping, once or
//! from then on for ever. Whoever asked for it hears of it, nobody panics, and whatever was
//! acknowledged is there afterwards: in the file as it was left, and on a disk that loses its power.

use crate::{
    power::{Amount, Recording, disk::Omitted, examined, judged, traceable},
    random::Random,
    settings::{rounds, seed, turn, wait_for},
    story::{Story, Weight},
};

/// What is refused, and how the system puts it.
const KINDS: [(&str, &str); 10] = [
    ("pwrite64", "EIO"),
    ("pwrite64", "ENOSPC"),
    ("fsync,fdatasync", "EIO"),
    ("fsync,fdatasync", "ENOSPC"),
    ("openat", "EMFILE"),
    ("openat", "EIO"),
    ("ftruncate", "EIO"),
    ("unlink", "EIO"),
    ("pread64", "EIO"),
    ("mmap", "ENOMEM"),
];

/// How long it is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lasting {
    Once,
    Twice,
    ForEver,
}

/// So many calls of a kind are refused in the usual run at the latest; a campaign goes on until
/// there are no more.
const LATEST: usize = 150;

/// How many disks are made of each process.
const DISKS: usize = 3;

#[derive(Debug, Default)]
struct Tally {
    processes: usize,
    /// Of those, in how many something was refused, and how many said that something failed.
    refused: usize,
    failed: usize,
    acknowledged: usize,
    breaches: Vec<String>,
}

impl Tally {
    /// Lets a process write while a call is refused. Tells whether it came to that call.
    fn tries(&mut self, (call, error): (&str, &str), lasting: Lasting, place: usize, honest: &str) -> bool {
        let when = match lasting {
            Lasting::Once => format!("{place}"),
            Lasting::Twice => format!("{place}..{}", place + 1),
            Lasting::ForEver => format!("{place}+"),
        };
        let refused = format!("{call}:error={error}:when={when}");
        let mut random = Random::of(seed(), &["faults", &refused]);
        let story = Story { seed: random.next(), weight: Weight::Light };
        let amount = Amount { writers: 2, runs: 2, times: 2 };
        let recording = Recording::new(story, amount, honest, Some(&refused));
        self.processes += 1;
        if recording.refused == 0 {
            return false;
        }
        let Recording { ledger, trouble, .. } = &recording;
        self.refused += 1;
        self.failed += usize::from(!ledger.failures.is_empty());
        self.acknowledged += ledger.lines;
        let mut found = Vec::new();
        if !recording.clean || !ledger.done || trouble.contains("panicked") {
            found.push(format!("it did not end well: {trouble}"));
        }
        let mut disk = recording.disk(Omitted::Nothing);
        recording.steps.iter().for_each(|step| disk.take(step));
        for _ in 0..DISKS {
            let left = judged(&disk.image(&mut random), &story, ledger, &mut random);
            found.extend(left.into_iter().map(|breach| format!("on a disk without power: {breach}")));
        }
        found.extend(wait_for(examined(&recording.file(), &story, ledger)));
        let told = |breach| format!("{refused}: {breach}; {:?}", ledger.failures);
        self.breaches.extend(found.into_iter().map(told));
        true
    }

    fn report(&self) {
        let Tally { processes, refused, failed, acknowledged, .. } = self;
        println!(
            "{processes} processes, something refused in {refused}, noticed by {failed}; \
             {acknowledged} acknowledgements"
        );
    }
}

#[test]
fn a_disk_that_refuses_loses_nothing_that_was_acknowledged() {
    let _turn = turn();
    if !traceable() {
        return;
    }
    let mut tally = Tally::default();
    match rounds("FOXWEDGE_FAULTS", 20) {
        // Every call there is.
        0 => {
            for kind in KINDS {
                for lasting in [Lasting::Once, Lasting::Twice, Lasting::ForEver] {
                    (1..).take_while(|place| tally.tries(kind, lasting, *place, "yes")).count();
                }
            }
        }
        count => {
            let mut random = Random::of(seed(), &["faults"]);
            for _ in 0..count {
                let kind = *random.pick(&KINDS);
                let lasting = *random.pick(&[Lasting::Once, Lasting::Twice, Lasting::ForEver]);
                // Early ones, where a store is made, as often as late ones.
                let place = 1 + random.place(1 + random.clone().place(LATEST));
                tally.tries(kind, lasting, place, "yes");
            }
        }
    }
    tally.report();
    assert_eq!(tally.breaches, Vec::<String>::new());
}

#[test]
fn a_process_that_acknowledges_what_was_refused_is_found_out() {
    let _turn = turn();
    if !traceable() {
        return;
    }
    let mut tally = Tally::default();
    for place in [20, 30, 40] {
        tally.tries(("fsync,fdatasync", "EIO"), Lasting::ForEver, place, "no");
    }
    tally.report();
    let found = tally.breaches.first().expect("somebody notices");
    println!("planted, found: {found}");
}
