//! A session of an agent: three turns, a kill, and how the agent resumes it.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::acceptance::process::{OwnedProcess, wait_for};

use super::{
    cli::{AgentCli, TurnKind},
    damage::{DamagedSession, known_calls, open_calls},
    folder::{AgentFolder, TurnEnd, run_turn},
    foxwedge::FoxwedgeBinary,
    history::{self, HistoryEntry},
    judge::{ResumeExpectation, ResumeVerdict, SessionContent, SessionCoverage, StoryMeasure},
    model::ScriptedModel,
    script::{ANSWERED, CALLS, FOLLOW_UP, ONCE_MORE, PROMPTS, REPLIES},
    store, view,
};

/// The home after two turns, and after the kill.
const HEALTHY: &str = "home-healthy";
const KILLED: &str = "home-killed";

/// A session whose agent was killed.
pub(super) struct KilledSession<'c> {
    cli: &'c AgentCli,
    folder: AgentFolder,
    model: ScriptedModel,
    file: PathBuf,
    id: String,
    /// The file as the kill left it.
    pub(super) text: String,
    /// The calls in it.
    pub(super) calls: Vec<&'static str>,
    /// Those of them that have an answer.
    pub(super) answered: Vec<&'static str>,
    /// How the agent went on with the session while it was healthy.
    pub(super) healthy: ResumeVerdict,
    /// What was not as it should be, so far.
    pub(super) failures: Vec<String>,
}

/// Two turns that end, a look at how the agent goes on with them, and one turn that does not end.
pub(super) fn make_and_kill<'c>(
    cli: &'c AgentCli,
    folder: AgentFolder,
    foxwedge: &FoxwedgeBinary,
) -> Result<KilledSession<'c>, String> {
    let model = ScriptedModel::start(cli.vendor, &folder.workspace())
        .map_err(|error| format!("the scripted model: {error}"))?;
    cli.write_settings(&folder, model.port())?;
    let mut made = KilledSession {
        cli,
        folder,
        model,
        file: PathBuf::new(),
        id: String::new(),
        text: String::new(),
        calls: Vec::new(),
        answered: Vec::new(),
        healthy: ResumeVerdict::default(),
        failures: Vec::new(),
    };
    let [remember, three, parallel] = PROMPTS;
    let record = made.record("session")?;
    made.turn(&record, remember, TurnKind::First, foxwedge)?;
    (made.file, made.id) =
        cli.session(&made.folder).ok_or("the first turn left no session file")?;
    made.turn(&record, three, TurnKind::Resumed(&made.id), foxwedge)?;
    made.folder.save(HEALTHY).map_err(at_path(&record))?;
    let before = foxwedge.check(&made.folder, &made.file)?;
    let health = foxwedge.health(&made.folder, &made.file)?;
    made.healthy = made.resume(&made.record("healthy")?, FOLLOW_UP, foxwedge)?;
    made.folder.restore(HEALTHY).map_err(at_path(&record))?;
    made.text = made.killed(&record, parallel)?;
    made.calls = known_calls(&made.text);
    let open = open_calls(&made.text);
    made.answered = made.calls.iter().copied().filter(|id| !open.contains(id)).collect();
    made.folder.save(KILLED).map_err(at_path(&record))?;
    store::copy(&made.file, &record.join("session.jsonl"))?;
    made.failures = made.only_open_calls(before, foxwedge)?;
    if health != "ok" {
        made.failures.push(format!("the healthy session: `foxwedge list` says {health}"));
    }
    Ok(made)
}

fn at_path(path: &Path) -> impl Fn(io::Error) -> String {
    move |error| format!("{}: {error}", path.display())
}

