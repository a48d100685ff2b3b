//! The picture above the fold of the READMEs: a terminal session of the real binary, drawn as SVG.

use std::{
    env, fs,
    fs::File,
    path::Path,
    process::{self, Command},
    time::{Duration, SystemTime},
};

use crate::{Outcome, ci, workspace};

const PICTURE: &str = "docs/images/repair.svg";
/// The home folder of the session: three sessions of agents, one of them damaged.
const HOME: &str = "fixtures/picture/home";
const COMMANDS: [&[&str]; 2] = [&["list"], &["fix", "0a1b2c3d"]];

/// Says whether the picture is what the binary prints.
pub(crate) fn check() -> Outcome {
    let old = fs::read_to_string(workspace::root().join(PICTURE)).unwrap_or_default();
    if old == draw()? {
        println!("the picture is true");
        return Ok(());
    }
    Err(format!("{PICTURE} is old: run `cargo xtask transcript --write`"))
}

/// Draws the picture again.
pub(crate) fn write() -> Outcome {
    let path = workspace::root().join(PICTURE);
    let complain = |error: std::io::Error| format!("{PICTURE}: {error}");
    path.parent().map_or(Ok(()), fs::create_dir_all).map_err(complain)?;
    fs::write(path, draw()?).map_err(complain)
}

fn draw() -> Result<String, String> {
    let binary = ci::binary()?;
    let folder = env::temp_dir().join(format!("foxwedge-picture-{}", process::id()));
    let home = folder.join("home/ada");
    let drawn = copy_home(&workspace::root().join(HOME), &home, &mut 2)
        .map_err(|error| format!("{HOME}: {error}"))
        .and_then(|()| record(&binary, &folder, &home));
    let _ = fs::remove_dir_all(&folder);
    drawn.map(|screen| to_svg(&screen))
}

/// Copies a folder. Each file is three hours older than the one before it.
fn copy_home(from: &Path, to: &Path, hours: &mut u64) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    let mut entries: Vec<_> = fs::read_dir(from)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.file_name()));
    for entry in entries {
        let (path, copy) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy_home(&path, &copy, hours)?;
            continue;
        }
        fs::copy(&path, &copy)?;
        let age = Duration::from_secs(3600 * *hours + 60);
        File::options().write(true).open(&copy)?.set_modified(SystemTime::now() - age)?;
        *hours += 3;
    }
    Ok(())
}

/// What a terminal shows after the commands, with its escape sequences.
fn record(binary: &Path, folder: &Path, home: &Path) -> Result<String, String> {
    let mut screen = String::new();
    for arguments in COMMANDS {
        screen.push_str(&format!("\u{1b}[1m$ foxwedge {}\u{1b}[0m\n", arguments.join(" ")));
        let ran = Command::new(binary)
            .args(["--color", "always"])
            .args(arguments)
            .current_dir(folder)
            .env_clear()
            .env("HOME", home)
            .output()
            .map_err(|error| format!("{}: {error}", binary.display()))?;
        for bytes in [ran.stdout, ran.stderr] {
            screen.push_str(&String::from_utf8_lossy(&bytes));
        }
        screen.push('\n');
    }
    let screen = screen.replace(&folder.display().to_string(), "");
    // Where backups go is longer than a line of the picture.
    let lines = screen.lines().map(|line| line.split("; backup:").next().unwrap_or(line));
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

const LINE_HEIGHT: usize = 20;
/// The width of a character, in tenths of a pixel.
const CHARACTER_TENTHS: usize = 84;
const MARGIN: usize = 20;

fn to_svg(screen: &str) -> String {
    let screen = screen.trim_end();
    let columns = screen.lines().map(visible_columns).max().unwrap_or(0);
    let width = columns * CHARACTER_TENTHS / 10 + 2 * MARGIN;
    let height = screen.lines().count() * LINE_HEIGHT + 2 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         role=\"img\" aria-label=\"foxwedge list finds a damaged session, foxwedge fix repairs it\">\n\
         <style>text{{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#d7d3c8;\
         white-space:pre}}.b{{font-weight:700}}.d{{opacity:.6}}.r{{fill:#ff7b72}}.g{{fill:#7ee787}}\
         .y{{fill:#e3b341}}.c{{fill:#76e3ea}}.u{{fill:#79c0ff}}</style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1d1f21\"/>\n"
    );
    for (row, line) in screen.lines().enumerate() {
        let y = MARGIN + row * LINE_HEIGHT + 14;
        svg.push_str(&format!("<text x=\"{MARGIN}\" y=\"{y}\">{}</text>\n", spans(line)));
    }
    svg + "</svg>\n"
}

/// The number of characters without escape sequences.
fn visible_columns(line: &str) -> usize {
    pieces(line).iter().map(|(_, text)| text.chars().count()).sum()
}

/// A line as SVG spans.
fn spans(line: &str) -> String {
    let span = |(classes, text): &(String, &str)| {
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        match classes.as_str() {
            "" => text,
            classes => format!("<tspan class=\"{classes}\">{text}</tspan>"),
        }
    };
    pieces(line).iter().map(span).collect()
}

/// Texts with the classes of their colors.
fn pieces(line: &str) -> Vec<(String, &str)> {
    let mut pieces = Vec::new();
    let mut classes: Vec<&str> = Vec::new();
    for (at, part) in line.split("\u{1b}[").enumerate() {
        let text = match (at, part.split_once('m')) {
            (0, _) | (_, None) => part,
            (_, Some((codes, text))) => {
                for code in codes.split(';') {
                    match code {
                        "1" => classes.push("b"),
                        "2" => classes.push("d"),
                        "31" | "91" => classes.push("r"),
                        "32" | "92" => classes.push("g"),
                        "33" | "93" => classes.push("y"),
                        "34" | "94" => classes.push("u"),
                        "36" | "96" => classes.push("c"),
                        _ => classes.clear(),
                    }
                }
                text
            }
        };
        if !text.is_empty() {
            pieces.push((classes.join(" "), text));
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_become_classes() {
        let line = "\u{1b}[1m\u{1b}[32mFixed\u{1b}[0m <2>";
        assert_eq!(spans(line), "<tspan class=\"b g\">Fixed</tspan> &lt;2&gt;");
        assert_eq!(visible_columns(line), 9);
    }
}
