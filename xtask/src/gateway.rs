//! Clients that nobody here wrote talk to `foxwedge serve`: `cargo xtask gateway`.
//!
//! The binary serves the built-in model at a free port, with upstreams that speak one format each.
//! Agents and SDKs of OpenAI, Anthropic and others then hold whole conversations with it, in their
//! own format and across formats, whole and as streams: with tools, with reasoning, with a broken
//! history, with errors, with streams that break off. What they got is compared with what the model
//! says. The clients run in `acceptance/gateway/`; where they cannot be installed, that is said.

mod client;
mod job;
mod shelf;
mod server;
mod verdict;

use std::{env, path::PathBuf, thread};

use crate::{
    Outcome, ci,
    judges::{Question as _, Table, ask},
    sdks,
};
use client::{Client, Language};
use job::Task;
use server::Server;
use shelf::Shelf;

/// Lets everybody talk, prints what came of it, and fails if anything was not as it should be.
pub(crate) fn run(words: &[&str]) -> Outcome {
    let named = match words {
        [] => None,
        ["--foxwedge", path] => Some(PathBuf::from(path)),
        _ => return Err("`gateway` takes nothing but `--foxwedge BINARY`".to_owned()),
    };
    let shelves = shelves()?;
    if shelves.is_empty() {
        return Ok(());
    }
    let binary = named.map_or_else(ci::binary, Ok)?;
    let server = Server::start(&binary)?;
    let answered = thread::scope(|scope| {
        let asked: Vec<_> = shelves
            .iter()
            .map(|shelf| {
                let jobs = job::all(shelf.language, &server);
                scope.spawn(move || {
                    let answers = ask(shelf.language.name(), shelf.command(), &jobs)?;
                    Ok::<_, String>((shelf, jobs.into_iter().zip(answers).collect::<Vec<_>>()))
                })
            })
            .collect();
        let joined = asked.into_iter().map(|asked| asked.join());
        joined.map(|it| it.unwrap_or_else(|_| Err("a client panicked".to_owned()))).collect()
    });
    let answered: Result<Vec<_>, String> = answered;
    let answered = answered?;
    let sessions = server.sessions()?;
    server.stop()?;
    let mut table = Table::new(["client", "language", "face"], Task::COLUMNS);
    for (shelf, jobs) in answered {
        for (job, answer) in jobs {
            let Client { language, face, .. } = job.client;
            let row = table.row((language, job.client.module, face), || {
                [shelf.versions(job.client), language.name().to_owned(), face.name().to_owned()]
            });
            match verdict::judge(&job, &answer, &sessions) {
                Ok(()) => row[job.task.column()] += 1,
                Err(trouble) => table.trouble(&job.told(), &trouble),
            }
        }
    }
    table.print()
}

/// The languages whose clients are there. What is missing is told, or is an error where it must
/// not be.
fn shelves() -> Result<Vec<Shelf>, String> {
    let required = env::var_os(sdks::VARIABLE).is_some_and(|value| value == "required");
    let mut shelves = Vec::new();
    for language in Language::ALL {
        match shelf::shelf(language) {
            Ok(shelf) => shelves.push(shelf),
            Err(missing) if required => return Err(missing),
            Err(missing) => println!("skipped: {missing}"),
        }
    }
    Ok(shelves)
}
