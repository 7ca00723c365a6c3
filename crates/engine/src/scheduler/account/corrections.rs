//! Corrections of tags: what a job turned out to cost, and new weights.

use rota_model::Weight;

use super::{Accounts, StandingIx};

impl Accounts {
    /// Corrects a charge made in advance: adds `more` and subtracts `less`.
    pub fn correct(&mut self, ix: StandingIx, more: u128, less: u128) {
        self.tag_changed(ix);
        let standing = self.get_mut(ix);
        if standing.turns == 0 {
            // The tenant has no waiting jobs: an idle tenant does not save up what it did not use.
            let (tag, account, level) = (standing.tag, standing.account, standing.level);
            standing.tag = tag.plus(more).minus(less);
            let new = standing.tag;
            let level_state = self.level(account, level);
            if level_state.idle.remove(&(tag, ix)) {
                level_state.idle.insert((new, ix));
            }
            self.clear_idle(account, level);
            return;
        }
        standing.tag = standing.tag.plus(more).minus(less);
    }

    /// Applies a new weight. A tag charged by the old weight is clamped to one job ahead of the round.
    pub fn clamp(&mut self, ix: StandingIx, job_step: u128, weight: Weight) {
        let standing = self.get(ix);
        let (account, level) = (standing.account, standing.level);
        let most = self.round(account, level).plus(job_step);
        if standing.tag > most {
            self.tag_changed(ix);
        }
        let standing = self.get_mut(ix);
        let old_tag = standing.tag;
        standing.tag = old_tag.min(most);
        standing.last_tag = standing.last_tag.min(most);
        let (tag, idle) = (standing.tag, standing.turns == 0);
        if idle {
            let level_state = self.level(account, level);
            level_state.idle.remove(&(old_tag, ix));
            level_state.idle.insert((tag, ix));
            return;
        }
        let new = weight.hundredths();
        let standing = self.get_mut(ix);
        let (old, in_rings) =
            (std::mem::replace(&mut standing.weight, new), standing.turns_in_rings > 0);
        let level_state = self.level(account, level);
        level_state.waiting = level_state.waiting + u64::from(new) - u64::from(old);
        if in_rings {
            level_state.competing = level_state.competing + u64::from(new) - u64::from(old);
        }
    }
}
