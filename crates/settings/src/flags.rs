//! Reads settings from command-line flags.

use crate::declaration::{declarations, flag_name};
use crate::error::Problem;
use crate::given::{Given, Origin};
use crate::nearest::nearest;

/// Reads flags by key (`retention.completed`) or by name (`--retention-completed`).
pub(crate) fn read(flags: &[(String, String)], problems: &mut Vec<Problem>) -> Vec<Given> {
    let mut given = Vec::new();
    for (name, value) in flags {
        let (name, value) = (name.trim_start_matches("--"), value.clone());
        let flag = flag_name(name);
        let origin = Origin::Flag(flag.clone());
        match declarations().iter().find(|declaration| declaration.flag == flag) {
            Some(declaration) => given.push(Given { key: declaration.key, value, origin }),
            None => {
                let nearest = nearest(name).map(|declaration| declaration.flag.clone());
                problems.push(Problem::Unknown { name: flag, value, origin, nearest });
            }
        }
    }
    given
}
