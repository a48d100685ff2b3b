//! The settings of a check or repair, from command-line flags.

use foxwedge_core::{Profile, Rule, nearest_name, rules};
use foxwedge_local::{
    check_settings::{CheckSettings, shell_argument, shell_quote},
    input_format::InputFormat,
    output::{HelpfulError, clean, cut},
};

use crate::{cli::CheckArgs, project_file};

/// Builds the settings from the flags.
pub(crate) fn check_settings(args: &CheckArgs) -> Result<CheckSettings, HelpfulError> {
    let policy = args.repair.policy(args.unsafe_fixes);
    let (select, ignore) = (parse_rule_codes(&args.select)?, parse_rule_codes(&args.ignore)?);
    let mut settings = CheckSettings::of(args.format, policy)
        .with_profile(args.profile)
        .with_rules(select, ignore)
        .with_command(format_flags(args), format_targets(args));
    if let Some(project) = project_file::read_flags(args)? {
        settings = settings.with_requests(request_settings(args, &project)?);
    }
    // With explicit rules or a profile, tolerated findings are reported too.
    let skips_tolerated = !args.for_api && args.select.is_empty() && args.profile.is_none();
    Ok(if skips_tolerated {
        settings.skipping_tolerated(args.repair.spares_tail())
    } else {
        settings
    })
}

/// The settings for requests: the flags, and those of the project where no flag is given.
fn request_settings(args: &CheckArgs, project: &CheckArgs) -> Result<CheckSettings, HelpfulError> {
    let rules = |flag: &Vec<String>, default: &Vec<String>| {
        parse_rule_codes(if flag.is_empty() { default } else { flag })
    };
    let repair = args.repair.or(&project.repair);
    Ok(CheckSettings::of(None, repair.policy(args.unsafe_fixes))
        .with_profile(args.profile.or(project.profile))
        .with_rules(rules(&args.select, &project.select)?, rules(&args.ignore, &project.ignore)?))
}

/// The flags that affect a repair, as shell words.
fn format_flags(args: &CheckArgs) -> String {
    let mut words = Vec::new();
    let mut flag = |name: &str, value: Option<&str>| {
        words.extend(value.map(|value| format!("--{name} {} ", shell_quote(value))));
    };
    flag("profile", args.profile.map(Profile::name));
    flag("format", args.format.map(InputFormat::name));
    flag("policy", args.repair.policy.map(foxwedge_core::UnansweredPolicy::name));
    flag(
        "orphans",
        args.repair.orphans.map(|orphans| match orphans {
            foxwedge_core::OrphanPolicy::Quote => "quote",
            foxwedge_core::OrphanPolicy::Drop => "drop",
        }),
    );
    flag(
        "tail",
        args.repair.tail.map(|tail| match tail {
            foxwedge_core::TailPolicy::Dead => "dead",
            foxwedge_core::TailPolicy::Pending => "pending",
        }),
    );
    if args.for_api {
        words.push("--for-api ".to_owned());
    }
    let mut flag = |name: &str, value: Option<&str>| {
        words.extend(value.map(|value| format!("--{name} {} ", shell_quote(value))));
    };
    let (select, ignore) = (args.select.join(","), args.ignore.join(","));
    flag("select", Some(select.as_str()).filter(|rules| !rules.is_empty()));
    flag("ignore", Some(ignore.as_str()).filter(|rules| !rules.is_empty()));
    words.concat()
}

fn format_targets(args: &CheckArgs) -> String {
    if args.targets.len() > 3 {
        return "TARGET…".to_owned();
    }
    let arguments: Vec<String> =
        args.targets.iter().map(|target| shell_argument(&target.to_string_lossy())).collect();
    match arguments.is_empty() {
        true if args.all || !args.agent.is_empty() => "SESSION…".to_owned(),
        true => "-".to_owned(),
        false => arguments.join(" "),
    }
}

/// Finds a rule by code or name, or all rules of a family.
pub(crate) fn find_rules(typed: &str) -> Result<Vec<&'static Rule>, HelpfulError> {
    let codes = parse_rule_codes(&[typed.to_owned()])?;
    let found: Vec<&Rule> =
        rules::ALL.iter().copied().filter(|rule| codes.contains(&rule.code)).collect();
    if found.is_empty() { Err(unknown_rule_error(typed)) } else { Ok(found) }
}

fn parse_rule_codes(typed: &[String]) -> Result<Vec<u16>, HelpfulError> {
    let mut codes = Vec::new();
    for word in typed.iter().map(|word| word.trim()).filter(|word| !word.is_empty()) {
        let before = codes.len();
        codes.extend(rules::find_rule(word).map(|rule| rule.code));
        if codes.len() == before {
            codes.extend(family_codes(word));
        }
        if codes.len() == before {
            return Err(unknown_rule_error(word));
        }
    }
    Ok(codes)
}

/// The codes of a family: `FW1`, `FW10`, `FW`, `ALL`.
fn family_codes(word: &str) -> impl Iterator<Item = u16> {
    let word = word.to_ascii_uppercase();
    let word = if word == "ALL" { "FW".to_owned() } else { word };
    rules::ALL
        .iter()
        .filter(move |rule| word.starts_with("FW") && rule.label().starts_with(&word))
        .map(|rule| rule.code)
}

fn unknown_rule_error(typed: &str) -> HelpfulError {
    let labels: Vec<String> = rules::ALL.iter().map(|rule| rule.label()).collect();
    let names = rules::ALL.iter().map(|rule| rule.name).chain(labels.iter().map(String::as_str));
    let shown = cut(&clean(typed), 60);
    let error = HelpfulError::new(format!("there is no rule `{shown}`"));
    match nearest_name(typed, names).and_then(rules::find_rule) {
        Some(rule) => error.help(format!(
            "did you mean {} {}? `foxwedge rules` lists all of them",
            rule.label(),
            rule.name
        )),
        None => error.help(
            "a rule is a code (FW101), a family (FW1) or a name (unanswered-call); \
             `foxwedge rules` lists all of them",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_found_by_code_family_and_name() {
        let of = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            parse_rule_codes(&words).map_err(|error| error.to_string())
        };
        assert_eq!(of(&["FW101", "orphan-result"]), Ok(vec![101, 102]));
        assert_eq!(of(&["fw10"]).map(|codes| codes.iter().all(|code| code / 10 == 10)), Ok(true));
        assert_eq!(of(&["ALL"]).map(|codes| codes.len()), Ok(rules::ALL.len()));
        assert_eq!(of(&["FW999"]), Err("there is no rule `FW999`".to_owned()));
        assert_eq!(of(&["1"]), Err("there is no rule `1`".to_owned()));
        assert_eq!(of(&[""]), Ok(vec![]));
    }
}
