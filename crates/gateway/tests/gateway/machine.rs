//! A machine that is made up: a few sessions, and a note of everything it is asked.

use std::sync::{Arc, Mutex};

use foxwedge_gateway::console::{
    Cut, Health, Listed, Looked, Machine, Only, Page, Refusal, Scan, SessionFile, Subject, Wish,
};
use serde_json::{Value, json};

#[derive(Default)]
pub(crate) struct Made {
    pub(crate) asked: Mutex<Vec<String>>,
}

/// Sessions of that machine, the newest first; every third is needs-repair.
pub(crate) const SESSIONS: usize = 7;

fn file(number: usize) -> Arc<SessionFile> {
    let health = if number.is_multiple_of(3) { Health::NeedsRepair } else { Health::Ok };
    let findings = match health {
        Health::NeedsRepair => [("FW101".to_owned(), 1)].into(),
        Health::Ok | Health::HistoryMissing | Health::Unreadable => Default::default(),
    };
    Arc::new(SessionFile {
        id: format!("f-{number}"),
        session: format!("0a1b2c3d-{number}"),
        agent: "claude-code",
        product: "claude-code",
        title: Some(format!("Session number {number}")),
        project: Some("/w/Parser".to_owned()),
        path: "~/.claude/s.jsonl".to_owned(),
        touched: 1_000_000 - number as u64 / 2,
        size: 10,
        looked: (number != 5).then(|| Looked {
            health,
            why: None,
            messages: 2,
            findings,
            repairable: health == Health::NeedsRepair,
        }),
        live: Some(number == 1),
        sub_agent: number == 6,
        parent: None,
        sub_agents: 0,
    })
}

impl Made {
    fn note(&self, what: String) -> Result<Value, Refusal> {
        self.asked.lock().expect("nobody panicked").push(what.clone());
        Ok(json!({ "asked": what }))
    }

    fn page(&self, what: &str, id: &str, page: Page) -> Result<Value, Refusal> {
        self.note(format!("{what} {id} {} {}", page.from, page.limit))
    }
}

impl Machine for Made {
    fn agents(&self) -> Vec<&'static str> {
        vec!["claude-code"]
    }

    fn sessions(&self) -> Listed {
        let scan = Scan { running: true, looked: 6, total: SESSIONS, ..Scan::default() };
        Listed { files: (0..SESSIONS).map(file).collect(), scan }
    }

    fn session(&self, id: &str) -> Result<(Arc<SessionFile>, Value), Refusal> {
        match id {
            "f-0" => Ok((file(0), json!({ "version": "v1" }))),
            "f-panic" => panic!("canary-panic"),
            _ => Err(Refusal::NotFound),
        }
    }

    fn messages(&self, id: &str, page: Page, words: Option<&str>) -> Result<Value, Refusal> {
        self.page(&format!("messages {words:?}"), id, page)
    }

    fn tree(&self, id: &str, page: Page, only: Only) -> Result<Value, Refusal> {
        self.page(&format!("tree {only:?}"), id, page)
    }

    fn records(&self, id: &str, page: Page, most: usize) -> Result<Value, Refusal> {
        self.page(&format!("records {most}"), id, page)
    }

    fn findings(&self, id: &str, page: Page) -> Result<Value, Refusal> {
        self.page("findings", id, page)
    }

    fn plan(&self, id: &str, page: Page) -> Result<Value, Refusal> {
        self.page("plan", id, page)
    }

    fn plan_told(&self, id: &str) -> Result<String, Refusal> {
        Ok(format!("# {id}\n"))
    }

    fn repair(&self, id: &str, plan: &str) -> Result<Value, Refusal> {
        match plan {
            "live" => Err(Refusal::Live("this session is live: somebody works on it".into())),
            "changed" => Err(Refusal::Changed),
            "failed" => Err(Refusal::Failed("the disk is full".into())),
            plan => self.note(format!("repair {id} {plan}")),
        }
    }

    fn undo(&self, id: &str) -> Result<Value, Refusal> {
        self.note(format!("undo {id}"))
    }

    fn compaction(&self, of: &Subject, wish: &Wish) -> Result<Value, Refusal> {
        let cut = match wish.cut {
            Cut::Fraction(share) => format!("fraction {share}"),
            Cut::Budget(tokens) => format!("budget {tokens}"),
        };
        self.note(format!("compaction {of:?} {cut} {:?}", wish.model))
    }
}
