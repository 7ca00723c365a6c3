//! A queue that serves those who fill it fairly: a flood of one delays the others by one round at most.
//!
//! While few items of a single source wait, they are in one line, in the order of their arrival. Otherwise
//! each source has a line of its own, and the lines take turns by cost (deficit round-robin): a request costs
//! a fixed amount and its bytes. The items of one source stay in order. The server's own items come first:
//! each follows from a request that was served.
//!
//! What is taken goes into a batch, and whoever is in it waits for all of it. So, while several sources are
//! served, each has a credit, which is refilled whenever the engine polls. Batches that take long to commit
//! may thus be larger. A source that spends more than it has, on a single large item, waits until it has paid.

use std::collections::{HashMap, VecDeque};

use ahash::RandomState;

use super::source::Source;

/// What an item costs beside its bytes.
const ITEM_COST: usize = 1 << 10;
/// What a line may spend in one turn.
const QUANTUM: usize = 16 << 10;
/// The most that a source may save up to spend at once, while several are served.
const MAX_CREDIT: isize = 64 << 10;
/// What it gets whenever the credits are refilled.
const REFILL: isize = 16 << 10;
/// Several sources are served if another one had an item among the last so many.
const RECENT_ITEMS: usize = 100_000;
/// The most sources with nothing waiting of which it is remembered what they have spent.
const MAX_SPENDERS: usize = 1_000;
/// With more of them than this, those that have paid are forgotten.
const FEW_SPENDERS: usize = 64;
/// The most bytes that wait without a line of their own.
const COMMON_BYTES: usize = 1 << 20;

/// The bounds of a queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// The most items, and bytes, that wait. The server's own items are accepted beyond it.
    pub items: usize,
    pub bytes: usize,
    /// As long as no more items than this wait, and one source is served, it has no line of its own.
    pub common: usize,
}

/// There is no room for an item.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Full;

pub(super) struct FairQueue<T> {
    bounds: Bounds,
    all: Load,
    common: VecDeque<(T, usize)>,
    /// Lines of sources with waiting items. Emptied ones are reused.
    lines: Vec<Line<T>>,
    by_source: HashMap<Source, usize, RandomState>,
    unused: Vec<usize>,
    /// The lines in the order of their turns.
    order: VecDeque<usize>,
    /// Lines that have spent their credit.
    parked: Vec<usize>,
    /// How often credits were refilled.
    refills: u64,
    /// The credits of sources with nothing waiting, and how often they were refilled by then.
    spenders: HashMap<Source, (isize, u64), RandomState>,
    last_source: Option<Source>,
    /// Items since the last one that came after an item of another source.
    since_switch: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Load {
    items: usize,
    bytes: usize,
}

struct Line<T> {
    source: Source,
    items: VecDeque<(T, usize)>,
    load: Load,
    /// What is left to spend.
    deficit: usize,
    /// It is this line's turn, for which it has got its quantum.
    has_turn: bool,
    /// What it may spend, and how often that was refilled.
    credit: isize,
    refills: u64,
}

impl<T> FairQueue<T> {
    pub fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            all: Load::default(),
            common: VecDeque::new(),
            lines: Vec::new(),
            by_source: HashMap::default(),
            unused: Vec::new(),
            order: VecDeque::new(),
            parked: Vec::new(),
            refills: 0,
            spenders: HashMap::default(),
            last_source: None,
            since_switch: RECENT_ITEMS,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.all.items == 0
    }

    /// Adds an item with this many bytes, if there is room for another one of its source.
    pub fn push(&mut self, source: Source, item: T, bytes: usize) -> Result<(), Full> {
        self.note_source(&source);
        let is_short = !self.is_shared()
            && self.by_source.is_empty()
            && self.common.len() < self.bounds.common
            && self.all.bytes + bytes <= COMMON_BYTES;
        if is_short || source == Source::Server {
            self.all.add(bytes);
            self.common.push_back((item, bytes));
            return Ok(());
        }
        let found = self.by_source.get(&source).copied();
        let own = found.map_or(Load::default(), |index| self.lines[index].load);
        if !self.has_room(&source, own, bytes) {
            return Err(Full);
        }
        let index = found.unwrap_or_else(|| self.open_line(source));
        self.all.add(bytes);
        let line = &mut self.lines[index];
        line.load.add(bytes);
        line.items.push_back((item, bytes));
        Ok(())
    }

