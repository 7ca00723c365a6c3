//! Generates the structs and the list of declarations from the table in `declared.rs`, so that adding a
//! setting is adding a line.

/// Each line: `field: type = kind, default, help;`. The key is `field`, or `group.field`.
macro_rules! settings {
    (
        Settings { $( $field:ident: $type:ty = $kind:expr, $default:literal, $help:literal; )* }
        $( $group:ident: $Group:ident {
            $( $member:ident: $of:ty = $like:expr, $normally:literal, $about:literal; )*
        } )*
    ) => {
        #[derive(Clone, Debug)]
        pub struct Settings {
            $( #[doc = $help] pub $field: $type, )*
            $( pub $group: $Group, )*
            /// Includes the weights of `tenant_fairness`.
            pub tenants: BTreeMap<TenantId, TenantConfig>,
            pub pools: BTreeMap<PoolName, PoolConfig>,
            pub rate_limits: BTreeMap<LimitKey, DeclaredLimit>,
            /// Rules that replay jobs of the dead letter, in the order of their names.
            pub replay_rules: BTreeMap<RuleName, ReplayRule>,
            /// Rules that say whose clients' certificates are.
            pub certificates: BTreeMap<RuleName, CertificateRule>,
            pub(crate) rows: Vec<Row>,
        }

        $(
            #[derive(Clone, Debug)]
            pub struct $Group {
                $( #[doc = $about] pub $member: $of, )*
            }
        )*

        impl Settings {
            /// Reads every setting even after a problem, so that all problems are reported.
            pub(crate) fn read(reader: &mut Reader) -> Option<Self> {
                $( let $field = reader.read::<$type>(stringify!($field), &$kind); )*
                $( let $group = $Group::read(reader); )*
                Some(Self {
                    $( $field: $field?, )*
                    $( $group: $group?, )*
                    tenants: BTreeMap::new(),
                    pools: BTreeMap::new(),
                    rate_limits: BTreeMap::new(),
                    replay_rules: BTreeMap::new(),
                    certificates: BTreeMap::new(),
                    rows: Vec::new(),
                })
            }
        }

        $(
            impl $Group {
                fn read(reader: &mut Reader) -> Option<Self> {
                    $(
                        let key = concat!(stringify!($group), ".", stringify!($member));
                        let $member = reader.read::<$of>(key, &$like);
                    )*
                    Some(Self { $( $member: $member?, )* })
                }
            }
        )*

        pub(crate) fn declare_all() -> Vec<Declaration> {
            vec![
                $( Declaration::new::<$type>(stringify!($field), &$kind, $default, $help), )*
                $( $( Declaration::new::<$of>(
                    concat!(stringify!($group), ".", stringify!($member)),
                    &$like,
                    $normally,
                    $about,
                ), )* )*
            ]
        }
    };
}

pub(crate) use settings;
