//! What the user had said and is not there any more.

use foxwedge_dialect::compact::Became;

use super::{full::row, told::Told};
use crate::say::{DIM, clean, count, paint};

/// Messages of the user that are named.
const NAMED: usize = 8;

/// What the user said that is gone, and what a summary stands for.
pub(super) fn draw(text: &mut String, told: &Told<'_>) {
    let what = [(Became::Gone, "given up", "gone"), (Became::Condensed, "condensed", "summarized")];
    for (became, label, word) in what {
        let messages = &told.compacted.account.messages;
        if !messages.iter().any(|(_, fate)| *fate == became) {
            continue;
        }
        let wishes = told.lost_wishes(became);
        if wishes.is_empty() {
            row(text, label, "nothing that the user said");
            continue;
        }
        let number = count(wishes.len(), "message");
        row(text, label, &format!("{number} of the user {word}:"));
        for wish in wishes.iter().take(NAMED) {
            let at = paint(DIM, format_args!("{:>4}", wish.message));
            row(text, "", &format!("{at} “{}”", clean(wish.excerpt.trim())));
        }
        if wishes.len() > NAMED {
            row(text, "", &format!("     … and {} more", wishes.len() - NAMED));
        }
    }
}
