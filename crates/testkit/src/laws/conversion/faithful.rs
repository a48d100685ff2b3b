//! The laws for documents that their own provider accepts: everything keeps its place, ids are
//! replaced one to one, and the conversion back restores the original.

use std::collections::HashMap;

use foxwedge_core::{Format, Profile, Strategy, TailPolicy};
use foxwedge_formats::{
    convert,
    model::{IdentifierReplacement, LossKind},
};
use serde_json::Value;

use super::{
    super::judge::{LawVerdict, breach},
    excuses::LossAllowance,
    judge::ConversionTrial,
    tokens,
};
use crate::{Beat, DocumentGist, GistCall, GistFacet, declared, gist, violations};

/// Judges a valid document.
pub(super) fn judge(trial: &ConversionTrial<'_>, after: &Value) -> LawVerdict {
    // A lone surrogate is always repaired first.
    if trial.converted.source_edits.iter().any(|edit| edit.code != 313) {
        return breach("untouched", format!("mended: {:?}", trial.converted.source_edits));
    }
    let before = trial.said();
    let mut now = gist(trial.to.name(), after);
    names(trial, &before, &mut now)?;
    tools(trial, after)?;
    if trial.joins_refusals(trial.converted) || trial.closes_turn() || pairs_anew(trial) {
        return Ok(());
    }
    told(trial, &before, &now)?;
    let losses = &trial.converted.losses;
    let joined = trial.converted.target_edits.iter().any(|edit| edit.code == 402);
    if let Some(absent) = tokens::unnoted(&trial.before, after, losses).filter(|_| !joined) {
        return breach("conserving", shown(trial, &absent));
    }
    ids(trial, &before, &now)?;
    if trial.to == trial.case.wire {
        same(trial, after)?;
    }
    there_and_back(trial, &before)
}

/// Whether calls and results that a repair leaves alone beside something unknown were repaired once
/// that was gone. The edits report it.
fn pairs_anew(trial: &ConversionTrial<'_>) -> bool {
    let lost = trial.converted.losses.iter().any(|loss| loss.kind == LossKind::Unknown);
    let mut edits = trial.converted.target_edits.iter();
    lost && edits.any(|edit| matches!(edit.code, 101..=104))
}

/// Everything is present in order and under its role, or is reported as lost.
fn told(trial: &ConversionTrial<'_>, before: &DocumentGist, now: &DocumentGist) -> LawVerdict {
    let excuses = LossAllowance::of(&[trial.converted]);
    let bare = |gist: &DocumentGist| gist.clone().without(GistFacet::Ids);
    match excuses.unexcused(&bare(before), &bare(now)) {
        None => Ok(()),
        Some(what) => breach("conserving", shown(trial, &what)),
    }
}

fn shown(trial: &ConversionTrial<'_>, what: &str) -> String {
    let converted = trial.converted;
    let (losses, behind) = (&converted.losses, &converted.target_edits);
    format!("{what}\nlosses {losses:?}\nbehind {behind:?}\n{}", converted.body)
}

/// Every renamed tool is reported, and different tools keep different names. Restores the old names
/// in `now`.
fn names(trial: &ConversionTrial<'_>, before: &DocumentGist, now: &mut DocumentGist) -> LawVerdict {
    let renamed = &trial.converted.renamed_tools;
    let twins = |one: &IdentifierReplacement| {
        let collides = |call: &GistCall| call.name == one.new && call.name != one.old;
        before.calls().any(collides) || renamed.iter().any(|it| it.new == one.new && it != one)
    };
    if let Some(twin) = renamed.iter().find(|one| twins(one)) {
        return breach("names", shown(trial, &format!("{twin:?} is somebody else's, too")));
    }
    called_again(now, renamed);
    Ok(())
}

/// Every tool is declared under the name that its calls use, or is reported as lost.
fn tools(trial: &ConversionTrial<'_>, after: &Value) -> LawVerdict {
    let renamed = &trial.converted.renamed_tools;
    let new = |old: &String| renamed.iter().find(|it| it.old == *old).map(|it| it.new.clone());
    let now = declared(trial.to.name(), after);
    let mut absent = declared(trial.case.wire.name(), &trial.before);
    absent.retain(|old| !now.contains(&new(old).unwrap_or_else(|| old.clone())));
    let reported = trial.converted.losses.iter().filter(|loss| loss.kind == LossKind::Tool).count();
    match absent.len() > reported {
        true => breach("names", shown(trial, &format!("{absent:?} are not declared any more"))),
        false => Ok(()),
    }
}

/// Restores the old names of tools.
fn called_again(gist: &mut DocumentGist, renamed: &[IdentifierReplacement]) {
    for call in calls(gist) {
        if let Some(old) = renamed.iter().find(|it| it.new == call.name) {
            call.name.clone_from(&old.old);
        }
    }
}

fn calls(gist: &mut DocumentGist) -> impl Iterator<Item = &mut GistCall> {
    gist.beats.iter_mut().filter_map(|beat| match beat {
        Beat::Call(call) => Some(call),
        Beat::Text { .. } | Beat::Media { .. } | Beat::Other(_) => None,
    })
}

