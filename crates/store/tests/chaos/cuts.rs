//! An exported file that was cut off, or in which a bit flipped. What stands before the damage is
//! read, nothing behind it, and the place is told; the whole file afterwards completes it.

use std::{collections::BTreeMap, thread};

use foxwedge_store::{ImportReport, SqliteStore, export, import};

use crate::{
    random::Random,
    sample::fill,
    settings::{rounds, seed, turn, wait_for},
    story::{Story, Weight},
};

/// What an exported file holds, line by line, without what ties the lines to each other.
struct File {
    bytes: Vec<u8>,
    lines: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    /// Where it begins.
    offset: usize,
    /// What it says, up to its link.
    text: String,
}

/// The content of a file, by session and run, in whichever order they were written.
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

    /// How many lines are whole up to a byte.
    fn whole_before(&self, byte: usize) -> usize {
        self.lines.iter().skip(1).take_while(|line| line.offset <= byte).count()
            + usize::from(byte == self.bytes.len())
    }

    /// The line in which a byte is.
    fn line_of(&self, byte: usize) -> usize {
        self.lines.partition_point(|line| line.offset <= byte) - 1
    }

    /// The content of the first lines.
    fn content(&self, lines: usize) -> Content {
        let (mut content, mut session, mut run) = (Content::new(), String::new(), None);
        let mut counts = [0; 4];
        for (place, line) in self.lines[..lines].iter().enumerate() {
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
            let number = if kind == "event" { format!("{:06}", place) } else { line.text.clone() };
            // Events are known by their order, everything else by itself.
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

/// Events by their numbers in the run instead of in the file.
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

/// What is tried with one line of a file: it is cut off, or a bit of it is another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Harm {
    /// The file ends at this byte.
    Cut(usize),
    /// This bit of this byte is another one.
    Flip(usize, u8),
}

impl Harm {
    /// How many lines are whole, and what is left of the file.
    fn done_to(self, file: &File) -> (usize, Vec<u8>) {
        match self {
            Harm::Cut(byte) => (file.whole_before(byte), file.bytes[..byte].to_vec()),
            Harm::Flip(byte, bit) => {
                let mut bytes = file.bytes.clone();
                bytes[byte] ^= 1 << bit;
                (file.line_of(byte), bytes)
            }
        }
    }
}

/// Who reads a damaged file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reader {
    /// The store.
    Ours,
    /// The bug that is planted: it passes over what it cannot read.
    PassesOver,
}

impl Reader {
    fn sees(self, damaged: Vec<u8>) -> Vec<u8> {
        if self == Reader::Ours {
            return damaged;
        }
        let is_whole = |line: &&[u8]| serde_json::from_slice::<serde_json::Value>(line).is_ok();
        let mut link = [0; 16];
        let mut seen = Vec::new();
        for line in damaged.split(|byte| *byte == b'\n').filter(is_whole) {
            let open = &line[..line.len() - ",\"link\":\"\"}".len() - 32];
            let mut hasher = blake3::Hasher::new();
            hasher.update(&link).update(open).finalize_xof().fill(&mut link);
            let digits: String = link.iter().map(|byte| format!("{byte:02x}")).collect();
            seen.extend_from_slice(open);
            seen.extend_from_slice(format!(",\"link\":\"{digits}\"}}\n").as_bytes());
        }
        seen
    }
}

#[derive(Debug, Default)]
struct Tally {
    files: usize,
    cuts: usize,
    flips: usize,
    wrong: Vec<String>,
}

