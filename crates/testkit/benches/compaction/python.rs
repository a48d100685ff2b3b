//! Python's tiktoken on the same text, where there is one.
//!
//! The text is this project's own sources and documents. Python is given the vocabulary, since it
//! would load it from the network otherwise; the rest of the encoding is its own.

use std::{
    fmt::Write,
    fs,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use foxwedge_tokens::TokenVocabulary;

const SCRIPT: &str = "
import sys, time, tiktoken
import tiktoken_ext.openai_public as public
ranks = {}
for rank, line in enumerate(open(sys.argv[2])):
    ranks[bytes.fromhex(line.strip())] = rank
public.load_tiktoken_bpe = lambda *_, **__: ranks
count = tiktoken.Encoding(**public.o200k_base())
texts = open(sys.argv[1], encoding='utf-8').read().split('\\0')
best = first = None
for _ in range(5):
    start = time.perf_counter()
    tokens = sum(len(count.encode_ordinary(text)) for text in texts)
    spent = time.perf_counter() - start
    first = first or spent
    best = min(best or spent, spent)
print(first, best, tokens)
";

/// Counts the same texts here and there, in turns.
pub(crate) fn beside() {
    let mut texts = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."), &mut texts);
    let bytes: usize = texts.iter().map(String::len).sum();
    // Unpacking the vocabulary is no counting.
    TokenVocabulary::O200k.count("warm");
    let count =
        || texts.iter().map(|text| u64::from(TokenVocabulary::O200k.count(text))).sum::<u64>();
    let start = Instant::now();
    let tokens = count();
    let first = start.elapsed();
    let best = super::best(4, || {
        std::hint::black_box(count());
    })
    .min(first);
    let speed = |time: Duration| bytes as f64 / 1e6 / time.as_secs_f64();
    println!("{:<8}{:>12}{:>12}{:>12}", "", "first pass", "best of 5", "tokens");
    println!("{:<8}{:>12.1}{:>12.1}{tokens:>12}", "here", speed(first), speed(best));
    match python(&texts) {
        Some((there_first, there_best, count)) => {
            println!(
                "{:<8}{:>12.1}{:>12.1}{count:>12}",
                "python",
                speed(there_first),
                speed(there_best)
            );
            let ratio = |there: Duration, here: Duration| there.as_secs_f64() / here.as_secs_f64();
            println!(
                "{:<8}{:>12.2}{:>12.2}",
                "ratio",
                ratio(there_first, first),
                ratio(there_best, best)
            );
        }
        None => println!("no tiktoken for python3 here (`pip install tiktoken`)"),
    }
}

fn python(texts: &[String]) -> Option<(Duration, Duration, u64)> {
    let folder = std::env::temp_dir().join(format!("foxwedge-bench-{}", std::process::id()));
    fs::create_dir_all(&folder).ok()?;
    let (text, ranks) = (folder.join("text"), folder.join("ranks"));
    fs::write(&text, texts.join("\0")).ok()?;
    fs::write(&ranks, vocabulary()).ok()?;
    let told = Command::new("python3").arg("-c").arg(SCRIPT).args([&text, &ranks]).output();
    fs::remove_dir_all(&folder).ok();
    let told = told.ok().filter(|output| output.status.success())?;
    let told = String::from_utf8(told.stdout).ok()?;
    let mut numbers = told.split_whitespace();
    let mut seconds = || numbers.next()?.parse().ok().map(Duration::from_secs_f64);
    let (first, best) = (seconds()?, seconds()?);
    Some((first, best, numbers.next()?.parse().ok()?))
}

/// The tokens of the vocabulary in the order of their ranks, each as a line of hexadecimal digits.
fn vocabulary() -> String {
    // Behind these come special tokens, which have no rank.
    const RANKS: u32 = 199_998;
    let encoding = tiktoken::get_encoding("o200k_base").expect("known");
    let mut lines = String::new();
    for rank in 0..RANKS {
        for byte in encoding.decode(&[rank]) {
            write!(lines, "{byte:02x}").expect("memory");
        }
        lines.push('\n');
    }
    lines
}

/// Sources and documents below a folder.
fn collect(folder: &Path, texts: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !name.starts_with('.') && name != "target" {
            collect(&path, texts);
        } else if [".rs", ".md", ".json", ".jsonl"].iter().any(|end| name.ends_with(end)) {
            texts.extend(fs::read_to_string(&path).ok());
        }
    }
}
