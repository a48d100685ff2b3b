//! Runs the gateway from start to shutdown.

use std::{io, net::SocketAddr, process::ExitCode, sync::Arc};

use anyhow::Context;
use foxwedge_gateway::{
    ConfigReloader, DrainReport, GatewayEngine, GatewayServer,
    config::{ConfigFlags, GatewayConfig, LoadedConfig},
};
use tokio::{net::TcpListener, sync::oneshot};

use super::{
    reload, startup_messages,
    token::{self, TokenCreation},
};
use foxwedge_local::{
    console::LocalSessions, output::HelpfulError, runs, signals::ProcessSignals,
    user_folders::UserFolders,
};

/// How the gateway stopped.
enum ServeEnd {
    /// All open requests ended or were cut off.
    Drained(DrainReport),
    /// A second signal came during the drain.
    Forced,
}

/// Opens the store, listens, and serves.
pub(super) fn run(mut loaded: LoadedConfig, flags: ConfigFlags) -> anyhow::Result<ExitCode> {
    let token_creation = token::ensure_token(&mut loaded)?;
    // A panic message may contain conversation content, so only its location is printed.
    std::panic::set_hook(Box::new(|panic| match panic.location() {
        Some(at) => eprintln!("error: internal error at {}:{}", at.file(), at.line()),
        None => eprintln!("error: internal error"),
    }));
    raise_file_limit();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.context("cannot start the worker threads")?;
    let log = loaded.config.telemetry.log.for_stderr();
    let end = runtime.block_on(serve(loaded, flags, token_creation));
    // Do not wait for tasks that hang: their runs are closed at the next start.
    runtime.shutdown_background();
    match end? {
        ServeEnd::Drained(DrainReport { finished, cut }) => {
            startup_messages::report_stopped(log, finished, cut);
            Ok(ExitCode::SUCCESS)
        }
        ServeEnd::Forced => Ok(ExitCode::from(130)),
    }
}

/// Allows as many open files as the system lets this user have. Every connection is one, and the usual
/// limit of 1,024 is below that of connections.
#[cfg(unix)]
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some() && limit.current != limit.maximum {
        // Without a higher limit, the gateway serves fewer connections.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    }
}

#[cfg(not(unix))]
fn raise_file_limit() {}

async fn serve(
    loaded: LoadedConfig,
    flags: ConfigFlags,
    token_creation: TokenCreation,
) -> anyhow::Result<ServeEnd> {
    let mut signals = ProcessSignals::listen().context("cannot listen for signals")?;
    startup_messages::report_warnings(&loaded);
    let config = Arc::new(loaded.config.clone());
    let log = config.telemetry.log.for_stderr();
    // Listen first: without a listener the store is not touched.
    let (listener, address) = listen(&config).await?;
    let store = runs::connect(config.store.clone()).await?;
    startup_messages::report_closed_runs(log, store.sweep().await?.len());
    let engine = GatewayEngine::open_as(
        runs::current_owner(),
        Arc::clone(&config),
        Arc::clone(&store.store),
    )
    .await?;
    startup_messages::report_ready(&loaded, address, &store.url.to_string(), token_creation);
    let (stop, stopped) = oneshot::channel::<()>();
    let stopped = async {
        // A message and a dropped sender both mean stop.
        let _ = stopped.await;
    };
    let reloader = ConfigReloader::new(engine.clone(), loaded);
    let gateway = GatewayServer::new(Arc::clone(&config), engine, store.store);
    let gateway = match config.console.session_files {
        true => gateway.local_sessions(Arc::new(LocalSessions::new(UserFolders::Environment))),
        false => gateway,
    };
    let served = gateway.serve(listener, stopped);
    tokio::pin!(served);
    tokio::select! {
        served = &mut served => return Ok(ServeEnd::Drained(served?)),
        () = reload::watch(reloader, flags, log) => {}
        () = signals.next() => {}
    }
    startup_messages::report_draining(log, config.timeouts.shutdown.as_secs());
    drop(stop);
    tokio::select! {
        served = &mut served => Ok(ServeEnd::Drained(served?)),
        () = signals.next() => Ok(ServeEnd::Forced),
    }
}

async fn listen(config: &GatewayConfig) -> anyhow::Result<(TcpListener, SocketAddr)> {
    let address = config.listen;
    let bind_error = |error: io::Error| {
        let help = match error.kind() {
            io::ErrorKind::AddrInUse => {
                "the address is already in use; choose another port: `--listen 127.0.0.1:4178`"
            }
            io::ErrorKind::PermissionDenied => "ports below 1024 need administrator rights",
            _ => "`--listen 127.0.0.1:4177` works on every machine",
        };
        HelpfulError::new(format!("cannot listen on {address}: {error}")).help(help)
    };
    let listener = TcpListener::bind(address).await.map_err(bind_error)?;
    let address = listener.local_addr().context("cannot read the listen address")?;
    Ok((listener, address))
}