impl KilledSession<'_> {
    /// Machines that the agent wanted to reach, and could not.
    pub(super) fn outside(&self) -> Vec<String> {
        self.model.outside()
    }

    /// What `foxwedge list` says about a damaged session, and what the agent does with it by
    /// itself. Both have to agree.
    pub(super) fn left_alone(
        &self,
        damaged: &DamagedSession,
        foxwedge: &FoxwedgeBinary,
    ) -> Result<(String, ResumeVerdict), String> {
        let record = self.lay_out(damaged, "left alone")?;
        let health = foxwedge.health(&self.folder, &self.file)?;
        let mut verdict = self.resume(&record, FOLLOW_UP, foxwedge)?;
        let missing = self.healthy.missing();
        let is_shown = |id: &&&str| !missing.contains(*id);
        let coverage = verdict.coverage(&SessionContent {
            calls: self.answered.iter().filter(is_shown).copied().collect(),
            lost: damaged.lost,
            breaks_pairs: !self.healthy.pairs.is_empty(),
        });
        // What is written behind an open line is lost later, if at all.
        let open_line = !damaged.bytes.ends_with(b"\n");
        let agrees = match health.as_str() {
            "ok" => coverage == SessionCoverage::Everything,
            "history-missing" => coverage != SessionCoverage::Everything || open_line,
            "needs-repair" => coverage == SessionCoverage::Nothing,
            _ => false,
        };
        verdict
            .demand(agrees, || format!("`foxwedge list` says {health}, but {}", coverage.text()));
        Ok((health, verdict))
    }

    /// What it does after `foxwedge fix`, and when it is resumed once more after that. Nothing
    /// less than everything will do.
    pub(super) fn repaired(
        &self,
        damaged: &DamagedSession,
        foxwedge: &FoxwedgeBinary,
    ) -> Result<ResumeVerdict, String> {
        let record = self.lay_out(damaged, "repaired")?;
        if let Err(failure) = foxwedge.fix(&self.folder, &self.file) {
            return Ok(ResumeVerdict::failed(failure));
        }
        store::copy(&self.file, &record.join("repaired.jsonl"))?;
        let first = self.demand_whole(&record, FOLLOW_UP, damaged, foxwedge)?;
        if !first.failures.is_empty() {
            return Ok(first);
        }
        let record = self.record(&format!("{}, once more", damaged.name))?;
        let second = self.demand_whole(&record, ONCE_MORE, damaged, foxwedge)?;
        let again = |failure: &String| format!("once more: {failure}");
        Ok(ResumeVerdict { failures: second.failures.iter().map(again).collect(), ..first })
    }

    /// Resumes a session that has to be sound, and demands everything.
    fn demand_whole(
        &self,
        record: &Path,
        prompt: &str,
        damaged: &DamagedSession,
        foxwedge: &FoxwedgeBinary,
    ) -> Result<ResumeVerdict, String> {
        let left = foxwedge.check(&self.folder, &self.file)?;
        let history = foxwedge.history(&self.folder, &self.file)?;
        let mut verdict = self.resume(record, prompt, foxwedge)?;
        verdict.demand(left.is_empty(), || format!("found in the file: {}", left.join(", ")));
        verdict.demand_everything(&ResumeExpectation {
            history: history::read(self.cli.vendor.format(), &history),
            calls: &self.calls,
            answered: &self.answered,
            prompt,
            lost: damaged.lost,
            blind: self.healthy.missing(),
        });
        Ok(verdict)
    }

    /// A turn that ends well.
    fn turn(
        &self,
        record: &Path,
        prompt: &str,
        turn: TurnKind<'_>,
        foxwedge: &FoxwedgeBinary,
    ) -> Result<(), String> {
        let TurnEnd { code, stdout, stderr } = run_turn(self.command(prompt, turn), record)?;
        if code != Some(0) {
            return Err(format!("`{prompt}` ended with {code:?}: {stdout}{stderr}"));
        }
        let (_, pairs) = self.requests(record, foxwedge)?;
        if pairs.is_empty() { Ok(()) } else { Err(format!("`{prompt}`: {}", pairs.join(", "))) }
    }

    /// The requests to the model since the last call, and what is wrong with calls and answers in it.
    fn requests(
        &self,
        record: &Path,
        foxwedge: &FoxwedgeBinary,
    ) -> Result<(Vec<Value>, Vec<String>), String> {
        let requests = self.model.take();
        let mut pairs = Vec::new();
        for (at, request) in requests.iter().enumerate() {
            let file = record.join(format!("request-{}.json", at + 1));
            fs::write(&file, request.to_string()).map_err(at_path(&file))?;
            pairs.extend(foxwedge.pairs(&self.folder, &file, self.cli.vendor.format(), request)?);
        }
        Ok((requests, pairs))
    }

    /// A turn that is killed when all that will be there while it runs is on disk.
    fn killed(&self, record: &Path, prompt: &str) -> Result<String, String> {
        let mut command = self.command(prompt, TurnKind::Resumed(&self.id));
        let mut process = OwnedProcess::start_tree(&mut command, record)?;
        let read = || {
            let text = store::read(&self.file).ok();
            text.and_then(|text| String::from_utf8(text).ok()).unwrap_or_default()
        };
        let keeps = self.cli.vendor.keeps_open_calls();
        let on_disk = |session: &str| {
            let called = CALLS.iter().all(|(id, _)| session.contains(id));
            let first = !self.cli.vendor.writes_each_result();
            let open = || called && (first || !open_calls(session).contains(&FIRST));
            session.contains(REPLIES[3]) && session.ends_with('\n') && (!keeps || open())
        };
        let ready = wait_for("the turn is on disk", || match on_disk(&read()) {
            true => Ok(Some(true)),
            false => Ok(process.status()?.map(|_| on_disk(&read()))),
        });
        let ready = ready.is_ok_and(|ready| ready);
        process.kill();
        let session = read();
        if !ready || keeps == open_calls(&session).is_empty() {
            return Err(format!("the last turn was not left open; look at {}", record.display()));
        }
        Ok(session)
    }

    /// Nothing is wrong with a healthy session, unless its agent makes it so and then sends it;
    /// a killed one has open calls as well, and nothing else.
    fn only_open_calls(
        &self,
        before: Vec<String>,
        foxwedge: &FoxwedgeBinary,
    ) -> Result<Vec<String>, String> {
        let mut found = foxwedge.check(&self.folder, &self.file)?;
        let open = open_calls(&self.text);
        let mut expected: Vec<String> = open.iter().map(|id| format!("FW101 {id}")).collect();
        expected.extend(before.iter().cloned());
        found.sort();
        expected.sort();
        let mut failures = Vec::new();
        if !before.is_empty() && self.healthy.pairs.is_empty() {
            failures.push(format!("the healthy session: found {before:?}, but all is well"));
        }
        if found != expected {
            failures.push(format!("the killed session: found {found:?} instead of {expected:?}"));
        }
        Ok(failures)
    }

    fn command(&self, prompt: &str, turn: TurnKind<'_>) -> Command {
        self.cli.turn(&self.folder, self.model.port(), prompt, turn)
    }

    fn record(&self, name: &str) -> Result<PathBuf, String> {
        let record = self.folder.record(&name.replace(',', "").replace(' ', "-"));
        fs::create_dir_all(&record).map_err(at_path(&record))?;
        Ok(record)
    }

    /// The home as it was, but for the damage.
    fn lay_out(&self, damaged: &DamagedSession, how: &str) -> Result<PathBuf, String> {
        let record = self.record(&format!("{}, {how}", damaged.name))?;
        fs::write(record.join("damaged.jsonl"), &damaged.bytes).map_err(at_path(&record))?;
        self.folder.restore(KILLED).map_err(at_path(&self.file))?;
        store::write(&self.file, &damaged.bytes)?;
        Ok(record)
    }

    /// Resumes the session and looks at what the model was shown.
    fn resume(
        &self,
        record: &Path,
        prompt: &str,
        foxwedge: &FoxwedgeBinary,
    ) -> Result<ResumeVerdict, String> {
        let format = self.cli.vendor.format();
        let view = view::refusal(self.cli, &self.folder, self.model.port(), &self.id, record)?;
        self.model.take();
        let ended = run_turn(self.command(prompt, TurnKind::Resumed(&self.id)), record)?;
        // The agent may have thrown the file away.
        let _ = store::copy(&self.file, &record.join("resumed.jsonl"));
        let has_prompt = |request: &&Value| {
            let entries = history::read(format, request);
            entries
                .iter()
                .any(|entry| matches!(entry, HistoryEntry::User(text) if text.contains(prompt)))
        };
        let (requests, pairs) = self.requests(record, foxwedge)?;
        let shown = requests
            .iter()
            .find(has_prompt)
            .map(|request| StoryMeasure::of(history::read(format, request)));
        let answered = ended.stdout.contains(ANSWERED);
        Ok(ResumeVerdict { pairs, shown, view, ..ResumeVerdict::new(ended.code, answered) })
    }
}

/// The first call of the turn that is killed: it is answered before the kill.
const FIRST: &str = CALLS[3].0;
