//! `--print-config`: every setting, and who set it. No secrets.

use foxwedge_engine::config::{Block, Loaded, Origin};

use super::complaints::told;
use crate::{
    say::{BOLD, DIM, clean, paint, width},
    screen::pad,
};

/// Where the names of those who set values begin.
const COLUMN: usize = 44;

/// The configuration as a file that says all of it.
pub(super) fn draw(loaded: &Loaded) -> String {
    let mut text = String::new();
    for block in &loaded.blocks {
        if !text.is_empty() {
            text.push('\n');
        }
        if !block.header.is_empty() {
            text.push_str(&format!("{}\n", paint(BOLD, &block.header)));
        }
        text.push_str(&lines(block));
    }
    text
}

fn lines(block: &Block) -> String {
    let mut lines = String::new();
    for setting in &block.settings {
        let line = clean(&format!("{} = {}", setting.key, setting.value));
        let line = if width(&line) < COLUMN { pad(&line, COLUMN) } else { format!("{line}  ") };
        let origin = format!("# {}", told(&setting.origin.to_string()));
        let origin = match setting.origin {
            Origin::Default => paint(DIM, origin),
            Origin::File { .. } | Origin::Variable(_) | Origin::Flag(_) => origin,
        };
        lines.push_str(&format!("{line}{origin}\n"));
    }
    lines
}