/// Different calls keep different ids, a result has the id of its call, and every replacement is
/// reported. (The oracle has already judged whether the ids are legal.)
fn ids(trial: &ConversionTrial<'_>, before: &DocumentGist, now: &DocumentGist) -> LawVerdict {
    let mut given: HashMap<&str, &str> = HashMap::new();
    let renamed = &trial.converted.renamed;
    for (old, new) in before.calls().zip(now.calls()) {
        let (was, is) = (old.id.as_deref().unwrap_or(""), new.id.as_deref().unwrap_or(""));
        if let Some(answer) = &new.answer
            && answer.id.as_deref().unwrap_or("") != is
            && old.answer.as_ref().is_none_or(|it| it.id == old.id)
        {
            return breach("ids", shown(trial, &format!("{new:?} has another id")));
        }
        let known = |it: &IdentifierReplacement| it.old == was && it.new == is;
        if was != is && !renamed.iter().any(known) {
            return breach("ids", shown(trial, &format!("`{was}` is `{is}`, not in {renamed:?}")));
        }
        let other = given.insert(is, was).filter(|other| !is.is_empty() && *other != was);
        if let Some(other) = other {
            return breach("ids", shown(trial, &format!("`{was}` and `{other}` are `{is}`")));
        }
    }
    // A result that got an id may have been dropped after that.
    let dropped = |it: &IdentifierReplacement| {
        let mut edits = trial.converted.target_edits.iter();
        edits.any(|edit| edit.strategy == Strategy::Drop && edit.ids.contains(&it.new))
    };
    let news = |it: &&IdentifierReplacement| {
        !now.calls().any(|call| call.id.as_deref() == Some(&it.new)) && !dropped(it)
    };
    match renamed.iter().find(news).filter(|_| now.orphans.is_empty()) {
        Some(lie) => breach("ids", shown(trial, &format!("{lie:?} is nobody's"))),
        None => Ok(()),
    }
}

/// A conversion into its own format leaves an accepted document unchanged.
fn same(trial: &ConversionTrial<'_>, after: &Value) -> LawVerdict {
    let (format, profile) = (trial.case.wire.name(), trial.case.profile.name());
    let pending = trial.case.policy.tail == TailPolicy::Pending;
    let lone = trial.source.contains(super::super::LONE);
    if lone || !violations(format, profile, pending, &trial.before).is_empty() {
        return Ok(());
    }
    let quiet = trial.converted.losses.is_empty() && trial.converted.renamed.is_empty();
    match *after == trial.before && quiet {
        true => Ok(()),
        false => breach("same", shown(trial, "it changed on the way into its own format")),
    }
}

/// The conversion back restores the original, except for reported losses.
fn there_and_back(trial: &ConversionTrial<'_>, before: &DocumentGist) -> LawVerdict {
    let format = trial.case.wire;
    let options = convert::ConversionOptions {
        profile: Some(Profile::for_format(format)),
        restored_ids: trial.converted.renamed.clone(),
        ..trial.options.clone()
    };
    let back = trial.again(&trial.converted.body, trial.to, format, &options)?;
    let Ok(document) = serde_json::from_str::<Value>(&back.body) else {
        return breach("there and back", format!("no JSON: {}", back.body));
    };
    let pending = trial.case.policy.tail == TailPolicy::Pending;
    let mut judged = violations(format.name(), format.name(), pending, &document);
    judged.retain(|violation| violation.code != 314);
    if !judged.is_empty() {
        return breach("there and back", format!("the oracle finds {judged:?}\n{}", back.body));
    }
    let mut now = gist(format.name(), &document);
    let before = &mut before.clone();
    nameless(before, &mut now, format, &trial.converted.renamed);
    called_again(&mut now, &back.renamed_tools);
    called_again(&mut now, &trial.converted.renamed_tools);
    // If no loss was reported, no difference is allowed.
    let excuses = LossAllowance::of(&[trial.converted, &back]);
    match excuses.unexcused(before, &now) {
        None => Ok(()),
        Some(what) => {
            let law = if excuses.is_empty() { "lossless" } else { "there and back" };
            let reports =
                [trial.converted, &back].map(|it| (&it.losses, &it.source_edits, &it.target_edits));
            let (there, back) = (&trial.converted.body, &back.body);
            breach(law, format!("{what}\n{reports:?}\nthere {there}\nback  {back}"))
        }
    }
}

/// A call that had no id keeps its new one, and so does a call whose id was ambiguous, or one that
/// its own provider refuses.
fn nameless(
    before: &mut DocumentGist,
    now: &mut DocumentGist,
    format: Format,
    renamed: &[IdentifierReplacement],
) {
    let refused = |id: &String| !Profile::for_format(format).id_rule().allows(id);
    let ids: Vec<Option<String>> = before.calls().map(|call| call.id.clone()).collect();
    let shared = |id: &String| ids.iter().filter(|it| it.as_ref() == Some(id)).count() > 1;
    for ((old, new), id) in calls(before).zip(calls(now)).zip(&ids) {
        let loose = id.as_ref().is_none_or(|id| shared(id) || refused(id));
        let was = id.as_deref().unwrap_or("");
        let got = |it: &IdentifierReplacement| it.old == was && Some(&it.new) == new.id.as_ref();
        if loose && renamed.iter().any(got) {
            (old.id, new.id) = (None, None);
        }
    }
}
