//! Names of tools that a provider does not take: replaced where they are declared, as in calls, and
//! brought back in answers.

use std::collections::HashMap;

use foxwedge_core::{Profile, legal_name};

use crate::canon::{Bit, Call, Choice, Outcome, Part, Renamed, Settings, Takes, Words};

/// Gives declared tools, and the choice among them, names that the provider takes.
pub(super) fn adapt(settings: &mut Settings<'_>, profile: Profile) -> Vec<Renamed> {
    let mut names = Vec::new();
    let mut adapt = |name: &mut Words<'_>| {
        let Some(new) = legal_name(profile, name).filter(|_| !name.is_empty()) else {
            return false;
        };
        names.push(Renamed { old: name.to_string(), new: new.clone() });
        *name = new.into();
        true
    };
    // What the provider runs itself goes by the provider's own name.
    for tool in settings.tools.iter_mut().filter(|tool| tool.takes != Takes::Own) {
        if adapt(&mut tool.name) {
            tool.raw = None;
        }
    }
    match &mut settings.choice {
        Some(Choice::One(name)) => {
            adapt(name);
        }
        Some(Choice::Among { names, .. }) => names.iter_mut().for_each(|name| {
            adapt(name);
        }),
        Some(Choice::Auto | Choice::Never | Choice::Any) | None => {}
    }
    names
}

/// Gives the calls of an answer the names that the request had.
pub(super) fn restore<'a>(outcome: Outcome<'a>, names: &[Renamed]) -> Outcome<'a> {
    let Outcome::Reply(mut reply) = outcome else { return outcome };
    if names.is_empty() {
        return Outcome::Reply(reply);
    }
    let names: HashMap<&str, &str> =
        names.iter().map(|name| (name.new.as_str(), name.old.as_str())).collect();
    for part in &mut reply.parts {
        let Bit::Call(call) = part.bit() else { continue };
        if let Some(old) = names.get(&*call.name) {
            *part = Part::new(Bit::Call(Call { name: (*old).to_owned().into(), ..call.clone() }));
        }
    }
    Outcome::Reply(reply)
}
