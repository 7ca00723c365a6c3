use std::collections::HashSet;
use std::time::Duration;

use rota_model::Durability;

use super::Sources;
use crate::named::Table;
use crate::orders::ORDERS;
use crate::{LogFormat, LogLevel, Settings, declarations};

#[test]
fn defaults_are_valid_and_typed() {
    let settings = Settings::default();
    assert_eq!(settings.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(settings.data.to_str(), Some("./rota-data"));
    assert_eq!(settings.durability, Durability::Fsync);
    assert_eq!(settings.log.format, LogFormat::Text);
    assert_eq!(settings.log.level, LogLevel::Info);
    assert_eq!(settings.limits.body_bytes, 16 << 20);
    assert_eq!(settings.jobs.max_schedule, Duration::from_secs(36_500 * 86_400));
    assert_eq!(settings.retention.completed, Some(Duration::from_secs(7 * 86_400)));
    assert!(!settings.testing.directives);
}

#[test]
fn names_follow_from_the_key() {
    let body_bytes =
        declarations().iter().find(|declaration| declaration.key == "limits.body_bytes").unwrap();
    assert_eq!(body_bytes.environment, "ROTA_LIMITS_BODY_BYTES");
    assert_eq!(body_bytes.flag, "--limits-body-bytes");
}

#[test]
fn no_two_settings_share_a_name() {
    let count = declarations().len();
    let keys: HashSet<_> = declarations().iter().map(|it| it.key).collect();
    let variables: HashSet<_> = declarations().iter().map(|it| &it.environment).collect();
    let flags: HashSet<_> = declarations().iter().map(|it| &it.flag).collect();
    assert_eq!((keys.len(), variables.len(), flags.len()), (count, count, count));
    for taken in ["ROTA_CONFIG", "ROTA_URL", "ROTA_LOG"] {
        assert!(!variables.contains(&taken.to_owned()), "{taken} is no setting");
    }
    for table in Table::ALL {
        assert!(!variables.contains(&table.environment()), "{table:?} is no single setting");
        assert!(!keys.iter().any(|key| key.split('.').next() == Some(table.key())), "{table:?}");
    }
}

#[test]
fn help_fits_a_table_cell() {
    for declaration in declarations() {
        assert!(declaration.help.ends_with('.'), "{}", declaration.key);
        assert!(!declaration.help.contains(['\n', '|']), "{}", declaration.key);
    }
}

#[test]
fn orders_name_settings_that_exist() {
    let known = |key| declarations().iter().any(|it| it.key == key);
    for order in ORDERS {
        assert!(known(order.lesser) && known(order.greater));
    }
}

#[test]
fn every_setting_can_be_given_every_way() {
    for declaration in declarations() {
        let (key, value) = (declaration.key, declaration.default);
        let file = format!("{key} = \"{value}\"");
        let sources = Sources {
            flags: &[(key, value)],
            environment: &[(&declaration.environment, value)],
            file: Some(&file),
        };
        assert!(sources.resolve().is_ok(), "{key}");
    }
}
