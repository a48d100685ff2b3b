//! Live agents: processes that think, call the client's tools, wait for the answers over one HTTP
//! request after the other, and go on.
//!
//! The shell around `foxwedge_agent`: it starts processes, carries lines, looks at the time and
//! counts. What a line means, when a reply ends and what an answer belongs to is decided there.

mod lines;
mod litter;
mod process;
mod handle;
mod live;
mod pool;

use http::StatusCode;

use crate::{Fault, Kind};

pub use handle::Question;
pub(crate) use handle::{Asking, Handle, Presence};
pub use pool::Counts;
pub(crate) use pool::{Birth, Pool, Seat, SeatOwner};

/// A fault of a conversation with an agent, as every other.
pub(crate) fn fault(fault: foxwedge_agent::Fault) -> Fault {
    let kind = match fault.status {
        401 => Kind::Credentials,
        403 => Kind::Permission,
        404 => Kind::NotFound,
        409 => Kind::Conflict,
        413 => Kind::TooLarge,
        429 => Kind::RateLimit,
        400..500 => Kind::Request,
        503 | 529 => Kind::Unavailable,
        504 => Kind::Timeout,
        _ => Kind::Upstream,
    };
    let status = StatusCode::from_u16(fault.status).ok().filter(|it| it.as_u16() >= 400);
    Fault { status, ..Fault::new(kind, fault.code, fault.message) }
}
