//! `--print-config`: every setting, and who set it. No secrets.

use foxwedge_gateway::config::{ConfigSection, LoadedConfig, SettingOrigin};

use super::config_errors::display_text;
use crate::{
    cli_output::{BOLD, DIM, clean, paint, width},
    screen::pad,
};

/// Where the names of those who set values begin.
const ORIGIN_COLUMN: usize = 44;

/// The configuration as a file that says all of it.
pub(super) fn draw(loaded: &LoadedConfig) -> String {
    let mut text = String::new();
    for block in &loaded.sections {
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

fn lines(block: &ConfigSection) -> String {
    let mut lines = String::new();
    for setting in &block.settings {
        let line = clean(&format!("{} = {}", setting.key, setting.value));
        let line = if width(&line) < ORIGIN_COLUMN {
            pad(&line, ORIGIN_COLUMN)
        } else {
            format!("{line}  ")
        };
        let origin = format!("# {}", display_text(&setting.origin.to_string()));
        let origin = match setting.origin {
            SettingOrigin::Default => paint(DIM, origin),
            SettingOrigin::File { .. } | SettingOrigin::Variable(_) | SettingOrigin::Flag(_) => {
                origin
            }
        };
        lines.push_str(&format!("{line}{origin}\n"));
    }
    lines
}
