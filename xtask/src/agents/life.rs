//! The life of a session: three turns, a kill, and what comes after.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use super::{
    cli::{Cli, Turn},
    damage::{Damaged, known_calls, open_calls},
    foxwedge::Foxwedge,
    model::Model,
    process::{Ended, Running, run},
    scratch::Desk,
    script::{ANSWERED, CALLS, FOLLOW_UP, ONCE_MORE, PROMPTS, REPLIES},
    told::{Word, told},
    verdict::{Expected, Measure, Needed, Seen, Verdict},
};

/// The home after two turns, and after the kill.
const HEALTHY: &str = "home-healthy";
const KILLED: &str = "home-killed";

/// A session whose agent was killed.
pub(super) struct Life<'l> {
    cli: &'l Cli,
    desk: Desk,
    model: Model,
    file: PathBuf,
    id: String,
    /// The file as the kill left it.
    pub(super) session: String,
    /// The calls in it.
    pub(super) calls: Vec<&'static str>,
    /// How the agent went on with the session while it was healthy.
    pub(super) healthy: Verdict,
    /// What was not as it should be, so far.
    pub(super) troubles: Vec<String>,
}

/// Two turns that end, a look at how the agent goes on with them, and one turn that does not end.
pub(super) fn live_and_die<'l>(
    cli: &'l Cli,
    desk: Desk,
    foxwedge: &Foxwedge,
) -> Result<Life<'l>, String> {
    let model = Model::start(cli.vendor, &desk.workspace())
        .map_err(|error| format!("the scripted model: {error}"))?;
    cli.settle(&desk, model.port())?;
    let mut life = Life {
        cli,
        desk,
        model,
        file: PathBuf::new(),
        id: String::new(),
        session: String::new(),
        calls: Vec::new(),
        healthy: Verdict::default(),
        troubles: Vec::new(),
    };
    let [remember, three, parallel] = PROMPTS;
    let shelf = life.shelf("life")?;
    life.turn(&shelf, remember, Turn::First, foxwedge)?;
    (life.file, life.id) = cli.session(&life.desk).ok_or("the first turn left no session file")?;
    life.turn(&shelf, three, Turn::Resumed(&life.id), foxwedge)?;
    life.desk.remember(HEALTHY).map_err(said(&shelf))?;
    let before = foxwedge.check(&life.desk, &life.file)?;
    let health = foxwedge.health(&life.desk, &life.file)?;
    life.healthy = life.resume(&life.shelf("healthy")?, FOLLOW_UP, foxwedge)?;
    life.desk.restore(HEALTHY).map_err(said(&shelf))?;
    life.session = life.killed(&shelf, parallel)?;
    life.calls = known_calls(&life.session);
    life.desk.remember(KILLED).map_err(said(&shelf))?;
    fs::copy(&life.file, shelf.join("session.jsonl")).map_err(said(&life.file))?;
    life.troubles = life.only_open_calls(before, foxwedge)?;
    if health != "ok" {
        life.troubles.push(format!("the healthy session: `foxwedge list` says {health}"));
    }
    Ok(life)
}

fn said(path: &Path) -> impl Fn(io::Error) -> String {
    move |error| format!("{}: {error}", path.display())
}

