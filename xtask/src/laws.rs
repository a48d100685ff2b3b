//! A long campaign: the laws of repair, of compaction, of conversion, of streams, or of runs, on as many
//! random histories, answers and sessions as time allows.

use std::{
    fmt::Write as _,
    io::{self, IsTerminal, Write as _},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Instant,
};

use foxwedge_core::{Format, Profile, rules};
use foxwedge_testkit::{
    laws::{self, LawBreach, LawOptions, LawTally, SessionAgent},
    runs,
};

use crate::{Outcome, ci};

/// Cases that a thread takes at once.
const PORTION: u64 = 500;

/// Violations that are shown in full, unless somebody asks for more.
const SHOWN: usize = 3;

/// Runs the campaign; a debug build starts the release build of itself.
pub(crate) fn run(words: &[&str]) -> Outcome {
    let asked = Asked::read(words)?;
    if cfg!(debug_assertions) {
        return in_release(words);
    }
    let started = Instant::now();
    let tally = spread(&asked);
    let seconds = started.elapsed().as_secs_f64();
    print!("{}", table(&tally));
    eprintln!("{:.1} s on {} threads", seconds, asked.threads);
    match tally.violations.len() {
        0 => Ok(()),
        count => {
            for breach in tally.violations.iter().take(asked.shown) {
                eprintln!("\n{}", told(breach, &asked));
            }
            Err(format!("{count} violations"))
        }
    }
}

/// What was asked for.
struct Asked {
    options: LawOptions,
    threads: u64,
    laws: Laws,
    /// Violations that are shown in full.
    shown: usize,
}

/// Which laws are tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Laws {
    Repair,
    Compaction,
    Conversion,
    Streams,
    Runs,
    SessionFiles,
    Mutations,
}

impl Laws {
    const ALL: [Laws; 7] = [
        Laws::Repair,
        Laws::Compaction,
        Laws::Conversion,
        Laws::Streams,
        Laws::Runs,
        Laws::SessionFiles,
        Laws::Mutations,
    ];

    fn name(self) -> &'static str {
        match self {
            Laws::Repair => "repair",
            Laws::Compaction => "compaction",
            Laws::Conversion => "conversion",
            Laws::Streams => "streams",
            Laws::Runs => "runs",
            Laws::SessionFiles => "session-files",
            Laws::Mutations => "mutations",
        }
    }

    fn campaign(self, options: &LawOptions) -> LawTally {
        match self {
            Laws::Repair => laws::campaign(options),
            Laws::Compaction => laws::compaction::campaign(options),
            Laws::Conversion => laws::conversion::campaign(options),
            Laws::Streams => laws::streams::campaign(options),
            Laws::Runs => runs::laws::campaign(options),
            Laws::SessionFiles => laws::session::mutated::campaign(options),
            Laws::Mutations => laws::mutations::campaign(options),
        }
    }
}

impl Asked {
    fn read(words: &[&str]) -> Result<Asked, String> {
        let threads = thread::available_parallelism().map_or(1, |count| count.get() as u64);
        let options = LawOptions { cases: 0, ..LawOptions::default() };
        let mut asked = Asked { options, threads, laws: Laws::Repair, shown: SHOWN };
        let mut words = words.iter();
        while let Some(&name) = words.next() {
            let value = *words.next().ok_or_else(|| format!("`{name}` needs a value"))?;
            let options = &mut asked.options;
            match name {
                "--cases" => options.cases = number(name, value)?,
                "--seed" => options.seed = number(name, value)?,
                "--of" => {
                    let known = Laws::ALL.into_iter().find(|laws| laws.name() == value);
                    asked.laws = known.ok_or_else(|| {
                        let all = Laws::ALL.map(Laws::name).join(", ");
                        format!("unknown laws `{value}`; known: {all}")
                    })?;
                }
                "--show" => asked.shown = usize::try_from(number(name, value)?).unwrap_or(SHOWN),
                "--agent" => {
                    options.agent = Some(SessionAgent::parse(value).ok_or_else(|| {
                        let all = SessionAgent::ALL.map(SessionAgent::name).join(", ");
                        format!("unknown agent `{value}`; known: {all}")
                    })?);
                }
                "--threads" => asked.threads = number(name, value)?.max(1),
                "--dialect" => {
                    options.wire = Some(Format::parse(value).ok_or_else(|| {
                        format!(
                            "unknown dialect `{value}`; known: {}",
                            Format::ALL.map(Format::name).join(", ")
                        )
                    })?);
                }
                "--profile" => {
                    options.profile = Some(Profile::parse(value).ok_or_else(|| {
                        format!(
                            "unknown profile `{value}`; known: {}",
                            Profile::ALL.map(Profile::name).join(", ")
                        )
                    })?);
                }
                _ => return Err(format!("unknown option `{name}`")),
            }
        }
        if asked.options.cases == 0 {
            return Err("`--cases` says how many histories to try".to_owned());
        }
        Ok(asked)
    }
}

