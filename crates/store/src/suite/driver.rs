//! A store and a reader behind a blocking interface that panics on any error.

use std::sync::Arc;

use bytes::Bytes;
use rota_model::audit::AuditStub;
use rota_model::usage::{Usage, UsagePer};
use rota_model::{
    Class, ClassId, DeadShardId, Done, DueReplay, JobId, Live, Millis, Overdue, Seq, TenantId,
};

use super::Fixture;
use crate::{
    Applied, ApplyError, AuditPage, AuditQuery, Batch, Body, Counts, Found, HistoryRow, ListPage,
    ListQuery, Loaded, Mutation, Period, Reader, Record, RowKind, Sink, View,
};

pub(super) struct Driver<'f, F: Fixture> {
    fixture: &'f F,
    store: F::View,
    reader: <F::View as View>::Reader,
    /// Position of the last committed batch.
    pub(super) last: Loaded,
    /// Batches that will be applied as one portion.
    gathered: Vec<Batch>,
}

impl<'f, F: Fixture> Driver<'f, F> {
    pub(super) fn open(fixture: &'f F) -> Self {
        let store = fixture.open();
        let reader = store.reader().expect("a reader opens");
        let mut driver =
            Self { fixture, store, reader, last: Loaded::default(), gathered: Vec::new() };
        driver.last = driver.load().loaded;
        driver
    }

    pub(super) fn close_and_reopen(self) -> Self {
        drop(self.reader);
        self.fixture.block_on(self.store.close()).expect("the store closes");
        Self::open(self.fixture)
    }

    pub(super) fn crash_and_reopen(self) -> Self {
        let fixture = self.fixture;
        drop(self);
        Self::open(fixture)
    }

    /// Numbers the mutations as the successor of the last committed batch.
    pub(super) fn next_batch(&self, mutations: Vec<Mutation>) -> Batch {
        let inserted = mutations.iter().filter_map(|mutation| match mutation {
            Mutation::Insert(new, _) => Some(Seq(new.seq.0 + 1)),
            _ => None,
        });
        Batch {
            number: self.last.number + 1,
            now: self.last.now.saturating_add_ms(1),
            next_seq: inserted.max().unwrap_or_default().max(self.last.next_seq),
            event_count: self.last.event_count + 2,
            mutations,
        }
    }

    pub(super) fn commit(&mut self, mutations: Vec<Mutation>) -> Applied {
        let batch = self.next_batch(mutations);
        self.try_commit(&batch).expect("the batch commits")
    }

    pub(super) fn commit_at(&mut self, now: Millis, mutations: Vec<Mutation>) {
        let batch = Batch { now, ..self.next_batch(mutations) };
        self.try_commit(&batch).expect("the batch commits");
    }

    pub(super) fn try_commit(&mut self, batch: &Batch) -> Result<Applied, ApplyError> {
        let committed = self.fixture.block_on(self.store.apply(std::slice::from_ref(batch)))?;
        self.last = self.last.after(batch);
        Ok(committed)
    }

    pub(super) fn try_apply(&mut self, batches: &[Batch]) -> Result<Applied, ApplyError> {
        self.fixture.block_on(self.store.apply(batches))
    }

    /// Adds a batch to the portion that [`apply_gathered`](Self::apply_gathered) applies.
    pub(super) fn gather(&mut self, mutations: Vec<Mutation>) {
        let batch = self.next_batch(mutations);
        self.last = self.last.after(&batch);
        self.gathered.push(batch);
    }

    pub(super) fn apply_gathered(&mut self) -> Applied {
        let batches = std::mem::take(&mut self.gathered);
        self.fixture.block_on(self.store.apply(&batches)).expect("the portion is applied")
    }

    pub(super) fn tidy(&mut self) {
        self.fixture.block_on(self.store.tidy()).expect("tidying works");
    }

    pub(super) fn load(&mut self) -> Image {
        let mut image = Image::default();
        image.loaded = self.fixture.block_on(self.store.load(&mut image)).expect("the store loads");
        image.named.sort();
        image
    }

    pub(super) fn another_reader(&self) -> <F::View as View>::Reader {
        self.store.reader().expect("another reader opens")
    }

    pub(super) fn block_on<T: Future>(&self, future: T) -> T::Output {
        self.fixture.block_on(future)
    }

    pub(super) fn resolve(&mut self, ids: &[JobId]) -> Vec<Option<Found>> {
        self.fixture.block_on(self.reader.resolve(ids)).expect("ids resolve")
    }

    pub(super) fn bodies(&mut self, seqs: &[Seq]) -> Vec<Option<Body>> {
        self.fixture.block_on(self.reader.bodies(seqs, usize::MAX)).expect("bodies are read")
    }

    pub(super) fn records(&mut self, seqs: &[Seq]) -> Vec<Option<Record>> {
        self.records_within(seqs, usize::MAX)
    }

    pub(super) fn records_within(&mut self, seqs: &[Seq], max_bytes: usize) -> Vec<Option<Record>> {
        self.fixture.block_on(self.reader.records(seqs, max_bytes)).expect("records are read")
    }

    pub(super) fn bodies_within(&mut self, seqs: &[Seq], max_bytes: usize) -> Vec<Option<Body>> {
        self.fixture.block_on(self.reader.bodies(seqs, max_bytes)).expect("bodies are read")
    }

    pub(super) fn record(&mut self, seq: u64) -> Record {
        let record = self.records(&[Seq(seq)]).pop().flatten();
        record.unwrap_or_else(|| panic!("there is no record of job {seq}"))
    }

