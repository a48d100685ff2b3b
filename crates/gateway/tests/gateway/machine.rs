//! A fake machine: a few sessions, and a record of all calls.

use std::sync::{Arc, Mutex};

use foxwedge_gateway::console::{
    CompactionAmount, CompactionPreviewOptions, CompactionSubject, LocalSessionError,
    LocalSessions, RecordFilter, RowRange, ScanProgress, SessionFileCheck, SessionFileHealth,
    SessionFileList, SessionFileSummary,
};
use serde_json::{Value, json};

#[derive(Default)]
pub(crate) struct FakeMachine {
    pub(crate) calls: Mutex<Vec<String>>,
}

/// Number of its sessions, newest first; every third needs repair.
pub(crate) const SESSIONS: usize = 7;

fn file(number: usize) -> Arc<SessionFileSummary> {
    let health = if number.is_multiple_of(3) {
        SessionFileHealth::NeedsRepair
    } else {
        SessionFileHealth::Ok
    };
    let findings = match health {
        SessionFileHealth::NeedsRepair => [("FW101".to_owned(), 1)].into(),
        SessionFileHealth::Ok
        | SessionFileHealth::HistoryMissing
        | SessionFileHealth::Unreadable => Default::default(),
    };
    Arc::new(SessionFileSummary {
        id: format!("f-{number}"),
        session: format!("0a1b2c3d-{number}"),
        agent: "claude-code",
        product: "claude-code",
        title: Some(format!("Session number {number}")),
        project: Some("/w/Parser".to_owned()),
        path: "~/.claude/s.jsonl".to_owned(),
        touched: 1_000_000 - number as u64 / 2,
        size: 10,
        check: (number != 5).then(|| SessionFileCheck {
            health,
            unreadable_reason: None,
            messages: 2,
            findings,
            repairable: health == SessionFileHealth::NeedsRepair,
        }),
        live: Some(number == 1),
        sub_agent: number == 6,
        parent: None,
        sub_agents: 0,
    })
}

impl FakeMachine {
    fn note(&self, what: String) -> Result<Value, LocalSessionError> {
        self.calls.lock().expect("nobody panicked").push(what.clone());
        Ok(json!({ "asked": what }))
    }

    fn page(&self, what: &str, id: &str, page: RowRange) -> Result<Value, LocalSessionError> {
        self.note(format!("{what} {id} {} {}", page.from, page.limit))
    }
}

impl LocalSessions for FakeMachine {
    fn agents(&self) -> Vec<&'static str> {
        vec!["claude-code"]
    }

    fn sessions(&self) -> SessionFileList {
        let scan =
            ScanProgress { running: true, checked: 6, total: SESSIONS, ..ScanProgress::default() };
        SessionFileList { files: (0..SESSIONS).map(file).collect(), scan }
    }

    fn session(&self, id: &str) -> Result<(Arc<SessionFileSummary>, Value), LocalSessionError> {
        match id {
            "f-0" => Ok((file(0), json!({ "version": "v1" }))),
            "f-panic" => panic!("canary-panic"),
            _ => Err(LocalSessionError::NotFound),
        }
    }

    fn messages(
        &self,
        id: &str,
        page: RowRange,
        words: Option<&str>,
    ) -> Result<Value, LocalSessionError> {
        self.page(&format!("messages {words:?}"), id, page)
    }

    fn tree(
        &self,
        id: &str,
        page: RowRange,
        only: RecordFilter,
    ) -> Result<Value, LocalSessionError> {
        self.page(&format!("tree {only:?}"), id, page)
    }

    fn records(&self, id: &str, page: RowRange, most: usize) -> Result<Value, LocalSessionError> {
        self.page(&format!("records {most}"), id, page)
    }

    fn findings(&self, id: &str, page: RowRange) -> Result<Value, LocalSessionError> {
        self.page("findings", id, page)
    }

    fn plan(&self, id: &str, page: RowRange) -> Result<Value, LocalSessionError> {
        self.page("plan", id, page)
    }

    fn plan_markdown(&self, id: &str) -> Result<String, LocalSessionError> {
        Ok(format!("# {id}\n"))
    }

    fn repair(&self, id: &str, plan: &str) -> Result<Value, LocalSessionError> {
        match plan {
            "live" => {
                Err(LocalSessionError::Live("this session is live: somebody works on it".into()))
            }
            "changed" => Err(LocalSessionError::Changed),
            "failed" => Err(LocalSessionError::Failed("the disk is full".into())),
            plan => self.note(format!("repair {id} {plan}")),
        }
    }

    fn undo(&self, id: &str) -> Result<Value, LocalSessionError> {
        self.note(format!("undo {id}"))
    }

    fn compaction(
        &self,
        of: &CompactionSubject,
        wish: &CompactionPreviewOptions,
    ) -> Result<Value, LocalSessionError> {
        let cut = match wish.cut {
            CompactionAmount::Fraction(share) => format!("fraction {share}"),
            CompactionAmount::Budget(tokens) => format!("budget {tokens}"),
        };
        self.note(format!("compaction {of:?} {cut} {:?}", wish.model))
    }
}
