//! The workload of writers. All of it follows from a seed and from names, so that a check knows
//! every byte without further input.

use foxwedge_run::{
    ApprovalKind, ApprovalRequest, CallRef, EventPayload, Outcome, RawJson, RunEnd, RunEvent,
    RunStart, RunUsage, SharedId, TextUpdate, ToolCallUpdate, ToolOutcome, ToolResult, ToolStatus,
};
use foxwedge_store::{AgentSnapshot, NewRecord, NewRun, NewSession, RunClosing};

use crate::random::Random;

/// Number of sessions that the writers share.
const SESSIONS: u64 = 3;

/// The workload of all writers of a harness.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workload {
    pub(crate) seed: u64,
    pub(crate) weight: Weight,
}

/// How much they write at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// Mostly short texts.
    Light,
    /// So much that the log must be checkpointed now and then.
    Heavy,
}

/// One run of the workload.
#[derive(Clone, Debug)]
pub(crate) struct RunPlan {
    pub(crate) run: SharedId,
    pub(crate) session: String,
    pub(crate) end: End,
    /// Number of events of each append.
    pub(crate) portions: Vec<usize>,
    /// Number of notes it leaves in its session meanwhile.
    pub(crate) notes: usize,
    bodies: Vec<EventPayload>,
}

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Its log is replayed, and what is open is closed.
    Replayed,
    /// Its end is built directly.
    ByHand,
    /// It never ends.
    Left,
}

impl Weight {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Weight::Light => "light",
            Weight::Heavy => "heavy",
        }
    }

    pub(crate) fn from_name(name: &str) -> Weight {
        match name {
            "light" => Weight::Light,
            "heavy" => Weight::Heavy,
            name => panic!("nobody knows the weight `{name}`"),
        }
    }
}

impl Workload {
    /// The run with a name.
    pub(crate) fn plan(&self, run: &str) -> RunPlan {
        let mut random = Random::of(self.seed, &["run", run]);
        let session = format!("session-{}", random.below(SESSIONS));
        let end = *random.pick(&[End::Replayed, End::Replayed, End::ByHand, End::Left]);
        let bodies = self.bodies(&mut random, end);
        let mut portions = Vec::new();
        let mut rest = bodies.len();
        while rest > 0 {
            let portion = (1 + random.place(4)).min(rest);
            portions.push(portion);
            rest -= portion;
        }
        let notes = random.place(3).min(portions.len());
        RunPlan { run: run.into(), session, end, portions, notes, bodies }
    }

    /// A session of the workload.
    pub(crate) fn session(id: &str) -> NewSession {
        let title = format!("about {id}: “ä”");
        NewSession { id: id.to_owned(), owner: "chaos".to_owned(), title, meta: None }
    }

    /// A note that a run leaves in its session.
    pub(crate) fn note(&self, run: &str, number: usize) -> NewRecord {
        let mut random = Random::of(self.seed, &["note", run, &number.to_string()]);
        let name = |number| format!("{run}-note-{number}");
        NewRecord {
            id: name(number),
            parent: number.checked_sub(1).map(name),
            run: Some(run.to_owned()),
            kind: "note".to_owned(),
            body: format!(
                "{{\"said\": {}}}",
                RawJson::string(&self.text_content(&mut random)).raw()
            ),
        }
    }

    /// The note with an id.
    pub(crate) fn note_of(&self, id: &str) -> Option<NewRecord> {
        let (run, number) = id.rsplit_once("-note-")?;
        Some(self.note(run, number.parse().ok()?))
    }

    /// An agent snapshot in a given version.
    pub(crate) fn snapshot(&self, name: &str, version: u64) -> AgentSnapshot {
        let mut random = Random::of(self.seed, &["snapshot", name, &version.to_string()]);
        let body = format!("{version} {}", self.text_content(&mut random)).into_bytes();
        AgentSnapshot { name: name.to_owned(), body, expires: None }
    }

    /// The version of a snapshot.
    pub(crate) fn version(snapshot: &AgentSnapshot) -> Option<u64> {
        let text = std::str::from_utf8(&snapshot.body).ok()?;
        text.split(' ').next()?.parse().ok()
    }

