//! `foxwedge serve`: the gateway. Reads the configuration, says what is wrong with it, or runs.

pub(crate) mod machine;
pub(crate) mod complaints;
pub(crate) mod token;
mod table;
mod listing;
mod greeting;
mod start;

use std::process::ExitCode;

use foxwedge_engine::config::{self, Entrance, Flags};

use self::machine::Machine;
use crate::{cli::ServeArgs, say};

/// Serves until somebody asks it to end.
pub(crate) fn run(args: ServeArgs) -> anyhow::Result<ExitCode> {
    let (check, print) = (args.check_config, args.print_config);
    let loaded = match config::read(&flags(args), &Machine) {
        Ok(loaded) => loaded,
        Err(refused) => return Ok(complaints::refused(&refused)),
    };
    if print {
        say::out(&listing::draw(&loaded))?;
        return Ok(ExitCode::SUCCESS);
    }
    if check {
        complaints::warn(&loaded.warnings);
        say::out(&table::draw(&loaded))?;
        return Ok(ExitCode::SUCCESS);
    }
    start::run(loaded)
}

fn flags(args: ServeArgs) -> Flags {
    Flags {
        config: args.config,
        listen: args.listen,
        store: args.store,
        upstream: args.upstream,
        mode: args.mode,
        record: args.record,
        content: args.content,
        log: args.log,
        token_file: args.token_file,
        entrance: if args.no_token { Entrance::Open } else { Entrance::Token },
    }
}
