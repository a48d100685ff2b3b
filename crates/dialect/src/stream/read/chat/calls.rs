//! Chat's calls, put together from fragments.
//!
//! The format numbers them, and servers take that lightly: they leave the number out, give every
//! call the same one, repeat the id with every fragment, or name the tool late.

use std::collections::HashMap;

use foxwedge_core::Family;

use crate::{
    canon::{Lost, Words},
    json::{Object, Scan, Trouble},
    stream::{
        event::Opened,
        read::{
            fields::{arguments, get, index, object, said, words},
            tell::Tell,
        },
    },
};

/// The most that is kept of the arguments of a call that has no name yet.
const HELD: usize = 1 << 20;

/// A piece of a call.
pub(super) struct Fragment<'f> {
    place: Place,
    id: Option<Words<'f>>,
    name: Option<Words<'f>>,
    family: Family,
    arguments: Words<'f>,
    signature: Option<Words<'f>>,
}

/// What tells which call a fragment belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Index(u64),
    Nowhere,
    /// The older form has one call only.
    Older,
}

impl<'f> Fragment<'f> {
    pub(super) fn read(call: &Object<'_, 'f>) -> Scan<Fragment<'f>> {
        let custom = object(call, "custom")?;
        let family = if custom.is_some() { Family::Custom } else { Family::Function };
        let tool = match custom {
            None => object(call, "function")?,
            custom => custom,
        };
        let google = match object(call, "extra_content")? {
            Some(extra) => object(&extra, "google")?,
            None => None,
        };
        let mut fragment = Fragment {
            place: index(call, "index")?.map_or(Place::Nowhere, Place::Index),
            id: said(call, "id")?,
            name: None,
            family,
            arguments: Words::default(),
            signature: match google {
                Some(google) => said(&google, "thought_signature")?,
                None => None,
            },
        };
        if let Some(tool) = tool {
            fragment.name = said(&tool, "name")?;
            fragment.arguments = match family {
                Family::Custom => words(&tool, "input")?.unwrap_or_default(),
                _ => get(&tool, "arguments").map(arguments).unwrap_or_default(),
            };
        }
        Ok(fragment)
    }

    /// A fragment in the older form, which has no ids.
    pub(super) fn older(function: &Object<'_, 'f>) -> Scan<Fragment<'f>> {
        Ok(Fragment {
            place: Place::Older,
            id: None,
            name: said(function, "name")?,
            family: Family::Function,
            arguments: get(function, "arguments").map(arguments).unwrap_or_default(),
            signature: None,
        })
    }

    /// Whether it says which call it is, and not only how one goes on.
    pub(super) fn begins(&self) -> bool {
        self.id.is_some() || self.name.is_some()
    }
}

/// The calls of an answer.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    /// The newest call of each number.
    newest: HashMap<u64, usize>,
}

#[derive(Debug)]
struct Call {
    place: Place,
    id: Option<String>,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Nobody knows its name yet; what came is kept.
    Nameless { family: Family, arguments: String, signature: Option<String> },
    /// It was told.
    Open { block: u32, name: String, said: bool },
}

impl Calls {
    /// Takes a fragment.
    pub(super) fn take(&mut self, fragment: Fragment<'_>, tell: &mut Tell<'_>) -> Scan<()> {
        let at = self.find(&fragment).unwrap_or(self.calls.len());
        if at == self.calls.len() {
            let (place, family) = (fragment.place, fragment.family);
            let state = State::Nameless { family, arguments: String::new(), signature: None };
            self.calls.push(Call { place, id: None, state });
            if let Place::Index(index) = place {
                self.newest.insert(index, at);
            }
        }
        match self.calls.get_mut(at) {
            Some(call) => call.take(fragment, tell),
            None => Ok(()),
        }
    }

    /// Which call a fragment belongs to; `None` if it is a new one.
    fn find(&self, fragment: &Fragment<'_>) -> Option<usize> {
        let known = |id: &Words<'_>| {
            self.calls.iter().rposition(|call| call.id.as_deref().is_some_and(|own| *id == *own))
        };
        match fragment.place {
            Place::Index(index) => {
                let at = *self.newest.get(&index)?;
                (!self.calls.get(at)?.is_other(fragment)).then_some(at)
            }
            Place::Older => {
                let at = self.calls.iter().rposition(|call| call.place == fragment.place)?;
                (!self.calls.get(at)?.is_other(fragment)).then_some(at)
            }
            Place::Nowhere => match (&fragment.id, &fragment.name) {
                (Some(id), _) => known(id).or_else(|| {
                    let last = self.calls.len().checked_sub(1)?;
                    // The id of a call that had none so far.
                    let call = self.calls.get(last)?;
                    (call.id.is_none() && call.is_nameless()).then_some(last)
                }),
                (None, Some(_)) => {
                    let last = self.calls.len().checked_sub(1)?;
                    self.calls.get(last)?.is_nameless().then_some(last)
                }
                (None, None) => self.calls.len().checked_sub(1),
            },
        }
    }

    /// There are no more calls. Whether they are whole is for the reason of the stop to say: nobody
    /// closes them here.
    pub(super) fn end(&mut self, tell: &mut Tell<'_>) {
        self.newest.clear();
        for _ in self.calls.drain(..).filter(Call::is_nameless) {
            tell.skip(Lost::Unknown, "a call without a name was left out");
        }
    }
}

impl Call {
    fn is_nameless(&self) -> bool {
        matches!(self.state, State::Nameless { .. })
    }

    /// Whether a fragment under the same number is another call all the same: it has a name, and
    /// an id that is not this one's; or no id and another name, or arguments from the beginning.
    fn is_other(&self, fragment: &Fragment<'_>) -> bool {
        let State::Open { name, said, .. } = &self.state else { return false };
        let Some(named) = &fragment.name else { return false };
        match (&self.id, &fragment.id) {
            (Some(own), Some(id)) => *id != **own,
            (None, Some(_)) | (Some(_), None) => *named != **name,
            (None, None) => *named != **name || *said && fragment.arguments.starts_with('{'),
        }
    }

    fn take(&mut self, fragment: Fragment<'_>, tell: &mut Tell<'_>) -> Scan<()> {
        if self.id.is_none() {
            self.id = fragment.id.map(Words::into_owned);
        }
        match &mut self.state {
            State::Open { block, said, .. } => {
                *said |= !fragment.arguments.is_empty();
                tell.text(*block, fragment.arguments);
                if fragment.signature.is_some() {
                    tell.skip_once(Lost::Signature, "late signature", || {
                        "a signature that came after its call had begun was left out".to_owned()
                    });
                }
            }
            State::Nameless { family, arguments, signature } => {
                if fragment.family == Family::Custom {
                    *family = Family::Custom;
                }
                let held = signature.take().map(Words::from);
                let seal = fragment.signature.or(held);
                let Some(name) = fragment.name else {
                    *signature = seal.map(Words::into_owned);
                    arguments.push_str(&fragment.arguments);
                    if arguments.len() > HELD {
                        return Err(Trouble::new(0, "a call goes on and on without a name"));
                    }
                    return Ok(());
                };
                let block = tell.open(Opened::Call {
                    id: self.id.as_deref().map(Words::from),
                    name: name.clone(),
                    family: *family,
                    signature: seal,
                });
                let said = !arguments.is_empty() || !fragment.arguments.is_empty();
                tell.text(block, std::mem::take(arguments).into());
                tell.text(block, fragment.arguments);
                self.state = State::Open { block, name: name.into_owned(), said };
            }
        }
        Ok(())
    }
}
