//! A home folder of its own for every test, and the calls that commands make.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use foxwedge_core::Policy;
use foxwedge_local::{
    agents::{LocalSessionEntry, find_in},
    check_settings::CheckSettings,
    database,
    disk::FileSnapshot,
    findings::ReportDetail,
    outcome::FileReport,
    repair_plan::{RepairPlan, repair_file},
    source::{FileCompression, InputHint, InputRejection, decode_text, parse_input},
    undo::RestorableBackups,
    user_folders::UserFolders,
};
use foxwedge_sessions::SessionAgent;

static NUMBER: AtomicUsize = AtomicUsize::new(0);

/// A home folder that goes away with the test.
pub(crate) struct TestHome {
    home: PathBuf,
}

impl TestHome {
    pub(crate) fn new() -> TestHome {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let home =
            std::env::temp_dir().join(format!("foxwedge-db-{}-{number}", std::process::id()));
        fs::create_dir_all(&home).unwrap();
        TestHome { home: fs::canonicalize(home).unwrap() }
    }

    /// Where opencode keeps its database.
    pub(crate) fn database(&self) -> PathBuf {
        self.home.join(".local/share/opencode/opencode.db")
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.home
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.home.join(".local/state/foxwedge")
    }

    pub(crate) fn folders(&self) -> UserFolders {
        UserFolders::Below(self.home.clone())
    }

    pub(crate) fn sessions(&self) -> Vec<LocalSessionEntry> {
        let found = find_in(&self.folders(), &[SessionAgent::Opencode]);
        assert!(found.unreadable.is_empty(), "{:?}", found.unreadable);
        found.entries
    }

    /// Repairs a session; `None` if there is nothing to repair.
    pub(crate) fn fix(&self, path: &Path) -> anyhow::Result<Option<FileReport>> {
        let snapshot = FileSnapshot::take(path)?;
        self.fix_snapshot(&snapshot)
    }

    /// Repairs a session that was read before.
    pub(crate) fn fix_snapshot(
        &self,
        snapshot: &FileSnapshot,
    ) -> anyhow::Result<Option<FileReport>> {
        let settings = settings();
        let hint = InputHint { is_json_lines: false, from_folder: false };
        let text =
            decode_text(&snapshot.content).map_err(|failure| anyhow::anyhow!(failure.message))?;
        let source = match parse_input(&text, hint, &settings) {
            Ok(source) => source,
            Err(InputRejection::Failed(failure)) => anyhow::bail!(failure.message),
            Err(InputRejection::Skipped) => anyhow::bail!("skipped"),
        };
        let plan = RepairPlan::new(&snapshot.content, FileCompression::Plain, &source);
        drop(source);
        if plan.is_empty() {
            return Ok(None);
        }
        let detail = ReportDetail::default();
        repair_file(&self.folders(), snapshot, plan, hint, &settings, detail).map(Some)
    }

    pub(crate) fn undo(&self, path: &Path, force: bool) -> anyhow::Result<()> {
        RestorableBackups::list(self.folders())?.restore(path, force)
    }
}

impl Drop for TestHome {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.home);
    }
}

/// What a provider would refuse counts, too.
pub(crate) fn settings() -> CheckSettings {
    CheckSettings::of(None, Policy::default())
}

/// The number of findings in a session.
pub(crate) fn findings(path: &Path) -> Vec<String> {
    let content = database::read(path).unwrap();
    let text = decode_text(&content).unwrap();
    let hint = InputHint { is_json_lines: false, from_folder: false };
    let Ok(source) = parse_input(&text, hint, &settings()) else {
        return vec!["unread".to_owned()];
    };
    let documents = source.documents.iter().flat_map(|document| document.report().findings);
    documents.map(|finding| format!("{} {}", finding.rule.label(), finding.message)).collect()
}
