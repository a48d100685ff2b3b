//! `--print-config`: every setting with its origin. Secrets are not printed.

use foxwedge_gateway::config::{ConfigSection, LoadedConfig, SettingOrigin};

use super::config_errors::display_text;
use foxwedge_local::{
    output::{BOLD, DIM, clean, paint, width},
    screen::pad,
};

/// The column where the origin of a value begins.
const ORIGIN_COLUMN: usize = 44;

/// The complete configuration in the syntax of the configuration file.
pub(super) fn draw(loaded: &LoadedConfig) -> String {
    let mut text = String::new();
    for section in &loaded.sections {
        if !text.is_empty() {
            text.push('\n');
        }
        if !section.header.is_empty() {
            text.push_str(&format!("{}\n", paint(BOLD, &section.header)));
        }
        text.push_str(&lines(section));
    }
    text
}

fn lines(section: &ConfigSection) -> String {
    let mut lines = String::new();
    for setting in &section.settings {
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