impl Life<'_> {
    /// Machines that the agent wanted to reach, and could not.
    pub(super) fn outside(&self) -> Vec<String> {
        self.model.outside()
    }

    /// What `foxwedge list` says about a damaged session, and what the agent does with it by
    /// itself. Both have to agree.
    pub(super) fn left_alone(
        &self,
        damaged: &Damaged,
        foxwedge: &Foxwedge,
    ) -> Result<(String, Verdict), String> {
        let shelf = self.lay_out(damaged, "left alone")?;
        let health = foxwedge.health(&self.desk, &self.file)?;
        let mut verdict = self.resume(&shelf, FOLLOW_UP, foxwedge)?;
        let open = open_calls(&self.session);
        let answered = |id: &&&str| !open.contains(*id) && !self.healthy.missing().contains(*id);
        let seen = verdict.seen(&Needed {
            calls: self.calls.iter().filter(answered).copied().collect(),
            lost: damaged.lost,
            breaks_pairs: !self.healthy.pairs.is_empty(),
        });
        // What is written behind an open line is lost later, if at all.
        let open_line = !damaged.bytes.ends_with(b"\n");
        let agrees = match health.as_str() {
            "ok" => seen == Seen::Everything,
            "history-missing" => seen != Seen::Everything || open_line,
            "needs-repair" => seen == Seen::Nothing,
            _ => false,
        };
        verdict.demand(agrees, || format!("`foxwedge list` says {health}, but {}", seen.words()));
        Ok((health, verdict))
    }

    /// What it does after `foxwedge fix`, and when it is resumed once more after that. Nothing
    /// less than everything will do.
    pub(super) fn repaired(
        &self,
        damaged: &Damaged,
        foxwedge: &Foxwedge,
    ) -> Result<Verdict, String> {
        let shelf = self.lay_out(damaged, "repaired")?;
        if let Err(trouble) = foxwedge.fix(&self.desk, &self.file) {
            return Ok(Verdict::trouble(trouble));
        }
        fs::copy(&self.file, shelf.join("repaired.jsonl")).map_err(said(&self.file))?;
        let first = self.demanding(&shelf, FOLLOW_UP, damaged, foxwedge)?;
        if !first.troubles.is_empty() {
            return Ok(first);
        }
        let shelf = self.shelf(&format!("{}, once more", damaged.name))?;
        let second = self.demanding(&shelf, ONCE_MORE, damaged, foxwedge)?;
        let again = |trouble: &String| format!("once more: {trouble}");
        Ok(Verdict { troubles: second.troubles.iter().map(again).collect(), ..first })
    }

    /// Resumes a session that has to be sound, and demands everything.
    fn demanding(
        &self,
        shelf: &Path,
        prompt: &str,
        damaged: &Damaged,
        foxwedge: &Foxwedge,
    ) -> Result<Verdict, String> {
        let left = foxwedge.check(&self.desk, &self.file)?;
        let history = foxwedge.history(&self.desk, &self.file)?;
        let mut verdict = self.resume(shelf, prompt, foxwedge)?;
        verdict.demand(left.is_empty(), || format!("found in the file: {}", left.join(", ")));
        verdict.demand_everything(&Expected {
            history: told(self.cli.vendor.wire(), &history),
            calls: &self.calls,
            prompt,
            lost: damaged.lost,
            blind: self.healthy.missing(),
        });
        Ok(verdict)
    }

    /// A turn that ends well.
    fn turn(
        &self,
        shelf: &Path,
        prompt: &str,
        turn: Turn<'_>,
        foxwedge: &Foxwedge,
    ) -> Result<(), String> {
        let Ended { code, printed, complained } =
            run(self.command(prompt, turn), shelf).map_err(said(shelf))?;
        if code != Some(0) {
            return Err(format!("`{prompt}` ended with {code:?}: {printed}{complained}"));
        }
        let (_, pairs) = self.heard(shelf, foxwedge)?;
        if pairs.is_empty() { Ok(()) } else { Err(format!("`{prompt}`: {}", pairs.join(", "))) }
    }

    /// What the model was asked since the last time, and what is wrong with calls and answers in it.
    fn heard(
        &self,
        shelf: &Path,
        foxwedge: &Foxwedge,
    ) -> Result<(Vec<Value>, Vec<String>), String> {
        let requests = self.model.take();
        let mut pairs = Vec::new();
        for (at, request) in requests.iter().enumerate() {
            let file = shelf.join(format!("request-{}.json", at + 1));
            fs::write(&file, request.to_string()).map_err(said(&file))?;
            pairs.extend(foxwedge.pairs(&self.desk, &file, self.cli.vendor.wire(), request)?);
        }
        Ok((requests, pairs))
    }

    /// A turn that is killed when all that will be there while it runs is on disk.
    fn killed(&self, shelf: &Path, prompt: &str) -> Result<String, String> {
        let command = self.command(prompt, Turn::Resumed(&self.id));
        let mut running = Running::start(command, shelf).map_err(said(shelf))?;
        let read = || fs::read_to_string(&self.file).unwrap_or_default();
        let keeps = self.cli.vendor.keeps_open_calls();
        let on_disk = |session: &str| {
            let called = CALLS.iter().all(|(id, _)| session.contains(id));
            let open = || called && !open_calls(session).contains(&FIRST);
            session.contains(REPLIES[3]) && session.ends_with('\n') && (!keeps || open())
        };
        let ready = running.wait_for(|| on_disk(&read())).map_err(said(shelf))?;
        running.kill();
        let session = read();
        if !ready || keeps == open_calls(&session).is_empty() {
            return Err(format!("the last turn was not left open; look at {}", shelf.display()));
        }
        Ok(session)
    }

    /// Nothing is wrong with a healthy session, unless its agent makes it so and then sends it;
    /// a killed one has open calls as well, and nothing else.
    fn only_open_calls(
        &self,
        before: Vec<String>,
        foxwedge: &Foxwedge,
    ) -> Result<Vec<String>, String> {
        let mut found = foxwedge.check(&self.desk, &self.file)?;
        let open = open_calls(&self.session);
        let mut expected: Vec<String> = open.iter().map(|id| format!("FW101 {id}")).collect();
        expected.extend(before.iter().cloned());
        found.sort();
        expected.sort();
        let mut troubles = Vec::new();
        if !before.is_empty() && self.healthy.pairs.is_empty() {
            troubles.push(format!("the healthy session: found {before:?}, but all is well"));
        }
        if found != expected {
            troubles.push(format!("the killed session: found {found:?} instead of {expected:?}"));
        }
        Ok(troubles)
    }

    fn command(&self, prompt: &str, turn: Turn<'_>) -> Command {
        self.cli.turn(&self.desk, self.model.port(), prompt, turn)
    }

    fn shelf(&self, name: &str) -> Result<PathBuf, String> {
        let shelf = self.desk.shelf(&name.replace(',', "").replace(' ', "-"));
        fs::create_dir_all(&shelf).map_err(said(&shelf))?;
        Ok(shelf)
    }

    /// The home as it was, but for the damage.
    fn lay_out(&self, damaged: &Damaged, how: &str) -> Result<PathBuf, String> {
        let shelf = self.shelf(&format!("{}, {how}", damaged.name))?;
        fs::write(shelf.join("damaged.jsonl"), &damaged.bytes).map_err(said(&shelf))?;
        self.desk
            .restore(KILLED)
            .and_then(|()| fs::write(&self.file, &damaged.bytes))
            .map_err(said(&self.file))?;
        Ok(shelf)
    }

    /// Resumes the session and looks at what the model was shown.
    fn resume(&self, shelf: &Path, prompt: &str, foxwedge: &Foxwedge) -> Result<Verdict, String> {
        let wire = self.cli.vendor.wire();
        self.model.take();
        let ended =
            run(self.command(prompt, Turn::Resumed(&self.id)), shelf).map_err(said(shelf))?;
        // The agent may have thrown the file away.
        let _ = fs::copy(&self.file, shelf.join("resumed.jsonl"));
        let asked = |request: &&Value| {
            let words = told(wire, request);
            words.iter().any(|word| matches!(word, Word::User(text) if text.contains(prompt)))
        };
        let (requests, pairs) = self.heard(shelf, foxwedge)?;
        let shown = requests.iter().find(asked).map(|request| Measure::of(told(wire, request)));
        let answered = ended.printed.contains(ANSWERED);
        Ok(Verdict { pairs, shown, ..Verdict::new(ended.code, answered) })
    }
}

/// The first call of the turn that is killed: it is answered before the kill.
const FIRST: &str = CALLS[3].0;
