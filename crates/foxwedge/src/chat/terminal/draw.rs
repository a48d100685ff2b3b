//! The rows below the scrollback: what is under way, what waits, and the editor. They always fit.

use anstyle::Style;

use super::{
    ask::{Stage, keys},
    row::Row,
    screen::{Screen, Work},
};
use crate::{
    runs::draw::Signs,
    say::{BOLD, DIM, FRAME, WARNING, width as columns},
};

/// Rows of text that is not complete.
const TEXT: usize = 8;
/// Rows of calls.
const CALLS: usize = 8;
/// Prompts that wait.
const QUEUED: usize = 3;
/// Commands that are listed.
const LISTED: usize = 8;

/// What is drawn: rows, and the place of the cursor among them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Live {
    pub(super) rows: Vec<Row>,
    pub(super) row: usize,
    pub(super) column: usize,
}

/// What is drawn now. The frame is what moves while something runs; `None` where nothing may move.
pub(super) fn live(screen: &Screen, now: u64, frame: Option<usize>) -> Live {
    // The last column stays free: a terminal that is full to the last one may begin a new row.
    let width = screen.width.saturating_sub(1).max(1);
    let most = screen.height.saturating_sub(1).max(1);

    let prefix = match screen.stage {
        Stage::Why(_) => "why not? ",
        Stage::New | Stage::Seen(_) | Stage::Turned => "> ",
    };
    let prefix = if columns(prefix) * 2 > width { "" } else { prefix };
    let height = (most / 2).clamp(1, 12);
    let view = screen.editor.view(width.saturating_sub(columns(prefix)) + 1, height);
    let blank = " ".repeat(columns(prefix));
    let editor: Vec<Row> = view
        .rows
        .iter()
        .enumerate()
        .map(|(at, row)| {
            let mark = if at == 0 { prefix } else { &blank };
            Row::of(if screen.is_busy() { DIM } else { BOLD }, mark)
                .with(Style::new(), row)
                .fit(width)
        })
        .collect();

    let text = text(screen, width);
    let calls = screen.calls.live(screen.signs, width, CALLS, now);
    let question = question(screen, width, now);
    let waits = queued(screen, width);
    let status = status(screen, width, now, frame);
    let gap = |is: bool| vec![Row::new(); usize::from(is)];
    let mut sections = [
        Section::new(gap(!text.is_empty() && screen.parts_text()), Cut::Below),
        Section::new(
            gap(!calls.is_empty() && (!text.is_empty() || screen.parts_calls())),
            Cut::Below,
        ),
        Section::new(gap(!question.is_empty()), Cut::Below),
        Section::new(gap(screen.has_rows()), Cut::Below),
        Section::new(text, Cut::Above),
        Section::new(calls, Cut::Below),
        Section::new(question, Cut::Middle),
        Section::new(waits, Cut::Below),
        Section::new(status, Cut::Below),
        Section::new(editor, Cut::Below),
        Section::new(foot(screen, width), Cut::Below),
    ];
    // What goes first where room is short, and what stays the longest. The editor always stays.
    const FIRST_TO_GO: [usize; 10] = [0, 1, 2, 3, 4, 10, 7, 5, 8, 6];
    let all: usize = sections.iter().map(|section| section.rows.len()).sum();
    let mut over = all.saturating_sub(most);
    for at in FIRST_TO_GO {
        over = sections[at].shrink(over);
    }
    const SHOWN: [usize; 11] = [0, 4, 1, 5, 2, 6, 3, 7, 8, 9, 10];
    let mut rows = Vec::new();
    let mut first = 0;
    for at in SHOWN {
        if at == 9 {
            first = rows.len();
        }
        rows.append(&mut sections[at].rows);
    }
    let column = columns(prefix) + view.column;
    Live { rows, row: first + view.row, column: column.min(width) }
}

/// Where rows are left out.
#[derive(Clone, Copy)]
enum Cut {
    Above,
    Middle,
    Below,
}

struct Section {
    rows: Vec<Row>,
    cut: Cut,
}

impl Section {
    fn new(rows: Vec<Row>, cut: Cut) -> Section {
        Section { rows, cut }
    }

    /// Gives up so many rows, or as many as it has. How many are still too many.
    fn shrink(&mut self, over: usize) -> usize {
        let cut = over.min(self.rows.len());
        match self.cut {
            Cut::Above => drop(self.rows.drain(..cut)),
            Cut::Below => self.rows.truncate(self.rows.len() - cut),
            Cut::Middle => {
                // The first row says what it is about, the last ones what can be done.
                let from = usize::from(cut < self.rows.len());
                drop(self.rows.drain(from..from + cut));
            }
        }
        over - cut
    }
}

fn text(screen: &Screen, width: usize) -> Vec<Row> {
    let thoughts =
        if screen.thought.shown { screen.thought.flow.live(width - 1) } else { Vec::new() };
    let dim = |row: &Row| {
        let mut dimmed = Row::of(DIM, &format!("{} ", screen.signs.thought()));
        row.pieces().iter().for_each(|(_, text)| dimmed.push(DIM, text));
        dimmed.fit(width)
    };
    let mut rows: Vec<Row> = thoughts.iter().map(dim).collect();
    rows.extend(screen.flow.live(width));
    let skip = rows.len().saturating_sub(TEXT);
    rows.split_off(skip)
}