impl Tally {
    /// Does harm to a file, in every way of a list. What is whole goes into a store first; then
    /// nothing that the damaged file says may be new, and the whole file has to complete it.
    async fn tries(&mut self, file: &File, harms: &[Harm], reader: Reader) {
        self.files += 1;
        let mut by_line: BTreeMap<usize, Vec<(Harm, Vec<u8>)>> = BTreeMap::new();
        for harm in harms {
            let (good, damaged) = harm.done_to(file);
            by_line.entry(good).or_default().push((*harm, damaged));
        }
        for (good, harms) in by_line {
            let offset = file.lines.get(good).map_or(file.bytes.len(), |line| line.offset);
            let place = Some((good as u64 + 1, offset as u64));
            let expected = file.content(good);
            let store = SqliteStore::memory().await.expect("a store");
            let first = import(&store, &file.bytes[..offset]).await.expect("an import");
            self.expect(content_of(&store).await == expected, || format!("line {good}: misread"));
            let told = if offset == file.bytes.len() { None } else { place };
            self.expect(place_of(&first) == told, || {
                format!("line {good}: {first:?}, not {told:?}")
            });
            for (harm, damaged) in harms {
                match harm {
                    Harm::Cut(_) => self.cuts += 1,
                    Harm::Flip(..) => self.flips += 1,
                }
                let told = if damaged == file.bytes { None } else { place };
                let damaged = reader.sees(damaged);
                let imported = import(&store, &damaged[..]).await.expect("an import");
                let new = [imported.sessions, imported.records, imported.runs, imported.events];
                let still =
                    new == [0; 4] && imported.conflicting == 0 && place_of(&imported) == told;
                self.expect(still, || format!("{harm:?}: {imported:?}, not {told:?}"));
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
            self.wrong.push(what());
        }
    }
}

fn place_of(imported: &ImportReport) -> Option<(u64, u64)> {
    imported.damage.as_ref().map(|damage| (damage.line, damage.offset))
}

async fn content_of(store: &SqliteStore) -> Content {
    let file = File::of(store).await;
    file.content(file.lines.len())
}

/// A file of so many runs.
async fn file_of(seed: u64, runs: usize) -> File {
    let store = SqliteStore::memory().await.expect("a store");
    let story = Story { seed, weight: Weight::Light };
    fill(&store, &story, runs).await;
    File::of(&store).await
}

/// Cuts at every byte of small files and at some of larger ones, and a flip for every four cuts.
async fn campaign(cuts: usize, part: &str, reader: Reader) -> Tally {
    let mut random = Random::of(seed(), &["cuts", part]);
    let mut tally = Tally::default();
    while tally.cuts < cuts {
        let small = tally.files % 2 == 0;
        let file = file_of(random.next(), if small { 1 } else { 2 + random.place(20) }).await;
        let length = file.bytes.len();
        let left = cuts - tally.cuts;
        let mut harms: Vec<Harm> = match small {
            true => (0..=length).take(left).map(Harm::Cut).collect(),
            false => (0..left.min(200)).map(|_| Harm::Cut(random.place(length + 1))).collect(),
        };
        for _ in 0..harms.len().div_ceil(4) {
            harms.push(Harm::Flip(random.place(length), random.below(8) as u8));
        }
        tally.tries(&file, &harms, reader).await;
        if !tally.wrong.is_empty() {
            break;
        }
    }
    tally
}

#[test]
fn a_damaged_file_is_read_up_to_the_damage_and_not_a_word_further() {
    let _turn = turn();
    let half = rounds("FOXWEDGE_CUTS", 6_000).div_ceil(2);
    let both = thread::scope(|scope| {
        let begin = |part| scope.spawn(move || wait_for(campaign(half, part, Reader::Ours)));
        [begin("left"), begin("right")].map(|part| part.join().expect("no panic"))
    });
    for Tally { files, cuts, flips, wrong } in both {
        println!("{cuts} cuts and {flips} flips of {files} files");
        assert_eq!(wrong, Vec::<String>::new());
    }
}

#[test]
fn a_reader_that_passes_over_what_it_cannot_read_is_found_out() {
    let _turn = turn();
    let tally = wait_for(campaign(10_000, "planted", Reader::PassesOver));
    let found = tally.wrong.first().expect("somebody notices");
    println!("planted, found in file {}: {found}", tally.files);
}