    /// Whether there is room for another item of this source.
    pub fn accepts(&self, source: &Source, bytes: usize) -> bool {
        let found = self.by_source.get(source);
        let own = found.map_or(Load::default(), |index| self.lines[*index].load);
        *source == Source::Server || self.has_room(source, own, bytes)
    }

    /// Takes the next item, whatever its source has taken before.
    pub fn pop(&mut self) -> Option<T> {
        self.pop_sized(false).map(|(item, _)| item)
    }

    /// Refills the credits of all sources.
    pub fn refill(&mut self) {
        self.refills += 1;
        self.order.extend(self.parked.drain(..));
        if self.spenders.len() > FEW_SPENDERS {
            let all = self.refills;
            self.spenders
                .retain(|_, (credit, refills)| refilled(*credit, all - *refills) < MAX_CREDIT);
        }
    }

    /// Takes the next items of sources with credit, until there are so many of them or of their bytes. They
    /// may be none, though some wait.
    pub fn take(&mut self, max_items: usize, max_bytes: usize) -> Vec<T> {
        let mut taken = Vec::with_capacity(self.all.items.min(max_items));
        let mut bytes = 0;
        while taken.len() < max_items
            && (bytes < max_bytes || taken.is_empty())
            && let Some((item, size)) = self.pop_sized(true)
        {
            bytes += size;
            taken.push(item);
        }
        taken
    }

    /// Takes all items.
    pub fn drain(&mut self) -> Vec<T> {
        std::iter::from_fn(|| self.pop()).collect()
    }

    /// Whether several sources are served.
    fn is_shared(&self) -> bool {
        self.since_switch < RECENT_ITEMS
    }

    fn note_source(&mut self, source: &Source) {
        if *source == Source::Server {
            return;
        }
        match &self.last_source {
            Some(last) if last == source => {
                self.since_switch = self.since_switch.saturating_add(1);
            }
            last => {
                self.since_switch = if last.is_some() { 0 } else { RECENT_ITEMS };
                self.last_source = Some(source.clone());
            }
        }
    }

    /// A tenth of the room is for those who have nothing waiting, and nobody may use more than half, except
    /// operators, who may use the rest.
    fn has_room(&self, source: &Source, own: Load, bytes: usize) -> bool {
        let Bounds { items: max_items, bytes: max_bytes, .. } = self.bounds;
        let (own_items, own_bytes) = match source {
            Source::Server => (usize::MAX, usize::MAX),
            Source::Operators => (max_items, max_bytes),
            Source::Tenant(_) => (max_items / 2, max_bytes / 2),
        };
        let open = |max: usize| if own.items == 0 { max } else { max - max / 10 };
        // One large request is accepted whatever its size, since it was read already.
        let fits =
            |load: Load, bytes_left: usize| load.items == 0 || load.bytes + bytes <= bytes_left;
        self.all.items < open(max_items)
            && own.items < own_items.max(1)
            && fits(self.all, open(max_bytes))
            && fits(own, own_bytes)
    }

    fn pop_sized(&mut self, by_credit: bool) -> Option<(T, usize)> {
        let by_credit = by_credit && self.is_shared();
        let popped = self.common.pop_front().or_else(|| self.pop_line(by_credit));
        if let Some((_, bytes)) = &popped {
            self.all.remove(*bytes);
        }
        popped
    }

