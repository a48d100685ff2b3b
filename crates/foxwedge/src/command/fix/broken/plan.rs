//! The plan of `fix --broken`, one line for each session.

use super::{PlanVerdict, PlannedSession};
use foxwedge_local::{
    agents,
    language::localize,
    output::{BOLD, DIM, GOOD, WARNING, clean, cut, paint, pluralize, width},
    screen::{abbreviate_home, pad},
    session_reach::health_label,
    source::format_rule_counts,
};

/// Lines of a plan before the question. `--dry-run` prints all of them.
pub(super) const MAX_LINES: usize = 40;

/// Formats the plan. `total` is the number of all sessions.
pub(super) fn format(planned: &[PlannedSession], total: usize, max_lines: usize) -> String {
    if planned.is_empty() {
        let sessions = pluralize(total, "session");
        return localize(format!("{sessions}: nothing to repair.\n")).into_owned();
    }
    let repairs = planned.iter().filter(|one| one.verdict == PlanVerdict::Repair).count();
    let sessions = pluralize(total, "session");
    let intent = paint(BOLD, format!("Would repair {repairs} of {sessions}"));
    let mut text = localize(match planned.len() - repairs {
        0 => format!("{intent}:\n"),
        skipped => format!("{intent}, and skip {skipped}:\n"),
    })
    .into_owned();
    let lines: Vec<PlanLine> = planned.iter().map(PlanLine::of).collect();
    let widest = |cell: fn(&PlanLine) -> &str| {
        lines.iter().take(max_lines).map(|line| width(cell(line))).max().unwrap_or(0)
    };
    let widths = [
        widest(|line| &line.id),
        widest(|line| line.product),
        widest(|line| &line.project),
        widest(|line| &line.status),
    ];
    for line in lines.iter().take(max_lines) {
        text.push_str(&line.draw(widths));
    }
    if lines.len() > max_lines {
        let more = lines.len() - max_lines;
        text.push_str(&localize(format!("  … and {more} more; --dry-run lists all of them\n")));
    }
    text
}

/// The cells of one line.
struct PlanLine {
    id: String,
    product: &'static str,
    project: String,
    status: String,
    /// What is repaired, or why it is not.
    note: String,
    is_repaired: bool,
}

impl PlanLine {
    fn of(one: &PlannedSession) -> PlanLine {
        let home = agents::home_folder();
        let project = one.overview.project.as_deref().unwrap_or_default();
        let rules = format_rule_counts(&one.overview.findings);
        PlanLine {
            id: clean(&one.short_id),
            product: one.entry.product,
            project: clean(&cut(&abbreviate_home(project, home.as_deref()), 32)),
            status: localize(health_label(one.overview.health, one.overview.reach.as_ref()))
                .into_owned(),
            note: match &one.verdict {
                PlanVerdict::Repair => describe_repair(one, &rules),
                PlanVerdict::Skip(why) => {
                    let why = clean(&cut(&localize(why.as_str()), 120));
                    if rules.is_empty() { why } else { format!("{why} ({rules})") }
                }
            },
            is_repaired: one.verdict == PlanVerdict::Repair,
        }
    }

    fn draw(&self, [id, product, project, status]: [usize; 4]) -> String {
        let (style, verb) = if self.is_repaired { (GOOD, "repair") } else { (WARNING, "skip") };
        let verb = paint(style, pad(&localize(verb), width("repair")));
        format!(
            "  {verb}  {}  {}  {}  {}  {}\n",
            paint(BOLD, pad(&self.id, id)),
            pad(self.product, product),
            pad(&self.project, project),
            pad(&self.status, status),
            paint(DIM, &self.note),
        )
    }
}

/// The broken rules, and how many messages the agent sees before and after, if that differs.
fn describe_repair(one: &PlannedSession, rules: &str) -> String {
    let before = one.overview.reach.map(|reach| reach.before.messages);
    let after = one.report().and_then(|report| report.reach).map(|reach| reach.before.messages);
    match (before, after) {
        (Some(before), Some(after)) if before != after => {
            let seen = format!("the agent sees {after} messages instead of {before}");
            format!("{rules}; {}", localize(seen))
        }
        _ => rules.to_owned(),
    }
}
