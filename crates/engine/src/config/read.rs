//! A whole configuration, from all layers.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    Block, Complaint, Config, Exposure, Flags, Origin, Refused, Scope, Token, Weight, World,
    access::access,
    desk::{Desk, Part, told},
    document::Document,
    routes::routes,
    sections,
    upstreams::upstreams,
    world,
};
use crate::Secret;

/// A configuration, and what is to be told about it.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// What holds.
    pub config: Config,
    /// Whether the door has a lock yet.
    pub door: Door,
    /// The file that was read.
    pub file: Option<PathBuf>,
    /// Every value and who set it.
    pub blocks: Vec<Block>,
    /// What somebody should know.
    pub warnings: Vec<Complaint>,
}

/// Whether the door has a lock yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Door {
    /// There are tokens.
    Ready,
    /// There is none yet: one has to be made, and kept in that file.
    Make(PathBuf),
    /// There is none, and that is wished.
    Open,
}

impl Loaded {
    /// Takes the token that was made: the operator's own, which may see everything.
    pub fn lock(&mut self, secret: Secret) {
        let token = Token { owner: "local".into(), secret, scope: Scope::Admin };
        self.config.access.tokens.push(token);
        self.door = Door::Ready;
    }
}

/// Reads the file, the variables and the flags, each stronger than the one before.
///
/// # Errors
/// If anything stands in the way: all of it, not only the first.
pub fn read(flags: &Flags, world: &dyn World) -> Result<Loaded, Refused> {
    let mut desk = Desk::new(world, flags);
    let found = open(&mut desk);
    let path = found.as_ref().map(|(path, _, _)| path.clone());
    desk.folder = path.as_deref().and_then(Path::parent).map(Path::to_owned);
    let document = found.as_ref().and_then(|(path, text, _)| parse(&mut desk, path, text));
    let mut root = Part::new("", String::new(), document.as_ref().map(Document::root));
    let loaded = all(&mut desk, &mut root);
    // What stands before all headers comes first.
    let at = desk.blocks.len();
    desk.close(root);
    if let Some(first) = desk.blocks.get_mut(..=at) {
        first.rotate_right(1);
    }
    if let Some((path, _, exposure)) = &found {
        watch(&mut desk, path, *exposure);
    }
    let Desk { mut complaints, blocks, .. } = desk;
    complaints.sort_by(|one, two| one.origin.cmp(&two.origin));
    if complaints.iter().any(|complaint| complaint.weight == Weight::Error) {
        return Err(Refused { complaints });
    }
    let (config, door) = loaded;
    Ok(Loaded { config, door, file: path, blocks, warnings: complaints })
}

fn all(desk: &mut Desk<'_>, root: &mut Part<'_>) -> (Config, Door) {
    let listen = sections::listen(desk, root);
    let store = sections::store(desk, root);
    let (access, door) = access(desk, root, &listen);
    let limits = sections::limits(desk, root);
    let times = sections::times(desk, root);
    let guard = sections::guard(desk, root);
    let sessions = sections::sessions(desk, root);
    let record = sections::record(desk, root);
    let telemetry = sections::telemetry(desk, root);
    let console = sections::console(desk, root);
    let all = upstreams(desk, root);
    let routes = routes(desk, root, &all, guard);
    let upstreams = all.made.iter().map(|made| Arc::clone(&made.upstream)).collect();
    let listen = listen.value;
    let config = Config {
        listen,
        access,
        store,
        limits,
        times,
        guard,
        sessions,
        record,
        telemetry,
        console,
        upstreams,
        routes,
    };
    (config, door)
}

/// The file, if there is one.
fn open(desk: &mut Desk<'_>) -> Option<(PathBuf, String, Exposure)> {
    let (path, origin) = match world::file(desk.flags, desk.world) {
        Ok(found) => found?,
        Err(origin) => {
            let message = "the path depends on the current folder";
            desk.refuse(&origin, "", message, "name the file by its whole path");
            return None;
        }
    };
    match desk.world.file(&path) {
        Ok(found) => Some((path, found.text, found.exposure)),
        // The usual file does not have to be there.
        Err(error) if origin == Origin::Default && error.kind() == std::io::ErrorKind::NotFound => {
            None
        }
        Err(error) => {
            let message = format!("`{}` cannot be read: {error}", told(&path));
            desk.refuse(&origin, "", message, "");
            None
        }
    }
}

fn parse<'t>(desk: &mut Desk<'_>, path: &Path, text: &'t str) -> Option<Document<'t>> {
    match Document::parse(told(path), text) {
        Ok(document) => Some(document),
        Err(torn) => {
            for torn in torn {
                desk.refuse(&torn.origin, "", torn.message, "the file has to be TOML");
            }
            None
        }
    }
}

/// Others who may change the file may send our keys elsewhere; others who may read it have those
/// that stand in it.
fn watch(desk: &mut Desk<'_>, path: &Path, exposure: Exposure) {
    let shown = told(path);
    let whole = Origin::File { path: Arc::clone(&shown), line: 0 };
    let help = format!("`chmod 600 {shown}`");
    match (exposure, desk.plain.clone()) {
        (Exposure::Private, _) | (Exposure::Readable, None) => {}
        (Exposure::Readable, Some(origin)) => {
            desk.warn(&origin, "", "others may read the file, and a secret stands in it", help);
        }
        (Exposure::Writable, _) => {
            desk.warn(&whole, "", "others may change the file", help);
        }
    }
}
