//! Combines flags, environment, file and defaults into one set of settings.

use std::collections::HashMap;
use std::path::Path;

use crate::choices::AuthMode;
use crate::declaration::declarations;
use crate::declared::Settings;
use crate::error::{Problem, SettingsError};
use crate::given::{Given, Origin};
use crate::kind::Kind;
use crate::named::Collected;
use crate::orders::{ORDERS, Order};
use crate::{environment, file, flags, table};

impl Settings {
    /// Flags win over the environment, the environment over the file, the file over the defaults.
    /// Overridden values have to be valid too.
    pub fn resolve(
        flags: &[(String, String)],
        environment: impl Iterator<Item = (String, String)>,
        file: Option<(&Path, String)>,
    ) -> Result<Self, SettingsError> {
        let mut problems = Vec::new();
        let mut given = defaults();
        let mut named = Collected::default();
        if let Some((path, text)) = file {
            let found = file::read(path, &text, &mut problems);
            given.extend(named.add(found, &mut problems));
        }
        let found = environment::read(environment, &mut problems);
        given.extend(named.add(found, &mut problems));
        given.extend(flags::read(flags, &mut problems));
        Reader::new(given, problems).finish(named)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self::resolve(&[], std::iter::empty(), None).expect("the declared defaults are valid")
    }
}

fn defaults() -> Vec<Given> {
    declarations()
        .iter()
        .map(|declaration| Given {
            key: declaration.key,
            value: declaration.default.to_owned(),
            origin: Origin::Default,
        })
        .collect()
}

/// Parses what was given into typed values and collects the problems.
pub(crate) struct Reader {
    /// In order of precedence, lowest first.
    given: Vec<Given>,
    problems: Vec<Problem>,
    /// Numbers, sizes and durations that were valid, to compare them with each other.
    amounts: HashMap<&'static str, u64>,
}

impl Reader {
    fn new(given: Vec<Given>, problems: Vec<Problem>) -> Self {
        Self { given, problems, amounts: HashMap::new() }
    }

    fn finish(mut self, named: Collected) -> Result<Settings, SettingsError> {
        let settings = Settings::read(&mut self);
        self.check_orders();
        let contradiction = settings.as_ref().and_then(|it| it.contradiction(&self));
        self.problems.extend(contradiction);
        if let Some(settings) = &settings {
            self.problems.extend(named.overpromised(&settings.starvation.rule()));
            let modes = self.chosen("auth.modes").cloned();
            let has_mtls = settings.auth.has(AuthMode::Mtls);
            self.problems.extend(named.unused_certificates(has_mtls, modes));
        }
        let problems = self.problems;
        match settings {
            Some(mut settings) if problems.is_empty() => {
                settings.rows = table::rows(&self.given);
                named.put_into(&mut settings);
                Ok(settings)
            }
            _ => Err(SettingsError { problems }),
        }
    }

    pub(crate) fn read<T: 'static>(&mut self, key: &'static str, kind: &Kind<T>) -> Option<T> {
        let mut chosen = None;
        for given in self.given.iter().filter(|given| given.key == key) {
            chosen = match given.origin {
                Origin::Default => kind.parse_default(&given.value),
                _ => kind.parse(&given.value),
            };
            if chosen.is_none() {
                self.problems
                    .push(Problem::BadValue { given: given.clone(), expected: kind.expected() });
            }
        }
        if let Some(amount) = kind.amount.zip(chosen.as_ref()).map(|(amount, value)| amount(value))
        {
            self.amounts.insert(key, amount);
        }
        chosen
    }

    fn check_orders(&mut self) {
        let broken = ORDERS.iter().filter_map(|order| self.broken(order));
        let broken: Vec<Problem> = broken.collect();
        self.problems.extend(broken);
    }

    /// `None` also if one of the two is invalid: that is reported already.
    fn broken(&self, order: &Order) -> Option<Problem> {
        let lesser = self.amounts.get(order.lesser)?;
        let greater = self.amounts.get(order.greater)?;
        let holds = lesser < greater || (order.may_be_equal && lesser == greater);
        if holds {
            return None;
        }
        Some(Problem::OutOfOrder {
            lesser: self.chosen(order.lesser)?.clone(),
            relation: order.relation(),
            greater: self.chosen(order.greater)?.clone(),
        })
    }

    pub(crate) fn chosen(&self, key: &str) -> Option<&Given> {
        self.given.iter().rfind(|given| given.key == key)
    }
}
