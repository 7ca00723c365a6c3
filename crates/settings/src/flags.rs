use crate::declaration::{declarations, flag_name};
use crate::error::Problem;
use crate::given::{Given, Origin};
use crate::nearest::nearest;

/// Takes the name as a key (`retention.completed`) or as a flag (`--retention-completed`).
pub(crate) fn read(flags: &[(String, String)], problems: &mut Vec<Problem>) -> Vec<Given> {
    let mut given = Vec::new();
    for (name, value) in flags {
        let bare = name.trim_start_matches("--");
        let flag = flag_name(bare);
        let known = declarations().iter().find(|declaration| declaration.flag == flag);
        match known {
            Some(declaration) => given.push(Given {
                key: declaration.key,
                value: value.clone(),
                origin: Origin::Flag(flag),
            }),
            None => problems.push(Problem::Unknown {
                name: flag.clone(),
                value: value.clone(),
                origin: Origin::Flag(flag),
                nearest: nearest(bare).map(|declaration| declaration.flag.clone()),
            }),
        }
    }
    given
}