fn question(screen: &Screen, width: usize, now: u64) -> Vec<Row> {
    let Some(ask) = screen.asks.front() else { return Vec::new() };
    let mut rows = ask.rows(screen.signs, width);
    match &screen.stage {
        Stage::Why(_) => rows.push(Row::of(WARNING, "  Enter says no, Esc goes back").fit(width)),
        Stage::New | Stage::Seen(_) | Stage::Turned => {
            if screen.is_armed(now) {
                rows.push(keys(screen.signs, width));
            } else if !screen.editor.is_empty() {
                let words = "  Tab turns to the question; what you typed stays";
                rows.push(Row::of(WARNING, words).fit(width));
            } else {
                rows.push(Row::of(DIM, "  may it run?").fit(width));
            }
        }
    }
    let behind = screen.asks.len() - 1;
    if behind > 0 {
        rows.push(Row::of(DIM, &format!("  and {behind} more to ask about")).fit(width));
    }
    rows
}

fn queued(screen: &Screen, width: usize) -> Vec<Row> {
    let row = |text: &String| {
        let beginning: String = text.chars().take(400).collect();
        let line = beginning.split_whitespace().collect::<Vec<_>>().join(" ");
        Row::of(FRAME, "queued: ").with(DIM, &line).fit(width)
    };
    let mut rows: Vec<Row> = screen.waiting().iter().take(QUEUED).map(row).collect();
    if let Some(more @ 1..) = screen.waiting().len().checked_sub(QUEUED) {
        rows.push(Row::of(DIM, &format!("  and {more} more")).fit(width));
    }
    rows
}

fn status(screen: &Screen, width: usize, now: u64, frame: Option<usize>) -> Vec<Row> {
    let dot = screen.signs.dot();
    if let Some((hint, until)) = &screen.hint
        && *until > now
    {
        return vec![Row::of(WARNING, hint).fit(width)];
    }
    let row = match screen.work {
        Work::Idle if !screen.waiting().is_empty() && !screen.editor.is_empty() => {
            Row::of(DIM, "what is queued waits: Enter on an empty line sends it")
        }
        Work::Idle if !screen.waiting().is_empty() => {
            Row::of(WARNING, "press Enter to send what is queued")
                .with(DIM, dot)
                .with(DIM, "the up arrow takes it back")
        }
        Work::Idle => return Vec::new(),
        Work::Busy { presses: 0, .. } if !screen.asks.is_empty() => return Vec::new(),
        Work::Busy { presses: 0, since } => {
            let (what, since) = match screen.thought.since {
                Some(since) => ("thinking", since),
                None => ("working", since),
            };
            let time = match now.saturating_sub(since) / 1000 {
                0 => String::new(),
                seconds @ ..60 => format!(" {seconds}s"),
                seconds => format!(" {}m {:02}s", seconds / 60, seconds % 60),
            };
            let words = format!("{what}{time}");
            Row::of(FRAME, &format!("{} ", moving(screen.signs, frame)))
                .with(Style::new(), &words)
                .with(DIM, &format!("{dot}Esc stops it"))
        }
        Work::Busy { presses: 1, .. } if screen.calls.at_work() => {
            Row::of(WARNING, "stopping: waiting for tools (press again to kill them)")
        }
        Work::Busy { presses: 1, .. } => Row::of(WARNING, "stopping"),
        Work::Busy { .. } => {
            Row::of(WARNING, "stopping by force (Ctrl-C once more leaves at once)")
        }
    };
    vec![row.fit(width)]
}

/// A sign that moves, or stands still.
fn moving(signs: Signs, frame: Option<usize>) -> &'static str {
    const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
    const ASCII: [&str; 4] = ["|", "/", "-", "\\"];
    match (signs, frame) {
        (Signs::Unicode, Some(frame)) => FRAMES[frame % FRAMES.len()],
        (Signs::Ascii, Some(frame)) => ASCII[frame % ASCII.len()],
        (Signs::Unicode, None) => "●",
        (Signs::Ascii, None) => "*",
    }
}

/// What stands below the editor: commands while one is typed, else a few words about the model.
fn foot(screen: &Screen, width: usize) -> Vec<Row> {
    let rows = listed(screen, width);
    match (rows.is_empty(), screen.status.is_empty()) {
        (false, _) => rows,
        (true, false) => vec![Row::of(DIM, &format!("  {}", screen.status)).fit(width)],
        (true, true) => Vec::new(),
    }
}

fn listed(screen: &Screen, width: usize) -> Vec<Row> {
    let all: Vec<_> = screen.listed().collect();
    let longest = all.iter().map(|(name, _)| columns(name)).max().unwrap_or(0);
    let mut rows: Vec<Row> = Vec::new();
    for (name, help) in all.iter().take(LISTED) {
        let space = " ".repeat(longest - columns(name) + 2);
        rows.push(
            Row::of(FRAME, &format!("  {name}")).with(DIM, &format!("{space}{help}")).fit(width),
        );
    }
    if let Some(more @ 1..) = all.len().checked_sub(LISTED) {
        rows.push(Row::of(DIM, &format!("  and {more} more")));
    }
    rows
}
