//! What became of the histories behind one gateway, and the table.

use std::fmt::Write as _;

use foxwedge_suite::{HistoryFormat, HistoryReading, HistorySide, ProfileRules};

use super::{KeptRequest, PeerPath, SentHistory};

/// The counts of one gateway.
#[derive(Default)]
pub(super) struct FaultRow {
    name: &'static str,
    invalid: ReplyCounts,
    valid: ReplyCounts,
    /// Valid histories that say something else at the upstream.
    changed: usize,
    /// Histories of which a text of the user did not arrive.
    lost_texts: usize,
    /// Histories of which a tool result did not arrive.
    lost_results: usize,
}

/// What clients got.
#[derive(Default)]
struct ReplyCounts {
    /// A reply of the model.
    replies: usize,
    /// The refusal of the upstream.
    refusals: usize,
    /// A refusal by the gateway, which asked nobody.
    own_refusals: usize,
    /// An error of the server, or nothing.
    failures: usize,
}

impl FaultRow {
    pub(super) fn new(name: &'static str) -> FaultRow {
        FaultRow { name, ..FaultRow::default() }
    }

    /// Counts one exchange.
    pub(super) fn add(
        &mut self,
        path: PeerPath,
        history: &SentHistory,
        status: Option<u16>,
        arrived: Vec<KeptRequest>,
    ) {
        let counts = if history.is_valid { &mut self.valid } else { &mut self.invalid };
        let refused_upstream = arrived.iter().any(|it| it.status.is_some_and(|it| it >= 400));
        match status {
            Some(200..300) => counts.replies += 1,
            Some(400..500) if refused_upstream => counts.refusals += 1,
            Some(400..500) => counts.own_refusals += 1,
            _ => counts.failures += 1,
        }
        let Some(last) = arrived.last() else { return };
        let Some(after) = reading(path.upstream(), &last.body) else { return };
        let Some(before) = reading(path.client(), &history.body) else { return };
        if history.is_valid && path.client() == path.upstream() && !after.says_the_same(&before) {
            self.changed += 1;
        }
        let Some(laws) = &history.vector.laws else { return };
        let arrived_text = after.all_text();
        let mut user_texts = laws.texts.iter().filter(|law| law.side == HistorySide::User);
        self.lost_texts += usize::from(user_texts.any(|law| !arrived_text.contains(&law.text)));
        let is_lost = |text: &str| !text.lines().all(|line| arrived_text.contains(line));
        self.lost_results += usize::from(laws.results.iter().any(|law| is_lost(&law.text)));
    }
}

fn reading(format: foxwedge_core::Format, body: &str) -> Option<HistoryReading> {
    let rules = ProfileRules::new(HistoryFormat::Provider(format), format.name())?;
    HistoryReading::of(&rules, body).ok()
}

/// The table of one path.
pub(super) fn table(path: PeerPath, histories: &[SentHistory], rows: &[FaultRow]) -> String {
    let valid = histories.iter().filter(|history| history.is_valid).count();
    let invalid = histories.len() - valid;
    let mut text = format!(
        "**{}**: {invalid} invalid and {valid} valid histories\n\n\
         | | invalid: replies | 400 passed on | refused itself | failed | valid: replies | refused | \
         failed | changed | user text lost | result lost |\n|---|{}\n",
        path.name(),
        "---:|".repeat(10)
    );
    for row in rows {
        let FaultRow { name, invalid, valid, changed, lost_texts, lost_results } = row;
        let changed = match path.client() == path.upstream() {
            true => changed.to_string(),
            false => "–".to_owned(),
        };
        // Writing into a `String` cannot fail.
        let _ = writeln!(
            text,
            "| {name} | {} | {} | {} | {} | {} | {} | {} | {changed} | {lost_texts} | {lost_results} |",
            invalid.replies,
            invalid.refusals,
            invalid.own_refusals,
            invalid.failures,
            valid.replies,
            valid.refusals + valid.own_refusals,
            valid.failures,
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use foxwedge_suite::{RepairLaws, SideText, SuiteVector};

    use super::*;

    /// A history whose first message is a text of the user.
    fn history(is_valid: bool) -> SentHistory {
        let body = r#"{"model":"m","messages":[{"role":"user","content":"Paint the fence."}]}"#;
        let law = SideText { side: HistorySide::User, text: "Paint the fence.".to_owned() };
        let vector: SuiteVector = serde_json::from_value(serde_json::json!({
            "id": "V0001", "title": "", "clause": "FW101", "tracks": ["repair"], "level": "A",
            "format": "openai-chat", "input": body, "verdicts": {}, "evidence": [],
            "laws": RepairLaws { texts: vec![law], ..RepairLaws::default() },
        }))
        .expect("a vector");
        SentHistory { vector, is_valid, body: body.to_owned() }
    }

    #[test]
    fn what_arrived_and_what_came_back_is_counted() {
        let mut row = FaultRow::new("gateway");
        let arrived =
            |body: &str, status| vec![KeptRequest { body: body.to_owned(), status: Some(status) }];
        let (valid, invalid) = (history(true), history(false));
        let other = valid.body.replace("fence", "house");
        row.add(PeerPath::Chat, &valid, Some(200), arrived(&valid.body, 200));
        row.add(PeerPath::Chat, &valid, Some(200), arrived(&other, 200));
        row.add(PeerPath::Chat, &invalid, Some(400), arrived(&invalid.body, 400));
        row.add(PeerPath::Chat, &invalid, Some(400), Vec::new());
        row.add(PeerPath::Chat, &invalid, None, Vec::new());
        let text = table(PeerPath::Chat, &[valid, invalid], &[row]);
        assert_eq!(
            text.lines().last(),
            Some("| gateway | 0 | 1 | 1 | 1 | 2 | 0 | 0 | 1 | 1 | 0 |"),
            "{text}"
        );
    }
}
