//! Exported files that are cut off or have a flipped bit. Everything before the damage is imported,
//! nothing after it, and the position is reported. The whole file completes the import afterwards.

use std::{collections::BTreeMap, thread};

use foxwedge_store::{ImportReport, SqliteStore, export, import};

use crate::{
    random::Random,
    sample::fill,
    settings::{rounds, seed, turn, wait_for},
    story::{Weight, Workload},
};

/// An exported file, line by line, without the links.
struct File {
    bytes: Vec<u8>,
    lines: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    /// Byte offset of the line.
    offset: usize,
    /// Text up to its link.
    text: String,
}

/// The content of a file by session and run, independent of the order.
type Content = BTreeMap<String, String>;

impl File {
    async fn of(store: &SqliteStore) -> File {
        let mut bytes = Vec::new();
        export(store, &[], &mut bytes).await.expect("an export");
        File::read(bytes)
    }

    fn read(bytes: Vec<u8>) -> File {
        let mut offset = 0;
        let mut lines = Vec::new();
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let text = std::str::from_utf8(line).expect("text");
            let (text, _) = text.rsplit_once(",\"link\":\"").expect("a link");
            lines.push(Line { offset, text: text.to_owned() });
            offset += line.len();
        }
        File { bytes, lines }
    }

    /// Number of complete lines before a byte.
    fn whole_before(&self, byte: usize) -> usize {
        self.lines.iter().skip(1).take_while(|line| line.offset <= byte).count()
            + usize::from(byte == self.bytes.len())
    }

    /// The line of a byte.
    fn line_of(&self, byte: usize) -> usize {
        self.lines.partition_point(|line| line.offset <= byte) - 1
    }

    /// The content of the first lines.
    fn content(&self, lines: usize) -> Content {
        let (mut content, mut session, mut run) = (Content::new(), String::new(), None);
        let mut counts = [0; 4];
        for (index, line) in self.lines[..lines].iter().enumerate() {
            let kind = line.text.get(2..).and_then(|text| text.split('"').next()).expect("a kind");
            let name = || line.text.split("\"id\":\"").nth(1)?.split('"').next();
            match kind {
                "session" => session = name().expect("an id").to_owned(),
                "run" => run = Some(name().expect("an id").to_owned()),
                "foxwedge" | "record" | "event" | "run_end" | "end" => {}
                kind => panic!("nobody knows `{kind}`"),
            }
            let kinds = ["session", "record", "run", "event"];
            if let Some(count) = kinds.iter().position(|known| *known == kind) {
                counts[count] += 1;
            }
            if matches!(kind, "foxwedge" | "end") {
                continue;
            }
            let within = run.as_deref().unwrap_or("");
            let number = if kind == "event" { format!("{:06}", index) } else { line.text.clone() };
            // Events are identified by their order, everything else by itself.
            content.insert(format!("{session}/{within}/{kind}/{number}"), line.text.clone());
            if kind == "run_end" {
                run = None;
            }
        }
        if let Some(run) = run {
            let open = "{\"run_end\":{\"state\":\"open\"}";
            content.insert(format!("{session}/{run}/run_end/{open}"), open.to_owned());
        }
        content.insert("counts".to_owned(), format!("{counts:?}"));
        numbered(content)
    }
}

/// Numbers events within their run instead of within the file.
fn numbered(content: Content) -> Content {
    let (mut numbered, mut before, mut count) = (Content::new(), String::new(), 0);
    for (key, text) in content {
        match key.split_once("/event/") {
            Some((run, _)) => {
                count = if before == run { count + 1 } else { 1 };
                before = run.to_owned();
                numbered.insert(format!("{run}/event/{count:06}"), text);
            }
            None => drop(numbered.insert(key, text)),
        }
    }
    numbered
}

/// A damage to try: the file is cut off, or a bit is flipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Damage {
    /// The file ends at this byte.
    Cut(usize),
    /// This bit of this byte is flipped.
    Flip(usize, u8),
}

impl Damage {
    /// Returns the number of complete lines and the damaged file.
    fn apply(self, file: &File) -> (usize, Vec<u8>) {
        match self {
            Damage::Cut(byte) => (file.whole_before(byte), file.bytes[..byte].to_vec()),
            Damage::Flip(byte, bit) => {
                let mut bytes = file.bytes.clone();
                bytes[byte] ^= 1 << bit;
                (file.line_of(byte), bytes)
            }
        }
    }
}

/// What reads a damaged file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reader {
    /// The store.
    Ours,
    /// A planted bug: skips what it cannot read.
    PassesOver,
}

impl Reader {
    fn filter(self, damaged: Vec<u8>) -> Vec<u8> {
        if self == Reader::Ours {
            return damaged;
        }
        let is_whole = |line: &&[u8]| serde_json::from_slice::<serde_json::Value>(line).is_ok();
        let mut link = [0; 16];
        let mut repaired = Vec::new();
        for line in damaged.split(|byte| *byte == b'\n').filter(is_whole) {
            let open = &line[..line.len() - ",\"link\":\"\"}".len() - 32];
            let mut hasher = blake3::Hasher::new();
            hasher.update(&link).update(open).finalize_xof().fill(&mut link);
            let digits: String = link.iter().map(|byte| format!("{byte:02x}")).collect();
            repaired.extend_from_slice(open);
            repaired.extend_from_slice(format!(",\"link\":\"{digits}\"}}\n").as_bytes());
        }
        repaired
    }
}

