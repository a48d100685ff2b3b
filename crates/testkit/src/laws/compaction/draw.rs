//! Draws the history, the strategies and the limits of a case.

use foxwedge_core::{
    CheckOptions,
    compact::{
        AnswerTreatment, CompactionPace, ElisionPolicy, HistoryFraction, TokenLimits,
        ToolElisionRule,
    },
};
use foxwedge_formats::compact::{CompactionSettings, CompactionStage};
use serde_json::Value;

use super::{super::LawCase, SummarizerKind};
use crate::{Random, history, long, sound_history, spell_single_objects, spelled};

/// The settings of a case, relative to the size of the history.
#[derive(Clone, Debug)]
pub struct CompactionDraw {
    stages: Vec<CompactionStage>,
    budget: BudgetChoice,
    /// The goal, in percent of the limit.
    goal: u64,
    pace: CompactionPace,
    /// Positions in the history, in thousandths.
    pins: Vec<usize>,
    elision: ElisionPolicy,
    recent: Option<u64>,
    voice: u8,
}

#[derive(Clone, Copy, Debug)]
enum BudgetChoice {
    None,
    Exactly(u64),
    /// Thousandths of the tokens of the history.
    Share(u64),
}

impl CompactionDraw {
    /// Draws the settings of a seed.
    pub fn new(seed: u64) -> CompactionDraw {
        let mut random = Random::new(seed ^ 0xc0_0c_ac_7e_d0_00_00_00);
        let fraction = *random.pick(&[0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0]);
        let window = CompactionStage::Window(
            HistoryFraction::new(fraction).unwrap_or(HistoryFraction::HALF),
        );
        let (elide, budget) = (CompactionStage::Elide, CompactionStage::Budget);
        let (importance, summarize) = (CompactionStage::Importance, CompactionStage::Summarize);
        let lists = [
            vec![window],
            vec![budget],
            vec![elide],
            vec![importance],
            vec![summarize],
            vec![elide, budget],
            vec![elide, importance],
            vec![elide, budget, summarize],
            vec![window, summarize],
            vec![summarize, budget],
            vec![importance, elide, window],
            vec![summarize, summarize],
            vec![],
        ];
        let stages = random.pick(&lists).clone();
        let budget = match random.below(20) {
            0 | 1 => BudgetChoice::None,
            2 => BudgetChoice::Exactly(*random.pick(&[0, 1, 40, 200, u64::MAX])),
            _ => BudgetChoice::Share(50 + random.below(1_100) as u64),
        };
        let goal = *random.pick(&[100, 100, 100, 80, 50, 0, 150]);
        let pins = (0..random.below(4)).map(|_| random.below(1_200)).collect();
        let mut elision = ElisionPolicy::default();
        if random.chance(40) {
            elision.kept_tokens = *random.pick(&[0, 20, 160, 2_000]);
            elision.recent_units = random.below(5);
            let treatments = [
                AnswerTreatment::Keep,
                AnswerTreatment::Shrink,
                AnswerTreatment::Clear,
                AnswerTreatment::Any,
            ];
            let rule = |random: &mut Random, tool: &str| ToolElisionRule {
                tool: tool.to_owned(),
                treatment: *random.pick(&treatments),
            };
            elision.tools = vec![rule(&mut random, "read_*"), rule(&mut random, "bash")];
        }
        let recent = random.chance(30).then(|| random.below(400) as u64);
        let voice = random.below(10) as u8;
        let pace = if random.chance(25) {
            CompactionPace::Incremental
        } else {
            CompactionPace::WholeHistory
        };
        CompactionDraw { stages, budget, goal, pace, pins, elision, recent, voice }
    }

    /// The settings for a history with this many tokens and messages.
    pub fn settings(
        &self,
        options: CheckOptions,
        tokens: u64,
        messages: usize,
    ) -> CompactionSettings {
        let limit = match self.budget {
            BudgetChoice::None => None,
            BudgetChoice::Exactly(tokens) => Some(tokens),
            BudgetChoice::Share(share) => Some(tokens * share / 1_000),
        };
        let goal = |limit: u64| u64::try_from(u128::from(limit) * u128::from(self.goal) / 100);
        let limits = limit.map(|limit| {
            TokenLimits::new(limit, goal(limit).unwrap_or(u64::MAX)).with_pace(self.pace)
        });
        let pins = self.pins.iter().map(|place| place * messages / 1_000).collect();
        let mut settings = CompactionSettings::new(options, TokenLimits::exactly(0));
        settings.stages = self.stages.clone();
        settings.limits = limits;
        settings.pins = pins;
        settings.elision = self.elision.clone();
        settings.recent = self.recent;
        settings
    }

    /// The summarizer for a history with this many tokens.
    pub fn voice(&self, tokens: u64) -> SummarizerKind {
        match self.voice {
            0 => SummarizerKind::Empty,
            1 => SummarizerKind::Fails,
            2 => SummarizerKind::Longer(usize::try_from(tokens).unwrap_or(0) * 4 + 64),
            3 | 4 => SummarizerKind::Garbage,
            _ => SummarizerKind::Digest,
        }
    }
}

/// The document of a case: a history with some long tool results.
pub fn document(case: &LawCase) -> String {
    let mut random = Random::new(case.seed);
    let name = case.wire.name();
    if random.chance(6) {
        let mut value = long(name, case.size * 2, case.seed);
        for _ in 0..random.below(4) {
            if let Some(list) = value.as_array_mut() {
                list.remove(random.below(list.len()));
            }
        }
        return value.to_string();
    }
    let sound = random.chance(40);
    let mut value = match sound {
        true => sound_history(&mut random, name, case.size),
        false => history(&mut random, name, case.size),
    };
    lengthen(&mut random, &mut value);
    spell_single_objects(&mut random, name, &mut value);
    spelled(&mut random, &value)
}

/// Makes some of the tool results long.
fn lengthen(random: &mut Random, value: &mut Value) {
    match value {
        Value::String(text) if text.contains("result of ") => {
            if random.chance(40) {
                for line in 0..4 + random.below(60) {
                    text.push_str(&format!("\n{line} and \"so\" on, ünd so fort"));
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(|it| lengthen(random, it)),
        Value::Object(fields) => fields.values_mut().for_each(|it| lengthen(random, it)),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
