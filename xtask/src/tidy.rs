//! The checks that no compiler makes.

mod arrows;
mod circles;
mod pure;
mod rules;
mod source;
mod names;
mod prose;
mod packaging;
mod publishing;

use crate::{Outcome, acceptance, generate, suite, workspace};

/// Something that is not as it should be: where, and what.
pub(crate) struct Complaint {
    pub(crate) place: String,
    pub(crate) what: String,
}

pub(crate) fn complaint(place: impl Into<String>, what: impl Into<String>) -> Complaint {
    Complaint { place: place.into(), what: what.into() }
}

/// Runs every check and prints everything that is wrong, not only the first of it.
pub(crate) fn run() -> Outcome {
    let files = workspace::files()?;
    let checks = [
        ("arrows between crates", arrows::check(&files)),
        ("circles of modules", circles::check(&files)),
        ("pure crates", pure::check(&files)),
        ("rules, their pages and cases", rules::check(&files)),
        ("source files", source::check(&files)),
        ("type names", names::check(&files)),
        ("what documents name", prose::check(&files)),
        ("versions, targets, templates", packaging::check(&files)),
        ("published crates", publishing::check(&files)),
        ("generated files", generate::outdated(&files)),
        ("vectors of the suite", suite::outdated()),
        ("the console's page", acceptance::outdated_page(&files)),
    ];
    let mut wrong = 0;
    for (name, complaints) in &checks {
        let verdict = if complaints.is_empty() { "ok" } else { "WRONG" };
        println!("{name:<30} {verdict}");
        for Complaint { place, what } in complaints {
            println!("  {place}: {what}");
        }
        wrong += complaints.len();
    }
    if wrong == 0 { Ok(()) } else { Err(format!("{wrong} things are not tidy")) }
}
