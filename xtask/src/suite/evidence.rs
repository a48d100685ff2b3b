//! The table of evidence, `suite/evidence.tsv`.

use std::{fs, path::Path};

use foxwedge_suite::{EvidenceKind, VectorEvidence};

pub(super) struct EvidenceTable {
    lines: Vec<(String, VectorEvidence)>,
}

/// Start of a clause that names a single source: both verdicts are right there.
const ACCEPTABLE: &str = "acceptable ";

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

    /// Why both verdicts are right for a source, whatever the rules say.
    pub(super) fn exception(&self, source: &str, profile: &str) -> Option<&VectorEvidence> {
        self.of(&format!("{ACCEPTABLE}{source}"), profile)
    }

    /// The sources that have an exception.
    pub(super) fn exceptions(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().filter_map(|(clause, _)| clause.strip_prefix(ACCEPTABLE))
    }

    /// The evidence for a clause and a profile.
    pub(super) fn of(&self, clause: &str, profile: &str) -> Option<&VectorEvidence> {
        let mut lines = self.lines.iter();
        lines
            .find(|(own, evidence)| own == clause && evidence.profile == profile)
            .map(|(_, evidence)| evidence)
    }
}
