//! `foxwedge serve`: reads the configuration, reports its errors, or runs the gateway.

pub(crate) mod config_errors;
pub(crate) mod token;
mod config_summary;
mod config_listing;
mod startup_messages;
mod reload;
mod start;

use std::process::ExitCode;

use foxwedge_gateway::config::{self, ConfigFlags, LocalEnvironment, TokenRequirement};

use crate::cli::ServeArgs;
use foxwedge_local::output;
use foxwedge_upstream::SCRIPTED_NAME;

/// Serves until a signal stops it.
pub(crate) fn run(args: ServeArgs) -> anyhow::Result<ExitCode> {
    let (check, print) = (args.check_config, args.print_config);
    let flags = flags(args);
    let loaded = match config::read(&flags, &LocalEnvironment) {
        Ok(loaded) => loaded,
        Err(error) => return Ok(config_errors::report_refused(&error)),
    };
    if print {
        output::write_stdout(&config_listing::draw(&loaded))?;
        return Ok(ExitCode::SUCCESS);
    }
    if check {
        config_errors::report_warnings(&loaded.warnings);
        output::write_stdout(&config_summary::draw(&loaded))?;
        return Ok(ExitCode::SUCCESS);
    }
    start::run(loaded, flags)
}

fn flags(args: ServeArgs) -> ConfigFlags {
    ConfigFlags {
        config: args.config,
        listen: args.listen,
        store: args.store,
        upstream: args.upstream.or_else(|| args.demo.then(|| SCRIPTED_NAME.to_owned())),
        mode: args.mode,
        store_runs: args.store_runs,
        store_content: args.store_content,
        former_record: args.record,
        former_content: args.content,
        log: args.log,
        token_file: args.token_file,
        token_requirement: if args.no_token {
            TokenRequirement::NotRequired
        } else {
            TokenRequirement::Required
        },
    }
}
