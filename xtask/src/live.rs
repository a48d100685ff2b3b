//! The real Claude Code as a live agent behind `foxwedge serve`: `cargo xtask live`.
//!
//! The built-in model is the provider, at a free port; the command line of the vendor is started by
//! the gateway, with nothing of the user's around it. The stories are those that the tests tell with
//! an agent of our own, and the Python SDK of OpenAI tells one more. Where the command line cannot
//! be installed, that is said.

mod install;
mod process;
mod world;
mod python;
#[path = "../../crates/foxwedge/tests/serve/wire.rs"]
#[allow(dead_code, reason = "tests need more of it")]
mod wire;
#[path = "../../crates/foxwedge/tests/agents/chat.rs"]
#[allow(dead_code, reason = "tests need more of it")]
mod chat;
#[path = "../../crates/foxwedge/tests/agents/stories.rs"]
mod stories;

use std::{
    env,
    path::{Path, PathBuf},
    time::Instant,
};

use crate::{Outcome, ci, sdks};
pub(crate) use install::claude_code;
use stories::STORIES;
use world::Real;

/// Tells every story; fails if one did not end as it should.
pub(crate) fn run(words: &[&str]) -> Outcome {
    let asked = Asked::read(words)?;
    let required = env::var_os(sdks::VARIABLE).is_some_and(|value| value == "required");
    let skipped = |missing: String| match required {
        true => Err(missing),
        false => {
            println!("skipped: {missing}");
            Ok(())
        }
    };
    if !cfg!(target_os = "linux") {
        return skipped("processes can be looked at on Linux only".to_owned());
    }
    let cli = match asked.cli.map_or_else(install::claude_code, Ok) {
        Ok(cli) => cli,
        Err(missing) => return skipped(missing),
    };
    let binary = asked.foxwedge.map_or_else(ci::binary, Ok)?;
    let told = |name: &str| asked.story.as_deref().is_none_or(|part| name.contains(part));
    let mut wrong = 0;
    for (name, story) in STORIES.iter().filter(|(name, _)| told(name)) {
        wrong += usize::from(!tell(name, &binary, &cli, story));
    }
    if told(python::NAME) {
        match install::openai() {
            Ok(python) => {
                let story = |world: &mut Real| python::ten_steps(&python, world);
                wrong += usize::from(!tell_real(python::NAME, &binary, &cli, story));
            }
            Err(missing) => skipped(missing)?,
        }
    }
    if wrong == 0 { Ok(()) } else { Err(format!("{wrong} stories did not end as they should")) }
}

fn tell(name: &str, binary: &Path, cli: &Path, story: &stories::Story) -> bool {
    tell_real(name, binary, cli, |world| story(world))
}

/// One story, with a gateway of its own; whether it ended well.
fn tell_real(name: &str, binary: &Path, cli: &Path, story: impl Fn(&mut Real) -> Outcome) -> bool {
    let began = Instant::now();
    let ended = Real::start(binary, cli).and_then(|mut world| {
        let told = story(&mut world).map_err(|trouble| format!("{trouble}\n{}", world.log()));
        told.and_then(|()| world.end())
    });
    let seconds = began.elapsed().as_secs_f64();
    match &ended {
        Ok(()) => println!("ok      {seconds:5.1} s  {name}"),
        Err(trouble) => println!("WRONG   {seconds:5.1} s  {name}\n{trouble}"),
    }
    ended.is_ok()
}

/// What was asked for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Asked {
    foxwedge: Option<PathBuf>,
    cli: Option<PathBuf>,
    /// Only stories with this in their name.
    story: Option<String>,
}

impl Asked {
    fn read(words: &[&str]) -> Result<Asked, String> {
        let mut asked = Asked::default();
        for pair in words.chunks(2) {
            match pair {
                ["--foxwedge", path] => asked.foxwedge = Some(PathBuf::from(path)),
                ["--claude-code", path] => asked.cli = Some(PathBuf::from(path)),
                ["--story", part] => asked.story = Some((*part).to_owned()),
                [other, ..] => {
                    return Err(format!("`live` does not know `{other}`, or misses more"));
                }
                [] => {}
            }
        }
        Ok(asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_in_pairs() {
        let asked = Asked::read(&["--story", "ten", "--foxwedge", "f"]);
        let expected =
            Asked { foxwedge: Some("f".into()), cli: None, story: Some("ten".to_owned()) };
        assert_eq!(asked, Ok(expected));
        for wrong in [["--story"].as_slice(), &["--other", "x"]] {
            assert!(Asked::read(wrong).is_err(), "{wrong:?}");
        }
    }
}