    fn pop_line(&mut self, by_credit: bool) -> Option<(T, usize)> {
        if !by_credit {
            self.order.extend(self.parked.drain(..));
        }
        loop {
            let index = *self.order.front()?;
            let line = &mut self.lines[index];
            line.refill(self.refills);
            if by_credit && line.credit <= 0 {
                self.order.pop_front();
                self.parked.push(index);
                continue;
            }
            if !line.has_turn {
                (line.has_turn, line.deficit) = (true, line.deficit + QUANTUM);
            }
            let cost = line.items.front().map_or(0, |(_, bytes)| ITEM_COST + bytes);
            if line.deficit < cost {
                line.has_turn = false;
                self.order.rotate_left(1);
                continue;
            }
            line.deficit -= cost;
            if by_credit {
                line.credit -= cost as isize;
            }
            let item = line.items.pop_front();
            if let Some((_, bytes)) = &item {
                line.load.remove(*bytes);
            }
            if line.items.is_empty() {
                self.order.pop_front();
                self.close_line(index);
            }
            return item;
        }
    }

    fn open_line(&mut self, source: Source) -> usize {
        let full = (MAX_CREDIT, self.refills);
        let (credit, refills) = self.spenders.remove(&source).unwrap_or(full);
        let index = self.unused.pop().unwrap_or_else(|| {
            self.lines.push(Line::new(source.clone()));
            self.lines.len() - 1
        });
        let line = &mut self.lines[index];
        line.source = source.clone();
        (line.credit, line.refills) = (credit, refills);
        self.by_source.insert(source, index);
        self.order.push_back(index);
        index
    }

    /// Who has nothing waiting saves nothing up, and does not get back what it has spent.
    fn close_line(&mut self, index: usize) {
        let is_shared = self.is_shared();
        let line = &mut self.lines[index];
        (line.deficit, line.has_turn) = (0, false);
        self.by_source.remove(&line.source);
        if is_shared && self.spenders.len() < MAX_SPENDERS {
            self.spenders.insert(line.source.clone(), (line.credit, line.refills));
        }
        self.unused.push(index);
    }
}

impl<T> Line<T> {
    fn new(source: Source) -> Self {
        let (items, load) = (VecDeque::new(), Load::default());
        Self { source, items, load, deficit: 0, has_turn: false, credit: 0, refills: 0 }
    }

    /// Brings its credit up to date.
    fn refill(&mut self, refills: u64) {
        self.credit = refilled(self.credit, refills - self.refills);
        self.refills = refills;
    }
}

/// The credit after so many refills.
fn refilled(credit: isize, refills: u64) -> isize {
    let refills = isize::try_from(refills).unwrap_or(isize::MAX);
    credit.saturating_add(REFILL.saturating_mul(refills)).min(MAX_CREDIT)
}

impl Load {
    fn add(&mut self, bytes: usize) {
        (self.items, self.bytes) = (self.items + 1, self.bytes + bytes);
    }

    fn remove(&mut self, bytes: usize) {
        (self.items, self.bytes) = (self.items - 1, self.bytes - bytes);
    }
}

#[cfg(test)]
mod tests {
    use rota_model::TenantId;

    use super::*;

    fn tenant(name: &str) -> Source {
        Source::Tenant(TenantId::parse(name).unwrap())
    }

    fn queue(items: usize, common: usize) -> FairQueue<(&'static str, usize)> {
        FairQueue::new(Bounds { items, bytes: 64 << 20, common })
    }

