//! Disk errors: the n-th write, sync, open, truncate, remove, read or map call is refused, once or
//! from then on. The caller gets an error, nothing panics, and everything acknowledged is stored:
//! in the file as it was left, and on a disk after a power failure.

use crate::{
    power::{Amount, Recording, check_file, check_image, disk::Omitted, traceable},
    random::Random,
    settings::{rounds, seed, turn, wait_for},
    story::{Weight, Workload},
};

/// Which calls are refused, the error code, and about how many of them a process makes.
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
enum RefusalDuration {
    Once,
    Twice,
    ForEver,
}

impl RefusalDuration {
    const ALL: [RefusalDuration; 3] =
        [RefusalDuration::Once, RefusalDuration::Twice, RefusalDuration::ForEver];
}

/// How many disks are built per process.
const DISKS: usize = 3;

#[derive(Debug, Default)]
struct Tally {
    processes: usize,
    /// In how many of them a call was refused, and how many reported a failure.
    refused: usize,
    failed: usize,
    acknowledged: usize,
    breaches: Vec<String>,
}

impl Tally {
    /// Lets a process write while a call is refused. Returns whether it reached that call.
    fn check_fault(
        &mut self,
        call: &str,
        error: &str,
        duration: RefusalDuration,
        number: usize,
        honest: &str,
    ) -> bool {
        let when = match duration {
            RefusalDuration::Once => format!("{number}"),
            RefusalDuration::Twice => format!("{number}..{}", number + 1),
            RefusalDuration::ForEver => format!("{number}+"),
        };
        let refused = format!("{call}:error={error}:when={when}");
        let mut random = Random::of(seed(), &["faults", &refused]);
        let workload = Workload { seed: random.next(), weight: Weight::Light };
        let amount = Amount { writers: 2, runs: 2, times: 2 };
        let recording = Recording::new(workload, amount, honest, Some(&refused));
        self.processes += 1;
        if recording.refused == 0 {
            return false;
        }
        let Recording { ledger, errors, .. } = &recording;
        self.refused += 1;
        self.failed += usize::from(!ledger.failures.is_empty());
        self.acknowledged += ledger.lines;
        let mut found = Vec::new();
        if !recording.clean || !ledger.done || errors.contains("panicked") {
            found.push(format!("it did not end well: {errors}"));
        }
        let mut disk = recording.disk(Omitted::Nothing);
        recording.steps.iter().for_each(|step| disk.take(step));
        for _ in 0..DISKS {
            let image_breaches =
                check_image(&disk.image(&mut random), &workload, ledger, &mut random);
            found.extend(
                image_breaches
                    .into_iter()
                    .map(|breach| format!("on a disk without power: {breach}")),
            );
        }
        found.extend(wait_for(check_file(&recording.file(), &workload, ledger)));
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
fn refusing_disk_loses_no_acknowledged_write() {
    let _turn = turn();
    if !traceable() {
        return;
    }
    let mut tally = Tally::default();
    match rounds("FOXWEDGE_FAULTS", 20) {
        // Every call there is.
        0 => {
            for (call, error, _) in KINDS {
                for duration in RefusalDuration::ALL {
                    (1..)
                        .take_while(|number| {
                            tally.check_fault(call, error, duration, *number, "yes")
                        })
                        .count();
                }
            }
        }
        count => {
            let mut random = Random::of(seed(), &["faults"]);
            for _ in 0..count {
                let (call, error, many) = *random.pick(&KINDS);
                let duration = *random.pick(&RefusalDuration::ALL);
                // Early calls, during the creation of a store, more often than late ones.
                let latest = 1 + random.place(many);
                tally.check_fault(call, error, duration, 1 + random.place(latest), "yes");
            }
        }
    }
    tally.report();
    assert_eq!(tally.breaches, Vec::<String>::new());
}

#[test]
fn planted_acknowledgement_of_refused_writes_is_found() {
    let _turn = turn();
    if !traceable() {
        return;
    }
    let mut tally = Tally::default();
    for number in [20, 30, 40] {
        tally.check_fault("fsync,fdatasync", "EIO", RefusalDuration::ForEver, number, "no");
    }
    tally.report();
    let found = tally.breaches.first().expect("somebody notices");
    println!("planted, found: {found}");
}
