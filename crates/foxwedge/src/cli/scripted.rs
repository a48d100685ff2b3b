//! Arguments of `foxwedge scripted`.

use std::net::SocketAddr;

use clap::Args;

#[derive(Args, Debug)]
pub(crate) struct ScriptedArgs {
    /// Loopback address to listen on; port 0 picks a free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4178")]
    pub(crate) listen: SocketAddr,
}