    fn names(taken: &[(&'static str, usize)]) -> Vec<&'static str> {
        taken.iter().map(|(name, _)| *name).collect()
    }

    /// The next items in order, whatever may go into a batch.
    fn popped(
        queue: &mut FairQueue<(&'static str, usize)>,
        count: usize,
    ) -> Vec<(&'static str, usize)> {
        std::iter::from_fn(|| queue.pop()).take(count).collect()
    }

    #[test]
    fn a_single_request_is_served_within_one_round_of_a_flood() {
        let mut queue = queue(10_000, 8);
        (0..4_000).for_each(|n| queue.push(tenant("a"), ("a", n), 0).unwrap());
        queue.push(tenant("b"), ("b", 0), 0).unwrap();
        queue.push(Source::Operators, ("o", 0), 0).unwrap();
        let turn = QUANTUM / ITEM_COST;
        let taken = queue.take(8 + turn + 2, usize::MAX);
        // Those that came before there were lines, and one turn of the flood.
        assert_eq!(names(&taken)[8 + turn..], ["b", "o"]);
    }

    #[test]
    fn bytes_count_as_well_as_requests() {
        let mut queue = queue(10_000, 0);
        for n in 0..100 {
            queue.push(tenant("a"), ("a", n), QUANTUM - ITEM_COST).unwrap();
            queue.push(tenant("b"), ("b", n), 0).unwrap();
        }
        let taken = popped(&mut queue, 10 * (1 + QUANTUM / ITEM_COST));
        let of = |name| names(&taken).iter().filter(|one| **one == name).count();
        assert_eq!((of("b"), of("a")), (100, 70), "b is done after seven turns");
        let early = names(&taken[..17]);
        assert_eq!(early.iter().filter(|one| **one == "a").count(), 1);
    }

    #[test]
    fn a_request_that_costs_more_than_a_turn_is_served_in_the_end() {
        let mut queue = queue(10_000, 0);
        queue.push(tenant("a"), ("a", 0), QUANTUM * 10).unwrap();
        (0..1_000).for_each(|n| queue.push(tenant("b"), ("b", n), 0).unwrap());
        let taken = names(&popped(&mut queue, 1_001));
        let turns = taken.iter().position(|name| *name == "a").unwrap() / (QUANTUM / ITEM_COST);
        assert_eq!(turns, 10, "as many turns as it costs");
        assert!(queue.is_empty());
        queue.push(tenant("a"), ("a", 0), QUANTUM * 100).unwrap();
        assert_eq!(queue.pop(), Some(("a", 0)), "at once, if nobody else waits");
    }

    #[test]
    fn the_requests_of_one_source_stay_in_order() {
        for common in [0, 5, 1_000] {
            let mut queue = queue(10_000, common);
            let (mut next, mut seen) = ([0; 3], [0; 3]);
            let sources = [("a", tenant("a")), ("b", tenant("b")), ("o", Source::Operators)];
            for step in 0..2_000_usize {
                let index = step * step % 7 % 3;
                let (name, source) = &sources[index];
                queue.push(source.clone(), (*name, next[index]), step % 5 * 4_000).unwrap();
                next[index] += 1;
                for (name, number) in queue.take(step % 3, usize::MAX) {
                    let index = sources.iter().position(|(one, _)| *one == name).unwrap();
                    assert_eq!(number, seen[index], "{name}");
                    seen[index] += 1;
                }
            }
            for (name, number) in queue.drain() {
                let index = sources.iter().position(|(one, _)| *one == name).unwrap();
                assert_eq!(number, seen[index], "{name}");
                seen[index] += 1;
            }
            assert_eq!((seen, queue.all.bytes), (next, 0));
        }
    }

    #[test]
    fn a_flood_is_refused_and_others_find_room() {
        let mut queue = queue(100, 0);
        let fill = |queue: &mut FairQueue<_>, name: &'static str, source: &Source| {
            (0..).take_while(|n| queue.push(source.clone(), (name, *n), 0).is_ok()).count()
        };
        assert_eq!(fill(&mut queue, "a", &tenant("a")), 50, "half");
        assert_eq!(fill(&mut queue, "b", &tenant("b")), 40, "all but a tenth");
        for n in 0..9 {
            let name = format!("c{n}");
            assert_eq!(fill(&mut queue, "c", &tenant(&name)), 1, "the first one of each");
        }
        assert_eq!(fill(&mut queue, "o", &Source::Operators), 1);
        assert_eq!(queue.push(tenant("d"), ("d", 0), 0), Err(Full));
        assert_eq!(queue.push(Source::Server, ("s", 0), 0), Ok(()));
        // Room is free again as soon as something was taken.
        assert_eq!(queue.pop(), Some(("s", 0)), "the server's own items come first");
        assert_eq!(fill(&mut queue, "d", &tenant("d")), 0);
        queue.pop();
        assert_eq!(fill(&mut queue, "d", &tenant("d")), 1);
    }

    #[test]
    fn bytes_are_bounded_too() {
        let mut queue: FairQueue<&str> =
            FairQueue::new(Bounds { items: 1_000, bytes: 1_000, common: 0 });
        queue.push(tenant("a"), "a", 2_000).expect("the first one, whatever its size");
        assert_eq!(queue.push(tenant("a"), "a", 1), Err(Full));
        assert_eq!(queue.push(tenant("b"), "b", 1), Err(Full));
        assert_eq!(queue.pop(), Some("a"));
        queue.push(tenant("a"), "a", 400).unwrap();
        assert_eq!(queue.push(tenant("a"), "a", 200), Err(Full), "more than half");
        queue.push(tenant("b"), "b", 500).unwrap();
    }

    #[test]
    fn a_batch_is_bounded_in_bytes() {
        let mut queue = queue(1_000, 100);
        (0..10).for_each(|n| queue.push(tenant("a"), ("a", n), 400).unwrap());
        assert_eq!(queue.take(100, 1_000).len(), 3);
        assert_eq!(queue.take(100, 0).len(), 1);
        assert_eq!(queue.take(2, usize::MAX).len(), 2);
    }

    #[test]
    fn sources_that_have_gone_leave_nothing_behind() {
        let mut queue = queue(1_000, 0);
        for n in 0..10_000 {
            queue.push(tenant(&format!("t{n}")), ("t", n), 0).unwrap();
            queue.pop().unwrap();
        }
        assert_eq!((queue.lines.len(), queue.by_source.len(), queue.order.len()), (1, 0, 0));
        assert!(queue.spenders.len() <= MAX_SPENDERS);
        queue.refill();
        assert_eq!(queue.spenders.len(), 0, "all have got back what they spent");
    }

    /// Names of the items that are taken after a refill, up to a thousand.
    fn refill_and_take(queue: &mut FairQueue<(&'static str, usize)>) -> Vec<&'static str> {
        queue.refill();
        let taken = names(&queue.take(1_000, usize::MAX));
        assert!(queue.take(1_000, usize::MAX).is_empty(), "the credits are spent");
        taken
    }

    #[test]
    fn beside_others_a_source_has_a_bounded_credit() {
        let mut queue = queue(10_000, 8);
        (0..500).for_each(|n| queue.push(tenant("a"), ("a", n), 0).unwrap());
        assert_eq!(queue.take(100, usize::MAX).len(), 100, "alone, it needs none");
        queue.push(tenant("b"), ("b", 0), 0).unwrap();
        let [most, refill] = [MAX_CREDIT, REFILL].map(|cost| cost as usize / ITEM_COST);
        let taken = refill_and_take(&mut queue);
        assert_eq!(taken.len(), most + 1);
        assert!(taken.contains(&"b"));
        assert_eq!(refill_and_take(&mut queue), vec!["a"; refill]);
        assert_eq!(queue.drain().len(), 400 - most - refill, "nothing is lost");
    }

    #[test]
    fn a_source_that_spends_more_waits_until_it_has_paid() {
        for has_more in [true, false] {
            let mut queue = queue(10_000, 0);
            queue.push(tenant("b"), ("b", 0), 0).unwrap();
            queue.push(tenant("a"), ("a", 0), (MAX_CREDIT + 9 * REFILL) as usize).unwrap();
            if has_more {
                queue.push(tenant("a"), ("a", 1), 0).unwrap();
            }
            assert_eq!(refill_and_take(&mut queue), ["b", "a"]);
            if !has_more {
                queue.push(tenant("a"), ("a", 1), 0).unwrap();
            }
            for n in 1..10 {
                queue.push(tenant("b"), ("b", n), 0).unwrap();
                assert_eq!(refill_and_take(&mut queue), ["b"], "{n}");
            }
            assert_eq!(refill_and_take(&mut queue), ["a"]);
        }
    }
}
