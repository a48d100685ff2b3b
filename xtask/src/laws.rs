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
    laws::{self, LawBreach, LawOptions, LawTally, session::AGENTS},
    runs,
};

use crate::{Outcome, ci, options::TaskOptions};

/// Cases that a thread takes at once.
const PORTION: u64 = 500;

/// Violations that are shown in full, unless somebody asks for more.
const SHOWN: usize = 3;

/// Runs the campaign; a debug build starts the release build of itself.
pub(crate) fn run(arguments: &[&str]) -> Outcome {
    let campaign = LawCampaign::read(arguments)?;
    if cfg!(debug_assertions) {
        return ci::run_in_release(
            "laws",
            arguments,
            "the laws do not hold, or could not be tried",
        );
    }
    let started = Instant::now();
    let tally = spread(&campaign);
    let seconds = started.elapsed().as_secs_f64();
    print!("{}", table(&tally));
    eprintln!("{:.1} s on {} threads", seconds, campaign.threads);
    match tally.violations.len() {
        0 => Ok(()),
        count => {
            for breach in tally.violations.iter().take(campaign.shown) {
                eprintln!("\n{}", describe(breach, &campaign));
            }
            Err(format!("{count} violations"))
        }
    }
}

/// What was asked for on the command line.
struct LawCampaign {
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
    OwnResults,
}

impl Laws {
    const ALL: [Laws; 8] = [
        Laws::Repair,
        Laws::Compaction,
        Laws::Conversion,
        Laws::Streams,
        Laws::Runs,
        Laws::SessionFiles,
        Laws::Mutations,
        Laws::OwnResults,
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
            Laws::OwnResults => "own-results",
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
            Laws::OwnResults => laws::own_results_campaign(options),
        }
    }
}

impl LawCampaign {
    fn read(arguments: &[&str]) -> Result<LawCampaign, String> {
        let known = [
            "--cases N",
            "--seed S",
            "--of LAWS",
            "--show N",
            "--agent A",
            "--threads T",
            "--dialect D",
            "--profile P",
        ];
        let options = TaskOptions::read(arguments, &known)?;
        let cores = thread::available_parallelism().map_or(1, |count| count.get() as u64);
        let laws = options.value("--of").unwrap_or(Laws::Repair.name());
        let cases = options.number("--cases")?.unwrap_or(0);
        if cases == 0 {
            return Err("`--cases` says how many histories to try".to_owned());
        }
        let defaults = LawOptions::default();
        Ok(LawCampaign {
            threads: options.number("--threads")?.unwrap_or(cores).max(1),
            laws: known_name("laws", laws, Laws::ALL.map(|laws| (laws.name(), laws)))?,
            shown: options.number("--show")?.unwrap_or(SHOWN),
            options: LawOptions {
                cases,
                seed: options.number("--seed")?.unwrap_or(defaults.seed),
                agent: options
                    .value("--agent")
                    .map(|it| known_name("agent", it, AGENTS.map(|it| (it.name(), it))))
                    .transpose()?,
                wire: options
                    .value("--dialect")
                    .map(|it| known_name("dialect", it, Format::ALL.map(|it| (it.name(), it))))
                    .transpose()?,
                profile: options
                    .value("--profile")
                    .map(|it| known_name("profile", it, Profile::ALL.map(|it| (it.name(), it))))
                    .transpose()?,
                ..defaults
            },
        })
    }
}

/// The value of this name.
fn known_name<T: Copy, const N: usize>(
    what: &str,
    name: &str,
    all: [(&str, T); N],
) -> Result<T, String> {
    let found = all.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    let known = all.map(|(known, _)| known).join(", ");
    found.ok_or_else(|| format!("unknown {what} `{name}`; known: {known}"))
}

/// Spreads the seeds over threads. The tally does not depend on how they are spread.
fn spread(campaign: &LawCampaign) -> LawTally {
    let total = campaign.options.cases;
    let next = AtomicU64::new(0);
    let whole = Mutex::new(LawTally::default());
    thread::scope(|scope| {
        for _ in 0..campaign.threads {
            scope.spawn(|| {
                loop {
                    let start = next.fetch_add(PORTION, Ordering::Relaxed);
                    if start >= total {
                        break;
                    }
                    let part = campaign.laws.campaign(&LawOptions {
                        seed: campaign.options.seed + start,
                        cases: PORTION.min(total - start),
                        ..campaign.options.clone()
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

/// The tally as a table.
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
fn describe(breach: &LawBreach, campaign: &LawCampaign) -> String {
    let case = &breach.case;
    let mut replay = format!("cargo xtask laws --cases 1 --seed {}", case.seed);
    if campaign.laws != Laws::Repair {
        let _ = write!(replay, " --of {}", campaign.laws.name());
    }
    if let Some(wire) = campaign.options.wire {
        let _ = write!(replay, " --dialect {}", wire.name());
    }
    if let Some(profile) = campaign.options.profile {
        let _ = write!(replay, " --profile {}", profile.name());
    }
    if let Some(agent) = campaign.options.agent {
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
        let campaign =
            LawCampaign::read(&["--cases", "1_000", "--dialect", "gemini", "--threads", "2"]);
        let campaign = campaign.expect("all of it is known");
        assert_eq!((campaign.options.cases, campaign.threads), (1000, 2));
        assert_eq!(campaign.options.wire, Some(Format::Gemini));
        let table: [(&[&str], &str); 5] = [
            (
                &["--of", "x", "--cases", "1"],
                "unknown laws `x`; known: repair, compaction, conversion, streams, runs, session-files, mutations, own-results",
            ),
            (&[], "`--cases` says how many histories to try"),
            (&["--cases"], "`--cases` needs a value"),
            (&["--cases", "many"], "`--cases many` is not a number"),
            (
                &["--cases", "1", "--dialect", "x"],
                "unknown dialect `x`; known: openai-chat, openai-responses, anthropic, gemini, bedrock, gemini-interactions",
            ),
        ];
        for (arguments, expected) in table {
            assert_eq!(LawCampaign::read(arguments).err().as_deref(), Some(expected));
        }
    }
}