    pub(super) fn list(&mut self, query: &ListQuery) -> ListPage {
        self.fixture.block_on(self.reader.list(query)).expect("a page is read")
    }

    /// Sequence numbers of all pages of a list.
    pub(super) fn list_all(&mut self, query: &ListQuery) -> Vec<u64> {
        let mut query = query.clone();
        let mut seqs = Vec::new();
        loop {
            let page = self.list(&query);
            assert!(page.records.len() <= query.limit, "a page is longer than its limit");
            seqs.extend(page.records.iter().map(|record| record.seq.0));
            let Some(next) = page.next else { return seqs };
            assert_ne!(query.after, Some(next), "the cursor does not move");
            query.after = Some(next);
        }
    }

    pub(super) fn overdue(&mut self, now: Millis, limit: usize) -> Vec<Done> {
        self.overdue_page(now, limit).jobs
    }

    pub(super) fn overdue_page(&mut self, now: Millis, limit: usize) -> Overdue {
        self.fixture.block_on(self.reader.overdue(now, limit)).expect("overdue jobs are read")
    }

    pub(super) fn oldest_dead(&mut self, shard: u32, limit: usize) -> Vec<(Seq, Millis)> {
        let read = self.reader.oldest_dead(DeadShardId(shard), limit);
        self.fixture.block_on(read).expect("the dead letter is read")
    }

    pub(super) fn dead_span(&mut self, shards: Option<&[u32]>) -> Option<(Millis, Millis)> {
        let shards: Option<Vec<_>> =
            shards.map(|shards| shards.iter().copied().map(DeadShardId).collect());
        let read = self.reader.dead_span(shards.as_deref());
        self.fixture.block_on(read).expect("the dead letter is read")
    }

    pub(super) fn due_replays(&mut self, now: Millis, limit: usize) -> Vec<DueReplay> {
        self.fixture.block_on(self.reader.due_replays(now, limit)).expect("replays are read")
    }

    pub(super) fn audit(&mut self, query: &AuditQuery) -> AuditPage {
        self.fixture.block_on(self.reader.audit(query)).expect("the audit log is read")
    }

    /// Numbers of the entries on all pages.
    pub(super) fn audit_all(&mut self, query: &AuditQuery) -> Vec<u64> {
        let mut query = query.clone();
        let mut numbers = Vec::new();
        loop {
            let page = self.audit(&query);
            assert!(page.rows.len() <= query.limit, "a page is longer than its limit");
            numbers.extend(page.rows.iter().map(|row| row.number));
            let Some(next) = page.next else { return numbers };
            assert_ne!(query.after, Some(next), "the cursor does not move");
            query.after = Some(next);
        }
    }

    pub(super) fn oldest_audit(&mut self, limit: usize) -> Vec<AuditStub> {
        self.fixture.block_on(self.reader.oldest_audit(limit)).expect("the audit log is read")
    }

    pub(super) fn usage(
        &mut self,
        per: UsagePer,
        tenant: &str,
        since: i64,
        until: i64,
    ) -> Vec<(i64, Usage)> {
        let read = self.reader.usage(per, tenant, Millis(since), Millis(until));
        let rows = self.fixture.block_on(read).expect("usage is read");
        rows.into_iter().map(|(at, usage)| (at.0, usage)).collect()
    }

    pub(super) fn history(
        &mut self,
        period: Period,
        queue: &str,
        since: i64,
        until: i64,
    ) -> Vec<HistoryRow> {
        self.fixture
            .block_on(self.reader.history(period, queue, Millis(since), Millis(until)))
            .expect("history is read")
    }
}

/// Everything that a store returns on load.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Image {
    pub(super) loaded: Loaded,
    pub(super) classes: Vec<(ClassId, Class, Counts)>,
    pub(super) stored: Vec<(TenantId, u64)>,
    /// Sorted, because stores may return named rows in any order.
    pub(super) named: Vec<(RowKind, Arc<str>, Bytes)>,
    pub(super) live: Vec<Live>,
    pub(super) history: Vec<HistoryRow>,
    pub(super) journal: Vec<(u64, Bytes)>,
}

impl Sink for Image {
    fn class(&mut self, id: ClassId, class: Class, counts: Counts) {
        assert!(self.named.is_empty() && self.live.is_empty(), "classes come first");
        self.expect_no_journal();
        self.classes.push((id, class, counts));
    }

    fn stored(&mut self, tenant: TenantId, bytes: u64) {
        assert!(self.named.is_empty(), "stored bytes come before named rows");
        self.stored.push((tenant, bytes));
    }

    fn named(&mut self, kind: RowKind, name: Arc<str>, json: Bytes) {
        assert!(self.live.is_empty(), "named rows come before jobs");
        self.expect_no_journal();
        self.named.push((kind, name, json));
    }

    fn live(&mut self, live: Live) {
        assert!(self.live.last().is_none_or(|last| last.seq < live.seq), "jobs come in order");
        self.expect_no_journal();
        self.live.push(live);
    }

    fn history(&mut self, row: HistoryRow) {
        self.expect_no_journal();
        self.history.push(row);
    }

    fn journal(&mut self, number: u64, data: Bytes) {
        let last = self.journal.last().map(|(last, _)| *last);
        assert!(last.is_none_or(|last| last < number), "entries come in order");
        self.journal.push((number, data));
    }
}

impl Image {
    fn expect_no_journal(&self) {
        assert!(self.journal.is_empty(), "the journal comes last");
    }
}
