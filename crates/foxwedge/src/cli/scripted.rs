//! What can be typed about the scripted model.

use std::net::SocketAddr;

use clap::Args;

#[derive(Args, Debug)]
pub(crate) struct ScriptedArgs {
    /// Where to listen, at a loopback address; port 0 takes any that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4178")]
    pub(crate) listen: SocketAddr,
}
