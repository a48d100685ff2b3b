//! Real agents go on with what foxwedge repaired: `cargo xtask agents`.
//!
//! A command line of a vendor is started against a scripted model on loopback, killed in the
//! middle of a turn, and its session file is damaged in several ways. Every damaged session is
//! resumed twice: left alone, and after `foxwedge fix`. What the model is then shown says what the
//! agent still knows, and whether `foxwedge list` was right about the file. Nothing here is part of the tests: it needs programs that are not ours, and
//! minutes. Agents are told to reach everything through our own endpoint, which lets nothing out.

mod cli;
mod process;
mod scratch;
mod told;
mod script;
mod spelled;
mod http;
mod model;
mod damage;
mod foxwedge;
mod life;
mod verdict;
mod table;

use std::{
    env,
    path::{Path, PathBuf},
};

use crate::Outcome;
use cli::{Cli, Vendor};
use foxwedge::Foxwedge;
use scratch::Scratch;
use table::Trial;

/// Tries every agent that was named.
pub(crate) fn run(words: &[&str]) -> Outcome {
    let asked = Asked::read(words, |name| env::var_os(name).map(|value| paths(&value)))?;
    for vendor in Vendor::ALL {
        if !asked.agents.iter().any(|(named, _)| *named == vendor) {
            let (option, variable) = (vendor.option(), vendor.variable());
            eprintln!("{}: skipped, since neither {option} nor {variable} names it", vendor.name());
        }
    }
    if asked.agents.is_empty() {
        return Err("no agent was named, so nothing was tried".to_owned());
    }
    let foxwedge = Foxwedge::find(asked.foxwedge)?;
    let scratch = Scratch::new(asked.keep)?;
    let mut wrong = 0;
    for (vendor, path) in asked.agents {
        wrong += campaign(vendor, &path, &foxwedge, &scratch).inspect_err(|_| {
            scratch.keep();
        })?;
    }
    if wrong > 0 {
        return Err(format!(
            "{wrong} expectations were not met; look at {}",
            scratch.keep().display()
        ));
    }
    Ok(())
}

/// Everything that is tried with one agent; how many expectations were not met.
fn campaign(
    vendor: Vendor,
    path: &Path,
    foxwedge: &Foxwedge,
    scratch: &Scratch,
) -> Result<usize, String> {
    let cli = Cli::new(vendor, path, scratch.folder())?;
    eprintln!("{} {}: a session is made, and killed", vendor.name(), cli.version);
    let desk = scratch.desk(&cli)?;
    let life = life::live_and_die(&cli, desk, foxwedge)?;
    let mut trials = Vec::new();
    for damaged in damage::all(&life.session) {
        eprintln!("{} {}: {}", vendor.name(), cli.version, damaged.name);
        let (health, alone) = life.left_alone(&damaged, foxwedge)?;
        let repaired = life.repaired(&damaged, foxwedge)?;
        trials.push(Trial { damaged, health, alone, repaired });
    }
    print!("{}", table::told(&cli, &life, &trials));
    let outside = life.outside();
    if !outside.is_empty() {
        eprintln!("wanted to leave the machine, and could not: {}", outside.join(", "));
    }
    for trouble in &life.troubles {
        eprintln!("{trouble}");
    }
    let troubles = |trial: &Trial| trial.alone.troubles.len() + trial.repaired.troubles.len();
    Ok(life.troubles.len() + trials.iter().map(troubles).sum::<usize>())
}

/// What was asked for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Asked {
    agents: Vec<(Vendor, PathBuf)>,
    foxwedge: Option<PathBuf>,
    keep: Option<PathBuf>,
}

impl Asked {
    /// Reads the words, and the variables for agents that no word names.
    fn read(
        words: &[&str],
        variable: impl Fn(&str) -> Option<Vec<PathBuf>>,
    ) -> Result<Asked, String> {
        let mut asked = Asked::default();
        let mut words = words.iter().peekable();
        while let Some(&name) = words.next() {
            let mut values = Vec::new();
            while let Some(value) = words.next_if(|word| !word.starts_with("--")) {
                values.push(PathBuf::from(value));
            }
            let vendor = Vendor::ALL.into_iter().find(|vendor| vendor.option() == name);
            match (name, vendor, values.as_slice()) {
                (_, _, []) => return Err(format!("`{name}` needs a value")),
                (_, Some(vendor), _) => {
                    asked.agents.extend(values.into_iter().map(|path| (vendor, path)));
                }
                ("--foxwedge", _, [path]) => asked.foxwedge = Some(path.clone()),
                ("--keep", _, [path]) => asked.keep = Some(path.clone()),
                _ => return Err(format!("unknown option `{name}`")),
            }
        }
        for vendor in Vendor::ALL {
            if !asked.agents.iter().any(|(named, _)| *named == vendor) {
                let paths = variable(vendor.variable()).unwrap_or_default();
                asked.agents.extend(paths.into_iter().map(|path| (vendor, path)));
            }
        }
        Ok(asked)
    }
}

/// The paths in a variable.
fn paths(value: &std::ffi::OsStr) -> Vec<PathBuf> {
    env::split_paths(value).filter(|path| !path.as_os_str().is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_named_by_words_or_by_variables() {
        let variable = |name: &str| (name == "FOXWEDGE_CODEX").then(|| vec![PathBuf::from("c")]);
        let asked = Asked::read(&["--claude-code", "a", "b", "--keep", "k"], variable);
        let expected = Asked {
            agents: vec![
                (Vendor::ClaudeCode, "a".into()),
                (Vendor::ClaudeCode, "b".into()),
                (Vendor::Codex, "c".into()),
            ],
            foxwedge: None,
            keep: Some("k".into()),
        };
        assert_eq!(asked, Ok(expected));
        let table: [(&[&str], &str); 3] = [
            (&["--codex"], "`--codex` needs a value"),
            (&["--codexx", "a"], "unknown option `--codexx`"),
            (&["--keep", "a", "b"], "unknown option `--keep`"),
        ];
        for (words, expected) in table {
            assert_eq!(Asked::read(words, |_| None).err().as_deref(), Some(expected));
        }
    }
}
