//! What was read, as a table, and below it everything that was misread.

use std::collections::BTreeMap;

use foxwedge_core::Wire;

use super::{
    Scene,
    install::Shelf,
    reader::{Job, Language, Way},
};
use crate::Outcome;

/// How many misreadings are printed: one fault often shows in hundreds of them.
const SHOWN: usize = 40;

/// Counts readings.
#[derive(Default)]
pub(super) struct Table {
    rows: BTreeMap<(Wire, Language, Way), Row>,
    troubles: Vec<String>,
}

#[derive(Default)]
struct Row {
    sdk: String,
    jobs: usize,
    ok: usize,
}

impl Table {
    /// One reading.
    pub(super) fn add(&mut self, shelf: &Shelf, job: &Job<'_>, verdict: Result<(), String>) {
        let row = self.rows.entry((job.target, job.language, job.way)).or_default();
        if row.jobs == 0 {
            let package = job.language.package(job.target).unwrap_or_default();
            row.sdk = format!("{package} {}", shelf.version(package));
        }
        row.jobs += 1;
        match verdict {
            Ok(()) => row.ok += 1,
            Err(trouble) => self.troubles.push(format!("{}\n  {trouble}", job.told())),
        }
    }

    /// A fixture that could not be converted.
    pub(super) fn unconverted(&mut self, scene: &Scene) {
        if let Err(trouble) = &scene.path {
            let path = scene.fixture.path.display();
            let (from, to) = (scene.fixture.wire.name(), scene.target.name());
            self.troubles.push(format!("convert --from {from} --to {to} {path}\n  {trouble}"));
        }
    }

    /// Prints all of it.
    pub(super) fn print(self) -> Outcome {
        for trouble in self.troubles.iter().take(SHOWN) {
            println!("{trouble}");
        }
        if self.troubles.len() > SHOWN {
            println!("… and {} more", self.troubles.len() - SHOWN);
        }
        print!("{}", self.told());
        match self.troubles.len() {
            0 => Ok(()),
            wrong => Err(format!("{wrong} readings are not what they should be")),
        }
    }

    fn told(&self) -> String {
        let mut lines = vec![line("format", "SDK", "language", "reader", "jobs", "ok")];
        for ((wire, language, way), Row { sdk, jobs, ok }) in &self.rows {
            let (jobs, ok) = (jobs.to_string(), ok.to_string());
            lines.push(line(wire.name(), sdk, language.name(), way.name(), &jobs, &ok));
        }
        lines.concat()
    }
}

fn line(format: &str, sdk: &str, language: &str, way: &str, jobs: &str, ok: &str) -> String {
    format!("{format:<16}  {sdk:<24}  {language:<10}  {way:<6}  {jobs:>5}  {ok:>5}\n")
}