fn number(name: &str, value: &str) -> Result<u64, String> {
    value.replace('_', "").parse().map_err(|_| format!("`{name} {value}` is not a number"))
}

fn in_release(words: &[&str]) -> Outcome {
    let status = ci::command()
        .args(["run", "--quiet", "--release", "--package", "xtask", "--", "laws"])
        .args(words)
        .status()
        .map_err(|error| format!("cargo cannot be started: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err("the laws do not hold, or could not be tried".to_owned())
    }
}

/// Spreads the seeds over threads. The tally does not depend on how they are spread.
fn spread(asked: &Asked) -> LawTally {
    let total = asked.options.cases;
    let next = AtomicU64::new(0);
    let whole = Mutex::new(LawTally::default());
    thread::scope(|scope| {
        for _ in 0..asked.threads {
            scope.spawn(|| {
                loop {
                    let start = next.fetch_add(PORTION, Ordering::Relaxed);
                    if start >= total {
                        break;
                    }
                    let part = asked.laws.campaign(&LawOptions {
                        seed: asked.options.seed + start,
                        cases: PORTION.min(total - start),
                        ..asked.options.clone()
                    });
                    let mut whole = whole.lock().unwrap_or_else(|broken| broken.into_inner());
                    whole.add(part);
                    progress(whole.cases, total, whole.violations.len());
                }
            });
        }
    });
    let mut tally = whole.into_inner().unwrap_or_else(|broken| broken.into_inner());
    tally.violations.sort_by_key(|breach| breach.case.seed);
    tally
}

/// One line that is written over on a terminal; every tenth part in a log.
fn progress(done: u64, total: u64, violations: usize) {
    let mut err = io::stderr().lock();
    let line = format!("{done} of {total} cases, {violations} violations");
    // Nobody is served by a campaign that ends because its progress cannot be shown.
    let _ = if err.is_terminal() {
        write!(err, "\r{line}{}", if done == total { "\n" } else { "" })
    } else if done * 10 / total != done.saturating_sub(PORTION) * 10 / total {
        writeln!(err, "{line}")
    } else {
        Ok(())
    };
}

/// What the campaign saw, as a table.
fn table(tally: &LawTally) -> String {
    let mut text = String::new();
    let mut row = |name: &str, count: u64| {
        let _ = writeln!(text, "{name:<32} {count:>12}");
    };
    row("cases", tally.cases);
    row("  sound as they came", tally.sound);
    row("  not readable", tally.unreadable);
    row("findings", tally.findings.values().sum());
    for (code, count) in &tally.findings {
        let name = rules::find_rule(&code.to_string()).map_or("", |rule| rule.name);
        row(&format!("  FW{code} {name}"), *count);
    }
    row("repairs", tally.repairs.values().sum());
    for (kind, count) in &tally.repairs {
        row(&format!("  {kind}"), *count);
    }
    row("violations", tally.violations.len() as u64);
    text
}

/// A violation, and how to see it again.
fn told(breach: &LawBreach, asked: &Asked) -> String {
    let case = &breach.case;
    let mut replay = format!("cargo xtask laws --cases 1 --seed {}", case.seed);
    if asked.laws != Laws::Repair {
        let _ = write!(replay, " --of {}", asked.laws.name());
    }
    if let Some(wire) = asked.options.wire {
        let _ = write!(replay, " --dialect {}", wire.name());
    }
    if let Some(profile) = asked.options.profile {
        let _ = write!(replay, " --profile {}", profile.name());
    }
    if let Some(agent) = asked.options.agent {
        let _ = write!(replay, " --agent {}", agent.name());
    }
    let agent = case.agent.map_or(String::new(), |agent| format!(" in a file of {}", agent.name()));
    format!(
        "law `{}` broken: {}{agent} under {}, {:?}\n{}\nbefore\n{}\nreplay: {replay}",
        breach.law,
        case.wire.name(),
        case.profile.name(),
        case.policy,
        breach.what,
        breach.document,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_wrong_ones_named() {
        let asked = Asked::read(&["--cases", "1_000", "--dialect", "gemini", "--threads", "2"]);
        let asked = asked.expect("all of it is known");
        assert_eq!((asked.options.cases, asked.threads), (1000, 2));
        assert_eq!(asked.options.wire, Some(Format::Gemini));
        let table: [(&[&str], &str); 5] = [
            (
                &["--of", "x"],
                "unknown laws `x`; known: repair, compaction, conversion, streams, runs, session-files, mutations",
            ),
            (&[], "`--cases` says how many histories to try"),
            (&["--cases"], "`--cases` needs a value"),
            (&["--cases", "many"], "`--cases many` is not a number"),
            (&["--case", "1"], "unknown option `--case`"),
        ];
        for (words, expected) in table {
            assert_eq!(Asked::read(words).err().as_deref(), Some(expected));
        }
    }
}
