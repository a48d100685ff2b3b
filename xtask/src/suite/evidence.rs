//! The table of evidence, `suite/evidence.tsv`.

use std::{fs, path::Path};

use foxwedge_suite::{EvidenceKind, VectorEvidence};

pub(super) struct EvidenceTable {
    lines: Vec<(String, VectorEvidence)>,
}

impl EvidenceTable {
    pub(super) fn read(path: &Path) -> Result<EvidenceTable, String> {
        let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let mut lines = Vec::new();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let fields: Vec<&str> = line.split('\t').collect();
            let [clause, profile, kind, seen, text] = fields.as_slice() else {
                return Err(format!("evidence.tsv: `{line}` has {} fields", fields.len()));
            };
            let kind = match *kind {
                "documentation" => EvidenceKind::Documentation,
                "error text" => EvidenceKind::ErrorText,
                "package run" => EvidenceKind::PackageRun,
                "recorded exchange" => EvidenceKind::RecordedExchange,
                other => return Err(format!("evidence.tsv: no kind `{other}`")),
            };
            let evidence = VectorEvidence {
                profile: (*profile).to_owned(),
                kind,
                seen: (*seen).to_owned(),
                text: (*text).to_owned(),
            };
            lines.push(((*clause).to_owned(), evidence));
        }
        Ok(EvidenceTable { lines })
    }

    /// The evidence for a clause and a profile.
    pub(super) fn of(&self, clause: &str, profile: &str) -> Option<&VectorEvidence> {
        let mut lines = self.lines.iter();
        lines
            .find(|(own, evidence)| own == clause && evidence.profile == profile)
            .map(|(_, evidence)| evidence)
    }
}