    fn bodies(&self, random: &mut Random, end: End) -> Vec<EventPayload> {
        let mut bodies = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        for call in 0..3 + random.place(20) {
            match random.below(8) {
                0..3 => bodies.push(EventPayload::Text(self.text(random))),
                3 => bodies.push(EventPayload::Thought(self.text(random))),
                4 | 5 => {
                    bodies.push(EventPayload::ToolCall(self.call(random, call)));
                    open.push(call);
                }
                6 if !open.is_empty() => {
                    let call = open.swap_remove(random.place(open.len()));
                    bodies.push(EventPayload::ToolResult(self.result(random, call)));
                }
                7 if !open.is_empty() => bodies
                    .push(EventPayload::ApprovalRequested(approval_request(*random.pick(&open)))),
                _ => bodies.push(EventPayload::Usage(RunUsage {
                    input: random.below(1_000),
                    ..RunUsage::default()
                })),
            }
        }
        // A run that ends directly has all its results.
        if end == End::ByHand {
            bodies.extend(
                open.into_iter().map(|call| EventPayload::ToolResult(self.result(random, call))),
            );
        }
        bodies
    }

    fn text(&self, random: &mut Random) -> TextUpdate {
        TextUpdate { delta: Some(self.text_content(random)), ..TextUpdate::default() }
    }

    fn call(&self, random: &mut Random, call: usize) -> ToolCallUpdate {
        ToolCallUpdate {
            call: reference(call),
            name: Some(SharedId::from(*random.pick(&["Bash", "Read", "Write"]))),
            input: RawJson::parse(&format!(
                "{{\"what\": {}}}",
                RawJson::string(&self.text_content(random)).raw()
            )),
            status: *random.pick(&[None, Some(ToolStatus::Running)]),
            ..ToolCallUpdate::default()
        }
    }

    fn result(&self, random: &mut Random, call: usize) -> ToolResult {
        ToolResult {
            call: reference(call),
            name: None,
            outcome: *random.pick(&[ToolOutcome::Ok, ToolOutcome::Ok, ToolOutcome::Error]),
            reason: None,
            content: Some(RawJson::string(&self.text_content(random))),
        }
    }

    /// Random text with characters that need escaping.
    fn text_content(&self, random: &mut Random) -> String {
        let (usual, max) = match self.weight {
            Weight::Light => (90, 4_000),
            Weight::Heavy => (60, 60_000),
        };
        let length = if random.chance(usual) { random.place(120) } else { random.place(max) };
        let mut text = String::with_capacity(length + 16);
        while text.len() < length {
            let parts = ["fox ", "wedge ", "\"", "\\", "\n", "é", "\u{0}", "𝄞 ", "plain words "];
            text.push_str(parts[random.place(parts.len())]);
            text.push_str(&format!("{:x}", random.next()));
        }
        text
    }
}

impl RunPlan {
    /// The start of the run.
    pub(crate) fn start(&self, owner: &str, ttl: u64) -> NewRun {
        NewRun {
            id: self.run.to_string(),
            session: self.session.clone(),
            key: Some(format!("key of {}", self.run)),
            owner: owner.to_owned(),
            ttl,
            start: self.started(),
            at: Some(moment(1)),
        }
    }

    /// The event with a sequence number, as it is appended; the store writes the first one.
    pub(crate) fn event(&self, seq: u64) -> Option<RunEvent> {
        let body = self.bodies.get(usize::try_from(seq.checked_sub(2)?).ok()?)?.clone();
        Some(self.placed(seq, body))
    }

    /// The first event, as the store writes it.
    pub(crate) fn first(&self, epoch: u64) -> RunEvent {
        RunEvent { epoch: Some(epoch), ..self.placed(1, EventPayload::Started(self.started())) }
    }

    /// The direct end, after the last event.
    pub(crate) fn closing(&self, workload: &Workload) -> RunClosing {
        let ended = self.ended();
        let end = self.placed(self.bodies.len() as u64 + 2, EventPayload::Ended(ended.clone()));
        let records = vec![workload.note(&self.run, self.notes)];
        RunClosing { events: vec![end], ended, summary: Default::default(), records }
    }

    /// The end, if nothing interferes.
    pub(crate) fn ended(&self) -> RunEnd {
        let text = Some(format!("the end of {}", self.run));
        RunEnd { outcome: Some(Outcome::Completed), text, ..RunEnd::default() }
    }

    fn started(&self) -> RunStart {
        RunStart { agent: Some("chaos".into()), ..RunStart::default() }
    }

    fn placed(&self, seq: u64, body: EventPayload) -> RunEvent {
        RunEvent { seq: Some(seq), at: Some(moment(seq)), ..RunEvent::new(&self.run, body) }
    }
}

fn reference(call: usize) -> CallRef {
    CallRef { id: Some(format!("call-{call}").into()), turn: None }
}

fn approval_request(call: usize) -> ApprovalRequest {
    let kind = ApprovalKind::Approval;
    ApprovalRequest {
        call: reference(call),
        id: None,
        kind,
        prompt: Some("May I?".to_owned()),
        choices: None,
    }
}

fn moment(seq: u64) -> u64 {
    1_700_000_000_000 + seq
}
