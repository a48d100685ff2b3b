//! The disk refuses: the n-th write, sync, opening, shortening, removal, reading or mapping, once or
//! from then on for ever. Whoever asked for it hears of it, nobody panics, and whatever was
//! acknowledged is there afterwards: in the file as it was left, and on a disk that loses its power.

use crate::{
    power::{Amount, Recording, disk::Omitted, examined, judged, traceable},
    random::Random,
    settings::{rounds, seed, turn, wait_for},
    story::{Story, Weight},
};

/// Which calls are refused, how the system puts it, and about how many of them a process makes.
const KINDS: [(&str, &str, usize); 10] = [
    ("pwrite64", "EIO", 400),
    ("pwrite64", "ENOSPC", 400),
    ("fsync,fdatasync", "EIO", 60),
    ("fsync,fdatasync", "ENOSPC", 60),
    ("openat", "EMFILE", 10),
    ("openat", "EIO", 10),
    ("ftruncate", "EIO", 3),
    ("unlink", "EIO", 3),
    ("pread64", "EIO", 40),
    ("mmap", "ENOMEM", 2),
];

/// How long it is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lasting {
    Once,
    Twice,
    ForEver,
}

impl Lasting {
    const ALL: [Lasting; 3] = [Lasting::Once, Lasting::Twice, Lasting::ForEver];
}

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
    fn tries(
        &mut self,
        call: &str,
        error: &str,
        lasting: Lasting,
        place: usize,
        honest: &str,
    ) -> bool {
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
            found.extend(
                left.into_iter().map(|breach| format!("on a disk without power: {breach}")),
            );
        }
        found.extend(wait_for(examined(&recording.file(), &story, ledger)));
        if let Some(first) = found.first() {
            let failed = ledger.failures.first();
            self.breaches.push(format!("{refused}: {} breaches: {first}; {failed:?}", found.len()));
        }
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
            for (call, error, _) in KINDS {
                for lasting in Lasting::ALL {
                    (1..)
                        .take_while(|place| tally.tries(call, error, lasting, *place, "yes"))
                        .count();
                }
            }
        }
        count => {
            let mut random = Random::of(seed(), &["faults"]);
            for _ in 0..count {
                let (call, error, many) = *random.pick(&KINDS);
                let lasting = *random.pick(&Lasting::ALL);
                // Early ones, where a store is made, more often than late ones.
                let latest = 1 + random.place(many);
                tally.tries(call, error, lasting, 1 + random.place(latest), "yes");
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
        tally.tries("fsync,fdatasync", "EIO", Lasting::ForEver, place, "no");
    }
    tally.report();
    let found = tally.breaches.first().expect("somebody notices");
    println!("planted, found: {found}");
}
