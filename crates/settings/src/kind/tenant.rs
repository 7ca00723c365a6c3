use rota_model::TenantId;

use super::Kind;

pub(crate) struct Tenant;

impl Kind for Tenant {
    type Value = TenantId;

    const TEXT_ONLY: bool = true;
    const EXAMPLES: &'static str = "_default or acme-corp";

    fn parse(&self, text: &str) -> Option<TenantId> {
        TenantId::parse(text).ok()
    }

    fn accepts(&self) -> String {
        "a tenant's name".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_the_names_that_tenants_may_have() {
        for text in ["_default", "acme-corp", "region:eu.1"] {
            assert_eq!(Tenant.parse(text).as_deref(), Some(text));
        }
        for text in ["", "_other", "two words", "a/b"] {
            assert_eq!(Tenant.parse(text), None, "{text:?}");
        }
    }
}