#[derive(Debug, Default)]
struct Tally {
    files: usize,
    cuts: usize,
    flips: usize,
    errors: Vec<String>,
}

impl Tally {
    /// Damages a file in every given way. The valid part is imported first; then the damaged file
    /// must add nothing, and the whole file must complete it.
    async fn check(&mut self, file: &File, damages: &[Damage], reader: Reader) {
        self.files += 1;
        let mut by_line: BTreeMap<usize, Vec<(Damage, Vec<u8>)>> = BTreeMap::new();
        for damage in damages {
            let (good, damaged) = damage.apply(file);
            by_line.entry(good).or_default().push((*damage, damaged));
        }
        for (good, damages) in by_line {
            let offset = file.lines.get(good).map_or(file.bytes.len(), |line| line.offset);
            let expected_damage = Some((good as u64 + 1, offset as u64));
            let expected = file.content(good);
            let store = SqliteStore::memory().await.expect("a store");
            let first = import(&store, &file.bytes[..offset]).await.expect("an import");
            self.expect(content_of(&store).await == expected, || format!("line {good}: misread"));
            let reported = if offset == file.bytes.len() { None } else { expected_damage };
            self.expect(damage_position(&first) == reported, || {
                format!("line {good}: {first:?}, not {reported:?}")
            });
            for (damage, damaged) in damages {
                match damage {
                    Damage::Cut(_) => self.cuts += 1,
                    Damage::Flip(..) => self.flips += 1,
                }
                let reported = if damaged == file.bytes { None } else { expected_damage };
                let damaged = reader.filter(damaged);
                let imported = import(&store, &damaged[..]).await.expect("an import");
                let new = [imported.sessions, imported.records, imported.runs, imported.events];
                let adds_nothing = new == [0; 4]
                    && imported.conflicting == 0
                    && damage_position(&imported) == reported;
                self.expect(adds_nothing, || format!("{damage:?}: {imported:?}, not {reported:?}"));
            }
            self.expect(content_of(&store).await == expected, || format!("line {good}: changed"));
            let whole = import(&store, &file.bytes[..]).await.expect("an import");
            let fits = whole.damage.is_none() && whole.conflicting == 0;
            self.expect(fits, || format!("line {good}: the whole file is refused: {whole:?}"));
            let complete = content_of(&store).await == file.content(file.lines.len());
            self.expect(complete, || format!("line {good}: the whole file does not complete it"));
        }
    }

    fn expect(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.errors.push(what());
        }
    }
}

fn damage_position(imported: &ImportReport) -> Option<(u64, u64)> {
    imported.damage.as_ref().map(|damage| (damage.line, damage.offset))
}

async fn content_of(store: &SqliteStore) -> Content {
    let file = File::of(store).await;
    file.content(file.lines.len())
}

/// A file with `runs` runs.
async fn file_of(seed: u64, runs: usize) -> File {
    let store = SqliteStore::memory().await.expect("a store");
    let workload = Workload { seed, weight: Weight::Light };
    fill(&store, &workload, runs).await;
    File::of(&store).await
}

/// Cuts small files at every byte and larger ones at some, with a flip for every four cuts.
async fn campaign(cuts: usize, part: &str, reader: Reader) -> Tally {
    let mut random = Random::of(seed(), &["cuts", part]);
    let mut tally = Tally::default();
    while tally.cuts < cuts {
        let small = tally.files % 2 == 0;
        let file = file_of(random.next(), if small { 1 } else { 2 + random.place(20) }).await;
        let length = file.bytes.len();
        let left = cuts - tally.cuts;
        let mut damages: Vec<Damage> = match small {
            true => (0..=length).take(left).map(Damage::Cut).collect(),
            false => (0..left.min(200)).map(|_| Damage::Cut(random.place(length + 1))).collect(),
        };
        for _ in 0..damages.len().div_ceil(4) {
            damages.push(Damage::Flip(random.place(length), random.below(8) as u8));
        }
        tally.check(&file, &damages, reader).await;
        if !tally.errors.is_empty() {
            break;
        }
    }
    tally
}

#[test]
fn damaged_file_is_read_exactly_up_to_the_damage() {
    let _turn = turn();
    let half = rounds("FOXWEDGE_CUTS", 6_000).div_ceil(2);
    let both = thread::scope(|scope| {
        let begin = |part| scope.spawn(move || wait_for(campaign(half, part, Reader::Ours)));
        [begin("left"), begin("right")].map(|part| part.join().expect("no panic"))
    });
    for Tally { files, cuts, flips, errors } in both {
        println!("{cuts} cuts and {flips} flips of {files} files");
        assert_eq!(errors, Vec::<String>::new());
    }
}

#[test]
fn planted_reader_that_skips_damage_is_found() {
    let _turn = turn();
    let tally = wait_for(campaign(10_000, "planted", Reader::PassesOver));
    let found = tally.errors.first().expect("somebody notices");
    println!("planted, found in file {}: {found}", tally.files);
}
